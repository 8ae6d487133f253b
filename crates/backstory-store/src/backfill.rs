//! Completing what an older version stored: streams are read again from their stored bytes, a piece in each transaction.
//!
//! Nothing is added that was not stored before but details: of responses, of sessions, places of telemetry, numbers of lines. So a
//! stream can be read again any number of times, and a process that is killed goes on where the last transaction ended.

use backstory_event::{Output, SessionFacts, StreamId};
use rusqlite::{OptionalExtension, Row};

use crate::blocks;
use crate::error::Result;
use crate::ingest::Batch;
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
    /// Number of newlines in them.
    pub lines: u64,
    /// What the reader must remember; `None` at the beginning.
    pub state: Option<String>,
}

impl Store {
    /// Returns a stream that an older version read; `None` when there is none.
    pub fn next_backfill(&self) -> Result<Option<BackfillCursor>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT streams.id, agent, path, length, COALESCE(backfill.offset, 0), COALESCE(backfill.lines, 0), backfill.state \
             FROM streams JOIN source_files ON source_files.id = streams.source LEFT JOIN backfill ON backfill.stream = streams.id \
             WHERE read_version < ?1 AND length > 0 ORDER BY streams.id LIMIT 1",
        )?;
        let row = |row: &Row<'_>| {
            Ok(BackfillCursor {
                stream: row.get(0)?,
                agent: row.get(1)?,
                path: row.get(2)?,
                length: row.get(3)?,
                offset: row.get(4)?,
                lines: row.get(5)?,
                state: row.get(6)?,
            })
        };
        Ok(statement.query_row([READ_VERSION], row).optional()?)
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
    /// Completes what is stored of a piece of a stream that was read again, and moves its cursor behind the piece. `state` is what
    /// the reader must remember then; a piece without bytes ends the stream, whatever is left of it.
    pub fn backfill(
        &mut self,
        cursor: &BackfillCursor,
        agent: &'static str,
        piece: &[u8],
        mut output: Output,
        state: &str,
    ) -> Result<()> {
        self.unkept
            .forget(&self.transaction, (agent, &cursor.path), &mut output)?;
        for facts in &output.facts {
            self.complete_session(agent, facts, cursor.stream)?;
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
                self.take_response(agent, response)?;
            }
        }
        for record in &output.telemetry {
            if self.is_session(agent, &record.session)? {
                self.take_telemetry(agent, record, cursor.stream)?;
            }
        }
        self.save_lines(cursor, piece)?;
        let end = cursor.offset + piece.len() as u64;
        if piece.is_empty() || end >= cursor.length {
            self.transaction
                .prepare_cached("UPDATE streams SET read_version = ?2 WHERE id = ?1")?
                .execute((cursor.stream, READ_VERSION))?;
            self.transaction
                .prepare_cached("DELETE FROM backfill WHERE stream = ?1")?
                .execute([cursor.stream])?;
            return Ok(());
        }
        let lines = cursor.lines + memchr::memchr_iter(b'\n', piece).count() as u64;
        self.transaction
            .prepare_cached("INSERT OR REPLACE INTO backfill (stream, offset, lines, state) VALUES (?1, ?2, ?3, ?4)")?
            .execute((cursor.stream, end, lines, state))?;
        Ok(())
    }

    fn complete_session(
        &mut self,
        agent: &'static str,
        facts: &SessionFacts,
        stream: StreamId,
    ) -> Result<()> {
        let Some(name) = &facts.session else {
            return Ok(());
        };
        if !self.is_session(agent, name)? {
            return Ok(());
        }
        let session = self.session(agent, name)?;
        session.learn_details(facts);
        if facts.branch.is_some() {
            session.branch.clone_from(&facts.branch);
        }
        session.changed = true;
        let id = session.id;
        self.save_meta(id, facts, stream)
    }

    fn is_session(&self, agent: &str, name: &str) -> Result<bool> {
        let query = "SELECT EXISTS (SELECT 1 FROM sessions WHERE agent = ?1 AND session = ?2)";
        let mut statement = self.transaction.prepare_cached(query)?;
        Ok(statement.query_row((agent, name), |row| row.get(0))?)
    }

    /// Stores the numbers of the lines in which the blocks of a piece begin.
    fn save_lines(&self, cursor: &BackfillCursor, piece: &[u8]) -> Result<()> {
        let mut counted = (0, cursor.lines);
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
