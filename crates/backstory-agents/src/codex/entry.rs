//! What one record says, told from the record alone.
//!
//! Both reading a log and reading the bodies of stored events again go through here, so that they cannot differ.

use serde_json::value::RawValue;

use super::item::item;
use super::line::RolloutLine;
use super::{marks, message, turn_item};
use crate::json;
use crate::object::Object;
use crate::shared::kept_text;
use backstory_event::{EventBody, Identity, Kind, Marks, Touch};

/// One event, but for what only its place in the log tells.
#[derive(Default)]
pub(super) struct Entry {
    pub(super) kind: Option<Kind>,
    pub(super) body: EventBody,
    /// Who speaks, when the log may hold the same words a second time.
    pub(super) voice: Option<Voice>,
    /// The words as the other record may have them, when that is not all at once.
    pub(super) pieces: Vec<String>,
    pub(super) tool: Option<String>,
    pub(super) touches: Vec<Touch>,
    pub(super) error: bool,
    pub(super) exit_code: Option<i64>,
    pub(super) duration_ms: Option<i64>,
}

impl Entry {
    /// Returns the id of the tool call that the entry is or answers.
    pub(super) fn call_id(&self) -> Option<&str> {
        self.body.identity.tool_use_id.as_deref()
    }
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
pub(super) fn entries(line: &RolloutLine<'_>) -> (Channel, Vec<Entry>) {
    let Some(payload) = &line.payload else {
        return (Channel::Item, item(&line.fields).into_iter().collect());
    };
    let one = |entry: Option<Entry>| entry.into_iter().collect::<Vec<_>>();
    let (channel, mut entries) = match line.kind.as_deref() {
        Some("response_item") => (Channel::Item, one(item(payload))),
        Some("event_msg") => event(line.payload_kind.as_deref(), payload),
        Some("compacted") => (Channel::Item, one(summary(payload))),
        Some("inter_agent_communication") => {
            let said = said(Kind::System, Voice::OtherAgent, payload.text("content"));
            (Channel::Event, one(with_id(said, payload.name("id"))))
        }
        _ => (Channel::Item, Vec::new()),
    };
    for entry in &mut entries {
        entry.body.identity.parent_uuid.clone_from(&line.turn_id);
    }
    (channel, entries)
}

/// An entry with the id of its record.
pub(super) fn with_id(entry: Option<Entry>, id: Option<String>) -> Option<Entry> {
    let mut entry = entry?;
    entry.body.identity.uuid = id;
    Some(entry)
}

/// An entry that is nothing but text; `None` when there is none.
pub(super) fn text(kind: Kind, text: Option<String>) -> Option<Entry> {
    let text = kept_text(text?)?;
    let marks = Marks {
        interrupted: kind == Kind::System && marks::is_interruption(&text),
        ..Marks::default()
    };
    Some(Entry {
        kind: Some(kind),
        body: EventBody {
            marks,
            ..EventBody::from_text(text)
        },
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
    let pieces: Vec<String> = pieces.filter_map(kept_text).collect();
    let entry = said(Kind::Reasoning, Voice::Thought, Some(pieces.join("\n\n")))?;
    Some(Entry { pieces, ..entry })
}

/// What a user's message says, whoever wrote it.
pub(super) fn user(parts: impl Iterator<Item = message::Part>) -> Option<Entry> {
    let message = message::from_user(parts)?;
    let mut entry = said(message.kind, Voice::User, Some(message.text))?;
    entry.body.images = message.images;
    Some(entry)
}

/// The text of a value: a string decoded, else the JSON.
pub(super) fn raw(value: Option<&RawValue>) -> String {
    value
        .and_then(|value| kept_text(json::text_of(value)))
        .unwrap_or_default()
}

fn summary(payload: &Object<'_>) -> Option<Entry> {
    let mut entry = text(Kind::Summary, payload.text("message"))?;
    entry.body.marks.compacted = true;
    Some(entry)
}

/// The body of a call or of its answer, still without text.
pub(super) fn of_call(call_id: Option<String>) -> EventBody {
    EventBody {
        identity: Identity {
            tool_use_id: call_id,
            ..Identity::default()
        },
        ..EventBody::default()
    }
}

/// What an event for the screen says that no item does.
fn event(kind: Option<&str>, event: &Object<'_>) -> (Channel, Vec<Entry>) {
    let entry = match kind {
        Some("user_message") => {
            let words = event.text("message").map(message::Part::Text);
            let entry = user(words.into_iter().chain(message::images(event)));
            with_id(entry, event.name("client_id"))
        }
        Some("agent_message") => said(Kind::Reply, Voice::Assistant, event.text("message")),
        Some("agent_reasoning" | "agent_reasoning_raw_content") => {
            thought(event.text("text").into_iter())
        }
        Some("turn_aborted") => aborted(event.text("reason")),
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

fn aborted(reason: Option<String>) -> Option<Entry> {
    let interrupted = reason
        .as_deref()
        .is_none_or(|reason| reason == "interrupted");
    let words = match &reason {
        Some(reason) if !interrupted => format!("Turn ended early: {}", reason.replace('_', " ")),
        _ => "Interrupted by user".to_string(),
    };
    let mut entry = text(Kind::System, Some(words))?;
    entry.body.marks.interrupted = interrupted;
    entry.body.stop_reason = reason.filter(|reason| !reason.is_empty());
    Some(entry)
}
