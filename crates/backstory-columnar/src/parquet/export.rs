//! One walk through sessions that fills all tables that are asked for.

use backstory_memory::{EventRange, Memory, SessionRow, TimeMs};

use super::column::Value;
use super::footer::SessionKey;
use super::part::PartWriter;
use super::row_values::{SessionNames, SharedEvent, event_row, session_row};
use super::schema::Table;
use super::tool_calls::ToolCalls;
use super::usage_rows::{EventSums, UsageTotals, event_usage_row};
use crate::error::{Error, Result};

/// How tables are written.
#[derive(Debug, Clone, Copy)]
pub struct TableOptions {
    /// The time at which it is decided whether a session is still running.
    pub now: TimeMs,
    /// Whether tokens of sessions without an event of their own are exported, too: `backstory usage` counts them. For exports of all
    /// sessions.
    pub with_unlisted_usage: bool,
    /// Whether files are written although none of their sessions changed.
    pub rewrite: bool,
    /// Whether a file may be replaced by one without some of its sessions, because they are not among those to export any more.
    pub allow_loss: bool,
}

impl TableOptions {
    /// Writes what changed, and loses nothing.
    pub fn new(now: TimeMs) -> Self {
        TableOptions {
            now,
            with_unlisted_usage: false,
            rewrite: false,
            allow_loss: false,
        }
    }
}

/// How far writing is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableProgress {
    /// Sessions that are to be written.
    pub sessions_total: u64,
    /// Those that were.
    pub sessions_written: u64,
    /// Events that are to be read.
    pub events_total: u64,
    /// Those that were.
    pub events_read: u64,
}

/// The files that a walk fills: one a table at most.
#[derive(Default)]
pub(super) struct TableFiles {
    pub(super) parts: Vec<(Table, PartWriter)>,
}

impl TableFiles {
    fn part(&mut self, table: Table) -> Option<&mut PartWriter> {
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
        self.part(table).map_or(Ok(()), |part| part.push_row(row()))
    }

    /// Writes all rows of a session.
    pub(super) fn write_session(
        &mut self,
        memory: &Memory,
        session: &SessionRow,
        totals: &UsageTotals,
        now: TimeMs,
        on_event: &mut dyn FnMut(),
    ) -> Result<()> {
        if self.part(Table::Sessions).is_some() {
            let usage = memory.session_usage(session).map_err(Error::input)?;
            self.push_row(Table::Sessions, || session_row(session, &usage, now))?;
        }
        if self
            .parts
            .iter()
            .all(|(table, _)| *table == Table::Sessions)
        {
            return Ok(());
        }
        let names = SessionNames::new(&session.agent, &session.session);
        let mut calls = ToolCalls::default();
        let mut sums = EventSums::default();
        let walked = memory.session_from_row(session.clone());
        for record in walked.events(EventRange::All).map_err(Error::input)? {
            let event = SharedEvent::new(record.map_err(Error::input)?);
            self.push_row(Table::Events, || event_row(&names, &event))?;
            if let Some(part) = self.part(Table::ToolCalls)
                && let Some(row) = calls.take_event(&names, &event)
            {
                part.push_row(row)?;
            }
            if let Some(part) = self.part(Table::Usage)
                && let Some(row) = event_usage_row(&names, session, &event, &mut sums)
            {
                part.push_row(row)?;
            }
            on_event();
        }
        while let Some(row) = calls.next_unanswered(&names) {
            self.push_row(Table::ToolCalls, || row)?;
        }
        self.write_other_usage(&SessionKey::of_row(session), Some(session), totals, sums)
    }

    /// Writes what a session used and its events do not have.
    pub(super) fn write_other_usage(
        &mut self,
        key: &SessionKey,
        session: Option<&SessionRow>,
        totals: &UsageTotals,
        sums: EventSums,
    ) -> Result<()> {
        for row in totals.rows_without_events(key, session, sums) {
            self.push_row(Table::Usage, || row)?;
        }
        Ok(())
    }
}
