//! Reading a rollout record by record.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::entry::{self, Channel, Entry};
use super::line::RolloutLine;
use super::session::session_id;
use super::state::State;
use super::telemetry::{self, Topic};
use super::{is_document, item};
use crate::injected;
use crate::object::Object;
use crate::reader::Reading;
use crate::record::Record;
use crate::shared::LastName;
use backstory_event::{Event, EventKey, Kind, Output, SessionFacts, Span, TelemetryRecord, TimeMs};

/// One rollout being read.
pub(super) struct CodexReading {
    pub(super) fallback: Arc<str>,
    pub(super) state: State,
    session: LastName,
    pub(super) model: LastName,
    pub(super) branch: LastName,
    pub(super) tier: LastName,
}

impl Reading for CodexReading {
    fn record(&mut self, record: Record<'_>, out: &mut Output) -> serde_json::Result<()> {
        let line = RolloutLine::parse(record.json)?;
        if is_document(&line.fields) {
            self.document(&line.fields, record, out);
            return Ok(());
        }
        let counted = (self.state.totals, self.state.limits);
        self.read_facts(&line, record.json, out);
        if let Some(turn) = line.turn_id.as_deref().filter(|_| names_turn(&line)) {
            self.state.enter_turn(turn);
        }
        let span = Span {
            offset: record.offset,
            length: record.length,
            part: 0,
        };
        let (channel, entries) = entry::entries(&line);
        if channel != Channel::Event && is_of_model(&line, &entries) {
            self.state.answer.record_item();
        }
        self.put(entries, channel, line.at, span, out);
        if let Some(topic) = telemetry::topic(&line)
            && self.is_news(
                topic,
                &line,
                counted != (self.state.totals, self.state.limits),
            )
        {
            out.telemetry.push(TelemetryRecord {
                session: self.own_id(),
                after: self.state.last_event.map(EventKey),
                at: line.at.or(self.state.began),
                span,
            });
        }
        Ok(())
    }

    fn state(&self) -> String {
        serde_json::to_string(&self.state).unwrap_or_default()
    }
}

impl CodexReading {
    /// Goes on from `state`; `fallback` is the session's id as long as no record gives it.
    pub(super) fn new(fallback: Arc<str>, state: State) -> Self {
        CodexReading {
            fallback,
            state,
            session: LastName::default(),
            model: LastName::default(),
            branch: LastName::default(),
            tier: LastName::default(),
        }
    }

    /// Reads what the TypeScript program wrote: one object for the whole session.
    fn document(&mut self, document: &Object<'_>, record: Record<'_>, out: &mut Output) {
        self.state.bare = true;
        if let (Some(session), Some(raw)) = (document.object("session"), document.get("session")) {
            self.read_meta(&session, raw.get(), out);
        }
        for (index, item) in document.list("items").into_iter().enumerate() {
            let span = match position(item, record) {
                Some(offset) => Span {
                    offset,
                    length: item.get().len() as u64,
                    part: 0,
                },
                None => Span {
                    offset: record.offset,
                    length: record.length,
                    part: index.try_into().unwrap_or(u16::MAX),
                },
            };
            let entry = Object::of(item).and_then(|item| item::item(&item));
            self.put(entry.into_iter().collect(), Channel::Item, None, span, out);
        }
    }

    /// Reads what a record says about the session.
    fn read_facts(&mut self, line: &RolloutLine<'_>, json: &str, out: &mut Output) {
        let Some(payload) = &line.payload else {
            let is_first = line.kind.is_none()
                && line.fields.has("id")
                && line.at.is_some()
                && !line.fields.has("role");
            if is_first {
                self.state.bare = true;
                self.read_meta(&line.fields, json, out);
            }
            return;
        };
        match line.kinds() {
            (Some("session_meta"), _) => {
                let raw = line.fields.get("payload").map(RawValue::get);
                self.read_meta(payload, raw.unwrap_or_default(), out);
            }
            (Some("turn_context"), _) => self.read_context(payload, out),
            (Some("event_msg"), _) => self.read_event(line, payload, out),
            (Some("response_item"), Some("web_search_call")) => {
                let action = payload.object("action");
                let action = action.as_ref().and_then(|action| action.word("type"));
                let action = action.as_deref().unwrap_or_default();
                let count = self.state.answer.record_web_request(action);
                self.put_count(count, out);
            }
            _ => {}
        }
    }

    /// Whether a telemetry record says something that no other record says.
    fn is_news(&mut self, topic: Topic, line: &RolloutLine<'_>, counts_changed: bool) -> bool {
        match topic {
            // Of a copy, the record is another session's.
            Topic::SessionSettings => {
                let id = line.payload.as_ref().and_then(session_id);
                id.is_none_or(|id| *id == *self.own_id())
            }
            Topic::TokenCount => counts_changed,
            Topic::Compaction => {
                self.state.compacted = true;
                true
            }
            Topic::CompactionNotice => !std::mem::take(&mut self.state.compacted),
            Topic::RepeatedTiming => {
                let Some(payload) = &line.payload else {
                    return false;
                };
                let call = telemetry::call_id(payload);
                let is_known = call.is_some_and(|call| self.state.is_recent(&call));
                !is_known || payload.word("status").as_deref() == Some("declined")
            }
            _ => true,
        }
    }

