//! Eviction: the raw tier of a session goes, what tells what it was stays.
//!
//! Of an evicted session remain its row, its digest, its tokens and the keys of its events, so that a copy of its log is known
//! for what it is and does not bring it back.

use backstory_event::{Seq, SessionId, StreamId, TimeMs};
use std::collections::HashMap;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::blocks::parse_cuts;
use crate::error::Result;
use crate::lag::{mark_evicted, mark_lag};
use crate::observations;
use crate::open::Store;
use crate::schema::{Lifetime, delete_rows};

/// So many pages are given back to the file system at once; what they displace goes through the journal.
const VACUUM_PAGES: u64 = 2048;

/// What an evicted session has gathered again counts from here on; less is a few records without an event.
const WORTH_EVICTING: u64 = 64 << 10;

/// What an event takes in the database beside its text: its row, its files, its calls.
const EVENT_BYTES: u64 = 90;

/// A session whose raw tier is there, or some of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evictable {
    /// The session's row.
    pub session: SessionId,
    /// The agent.
    pub agent: String,
    /// The agent's own id of it.
    pub name: String,
    /// When its last event was, as far as the log tells.
    pub ended_at: Option<TimeMs>,
    /// When the files that tell of it were last written.
    pub written_at: Option<TimeMs>,
    /// How many of its events are there.
    pub events: u64,
    /// About how many bytes of the database only it needs.
    pub bytes: u64,
    /// Whether every consumer has seen its events whose results stay.
    pub analysed: bool,
    /// Whether it is never evicted.
    pub pinned: bool,
}

impl Store {
    /// All sessions that have something to evict.
    pub fn evictable(&self) -> Result<Vec<Evictable>> {
        let shares = self.shares()?;
        // A session without an event of its own is a copy of its parent: with the parent's digest, nothing of it is lost.
        let mut statement = self.connection.prepare(
            "SELECT sessions.id, sessions.agent, sessions.session, COALESCE(sessions.ended_at, sessions.started_at), \
               (SELECT MAX(modified_ns) / 1000000 FROM session_streams JOIN streams ON streams.id = session_streams.stream \
                JOIN source_files ON source_files.id = streams.source WHERE session_streams.session = sessions.id), \
               sessions.events - sessions.evicted, sessions.pinned, \
               NOT EXISTS (SELECT 1 FROM lag JOIN consumers ON consumers.id = consumer WHERE before_eviction \
                 AND lag.session = IIF(sessions.events > 0, sessions.id, \
                   (SELECT id FROM sessions AS parent WHERE parent.agent = sessions.agent AND parent.session = sessions.parent))), \
               sessions.evicted_at IS NOT NULL \
             FROM sessions ORDER BY sessions.id",
        )?;
        let rows = statement.query_map([], |row| {
            let session: SessionId = row.get(0)?;
            let events: u64 = row.get(5)?;
            let stored = shares.get(&session).copied().unwrap_or(0);
            let evictable = Evictable {
                session,
                agent: row.get(1)?,
                name: row.get(2)?,
                ended_at: row.get(3)?,
                written_at: row.get(4)?,
                events,
                bytes: stored + events * EVENT_BYTES,
                pinned: row.get(6)?,
                analysed: row.get(7)?,
            };
            let least = if row.get(8)? { WORTH_EVICTING } else { 1 };
            Ok((events > 0 || stored >= least).then_some(evictable))
        })?;
        Ok(rows
            .filter_map(Result::transpose)
            .collect::<rusqlite::Result<_>>()?)
    }

