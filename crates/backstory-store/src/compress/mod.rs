//! What models wrote of tool uses and sessions, and how far they were asked.
//!
//! `ledger` has what each request took, and the caps that no request may pass.

mod ledger;
#[cfg(test)]
mod tests;

use backstory_event::{Kind, Seq, SessionId, TimeMs};
use rusqlite::{OptionalExtension, Row};

pub use self::ledger::{
    Compression, CompressionState, MetCap, NewCompression, Reserved, Scores, Settled, Spending,
    SpendingCaps, Tier, Written,
};
use crate::blocks::decompress;
use crate::checksums::{Scope, check_unit};
use crate::error::{Error, Result};
use crate::open::Store;

/// What a model wrote of a prompt or tool use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservationRow {
    /// The session's row.
    pub session: SessionId,
    /// The event of the prompt, or of the call.
    pub seq: Seq,
    /// The model.
    pub model: String,
    /// When it was written.
    pub at: TimeMs,
    /// The observation, in the writer's own format.
    pub body: Vec<u8>,
    /// How long the model took, if that is known.
    pub latency_ms: Option<u64>,
}

/// What a model wrote of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryRow {
    /// Events up to this seq are in it.
    pub events: Seq,
    /// The model.
    pub model: String,
    /// When it was written.
    pub at: TimeMs,
    /// The summary, in the writer's own format.
    pub body: Vec<u8>,
}

/// A session with something that no model was asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncompressed {
    /// The session's row.
    pub session: SessionId,
    /// The agent.
    pub agent: String,
    /// The agent's own id of it.
    pub name: String,
    /// How many prompts it has.
    pub turns: u64,
    /// How many events it has.
    pub events: u64,
    /// Prompts, and tool uses whose result is, that are not after this event were offered.
    pub compressed: Seq,
}

impl Store {
    /// What models wrote of the prompts and tool uses of a session, in order.
    pub fn observations(&self, session: SessionId) -> Result<Vec<ObservationRow>> {
        let query = "SELECT session, seq, model, at, body, id, \
             (SELECT MAX(latency_ms) FROM compressions WHERE about = session AND compressions.seq = observations.seq AND tier = ?2 AND state = ?3) \
             FROM observations WHERE session = ?1 ORDER BY seq";
        let mut statement = self.connection.prepare_cached(query)?;
        let mut observations = Vec::new();
        let (tier, state) = (Tier::Observation, CompressionState::Done);
        for row in statement.query_map((session, tier, state), |row| {
            let observation = ObservationRow {
                session: row.get(0)?,
                seq: row.get(1)?,
                model: row.get(2)?,
                at: row.get(3)?,
                body: row.get(4)?,
                latency_ms: row.get(6)?,
            };
            Ok((row.get(5)?, observation))
        })? {
            let (id, row) = row?;
            check_unit(&self.connection, Scope::Observations, id)?;
            let body = decompress(&row.body)?;
            observations.push(ObservationRow { body, ..row });
        }
        Ok(observations)
    }

    /// What a model wrote of a session.
    pub fn summary(&self, session: SessionId) -> Result<Option<SummaryRow>> {
        let query =
            "SELECT events, model, at, body FROM summaries WHERE session = ?1 AND body IS NOT NULL";
        let mut statement = self.connection.prepare_cached(query)?;
        let row = statement.query_row([session], |row| {
            Ok(SummaryRow {
                events: row.get(0)?,
                model: row.get(1)?,
                at: row.get(2)?,
                body: row.get(3)?,
            })
        });
        let unpack = |row: SummaryRow| -> Result<SummaryRow> {
            check_unit(&self.connection, Scope::Summaries, session.into())?;
            let body = decompress(&row.body)?;
            Ok(SummaryRow { body, ..row })
        };
        row.optional()?.map(unpack).transpose()
    }

