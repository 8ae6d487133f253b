//! A transcript being read: what is learned of its sessions and which events it holds.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::content::Part;
use super::line::Line;
use super::session::FileIds;
use super::tools;
use crate::bounds::{MAX_CALL_ID_BYTES, bound_name};
use crate::reader::Reading;
use crate::record::Record;
use crate::shared::{LastName, OpenCalls, string};
use backstory_event::{Event, EventKey, Kind, Output, Span};

/// Maximum number of sessions of a file whose last event is remembered, and of messages whose first event is.
const MAX_REMEMBERED: usize = 16;

pub(super) struct Transcript {
    pub(super) state: State,
    pub(super) file: FileIds,
    pub(super) names: Names,
}

/// Names that responses repeat, each kept once.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) models: LastName,
    pub(super) branches: LastName,
    pub(super) tiers: LastName,
    pub(super) speeds: LastName,
    pub(super) places: LastName,
}

/// What must be known of the records before.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct State {
    /// The session of the file, once a record has told it.
    pub(super) session: Option<Arc<str>>,
    /// The facts last put out, so that they are put out on change only.
    pub(super) cwd: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) machine: Option<bool>,
    pub(super) agent_version: Option<String>,
    pub(super) permission_mode: Option<String>,
    pub(super) has_meta: bool,
    pub(super) parent_known: bool,
    /// The uuid of the record before: a record that answers another one branches.
    pub(super) last_uuid: Option<String>,
    pub(super) calls: OpenCalls,
    /// Inline subagents without an id: which record belongs to which, the newest ones.
    pub(super) sidechains: VecDeque<(String, Arc<str>)>,
    pub(super) announced: Vec<Arc<str>>,
    /// The last event of each session, the newest ones.
    last_events: VecDeque<(Arc<str>, i64)>,
    /// The first event of each message, by the key of the response, the newest ones.
    first_events: VecDeque<(i64, i64)>,
    /// The last response that was put down to the event before it, for its records had none so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_response: Option<i64>,
    /// A hash of what was last put out of each kind of telemetry that logs repeat.
    pub(super) telemetry: BTreeMap<String, i64>,
}

impl State {
    /// The last event of a session.
    pub(super) fn last_event(&self, session: &str) -> Option<EventKey> {
        let mut known = self.last_events.iter().rev();
        let found = known.find(|(known, _)| **known == *session);
        found.map(|(_, key)| EventKey(*key))
    }

    fn remember_last_event(&mut self, session: &Arc<str>, key: EventKey) {
        let known = self
            .last_events
            .iter()
            .rposition(|(known, _)| known == session);
        if let Some((_, last)) = known.and_then(|at| self.last_events.get_mut(at)) {
            *last = key.0;
            return;
        }
        if self.last_events.len() == MAX_REMEMBERED {
            self.last_events.pop_front();
        }
        self.last_events.push_back((session.clone(), key.0));
    }

    /// The first event of the message that a response is, given the first one of the record at hand: a message may be on several.
    fn first_event(&mut self, response: EventKey, of_record: Option<EventKey>) -> Option<EventKey> {
        let mut known = self.first_events.iter().rev();
        if let Some((_, first)) = known.find(|(known, _)| *known == response.0) {
            return Some(EventKey(*first));
        }
        let first = of_record?;
        if self.first_events.len() == MAX_REMEMBERED {
            self.first_events.pop_front();
        }
        self.first_events.push_back((response.0, first.0));
        Some(first)
    }

    /// The event that a response is put down to, and whether it takes the place of another one: while no record of its message has
    /// an event, as when there is nothing but encrypted thinking, that is the event before it.
    pub(super) fn place_of_response(
        &mut self,
        response: EventKey,
        of_record: Option<EventKey>,
        session: &str,
    ) -> (Option<EventKey>, bool) {
        match self.first_event(response, of_record) {
            Some(first) => {
                let waited = self.waiting_response.take_if(|key| *key == response.0);
                (Some(first), waited.is_some())
            }
            None => {
                self.waiting_response = Some(response.0);
                (self.last_event(session), false)
            }
        }
    }
}

