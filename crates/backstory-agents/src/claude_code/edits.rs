//! What Claude Code's tools did to files: as they were asked, and better, as the structured twin of their result tells.

use serde_json::Value;

use crate::edit::{Change, FileEdit, Hunk, by_strings, parse_hunk_line, substitutions, text};
use crate::shell;

/// What the event of a record's part did to files.
pub(super) fn of_record(record: &Value, part: u16) -> Vec<FileEdit> {
    let found = block_of(record, part);
    found.unwrap_or_default()
}

fn block_of(record: &Value, part: u16) -> Option<Vec<FileEdit>> {
    let blocks = record.get("message")?.get("content")?.as_array()?;
    let block = blocks.get(usize::from(part).checked_sub(1)?)?;
    match text(block, &["type"])? {
        "tool_use" => {
            let (tool, input) = (text(block, &["name"])?, block.get("input")?);
            if tool == "Bash" {
                return Some(shell::moves(text(input, &["command"])?));
            }
            Some(vec![asked(tool, input)?])
        }
        "tool_result" => {
            // The twin is of the record: with several results in it nobody knows whose.
            let results = blocks
                .iter()
                .filter(|block| text(block, &["type"]) == Some("tool_result"));
            let only = results.take(2).count() == 1;
            let twin = record.get("toolUseResult").filter(|_| only)?;
            Some(vec![done(twin)?])
        }
        _ => None,
    }
}

fn asked(tool: &str, input: &Value) -> Option<FileEdit> {
    let path = text(input, &["file_path"])?;
    let change = match tool {
        "Write" => Change::Written(text(input, &["content"])?.to_string()),
        "Edit" | "MultiEdit" => by_strings(substitutions(input))?,
        // A notebook's cells are not the lines of its file: only the result can tell.
        _ => return None,
    };
    Some(FileEdit::new(path, change))
}

fn done(twin: &Value) -> Option<FileEdit> {
    let path = text(twin, &["filePath", "notebook_path"])?;
    let before = text(twin, &["originalFile", "original_file"]).map(str::to_string);
    let hunks = structured_patch(twin);
    if let Some(after) = text(twin, &["updated_file"]) {
        let change = Change::Written(after.to_string());
        return Some(FileEdit {
            before,
            ..FileEdit::new(path, change)
        });
    }
    if let Some(content) = text(twin, &["content"]) {
        let created = text(twin, &["type"])? == "create";
        let change = Change::Written(content.to_string());
        return Some(FileEdit {
            before: before.or(created.then(String::new)),
            ..FileEdit::new(path, change)
        });
    }
    let strings = substitutions(twin);
    // The patch is made for people, with tabs as spaces, so strings are better unless a person changed them before they were
    // applied.
    let changed = twin.get("userModified").and_then(Value::as_bool) == Some(true);
    let found = before.as_deref().is_none_or(|before| {
        strings
            .first()
            .is_some_and(|first| before.contains(&first.old))
    });
    let change = match by_strings(strings) {
        Some(change) if found && !changed => change,
        other if hunks.is_empty() => other?,
        _ => Change::Hunks(hunks),
    };
    Some(FileEdit {
        before,
        ..FileEdit::new(path, change)
    })
}

fn structured_patch(twin: &Value) -> Vec<Hunk> {
    let hunks = twin.get("structuredPatch").and_then(Value::as_array);
    let one = |hunk: &Value| {
        let lines = hunk.get("lines")?.as_array()?;
        let line = hunk.get("oldStart").and_then(Value::as_u64);
        Some(Hunk {
            line: line.and_then(|line| usize::try_from(line).ok()),
            lines: lines
                .iter()
                .filter_map(|line| parse_hunk_line(line.as_str()?))
                .collect(),
            ..Hunk::default()
        })
    };
    hunks.into_iter().flatten().filter_map(one).collect()
}
