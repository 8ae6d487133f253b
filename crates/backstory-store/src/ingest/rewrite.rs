//! Stored bytes that a later chunk showed to be part of a secret.

use rusqlite::Connection;

use super::Batch;
use crate::blocks::{self, BlockReader};
use crate::error::Result;
use crate::forget::mark_unclean;
use crate::index;

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
    pub(super) fn rewrite(&mut self, stream: i64, rewrites: &[Rewrite]) -> Result<()> {
        let Some(first) = rewrites.iter().map(|rewrite| rewrite.offset).min() else {
            return Ok(());
        };
        let end = rewrites.iter().map(Rewrite::end).max().unwrap_or(first);
        overwrite_blocks(&self.transaction, stream, rewrites, (first, end))?;
        // What was never committed is nowhere else.
        if self
            .first_offsets
            .get(&stream)
            .is_none_or(|own| first < *own)
        {
            mark_unclean(&self.transaction)?;
        }
        let changed: Vec<(i64, u64, bool)> = {
            let mut statement = self.transaction.prepare_cached(
                "SELECT session, seq, kind = 0 FROM events WHERE stream = ?1 AND offset < ?3 AND offset + length > ?2 \
                 AND session IN (SELECT session FROM session_streams WHERE stream = ?1)",
            )?;
            let rows = statement.query_map((stream, first, end), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
            rows.collect::<rusqlite::Result<_>>()?
        };
        for (session, seq, is_prompt) in changed {
            if is_prompt {
                self.drop_prompt_title(session)?;
            }
            self.mark_text_changed(session, seq)?;
        }
        Ok(())
    }

    /// Takes note that the text of a stored event is not what it was.
    pub(super) fn mark_text_changed(&mut self, session: i64, seq: u64) -> Result<()> {
        self.taken.extended.insert(session);
        self.transaction
            .prepare_cached(
                "UPDATE digests SET events = ?2 - 1 WHERE session = ?1 AND events >= ?2",
            )?
            .execute((session, seq))?;
        self.transaction
            .prepare_cached("UPDATE sessions SET coded = ?2 - 1 WHERE id = ?1 AND coded >= ?2")?
            .execute((session, seq))?;
        index::mark_changed(&self.transaction, session, seq)
    }

    /// Takes a title away that is the beginning of a prompt. The digest gives the session another one.
    fn drop_prompt_title(&mut self, session: i64) -> Result<()> {
        if let Some(loaded) = self.sessions.values_mut().find(|known| known.id == session)
            && loaded.title_rank <= 1
        {
            (loaded.title, loaded.title_rank) = (None, 0);
            loaded.changed = true;
        }
        self.transaction
            .prepare_cached(
                "UPDATE sessions SET title = NULL, title_rank = 0 WHERE id = ?1 AND title_rank <= 1",
            )?
            .execute([session])?;
        Ok(())
    }
}

fn overwrite_blocks(
    connection: &Connection,
    stream: i64,
    rewrites: &[Rewrite],
    (first, end): (u64, u64),
) -> Result<()> {
    let mut reader = BlockReader::new(connection);
    for (block, start, length) in blocks::of_stream(connection, stream)? {
        if start >= end || start + length <= first {
            continue;
        }
        let mut bytes = reader.read(stream, start, length)?;
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
                place.copy_from_slice(other);
            }
        }
        blocks::replace(connection, block, &bytes)?;
    }
    Ok(())
}
