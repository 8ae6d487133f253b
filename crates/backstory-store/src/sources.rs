//! Source files, how far each has been read, and what could not be.

use std::collections::HashMap;

use backstory_event::{SessionName, StreamId};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior};
use serde::{Deserialize, Serialize};

use crate::backfill::READ_VERSION;
use crate::error::Result;
use crate::forget::mark_unclean;
use crate::open::Store;
use crate::settings::keep;

/// The setting that says which rules the stored paths were last searched with.
const REDACTED_BY: &str = "paths-redacted-by";

/// What tells whether a file is still the one that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fingerprint {
    /// The device that it lies on.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written, in nanoseconds.
    pub modified_ns: i64,
    /// When its inode changed last, in nanoseconds: writing changes it too, and no program can set it back. 0 when not known.
    pub changed_ns: i64,
}

impl Fingerprint {
    /// Returns whether a file that looks like this now is as it was when it was read.
    pub fn is_unchanged(&self, now: &Fingerprint) -> bool {
        self.device == now.device && self.size == now.size && self.has_same_times(now)
    }

    /// Returns whether it is the same inode, written and changed at the same times.
    pub fn has_same_times(&self, now: &Fingerprint) -> bool {
        self.inode == now.inode
            && self.modified_ns == now.modified_ns
            && (self.changed_ns == now.changed_ns || self.changed_ns == 0)
    }
}

/// Hash of the beginning of a source file.
pub type ContentHash = [u8; 16];

/// How far a source file has been read.
#[derive(Debug, Clone, PartialEq)]
pub struct Cursor {
    /// The file's row.
    pub source: i64,
    /// The agent that wrote it.
    pub agent: String,
    /// The file as it was when it was read.
    pub fingerprint: Fingerprint,
    /// Length and hash of its beginning.
    pub head: (u64, [u8; 32]),
    /// Length and hash of what lies just before the cursor.
    pub tail: (u64, [u8; 32]),
    /// Bytes of the file that have been read.
    pub offset: u64,
    /// Hash of those bytes; `None` when an older version read them.
    pub content_hash: Option<ContentHash>,
    /// Newlines in them.
    pub lines: u64,
    /// What the reader must remember.
    pub state: String,
    /// The stream that holds its stored bytes.
    pub stream: StreamId,
    /// How many bytes that stream holds.
    pub stored: u64,
}

/// A record that could not be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SkippedRow {
    /// The source file.
    pub path: String,
    /// The line in it, from 1.
    pub line: u64,
    /// The first byte in the stored bytes.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
    /// Why.
    pub reason: String,
}

const COLUMNS: &str = "source_files.id, agent, device, inode, size, modified_ns, head_length, head_hash, tail_length, tail_hash, \
     offset, lines, state, stream, streams.length, changed_ns, content_hash";