impl Reading for Transcript {
    fn record(&mut self, record: Record<'_>, out: &mut Output) -> serde_json::Result<()> {
        let Some(line) = Line::parse(record.json)? else {
            return Ok(());
        };
        let Some(session) = self.session_of(&line, out) else {
            return Ok(());
        };
        self.facts(&line, &session, out);
        let uuid = string(line.uuid).filter(|uuid| !uuid.is_empty());
        let before = out.events.len();
        self.events(&line, &session, uuid.as_deref(), record, out);
        let events = out.events.get(before..).unwrap_or_default();
        let first = events.first().map(|event| event.key);
        if let Some(last) = events.last() {
            self.state.remember_last_event(&session, last.key);
        }
        let has_prompt = events.iter().any(|event| event.kind == Kind::Prompt);
        self.responses(&line, &session, first, record, out);
        self.telemetry(&line, &session, has_prompt, record, out);
        if let Some(uuid) = uuid {
            self.state.last_uuid = Some(bound_name(&uuid, MAX_CALL_ID_BYTES).into_owned());
        }
        Ok(())
    }

    fn state(&self) -> String {
        serde_json::to_string(&self.state).unwrap_or_default()
    }
}

impl Transcript {
    fn events(
        &mut self,
        line: &Line<'_>,
        session: &Arc<str>,
        uuid: Option<&str>,
        record: Record<'_>,
        out: &mut Output,
    ) {
        let parts = line.parts();
        if parts.is_empty() {
            return;
        }
        let at = line.at();
        let parent = string(line.parent_uuid)
            .filter(|parent| {
                let parent = bound_name(parent, MAX_CALL_ID_BYTES);
                self.state.last_uuid.as_deref() != Some(&*parent)
            })
            .map(|parent| record_key(&parent, 0));
        let model = string(line.message.object().and_then(|message| message.model))
            .map(|model| self.names.models.share(&model));
        for (ordinal, part) in parts.into_iter().enumerate() {
            let key = match uuid {
                Some(uuid) => record_key(uuid, ordinal),
                None => {
                    // One byte where that is enough: stores have such keys.
                    let bytes = (ordinal as u64).to_le_bytes();
                    let ordinal = if ordinal < 256 { &bytes[..1] } else { &bytes };
                    EventKey::of(&[
                        b"claude-code",
                        session.as_bytes(),
                        record.json.as_bytes(),
                        ordinal,
                    ])
                }
            };
            let span = Span {
                offset: record.offset,
                length: record.length,
                part: part.part,
            };
            let mut event = Event::new(session, key, part.kind, at, span);
            event.parent = parent.filter(|_| ordinal == 0);
            if part.kind.is_from_model() {
                event.model = model.clone();
            }
            self.fill(&mut event, part, line);
            out.events.push(event);
        }
    }

    /// Joins calls and results and takes over what the part knows of tools.
    fn fill(&mut self, event: &mut Event, part: Part, line: &Line<'_>) {
        event.body = part.body;
        match (part.kind, &event.body.identity.tool_use_id) {
            (Kind::ToolCall, call) => {
                if let Some(call) = call {
                    let tool = part.tool.as_deref().unwrap_or_default();
                    self.state.calls.open(call, tool, event.at);
                }
                event.touches = part.touches;
                event.tool = part.tool;
            }
            (Kind::ToolResult, Some(call)) => {
                let opened = self.state.calls.close(call);
                let outcome = tools::outcome(&event.body.text, part.error, line.twin());
                event.error = outcome.error;
                event.exit_code = outcome.exit_code;
                let elapsed = opened
                    .as_ref()
                    .and_then(|opened| Some(event.at?.since(opened.at?)))
                    .filter(|elapsed| *elapsed >= 0);
                event.duration_ms = outcome.duration_ms.or(elapsed);
                event.tool = opened.map(|opened| opened.tool);
            }
            _ => event.error = part.error,
        }
    }
}

/// The key of the n-th event of the record with this uuid; copies of a record keep its uuid.
pub(super) fn record_key(uuid: &str, ordinal: usize) -> EventKey {
    EventKey::of(&[
        b"claude-code",
        uuid.as_bytes(),
        &(ordinal as u64).to_le_bytes(),
    ])
}
