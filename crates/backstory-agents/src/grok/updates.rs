//! `updates.jsonl`: what was shown while it happened, one notification a line.
//!
//! Newer logs stamp each notification with an `eventId`, `<session>-<number>`. A fork copies its parent's lines, rewriting the
//! session and the time of the line but not these stamps: so keys are made of the stamps, and what was said before the fork
//! counts once. For the same reason the time is `agentTimestampMs`, and that of the line only where there is none.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::fields::Fields;
use super::note::{Meta, Note};
use super::open_text::{Mark, place_fragments};
use super::stream::{self, Speaker, Stream};
use super::{Line, MOST_REMEMBERED, Session, history, span_of, tools};
use crate::reader::Reading;
use crate::record::Record;
use crate::shared::{is_true, items, kept, string};
use backstory_event::{
    Event, EventKey, Extension, Kind, Output, Parent, ParentKind, Response, SessionFacts, Span,
    Title, Usage,
};

/// The part that a call is.
const CALL_PART: u16 = 0;
/// The part that its result is, in the same record or another.
const RESULT_PART: u16 = 1;

/// Text that is streaming, and the event that it goes to.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) speaker: Speaker,
    stream: Stream,
    key: i64,
    /// Whether the event was put out.
    told: bool,
    /// Where the first fragment lies, and when it came.
    pub(super) offset: u64,
    at: Option<i64>,
    pub(super) mark: Mark,
}

/// A span that is read again for the texts of its events.
#[derive(Default)]
pub(super) struct Again {
    pub(super) texts: Vec<(u16, String)>,
    begun: bool,
    streaming: Option<(Speaker, Stream)>,
}

impl Reading for Again {
    fn record(&mut self, record: Record<'_>, _out: &mut Output) -> serde_json::Result<()> {
        let line = Line::read(record.json)?;
        let begins = !std::mem::replace(&mut self.begun, true);
        let Some(note) = line.note() else {
            if begins {
                self.texts = history::texts(record.json);
            }
            return Ok(());
        };
        let speaker = Speaker::of(&note.kind());
        if begins {
            self.streaming = speaker.map(|speaker| (speaker, Stream::new(speaker)));
            self.texts = match speaker {
                Some(_) => vec![(0, String::new())],
                None => [CALL_PART, RESULT_PART]
                    .map(|part| (part, single_text(&note, part)))
                    .to_vec(),
            };
        }
        if let (Some((streaming, stream)), Some(speaker)) = (&mut self.streaming, speaker)
            && *streaming == speaker
            // A streamed text is one event.
            && let Some((_, text)) = self.texts.first_mut()
        {
            text.push_str(&stream.add(&stream::content(note.update.content)));
        }
        Ok(())
    }

    fn state(&self) -> String {
        String::new()
    }
}

/// The text of an event that lies in one record.
fn single_text(note: &Note<'_>, part: u16) -> String {
    match note.kind().as_ref() {
        "tool_call" | "tool_call_update" if part == CALL_PART => {
            let title = string(note.update.title).and_then(|title| kept(&title));
            tools::call_text(&title.unwrap_or_else(|| note.tool().0), note.input())
        }
        "tool_call" | "tool_call_update" => {
            tools::result_text(note.update.raw_output, note.update.content)
        }
        _ => note.notice().map(|(_, text)| text).unwrap_or_default(),
    }
}

