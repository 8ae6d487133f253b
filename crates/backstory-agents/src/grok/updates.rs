//! `updates.jsonl`: what was shown while it happened, one notification a line.
//!
//! Newer logs stamp each notification with an `eventId`, `<session>-<number>`. A fork copies its parent's lines, rewriting the
//! session and the time of the line but not these stamps: so keys are made of the stamps, and what was said before the fork
//! counts once. For the same reason the time is `agentTimestampMs`, and that of the line only where there is none.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::again::CALL_PART;
use super::body::{Opening, notice_body};
use super::content::Content;
use super::fields::Fields;
use super::note::{Meta, Note};
use super::open_text::{Mark, place_fragments};
use super::stream::{Speaker, Stream};
use super::{MOST_REMEMBERED, Session, span_of, telemetry};
use crate::bounds::{MAX_NAME_BYTES, bound_name};
use crate::record::Record;
use crate::shared::{is_true, kept, string};
use backstory_event::{
    Event, EventBody, EventKey, Extension, Kind, Output, Parent, ParentKind, SessionFacts, Span,
    TimeMs, Title,
};

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
    at: Option<TimeMs>,
    pub(super) mark: Mark,
    /// What the first fragment says beside its text, until the event is put out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    opening: Option<Opening>,
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
                self.end_text(note, record, out);
                self.state.open.clear();
                self.usage(note, &session, record, out);
                self.state.turn_over = true;
            }
            "model_changed" | "model_auto_switched" | "response_started" => {
                let names = ["model_id", "new_model_id", "model"];
                if let Some(model) = note.fields().text(&names) {
                    self.remember_model(&model);
                }
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
                    session: Some(session.clone()),
                    title: Some(title),
                    ..SessionFacts::default()
                }));
            }
            "subagent_spawned" | "subagent_finished" => subagent(&note.fields(), &session, out),
            _ => {
                if let Some((kind, body)) = notice_body(note) {
                    let key = self.note_key(note, &session, record);
                    let span = span_of(record, CALL_PART);
                    let mut event = Event::new(&session, key, kind, note.at, span);
                    event.body = body;
                    self.put(event, out);
                }
                if kind == "rewind_marker" {
                    self.rewind(&note.fields());
                }
            }
        }
        self.learn_settings(note, &session, out);
        if telemetry::is_worth_a_row(note) {
            self.put_telemetry(&session, note.at, span_of(record, 0), out);
        }
    }

    /// The key of what a notification says.
    pub(super) fn note_key(
        &mut self,
        note: &Note<'_>,
        session: &str,
        record: Record<'_>,
    ) -> EventKey {
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
        let content = Content::read(note.update.content);
        let fragment = content.text;
        if fragment.is_empty() {
            return;
        }
        let meta = Meta::read(note.update.meta);
        if let Some(model) = string(meta.model_id).filter(|model| !model.is_empty()) {
            self.remember_model(&model);
        }
        let mark = Mark::from_meta(&meta);
        let begins = self.opens(speaker, mark, record.offset);
        place_fragments(speaker as u8, begins, &content.strings, record, out);
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
                opening: Some(Opening::from_note(speaker, note, &meta)),
            },
        };
        let text = run.stream.add(&fragment);
        let images = speaker.images(content.images);
        let end = record.offset + record.length;
        if !text.is_empty() && run.told {
            out.extensions.push(Extension {
                text,
                images,
                ..Extension::new(EventKey(run.key), end)
            });
        } else if !text.is_empty() {
            run.told = true;
            let body = EventBody {
                text,
                images,
                ..run.opening.take().unwrap_or_default().into_body()
            };
            let event = self.begun(&run, body, session, end);
            if event.kind == Kind::Prompt {
                self.remember_prompt(run.mark);
            }
            // What is said within a turn begins no other one.
            if speaker == Speaker::Person && (mark.number.is_some() || !self.state.numbered) {
                self.state.answer = None;
            }
            self.put_noted(event, note, record, out);
        }
        self.state.run = Some(run);
    }

    /// The event of a run that has something to say.
    fn begun(&mut self, run: &Run, body: EventBody, session: &Arc<str>, end: u64) -> Event {
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
        event.body = body;
        if kind.is_from_model() {
            event.model = self.model();
        }
        event
    }

    /// Ends the text that is streaming when its turn ends, and adds to it why the model stopped.
    fn end_text(&mut self, note: &Note<'_>, record: Record<'_>, out: &mut Output) {
        let is_answer = |run: &Run| run.told && run.speaker != Speaker::Person && !run.mark.host;
        let answer = self.state.run.take().filter(is_answer);
        if let (Some(run), Some(reason)) = (answer, note.stop_reason()) {
            out.extensions.push(Extension {
                stop_reason: Some(reason),
                ..Extension::new(EventKey(run.key), record.offset + record.length)
            });
        }
    }

    fn remember_model(&mut self, model: &str) {
        self.state.model = Some(bound_name(model, MAX_NAME_BYTES).into_owned());
    }

    /// The model last named.
    pub(super) fn model(&mut self) -> Option<Arc<str>> {
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
