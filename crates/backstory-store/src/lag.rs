//! What consumers of events lack: one table for everything that is derived from events.
//!
//! A consumer lacks the events of a session from one on, or nothing. Whoever stores or changes events marks them; whoever derives
//! something clears the mark in the transaction that stores the result, unless the session changed meanwhile.

use std::borrow::Cow;

use backstory_event::{Seq, SessionId};
use rusqlite::{Connection, OptionalExtension, Row, ToSql};

use crate::error::Result;
use crate::open::Store;

/// Something that is derived from events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerInfo {
    /// Name in the store.
    pub name: Cow<'static, str>,
    /// Version of its rules. When it is raised, all events that are stored are seen again.
    pub version: u32,
    /// Whether its results stay when a session is evicted: it must have seen all events before.
    pub before_eviction: bool,
    /// Whether it derives something of the title too.
    pub follows_titles: bool,
}

/// Row of a consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConsumerId(i64);

impl ToSql for ConsumerId {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        self.0.to_sql()
    }
}

/// Events of a session that a consumer lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lag {
    /// Row of the session.
    pub session: SessionId,
    /// First event that it has not seen, or not as it is now.
    pub from: Seq,
    /// Number of events that the session has.
    pub events: u64,
    /// Last event that is evicted.
    pub evicted: Seq,
    /// Counts up with every change; 0 only where the consumer cannot have any results.
    changes: i64,
}

impl Lag {
    /// Returns the number of stored events that the consumer lacks.
    pub fn count(&self) -> u64 {
        let before = self.from.previous().max(self.evicted);
        self.events.saturating_sub(before.count())
    }

    /// Returns whether the consumer can have no results of the session yet.
    pub fn is_new(&self) -> bool {
        self.changes == 0
    }

    /// Returns whether the consumer may have results of events that are evicted.
    pub fn is_evicted(&self) -> bool {
        self.from <= self.evicted
    }
}

/// In which order sessions are worked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LagOrder {
    /// As they were stored.
    Stored,
    /// Those that began first, first.
    Begun,
    /// Those that were active last, first.
    LastActive,
}

impl LagOrder {
    fn columns(self) -> &'static str {
        match self {
            LagOrder::Stored => "sessions.id",
            LagOrder::Begun => "started_at, sessions.id",
            LagOrder::LastActive => "ended_at DESC, sessions.id",
        }
    }
}

/// The table of what consumers lack.
pub struct LagTable<'s> {
    connection: &'s Connection,
}

impl Store {
    /// Returns the table of what consumers lack.
    pub fn lag(&self) -> LagTable<'_> {
        LagTable {
            connection: &self.connection,
        }
    }
}