impl Session {
    pub(super) fn update(&mut self, note: &Note<'_>, record: Record<'_>, out: &mut Output) {
        let session = self.session(string(note.session).as_deref());
        let kind = note.kind();
        if let Some(speaker) = Speaker::of(&kind) {
            self.fragment(speaker, note, &session, record, out);
            return;
        }
        match kind.as_ref() {
            "tool_call" | "tool_call_update" => {
                self.tool(note, &session, record, out);
                // The model calls a tool when it has said what it had to say. Updates are of tools that run meanwhile.
                if kind == "tool_call" {
                    self.close_texts();
                }
            }
            "turn_completed" => {
                self.state.run = None;
                self.state.open.clear();
                self.usage(note, &session, record, out);
            }
            "model_changed" | "model_auto_switched" | "response_started" => {
                let named = note
                    .fields()
                    .text(&["model_id", "new_model_id", "model"])
                    .map(Cow::into_owned);
                self.state.model = named.or(self.state.model.take());
            }
            "session_summary_generated" | "session_info_update" => {
                let title = note
                    .fields()
                    .text(&["session_summary", "title"])
                    .and_then(|title| kept(&title));
                let given = is_true(note.meta.title_is_manual)
                    || is_true(Meta::read(note.update.meta).title_is_manual);
                let title = title.map(if given {
                    Title::Given
                } else {
                    Title::Generated
                });
                out.facts.extend(title.map(|title| SessionFacts {
                    session: Some(session),
                    title: Some(title),
                    ..SessionFacts::default()
                }));
            }
            "subagent_spawned" | "subagent_finished" => subagent(&note.fields(), &session, out),
            _ => {
                if let Some((kind, text)) = note.notice() {
                    let key = self.note_key(note, &session, record);
                    let mut event = Event::new(&session, key, kind, note.at, span_of(record, 0));
                    event.body.text = text;
                    self.put(event, out);
                }
                if kind == "rewind_marker" {
                    self.rewind(&note.fields());
                }
            }
        }
    }

    /// The key of what a notification says.
    fn note_key(&mut self, note: &Note<'_>, session: &str, record: Record<'_>) -> EventKey {
        match string(note.meta.event_id).filter(|id| !id.is_empty()) {
            // Numbers went on from the log's last one only in later versions: the time tells the others apart.
            Some(id) => {
                let time = note
                    .meta
                    .agent_timestamp_ms
                    .map(RawValue::get)
                    .unwrap_or_default();
                EventKey::of(&[b"grok", b"event", id.as_bytes(), time.as_bytes()])
            }
            None => self.place_key(session, record.json),
        }
    }

    fn fragment(
        &mut self,
        speaker: Speaker,
        note: &Note<'_>,
        session: &Arc<str>,
        record: Record<'_>,
        out: &mut Output,
    ) {
        let mut strings = Vec::new();
        let fragment = stream::content_and_strings(note.update.content, &mut strings);
        if fragment.is_empty() {
            return;
        }
        let meta = Meta::read(note.update.meta);
        if let Some(model) = string(meta.model_id).filter(|model| !model.is_empty()) {
            self.state.model = Some(model.into_owned());
        }
        let mark = Mark::from_meta(&meta);
        let begins = self.opens(speaker, mark, record.offset);
        place_fragments(speaker as u8, begins, &strings, record, out);
        let same =
            |run: &Run| run.speaker == speaker && run.mark == mark && run.stream.takes(&fragment);
        let mut run = match self.state.run.take().filter(same) {
            Some(run) => run,
            None => Run {
                speaker,
                stream: Stream::new(speaker),
                key: self.note_key(note, session, record).0,
                told: false,
                offset: record.offset,
                at: note.at,
                mark,
            },
        };
        let text = run.stream.add(&fragment);
        let end = record.offset + record.length;
        if !text.is_empty() && run.told {
            out.extensions.push(Extension {
                key: EventKey(run.key),
                end,
                text,
            });
        } else if !text.is_empty() {
            run.told = true;
            let event = self.begun(&run, text, session, end);
            if event.kind == Kind::Prompt {
                self.remember_prompt(run.mark);
            }
            self.put(event, out);
        }
        self.state.run = Some(run);
    }