    /// Calls `each` with all that models wrote, and with what was kept of text that went. Damaged rows are left out and named by
    /// [`Store::take_damage`].
    pub fn written(&self, mut each: impl FnMut(&[u8])) -> Result<()> {
        for (scope, query) in [
            (Scope::Observations, "SELECT id, body FROM observations"),
            (
                Scope::Summaries,
                "SELECT session, body FROM summaries WHERE body IS NOT NULL",
            ),
            (
                Scope::KeptObservations,
                "SELECT session, observations FROM kept_observations",
            ),
        ] {
            let mut statement = self.connection.prepare_cached(query)?;
            let rows =
                statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?)))?;
            for row in rows {
                let (unit, body) = row?;
                match check_unit(&self.connection, scope, unit) {
                    Err(Error::DamagedPiece(damage)) => self.meet_damage([*damage]),
                    checked => {
                        checked?;
                        each(&decompress(&body)?);
                    }
                }
            }
        }
        Ok(())
    }

    /// Sessions with events whose prompts and tool uses were not offered, active since a time or the one asked for; those active last first.
    pub fn uncompressed(
        &self,
        since: TimeMs,
        only: Option<SessionId>,
    ) -> Result<Vec<Uncompressed>> {
        let query = "SELECT id, agent, session, turns, events, compressed FROM sessions \
             WHERE events > MAX(compressed, evicted) AND COALESCE(ended_at, 0) >= ?1 AND (?2 IS NULL OR id = ?2) ORDER BY ended_at DESC, id";
        let mut statement = self.connection.prepare_cached(query)?;
        let rows = statement.query_map((since, only), uncompressed_from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Sessions that are over, and of which nothing was written since `news` events or more; those active last first.
    /// Over is what was closed, or had its last event before `before`.
    pub fn unsummarized(
        &self,
        since: TimeMs,
        only: Option<SessionId>,
        before: TimeMs,
        news: u64,
    ) -> Result<Vec<Uncompressed>> {
        let query = "SELECT id, agent, sessions.session, turns, sessions.events, compressed FROM sessions \
             LEFT JOIN summaries ON summaries.session = sessions.id \
             WHERE sessions.events >= COALESCE(summaries.events, 0) + ?4 AND turns > 0 AND COALESCE(ended_at, 0) >= ?1 AND (?2 IS NULL OR id = ?2) \
             AND (COALESCE(ended_at, 0) <= ?3 OR closed_at >= ended_at) ORDER BY ended_at DESC, id";
        let mut statement = self.connection.prepare_cached(query)?;
        let rows = statement.query_map((since, only, before, news), uncompressed_from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// From where on the events of a session must be read to see whole the prompts and the tool uses whose result is after `seq`, if
    /// there are any.
    pub fn first_unobserved(&self, session: SessionId, seq: Seq) -> Result<Option<Seq>> {
        let query = "SELECT MIN(COALESCE(call, seq)) FROM events \
             WHERE session = ?1 AND seq > ?2 AND (call IS NOT NULL OR kind = ?3)";
        let mut statement = self.connection.prepare_cached(query)?;
        Ok(statement.query_row((session, seq, Kind::Prompt), |row| row.get(0))?)
    }

    /// How many prompts and answers of tools are after `seq`.
    pub fn unobserved_after(&self, session: SessionId, seq: Seq) -> Result<u64> {
        let query = "SELECT COUNT(*) FROM events \
             WHERE session = ?1 AND seq > ?2 AND (call IS NOT NULL OR kind = ?3)";
        let mut statement = self.connection.prepare_cached(query)?;
        Ok(statement.query_row((session, seq, Kind::Prompt), |row| row.get(0))?)
    }

    /// How many prompts and tool uses are stored, how many of them a model wrote of, and of how many sessions.
    pub fn compressed_counts(&self) -> Result<(u64, u64, u64)> {
        let query = "SELECT (SELECT COUNT(*) FROM events WHERE call IS NOT NULL OR kind = ?1), (SELECT COUNT(*) FROM observations), \
             (SELECT COUNT(*) FROM summaries WHERE body IS NOT NULL)";
        let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        Ok(self.connection.query_row(query, [Kind::Prompt], row)?)
    }

    /// Takes note that the prompts and tool uses of a session were offered, up to the prompt or result at `seq`.
    pub fn set_compressed(&self, session: SessionId, seq: Seq) -> Result<()> {
        let update = "UPDATE sessions SET compressed = MAX(compressed, ?2) WHERE id = ?1";
        let mut statement = self.connection.prepare_cached(update)?;
        statement.execute((session, seq))?;
        Ok(())
    }

    /// Takes note that nothing that could be used was written of a session, up to this event. What was written before stays.
    pub fn set_unsummarisable(
        &self,
        session: SessionId,
        events: Seq,
        model: &str,
        at: TimeMs,
    ) -> Result<()> {
        let insert = "INSERT INTO summaries (session, events, model, at) SELECT ?1, ?2, ?3, ?4 \
             WHERE EXISTS (SELECT 1 FROM sessions WHERE id = ?1) ON CONFLICT (session) DO UPDATE SET events = excluded.events";
        let mut statement = self.connection.prepare_cached(insert)?;
        statement.execute((session, events, model, at))?;
        Ok(())
    }
}

fn uncompressed_from_row(row: &Row<'_>) -> rusqlite::Result<Uncompressed> {
    Ok(Uncompressed {
        session: row.get(0)?,
        agent: row.get(1)?,
        name: row.get(2)?,
        turns: row.get(3)?,
        events: row.get(4)?,
        compressed: row.get(5)?,
    })
}
