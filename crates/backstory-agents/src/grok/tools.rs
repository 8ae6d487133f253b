//! What tools were asked and what they answered.

use serde_json::value::RawValue;

use super::content::content_text;
use super::fields::{Fields, integer};
use crate::shared::{command_column, is_true, items, kept, patch_touches, string};
use backstory_event::{Action, Touch};

/// Number of files of a call that another one is compared with: no call names so many by two names.
const MAX_COMPARED_TOUCHES: usize = 1024;

/// What a tool was asked.
#[derive(Debug, Default)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(super) text: String,
    pub(crate) command: Option<String>,
    pub(crate) touches: Vec<Touch>,
}

/// Reads a call: the tool's name, its kind in Grok's words (`read`, `edit`, …; empty when unknown), its input as JSON, and the
/// files that the log names besides.
pub(crate) fn call(tool: &str, kind: &str, input: &str, locations: &[String]) -> Call {
    read_call(tool, kind, input, &Fields::read(input), locations)
}

/// Reads a call whose input is parsed already.
pub(super) fn read_call(
    tool: &str,
    kind: &str,
    input: &str,
    fields: &Fields<'_>,
    locations: &[String],
) -> Call {
    let command = command(fields);
    let tool = called_tool(tool, fields);
    Call {
        text: call_text(&tool, input, command.as_deref()),
        command: command.as_deref().and_then(command_column),
        touches: touched_files(&tool, kind, fields, locations),
        tool,
    }
}

/// The tool that is called: an MCP tool is called through another one.
pub(super) fn called_tool(tool: &str, input: &Fields<'_>) -> String {
    match input.text(&["tool_name"]) {
        Some(target) if tool == "use_tool" => target.into_owned(),
        _ => tool.to_string(),
    }
}

/// The files that a call names.
pub(super) fn touched_files(
    tool: &str,
    kind: &str,
    input: &Fields<'_>,
    locations: &[String],
) -> Vec<Touch> {
    let mut touches: Vec<Touch> = Vec::new();
    let mut touch = |path: &str, action| {
        // The input may name the file below the working directory, the log by its whole path.
        if !matches!(path, "" | ".")
            && !touches
                .iter()
                .take(MAX_COMPARED_TOUCHES)
                .any(|known| ends_with_path(&known.path, path))
        {
            touches.push(Touch {
                path: path.to_string(),
                action,
            });
        }
    };
    let action = action(kind, tool);
    for path in locations {
        touch(path, action);
    }
    const PATHS: [&str; 7] = [
        "target_file",
        "file_path",
        "filePath",
        "path",
        "notebook_path",
        "source_path",
        "destination_path",
    ];
    for path in PATHS.iter().filter_map(|name| input.text(&[name])) {
        touch(&path, action);
    }
    for named in input
        .text(&["patch"])
        .iter()
        .flat_map(|patch| patch_touches(patch))
    {
        touch(&named.path, named.action);
    }
    touches
}

/// The text of a call: its command, else its input, else what it is called.
pub(super) fn call_text(title: &str, input: &str, command: Option<&str>) -> String {
    let input = if input == "{}" { "" } else { input };
    kept(command.unwrap_or(input)).unwrap_or_else(|| title.to_string())
}

/// The arguments of a call, where its text is not these already.
pub(super) fn arguments(input: &str, text: &str) -> Option<String> {
    kept(input).filter(|arguments| arguments != "null" && arguments != text)
}

/// The whole command that a call runs.
pub(super) fn command(input: &Fields<'_>) -> Option<String> {
    let raw = input.get(&["command", "cmd"])?;
    if let Some(command) = string(Some(raw)) {
        return Some(command.into_owned());
    }
    let words: Vec<_> = items(raw)
        .into_iter()
        .filter_map(|word| string(Some(word)))
        .collect();
    match words.as_slice() {
        [] => None,
        // A shell that is given a script.
        [_, option, script] if option.starts_with('-') && option.ends_with('c') => {
            Some(script.to_string())
        }
        words => Some(words.join(" ")),
    }
}

fn action(kind: &str, tool: &str) -> Action {
    match kind {
        "read" | "search" | "list" | "list_dir" | "lsp" | "fetch" => Action::Read,
        "edit" | "write" | "move" => Action::Write,
        "delete" => Action::Delete,
        // A call is announced before its kind is known, and the cache of messages has names only.
        _ => {
            let tool = tool.to_ascii_lowercase();
            let names = |words: &[&str]| words.iter().any(|word| tool.contains(word));
            if names(&["delete", "remove"]) {
                Action::Delete
            } else if names(&["write", "edit", "replace", "patch", "create", "move"]) {
                Action::Write
            } else {
                Action::Read
            }
        }
    }
}

