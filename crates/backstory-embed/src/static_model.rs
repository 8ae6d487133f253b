//! Models without a network: a text's vector is the average of its tokens' vectors.

use std::path::Path;
use std::sync::Arc;

use crate::image::{Builder, Image, Section};
use crate::safetensors::Safetensors;
use crate::table::{self, Shape, Table};
use crate::{Description, Error, Result, Tokenizer, Weights, tokenizer};

/// The file that a static model is compiled into.
pub(crate) const FILE: &str = "model.bin";

/// More tokens of a text are not looked at, so that no text is slow. Real passages have a few hundred.
const MOST_TOKENS: usize = 4096;

/// Nor is text beyond what that many tokens come from.
const MOST_BYTES: usize = 8 * MOST_TOKENS;

/// A table of vectors and the tokenizer to it, used where they lie in the file.
pub(crate) struct StaticModel {
    image: Arc<Image>,
    shape: Shape,
    tokenizer: Tokenizer,
}

impl StaticModel {
    /// Opens a compiled model. Takes a fraction of a millisecond, whatever its size.
    pub(crate) fn open(path: &Path, description: &Description) -> Result<StaticModel> {
        let image = Arc::new(Image::open(path)?);
        let model =
            StaticModel::from_image(image).map_err(|reason| Error::malformed(path, reason))?;
        let identity = blake3::Hash::from_bytes(description.identity());
        if model.shape.identity != identity.to_hex().as_str() {
            return Err(Error::malformed(
                path,
                "it is not the model that model.json describes",
            ));
        }
        if model.shape.dimensions != description.dimensions {
            return Err(Error::malformed(
                path,
                "its vectors are not as long as model.json says",
            ));
        }
        Ok(model)
    }

    fn from_image(image: Arc<Image>) -> Result<StaticModel, String> {
        let shape: Shape = serde_json::from_slice(image.section(Section::Shape))
            .map_err(|error| format!("its table is damaged: {error}"))?;
        if Table::new(&image, &shape).is_none() {
            return Err("its table is damaged".to_owned());
        }
        let tokenizer = Tokenizer::from_image(Arc::clone(&image))?;
        Ok(StaticModel {
            image,
            shape,
            tokenizer,
        })
    }

    /// Reads the whole file and says whether it is what was written.
    pub(crate) fn verify(&self) -> bool {
        self.image.verify()
    }

    /// The tokens of a text that have a meaning of their own.
    pub(crate) fn tokens(&self, text: &str) -> Vec<u32> {
        let mut end = text.len().min(MOST_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut tokens = self.tokenizer.encode(&text[..end]);
        tokens.truncate(MOST_TOKENS);
        let unknown = self.tokenizer.unknown();
        tokens.retain(|token| Some(*token) != unknown);
        tokens
    }

    /// The vectors of texts, one after the other.
    pub(crate) fn embed(&self, texts: &[&str], weights: Option<&Weights>) -> Vec<f32> {
        let dimensions = self.shape.dimensions;
        let mut vectors = vec![0.0; texts.len() * dimensions];
        let Some(table) = Table::new(&self.image, &self.shape) else {
            return vectors;
        };
        for (text, vector) in texts.iter().zip(vectors.chunks_exact_mut(dimensions)) {
            for token in self.tokens(text) {
                let weight = weights.map_or(1.0, |weights| weights.of(token));
                table.add(token, weight, vector);
            }
            normalize(vector);
        }
        vectors
    }
}

/// Brings a vector to length one. One that has no direction becomes zero.
pub(crate) fn normalize(vector: &mut [f32]) {
    let square = vector
        .iter()
        .map(|x| f64::from(*x) * f64::from(*x))
        .sum::<f64>();
    let length = square.sqrt();
    if length.is_finite() && length > 1e-12 {
        let scale = (1.0 / length) as f32;
        vector.iter_mut().for_each(|x| *x *= scale);
    } else {
        vector.fill(0.0);
    }
}

/// Compiles a tokenizer and a table into one image; also says how long the vectors are.
pub(crate) fn compile(
    weights: &Path,
    table: &str,
    tokenizer: (&Path, &[u8]),
    identity: [u8; 32],
) -> Result<(Vec<u8>, usize)> {
    let (tokenizer_path, json) = tokenizer;
    let mut builder = Builder::default();
    tokenizer::compile(json, &mut builder)
        .map_err(|reason| Error::malformed(tokenizer_path, reason))?;
    let identity = blake3::Hash::from_bytes(identity).to_hex().to_string();
    let shape = table::compile(&Safetensors::open(weights)?, table, identity, &mut builder)
        .map_err(|reason| Error::malformed(weights, reason))?;
    Ok((builder.finish(), shape.dimensions))
}
