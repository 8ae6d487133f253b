//! What Codex's tools did to files: patches, in all the forms in which they are called.

use serde_json::Value;

use super::call;
use crate::edit::{Change, FileEdit, text};
use crate::{patch, shell};

const MARK: &str = "*** Begin Patch";

/// What the event of a record's part did to files.
pub(super) fn of_record(record: &Value, part: u16) -> Vec<FileEdit> {
    let items = record.get("items").and_then(Value::as_array);
    if let Some(items) = items.filter(|_| record.get("session").is_some()) {
        let item = items.get(usize::from(part));
        return item.map(of_item).unwrap_or_default();
    }
    let Some(payload) = record.get("payload") else {
        return of_item(record);
    };
    match (text(record, &["type"]), text(payload, &["type"])) {
        (Some("response_item"), _) => of_item(payload),
        // The first part is the call, the second its result.
        (Some("event_msg"), Some("item_completed")) if part == 0 => {
            let changes = payload.get("item").and_then(|item| item.get("changes"));
            let changes = changes.and_then(Value::as_object).into_iter().flatten();
            changes
                .filter_map(|(path, change)| of_change(path, change))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn of_item(item: &Value) -> Vec<FileEdit> {
    match text(item, &["type"]) {
        Some("function_call") => {
            let arguments = match item.get("arguments") {
                Some(Value::String(arguments)) => crate::json::read(arguments).unwrap_or_default(),
                Some(arguments) => arguments.clone(),
                None => Value::Null,
            };
            let folder = text(&arguments, &["workdir", "cwd", "working_directory"]);
            let given = ["input", "patch", "cmd", "command"];
            let given = given.iter().find_map(|name| arguments.get(name));
            within(folder, given.map(of_command).unwrap_or_default())
        }
        Some("custom_tool_call") => match (text(item, &["name"]), text(item, &["input"])) {
            (Some("exec"), Some(script)) => of_script(script),
            (_, Some(input)) => patch::edits(input),
            _ => Vec::new(),
        },
        Some("local_shell_call") => {
            let action = item.get("action").unwrap_or(&Value::Null);
            let command = action.get("command").map(of_command);
            within(
                text(action, &["working_directory"]),
                command.unwrap_or_default(),
            )
        }
        _ => Vec::new(),
    }
}

/// A patch, a script with one in it, or a list of program and arguments.
fn of_command(command: &Value) -> Vec<FileEdit> {
    let words: Vec<&str> = match command {
        Value::String(script) => vec![script],
        other => other
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect(),
    };
    let Some(script) = words.iter().find(|script| script.contains(MARK)) else {
        // What a shell is given to run, or the words themselves.
        return match words[..] {
            ["mv" | "git", ..] => shell::moves(&words.join(" ")),
            _ => words
                .last()
                .map(|script| shell::moves(script))
                .unwrap_or_default(),
        };
    };
    // `cd folder && apply_patch <<'EOF'` is as models write it.
    let before = script.split(MARK).next().unwrap_or_default();
    let folder = before
        .trim_start()
        .strip_prefix("cd ")
        .and_then(|rest| rest.split_once("&&"))
        .map(|(folder, _)| folder.trim().trim_matches(['"', '\'']));
    within(folder, patch::edits(script))
}

/// A patch in a script of the code mode is mostly one string literal.
fn of_script(script: &str) -> Vec<FileEdit> {
    let literal = script.find(MARK).and_then(|at| {
        let quote = script[..at].trim_end().len().checked_sub(1)?;
        Some(call::literal(script.get(quote..)?)?.0)
    });
    patch::edits(literal.as_deref().unwrap_or(script))
}

fn of_change(path: &str, change: &Value) -> Option<FileEdit> {
    let done = match text(change, &["type"])? {
        "add" => Change::Written(text(change, &["content"])?.to_string()),
        "delete" => Change::Deleted,
        _ => Change::Hunks(patch::unified(text(change, &["unified_diff"])?)),
    };
    let before = matches!(done, Change::Written(_)).then(String::new);
    Some(FileEdit {
        moved_to: text(change, &["move_path"]).map(str::to_string),
        before,
        ..FileEdit::new(path, done)
    })
}

/// Paths below the folder that a command ran in.
fn within(folder: Option<&str>, mut edits: Vec<FileEdit>) -> Vec<FileEdit> {
    let Some(folder) = folder.filter(|folder| !folder.is_empty()) else {
        return edits;
    };
    let join = |path: &mut String| {
        if !path.starts_with('/') {
            *path = format!("{}/{path}", folder.trim_end_matches('/'));
        }
    };
    for edit in &mut edits {
        join(&mut edit.path);
        edit.moved_to.iter_mut().for_each(join);
    }
    edits
}