fn ends_with_path(whole: &str, path: &str) -> bool {
    whole
        .strip_suffix(path.trim_start_matches("./"))
        .is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
}

/// How a tool call ended, besides its text.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) error: bool,
    pub(super) exit_code: Option<i64>,
    pub(crate) duration_ms: Option<i64>,
}

impl Outcome {
    /// Returns whether the call did not do what it was asked.
    pub(super) fn has_failed(&self) -> bool {
        self.error || self.exit_code.is_some_and(|code| code != 0)
    }
}

/// Reads how a call ended.
pub(crate) fn outcome(raw_output: Option<&RawValue>, failed: bool) -> Outcome {
    let output = Fields::of(raw_output);
    let exit_code = integer(output.get(&["exit_code", "exitCode"]));
    // A search that finds nothing exits with 1.
    let good_until = i64::from(string(output.get(&["type"])).as_deref() == Some("GrepSearch"));
    let bad_code = exit_code.is_some_and(|code| !(0..=good_until).contains(&code));
    Outcome {
        error: failed || bad_code || is_true(output.get(&["is_error"])),
        exit_code,
        duration_ms: integer(output.get(&["duration_ms", "durationMs"])),
    }
}

/// The text of a result: what the tool put out, else what was shown of it, else the output as it is written.
pub(crate) fn result_text(raw_output: Option<&RawValue>, shown: Option<&RawValue>) -> String {
    let output = raw_output.and_then(|raw| output_text(raw, 0));
    if let Some(text) = output.as_deref().and_then(kept) {
        return text;
    }
    let shown: Vec<String> = shown
        .map(items)
        .unwrap_or_default()
        .into_iter()
        .map(shown_text)
        .collect();
    if let Some(text) = kept(&shown.join("\n")) {
        return text;
    }
    match (output, raw_output) {
        // Known to be nothing.
        (Some(_), _) | (None, None) => String::new(),
        (None, Some(raw)) => kept(raw.get()).unwrap_or_default(),
    }
}

/// Where outputs keep their text, the form that the model saw first.
const TEXT_FIELDS: [&str; 12] = [
    "output_for_prompt",
    "tool_output_for_prompt",
    "pre_formatted",
    "output",
    "stdout",
    "stderr",
    "content",
    "text",
    "message",
    "summary",
    "OkayOutput",
    "Error",
];

/// How deep outputs nest: an enum in an object in an enum.
const MOST_DEEP: usize = 4;

/// The text of an output; `None` when it has none, which differs from an empty one.
fn output_text(raw: &RawValue, depth: usize) -> Option<String> {
    if depth > MOST_DEEP {
        return None;
    }
    if let Some(text) = string(Some(raw)) {
        return Some(text.into_owned());
    }
    if raw.get().starts_with('[') {
        // Grok keeps the output of commands as bytes, which JSON spells as a list of numbers.
        if let Ok(bytes) = serde_json::from_str::<Vec<u8>>(raw.get()) {
            return Some(String::from_utf8_lossy(&bytes).into_owned());
        }
        let texts: Vec<String> = items(raw)
            .into_iter()
            .filter_map(|item| output_text(item, depth + 1))
            .collect();
        return (!texts.is_empty()).then(|| texts.join("\n"));
    }
    let fields = Fields::read(raw.get());
    let mut empty = None;
    for name in TEXT_FIELDS {
        match fields
            .get(&[name])
            .and_then(|raw| output_text(raw, depth + 1))
        {
            Some(text) if text.trim().is_empty() => empty = Some(text),
            Some(text) => return Some(text),
            None => {}
        }
    }
    // An enum has its value under the variant's name: `{"type":"ReadFile","FileContent":{"content":…}}`.
    let variant = fields
        .iter()
        .filter(|(name, _)| name.starts_with(|first: char| first.is_ascii_uppercase()));
    variant
        .filter_map(|(_, raw)| output_text(raw, depth + 1))
        .next()
        .or(empty)
}

/// A block that was shown while the tool ran.
fn shown_text(raw: &RawValue) -> String {
    let block = Fields::read(raw.get());
    if string(block.get(&["type"])).as_deref() != Some("diff") {
        return content_text(block.get(&["content"]).or(Some(raw)));
    }
    let mut text = block.text(&["path"]).unwrap_or_default().into_owned();
    for (sign, field) in [('-', "oldText"), ('+', "newText")] {
        for line in block.text(&[field]).unwrap_or_default().lines() {
            text.push('\n');
            text.push(sign);
            text.push_str(line);
        }
    }
    text
}
