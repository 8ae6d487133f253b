//! Contents that are the same in the old file: their chunks are copied, not packed again. Adding a turn to a long session takes half the time.

use std::io::{Seek, Write};

use hdf5_pure::Chunk;

use super::columns::Columns;
use super::copy::Copier;
use super::schema::{CALL_FIELDS, CHUNK_BYTES, CONTENT_FIELDS};
use crate::error::{Error, Result};
use crate::hdf5::index::StoredChunk;
use crate::hdf5::writer::{DEFLATE_FILTER, SHUFFLE_FILTER};

/// Columns of contents: the places, their fields, and the bytes.
pub(super) struct ContentColumns {
    pub(super) index: &'static str,
    pub(super) fields: [&'static str; 4],
    pub(super) bytes: &'static str,
}

pub(super) const MESSAGE_CONTENTS: ContentColumns = ContentColumns {
    index: "content_index",
    fields: CONTENT_FIELDS,
    bytes: "content_bytes",
};

pub(super) const CALL_CONTENTS: ContentColumns = ContentColumns {
    index: "call_index",
    fields: CALL_FIELDS,
    bytes: "call_bytes",
};

impl<W: Write + Seek> Copier<'_, W> {
    /// Copies the chunks that lie whole in the contents of the first rows, which have these `lengths` in the old and the new file.
    pub(super) fn copy_leading_chunks(
        &mut self,
        columns: &Columns<'_>,
        names: &ContentColumns,
        lengths: &[[usize; 2]],
    ) -> Result<Vec<StoredChunk>> {
        let end = contiguous_end(columns, names, lengths)?;
        let count = end / CHUNK_BYTES;
        let mut copied = Vec::new();
        if count == 0 {
            return Ok(copied);
        }
        let Some(mut chunks) = same_chunks(columns, names.bytes)? else {
            return Ok(copied);
        };
        chunks.sort_unstable_by_key(|chunk| chunk.offset.first().copied());
        let mut left = self.old.file_bytes();
        self.old.start_operation();
        for (number, chunk) in (0..count).zip(chunks) {
            let is_next = chunk.offset.first() == Some(&(number * CHUNK_BYTES));
            let is_stored = (1..=2 * CHUNK_BYTES).contains(&chunk.storage_size);
            if !is_next || !is_stored || chunk.filter_mask != 0 || chunk.storage_size > left {
                break;
            }
            left -= chunk.storage_size;
            let packed = self
                .old
                .source
                .read_bytes(chunk.address, chunk.storage_size as usize)
                .map_err(|error| self.old.format_error(columns.place(), error.into()))?;
            copied.push(
                self.out
                    .append_chunk(&packed, 0)
                    .map_err(Error::io(self.target))?,
            );
        }
        Ok(copied)
    }
}

/// Returns the end of the rows whose contents lie one after the other from the start on, as we write them.
fn contiguous_end(
    columns: &Columns<'_>,
    names: &ContentColumns,
    lengths: &[[usize; 2]],
) -> Result<u64> {
    let places = columns.read_fields(names.index, 0..lengths.len() as u64, names.fields)?;
    let mut end = 0;
    for (place, [first, second]) in places.into_iter().zip(lengths) {
        let (first, second) = (*first as i64, *second as i64);
        if place != [end, first, end + first, second] {
            break;
        }
        end += first + second;
    }
    Ok(end as u64)
}

/// Returns the chunks of a byte column that has the storage that we write.
fn same_chunks(columns: &Columns<'_>, name: &str) -> Result<Option<Vec<Chunk>>> {
    let found = columns.with_dataset(name, |dataset, shape| {
        let is_same = shape.element_bytes == 1
            && shape.dims.len() == 1
            && shape.chunk_rows == Some(CHUNK_BYTES)
            && dataset.filters() == [SHUFFLE_FILTER, DEFLATE_FILTER];
        if !is_same {
            return Ok(None);
        }
        dataset
            .chunks()
            .map(Some)
            .map_err(|error| columns.file().format_error(columns.place(), error))
    })?;
    Ok(found.flatten())
}
