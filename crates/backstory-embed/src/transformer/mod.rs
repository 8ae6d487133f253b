//! Models that are networks: encoders with the layers of BERT, encoders with rotary positions, and Qwen3.
//!
//! A text goes through the tokenizer and the network and comes out as one vector of length one. Texts are run together, one behind
//! the other and without padding: the products of all their tokens are made at once, only attention looks at each text for itself.
//! So there is nothing to mask, and sorting by length would gain nothing.

mod batch;
mod bert;
mod config;
mod gguf;
mod layers;
mod nomic;
mod numbers;
mod qwen3;
mod tensors;
mod weights;

#[cfg(test)]
mod tests;

use std::path::Path;

use candle_core::Tensor;

use crate::map::read_file;
use crate::{Description, Error, Family, Purpose, Result, Tokenizer};

use batch::{Batch, Pooling};
use weights::Weights;

/// Maximum length of a tokenizer.
const MAX_TOKENIZER_BYTES: u64 = 256 << 20;

/// No text is looked at beyond this many tokens, whatever the model could do: the time that attention takes grows with the square
/// of the length.
const MOST_TOKENS: usize = 1_024;

/// A text is cut to this many bytes for each token before it is split, so that a text of megabytes does not cost as much.
const BYTES_PER_TOKEN: usize = 64;

/// Vectors that may be cut are cut to this length. It holds nearly all that the whole ones do, and a search reads a quarter.
const CUT: usize = 256;

/// A network that gives texts vectors.
pub(crate) struct Transformer {
    name: String,
    tokenizer: Tokenizer,
    network: Box<dyn Network>,
    usage: Usage,
    first: Option<u32>,
    last: u32,
    dimensions: usize,
}

/// What the kinds of networks have in common.
trait Network: Send + Sync {
    /// The length of its vectors.
    fn width(&self) -> usize;

    /// A vector for each token, in rows.
    fn forward(&self, batch: &Batch) -> candle_core::Result<Tensor>;
}

/// How a network is meant to be used.
struct Usage {
    /// What stands before a text to look for.
    query: &'static str,
    /// What stands before a text to be found.
    passage: &'static str,
    /// The token before every text.
    first: Option<&'static str>,
    /// The token after every text.
    last: &'static str,
    /// How many tokens it takes, those two included.
    longest: usize,
    /// How the vectors of tokens become one.
    pooling: Pooling,
    /// Whether vectors are standardised before they are cut.
    standardised: bool,
    /// Whether vectors may be cut: the first numbers of one are a shorter vector of the same text.
    can_be_cut: bool,
}

impl Transformer {
    /// Opens the model in a folder: its `tokenizer.json`, its weights and, unless these are in a GGUF file, its `config.json`.
    pub(crate) fn open(folder: &Path, description: &Description) -> Result<Self> {
        let open = match description.family {
            Family::Bert => bert::open,
            Family::NomicBert => nomic::open,
            Family::Qwen3 => qwen3::open,
            Family::Model2vec | Family::Wordllama => {
                return Err(Error::malformed(folder, "its model is no network"));
            }
        };
        let weights = Weights::open(folder, description)?;
        if weights.gguf().is_some() && description.family != Family::Qwen3 {
            let reason = "networks of this kind are read from safetensors files only";
            return Err(Error::malformed(weights.path(), reason));
        }
        let (network, usage) = open(folder, description, &weights)?;
        let path = folder.join("tokenizer.json");
        let json =
            read_file(&path, MAX_TOKENIZER_BYTES).map_err(|error| Error::io(&path, error))?;
        let tokenizer = Tokenizer::from_json(&json).map_err(|error| match error {
            Error::Malformed { reason, .. } => Error::malformed(&path, reason),
            other => other,
        })?;
        let special = |token: &str| {
            let missing = || Error::malformed(&path, format!("it has no token {token}"));
            tokenizer.id(token).ok_or_else(missing)
        };
        let (first, last) = (usage.first.map(special).transpose()?, special(usage.last)?);
        let (width, described) = (network.width(), description.dimensions);
        let fits = described == width || (usage.can_be_cut && (1..width).contains(&described));
        if !fits {
            let reason = format!("its model gives vectors of {width} numbers, not of {described}");
            return Err(Error::malformed(folder, reason));
        }
        let most = if usage.can_be_cut { CUT } else { width };
        Ok(Transformer {
            name: description.name.clone(),
            tokenizer,
            network,
            usage,
            first,
            last,
            dimensions: described.min(most),
        })
    }

    /// The length of the vectors.
    pub(crate) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The vectors of texts, one behind the other.
    pub(crate) fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<f32>> {
        let tokens = texts.iter().map(|text| self.tokens(text, purpose));
        let batches = batch::batches(tokens);
        let threads = candle_core::utils::get_num_threads().max(1);
        if threads == 1 || batches.len() < 2 {
            return self.run(&batches);
        }
        // Candle spreads the products of one batch over its threads, but only these; side by side, batches take a fifth less time.
        let rows: Result<Vec<Vec<f32>>> = std::thread::scope(|scope| {
            let parts = batches.chunks(batches.len().div_ceil(threads));
            let running: Vec<_> = parts.map(|part| scope.spawn(|| self.run(part))).collect();
            let ended_early = |_| Err(self.failed("a thread ended early"));
            let ended = running.into_iter().map(std::thread::ScopedJoinHandle::join);
            ended.map(|rows| rows.unwrap_or_else(ended_early)).collect()
        });
        Ok(rows?.concat())
    }

    fn run(&self, batches: &[Batch]) -> Result<Vec<f32>> {
        let mut rows = Vec::new();
        for batch in batches {
            let pooled = self.pool(batch);
            rows.extend(pooled.map_err(|error| self.failed(&error.to_string()))?);
        }
        if rows
            .chunks_exact_mut(self.dimensions)
            .all(numbers::normalise)
        {
            return Ok(rows);
        }
        Err(self.failed("it gave a vector without a direction"))
    }

    fn pool(&self, batch: &Batch) -> candle_core::Result<Vec<f32>> {
        let hidden = self.network.forward(batch)?;
        let mut rows = tensors::read(&hidden, |values| batch.pool(values, self.usage.pooling))?;
        let width = self.network.width();
        if self.usage.standardised {
            let each = rows.chunks_exact_mut(width);
            each.for_each(|row| numbers::standardise(row, 1e-5));
        }
        let cut = rows
            .chunks_exact(width)
            .flat_map(|row| &row[..self.dimensions]);
        Ok(cut.copied().collect())
    }

    fn tokens(&self, text: &str, purpose: Purpose) -> Vec<u32> {
        let prefix = match purpose {
            Purpose::Query => self.usage.query,
            Purpose::Passage => self.usage.passage,
        };
        let text = start(text, self.usage.longest * BYTES_PER_TOKEN);
        let mut tokens: Vec<u32> = self.first.into_iter().collect();
        tokens.extend(self.tokenizer.encode(&format!("{prefix}{text}")));
        tokens.truncate(self.usage.longest - 1);
        tokens.push(self.last);
        tokens
    }

    fn failed(&self, reason: &str) -> Error {
        Error::Failed {
            name: self.name.clone(),
            reason: reason.to_owned(),
        }
    }
}

/// As much of the start of a text as fits into so many bytes.
fn start(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
