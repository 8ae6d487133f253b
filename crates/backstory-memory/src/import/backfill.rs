//! Backfill: what an older version did not store is read again from the stored bytes, some of it in each sweep.

use std::path::Path;

use backstory_agents::{LogAgent, Reader, Shape, SourceName, read_document, read_lines};
use backstory_event::Output;
use backstory_store::{BackfillCursor, Store};

use crate::Memory;
use crate::error::Result;
use crate::read::unless_damaged;

/// Stored bytes that are read again in one sweep, at most about so many.
const MAX_SWEEP_BYTES: u64 = 256 << 20;

/// Stored bytes that are read again in one transaction, unless a record or document is longer.
const PIECE_BYTES: u64 = 4 << 20;

impl Memory {
    /// Completes what older versions stored, up to a limit. Safe to stop at any moment: the next sweep goes on. Returns the number of
    /// stored bytes that are still to be read again.
    pub(crate) fn backfill(&mut self) -> Result<u64> {
        let mut bytes = 0;
        while bytes < MAX_SWEEP_BYTES
            && let Some(cursor) = self.store.next_backfill()?
        {
            bytes += backfill_piece(&mut self.store, &cursor)?.max(1);
        }
        self.store.backfill_bytes_left().map_err(Into::into)
    }
}

/// Reads the next piece of a stream again; returns its length.
fn backfill_piece(store: &mut Store, cursor: &BackfillCursor) -> Result<u64> {
    let log_agent = LogAgent::find(&cursor.agent);
    let path = Path::new(&cursor.path);
    let mut output = Output::default();
    let mut state = String::new();
    let mut piece = Vec::new();
    if let Some(LogAgent { reader, .. }) = log_agent {
        let shape = find_shape(store, reader, cursor)?;
        piece = read_piece(store, cursor, shape)?;
        let mut reading = reader.begin(&SourceName { path }, cursor.state.as_deref());
        match shape {
            Shape::Document => read_document(&mut *reading, &piece, &mut output),
            Shape::Lines => {
                let (offset, line) = (cursor.offset, cursor.lines + 1);
                read_lines(&mut *reading, &piece, offset, line, &mut output);
            }
        }
        state = reading.state();
    }
    let agent = log_agent.map_or("", |log_agent| log_agent.agent.name);
    let mut batch = store.batch()?;
    batch.backfill(cursor, agent, &piece, output, &state)?;
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

/// Reads whole lines from the cursor on, or the whole document. Nothing at all when a block is damaged: repair reads the log anew.
fn read_piece(store: &Store, cursor: &BackfillCursor, shape: Shape) -> Result<Vec<u8>> {
    let left = cursor.length - cursor.offset;
    let mut wanted = match shape {
        Shape::Document => left,
        Shape::Lines => left.min(PIECE_BYTES),
    };
    let mut bytes = store.bytes();
    loop {
        let read = bytes.read(cursor.stream, cursor.offset, wanted);
        let mut piece = unless_damaged(store, read)?;
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
