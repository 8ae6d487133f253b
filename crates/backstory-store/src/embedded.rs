//! Which events have vectors.

use backstory_event::{Seq, SessionId};
use rusqlite::OptionalExtension;

use crate::error::Result;
use crate::open::Store;

/// A session with events that have no vectors yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unembedded {
    /// The session's row.
    pub session: SessionId,
    /// Its events up to this one have vectors.
    pub embedded: Seq,
    /// How many events it has.
    pub events: u64,
    /// Whether it has vectors that are not true any more.
    pub stale: bool,
}

/// Events of a session that have been given vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Embedded {
    /// The session's row.
    pub session: SessionId,
    /// The first of the events.
    pub first: Seq,
    /// The last.
    pub last: Seq,
    /// How many bytes they had.
    pub bytes: u64,
}

impl Store {
    /// Sessions whose events do not all have vectors of a model, those active last first.
    pub fn unembedded(&self, model: &str) -> Result<Vec<Unembedded>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT sessions.id, MAX(COALESCE(embedded.events, 0), evicted), sessions.events, COALESCE(stale, evicted > 0) FROM sessions \
             LEFT JOIN embedded ON embedded.model = ?1 AND embedded.session = sessions.id \
             WHERE sessions.events > MAX(COALESCE(embedded.events, 0), evicted) ORDER BY ended_at DESC, sessions.id",
        )?;
        let rows = statement.query_map([model], |row| {
            Ok(Unembedded {
                session: row.get(0)?,
                embedded: row.get(1)?,
                events: row.get(2)?,
                stale: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// How many events have vectors of a model, and how many there are.
    pub fn embedded_events(&self, model: &str) -> Result<(u64, u64)> {
        let query = "SELECT (SELECT COALESCE(SUM(MAX(embedded.events - evicted, 0)), 0) FROM embedded \
               JOIN sessions ON sessions.id = embedded.session WHERE model = ?1), \
             (SELECT COALESCE(SUM(events - evicted), 0) FROM sessions)";
        Ok(self
            .connection
            .query_row(query, [model], |row| Ok((row.get(0)?, row.get(1)?)))?)
    }

    /// Up to which event a session has vectors of a model.
    pub fn embedded_to(&self, model: &str, session: SessionId) -> Result<Seq> {
        let query = "SELECT events FROM embedded WHERE model = ?1 AND session = ?2";
        let found = self
            .connection
            .prepare_cached(query)?
            .query_row((model, session), |row| row.get(0))
            .optional()?;
        Ok(found.unwrap_or_default())
    }

    /// Takes note that these events have vectors of a model, but for sessions that changed while they were being read.
    pub fn settle_embedded(&mut self, model: &str, embedded: &[Embedded]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        for session in embedded {
            // Events only ever grow, so that the sum tells whether any of them did.
            let unchanged: bool = transaction
                .prepare_cached(
                    "SELECT COALESCE(SUM(length), 0) = ?4 FROM events WHERE session = ?1 AND seq BETWEEN ?2 AND ?3",
                )?
                .query_row((session.session, session.first, session.last, session.bytes), |row| row.get(0))?;
            if unchanged {
                transaction
                    .prepare_cached(
                        "INSERT INTO embedded (model, session, events) VALUES (?1, ?2, ?3) \
                         ON CONFLICT (model, session) DO UPDATE SET events = excluded.events, stale = 0 WHERE embedded.events >= ?4 - 1",
                    )?
                    .execute((model, session.session, session.last, session.first))?;
            }
        }
        Ok(transaction.commit()?)
    }

    /// Takes note that there are no vectors of a model.
    pub fn forget_embedded(&self, model: &str) -> Result<()> {
        self.connection
            .execute("DELETE FROM embedded WHERE model = ?1", [model])?;
        Ok(())
    }
}
