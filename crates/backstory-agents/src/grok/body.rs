//! What the bytes of a notification say of its events: made here when a log is read, and again when a span is.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::edits::{asked_edits, shown_edits};
use super::fields::Fields;
use super::note::{Meta, Note};
use super::stream::Speaker;
use super::tools::{self, Outcome};
use crate::bounds::{MAX_CALL_ID_BYTES, MAX_NAME_BYTES, bound_name};
use crate::shared::{command_column, cut, kept, string};
use backstory_event::{EventBody, Identity, Kind, Marks, TurnContext};

/// How results begin that say that the user did not allow a call.
const DENIALS: [&str; 2] = [
    "User rejected the execution",
    "The user elected to avoid running",
];
/// What failed results say of it otherwise, those of MCP servers among them.
const OTHER_DENIALS: [&str; 3] = ["rejected by user", "denied by the user", "User denied"];
/// How results begin that say that the user stopped the agent.
const INTERRUPTIONS: [&str; 2] = [
    "User cancelled the execution for tool",
    "Tool execution was cancelled by the user",
];
/// Length of the beginning of a result in which [`OTHER_DENIALS`] are looked for.
const MAX_DENIAL_BYTES: usize = 400;

/// Length of the beginning of a result in which it says that the command still runs.
const MAX_BACKGROUND_BYTES: usize = 200;

/// What the first record of a streamed text says beside the text.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Opening {
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    /// The model that a prompt is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
}

impl Opening {
    /// Reads the opening of a text; `meta` is what is noted beside the update.
    pub(super) fn from_note(speaker: Speaker, note: &Note<'_>, meta: &Meta<'_>) -> Self {
        let bounded = |name: Option<String>, max_bytes| {
            name.map(|name| bound_name(&name, max_bytes).into_owned())
        };
        let Identity {
            uuid, parent_uuid, ..
        } = identity(note);
        let model = string(meta.model_id).filter(|model| !model.is_empty());
        let model = model.filter(|_| speaker == Speaker::Person);
        Opening {
            uuid: bounded(uuid, MAX_CALL_ID_BYTES),
            prompt: bounded(parent_uuid, MAX_CALL_ID_BYTES),
            model: bounded(model.map(Cow::into_owned), MAX_NAME_BYTES),
        }
    }

    /// Returns a body without text yet.
    pub(super) fn into_body(self) -> EventBody {
        let context = self.model.map(|model| {
            Box::new(TurnContext {
                model: Some(model),
                ..TurnContext::default()
            })
        });
        EventBody {
            identity: Identity {
                uuid: self.uuid,
                parent_uuid: self.prompt,
                tool_use_id: None,
            },
            context,
            ..EventBody::default()
        }
    }
}

/// Returns the ids of a notification: its own, and that of the prompt during which it was sent.
fn identity(note: &Note<'_>) -> Identity {
    let id = |raw| string(raw).filter(|id| !id.is_empty()).map(Cow::into_owned);
    Identity {
        uuid: id(note.meta.event_id),
        parent_uuid: id(note.meta.prompt_id),
        tool_use_id: id(note.update.tool_call_id),
    }
}

/// Returns the body of a tool call. `input` is what [`Note::input`] holds, and `named` the tool by this notification alone.
pub(super) fn call_body(note: &Note<'_>, input: &Fields<'_>, named: &str) -> EventBody {
    let title = string(note.update.title);
    let shown_title = title.as_deref().and_then(kept);
    let command = tools::command(input);
    let text = tools::call_text(
        shown_title.as_deref().unwrap_or(named),
        note.input(),
        command.as_deref(),
    );
    let kind = string(note.update.kind).unwrap_or_default();
    let tool = format!("{kind} {}", title.unwrap_or_default());
    let mut edits = asked_edits(&tool, input);
    if edits.is_empty() {
        edits = shown_edits(note.update.content);
    }
    EventBody {
        arguments: tools::arguments(note.input(), &text),
        command: command.as_deref().and_then(command_column),
        text,
        edits,
        identity: identity(note),
        status: status(note),
        ..EventBody::default()
    }
}

/// Returns the body of a tool's result, and how the call ended.
pub(super) fn result_body(note: &Note<'_>) -> (EventBody, Outcome) {
    let status = status(note);
    let outcome = tools::outcome(
        note.update.raw_output,
        status.as_deref() != Some("completed"),
    );
    let text = tools::result_text(note.update.raw_output, note.update.content);
    let mut marks = result_marks(&text, outcome.has_failed());
    marks.interrupted |= status.as_deref() == Some("cancelled");
    let body = EventBody {
        in_background: is_background(&text),
        text,
        edits: shown_edits(note.update.content),
        identity: identity(note),
        marks,
        status,
        ..EventBody::default()
    };
    (body, outcome)
}

/// Returns what the text of a tool's result says of the user.
pub(super) fn result_marks(text: &str, has_failed: bool) -> Marks {
    let begins = |marks: &[&str]| marks.iter().any(|mark| text.starts_with(mark));
    let beginning = cut(text, MAX_DENIAL_BYTES);
    let says = || OTHER_DENIALS.iter().any(|mark| beginning.contains(mark));
    Marks {
        denied: begins(&DENIALS) || has_failed && says(),
        interrupted: begins(&INTERRUPTIONS),
        compacted: false,
    }
}

/// Returns whether the text of a tool's result says that the command still runs.
pub(super) fn is_background(text: &str) -> bool {
    cut(text, MAX_BACKGROUND_BYTES).contains("running in background")
}

/// Returns what the program says in its own name, and as what it counts.
pub(super) fn notice_body(note: &Note<'_>) -> Option<(Kind, EventBody)> {
    let (kind, text) = note.notice()?;
    let is_compaction = matches!(
        note.kind().as_ref(),
        "compaction_checkpoint" | "auto_compact_completed"
    );
    let body = EventBody {
        text,
        identity: identity(note),
        marks: Marks {
            compacted: is_compaction,
            ..Marks::default()
        },
        ..EventBody::default()
    };
    Some((kind, body))
}

fn status(note: &Note<'_>) -> Option<String> {
    let status = string(note.update.status).filter(|status| !status.is_empty());
    status.map(Cow::into_owned)
}
