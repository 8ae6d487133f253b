//! Completing what an older version stored: streams are read again from their stored bytes, a piece in each transaction.
//!
//! Nothing is added that was not stored before but details: of responses, of sessions, places of telemetry, numbers of lines. So a
//! stream can be read again any number of times, and a process that is killed goes on where the last transaction ended. Blocks that
//! are damaged or evicted are passed over.

use std::collections::HashMap;
use std::sync::Arc;

use backstory_event::{Output, Seq, SessionFacts, SessionId, StreamId, TelemetryRecord};
use rusqlite::{OptionalExtension, Row, ToSql};

use crate::blocks;
use crate::error::{Error, Result};
use crate::ingest::Batch;
use crate::meta;
use crate::open::Store;

/// Version of what readers put out that is stored. Raised when they put out more, so that older streams are read again.
pub(crate) const READ_VERSION: i64 = 2;

/// A stream that an older version read, and how far it has been read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackfillCursor {
    /// The stream.
    pub stream: StreamId,
    /// The agent that wrote the source file.
    pub agent: String,
    /// The source file.
    pub path: String,
    /// Number of stored bytes.
    pub length: u64,
    /// Number of bytes read again.
    pub offset: u64,
    /// Number of newlines in them; `None` when blocks were passed over.
    pub lines: Option<u64>,
    /// What the reader must remember; `None` at the beginning.
    pub state: Option<String>,
}

/// Stands for a number of lines that is not known.
const UNKNOWN_LINES: i64 = -1;

impl Store {
    /// Returns a stream that an older version read; `None` when there is none.
    pub fn next_backfill(&self) -> Result<Option<BackfillCursor>> {
        self.find_backfill("true ORDER BY streams.id LIMIT 1", &[&READ_VERSION])
    }

    /// Returns a stream if an older version read it.
    pub fn backfill_of_stream(&self, stream: StreamId) -> Result<Option<BackfillCursor>> {
        self.find_backfill("streams.id = ?2", &[&READ_VERSION, &stream])
    }

