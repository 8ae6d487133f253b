//! What `model.json` says about an imported model.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::map::open_file;
use crate::{Error, Result};

/// The file that describes an imported model. It is written last: a folder without it is no model.
pub(crate) const FILE: &str = "model.json";

/// Longer files are not what we wrote.
const LONGEST: u64 = 1 << 20;

/// Changed whenever the same files come to give other vectors.
const METHOD: &[u8] = b"backstory-embed 1";

/// What is known of a model: the content of its `model.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// What the model is called.
    pub name: String,
    /// How it makes vectors.
    pub family: Family,
    /// The length of its vectors.
    pub dimensions: usize,
    /// The files it was made from, and the BLAKE3 hash of each in hexadecimal digits.
    pub files: BTreeMap<String, String>,
    /// The licence of the weights, where their source states one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// The version of this crate that wrote the file.
    pub created_by: String,
}

/// How a model makes vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// A table of token vectors in the layout of model2vec.
    Model2vec,
    /// A table of token vectors in the layout of WordLlama.
    Wordllama,
    /// An encoder with the layers of BERT (MiniLM, bge).
    Bert,
    /// An encoder with rotary positions and gated layers.
    NomicBert,
    /// A decoder whose last token stands for the text.
    Qwen3,
}

impl Family {
    /// Whether a text's vector is the average of its tokens' vectors, without a network.
    pub fn is_static(self) -> bool {
        matches!(self, Family::Model2vec | Family::Wordllama)
    }
}

impl Description {
    /// The identity of what decides the vectors: the weights, the tokenizer and the way of pooling. The names of files do not
    /// count, nor what else a model's folder holds, so that the same model from two sources is the same.
    pub(crate) fn identity(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(METHOD);
        let decides = |role: &str, name: &str| match role {
            "weights" => name.ends_with(".safetensors") || name.ends_with(".gguf"),
            "tokenizer" => {
                name.ends_with("tokenizer.json") || name.ends_with("tokenizer_config.json")
            }
            _ => name == "1_Pooling/config.json",
        };
        for role in ["weights", "tokenizer", "pooling"] {
            hasher.update(role.as_bytes());
            for (_, hash) in self.files.iter().filter(|(name, _)| decides(role, name)) {
                hasher.update(hash.as_bytes());
            }
        }
        *hasher.finalize().as_bytes()
    }

    /// Checks that every file it names lies in a folder unchanged.
    #[cfg_attr(not(feature = "transformers"), allow(dead_code))]
    pub(crate) fn verify(&self, folder: &Path) -> Result<()> {
        for (name, expected) in &self.files {
            let path = folder.join(name);
            let mut hasher = blake3::Hasher::new();
            open_file(&path)
                .and_then(|file| hasher.update_reader(file).map(|_| ()))
                .map_err(|error| Error::io(&path, error))?;
            if hasher.finalize().to_hex().as_str() != expected {
                return Err(Error::malformed(
                    &path,
                    "it is damaged: its checksum is wrong",
                ));
            }
        }
        Ok(())
    }
}

/// Reads the description of the model in a folder.
pub fn read(folder: &Path) -> Result<Description> {
    let path = folder.join(FILE);
    let mut json = Vec::new();
    open_file(&path)
        .and_then(|file| file.take(LONGEST).read_to_end(&mut json))
        .map_err(|error| Error::io(&path, error))?;
    serde_json::from_slice(&json).map_err(|error| Error::malformed(&path, error.to_string()))
}