    /// Puts out what a record says, except what another one said already.
    fn put(
        &mut self,
        entries: Vec<Entry>,
        channel: Channel,
        at: Option<TimeMs>,
        span: Span,
        out: &mut Output,
    ) {
        // Tools that the model called itself are in the conversation already.
        let known = |entry: &Entry| {
            entry
                .call_id()
                .is_some_and(|call| self.state.is_recent(call))
        };
        let is_known = channel == Channel::TurnItem && entries.iter().any(known);
        self.state.drop_unnamed(&entries);
        if is_known {
            return;
        }
        let end = span.offset + span.length;
        for (part, entry) in (span.part..u16::MAX).zip(entries) {
            let words = entry.words();
            if !self.state.is_twin(&entry, &words, channel, end, out) {
                self.put_one(entry, &words, channel, at, Span { part, ..span }, out);
            } else if channel == Channel::Item {
                let count = self.state.answer.record_twin();
                self.put_count(count, out);
            }
        }
    }

    fn put_one(
        &mut self,
        entry: Entry,
        words: &[i64],
        channel: Channel,
        at: Option<TimeMs>,
        span: Span,
        out: &mut Output,
    ) {
        let Some(kind) = entry.kind else { return };
        if self.state.bare && kind == Kind::System {
            self.learn(
                SessionFacts {
                    cwd: folder_of(&entry.body.text),
                    ..SessionFacts::default()
                },
                out,
            );
        }
        let session = self.own_id();
        let (key, replay) = self.keys(kind, &entry, &session);
        self.state.remember_unnamed(&entry, words, key);
        let mut event = Event::new(&session, key, kind, at.or(self.state.began), span);
        event.replay = replay;
        event.tool = entry.tool;
        match (kind, entry.body.identity.tool_use_id.as_deref()) {
            (Kind::ToolCall, Some(call)) => self
                .state
                .called(call, event.tool.as_deref().unwrap_or_default()),
            (Kind::ToolResult, Some(call)) => event.tool = self.state.answered(call).or(event.tool),
            (Kind::Prompt, _) => self.state.prompted(),
            _ => {}
        }
        if matches!(kind, Kind::Reply | Kind::Reasoning | Kind::ToolCall) {
            event.model = self
                .state
                .model
                .as_deref()
                .map(|model| self.model.share(model));
        }
        self.state.last_event = Some(key.0);
        // Only tools that the provider runs say so in their own record.
        let is_provider_tool = entry.body.has_succeeded.is_some();
        let answer = &mut self.state.answer;
        let count = answer.record_event(kind, is_provider_tool, key, channel);
        self.put_count(count, out);
        event.body = entry.body;
        event.touches = entry.touches;
        event.error = entry.error;
        event.exit_code = entry.exit_code;
        event.duration_ms = entry.duration_ms;
        out.events.push(event);
    }

    /// The key of an entry in this session, and in the one that the file may repeat.
    ///
    /// Made of what is said: a copy has other times, other ids and sometimes only one of two twins.
    fn keys(&mut self, kind: Kind, entry: &Entry, session: &str) -> (EventKey, Option<EventKey>) {
        let call = entry.call_id().unwrap_or_default();
        let tool = entry
            .tool
            .as_deref()
            .filter(|_| kind == Kind::ToolCall)
            .unwrap_or_default();
        let parts = [kind.name(), call, tool, &entry.body.text];
        let identity = EventKey::of(&parts.map(str::as_bytes)).0;
        // A call has an id of its own: there is nothing to count.
        let occurrence = if call.is_empty() {
            self.state.occurrence(identity)
        } else {
            0
        };
        let turn = self.state.turn_name();
        let key = |scope: &str| {
            let (identity, occurrence) = (identity.to_le_bytes(), occurrence.to_le_bytes());
            EventKey::of(&[
                b"codex",
                scope.as_bytes(),
                turn.as_bytes(),
                &identity,
                &occurrence,
            ])
        };
        (key(session), self.state.replays.as_deref().map(key))
    }

    pub(super) fn own_id(&mut self) -> Arc<str> {
        match &self.state.session {
            Some(session) => self.session.share(session),
            None => self.fallback.clone(),
        }
    }
}

/// Whether a record begins the turn that it names, or is an item of it.
fn names_turn(line: &RolloutLine<'_>) -> bool {
    matches!(
        line.kinds(),
        (Some("turn_context" | "response_item"), _)
            | (Some("event_msg"), Some("task_started" | "turn_started"))
    )
}

/// Whether a record is an item of the model's answer, whatever its type: outputs of tools, snapshots and messages of others are none.
fn is_of_model(line: &RolloutLine<'_>, entries: &[Entry]) -> bool {
    let is_answer = |entry: &Entry| entry.kind.is_some_and(Kind::is_from_model);
    match line.kinds() {
        (Some("response_item"), Some("message" | "ghost_snapshot") | None) => {
            entries.iter().any(is_answer)
        }
        (Some("response_item"), Some(kind)) => !kind.ends_with("_output"),
        _ => entries.iter().any(is_answer),
    }
}

/// Where an item of a document begins in the stored file; `None` when the text was repaired, for then positions moved.
fn position(item: &RawValue, record: Record<'_>) -> Option<u64> {
    let within = item
        .get()
        .as_ptr()
        .addr()
        .checked_sub(record.json.as_ptr().addr())?;
    (record.json.len() as u64 == record.length).then_some(record.offset + within as u64)
}

/// The folder that an environment context names; before envelopes it is told nowhere else.
fn folder_of(text: &str) -> Option<String> {
    if !text.contains("<environment_context") {
        return None;
    }
    let line = || {
        text.lines()
            .find_map(|line| line.trim().strip_prefix("Current working directory: "))
    };
    injected::inside(text, "cwd")
        .or_else(line)
        .filter(|folder| !folder.is_empty())
        .map(str::to_string)
}
