//! Reading damaged pieces again from the agents' logs.
//!
//! A stream with a damaged block begins a new generation: its log is read again, and events that lay in the damaged stream are moved to
//! where they are found now. Nothing sound is removed before that, and what the log does not have any more stays as it is. A session
//! whose rows are damaged is stored anew as a whole.

use backstory_event::{SessionId, StreamId};
use std::collections::HashSet;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::checksums::{Damage, DamagedPiece};
use crate::error::Result;
use crate::evict;
use crate::ingest::TitleRank;
use crate::open::Store;
use crate::schema::Lifetime;

/// A stream or session that is to be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rereading {
    /// A stream with a damaged block.
    Stream(StreamId),
    /// A session with damaged rows.
    Session(SessionId),
}

impl Store {
    /// Remembers damage, so that the next sweep reads it again from the agents' logs.
    pub fn note_damage(&self, damage: &[Damage]) -> Result<()> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        for damage in damage {
            let (stream, session) = match &damage.piece {
                DamagedPiece::Bytes { stream, .. } => (*stream, SessionId::default()),
                DamagedPiece::Session { id, .. } => (StreamId::default(), *id),
                _ => continue,
            };
            let insert = "INSERT OR IGNORE INTO damaged (stream, session) VALUES (?1, ?2)";
            transaction
                .prepare_cached(insert)?
                .execute((stream, session))?;
        }
        Ok(transaction.commit()?)
    }

    /// Noted damage that no sweep has tried to repair yet.
    pub fn noted_damage(&self) -> Result<Vec<Rereading>> {
        let query = "SELECT stream, session FROM damaged WHERE tried = 0";
        let mut statement = self.connection.prepare_cached(query)?;
        let rows = statement.query_map([], |row| {
            let stream: StreamId = row.get(0)?;
            Ok(match stream == StreamId::default() {
                true => Rereading::Session(row.get(1)?),
                false => Rereading::Stream(stream),
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The source files that a stream or session was read from.
    pub fn damaged_paths(&self, piece: Rereading) -> Result<Vec<String>> {
        match piece {
            Rereading::Session(session) => self.session_paths(session),
            Rereading::Stream(stream) => {
                let query = "SELECT path FROM streams JOIN source_files ON source_files.id = source WHERE streams.id = ?1";
                let mut statement = self.connection.prepare_cached(query)?;
                let rows = statement.query_map([stream], |row| row.get(0))?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            }
        }
    }

    /// Whether noted damage is still there.
    pub fn is_still_damaged(&self, piece: Rereading) -> Result<bool> {
        Ok(match piece {
            Rereading::Stream(stream) => !self.stream_damage(stream)?.is_empty(),
            Rereading::Session(session) => !self.session_damage(session)?.is_empty(),
        })
    }

    /// Forgets that something was damaged.
    pub fn clear_damage(&self, piece: Rereading) -> Result<()> {
        let (stream, session) = match piece {
            Rereading::Stream(stream) => (stream, SessionId::default()),
            Rereading::Session(session) => (StreamId::default(), session),
        };
        let delete = "DELETE FROM damaged WHERE stream = ?1 AND session = ?2";
        self.connection.execute(delete, (stream, session))?;
        Ok(())
    }

    /// Has the log of a damaged stream read again from its beginning.
    pub fn reread_stream(&self, stream: StreamId) -> Result<()> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        transaction.execute(
            "UPDATE source_files SET device = 0, inode = 0, size = 0, modified_ns = 0, head_length = 0, head_hash = zeroblob(32) \
             WHERE id = (SELECT source FROM streams WHERE id = ?1)",
            [stream],
        )?;
        transaction.execute("UPDATE damaged SET tried = 1 WHERE stream = ?1", [stream])?;
        Ok(transaction.commit()?)
    }

    /// Removes the rows of a session and has its logs read again from their beginning. The caller has seen that they are there.
    pub fn reread_session(&self, session: SessionId) -> Result<()> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        evict::remove_rows(&transaction, session, Lifetime::Repair)?;
        // Whatever the logs tell of the session is learned again.
        transaction.execute(
            "UPDATE sessions SET evicted = 0, evicted_at = NULL, events = 0, turns = 0, title = NULL, title_rank = ?2, parent = NULL, \
             parent_kind = NULL, parent_seq = NULL, project = NULL, cwd = NULL, branch = NULL, started_at = NULL, ended_at = NULL, \
             machine = 0, compressed = 0, agent_version = NULL, permission_mode = NULL, context_window = NULL WHERE id = ?1",
            (session, TitleRank::Nowhere),
        )?;
        transaction.execute("DELETE FROM damaged WHERE session = ?1", [session])?;
        Ok(transaction.commit()?)
    }

    /// Removes damaged streams that no event lies in any more, once their logs were read again.
    pub fn finish_rereading(&self) -> Result<()> {
        let query = "SELECT stream FROM damaged WHERE tried = 1 AND NOT EXISTS (SELECT 1 FROM session_streams JOIN events \
             ON events.session = session_streams.session AND events.stream = damaged.stream WHERE session_streams.stream = damaged.stream)";
        let streams: Vec<StreamId> = {
            let mut statement = self.connection.prepare_cached(query)?;
            let rows = statement.query_map([], |row| row.get(0))?;
            rows.collect::<rusqlite::Result<_>>()?
        };
        if streams.is_empty() {
            return Ok(());
        }
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        for stream in streams {
            // The newest generation of a file is the one that its cursor stands in, so it stays.
            let newest = "SELECT EXISTS (SELECT 1 FROM source_files WHERE stream = ?1)";
            if transaction.query_row(newest, [stream], |row| row.get(0))? {
                continue;
            }
            for table in [
                "blocks",
                "session_streams",
                "skipped_records",
                "telemetry",
                "block_lines",
                "backfill",
                "damaged",
            ] {
                let delete = format!("DELETE FROM {table} WHERE stream = ?1");
                transaction.execute(&delete, [stream])?;
            }
            transaction.execute("UPDATE streams SET length = 0 WHERE id = ?1", [stream])?;
        }
        Ok(transaction.commit()?)
    }
}

/// The streams that are being read again.
pub(crate) fn damaged_streams(connection: &Connection) -> Result<HashSet<StreamId>> {
    let query = "SELECT stream FROM damaged WHERE tried = 1 AND stream > 0";
    let mut statement = connection.prepare_cached(query)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
