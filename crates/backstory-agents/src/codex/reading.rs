//! Reading a rollout record by record.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::entry::{self, Channel, Entry};
use super::is_document;
use super::origin::Origin;
use super::state::State;
use super::usage;
use crate::bounds::bound_session_id;
use crate::injected;
use crate::object::Object;
use crate::reader::Reading;
use crate::record::Record;
use crate::shared::LastName;
use crate::time;
use backstory_event::{Event, EventKey, Kind, Output, Response, SessionFacts, Span, Title};

/// What a response is put down to when the log names no model.
const UNKNOWN_MODEL: &str = "unknown";

/// One rollout being read.
pub(super) struct CodexReading {
    fallback: Arc<str>,
    state: State,
    session: LastName,
    model: LastName,
}

impl Reading for CodexReading {
    fn record(&mut self, record: Record<'_>, out: &mut Output) -> serde_json::Result<()> {
        let line = Object::parse(record.json)?;
        if is_document(&line) {
            self.document(&line, record, out);
            return Ok(());
        }
        let at = line
            .text("timestamp")
            .and_then(|time| time::milliseconds(&time));
        match (line.text("type").as_deref(), line.object("payload")) {
            (Some("session_meta"), Some(meta)) => self.meta(&meta, out),
            (Some("turn_context"), Some(context)) => self.context(&context, out),
            (Some("event_msg"), Some(event)) => self.event(&event, at, out),
            (None, None) if line.has("id") && at.is_some() && !line.has("role") => {
                self.state.bare = true;
                self.meta(&line, out);
            }
            _ => {}
        }
        if let Some(turn) = turn_of(&line) {
            self.state.enter_turn(&turn);
        }
        let span = Span {
            offset: record.offset,
            length: record.length,
            part: 0,
        };
        let (channel, entries) = entry::entries(&line);
        self.put(entries, channel, at, span, out);
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
        }
    }

    /// Reads what the TypeScript program wrote: one object for the whole session.
    fn document(&mut self, document: &Object<'_>, record: Record<'_>, out: &mut Output) {
        self.state.bare = true;
        if let Some(session) = document.object("session") {
            self.meta(&session, out);
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
            let entry = Object::of(item).and_then(|item| entry::item(&item));
            self.put(entry.into_iter().collect(), Channel::Item, None, span, out);
        }
    }

    /// Reads the record that a log begins with, and that comes again when it is resumed or copied.
    fn meta(&mut self, meta: &Object<'_>, out: &mut Output) {
        let id = meta.name("id").or_else(|| meta.name("session_id"));
        let id = id.map(|id| bound_session_id(&id).into_owned());
        if let Some(own) = &self.state.session {
            if let Some(other) = id.filter(|id| id != own)
                && self.state.prompts == 0
            {
                // The first records are a copy of another session's, which begins with its own first record.
                let parent = Some(self.state.parent_of_copy(&other));
                self.state.replays.get_or_insert(other);
                self.learn(
                    SessionFacts {
                        parent,
                        ..SessionFacts::default()
                    },
                    out,
                );
            }
            return;
        }
        self.state.session = Some(id.unwrap_or_else(|| self.fallback.to_string()));
        self.state.began = meta
            .text("timestamp")
            .and_then(|time| time::milliseconds(&time));
        let origin = Origin::of(meta);
        self.state.subagent = origin.subagent;
        let parent = origin.parent.as_ref();
        self.state.replays = parent.map(|parent| bound_session_id(&parent.session).into_owned());
        let git = meta.object("git");
        let git = |field: &str| git.as_ref().and_then(|git| git.name(field));
        let facts = SessionFacts {
            cwd: meta.name("cwd"),
            branch: git("branch"),
            remote: git("repository_url"),
            parent: origin.parent,
            machine: origin.machine,
            ..SessionFacts::default()
        };
        self.learn(facts, out);
    }

    fn context(&mut self, context: &Object<'_>, out: &mut Output) {
        self.state.model = context.name("model").or_else(|| self.state.model.take());
        self.learn(
            SessionFacts {
                cwd: context.name("cwd"),
                ..SessionFacts::default()
            },
            out,
        );
    }

    /// Reads what an event says besides text.
    fn event(&mut self, event: &Object<'_>, at: Option<i64>, out: &mut Output) {
        match event.text("type").as_deref() {
            Some("token_count") => self.token_count(event, at, out),
            Some("thread_settings_applied") => {
                if let Some(settings) = event.object("thread_settings") {
                    self.context(&settings, out);
                }
            }
            Some("thread_name_updated") => {
                // A copied one names the parent.
                let own = event
                    .name("thread_id")
                    .is_none_or(|thread| *thread == *self.own_id());
                let title = event
                    .name("thread_name")
                    .filter(|_| own)
                    .map(Title::Generated);
                self.learn(
                    SessionFacts {
                        title,
                        ..SessionFacts::default()
                    },
                    out,
                );
            }
            _ => {}
        }
    }

    fn token_count(&mut self, event: &Object<'_>, at: Option<i64>, out: &mut Output) {
        let Some(counted) = usage::counted(event, &mut self.state.totals) else {
            return;
        };
        let session = self.own_id();
        let key =
            |scope: &str| EventKey::of(&[b"codex-usage", scope.as_bytes(), &counted.identity]);
        out.responses.push(Response {
            event: None,
            branch: None,
            billing: backstory_event::Billing::default(),
            key: key(&session),
            replay: self.state.replays.as_deref().map(key),
            session,
            at: at.or(self.state.began),
            model: self
                .model
                .share(self.state.model.as_deref().unwrap_or(UNKNOWN_MODEL)),
            usage: counted.usage,
        });
    }

    /// Puts out what a record says, except what another one said already.
    fn put(
        &mut self,
        entries: Vec<Entry>,
        channel: Channel,
        at: Option<i64>,
        span: Span,
        out: &mut Output,
    ) {
        // Tools that the model called itself are in the conversation already.
        let known = |entry: &Entry| {
            entry
                .call
                .as_deref()
                .is_some_and(|call| self.state.is_recent(call))
        };
        if channel == Channel::TurnItem && entries.iter().any(known) {
            return;
        }
        for (part, entry) in (span.part..u16::MAX).zip(entries) {
            if !self.state.is_twin(&entry, channel) {
                self.put_one(entry, at, Span { part, ..span }, out);
            }
        }
    }

    fn put_one(&mut self, entry: Entry, at: Option<i64>, span: Span, out: &mut Output) {
        let Some(kind) = entry.kind else { return };
        if self.state.bare && kind == Kind::System {
            self.learn(
                SessionFacts {
                    cwd: folder_of(&entry.text),
                    ..SessionFacts::default()
                },
                out,
            );
        }
        let session = self.own_id();
        let (key, replay) = self.keys(kind, &entry, &session);
        let mut event = Event::new(&session, key, kind, at.or(self.state.began), span);
        event.replay = replay;
        event.tool = entry.tool;
        match (kind, entry.call.as_deref()) {
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
        event.body.text = entry.text;
        event.body.identity.tool_use_id = entry.call;
        event.command = entry.command;
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
        let call = entry.call.as_deref().unwrap_or_default();
        let tool = entry
            .tool
            .as_deref()
            .filter(|_| kind == Kind::ToolCall)
            .unwrap_or_default();
        let parts = [kind.name(), call, tool, &entry.text];
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

    /// Puts out what is new about the session.
    fn learn(&mut self, facts: SessionFacts, out: &mut Output) {
        if let Some(facts) = self.state.news(facts) {
            out.facts.push(SessionFacts {
                session: Some(self.own_id()),
                ..facts
            });
        }
    }

    fn own_id(&mut self) -> Arc<str> {
        match &self.state.session {
            Some(session) => self.session.share(session),
            None => self.fallback.clone(),
        }
    }
}

/// The id of the turn that a record begins or belongs to.
fn turn_of(line: &Object<'_>) -> Option<String> {
    let payload = line.object("payload")?;
    match (line.text("type")?.as_str(), payload.text("type").as_deref()) {
        ("turn_context", _) | ("event_msg", Some("task_started" | "turn_started")) => {
            payload.name("turn_id")
        }
        ("response_item", _) => payload
            .object("internal_chat_message_metadata_passthrough")?
            .name("turn_id"),
        _ => None,
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
