//! Backfill: what an older version did not store is read again from the stored bytes, some of it in each sweep.

use std::path::Path;

use backstory_agents::{LogAgent, Reader, Shape, SourceName, read_document, read_lines};
use backstory_event::{Output, StreamId};
use backstory_store::{BackfillCursor, Store};

use crate::Memory;
use crate::digest::renew_digest;
use crate::error::Result;
use crate::read::unless_damaged;

/// Stored bytes that are read again in one sweep, at most about so many.
const MAX_SWEEP_BYTES: u64 = 256 << 20;

/// Stored bytes that are read again in one transaction, unless a record or document is longer.
const PIECE_BYTES: u64 = 4 << 20;

impl Memory {
    /// Completes what older versions stored, up to a limit. Safe to stop at any moment: the next sweep goes on. Returns the number of
    /// stored bytes that are still to be read again.
    pub(crate) fn backfill(&self) -> Result<u64> {
        let mut bytes = 0;
        while bytes < MAX_SWEEP_BYTES
            && let Some(cursor) = self.store.next_backfill()?
        {
            bytes += backfill_piece(&self.store, &cursor)?.max(1);
        }
        self.store.backfill_bytes_left().map_err(Into::into)
    }

    /// Completes what an older version stored of one stream. Before its log is read on: the reader must remember there what it would
    /// remember if this version had read all of it. Returns whether there was anything to do.
    pub(crate) fn backfill_stream(&self, stream: StreamId) -> Result<bool> {
        let mut is_older = false;
        while let Some(cursor) = self.store.backfill_of_stream(stream)? {
            backfill_piece(&self.store, &cursor)?;
            is_older = true;
        }
        Ok(is_older)
    }
}

/// Reads the next piece of a stream again; returns its length.
fn backfill_piece(store: &Store, cursor: &BackfillCursor) -> Result<u64> {
    let Some(LogAgent { reader, agent }) = LogAgent::find(&cursor.agent) else {
        let mut batch = store.batch()?;
        batch.end_backfill(cursor, None)?;
        batch.commit()?;
        return Ok(0);
    };
    if cursor.offset == 0 {
        // Before the stream's first piece is stored: one who is stopped in between does it again.
        for (session, agent, evicted) in store.sessions_with_events_in(cursor.stream)? {
            renew_digest(store, session, &agent, evicted)?;
        }
    }
    let shape = find_shape(store, reader, cursor)?;
    let piece = read_piece(store, cursor, shape)?;
    let path = Path::new(&cursor.path);
    let mut output = Output::default();
    let mut reading = reader.begin(&SourceName { path }, cursor.state.as_deref());
    match shape {
        Shape::Document => read_document(&mut *reading, &piece, &mut output),
        Shape::Lines => {
            let (offset, line) = (cursor.offset, cursor.lines.unwrap_or(0) + 1);
            read_lines(&mut *reading, &piece, offset, line, &mut output);
        }
    }
    let state = reading.state();
    let mut batch = store.batch()?;
    batch.backfill(cursor, agent.name, &piece, output, state)?;
    batch.commit()?;
    Ok(piece.len() as u64)
}

fn find_shape(store: &Store, reader: &dyn Reader, cursor: &BackfillCursor) -> Result<Shape> {
    let path = Path::new(&cursor.path);
    if let Some(shape) = reader.named(path) {
        return Ok(shape);
    }
    let head = store.bytes().read_alone(cursor.stream, 0, 32 << 10);
    let head = unless_damaged(store, head)?;
    Ok(reader.recognises(path, &head).unwrap_or(Shape::Lines))
}

/// Reads whole lines from the cursor on, or the whole document, as far as the next block that is missing or damaged.
fn read_piece(store: &Store, cursor: &BackfillCursor, shape: Shape) -> Result<Vec<u8>> {
    let left = cursor.length.saturating_sub(cursor.offset);
    let mut wanted = match shape {
        Shape::Document => left,
        Shape::Lines => left.min(PIECE_BYTES),
    };
    loop {
        let mut piece = store.read_backfill(cursor, wanted)?;
        if wanted == left || (piece.len() as u64) < wanted {
            return Ok(piece);
        }
        if let Some(end) = memchr::memrchr(b'\n', &piece) {
            piece.truncate(end + 1);
            return Ok(piece);
        }
        wanted = left.min(wanted.saturating_mul(2));
    }
}
