//! What Claude Code's tools did to files: as they were asked, and better, as the structured twin of their result tells.

use std::borrow::Cow;

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::tools::ToolInput;
use super::twin::Twin;
use crate::edit::{Change, FileEdit, Hunk, Substitution, by_strings, parse_hunk_line};
use crate::shared::{is_true, items, string};
use crate::shell;

/// What a call was asked to do to files.
pub(super) fn asked_edits(tool: &str, input: &ToolInput<'_>) -> Vec<FileEdit> {
    if tool == "Bash" {
        return input
            .command
            .as_deref()
            .map(shell::moves)
            .unwrap_or_default();
    }
    asked_edit(tool, input).into_iter().collect()
}

fn asked_edit(tool: &str, input: &ToolInput<'_>) -> Option<FileEdit> {
    // A notebook's cells are not the lines of its file: only the result can tell.
    if !matches!(tool, "Write" | "Edit" | "MultiEdit") {
        return None;
    }
    let path = string(input.file_path)?;
    let change = match tool {
        "Write" => Change::Written(string(input.content)?.into_owned()),
        _ => by_strings(substitutions(
            input.edits,
            [input.old_string, input.new_string, input.replace_all],
        ))?,
    };
    Some(FileEdit::new(path, change))
}

/// What the twin of a result says that was done to a file.
pub(super) fn made_edit(twin: &Twin<'_>) -> Option<FileEdit> {
    let path = string(twin.file_path).or_else(|| string(twin.notebook_path))?;
    let before = string(twin.original_file).or_else(|| string(twin.original_notebook));
    let before = before.map(Cow::into_owned);
    if let Some(after) = string(twin.updated_notebook) {
        let change = Change::Written(after.into_owned());
        return Some(FileEdit {
            before,
            ..FileEdit::new(path, change)
        });
    }
    if let Some(content) = string(twin.content) {
        let created = string(twin.kind)? == "create";
        let change = Change::Written(content.into_owned());
        return Some(FileEdit {
            before: before.or(created.then(String::new)),
            ..FileEdit::new(path, change)
        });
    }
    let strings = substitutions(
        twin.edits,
        [twin.old_string, twin.new_string, twin.replace_all],
    );
    // The patch is made for people, with tabs as spaces, so strings are better unless a person changed them before they were
    // applied.
    let changed = is_true(twin.user_modified);
    let found = before.as_deref().is_none_or(|before| {
        let holds = |first: &Substitution| memmem::find(before.as_bytes(), first.old.as_bytes());
        strings.first().and_then(holds).is_some()
    });
    let change = match by_strings(strings) {
        Some(change) if found && !changed => change,
        other => {
            let hunks = structured_patch(twin);
            match hunks.is_empty() {
                true => other?,
                false => Change::Hunks(hunks),
            }
        }
    };
    Some(FileEdit {
        before,
        ..FileEdit::new(path, change)
    })
}

/// The strings that an edit replaces: a list of them, or one pair with whether it is replaced everywhere.
fn substitutions(
    list: Option<&RawValue>,
    [old, new, all]: [Option<&RawValue>; 3],
) -> Vec<Substitution> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Pair<'a> {
        #[serde(borrow)]
        old_string: Option<&'a RawValue>,
        #[serde(borrow)]
        new_string: Option<&'a RawValue>,
        #[serde(borrow)]
        replace_all: Option<&'a RawValue>,
    }
    fn substitution(
        old: Option<&RawValue>,
        new: Option<&RawValue>,
        all: Option<&RawValue>,
    ) -> Option<Substitution> {
        Some(Substitution {
            old: string(old)?.into_owned(),
            new: string(new)?.into_owned(),
            all: is_true(all),
        })
    }
    match list.filter(|list| list.get().starts_with('[')) {
        Some(list) => {
            let pairs = items(list).into_iter();
            let pairs = pairs.map(|pair| serde_json::from_str::<Pair<'_>>(pair.get()));
            pairs
                .filter_map(Result::ok)
                .filter_map(|pair| substitution(pair.old_string, pair.new_string, pair.replace_all))
                .collect()
        }
        None => substitution(old, new, all).into_iter().collect(),
    }
}

fn structured_patch(twin: &Twin<'_>) -> Vec<Hunk> {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct PatchHunk<'a> {
        #[serde(borrow)]
        lines: Option<&'a RawValue>,
        #[serde(borrow)]
        old_start: Option<&'a RawValue>,
    }
    let parse_hunk = |raw: &RawValue| {
        let hunk: PatchHunk<'_> = serde_json::from_str(raw.get()).ok()?;
        let lines = hunk.lines.filter(|lines| lines.get().starts_with('['))?;
        Some(Hunk {
            line: hunk.old_start.and_then(|line| line.get().parse().ok()),
            lines: items(lines)
                .into_iter()
                .filter_map(|line| parse_hunk_line(&string(Some(line))?))
                .collect(),
            ..Hunk::default()
        })
    };
    let hunks = twin.structured_patch.map(items).unwrap_or_default();
    hunks.into_iter().filter_map(parse_hunk).collect()
}
