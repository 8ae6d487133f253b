//! Parsing of the edits that tools make: strings that are replaced, lines of patches.

pub(crate) use backstory_event::{Change, FileEdit, Hunk, HunkLine, Substitution};

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
