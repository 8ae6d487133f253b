//! What one record says, told from the record alone.
//!
//! Both reading a log and giving the text of a stored event go through here, so that they cannot differ.

use serde_json::value::RawValue;

use super::call::{self, Effects};
use super::message;
use super::output::Answer;
use super::turn_item;
use crate::json;
use crate::object::Object;
use crate::shared::kept;
use backstory_event::{Kind, Touch};

/// One event, but for what only its place in the log tells.
#[derive(Default)]
pub(super) struct Entry {
    pub(super) kind: Option<Kind>,
    pub(super) text: String,
    /// Who speaks, when the log may hold the same words a second time.
    pub(super) voice: Option<Voice>,
    /// The words as the other record may have them, when that is not all at once.
    pub(super) pieces: Vec<String>,
    pub(super) tool: Option<String>,
    pub(super) call: Option<String>,
    pub(super) command: Option<String>,
    pub(super) touches: Vec<Touch>,
    pub(super) error: bool,
    pub(super) exit_code: Option<i64>,
    pub(super) duration_ms: Option<i64>,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    User,
    Assistant,
    Thought,
    OtherAgent,
}

/// In which of its records Codex says something. The same words come once in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    /// What went to and from the model.
    Item = 1,
    /// What went to the screen.
    Event = 2,
    /// What is kept for the app's history.
    TurnItem = 4,
}

/// All that a record says, in order: the place in the list is the part of the event's span.
pub(super) fn entries(record: &Object<'_>) -> (Channel, Vec<Entry>) {
    let Some(payload) = record.object("payload") else {
        return (Channel::Item, item(record).into_iter().collect());
    };
    match record.text("type").as_deref() {
        Some("response_item") => (Channel::Item, item(&payload).into_iter().collect()),
        Some("event_msg") => event(&payload),
        Some("compacted") => (
            Channel::Item,
            text(Kind::Summary, payload.text("message"))
                .into_iter()
                .collect(),
        ),
        Some("inter_agent_communication") => (
            Channel::Event,
            said(Kind::System, Voice::OtherAgent, payload.text("content"))
                .into_iter()
                .collect(),
        ),
        _ => (Channel::Item, Vec::new()),
    }
}

