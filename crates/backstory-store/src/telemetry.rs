//! Where telemetry records lie.

use backstory_event::{SessionId, Span};
use rusqlite::Connection;

use crate::error::Result;
use crate::open::Store;

/// A telemetry record in the stored bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TelemetryRow {
    /// The event before it; 0 before the first.
    pub seq: u64,
    /// The stream that holds it.
    pub stream: i64,
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
        from_seq: u64,
        to_seq: u64,
    ) -> Result<Vec<TelemetryRow>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT seq, stream, offset, length FROM telemetry WHERE session = ?1 AND seq BETWEEN ?2 AND ?3 \
             ORDER BY seq, stream, offset",
        )?;
        let bounds = (session, from_seq, to_seq.min(i64::MAX as u64));
        let rows = statement.query_map(bounds, |row| {
            Ok(TelemetryRow {
                seq: row.get(0)?,
                stream: row.get(1)?,
                offset: row.get(2)?,
                length: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

/// Stores where a telemetry record lies, once.
pub(crate) fn insert(
    connection: &Connection,
    session: SessionId,
    seq: u64,
    stream: i64,
    span: Span,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT OR IGNORE INTO telemetry (session, seq, stream, offset, length) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((session, seq, stream, span.offset, span.length))?;
    Ok(())
}
