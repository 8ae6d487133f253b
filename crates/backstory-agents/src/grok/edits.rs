//! What Grok's tools did to files: as they were asked, or as the change was shown.

use serde_json::Value;

use crate::edit::{Change, FileEdit, by_strings, substitutions, text};
use crate::{patch, shell};

/// What the event of a record's part did to files.
pub(super) fn of_record(record: &Value, part: u16) -> Vec<FileEdit> {
    let update = record.get("params").unwrap_or(record).get("update");
    let Some(update) = update else {
        return of_message(record, part);
    };
    let asked = match (part, update.get("rawInput")) {
        (0, Some(input)) => {
            let names = [text(update, &["kind"]), text(update, &["title"])];
            asked(&names.map(Option::unwrap_or_default).join(" "), input)
        }
        _ => Vec::new(),
    };
    if asked.is_empty() {
        shown(update)
    } else {
        asked
    }
}

/// A call in the cache of messages, in the format of today or the one before.
fn of_message(message: &Value, part: u16) -> Vec<FileEdit> {
    let call = || {
        let calls = message.get("tool_calls")?.as_array()?;
        let call = calls.get(usize::from(part).checked_sub(1)?)?;
        let call = call.get("function").unwrap_or(call);
        let name = text(call, &["name"]).unwrap_or_default();
        Some(match call.get("arguments")? {
            Value::String(arguments) => {
                asked(name, &crate::json::read(arguments).unwrap_or_default())
            }
            arguments => asked(name, arguments),
        })
    };
    call().unwrap_or_default()
}

fn asked(tool: &str, input: &Value) -> Vec<FileEdit> {
    if let Some(patch) = text(input, &["patch", "input"]) {
        return patch::edits(patch);
    }
    let tool = tool.to_ascii_lowercase();
    let from = text(input, &["source_path"]);
    if let (Some(from), Some(to)) = (from, text(input, &["destination_path"])) {
        return vec![FileEdit {
            moved_to: Some(to.to_string()),
            ..FileEdit::new(from, Change::Hunks(Vec::new()))
        }];
    }
    const PATHS: [&str; 4] = ["target_file", "file_path", "filePath", "path"];
    let Some(path) = text(input, &PATHS) else {
        let command = text(input, &["command", "cmd"]);
        return command.map(shell::moves).unwrap_or_default();
    };
    let whole = text(input, &["content", "contents", "file_text", "new_content"]);
    let change = match by_strings(substitutions(input)) {
        Some(change) => Some(change),
        None if tool.contains("delete") => Some(Change::Deleted),
        None => whole.map(|whole| Change::Written(whole.to_string())),
    };
    change
        .map(|change| FileEdit::new(path, change))
        .into_iter()
        .collect()
}

/// The changes that were shown to the user, as the Agent Client Protocol has them.
fn shown(update: &Value) -> Vec<FileEdit> {
    let blocks = update.get("content").and_then(Value::as_array);
    let one = |block: &Value| {
        let path = text(block, &["path"]).filter(|_| text(block, &["type"]) == Some("diff"))?;
        let change = match text(block, &["oldText"]) {
            Some(_) => by_strings(substitutions(block))?,
            None => Change::Written(text(block, &["newText"])?.to_string()),
        };
        Some(FileEdit::new(path, change))
    };
    blocks.into_iter().flatten().filter_map(one).collect()
}
