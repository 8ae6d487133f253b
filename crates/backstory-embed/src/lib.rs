//! Text to vectors.
//!
//! Knows nothing of sessions or databases: texts go in, rows of numbers come out.

mod description;
mod error;
mod gguf;
pub mod hub;
mod image;
mod import;
mod map;
mod model;
mod safetensors;
mod static_model;
mod table;
#[cfg(test)]
mod tests;
mod tokenizer;
#[cfg(feature = "transformers")]
mod transformer;
mod weights;

pub use description::{Description, Family, read as describe};
pub use error::{Error, Result};
pub use import::{Imported, import};
pub use model::Model;
pub use tokenizer::Tokenizer;
pub use weights::{TokenCounts, Weights};

/// What a text is embedded for. Some models are trained to see a question and an answer differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Something to look for.
    Query,
    /// Something to be found.
    Passage,
}