impl Store {
    /// The fingerprints of all source files by path: all that is needed to see that nothing changed.
    pub fn fingerprints(&self) -> Result<HashMap<String, Fingerprint>> {
        let mut statement = self.connection.prepare(
            "SELECT path, device, inode, size, modified_ns, changed_ns FROM source_files",
        )?;
        let rows = statement.query_map([], |row| {
            let fingerprint = Fingerprint {
                device: row.get::<_, i64>(1)? as u64,
                inode: row.get::<_, i64>(2)? as u64,
                size: row.get(3)?,
                modified_ns: row.get(4)?,
                changed_ns: row.get(5)?,
            };
            Ok((row.get(0)?, fingerprint))
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// All source files by path, each with whether all text that was read of it is still stored: text of evicted sessions is not.
    pub fn sources_with_text(&self) -> Result<HashMap<String, bool>> {
        let mut statement = self.connection.prepare(
            "SELECT path, streams.length <= (SELECT COALESCE(SUM(length), 0) FROM blocks WHERE stream = streams.id) \
             FROM source_files JOIN streams ON streams.id = source_files.stream",
        )?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the agent and the id of the session that a hook named this log for, the newest one of those in the queue.
    pub fn session_of_named_log(&self, path: &str) -> Result<Option<SessionName>> {
        let query = "SELECT agent, session FROM sessions WHERE transcript = ?1 AND id IN (SELECT session FROM queue) \
             ORDER BY captured_at DESC LIMIT 1";
        let mut statement = self.connection.prepare_cached(query)?;
        let name = |row: &Row<'_>| {
            let (agent, id): (String, String) = (row.get(0)?, row.get(1)?);
            Ok(SessionName::new(agent, id))
        };
        Ok(statement.query_row([path], name).optional()?)
    }

    /// Where reading of a file stopped.
    pub fn cursor(&self, path: &str) -> Result<Option<Cursor>> {
        let query = format!(
            "SELECT {COLUMNS} FROM source_files JOIN streams ON streams.id = source_files.stream WHERE path = ?1"
        );
        Ok(self
            .connection
            .prepare_cached(&query)?
            .query_row([path], cursor_from_row)
            .optional()?)
    }

    /// Source files that an older version read, without a hash of what it read, and how far each was read.
    pub fn sources_without_hash(&self) -> Result<HashMap<String, u64>> {
        let query = "SELECT path, offset FROM source_files WHERE content_hash IS NULL";
        let mut statement = self.connection.prepare_cached(query)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Stores the hash of what was read of a source file, which still looks as it did then.
    pub fn save_content_hash(
        &self,
        path: &str,
        hash: &ContentHash,
        fingerprint: &Fingerprint,
    ) -> Result<()> {
        self.connection
            .prepare_cached(
                "UPDATE source_files SET content_hash = ?2, changed_ns = ?3 WHERE path = ?1",
            )?
            .execute((path, hash, fingerprint.changed_ns))?;
        Ok(())
    }

    /// Every record that could not be read, newest files first.
    pub fn skipped(&self, limit: usize) -> Result<Vec<SkippedRow>> {
        let limit = if limit == 0 { -1 } else { limit as i64 };
        let mut statement = self.connection.prepare(
            "SELECT path, line, skipped_records.offset, skipped_records.length, reason FROM skipped_records \
             JOIN streams ON streams.id = skipped_records.stream JOIN source_files ON source_files.id = streams.source \
             ORDER BY source_files.modified_ns DESC, path, line LIMIT ?1",
        )?;
        let rows = statement.query_map([limit], |row| {
            Ok(SkippedRow {
                path: row.get(0)?,
                line: row.get(1)?,
                offset: row.get(2)?,
                length: row.get(3)?,
                reason: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Calls `redact` with every path that is stored, and with names made of paths, unless that was done before by the same `rules`;
    /// what it returns is stored instead. What was there before is left in free pages then, see [`Store::is_unclean`].
    pub fn redact_paths(
        &self,
        rules: &[u8],
        redact: impl Fn(&str) -> Option<String>,
    ) -> Result<()> {
        const COLUMNS: [(&str, &str); 8] = [
            ("source_files", "path"),
            ("projects", "root"),
            ("projects", "remote"),
            ("sessions", "session"),
            ("sessions", "parent"),
            ("sessions", "cwd"),
            ("sessions", "transcript"),
            ("code_files", "name"),
        ];
        if self.kept(REDACTED_BY)?.is_some_and(|known| known == rules) {
            return Ok(());
        }
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        for (table, column) in COLUMNS {
            let query = format!("SELECT id, {column} FROM {table} WHERE {column} IS NOT NULL");
            let mut statement = transaction.prepare(&query)?;
            let mut rows = statement.query([])?;
            let mut changed: Vec<(i64, String)> = Vec::new();
            while let Some(row) = rows.next()? {
                let redacted = redact(row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?);
                if let Some(redacted) = redacted {
                    changed.push((row.get(0)?, redacted));
                }
            }
            // Another row already has the redacted path: add the row id to keep it unique.
            let update = format!("UPDATE OR IGNORE {table} SET {column} = ?2 WHERE id = ?1");
            for (id, text) in changed {
                if transaction.execute(&update, (id, &text))? == 0 {
                    transaction.execute(&update, (id, format!("{text}~{id}")))?;
                }
                mark_unclean(&transaction)?;
            }
        }
        keep(&transaction, REDACTED_BY, rules)?;
        Ok(transaction.commit()?)
    }

    /// Paths of all source files with their agents.
    pub fn source_paths(&self) -> Result<Vec<(String, String)>> {
        let mut statement = self
            .connection
            .prepare("SELECT agent, path FROM source_files ORDER BY path")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

fn cursor_from_row(row: &Row<'_>) -> rusqlite::Result<Cursor> {
    Ok(Cursor {
        source: row.get(0)?,
        agent: row.get(1)?,
        fingerprint: Fingerprint {
            device: row.get::<_, i64>(2)? as u64,
            inode: row.get::<_, i64>(3)? as u64,
            size: row.get(4)?,
            modified_ns: row.get(5)?,
            changed_ns: row.get(15)?,
        },
        content_hash: row.get(16)?,
        head: (row.get(6)?, row.get(7)?),
        tail: (row.get(8)?, row.get(9)?),
        offset: row.get(10)?,
        lines: row.get(11)?,
        state: row.get(12)?,
        stream: row.get(13)?,
        stored: row.get(14)?,
    })
}

/// Writes a cursor; `cursor.source` and `cursor.stream` are rows that exist.
pub(crate) fn save(connection: &Connection, cursor: &Cursor) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE source_files SET device = ?2, inode = ?3, size = ?4, modified_ns = ?5, head_length = ?6, head_hash = ?7, \
             tail_length = ?8, tail_hash = ?9, offset = ?10, lines = ?11, state = ?12, stream = ?13, changed_ns = ?14, \
             content_hash = ?15 WHERE id = ?1",
        )?
        .execute((
            cursor.source,
            cursor.fingerprint.device as i64,
            cursor.fingerprint.inode as i64,
            cursor.fingerprint.size,
            cursor.fingerprint.modified_ns,
            cursor.head.0,
            cursor.head.1,
            cursor.tail.0,
            cursor.tail.1,
            cursor.offset,
            cursor.lines,
            &cursor.state,
            cursor.stream,
            cursor.fingerprint.changed_ns,
            cursor.content_hash,
        ))?;
    connection
        .prepare_cached("UPDATE streams SET length = ?2 WHERE id = ?1")?
        .execute((cursor.stream, cursor.stored))?;
    Ok(())
}

/// Begins to keep a file, or a new generation of one; returns its row and its new stream. Older generations are kept, for
/// events lie in them, except of files that hold none (`only_newest`): those just describe a session as it is now.
pub(crate) fn begin(
    connection: &Connection,
    agent: &str,
    path: &str,
    only_newest: bool,
) -> Result<(i64, StreamId)> {
    connection
        .prepare_cached(
            "INSERT INTO source_files (agent, path, device, inode, size, modified_ns, head_length, head_hash, tail_length, \
             tail_hash, offset, lines, state, stream) VALUES (?1, ?2, 0, 0, 0, 0, 0, x'', 0, x'', 0, 0, '', 0) \
             ON CONFLICT (path) DO UPDATE SET agent = excluded.agent",
        )?
        .execute((agent, path))?;
    let source: i64 = connection
        .prepare_cached("SELECT id FROM source_files WHERE path = ?1")?
        .query_row([path], |row| row.get(0))?;
    connection
        .prepare_cached(
            "INSERT INTO streams (source, generation, read_version) SELECT ?1, COUNT(*), ?2 FROM streams WHERE source = ?1",
        )?
        .execute((source, READ_VERSION))?;
    let stream = StreamId::last_inserted(connection)?;
    if only_newest {
        for table in [
            "blocks",
            "session_streams",
            "skipped_records",
            "telemetry",
            "block_lines",
            "backfill",
        ] {
            let delete = format!(
                "DELETE FROM {table} WHERE stream IN (SELECT id FROM streams WHERE source = ?1 AND id != ?2)"
            );
            connection
                .prepare_cached(&delete)?
                .execute((source, stream))?;
        }
        connection
            .prepare_cached("UPDATE streams SET length = 0 WHERE source = ?1 AND id != ?2")?
            .execute((source, stream))?;
    }
    Ok((source, stream))
}
