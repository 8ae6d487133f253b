//! The items of `item_completed` events, which the paginated history mode writes beside the model's conversation.
//!
//! Written from `codex-rs/protocol/src/items.rs` of August 2026; no log of that mode was at hand. Messages are twins of
//! conversation items. Tools are too, except those that a script of the code mode calls: they are found only here.

use serde_json::value::RawValue;

use super::call::{self, Effects};
use super::entry::{self, Entry, Voice};
use super::message::{self, Part};
use super::output::milliseconds;
use super::{edits, marks};
use crate::injected::CONTEXT_OPEN;
use crate::object::{Object, string};
use crate::shared::{kept, success_of_status};
use backstory_event::{Action, Kind, Touch};

/// Returns the type of an item: `CommandExecution` in the source and `commandExecution` in the app's protocol are the same.
pub(super) fn type_name(item: &Object<'_>) -> String {
    let name = item.word("type").unwrap_or_default();
    name.replace('_', "").to_ascii_lowercase()
}

/// What an item says: at most a call and what it gave back.
pub(super) fn entries(item: &Object<'_>) -> Vec<Entry> {
    let mut entries = contents(item);
    let id = item.name("id");
    for entry in &mut entries {
        entry.body.identity.uuid.clone_from(&id);
        if matches!(entry.kind, Some(Kind::ToolCall | Kind::ToolResult)) {
            entry.body.status = item.name("status");
        }
    }
    entries
}

fn contents(item: &Object<'_>) -> Vec<Entry> {
    let name = type_name(item);
    let one = |entry: Option<Entry>| entry.into_iter().collect();
    match name.as_str() {
        "usermessage" => one(item
            .get("content")
            .and_then(|content| entry::user(message::parts(content)))),
        "agentmessage" => {
            let words = item
                .get("content")
                .and_then(|content| message::joined(message::parts(content)));
            one(entry::said(
                Kind::Reply,
                Voice::Assistant,
                words.or_else(|| item.text("text")),
            ))
        }
        "plan" => one(entry::said(
            Kind::Reply,
            Voice::Assistant,
            item.text("text"),
        )),
        "reasoning" => {
            let lists = ["summary_text", "raw_content"]
                .into_iter()
                .filter_map(|list| item.get(list));
            one(entry::thought(
                lists.flat_map(message::parts).filter_map(Part::text),
            ))
        }
        "hookprompt" => {
            let fragments = item
                .get("fragments")
                .and_then(|fragments| message::joined(message::parts(fragments)));
            one(entry::text(Kind::System, fragments))
        }
        "commandexecution" => {
            let effects = item
                .get("command")
                .map(call::of_command)
                .unwrap_or_default();
            let output = ["aggregated_output", "formatted_output", "stdout", "stderr"];
            let text = entry::raw(item.get("command"));
            pair(
                item,
                "exec_command",
                text,
                effects,
                output.into_iter().find_map(|field| item.name(field)),
            )
        }
        "filechange" => file_change(item),
        "mcptoolcall" => {
            let tool = format!(
                "mcp__{}__{}",
                item.text("server").unwrap_or_default(),
                item.text("tool").unwrap_or_default()
            );
            let result = item
                .object("result")
                .and_then(|result| message::joined(message::parts(result.get("content")?)));
            let error = item.object("error").and_then(|error| error.text("message"));
            pair(
                item,
                &tool,
                entry::raw(item.get("arguments")),
                Effects::default(),
                result.or(error),
            )
        }
        "dynamictoolcall" => {
            let tool = call::tool_name(
                item.text("namespace"),
                &item.text("tool").unwrap_or_default(),
            );
            let result = item
                .get("content_items")
                .and_then(|content| message::joined(message::parts(content)));
            pair(
                item,
                &tool,
                entry::raw(item.get("arguments")),
                Effects::default(),
                result.or_else(|| item.text("error")),
            )
        }
        "websearch" => {
            let query = entry::raw(item.get("query"));
            let mut search = call(item, "web_search", query, Effects::default());
            search.body.arguments = verbatim(item.get("action"));
            search.body.has_succeeded = success_of_status(item.word("status").as_deref());
            vec![search]
        }
        "imageview" => {
            let touches = item.name("path").map(call::read).into_iter().collect();
            let effects = Effects {
                command: None,
                touches,
            };
            let mut view = call(item, "view_image", entry::raw(item.get("path")), effects);
            view.body.has_succeeded = success_of_status(item.word("status").as_deref());
            vec![view]
        }
        _ => Vec::new(),
    }
}

