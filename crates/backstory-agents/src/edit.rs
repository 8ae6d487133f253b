//! Parsing of the edits that tools make: strings that are replaced, lines of patches.

pub(crate) use backstory_event::{Change, FileEdit, Hunk, HunkLine, Substitution};
use serde_json::Value;

/// Parses a line of a patch with its sign; `None` for remarks. Editors strip the space of an empty line that is kept.
pub(crate) fn parse_hunk_line(line: &str) -> Option<HunkLine> {
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
