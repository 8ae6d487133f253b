//! Observations: what each prompt asked for and what each tool use changed or showed, in three sizes.
//!
//! The built-in compressor ([`Extract`]) is a pure function of a prompt, or of what a tool was asked and what it answered.

mod extract;
mod faithful;
mod uses;

use backstory_event::{Action, SymbolChangeKind, Touch};
use serde::{Deserialize, Serialize};

pub use self::extract::{Extract, is_telling};
pub use self::faithful::{Faith, faith};
pub use self::uses::{AnsweredCall, ObservedItem, OpenCalls};

/// Source of an observation.
#[derive(Debug, Clone, PartialEq)]
pub enum ObservationSource {
    /// A tool use.
    ToolUse(ToolUse),
    /// A prompt.
    Prompt(Prompt),
}

impl ObservationSource {
    /// Returns whether it is a prompt or a tool use.
    pub fn kind(&self) -> ObservationKind {
        match self {
            ObservationSource::ToolUse(_) => ObservationKind::ToolUse,
            ObservationSource::Prompt(_) => ObservationKind::Prompt,
        }
    }

    /// Returns its texts: what was asked, and what was answered.
    pub fn texts(&self) -> [&str; 2] {
        match self {
            ObservationSource::ToolUse(used) => [&used.input, &used.output],
            ObservationSource::Prompt(prompt) => [&prompt.text, ""],
        }
    }

    /// Returns the number of bytes of its texts.
    pub fn raw_bytes(&self) -> u64 {
        self.texts().iter().map(|text| text.len() as u64).sum()
    }

    /// Returns the tool use, if it is one.
    pub fn tool_use(&self) -> Option<&ToolUse> {
        match self {
            ObservationSource::ToolUse(used) => Some(used),
            ObservationSource::Prompt(_) => None,
        }
    }
}

/// Kind of what was observed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservationKind {
    /// A tool use.
    #[default]
    ToolUse,
    /// A prompt.
    Prompt,
}

impl ObservationKind {
    /// Returns the name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            ObservationKind::ToolUse => "tool_use",
            ObservationKind::Prompt => "prompt",
        }
    }

    /// Returns whether it is a tool use.
    pub fn is_tool_use(&self) -> bool {
        *self == ObservationKind::ToolUse
    }
}

/// A prompt, as a compressor sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The request, without context that Backstory gave.
    pub text: String,
    /// True in a headless session: programs write prompts, too.
    pub is_headless: bool,
}

/// A tool use, as a compressor sees it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolUse {
    /// The tool, as its agent calls it.
    pub tool: String,
    /// Its arguments; mostly JSON.
    pub input: String,
    /// The command that it ran.
    pub command: Option<String>,
    /// Its result.
    pub output: String,
    /// True if it failed.
    pub failed: bool,
    /// The files that it names.
    pub touches: Vec<Touch>,
    /// The functions that it changed.
    pub functions: Vec<ChangedFunction>,
}

impl ToolUse {
    /// Returns whether it changed files.
    pub fn writes(&self) -> bool {
        let mut touches = self.touches.iter();
        touches.any(|touch| touch.action != Action::Read)
    }
}

/// A function that a tool use changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChangedFunction {
    /// The file, as the log has it; empty in observations that an older version kept.
    pub file: String,
    /// Its qualified name.
    pub name: String,
    /// Its change.
    pub change: FunctionChange,
}

/// Change of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FunctionChange {
    /// It was not there.
    New,
    /// It does something else, or has another name.
    Modified,
    /// It is not there any more.
    Deleted,
}

impl FunctionChange {
    /// Returns the name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            FunctionChange::New => "new",
            FunctionChange::Modified => "modified",
            FunctionChange::Deleted => "deleted",
        }
    }
}

impl From<SymbolChangeKind> for FunctionChange {
    fn from(change: SymbolChangeKind) -> Self {
        match change {
            SymbolChangeKind::New => FunctionChange::New,
            SymbolChangeKind::Deleted => FunctionChange::Deleted,
            SymbolChangeKind::Modified | SymbolChangeKind::Renamed => FunctionChange::Modified,
        }
    }
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

/// Makes observations.
pub trait Compressor {
    /// Reason that there is none.
    type Failure;

    /// Returns its name, for comparisons of compressors.
    fn name(&self) -> &str;

    /// Makes the three sizes of an observation.
    fn compress(&self, source: &ObservationSource) -> Result<Sizes, Self::Failure>;
}
