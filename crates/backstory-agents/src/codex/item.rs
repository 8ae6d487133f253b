//! Items of the model's conversation: messages, thoughts, calls and what they gave back.

use super::call::{self, Effects};
use super::entry::{Entry, Voice, of_call, raw, said, text, thought, user, with_id};
use super::output::Answer;
use super::{edits, marks, message};
use crate::json;
use crate::object::Object;
use crate::shared::{kept_text, success_of_status};
use backstory_event::Kind;

/// What an item of the model's conversation says.
pub(super) fn item(item: &Object<'_>) -> Option<Entry> {
    let mut entry = with_id(item_content(item), item.name("id"))?;
    if matches!(entry.kind, Some(Kind::ToolCall | Kind::ToolResult)) {
        entry.body.status = item.name("status");
    }
    Some(entry)
}

fn item_content(item: &Object<'_>) -> Option<Entry> {
    match item.word("type").as_deref() {
        Some("message") => from_message(item),
        // Some writers leave the type out where the role tells it.
        None if item.has("role") => from_message(item),
        Some("reasoning") => reasoning(item),
        Some("function_call") => function_call(item),
        Some("custom_tool_call") => custom_call(item),
        Some("local_shell_call") => Some(shell_call(item)),
        Some("web_search_call") => Some(provider_call(item, "web_search", "action")),
        Some("tool_search_call") => Some(plain_call(item, "tool_search", "arguments")),
        Some("image_generation_call") => {
            Some(provider_call(item, "image_generation", "revised_prompt"))
        }
        Some(
            "function_call_output"
            | "custom_tool_call_output"
            | "local_shell_call_output"
            | "mcp_tool_call_output",
        ) => Some(tool_result(
            item,
            item.get("output").map(Answer::of).unwrap_or_default(),
        )),
        Some("tool_search_output") => {
            let error = item.word("status").is_some_and(|status| status == "failed");
            Some(tool_result(
                item,
                Answer {
                    text: raw(item.get("tools")),
                    error,
                    ..Answer::default()
                },
            ))
        }
        Some("agent_message") => said(
            Kind::System,
            Voice::OtherAgent,
            item.get("content")
                .and_then(|content| message::joined(message::parts(content))),
        ),
        _ => None,
    }
}

fn from_message(message: &Object<'_>) -> Option<Entry> {
    let parts = message::parts(message.get("content")?);
    match message.text("role")?.as_str() {
        "user" => user(parts),
        "assistant" => said(Kind::Reply, Voice::Assistant, message::joined(parts)),
        _ => text(Kind::System, message::joined(parts)),
    }
}

fn reasoning(item: &Object<'_>) -> Option<Entry> {
    // Mostly there is nothing but encrypted content, which says nothing to anyone.
    let lists = ["summary", "content"]
        .into_iter()
        .filter_map(|list| item.get(list));
    thought(
        lists
            .flat_map(message::parts)
            .filter_map(message::Part::text),
    )
}

fn function_call(item: &Object<'_>) -> Option<Entry> {
    let name = item.name("name")?;
    let arguments = item.get("arguments").map(json::text_of).unwrap_or_default();
    let tool = call::tool_name(item.text("namespace"), &name);
    let fields = Object::parse(&arguments).ok();
    let fields = fields.as_ref();
    let effects = fields.map(|fields| call::argument_effects(&name, fields));
    let edits = fields.map(|fields| edits::argument_edits(&arguments, fields));
    let mut entry = tool_call(item, &tool, effects.unwrap_or_default());
    entry.body.edits = edits.unwrap_or_default();
    entry.body.text = kept_text(arguments).unwrap_or_default();
    Some(entry)
}

fn custom_call(item: &Object<'_>) -> Option<Entry> {
    let name = item.name("name")?;
    let input = item.get("input").map(json::text_of).unwrap_or_default();
    let tool = call::tool_name(item.text("namespace"), &name);
    let mut entry = tool_call(item, &tool, call::of_input(&name, &input));
    entry.body.edits = edits::input_edits(&name, &input);
    entry.body.text = kept_text(input).unwrap_or_default();
    Some(entry)
}

fn shell_call(item: &Object<'_>) -> Entry {
    let action = item.object("action");
    let action = action.as_ref();
    let command = action.and_then(|action| action.get("command"));
    let effects = command.map(call::of_command).unwrap_or_default();
    let mut entry = tool_call(item, "local_shell", effects);
    entry.body.text = raw(item.get("action"));
    entry.body.edits = action.map(edits::shell_edits).unwrap_or_default();
    entry
}

/// A call of which nothing is known but what a field says.
fn plain_call(item: &Object<'_>, tool: &str, field: &str) -> Entry {
    let mut entry = tool_call(item, tool, Effects::default());
    entry.body.text = raw(item.get(field));
    entry
}

/// A call of a tool that the provider runs: no result follows.
fn provider_call(item: &Object<'_>, tool: &str, field: &str) -> Entry {
    let mut entry = plain_call(item, tool, field);
    entry.body.has_succeeded = success_of_status(item.word("status").as_deref());
    entry
}

fn tool_call(item: &Object<'_>, tool: &str, effects: Effects) -> Entry {
    let mut body = of_call(item.name("call_id").or_else(|| item.name("id")));
    body.command = effects.command;
    Entry {
        kind: Some(Kind::ToolCall),
        body,
        tool: Some(tool.to_string()),
        touches: effects.touches,
        ..Entry::default()
    }
}

fn tool_result(item: &Object<'_>, answer: Answer) -> Entry {
    let mut body = of_call(item.name("call_id"));
    body.marks.denied = marks::is_denial(&answer.text, answer.error);
    body.text = answer.text;
    body.in_background = answer.in_background;
    Entry {
        kind: Some(Kind::ToolResult),
        body,
        tool: item
            .name("name")
            .map(|name| call::tool_name(item.text("namespace"), &name)),
        error: answer.error,
        exit_code: answer.exit_code,
        duration_ms: answer.duration_ms,
        ..Entry::default()
    }
}
