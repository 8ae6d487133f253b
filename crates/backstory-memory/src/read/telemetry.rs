//! Telemetry in its place among the events of a session.

use std::collections::HashSet;

use backstory_agents::Reader;
use backstory_event::{EventView, Kind, Seq, StreamId, Telemetry, TelemetryItem, TimeMs};
use backstory_store::{BlockReader, TelemetryRow};

use crate::Session;
use crate::error::Result;
use crate::read::unless_damaged;

/// Telemetry of a record, in its place.
pub(super) struct PlacedTelemetry {
    /// Number of the event before it.
    pub(super) seq: Seq,
    /// True if it lies in a file of its own, without events.
    pub(super) is_in_separate_file: bool,
    pub(super) telemetry: Telemetry,
}

/// Returns the part of telemetry that follows these events. It is in the order of the events before it.
pub(super) fn telemetry_between(
    telemetry: &[PlacedTelemetry],
    from: Seq,
    to: Seq,
) -> &[PlacedTelemetry] {
    let start = telemetry.partition_point(|placed| placed.seq < from);
    let end = telemetry.partition_point(|placed| placed.seq <= to);
    telemetry.get(start..end).unwrap_or_default()
}

/// Moves records between the start of a turn and its prompt to the prompt. Texts that the agent injects may stand between both.
fn move_to_prompts(telemetry: &mut [PlacedTelemetry], events: &[EventView<'_>]) {
    let mut prompt = None;
    for placed in &mut *telemetry {
        if prompt.is_some_and(|prompt| placed.seq >= prompt) {
            prompt = None;
        }
        if let TelemetryItem::TurnStart { .. } = placed.telemetry.item {
            let after = events.partition_point(|event| event.seq <= placed.seq);
            let mut after = events[after..].iter();
            let next = after.find(|event| event.event.kind != Kind::System);
            let next = next.filter(|event| event.event.kind == Kind::Prompt);
            prompt = next.map(|event| event.seq);
        }
        match (&placed.telemetry.item, prompt) {
            // Settings are those of the event behind them.
            (TelemetryItem::Context(_), Some(prompt)) => placed.seq = prompt.previous(),
            (_, Some(prompt)) => placed.seq = prompt,
            _ => {}
        }
    }
    telemetry.sort_by_key(|placed| placed.seq);
}

impl Session<'_> {
    /// Returns what the telemetry records up to the last of the events say, in the order of the events before them.
    pub(super) fn telemetry_of_events(
        &self,
        events: &[EventView<'_>],
    ) -> Result<Vec<PlacedTelemetry>> {
        let (Some(reader), Some(last)) = (backstory_agents::reader(&self.row.agent), events.last())
        else {
            return Ok(Vec::new());
        };
        let elsewhere = self.memory.store.telemetry_without_events(self.row.id)?;
        let mut rows = self
            .memory
            .store
            .telemetry(self.row.id, Seq::ZERO, last.seq)?;
        let streams: HashSet<StreamId> = elsewhere.iter().map(|row| row.stream).collect();
        rows.retain(|row| !streams.contains(&row.stream));
        let mut bytes = self.memory.store.bytes();
        let mut found = Vec::new();
        for row in rows {
            let items = self.telemetry_of(row, reader, &mut bytes)?;
            found.extend(items.into_iter().map(|telemetry| PlacedTelemetry {
                seq: row.seq,
                is_in_separate_file: false,
                telemetry,
            }));
        }
        if !elsewhere.is_empty() {
            found.extend(self.telemetry_by_time(&elsewhere, reader)?);
            found.sort_by_key(|placed| placed.seq);
        }
        move_to_prompts(&mut found, events);
        Ok(found)
    }

    /// Returns what records say that lie in files without events of the session, each item with the number of the event before it
    /// by time.
    fn telemetry_by_time(
        &self,
        rows: &[TelemetryRow],
        reader: &dyn Reader,
    ) -> Result<Vec<PlacedTelemetry>> {
        let mut times = self.memory.store.event_times(self.row.id)?;
        let mut latest = TimeMs::MIN;
        for (_, at) in &mut times {
            latest = latest.max(*at);
            *at = latest;
        }
        let seq_at = |at: Option<TimeMs>| match at {
            Some(at) => match times.partition_point(|(_, time)| *time <= at) {
                0 => Seq::ZERO,
                after => times[after - 1].0,
            },
            // How things are now.
            None => Seq::last_of(self.row.events),
        };
        let mut bytes = self.memory.store.bytes();
        let mut found = Vec::new();
        for row in rows {
            let items = self.telemetry_of(*row, reader, &mut bytes)?;
            // A record of a whole turn is about what came before its end.
            let end = items.iter().filter_map(|item| item.at).max();
            found.extend(items.into_iter().map(|telemetry| {
                let is_setting = matches!(telemetry.item, TelemetryItem::Context(_));
                PlacedTelemetry {
                    seq: seq_at(if is_setting { telemetry.at } else { end }),
                    is_in_separate_file: true,
                    telemetry,
                }
            }));
        }
        Ok(found)
    }

    fn telemetry_of(
        &self,
        row: TelemetryRow,
        reader: &dyn Reader,
        bytes: &mut BlockReader<'_>,
    ) -> Result<Vec<Telemetry>> {
        let span = bytes.read(row.stream, row.offset, row.length);
        let span = unless_damaged(&self.memory.store, span)?;
        Ok(reader.telemetry(&span))
    }
}
