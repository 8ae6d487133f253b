//! Stored bytes that a later chunk showed to be part of a secret.

use std::collections::{BTreeSet, HashSet};

use backstory_event::{Kind, Seq, SessionId, StreamId};
use rusqlite::Connection;

use super::{Batch, TitleRank};
use crate::blocks::{self, BlockReader};
use crate::error::{Error, Result};
use crate::forget::mark_unclean;
use crate::lag::mark_lag;

/// Number of consecutive bytes of a part of a secret that a text must have in common with it to be a quotation.
const MIN_QUOTED_BYTES: usize = 8;

/// Other bytes for a place in a stream, as many as are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// First byte in the stream.
    pub offset: u64,
    /// What is there from now on.
    pub bytes: Vec<u8>,
}

impl Rewrite {
    fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }
}

impl Batch<'_> {
    /// Overwrites stored bytes, and has everything made anew that was made of the events that lie there.
    pub(super) fn rewrite(&mut self, stream: StreamId, rewrites: &[Rewrite]) -> Result<()> {
        let Some(first) = rewrites.iter().map(|rewrite| rewrite.offset).min() else {
            return Ok(());
        };
        let end = rewrites.iter().map(Rewrite::end).max().unwrap_or(first);
        let overwritten = overwrite_blocks(&self.transaction, stream, rewrites, (first, end))?;
        // What was never committed is nowhere else.
        if self
            .first_offsets
            .get(&stream)
            .is_none_or(|own| first < *own)
        {
            mark_unclean(&self.transaction)?;
        }
        let changed: Vec<(SessionId, Seq, bool)> = {
            let mut statement = self.transaction.prepare_cached(
                "SELECT session, seq, kind = ?4 FROM events WHERE stream = ?1 AND offset < ?3 AND offset + length > ?2 \
                 AND session IN (SELECT session FROM session_streams WHERE stream = ?1)",
            )?;
            let rows = statement.query_map((stream, first, end, Kind::Prompt), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
            rows.collect::<rusqlite::Result<_>>()?
        };
        let sessions: BTreeSet<SessionId> = changed.iter().map(|(session, ..)| *session).collect();
        for session in sessions {
            self.drop_quoting_texts(session, &overwritten)?;
        }
        for (session, seq, is_prompt) in changed {
            if is_prompt {
                self.drop_prompt_title(session)?;
            }
            self.mark_text_changed(session, seq)?;
        }
        Ok(())
    }

    /// Deletes what models wrote of a session if it quotes bytes that were overwritten: a part of a secret. The built-in observations
    /// and digest take its place.
    fn drop_quoting_texts(&self, session: SessionId, overwritten: &[Vec<u8>]) -> Result<()> {
        for (query, delete) in [
            (
                "SELECT id, body FROM observations WHERE session = ?1",
                "DELETE FROM observations WHERE id = ?1",
            ),
            (
                "SELECT session, body FROM summaries WHERE session = ?1 AND body IS NOT NULL",
                "DELETE FROM summaries WHERE session = ?1",
            ),
            (
                "SELECT session, observations FROM kept_observations WHERE session = ?1",
                "DELETE FROM kept_observations WHERE session = ?1",
            ),
        ] {
            let mut statement = self.transaction.prepare_cached(query)?;
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let rows = statement.query_map([session], row)?;
            let rows: Vec<(i64, Vec<u8>)> = rows.collect::<rusqlite::Result<_>>()?;
            for (id, body) in rows {
                // What cannot be read cannot be cleared of it.
                let quotes = blocks::decompress(&body)
                    .map_or(true, |text| has_quotation(&text, overwritten));
                if quotes {
                    self.transaction.prepare_cached(delete)?.execute([id])?;
                }
            }
        }
        Ok(())
    }

    /// Takes note that the text of a stored event is not what it was.
    pub(super) fn mark_text_changed(&mut self, session: SessionId, seq: Seq) -> Result<()> {
        self.taken.extended.insert(session);
        mark_lag(&self.transaction, session, seq)
    }

    /// Takes a title away that is the beginning of a prompt. The digest gives the session another one.
    fn drop_prompt_title(&mut self, session: SessionId) -> Result<()> {
        if let Some(loaded) = self.sessions.values_mut().find(|known| known.id == session)
            && loaded.title_rank <= TitleRank::Prompt
        {
            (loaded.title, loaded.title_rank) = (None, TitleRank::Nowhere);
            loaded.changed = true;
        }
        self.transaction
            .prepare_cached(
                "UPDATE sessions SET title = NULL, title_rank = ?2 WHERE id = ?1 AND title_rank <= ?3",
            )?
            .execute((session, TitleRank::Nowhere, TitleRank::Prompt))?;
        Ok(())
    }
}

/// Returns whether a text has as many consecutive bytes of one of these as tell something about it.
fn has_quotation(text: &[u8], overwritten: &[Vec<u8>]) -> bool {
    overwritten.iter().any(|bytes| {
        let length = bytes.len().min(MIN_QUOTED_BYTES);
        // Of a secret that comes letter by letter, no single one can be recognized.
        if length < MIN_QUOTED_BYTES / 2 {
            return false;
        }
        let parts: HashSet<&[u8]> = bytes.windows(length).collect();
        text.windows(length).any(|part| parts.contains(part))
    })
}

/// Overwrites stored bytes and returns what was there: each piece, and all of them one behind the other.
fn overwrite_blocks(
    connection: &Connection,
    stream: StreamId,
    rewrites: &[Rewrite],
    (first, end): (u64, u64),
) -> Result<Vec<Vec<u8>>> {
    let mut overwritten = Vec::new();
    let mut reader = BlockReader::new(connection);
    for (block, start, length) in blocks::of_stream(connection, stream)? {
        if start >= end || start + length <= first {
            continue;
        }
        let mut bytes = match reader.read(stream, start, length) {
            // Nobody can read it; it is read again from the log, together with what completes the secret.
            Err(Error::DamagedPiece(_)) => continue,
            bytes => bytes?,
        };
        for rewrite in rewrites {
            let (from, to) = (rewrite.offset.max(start), rewrite.end().min(start + length));
            if from >= to {
                continue;
            }
            let other = rewrite
                .bytes
                .get((from - rewrite.offset) as usize..(to - rewrite.offset) as usize);
            let place = bytes.get_mut((from - start) as usize..(to - start) as usize);
            // What was evicted or forgotten meanwhile is blank and stays so.
            if let (Some(place), Some(other)) = (place, other)
                && place.iter().any(|byte| *byte != b' ')
            {
                overwritten.push(place.to_vec());
                place.copy_from_slice(other);
            }
        }
        blocks::replace(connection, block, &bytes)?;
    }
    // Who quotes it has put the pieces together.
    overwritten.push(overwritten.concat());
    Ok(overwritten)
}
