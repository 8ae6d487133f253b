//! Line numbers of records in source files.

use backstory_event::StreamId;
use backstory_store::{BlockReader, Store};

use crate::error::Result;
use crate::read::unless_damaged;

/// Counts lines up to positions in streams; cheap when positions ascend, as those of events do.
pub(super) struct LineCounter<'s> {
    store: &'s Store,
    /// Stream, position, and newlines before it.
    counted: Option<(StreamId, u64, u64)>,
}

impl<'s> LineCounter<'s> {
    pub(super) fn new(store: &'s Store) -> Self {
        LineCounter {
            store,
            counted: None,
        }
    }

    /// Returns the number of the line, from 1, that a byte of a stream lies in; `None` while that is not known, or it lies in none.
    pub(super) fn line_of(
        &mut self,
        bytes: &mut BlockReader<'_>,
        stream: StreamId,
        offset: u64,
    ) -> Result<Option<u64>> {
        if stream == StreamId::default() {
            return Ok(None);
        }
        let is_before = |(known, at, _): &(StreamId, u64, u64)| *known == stream && *at <= offset;
        let (at, newlines) = match self.counted.filter(is_before) {
            Some((_, at, newlines)) => (at, newlines),
            None => match self.store.line_before(stream, offset)? {
                Some(known) => known,
                None => return Ok(None),
            },
        };
        let between = bytes.read(stream, at, offset - at);
        let between = unless_damaged(self.store, between)?;
        if between.len() as u64 != offset - at {
            return Ok(None);
        }
        let newlines = newlines + memchr::memchr_iter(b'\n', &between).count() as u64;
        self.counted = Some((stream, offset, newlines));
        Ok(Some(newlines + 1))
    }
}