impl LagTable<'_> {
    /// Makes a consumer known. One that is new, or has new rules, lacks all events that are stored.
    pub fn register(&self, info: &ConsumerInfo) -> Result<ConsumerId> {
        let found = "SELECT id, version = ?2 AND before_eviction = ?3 AND follows_titles = ?4 FROM consumers WHERE name = ?1";
        let values = (
            &info.name,
            info.version,
            info.before_eviction,
            info.follows_titles,
        );
        let known: Option<(i64, bool)> = self
            .connection
            .prepare_cached(found)?
            .query_row(values, |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        if let Some((id, true)) = known {
            return Ok(ConsumerId(id));
        }
        let transaction = self.connection.unchecked_transaction()?;
        let insert = "INSERT INTO consumers (name, version, before_eviction, follows_titles) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (name) DO UPDATE SET version = excluded.version, before_eviction = excluded.before_eviction, \
             follows_titles = excluded.follows_titles RETURNING id";
        let id = transaction.query_row(insert, values, |row| row.get(0))?;
        mark_all(&transaction, ConsumerId(id))?;
        transaction.commit()?;
        Ok(ConsumerId(id))
    }

    /// Returns a consumer that is known.
    pub fn find(&self, name: &str) -> Result<Option<ConsumerId>> {
        let query = "SELECT id FROM consumers WHERE name = ?1";
        let mut statement = self.connection.prepare_cached(query)?;
        let id = statement.query_row([name], |row| Ok(ConsumerId(row.get(0)?)));
        Ok(id.optional()?)
    }

    /// Removes a consumer: nothing is derived for it any more.
    pub fn remove(&self, consumer: ConsumerId) -> Result<()> {
        let transaction = self.connection.unchecked_transaction()?;
        transaction.execute("DELETE FROM lag WHERE consumer = ?1", [consumer])?;
        transaction.execute("DELETE FROM consumers WHERE id = ?1", [consumer])?;
        Ok(transaction.commit()?)
    }

    /// Marks the events of a session from `from` on for one consumer.
    pub fn mark(&self, consumer: ConsumerId, session: SessionId, from: Seq) -> Result<()> {
        let insert = "INSERT INTO lag (session, consumer, from_seq, changes) VALUES (?1, ?2, ?3, 1) \
             ON CONFLICT (session, consumer) DO UPDATE SET from_seq = MIN(from_seq, excluded.from_seq), changes = changes + 1";
        let mut statement = self.connection.prepare_cached(insert)?;
        statement.execute((session, consumer, from))?;
        Ok(())
    }

    /// Returns what a consumer lacks.
    pub fn of(&self, consumer: ConsumerId, order: LagOrder) -> Result<Vec<Lag>> {
        let query = format!(
            "SELECT lag.session, from_seq, events, evicted, changes FROM lag CROSS JOIN sessions ON sessions.id = lag.session \
             WHERE consumer = ?1 AND events > 0 ORDER BY {}",
            order.columns()
        );
        let mut statement = self.connection.prepare_cached(&query)?;
        let rows = statement.query_map([consumer], lag_from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns what a consumer would lack if it had seen nothing.
    pub fn of_all(&self, consumer: ConsumerId) -> Result<Vec<Lag>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT sessions.id, 1, events, evicted, COALESCE(changes, -1) FROM sessions \
             LEFT JOIN lag ON lag.session = sessions.id AND lag.consumer = ?1 WHERE events > 0 ORDER BY sessions.id",
        )?;
        let rows = statement.query_map([consumer], lag_from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns what the consumers lack of one session.
    pub fn of_session(&self, session: SessionId) -> Result<Vec<(ConsumerId, Lag)>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT lag.session, from_seq, events, evicted, changes, consumer FROM lag JOIN sessions ON sessions.id = lag.session \
             WHERE lag.session = ?1",
        )?;
        let rows = statement.query_map([session], |row| {
            Ok((ConsumerId(row.get(5)?), lag_from_row(row)?))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns how many stored events a consumer has seen, and how many there are.
    pub fn seen_events(&self, consumer: Option<ConsumerId>) -> Result<(u64, u64)> {
        let query = "SELECT COALESCE(SUM(events - MAX(evicted, MIN(events, IIF(?1 IS NULL, 0, COALESCE(from_seq - 1, events))))), 0), \
             COALESCE(SUM(events - evicted), 0) FROM sessions LEFT JOIN lag ON lag.session = sessions.id AND consumer = ?1";
        let mut statement = self.connection.prepare_cached(query)?;
        let (lacking, all): (u64, u64) =
            statement.query_row([consumer], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok((all - lacking, all))
    }

    /// Returns the last event of a session before those that a consumer lacks.
    pub fn seen_to(&self, consumer: ConsumerId, session: SessionId) -> Result<Seq> {
        let query = "SELECT COALESCE(from_seq - 1, events) FROM sessions LEFT JOIN lag ON lag.session = sessions.id AND consumer = ?1 \
             WHERE sessions.id = ?2";
        let mut statement = self.connection.prepare_cached(query)?;
        let found = statement.query_row((consumer, session), |row| row.get(0));
        Ok(found.optional()?.unwrap_or_default())
    }

    /// Takes note that a consumer has seen what it lacked, but for sessions that changed meanwhile.
    pub fn clear(&self, consumer: ConsumerId, seen: &[Lag]) -> Result<()> {
        let transaction = self.connection.unchecked_transaction()?;
        clear_lag(&transaction, consumer, seen)?;
        Ok(transaction.commit()?)
    }
}

fn lag_from_row(row: &Row<'_>) -> rusqlite::Result<Lag> {
    Ok(Lag {
        session: row.get(0)?,
        from: row.get(1)?,
        events: row.get(2)?,
        evicted: row.get(3)?,
        changes: row.get(4)?,
    })
}

/// Marks the first events of a session, which no consumer has any results of.
pub(crate) fn mark_new(connection: &Connection, session: SessionId) -> Result<()> {
    mark(connection, session, Seq::FIRST, "true", 0)
}

/// Marks events of a session from `from` on as new, or not what they were, for every consumer.
pub(crate) fn mark_lag(connection: &Connection, session: SessionId, from: Seq) -> Result<()> {
    mark(connection, session, from, "true", 1)
}

/// Marks the title of a session as new. `end` is just behind its last event.
pub(crate) fn mark_title(connection: &Connection, session: SessionId, end: Seq) -> Result<()> {
    mark(connection, session, end, "follows_titles", 1)
}

/// Marks all events of a session as gone: consumers whose results do not stay have none to keep.
pub(crate) fn mark_evicted(connection: &Connection, session: SessionId) -> Result<()> {
    mark(connection, session, Seq::FIRST, "NOT before_eviction", 1)?;
    let done = "DELETE FROM lag WHERE session = ?1 AND consumer IN (SELECT id FROM consumers WHERE before_eviction)";
    connection.prepare_cached(done)?.execute([session])?;
    Ok(())
}

/// Marks for some consumers. The number of changes is 0 only where they cannot have any results.
fn mark(
    connection: &Connection,
    session: SessionId,
    from: Seq,
    consumers: &str,
    changes: i64,
) -> Result<()> {
    let insert = format!(
        "INSERT INTO lag (session, consumer, from_seq, changes) SELECT ?1, id, ?2, ?3 FROM consumers WHERE {consumers} \
         ON CONFLICT (session, consumer) DO UPDATE SET from_seq = MIN(from_seq, excluded.from_seq), changes = changes + 1"
    );
    connection
        .prepare_cached(&insert)?
        .execute((session, from, changes))?;
    Ok(())
}

/// Marks all that is stored for one consumer. What it has of evicted events stays if its results do.
fn mark_all(connection: &Connection, consumer: ConsumerId) -> Result<()> {
    let insert = "INSERT INTO lag (session, consumer, from_seq, changes) \
         SELECT sessions.id, consumers.id, IIF(before_eviction, evicted, 0) + 1, 1 FROM sessions JOIN consumers ON consumers.id = ?1 \
         WHERE events > IIF(before_eviction, evicted, 0) \
         ON CONFLICT (session, consumer) DO UPDATE SET from_seq = MIN(from_seq, excluded.from_seq), changes = changes + 1";
    connection.prepare_cached(insert)?.execute([consumer])?;
    Ok(())
}

/// Takes note, in the transaction that stores the results, that a consumer has seen what it lacked; not where the session changed meanwhile.
pub(crate) fn clear_lag(connection: &Connection, consumer: ConsumerId, seen: &[Lag]) -> Result<()> {
    let delete = "DELETE FROM lag WHERE session = ?1 AND consumer = ?2 AND changes = ?3";
    let mut statement = connection.prepare_cached(delete)?;
    for lag in seen {
        statement.execute((lag.session, consumer, lag.changes))?;
    }
    Ok(())
}