    /// The event of a run that has something to say.
    fn begun(&mut self, run: &Run, text: String, session: &Arc<str>, end: u64) -> Event {
        let kind = match run.speaker {
            Speaker::Person if run.mark.hidden || run.stream.injected() => Kind::System,
            Speaker::Person => Kind::Prompt,
            Speaker::Model if run.mark.host => Kind::System,
            Speaker::Model => Kind::Reply,
            Speaker::Thought => Kind::Reasoning,
        };
        let span = Span {
            offset: run.offset,
            length: end.saturating_sub(run.offset),
            part: 0,
        };
        let mut event = Event::new(session, EventKey(run.key), kind, run.at, span);
        event.body.text = text;
        if kind.role() == "assistant" {
            event.model = self.model();
        }
        event
    }

    fn model(&mut self) -> Option<Arc<str>> {
        self.state
            .model
            .as_deref()
            .map(|model| self.models.share(model))
    }

    /// Notes which event comes before a prompt, for a rewind takes the conversation back to there.
    fn remember_prompt(&mut self, Mark { number, host, .. }: Mark) {
        if host {
            return;
        }
        self.state.numbered |= number.is_some();
        let counted = self.state.prompts.last().map_or(0, |(last, _)| last + 1);
        let Some(number) = number.or((!self.state.numbered).then_some(counted)) else {
            return;
        };
        if self.state.prompts.len() == MOST_REMEMBERED {
            self.state.prompts.remove(0);
        }
        self.state
            .prompts
            .push((number, self.state.branch.or(self.state.last)));
    }

    fn rewind(&mut self, marker: &Fields<'_>) {
        let target = marker.count("target_prompt_index");
        if let Some(position) = self
            .state
            .prompts
            .iter()
            .position(|(number, _)| *number >= target)
        {
            self.state.branch = self.state.prompts[position].1;
            self.state.prompts.truncate(position);
        }
    }

    /// A call, its result, or both: a call may be announced before its input is known, and may come with its result.
    fn tool(&mut self, note: &Note<'_>, session: &Arc<str>, record: Record<'_>, out: &mut Output) {
        let id = string(note.update.tool_call_id).filter(|id| !id.is_empty());
        let origin = note.origin().unwrap_or(Cow::Borrowed(session));
        let key = |what: &[u8], id: &str| {
            EventKey::of(&[b"grok", origin.as_bytes(), what, id.as_bytes()])
        };
        let Some(id) = id else {
            // Nothing can join it to its result, but what was asked is known.
            if note.kind() == "tool_call" {
                let key = self.note_key(note, session, record);
                let call = self.call(note, None, key, session, record);
                self.put(call, out);
            }
            return;
        };
        let announced = self.state.announced.close(&id);
        let begins = announced.is_some() || note.kind() == "tool_call";
        let call_key = key(b"call", &id);
        if begins && !self.state.told.contains(&call_key.0) {
            if note.tells_input() || note.is_final() {
                self.first_time(call_key);
                let (tool, at) = announced.map_or((None, None), |call| (Some(call.tool), call.at));
                let mut call = self.call(note, tool, call_key, session, record);
                call.body.identity.tool_use_id = Some(id.to_string());
                call.at = at.or(note.at);
                self.state
                    .calls
                    .open(&id, call.tool.as_deref().unwrap_or_default(), call.at);
                self.put(call, out);
            } else {
                let (tool, at) =
                    announced.map_or_else(|| (note.tool().0, note.at), |call| (call.tool, call.at));
                self.state.announced.open(&id, &tool, at);
            }
        }
        let result_key = key(b"result", &id);
        if note.is_final() && self.first_time(result_key) {
            self.result(note, &id, result_key, session, record, out);
        }
    }

    fn result(
        &mut self,
        note: &Note<'_>,
        id: &str,
        key: EventKey,
        session: &Arc<str>,
        record: Record<'_>,
        out: &mut Output,
    ) {
        let call = self.state.calls.close(id);
        let took = call
            .as_ref()
            .and_then(|call| note.at?.checked_sub(call.at?))
            .filter(|took| *took > 0);
        let failed = string(note.update.status).as_deref() != Some("completed");
        let outcome = tools::outcome(note.update.raw_output, failed);
        let mut event = Event::new(
            session,
            key,
            Kind::ToolResult,
            note.at,
            span_of(record, RESULT_PART),
        );
        event.body.text = single_text(note, RESULT_PART);
        event.tool = call.map(|call| call.tool);
        event.body.identity.tool_use_id = Some(id.to_string());
        event.error = outcome.error;
        event.exit_code = outcome.exit_code;
        event.duration_ms = outcome.duration_ms.or(took);
        self.put(event, out);
    }

