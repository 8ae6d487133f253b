//! What events did to files, as logs tell it.

use serde_json::Value;

/// What one event did to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkLine {
    /// There before and after.
    Kept(String),
    /// There before.
    Removed(String),
    /// There after.
    Added(String),
}

/// A string that was replaced by another.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    pub(crate) fn new(path: impl Into<String>, change: Change) -> Self {
        FileEdit {
            path: path.into(),
            moved_to: None,
            before: None,
            change,
        }
    }
}

impl HunkLine {
    /// A line of a patch with its sign; `None` for remarks. Editors strip the space of an empty line that is kept.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let Some(sign) = line.chars().next() else {
            return Some(HunkLine::Kept(String::new()));
        };
        let text = line[sign.len_utf8()..].to_string();
        match sign {
            ' ' => Some(HunkLine::Kept(text)),
            '-' => Some(HunkLine::Removed(text)),
            '+' => Some(HunkLine::Added(text)),
            _ => None,
        }
    }
}

/// The first of these fields that is a string.
pub(crate) fn text<'a>(value: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| value.get(name)?.as_str())
}

/// The strings that the input of an edit tool replaces: one pair, or a list of them.
pub(crate) fn substitutions(input: &Value) -> Vec<Substitution> {
    const OLD: [&str; 4] = ["old_string", "oldString", "old_str", "oldText"];
    const NEW: [&str; 4] = ["new_string", "newString", "new_str", "newText"];
    let one = |value: &Value| {
        let all = ["replace_all", "replaceAll"];
        Some(Substitution {
            old: text(value, &OLD)?.to_string(),
            new: text(value, &NEW)?.to_string(),
            all: all
                .iter()
                .any(|name| value.get(name).and_then(Value::as_bool) == Some(true)),
        })
    };
    match input.get("edits").and_then(Value::as_array) {
        Some(edits) => edits.iter().filter_map(one).collect(),
        None => one(input).into_iter().collect(),
    }
}

/// A change by strings. To replace nothing is to write a new file.
pub(crate) fn by_strings(strings: Vec<Substitution>) -> Option<Change> {
    match &strings[..] {
        [] => None,
        [only] if only.old.is_empty() => Some(Change::Written(only.new.clone())),
        _ => Some(Change::Strings(strings)),
    }
}

#[cfg(test)]
mod tests;
