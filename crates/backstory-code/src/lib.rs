//! Source text to symbols and calls, stack traces to frames, edits to lines and who wrote them.
//!
//! Opens no file, knows no session. A language is a table in `languages/`; everything else here is the same for all of them. Nothing
//! recurses on the depth of a tree, for files are whatever people have on disk.

mod chain;
mod compare;
mod header;
mod language;
mod languages;
mod model;
mod parse;
mod parsed;
pub mod replay;
mod resolve;
mod scope;
mod trace;
mod walk;

#[cfg(test)]
mod tests;

pub use compare::{SymbolChange, SymbolChangeKind, compare};
pub use language::Language;
pub use languages::LANGUAGES;
pub use model::{Call, Outline, Resolution, Skipped, Symbol, SymbolKind, UnresolvedReason};
pub use parse::{MAX_BYTES, outline, text_symbols};
pub use parsed::Parsed;
pub use trace::{Frame, traces};