    /// The event of a call; the name of its tool may be known from before.
    fn call(
        &mut self,
        note: &Note<'_>,
        announced: Option<String>,
        key: EventKey,
        session: &Arc<str>,
        record: Record<'_>,
    ) -> Event {
        let (named, kind) = note.tool();
        let locations: Vec<String> = note
            .update
            .locations
            .map(items)
            .unwrap_or_default()
            .into_iter()
            .filter_map(|location| {
                Fields::read(location.get())
                    .text(&["path"])
                    .map(Cow::into_owned)
            })
            .collect();
        let call = tools::call(&announced.unwrap_or(named), &kind, note.input(), &locations);
        let mut event = Event::new(
            session,
            key,
            Kind::ToolCall,
            note.at,
            span_of(record, CALL_PART),
        );
        event.model = self.model();
        event.body.text = single_text(note, CALL_PART);
        event.tool = Some(call.tool);
        event.command = call.command;
        event.touches = call.touches;
        event
    }

    /// The tokens of a turn, by model.
    fn usage(&mut self, note: &Note<'_>, session: &Arc<str>, record: Record<'_>, out: &mut Output) {
        let fields = note.fields();
        let Some(usage) = fields.get(&["usage"]) else {
            return;
        };
        let total = Fields::read(usage.get());
        let mut by_model: Vec<(Arc<str>, Usage)> = Fields::of(total.get(&["modelUsage"]))
            .iter()
            .map(|(model, usage)| (Arc::from(model), tokens(&Fields::read(usage.get()))))
            .collect();
        if by_model.is_empty() {
            by_model.push((
                self.model().unwrap_or_else(|| Arc::from("unknown")),
                tokens(&total),
            ));
        }
        let origin = note.origin().unwrap_or(Cow::Borrowed(session));
        let turn = match fields.text(&["prompt_id"]) {
            Some(prompt) => prompt.as_bytes().to_vec(),
            None => self
                .note_key(note, session, record)
                .0
                .to_le_bytes()
                .to_vec(),
        };
        for (model, usage) in by_model.into_iter().filter(|(_, usage)| usage.total() > 0) {
            let key = EventKey::of(&[b"grok-usage", origin.as_bytes(), &turn, model.as_bytes()]);
            out.responses.push(Response {
                session: session.clone(),
                key,
                replay: None,
                event: None,
                branch: None,
                billing: backstory_event::Billing::default(),
                at: note.at,
                model,
                usage,
            });
        }
    }
}

fn tokens(usage: &Fields<'_>) -> Usage {
    let (cache_read, cache_write) = (
        usage.count("cachedReadTokens"),
        usage.count("cacheCreationTokens"),
    );
    Usage {
        // The log counts what came from caches in the input too.
        input: usage
            .count("inputTokens")
            .saturating_sub(cache_read)
            .saturating_sub(cache_write),
        output: usage.count("outputTokens"),
        cache_read,
        cache_write,
        reasoning: usage.count("reasoningTokens"),
        ..Usage::default()
    }
}

/// The child of a session, which has a folder of its own.
fn subagent(fields: &Fields<'_>, session: &Arc<str>, out: &mut Output) {
    let Some(child) = fields.text(&["child_session_id"]) else {
        return;
    };
    let parent = fields
        .text(&["parent_session_id"])
        .map_or_else(|| session.to_string(), Cow::into_owned);
    out.facts.push(SessionFacts {
        session: Some(Arc::from(child.as_ref())),
        parent: Some(Parent {
            session: parent,
            kind: ParentKind::Subagent,
        }),
        machine: Some(true),
        ..SessionFacts::default()
    });
}
