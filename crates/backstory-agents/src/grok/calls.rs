//! Tool calls of `updates.jsonl` and their results.

use std::borrow::Cow;
use std::sync::Arc;

use super::again::{CALL_PART, RESULT_PART};
use super::body::{call_body, result_body};
use super::fields::Fields;
use super::note::Note;
use super::{Session, span_of, tools};
use crate::record::Record;
use crate::shared::{items, string};
use backstory_event::{Event, EventKey, Kind, Output};

impl Session {
    /// A call, its result, or both: a call may be announced before its input is known, and may come with its result.
    pub(super) fn tool(
        &mut self,
        note: &Note<'_>,
        session: &Arc<str>,
        record: Record<'_>,
        out: &mut Output,
    ) {
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
                self.put_noted(call, note, record, out);
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
                call.at = at.or(note.at);
                self.state
                    .calls
                    .open(&id, call.tool.as_deref().unwrap_or_default(), call.at);
                self.put_noted(call, note, record, out);
            } else {
                let (tool, at) = announced.map_or_else(
                    || (note.tool(&Fields::read(note.input())).0, note.at),
                    |call| (call.tool, call.at),
                );
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
            .and_then(|call| Some(note.at?.since(call.at?)))
            .filter(|took| *took > 0);
        let (body, outcome) = result_body(note);
        let mut event = Event::new(
            session,
            key,
            Kind::ToolResult,
            note.at,
            span_of(record, RESULT_PART),
        );
        event.body = body;
        event.tool = call.map(|call| call.tool);
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
        let input = Fields::read(note.input());
        let (named, kind) = note.tool(&input);
        let locations: Vec<String> = note
            .update
            .locations
            .map(items)
            .unwrap_or_default()
            .into_iter()
            .filter_map(|location| Fields::read(location.get()).owned(&["path"]))
            .collect();
        let mut event = Event::new(
            session,
            key,
            Kind::ToolCall,
            note.at,
            span_of(record, CALL_PART),
        );
        event.body = call_body(note, &input, &named);
        let tool = tools::called_tool(&announced.unwrap_or(named), &input);
        event.touches = tools::touched_files(&tool, &kind, &input, &locations);
        event.tool = Some(tool);
        event.model = self.model();
        event
    }
}