fn file_change(item: &Object<'_>) -> Vec<Entry> {
    let listed = item.object("changes");
    let changes: Vec<Change> = listed
        .iter()
        .flat_map(Object::fields)
        .filter_map(change)
        .collect();
    let texts: Vec<&str> = changes.iter().map(|change| change.text.as_str()).collect();
    let text = texts.join("\n");
    let touches = changes.into_iter().flat_map(|change| change.touches);
    let effects = Effects {
        command: None,
        touches: touches.collect(),
    };
    let output = item.name("stdout").or_else(|| item.name("stderr"));
    let mut entries = pair(item, "apply_patch", text, effects, output);
    if let Some(call) = entries.first_mut() {
        call.body.edits = listed.as_ref().map(edits::listed_edits).unwrap_or_default();
        call.body.arguments = verbatim(item.get("changes"));
    }
    entries
}

/// JSON as it is written; none that holds our own context.
fn verbatim(value: Option<&RawValue>) -> Option<String> {
    let json = value?.get();
    (!json.contains(CONTEXT_OPEN)).then(|| json.to_string())
}

fn pair(
    item: &Object<'_>,
    tool: &str,
    text: String,
    effects: Effects,
    output: Option<String>,
) -> Vec<Entry> {
    let exit_code = item.integer("exit_code");
    let status = item.word("status");
    let is_declined = status.as_deref() == Some("declined");
    let error = exit_code.is_some_and(|code| code != 0)
        || item.says("success", false)
        || item.get("error").is_some()
        || is_declined
        || status.as_deref() == Some("failed");
    let mut body = entry::of_call(item.name("id"));
    body.text = output.and_then(|output| kept(&output)).unwrap_or_default();
    body.marks.denied = is_declined || marks::is_denial(&body.text, error);
    let result = Entry {
        kind: Some(Kind::ToolResult),
        body,
        tool: Some(tool.to_string()),
        error,
        exit_code,
        duration_ms: duration(item.get("duration")),
        ..Entry::default()
    };
    vec![call(item, tool, text, effects), result]
}

fn call(item: &Object<'_>, tool: &str, text: String, effects: Effects) -> Entry {
    let mut body = entry::of_call(item.name("id"));
    body.text = text;
    body.command = effects.command;
    Entry {
        kind: Some(Kind::ToolCall),
        body,
        tool: Some(tool.to_string()),
        touches: effects.touches,
        ..Entry::default()
    }
}

struct Change {
    text: String,
    touches: Vec<Touch>,
}

/// One changed file, in the words of a patch.
fn change((path, value): (&str, &RawValue)) -> Option<Change> {
    let fields = Object::of(value)?;
    let (verb, action) = match fields.text("type").as_deref() {
        Some("add") => ("Add", Action::Write),
        Some("delete") => ("Delete", Action::Delete),
        _ => ("Update", Action::Write),
    };
    let mut touches = vec![Touch {
        path: path.to_string(),
        action,
    }];
    let mut text = format!("*** {verb} File: {path}");
    if let Some(target) = fields.name("move_path") {
        text.push_str(&format!("\n*** Move to: {target}"));
        touches.push(Touch {
            path: target,
            action: Action::Write,
        });
    }
    if let Some(body) = fields
        .name("unified_diff")
        .or_else(|| fields.name("content"))
    {
        text.push('\n');
        text.push_str(&body);
    }
    Some(Change {
        text: kept(&text)?,
        touches,
    })
}

/// A duration in milliseconds: `{"secs":1,"nanos":5}`, as Rust's durations are written, or a text such as `1.5s`.
pub(super) fn duration(value: Option<&RawValue>) -> Option<i64> {
    let value = value?;
    if let Some(text) = string(value) {
        return text
            .trim_end_matches('s')
            .parse()
            .ok()
            .and_then(milliseconds);
    }
    let fields = Object::of(value)?;
    milliseconds(fields.number("secs")? + fields.number("nanos").unwrap_or(0.0) / 1e9)
}
