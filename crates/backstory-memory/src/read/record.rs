//! Events as documents, with everything that is known of them.

use std::borrow::Cow;
use std::path::Path;

use backstory_agents::{SourceName, read_document};
use backstory_event::{EventView, Image, Output, Seq, TimeMs, ToolClass, TurnNo};
use backstory_store::SessionRow;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::completer::EventCompleter;
use super::lines::LineCounter;
use super::usage::UsageRecord;
use crate::Session;
use crate::error::Result;
use crate::read::unless_damaged;

/// Silence after which a session counts as ended although no hook said so.
const MAX_SILENCE_MS: i64 = 30 * 60 * 1000;

/// An event with everything that is known of it. Values that the log does not have are null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// Number within the session, from 1.
    pub seq: Seq,
    /// Turn that it belongs to; 0 before the first prompt.
    pub turn: TurnNo,
    /// Kind of event.
    pub kind: Cow<'static, str>,
    /// Role of the speaker.
    pub role: Cow<'static, str>,
    /// Time, RFC 3339.
    pub timestamp: Option<String>,
    /// Text of the event.
    pub text: String,
    /// The tool called, or whose result this is.
    pub tool: Option<String>,
    /// Class of the tool.
    pub tool_class: Option<ToolClass>,
    /// The model that wrote it; where the log does not say, the one that its turn's tokens are counted for.
    pub model: Option<String>,
    /// For a tool result, the number of its call.
    pub call: Option<Seq>,
    /// Number of the event it answers, where that is not the one before.
    pub parent: Option<Seq>,
    /// The command that a tool call runs.
    pub command: Option<String>,
    /// Arguments of a tool call as JSON; null for tools that take free text, which is `text`.
    pub arguments: Option<String>,
    /// Files that a tool call names.
    pub files: Vec<String>,
    /// Images and documents of a prompt.
    pub images: Vec<Image>,
    /// True for a tool result that is an error.
    pub error: bool,
    /// Exit code of the command.
    pub exit_code: Option<i64>,
    /// Duration of the tool call in milliseconds.
    pub duration_ms: Option<i64>,
    /// Status of the tool call, in the agent's own word.
    pub status: Option<String>,
    /// Marks of the conversation: `interrupted`, `denied`, `compacted`.
    pub marks: Vec<Cow<'static, str>>,
    /// Reason why the model stopped.
    pub stop_reason: Option<String>,
    /// Reasoning effort.
    pub effort: Option<String>,
    /// The agent's id of the record or message.
    pub uuid: Option<String>,
    /// The agent's id of the record that it answers.
    pub parent_uuid: Option<String>,
    /// The agent's id of the tool call.
    pub tool_use_id: Option<String>,
    /// The source file.
    pub source_path: Option<String>,
    /// The line of the source file.
    pub source_line: Option<u64>,
    /// Usage of the message that begins with this event.
    pub usage: Option<UsageRecord>,
    /// True if it is known from a hook only so far.
    pub live: bool,
    /// True if its stored bytes are damaged.
    pub damaged: bool,
}

/// Status of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    /// It may go on.
    Running,
    /// It is over.
    Ended,
    /// It is over, and a model has written a summary of it.
    Summarized,
    /// Its text is gone, its digest is there.
    Evicted,
}

impl SessionStatus {
    /// Returns the status of a session at a time.
    pub fn at(session: &SessionRow, now: TimeMs) -> Self {
        let last_sign = session.ended_at.max(session.captured_at);
        let is_silent = last_sign.is_none_or(|last| now.since(last) > MAX_SILENCE_MS);
        let is_closed = session
            .closed_at
            .is_some_and(|closed| Some(closed) >= last_sign);
        if session.evicted > Seq::ZERO && session.evicted.count() >= session.events {
            SessionStatus::Evicted
        } else if !is_silent && !is_closed {
            SessionStatus::Running
        } else if session.summarized {
            SessionStatus::Summarized
        } else {
            SessionStatus::Ended
        }
    }

    /// Returns the name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            SessionStatus::Running => "running",
            SessionStatus::Ended => "ended",
            SessionStatus::Summarized => "summarized",
            SessionStatus::Evicted => "evicted",
        }
    }
}

impl Session<'_> {
    /// Adds to events of a session everything else that is known of them.
    pub fn event_records(&self, events: &[EventView<'_>]) -> Result<Vec<EventRecord>> {
        let mut bytes = self.memory.store.bytes();
        let mut lines = LineCounter::new(&self.memory.store);
        let mut events_with_lines = Vec::with_capacity(events.len());
        for view in events {
            let line = lines.line_of(&mut bytes, view.stream, view.event.span.offset)?;
            events_with_lines.push((view.clone(), line));
        }
        EventCompleter::new(self.memory, &self.row)?.complete(events_with_lines)
    }

    /// Returns the agent's own record of the session, as JSON; only its short values when its text is gone.
    pub fn meta(&self) -> Result<Option<Value>> {
        let Some((place, fields)) = self.memory.store.session_meta(self.row.id)? else {
            return Ok(None);
        };
        let span = (self.memory.store.bytes()).read_alone(place.stream, place.offset, place.length);
        let span = unless_damaged(&self.memory.store, span)?;
        let mut output = Output::default();
        if let Some(reader) = backstory_agents::reader(&self.row.agent)
            && let Some(path) = self
                .memory
                .store
                .stream_paths(self.row.id)?
                .get(&place.stream)
        {
            let path = Path::new(path);
            let mut reading = reader.begin(&SourceName { path }, None);
            read_document(&mut *reading, &span, &mut output);
        }
        let mut metas = output.facts.into_iter().filter_map(|facts| facts.meta);
        let meta = metas.find_map(|meta| serde_json::from_str(&meta).ok());
        Ok(meta.or_else(|| serde_json::from_str(&fields).ok()))
    }
}
