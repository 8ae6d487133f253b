//! Where telemetry records lie.

use backstory_event::{Seq, SessionId, Span, StreamId, TimeMs};
use rusqlite::{Connection, Row};

use crate::error::Result;
use crate::open::Store;

/// A telemetry record in the stored bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TelemetryRow {
    /// The event before it; 0 before the first.
    pub seq: Seq,
    /// The stream that holds it.
    pub stream: StreamId,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}

impl Store {
    /// Returns the telemetry records of a session that follow these events, in their order.
    pub fn telemetry(
        &self,
        session: SessionId,
        from_seq: Seq,
        to_seq: Seq,
    ) -> Result<Vec<TelemetryRow>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT seq, stream, offset, length FROM telemetry WHERE session = ?1 AND seq BETWEEN ?2 AND ?3 \
             ORDER BY seq, stream, offset",
        )?;
        let bounds = (session, from_seq, to_seq);
        let rows = statement.query_map(bounds, telemetry_from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the telemetry records of a session in files that hold no event of it: only their times tell where they belong.
    pub fn telemetry_without_events(&self, session: SessionId) -> Result<Vec<TelemetryRow>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT seq, stream, offset, length FROM telemetry WHERE session = ?1 AND seq = 0 \
             AND stream NOT IN (SELECT stream FROM events WHERE session = ?1) ORDER BY stream, offset",
        )?;
        let rows = statement.query_map([session], telemetry_from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the numbers of a session's events that have a time, each with that.
    pub fn event_times(&self, session: SessionId) -> Result<Vec<(Seq, TimeMs)>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT seq, at FROM events WHERE session = ?1 AND at IS NOT NULL ORDER BY seq",
        )?;
        let rows = statement.query_map([session], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

fn telemetry_from_row(row: &Row<'_>) -> rusqlite::Result<TelemetryRow> {
    Ok(TelemetryRow {
        seq: row.get(0)?,
        stream: row.get(1)?,
        offset: row.get(2)?,
        length: row.get(3)?,
    })
}

/// Stores where a telemetry record lies, once.
pub(crate) fn insert(
    connection: &Connection,
    session: SessionId,
    seq: Seq,
    stream: StreamId,
    span: Span,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT OR IGNORE INTO telemetry (session, seq, stream, offset, length) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((session, seq, stream, span.offset, span.length))?;
    Ok(())
}