/// What an item of the model's conversation says.
pub(super) fn item(item: &Object<'_>) -> Option<Entry> {
    match item.text("type").as_deref() {
        Some("message") => from_message(item),
        // Some writers leave the type out where the role tells it.
        None if item.has("role") => from_message(item),
        Some("reasoning") => reasoning(item),
        Some("function_call") => function_call(item),
        Some("custom_tool_call") => custom_call(item),
        Some("local_shell_call") => {
            let effects = item
                .object("action")
                .and_then(|action| action.get("command"))
                .map(call::of_command);
            Some(Entry {
                text: raw(item.get("action")),
                ..tool_call(item, "local_shell", effects.unwrap_or_default())
            })
        }
        Some("web_search_call") => Some(Entry {
            text: raw(item.get("action")),
            ..tool_call(item, "web_search", Effects::default())
        }),
        Some("tool_search_call") => Some(Entry {
            text: raw(item.get("arguments")),
            ..tool_call(item, "tool_search", Effects::default())
        }),
        Some("image_generation_call") => Some(Entry {
            text: raw(item.get("revised_prompt")),
            ..tool_call(item, "image_generation", Effects::default())
        }),
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
            let error = item.text("status").is_some_and(|status| status == "failed");
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

/// An entry that is nothing but text; `None` when there is none.
pub(super) fn text(kind: Kind, text: Option<String>) -> Option<Entry> {
    let text = kept(&text?)?;
    Some(Entry {
        kind: Some(kind),
        text,
        ..Entry::default()
    })
}

/// A text that may stand in several records.
pub(super) fn said(kind: Kind, voice: Voice, words: Option<String>) -> Option<Entry> {
    Some(Entry {
        voice: Some(voice),
        ..text(kind, words)?
    })
}

/// Thoughts, of which each piece may be a record of its own elsewhere.
pub(super) fn thought(pieces: impl Iterator<Item = String>) -> Option<Entry> {
    let pieces: Vec<String> = pieces.filter_map(|piece| kept(&piece)).collect();
    let entry = said(Kind::Reasoning, Voice::Thought, Some(pieces.join("\n\n")))?;
    Some(Entry { pieces, ..entry })
}

/// What a user's message says, whoever wrote it.
pub(super) fn user(parts: impl Iterator<Item = message::Part>) -> Option<Entry> {
    let (kind, words) = message::from_user(parts)?;
    said(kind, Voice::User, Some(words))
}

/// The text of a value: a string decoded, else the JSON.
pub(super) fn raw(value: Option<&RawValue>) -> String {
    value
        .and_then(|value| kept(&json::text_of(value)))
        .unwrap_or_default()
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
    let effects = call::of_arguments(&name, &arguments);
    Some(Entry {
        text: kept(&arguments).unwrap_or_default(),
        ..tool_call(item, &tool, effects)
    })
}

fn custom_call(item: &Object<'_>) -> Option<Entry> {
    let name = item.name("name")?;
    let input = item.get("input").map(json::text_of).unwrap_or_default();
    let tool = call::tool_name(item.text("namespace"), &name);
    Some(Entry {
        text: kept(&input).unwrap_or_default(),
        ..tool_call(item, &tool, call::of_input(&name, &input))
    })
}

fn tool_call(item: &Object<'_>, tool: &str, effects: Effects) -> Entry {
    Entry {
        kind: Some(Kind::ToolCall),
        tool: Some(tool.to_string()),
        call: item.name("call_id").or_else(|| item.name("id")),
        command: effects.command,
        touches: effects.touches,
        ..Entry::default()
    }
}

fn tool_result(item: &Object<'_>, answer: Answer) -> Entry {
    Entry {
        kind: Some(Kind::ToolResult),
        text: answer.text,
        tool: item
            .name("name")
            .map(|name| call::tool_name(item.text("namespace"), &name)),
        call: item.name("call_id"),
        error: answer.error,
        exit_code: answer.exit_code,
        duration_ms: answer.duration_ms,
        ..Entry::default()
    }
}

/// What an event for the screen says that no item does.
fn event(event: &Object<'_>) -> (Channel, Vec<Entry>) {
    let entry = match event.text("type").as_deref() {
        Some("user_message") => {
            let words = event.text("message").map(message::Part::Text);
            user(words.into_iter().chain(message::images(event)))
        }
        Some("agent_message") => said(Kind::Reply, Voice::Assistant, event.text("message")),
        Some("agent_reasoning" | "agent_reasoning_raw_content") => {
            thought(event.text("text").into_iter())
        }
        Some("turn_aborted") => text(Kind::System, Some(aborted(event.text("reason").as_deref()))),
        Some("thread_rolled_back") => {
            let turns = event.count("num_turns");
            text(
                Kind::System,
                Some(format!(
                    "Rolled back {turns} {}",
                    if turns == 1 { "turn" } else { "turns" }
                )),
            )
        }
        Some("error") => text(
            Kind::System,
            event
                .text("message")
                .map(|message| format!("Error: {message}")),
        ),
        Some("item_completed") => {
            let entries = event
                .object("item")
                .map(|item| turn_item::entries(&item))
                .unwrap_or_default();
            return (Channel::TurnItem, entries);
        }
        // Ends of commands, patches and searches repeat what the call's output says; lifecycle events say nothing.
        _ => None,
    };
    (Channel::Event, entry.into_iter().collect())
}

fn aborted(reason: Option<&str>) -> String {
    match reason {
        None | Some("interrupted") => "Interrupted by user".to_string(),
        Some(reason) => format!("Turn ended early: {}", reason.replace('_', " ")),
    }
}
