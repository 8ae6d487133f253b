//! Text to vectors.
//!
//! Knows nothing of sessions or databases: texts go in, rows of numbers come out. A model's files come from the public hub
//! ([`hub::pull`]) or from wherever the user has them; [`import()`] makes a folder of them that [`Model::open`] opens. Static models
//! (tables of token vectors) are compiled so that a process can open one and embed a query within a millisecond; networks need
//! the cargo feature `transformers`. No weights are part of this program.

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