    fn find_backfill(
        &self,
        condition: &str,
        parameters: &[&dyn ToSql],
    ) -> Result<Option<BackfillCursor>> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT streams.id, agent, path, length, COALESCE(backfill.offset, 0), COALESCE(backfill.lines, 0), backfill.state \
             FROM streams JOIN source_files ON source_files.id = streams.source LEFT JOIN backfill ON backfill.stream = streams.id \
             WHERE read_version < ?1 AND length > 0 AND {condition}"
        ))?;
        let row = |row: &Row<'_>| {
            let lines: i64 = row.get(5)?;
            Ok(BackfillCursor {
                stream: row.get(0)?,
                agent: row.get(1)?,
                path: row.get(2)?,
                length: row.get(3)?,
                offset: row.get(4)?,
                lines: u64::try_from(lines).ok(),
                state: row.get(6)?,
            })
        };
        Ok(statement.query_row(parameters, row).optional()?)
    }

    /// Reads stored bytes from a cursor on: so many, or those before the end of the stream or before a block that is missing or damaged.
    /// Damage is named by [`Store::take_damage`].
    pub fn read_backfill(&self, cursor: &BackfillCursor, length: u64) -> Result<Vec<u8>> {
        let mut reader = self.bytes();
        let end = cursor.offset.saturating_add(length);
        let mut bytes = Vec::new();
        for (_, start, block_length) in blocks::of_stream(&self.connection, cursor.stream)? {
            let at = cursor.offset + bytes.len() as u64;
            let block_end = start.saturating_add(block_length);
            if block_end <= at {
                continue;
            }
            if start > at || at >= end {
                break;
            }
            match reader.read(cursor.stream, at, block_end.min(end) - at) {
                Ok(read) => bytes.extend(read),
                Err(Error::DamagedPiece(damage)) => {
                    self.meet_damage([*damage]);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(bytes)
    }

    /// Returns the sessions that have events in a stream: row, agent, and up to which event they are evicted.
    pub fn sessions_with_events_in(
        &self,
        stream: StreamId,
    ) -> Result<Vec<(SessionId, String, Seq)>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, agent, evicted FROM session_streams AS link JOIN sessions ON sessions.id = link.session \
             WHERE link.stream = ?1 AND EXISTS (SELECT 1 FROM events WHERE events.session = id AND events.stream = ?1) ORDER BY id",
        )?;
        let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let rows = statement.query_map([stream], row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the number of stored bytes that are to be read again.
    pub fn backfill_bytes_left(&self) -> Result<u64> {
        let query = "SELECT COALESCE(SUM(length - COALESCE(backfill.offset, 0)), 0) FROM streams \
             LEFT JOIN backfill ON backfill.stream = streams.id WHERE read_version < ?1";
        let mut statement = self.connection.prepare_cached(query)?;
        let left: i64 = statement.query_row([READ_VERSION], |row| row.get(0))?;
        Ok(left.max(0) as u64)
    }
}

impl Batch<'_> {
    /// Completes what is stored of a piece of a stream that was read again, and moves its cursor behind the piece, or to the next block if
    /// there was nothing to read. `state` is what the reader must remember then.
    pub fn backfill(
        &mut self,
        cursor: &BackfillCursor,
        agent: &'static str,
        piece: &[u8],
        mut output: Output,
        mut state: String,
    ) -> Result<()> {
        let file = (agent, cursor.path.as_str());
        self.unkept.forget(&self.transaction, file, &mut output)?;
        self.unkept
            .forget_state(&self.transaction, file, &mut state)?;
        if cursor.lines.is_none() {
            // The agent's own record of a session is its first one, and not the first behind a gap.
            for facts in &mut output.facts {
                facts.meta = None;
            }
        }
        let mut superseded = HashMap::new();
        for facts in &output.facts {
            self.complete_session(agent, facts, cursor.stream, &mut superseded)?;
        }
        // Texts are whole already.
        let extensions = output.extensions.iter();
        for extension in extensions.filter(|more| !more.is_of_content()) {
            self.extend(extension, cursor.stream)?;
        }
        for response in &output.responses {
            if let Some(replay) = response.replay
                && self
                    .tally
                    .is_copy(&self.transaction, response.key, replay)?
            {
                continue;
            }
            if self.tally.is_known(&self.transaction, response.key)? {
                // Behind a gap, the reader does not know what went before.
                let replaces_requests = cursor.lines.is_some()
                    && !self.is_superseded(
                        agent,
                        &response.session,
                        cursor.stream,
                        &mut superseded,
                    )?;
                self.take_response(agent, response, replaces_requests)?;
            }
        }
        for record in &output.telemetry {
            if self.is_session(agent, &record.session)? && !self.is_evicted(agent, record)? {
                self.take_telemetry(agent, record, cursor.stream)?;
            }
        }
        let (end, lines) = match piece.is_empty() {
            true => (self.next_block(cursor)?, None),
            false => {
                let newlines = memchr::memchr_iter(b'\n', piece).count() as u64;
                let lines = cursor.lines.map(|lines| lines + newlines);
                (cursor.offset + piece.len() as u64, lines)
            }
        };
        if let Some(lines) = cursor.lines {
            self.save_lines(cursor, lines, piece)?;
        }
        if end >= cursor.length {
            return self.end_backfill(cursor, lines.map(|_| state.as_str()));
        }
        let lines = lines.map_or(UNKNOWN_LINES, |lines| lines as i64);
        self.transaction
            .prepare_cached("INSERT OR REPLACE INTO backfill (stream, offset, lines, state) VALUES (?1, ?2, ?3, ?4)")?
            .execute((cursor.stream, end, lines, state))?;
        Ok(())
    }

    /// Takes note that a stream needs no reading again, whatever is left of it. `state` is what the reader remembers at its end, if all of it
    /// was read: what the log gains is read on from there, for the older version did not remember everything.
    pub fn end_backfill(&mut self, cursor: &BackfillCursor, state: Option<&str>) -> Result<()> {
        self.transaction
            .prepare_cached("UPDATE streams SET read_version = ?2 WHERE id = ?1")?
            .execute((cursor.stream, READ_VERSION))?;
        self.transaction
            .prepare_cached("DELETE FROM backfill WHERE stream = ?1")?
            .execute([cursor.stream])?;
        // Of sessions that were evicted the reader saw more than is stored.
        let update = "UPDATE source_files SET state = ?2 WHERE stream = ?1 AND NOT EXISTS (SELECT 1 FROM session_streams AS link \
             JOIN sessions ON sessions.id = link.session WHERE link.stream = ?1 AND evicted > 0)";
        if let Some(state) = state {
            self.transaction
                .prepare_cached(update)?
                .execute((cursor.stream, state))?;
        }
        Ok(())
    }

    /// Completes what is known of a session. Where a stream that was begun later is complete, it counts, and only what it does not say is
    /// added; `superseded` remembers of which sessions that is so.
    fn complete_session(
        &mut self,
        agent: &'static str,
        facts: &SessionFacts,
        stream: StreamId,
        superseded: &mut HashMap<SessionId, bool>,
    ) -> Result<()> {
        let Some(name) = &facts.session else {
            return Ok(());
        };
        if !self.is_session(agent, name)? {
            return Ok(());
        }
        let is_superseded = self.is_superseded(agent, name, stream, superseded)?;
        let session = self.session(agent, name)?;
        session.changed = true;
        let id = session.id;
        if !is_superseded {
            session.learn_details(facts);
            if facts.branch.is_some() {
                session.branch.clone_from(&facts.branch);
            }
            return self.save_meta(id, facts, stream);
        }
        session.add_details(facts);
        match meta::exists(&self.transaction, id)? {
            true => Ok(()),
            false => self.save_meta(id, facts, stream),
        }
    }

    /// Returns whether a stream that was begun later counts for a session, which `superseded` remembers.
    fn is_superseded(
        &mut self,
        agent: &'static str,
        name: &Arc<str>,
        stream: StreamId,
        superseded: &mut HashMap<SessionId, bool>,
    ) -> Result<bool> {
        let id = self.session(agent, name)?.id;
        if let Some(known) = superseded.get(&id) {
            return Ok(*known);
        }
        let known = self.has_later_stream(id, stream)?;
        superseded.insert(id, known);
        Ok(known)
    }

    /// Returns whether a session has events in a stream that was begun after another one, and that this version read.
    fn has_later_stream(&self, session: SessionId, stream: StreamId) -> Result<bool> {
        let query = "SELECT EXISTS (SELECT 1 FROM session_streams AS link JOIN streams ON streams.id = link.stream \
             WHERE link.session = ?1 AND streams.id > ?2 AND read_version >= ?3 \
             AND EXISTS (SELECT 1 FROM events WHERE events.session = ?1 AND events.stream = streams.id))";
        let mut statement = self.transaction.prepare_cached(query)?;
        Ok(statement.query_row((session, stream, READ_VERSION), |row| row.get(0))?)
    }

    /// Returns the first byte of the next block, or the length of the stream.
    fn next_block(&self, cursor: &BackfillCursor) -> Result<u64> {
        let blocks = blocks::of_stream(&self.transaction, cursor.stream)?;
        let mut starts = blocks.into_iter().map(|(_, start, _)| start);
        let next = starts.find(|start| *start > cursor.offset);
        Ok(next.unwrap_or(cursor.length))
    }

    fn is_session(&self, agent: &str, name: &str) -> Result<bool> {
        let query = "SELECT EXISTS (SELECT 1 FROM sessions WHERE agent = ?1 AND session = ?2)";
        let mut statement = self.transaction.prepare_cached(query)?;
        Ok(statement.query_row((agent, name), |row| row.get(0))?)
    }

    /// Returns whether a telemetry record follows an event that was evicted, as the records before it were.
    fn is_evicted(&mut self, agent: &'static str, record: &TelemetryRecord) -> Result<bool> {
        let before = match record.after {
            Some(event) => self.find(event)?,
            None => None,
        };
        let session = self.session(agent, &record.session)?.id;
        let seq = before.map_or(Seq::ZERO, |(_, seq)| seq);
        self.unkept.is_evicted(&self.transaction, session, seq)
    }

    /// Stores the numbers of the lines in which the blocks of a piece begin.
    fn save_lines(&self, cursor: &BackfillCursor, lines: u64, piece: &[u8]) -> Result<()> {
        let mut counted = (0, lines);
        for (_, start, _) in blocks::of_stream(&self.transaction, cursor.stream)? {
            let Some(before) = start
                .checked_sub(cursor.offset)
                .and_then(|before| piece.get(counted.0..before as usize))
            else {
                continue;
            };
            counted = (
                counted.0 + before.len(),
                counted.1 + memchr::memchr_iter(b'\n', before).count() as u64,
            );
            blocks::save_line(&self.transaction, cursor.stream, start, counted.1)?;
        }
        Ok(())
    }
}
