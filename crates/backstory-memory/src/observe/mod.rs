//! Observations: what each tool use changed or showed, in three sizes.
//!
//! The built-in compressor (`extract`) is a pure function of what a tool was asked and what it answered. So its observations are
//! made when they are asked for, and stored only once the text that they are made of goes.

pub(crate) mod anthropic;
mod extract;
mod faithful;
mod uses;

use backstory_session::Touch;
use serde::{Deserialize, Serialize};

pub use self::anthropic::{Endpoint, Price, Retry, SessionSummary};
pub(crate) use self::extract::Extract;
pub(crate) use self::faithful::faith;
pub(crate) use self::uses::{Use, tool_uses};

/// A tool use, as a compressor sees it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolUse {
    /// The tool, as its agent calls it.
    pub tool: String,
    /// What it was asked; mostly JSON.
    pub input: String,
    /// The command that it ran.
    pub command: Option<String>,
    /// What it answered.
    pub output: String,
    /// Whether it failed.
    pub failed: bool,
    /// The files that it names.
    pub touches: Vec<Touch>,
    /// The functions that it changed.
    pub functions: Vec<String>,
}

/// An observation in three sizes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// About ten tokens.
    pub title: String,
    /// About fifty.
    pub summary: String,
    /// About two hundred.
    pub detail: String,
}

/// Makes observations of tool uses.
pub(crate) trait Compressor {
    /// Why there is none.
    type Failure;

    /// What it is called where compressors are compared.
    fn name(&self) -> &str;

    /// The three sizes of a tool use.
    fn compress(&self, tool_use: &ToolUse) -> Result<Sizes, Self::Failure>;
}

/// Whether a tool use is worth an observation.
pub(crate) fn is_telling(tool_use: &ToolUse) -> bool {
    !tool_use.output.trim().is_empty() || !tool_use.touches.is_empty()
}
