//! Fields that agents call differently and sometimes give in another type.

use backstory_event::TimeMs;
use serde_json::value::RawValue;

use crate::object::{Object, string};
use crate::time;

/// Names of the fields of an input, of each the one that is looked for first.
#[derive(Debug, Clone, Copy)]
pub struct FieldNames {
    /// Name of the event.
    pub event: &'static [&'static str],
    /// Id of the session.
    pub session: &'static [&'static str],
    /// Path of the log.
    pub transcript: &'static [&'static str],
    /// Path of a subagent's log.
    pub subagent_transcript: &'static [&'static str],
    /// The folder that the agent works in.
    pub cwd: &'static [&'static str],
    /// Folders that the agent works in, as a list.
    pub folders: &'static [&'static str],
    /// When it happened.
    pub time: &'static [&'static str],
    /// Why a session started.
    pub source: &'static [&'static str],
    /// What a person asked.
    pub prompt: &'static [&'static str],
    /// Id of the prompt or of the turn that it begins.
    pub prompt_id: &'static [&'static str],
    /// What the model said.
    pub message: &'static [&'static str],
    /// The last thing that the model said.
    pub reply: &'static [&'static str],
    /// Who wanted the conversation to be summarized.
    pub trigger: &'static [&'static str],
    /// Why a session ended, or a call was denied.
    pub reason: &'static [&'static str],
    /// Name of the tool.
    pub tool: &'static [&'static str],
    /// Id of the call.
    pub tool_id: &'static [&'static str],
    /// What the tool was asked.
    pub tool_input: &'static [&'static str],
    /// What the tool answered.
    pub tool_response: &'static [&'static str],
    /// Why the tool failed.
    pub tool_error: &'static [&'static str],
    /// How long the tool ran, in milliseconds.
    pub duration: &'static [&'static str],
}

/// Names that agents use, in all their spellings: agents run each other's hooks.
pub(crate) const COMMON_FIELDS: FieldNames = FieldNames {
    event: &["hook_event_name", "hookEventName"],
    session: &["session_id", "sessionId"],
    transcript: &["transcript_path", "transcriptPath"],
    subagent_transcript: &["agent_transcript_path", "agentTranscriptPath"],
    cwd: &["cwd", "workspaceRoot"],
    folders: &["workspace_roots"],
    time: &["timestamp"],
    source: &["source"],
    prompt: &["prompt"],
    prompt_id: &["prompt_id", "promptId", "turn_id", "generation_id"],
    message: &["text"],
    reply: &[
        "last_assistant_message",
        "lastAssistantMessage",
        "prompt_response",
        "summary",
    ],
    trigger: &["trigger", "source"],
    reason: &["reason"],
    tool: &["tool_name", "toolName"],
    tool_id: &["tool_use_id", "toolUseId"],
    tool_input: &["tool_input", "toolInput"],
    tool_response: &[
        "tool_response",
        "toolResponse",
        "tool_result",
        "toolResult",
        "tool_output",
        "toolOutput",
        "result_json",
        "output",
    ],
    tool_error: &["error", "error_message", "errorMessage"],
    duration: &["duration_ms", "durationMs", "duration"],
};

/// The first of these fields that is there and not null.
pub(crate) fn value<'a>(object: &Object<'a>, names: &[&str]) -> Option<&'a RawValue> {
    names.iter().find_map(|name| object.get(name))
}

/// The first of these fields that is a string.
pub(crate) fn text(object: &Object<'_>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| object.text(name))
}

/// The first of these fields that is a string with something in it.
pub(crate) fn name(object: &Object<'_>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| object.name(name))
}

/// The first of these fields that is a number, be it in quotes.
pub(crate) fn number(object: &Object<'_>, names: &[&str]) -> Option<f64> {
    names.iter().find_map(|name| number_of(object.get(name)?))
}

/// The first of these fields that is a point in time, as text or as a number, in unix milliseconds.
pub(crate) fn time(object: &Object<'_>, names: &[&str]) -> Option<TimeMs> {
    names.iter().find_map(|name| {
        let raw = object.get(name)?;
        // Zero is what programs write when they do not know.
        let number = number_of(raw).filter(|number| *number > 0.0);
        number
            .and_then(time::from_unix)
            .or_else(|| time::milliseconds(&string(raw)?))
    })
}

/// Whether the log that an input names lies below a folder of this name.
pub(crate) fn has_log_below(object: &Object<'_>, folder: &str) -> bool {
    let transcript = name(object, COMMON_FIELDS.transcript).unwrap_or_default();
    transcript.split(['/', '\\']).any(|part| part == folder)
}

fn number_of(raw: &RawValue) -> Option<f64> {
    let written = raw.get();
    let bare = written
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let number: f64 = bare.unwrap_or(written).trim().parse().ok()?;
    number.is_finite().then_some(number)
}