    /// What each session's stored bytes take; what several sessions share is shared among them.
    fn shares(&self) -> Result<HashMap<SessionId, u64>> {
        let mut attachments: HashMap<i64, u64> = HashMap::new();
        let mut statement = self
            .connection
            .prepare("SELECT id, LENGTH(data) FROM attachments")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            attachments.insert(row.get(0)?, row.get(1)?);
        }
        let mut streams: HashMap<StreamId, u64> = HashMap::new();
        let mut statement = self
            .connection
            .prepare("SELECT stream, LENGTH(data), cuts FROM blocks")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let cuts = parse_cuts(
                row.get_ref(2)?
                    .as_str_or_null()
                    .map_err(rusqlite::Error::from)?,
            );
            // An attachment that several blocks show counts with the first of them.
            let cut = cuts.iter().filter_map(|(_, id)| attachments.remove(id));
            *streams.entry(row.get(0)?).or_default() += row.get::<_, u64>(1)? + cut.sum::<u64>();
        }
        // A session that was evicted has a share only of what nobody else needs.
        let mut statement = self.connection.prepare(
            "SELECT session_streams.session, stream FROM session_streams JOIN sessions ON sessions.id = session_streams.session \
             WHERE evicted_at IS NULL OR evicted < events OR NOT EXISTS \
               (SELECT 1 FROM session_streams AS other JOIN sessions AS live ON live.id = other.session \
                WHERE other.stream = session_streams.stream AND (live.evicted_at IS NULL OR live.evicted < live.events))",
        )?;
        let links: Vec<(SessionId, StreamId)> = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let mut sharers: HashMap<StreamId, u64> = HashMap::new();
        for (_, stream) in &links {
            *sharers.entry(*stream).or_default() += 1;
        }
        let mut shares: HashMap<SessionId, u64> = HashMap::new();
        for (session, stream) in links {
            let bytes = streams.get(&stream).copied().unwrap_or(0);
            *shares.entry(session).or_default() += bytes / sharers[&stream];
        }
        Ok(shares)
    }

    /// Begins to evict sessions.
    pub fn evictor(&self) -> Result<Evictor<'_>> {
        let mut uses: HashMap<i64, u64> = HashMap::new();
        let query = "SELECT cuts FROM blocks WHERE cuts IS NOT NULL";
        let mut statement = self.connection.prepare(query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for (_, attachment) in parse_cuts(
                row.get_ref(0)?
                    .as_str_or_null()
                    .map_err(rusqlite::Error::from)?,
            ) {
                *uses.entry(attachment).or_default() += 1;
            }
        }
        drop(rows);
        drop(statement);
        Ok(Evictor { store: self, uses })
    }

    /// Says whether a session is never evicted.
    pub fn pin(&self, session: SessionId, pinned: bool) -> Result<()> {
        let update = "UPDATE sessions SET pinned = ?2 WHERE id = ?1";
        self.connection.execute(update, (session, pinned))?;
        Ok(())
    }

    /// Forgets that a session was evicted: its source files are read anew by the next sweep, as if it had never been seen. It is
    /// pinned, or the same sweep would evict it again.
    pub fn restore(&self, session: SessionId) -> Result<()> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        remove_rows(&transaction, session, Lifetime::Rereading)?;
        transaction.execute(
            "UPDATE sessions SET evicted = 0, evicted_at = NULL, events = 0, turns = 0, pinned = 1 WHERE id = ?1",
            [session],
        )?;
        Ok(transaction.commit()?)
    }

    /// The paths of all source files that tell of a session.
    pub fn session_paths(&self, session: SessionId) -> Result<Vec<String>> {
        let mut statement = self.connection.prepare(
            "SELECT DISTINCT path FROM session_streams JOIN streams ON streams.id = session_streams.stream \
             JOIN source_files ON source_files.id = streams.source WHERE session = ?1 ORDER BY path",
        )?;
        let rows = statement.query_map([session], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Bytes of the database that are in use, without pages that wait to be given back.
    pub fn used_bytes(&self) -> Result<u64> {
        let number = |name| {
            self.connection
                .pragma_query_value(None, name, |row| row.get::<_, u64>(0))
        };
        Ok((number("page_count")? - number("freelist_count")?) * number("page_size")?)
    }

    /// What the accounts of sessions and the snapshots of source files take.
    pub fn distilled_bytes(&self) -> Result<u64> {
        let query = "SELECT (SELECT COALESCE(SUM(LENGTH(notes)), 0) FROM notes) + (SELECT COALESCE(SUM(LENGTH(states)), 0) FROM snapshot_states) \
             + (SELECT COALESCE(SUM(LENGTH(observations)), 0) FROM kept_observations)";
        Ok(self.connection.query_row(query, [], |row| row.get(0))?)
    }

    /// Gives what evictions left free back to the file system, in steps, so that the journal stays small.
    pub fn reclaim(&self) -> Result<()> {
        let mut free = u64::MAX;
        loop {
            let left: u64 = self
                .connection
                .pragma_query_value(None, "freelist_count", |row| row.get(0))?;
            // No progress is possible while another process looks at an older state.
            if left == 0 || left >= free {
                break;
            }
            free = left;
            let vacuum = format!("PRAGMA incremental_vacuum({VACUUM_PAGES})");
            let mut statement = self.connection.prepare(&vacuum)?;
            let mut rows = statement.query([])?;
            while rows.next()?.is_some() {}
            drop(rows);
            // Waits for nobody: a reader must not hold every step up.
            let checkpoint = "PRAGMA wal_checkpoint(PASSIVE)";
            self.connection.query_row(checkpoint, [], |_| Ok(()))?;
        }
        self.checkpoint()
    }
}

/// Removes what a session has stored up to `end`, and has its source files read anew by the next sweep.
pub(crate) fn remove_rows(
    connection: &Connection,
    session: SessionId,
    end: Lifetime,
) -> Result<()> {
    for stream in only_of(connection, session)? {
        // What remains of these streams comes again with the next generation of their files.
        for table in ["blocks", "block_lines", "backfill"] {
            let delete = format!("DELETE FROM {table} WHERE stream = ?1");
            connection.execute(&delete, [stream])?;
        }
        connection.execute("UPDATE streams SET length = 0 WHERE id = ?1", [stream])?;
    }
    delete_rows(connection, end, "= ?1", &[&session])?;
    connection.execute(
        "UPDATE source_files SET device = 0, inode = 0, size = 0, modified_ns = 0, changed_ns = 0, content_hash = NULL, \
         head_length = 0, head_hash = zeroblob(32) WHERE id IN (SELECT source FROM streams JOIN session_streams ON stream = streams.id WHERE session = ?1)",
        [session],
    )?;
    mark_lag(connection, session, Seq::FIRST)
}

/// Evicts sessions, one transaction each.
pub struct Evictor<'a> {
    store: &'a Store,
    /// How many blocks show each attachment.
    uses: HashMap<i64, u64>,
}

