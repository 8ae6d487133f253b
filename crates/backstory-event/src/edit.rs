//! Changes of files, as logs record them.

use serde::{Deserialize, Serialize};

/// What one event did to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEdit {
    /// The path as the log has it.
    pub path: String,
    /// Where the file went, if it was renamed.
    pub moved_to: Option<String>,
    /// The whole text before, where the log has it; empty for a file that was not there.
    pub before: Option<String>,
    /// What was done.
    pub change: Change,
}

/// How a file was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// This is its whole text now.
    Written(String),
    /// Lines were replaced, in the order of the file.
    Hunks(Vec<Hunk>),
    /// Strings were replaced, one after the other.
    Strings(Vec<Substitution>),
    /// It was removed.
    Deleted,
}

/// Lines that were replaced, with some that were kept around them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// The number of its first line before the change, from 1, where the log has it.
    pub line: Option<usize>,
    /// Lines somewhere above it, outermost first, by which patches find their place.
    pub after: Vec<String>,
    /// Whether it ends where the file ends.
    pub at_end: bool,
    /// Its lines.
    pub lines: Vec<HunkLine>,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum HunkLine {
    /// There before and after.
    Kept(String),
    /// There before.
    Removed(String),
    /// There after.
    Added(String),
}

/// A string that was replaced by another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Substitution {
    /// What was there.
    pub old: String,
    /// What is there now.
    pub new: String,
    /// Whether wherever it was, or only once.
    pub all: bool,
}

impl FileEdit {
    /// A change of a file of which nothing else is known.
    pub fn new(path: impl Into<String>, change: Change) -> Self {
        FileEdit {
            path: path.into(),
            moved_to: None,
            before: None,
            change,
        }
    }
}
