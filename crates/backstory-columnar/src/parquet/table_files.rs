//! Files of tables that one walk through sessions fills.

use backstory_memory::{EventRange, Memory, SessionRow, TimeMs};

use super::column_buffer::Value;
use super::footer::SessionKey;
use super::kept_rows::{CopiedRows, DamagedEvents};
use super::part::PartWriter;
use super::row_values::{SessionNames, SharedEvent, event_row, session_row};
use super::schema::Table;
use super::tool_calls::ToolCalls;
use super::usage_rows::usage_rows;
use crate::error::Result;

/// Files that a walk fills, at most one for each table.
#[derive(Default)]
pub(super) struct TableFiles {
    pub(super) parts: Vec<(Table, PartWriter)>,
    /// Rows that were copied out of old files.
    pub(super) copied: CopiedRows,
    /// Events whose stored text is damaged.
    pub(super) damaged: DamagedEvents,
}

impl TableFiles {
    fn part_of_table(&mut self, table: Table) -> Option<&mut PartWriter> {
        self.parts
            .iter_mut()
            .find(|(of, _)| *of == table)
            .map(|(_, part)| part)
    }

    fn push_row<const N: usize>(
        &mut self,
        table: Table,
        row: impl FnOnce() -> [Value; N],
    ) -> Result<()> {
        self.part_of_table(table)
            .map_or(Ok(()), |part| part.push_row(row()))
    }

    /// Writes all rows of a session.
    pub(super) fn write_session(
        &mut self,
        memory: &Memory,
        session: &SessionRow,
        now: TimeMs,
        on_event: &mut dyn FnMut(),
    ) -> Result<()> {
        let walked = memory.sessions().open(session.clone());
        if self.part_of_table(Table::Sessions).is_some() {
            let usage = walked.usage()?;
            self.push_row(Table::Sessions, || session_row(session, &usage, now))?;
        }
        self.write_usage(memory, &SessionKey::of_row(session), Some(session))?;
        let has_text = |(table, _): &(Table, _)| matches!(table, Table::Events | Table::ToolCalls);
        if !self.parts.iter().any(has_text) {
            return Ok(());
        }
        let names = SessionNames::new(&session.agent, &session.session);
        let mut calls = ToolCalls::default();
        let key = SessionKey::of_row(session);
        let copied_events = self.copied.events.remove(&key).unwrap_or_default();
        let mut kept_calls = self.copied.calls.remove(&key).unwrap_or_default();
        for record in walked.events(EventRange::All)? {
            let event = SharedEvent::new(record?);
            let seq = i64::from(event.record.seq.get());
            if event.record.damaged {
                self.damaged.entry(key.clone()).or_default().insert(seq);
            }
            if !copied_events.contains(&seq) {
                self.push_row(Table::Events, || event_row(&names, &event))?;
            }
            if let Some(part) = self.part_of_table(Table::ToolCalls)
                && let Some(row) = calls.add_event(&names, &event)
                && let Some(row) = kept_calls.merge_call(row)
            {
                part.push_row(row)?;
            }
            on_event();
        }
        while let Some(row) = calls.next_unanswered(&names) {
            if let Some(row) = kept_calls.merge_call(row) {
                self.push_row(Table::ToolCalls, || row)?;
            }
        }
        for row in kept_calls.into_unanswered() {
            self.push_row(Table::ToolCalls, || row)?;
        }
        Ok(())
    }

    /// Writes what a session used.
    pub(super) fn write_usage(
        &mut self,
        memory: &Memory,
        key: &SessionKey,
        session: Option<&SessionRow>,
    ) -> Result<()> {
        let Some(part) = self.part_of_table(Table::Usage) else {
            return Ok(());
        };
        for row in usage_rows(memory, key, session)? {
            part.push_row(row)?;
        }
        Ok(())
    }
}
