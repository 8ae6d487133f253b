//! Events as other programs get them, made piece by piece.

use std::collections::HashMap;

use backstory_agents::{Reader, call_arguments};
use backstory_event::{EventView, Origin, StreamId, TurnNo};
use backstory_store::SessionRow;

use super::record::EventRecord;
use super::usage::{UsageRecord, nameless_turns, usage_between};
use crate::Memory;
use crate::error::Result;
use crate::text::rfc3339;

/// Adds to events of a session, piece by piece, everything else that is known of them.
pub(super) struct EventCompleter<'m> {
    memory: &'m Memory,
    session: &'m SessionRow,
    reader: Option<&'static dyn Reader>,
    paths: HashMap<StreamId, String>,
    /// First and last turn whose models are known, and those.
    models: Option<(TurnNo, TurnNo, HashMap<TurnNo, String>)>,
}

impl<'m> EventCompleter<'m> {
    pub(super) fn new(memory: &'m Memory, session: &'m SessionRow) -> Result<Self> {
        Ok(EventCompleter {
            memory,
            session,
            reader: backstory_agents::reader(&session.agent),
            paths: memory.store.stream_paths(session.id)?,
            models: None,
        })
    }

    /// Completes events, each with the line of its record.
    pub(super) fn complete(
        &mut self,
        events: Vec<(EventView<'_>, Option<u64>)>,
    ) -> Result<Vec<EventRecord>> {
        let seqs = events.iter().map(|(view, _)| view.seq);
        let mut usage = usage_between(&self.memory.store, self.session.id, seqs)?;
        self.learn_models(&events)?;
        let records = events.into_iter().map(|(view, source_line)| {
            let usage = usage.remove(&view.seq);
            self.record(view, source_line, usage)
        });
        Ok(records.collect())
    }

    /// Looks up the models of turns in which an event of the model names none.
    fn learn_models(&mut self, events: &[(EventView<'_>, Option<u64>)]) -> Result<()> {
        let Some((first, last)) = nameless_turns(events.iter().map(|(view, _)| view)) else {
            return Ok(());
        };
        // A turn of many thousand events comes in many pieces.
        let knows = |(from, to, _): &(TurnNo, TurnNo, _)| *from <= first && last <= *to;
        if !self.models.as_ref().is_some_and(knows) {
            let models = self
                .memory
                .store
                .turn_models(self.session.id, first, last)?;
            self.models = Some((first, last, models));
        }
        Ok(())
    }

    fn record(
        &self,
        view: EventView<'_>,
        source_line: Option<u64>,
        usage: Option<UsageRecord>,
    ) -> EventRecord {
        let arguments = call_arguments(&view.event).map(str::to_string);
        let event = view.event.into_owned();
        let body = event.body;
        let model_of_turn = || self.models.as_ref()?.2.get(&view.turn).cloned();
        EventRecord {
            seq: view.seq,
            turn: view.turn,
            kind: event.kind.name().into(),
            role: event.kind.role().into(),
            timestamp: rfc3339(event.at),
            text: body.text,
            tool_class: match (&event.tool, self.reader) {
                (Some(tool), Some(reader)) => Some(reader.tool_class(tool)),
                _ => None,
            },
            tool: event.tool,
            model: match &event.model {
                Some(model) => Some(model.to_string()),
                None if event.kind.is_from_model() => model_of_turn(),
                None => None,
            },
            call: view.call,
            parent: view.parent,
            command: body.command,
            arguments,
            files: event.touches.into_iter().map(|touch| touch.path).collect(),
            images: body.images,
            error: event.error,
            exit_code: event.exit_code,
            duration_ms: event.duration_ms,
            status: body.status,
            marks: body.marks.names().into_iter().map(Into::into).collect(),
            stop_reason: body.stop_reason,
            effort: body.effort,
            uuid: body.identity.uuid,
            parent_uuid: body.identity.parent_uuid,
            tool_use_id: body.identity.tool_use_id,
            source_path: self.paths.get(&view.stream).cloned(),
            source_line,
            usage,
            live: view.origin == Origin::Hook,
            damaged: view.damage.is_some(),
        }
    }
}