impl Evictor<'_> {
    /// The store, to look at what is about to go.
    pub fn store(&self) -> &Store {
        self.store
    }

    /// Evicts a session: its events, and the stored bytes that no other session needs. What it was observed to do is kept.
    pub fn evict(&mut self, session: SessionId, now: TimeMs, observations: &[u8]) -> Result<()> {
        let transaction =
            Transaction::new_unchecked(&self.store.connection, TransactionBehavior::Immediate)?;
        observations::keep(&transaction, session, observations)?;
        let paths: Vec<i64> = transaction
            .prepare_cached("SELECT DISTINCT path FROM touches WHERE session = ?1")?
            .query_map([session], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        delete_rows(&transaction, Lifetime::Eviction, "= ?1", &[&session])?;
        for path in paths {
            let unused = "DELETE FROM paths WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM touches WHERE touches.path = ?1)";
            transaction.prepare_cached(unused)?.execute([path])?;
        }
        transaction
            .prepare_cached("UPDATE sessions SET evicted = events, evicted_at = ?2 WHERE id = ?1")?
            .execute((session, now))?;
        mark_evicted(&transaction, session)?;
        let mut unused: HashMap<i64, u64> = HashMap::new();
        for stream in only_of(&transaction, session)? {
            for table in ["block_lines", "backfill"] {
                transaction
                    .prepare_cached(&format!("DELETE FROM {table} WHERE stream = ?1"))?
                    .execute([stream])?;
            }
            let mut statement = transaction
                .prepare_cached("DELETE FROM blocks WHERE stream = ?1 RETURNING cuts")?;
            let mut rows = statement.query([stream])?;
            while let Some(row) = rows.next()? {
                for (_, attachment) in parse_cuts(
                    row.get_ref(0)?
                        .as_str_or_null()
                        .map_err(rusqlite::Error::from)?,
                ) {
                    *unused.entry(attachment).or_default() += 1;
                }
            }
        }
        for (attachment, unused) in &unused {
            if self.uses.get(attachment).is_none_or(|uses| uses <= unused) {
                transaction
                    .prepare_cached("DELETE FROM attachments WHERE id = ?1")?
                    .execute([attachment])?;
            }
        }
        transaction.commit()?;
        for (attachment, unused) in unused {
            self.uses
                .entry(attachment)
                .and_modify(|uses| *uses -= unused);
        }
        Ok(())
    }
}

/// The streams of a session that no other session needs: all others that they tell of are evicted.
fn only_of(connection: &Connection, session: SessionId) -> Result<Vec<StreamId>> {
    let mut statement = connection.prepare_cached(
        "SELECT stream FROM session_streams AS own WHERE session = ?1 AND NOT EXISTS \
         (SELECT 1 FROM session_streams AS other JOIN sessions ON sessions.id = other.session \
          WHERE other.stream = own.stream AND other.session != ?1 AND (evicted_at IS NULL OR evicted < events))",
    )?;
    let rows = statement.query_map([session], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
