//! Patches: the `apply_patch` format that Codex made common, and unified diffs.

use crate::edit::{Change, FileEdit, Hunk, parse_hunk_line};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// What the patches in a text do: in one alone, in a heredoc, in several.
pub(crate) fn edits(text: &str) -> Vec<FileEdit> {
    let mut edits = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(BEGIN) {
        let body = &rest[start + BEGIN.len()..];
        let length = body.find(&format!("\n{END}")).unwrap_or(body.len());
        of_patch(&body[..length], &mut edits);
        rest = &body[length..];
    }
    edits
}

/// Returns whether there is a patch in a text, in the format of `apply_patch`.
pub(crate) fn has_patch(text: &str) -> bool {
    text.contains(BEGIN)
}

/// Returns the lines that a patch or unified diff in a text adds; `None` when there is none in it.
pub(crate) fn added_lines(text: &str) -> Option<String> {
    if !has_patch(text) && !text.contains("\n@@") {
        return None;
    }
    let added = text.lines().filter_map(|line| line.strip_prefix('+'));
    Some(added.collect::<Vec<&str>>().join("\n"))
}

/// The hunks of a unified diff of one file.
pub(crate) fn unified(diff: &str) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for line in lines(diff) {
        match (heading(line), hunks.last_mut()) {
            (Some(hunk), _) => hunks.push(hunk),
            (None, Some(hunk)) => hunk.lines.extend(parse_hunk_line(line)),
            // Names of files, before the first hunk.
            (None, None) => {}
        }
    }
    hunks
}

fn of_patch(body: &str, edits: &mut Vec<FileEdit>) {
    let known = edits.len();
    for line in lines(body) {
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            edits.push(FileEdit::new(path.trim(), Change::Written(String::new())));
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            edits.push(FileEdit::new(path.trim(), Change::Hunks(Vec::new())));
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            edits.push(FileEdit::new(path.trim(), Change::Deleted));
        } else if edits.len() > known
            && let Some(edit) = edits.last_mut()
        {
            of_file(line, edit);
        }
    }
    for edit in &mut edits[known..] {
        if let Change::Hunks(hunks) = &mut edit.change {
            hunks.retain(|hunk| !hunk.lines.is_empty());
        }
    }
}

/// A line within what is done to one file.
fn of_file(line: &str, edit: &mut FileEdit) {
    if let Some(path) = line.strip_prefix("*** Move to: ") {
        edit.moved_to = Some(path.trim().to_string());
        return;
    }
    match &mut edit.change {
        Change::Written(text) => {
            if let Some(line) = line.strip_prefix('+') {
                text.push_str(line);
                text.push('\n');
            }
        }
        Change::Hunks(hunks) => {
            if let Some(next) = heading(line) {
                match hunks.last_mut() {
                    // Several headings in a row lead to the place step by step.
                    Some(hunk) if hunk.lines.is_empty() => {
                        hunk.after.extend(next.after);
                        hunk.line = next.line.or(hunk.line);
                    }
                    _ => hunks.push(next),
                }
                return;
            }
            if hunks.is_empty() {
                // The first heading may be left out; the newline before the end marker is no line.
                hunks.push(Hunk::default());
            }
            if let Some(hunk) = hunks.last_mut() {
                if line.trim_end() == "*** End of File" {
                    hunk.at_end = true;
                } else {
                    hunk.lines.extend(parse_hunk_line(line));
                }
            }
        }
        Change::Strings(_) | Change::Deleted => {}
    }
}

/// The beginning of a hunk: `@@`, `@@ a line above`, `@@ -3,4 +3,5 @@ a line above`.
fn heading(line: &str) -> Option<Hunk> {
    let rest = line.strip_prefix("@@")?;
    let mut hunk = Hunk::default();
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    if let Some((numbers, _)) = rest
        .strip_prefix('-')
        .and_then(|rest| rest.split_once("@@"))
    {
        let digits: String = numbers.chars().take_while(char::is_ascii_digit).collect();
        hunk.line = digits.parse().ok();
    } else if !rest.trim().is_empty() {
        hunk.after.push(rest.trim_end().to_string());
    }
    Some(hunk)
}

/// Lines without their ends. The first newline only ends the line that the text follows.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.strip_prefix('\n').unwrap_or(text).lines()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::HunkLine::{Added, Kept, Removed};

    #[test]
    fn a_patch_adds_changes_moves_and_deletes() {
        let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new.rs\n+one\n+\n+two\n*** Update File: old.rs\n\
             *** Move to: src/moved.rs\n@@ mod shop\n@@ fn pay() {\n a\n-b\n+c\n\n@@\n-z\n*** End of File\n*** Delete File: gone.rs\n\
             *** End Patch\nEOF\n";
        let found = edits(patch);
        assert_eq!(found.len(), 3);
        assert_eq!(
            found[0],
            FileEdit::new("new.rs", Change::Written("one\n\ntwo\n".into()))
        );
        assert_eq!(found[1].moved_to.as_deref(), Some("src/moved.rs"));
        let first = Hunk {
            after: vec!["mod shop".into(), "fn pay() {".into()],
            lines: vec![
                Kept("a".into()),
                Removed("b".into()),
                Added("c".into()),
                Kept(String::new()),
            ],
            ..Hunk::default()
        };
        let second = Hunk {
            at_end: true,
            lines: vec![Removed("z".into())],
            ..Hunk::default()
        };
        assert_eq!(found[1].change, Change::Hunks(vec![first, second]));
        assert_eq!(found[2], FileEdit::new("gone.rs", Change::Deleted));
        assert_eq!(edits("no patch"), []);
        assert_eq!(edits("*** Begin Patch\n*** Update File: a").len(), 1);
    }

    #[test]
    fn a_unified_diff_knows_its_lines() {
        let hunks = unified(
            "--- a/x\n+++ b/x\n@@ -3,2 +3,2 @@ fn x\n a\n--- b\n+c\n\\ No newline at end of file\n",
        );
        assert_eq!(hunks.len(), 1);
        assert_eq!(hunks[0].line, Some(3));
        assert_eq!(
            hunks[0].lines,
            [Kept("a".into()), Removed("-- b".into()), Added("c".into())]
        );
    }
}
