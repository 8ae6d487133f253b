//! What Grok's tools did to files: as they were asked, or as the change was shown.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::fields::Fields;
use crate::edit::{Change, FileEdit, Substitution, by_strings};
use crate::shared::{is_true, items};
use crate::{patch, shell};

/// Returns the changes that a call asks for. `tool` is whatever the log calls the tool.
pub(super) fn asked_edits(tool: &str, input: &Fields<'_>) -> Vec<FileEdit> {
    if let Some(patch) = input.string(&["patch", "input"]) {
        return patch::edits(&patch);
    }
    let from = input.string(&["source_path"]);
    if let (Some(from), Some(to)) = (from, input.string(&["destination_path"])) {
        return vec![FileEdit {
            moved_to: Some(to.into_owned()),
            ..FileEdit::new(from, Change::Hunks(Vec::new()))
        }];
    }
    const PATHS: [&str; 4] = ["target_file", "file_path", "filePath", "path"];
    let Some(path) = input.string(&PATHS) else {
        let command = input.string(&["command", "cmd"]);
        return command
            .map(|command| shell::moves(&command))
            .unwrap_or_default();
    };
    let whole = ["content", "contents", "file_text", "new_content"];
    let change = match by_strings(substitutions(input)) {
        Some(change) => Some(change),
        None if tool.to_ascii_lowercase().contains("delete") => Some(Change::Deleted),
        None => input
            .string(&whole)
            .map(Cow::into_owned)
            .map(Change::Written),
    };
    change
        .map(|change| FileEdit::new(path, change))
        .into_iter()
        .collect()
}

/// Returns the changes that were shown to the user, as the Agent Client Protocol has them.
pub(super) fn shown_edits(content: Option<&RawValue>) -> Vec<FileEdit> {
    // What a tool put out may be long, and mostly is no change.
    let has_diff =
        |content: &&RawValue| memchr::memmem::find(content.get().as_bytes(), b"\"diff\"").is_some();
    let blocks = content.filter(has_diff).map(items).unwrap_or_default();
    let edit = |block: &RawValue| {
        let block = Fields::read(block.get());
        let is_diff = block.string(&["type"]).as_deref() == Some("diff");
        let path = block.string(&["path"]).filter(|_| is_diff)?;
        let change = match block.string(&["oldText"]) {
            Some(_) => by_strings(substitutions(&block))?,
            None => Change::Written(block.string(&["newText"])?.into_owned()),
        };
        Some(FileEdit::new(path, change))
    };
    blocks.into_iter().filter_map(edit).collect()
}

/// The strings that the input of an edit tool replaces: one pair, or a list of them.
fn substitutions(input: &Fields<'_>) -> Vec<Substitution> {
    match input
        .get(&["edits"])
        .filter(|raw| raw.get().starts_with('['))
    {
        Some(edits) => items(edits)
            .into_iter()
            .filter_map(|edit| substitution(&Fields::read(edit.get())))
            .collect(),
        None => substitution(input).into_iter().collect(),
    }
}

fn substitution(fields: &Fields<'_>) -> Option<Substitution> {
    const OLD: [&str; 4] = ["old_string", "oldString", "old_str", "oldText"];
    const NEW: [&str; 4] = ["new_string", "newString", "new_str", "newText"];
    Some(Substitution {
        old: fields.string(&OLD)?.into_owned(),
        new: fields.string(&NEW)?.into_owned(),
        all: is_true(fields.get(&["replace_all"])) || is_true(fields.get(&["replaceAll"])),
    })
}
