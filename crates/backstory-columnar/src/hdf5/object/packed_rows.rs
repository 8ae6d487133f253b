//! Columns as the writer stores them: one dimension, in shuffled and compressed chunks that an extensible array refers to.

use flate2::{Decompress, FlushDecompress, Status};

use super::super::cursor::ByteCursor;
use super::super::datatype::EncodedType;
use super::super::header::{DATASPACE, DATATYPE, FILL_VALUE, FILTERS, LAYOUT};
use super::super::index::{PARAMETERS, StoredChunk};
use super::super::writer::{Filter, filter_message};
use super::super::{SharedSource, UNDEFINED_ADDRESS};
use super::chunk_index::{MAX_INDEXED_CHUNKS, read_chunk_index};
use super::header::ObjectHeader;

const MAX_CHUNK_BYTES: u64 = 1 << 20;

impl ObjectHeader {
    /// Number of elements of a dataset of one dimension.
    pub(crate) fn row_count(&self) -> Option<u64> {
        let mut body = ByteCursor(self.one_message(DATASPACE)?);
        let (version, rank) = (body.take_number(1)?, body.take_number(1)?);
        body.take_bytes(match version {
            1 => 6,
            2 => 2,
            _ => return None,
        })?;
        if rank == 1 { body.take_number(8) } else { None }
    }
}

/// Column of numbers whose chunks are known.
pub(crate) struct PackedRows {
    rows: u64,
    element_bytes: usize,
    chunk_rows: u64,
    chunks: Vec<Option<StoredChunk>>,
}

impl PackedRows {
    /// Finds the chunks of a dataset that has this type and the filters that it has in session files.
    pub(crate) fn open(
        source: &SharedSource,
        header: &ObjectHeader,
        element: &EncodedType,
    ) -> Option<PackedRows> {
        let rows = header.row_count()?;
        let filters = filter_message(&Filter::package_filters(element));
        if header.one_message(DATATYPE)? != element.bytes
            || header.one_message(FILTERS)? != filters
            || header.one_message(FILL_VALUE)? != [3, 11]
        {
            return None;
        }
        let mut layout = ByteCursor(header.one_message(LAYOUT)?);
        if !matches!(layout.take_number(1)?, 4 | 5) || layout.take_bytes(3)? != [2, 0, 2] {
            return None;
        }
        let width = layout.take_length(1).filter(|width| *width <= 8)?;
        let chunk_rows = layout.take_number(width)?;
        let element_bytes = layout.take_number(width)?;
        let chunk_bytes = chunk_rows.checked_mul(element_bytes)?;
        if element_bytes != element.size as u64
            || !(1..=MAX_CHUNK_BYTES).contains(&chunk_bytes)
            || layout.take_number(1)? != 4
            || layout.take_bytes(PARAMETERS.len())? != PARAMETERS
        {
            return None;
        }
        let count = rows.div_ceil(chunk_rows);
        if count > MAX_INDEXED_CHUNKS {
            return None;
        }
        let address = layout.take_number(8)?;
        let chunks = if address == UNDEFINED_ADDRESS {
            vec![None; count as usize]
        } else {
            read_chunk_index(source, address, chunk_bytes, count)?
        };
        Some(PackedRows {
            rows,
            element_bytes: element.size,
            chunk_rows,
            chunks,
        })
    }

    /// Applies `visit` to all elements of the chunks that are stored; those of others are zero.
    pub(crate) fn visit_elements(
        &self,
        source: &SharedSource,
        unpacker: &mut Unpacker,
        mut visit: impl FnMut(&[u8]),
    ) -> Option<()> {
        let chunk_bytes = self.chunk_rows as usize * self.element_bytes;
        for (number, chunk) in (0..).zip(&self.chunks) {
            let Some(chunk) = chunk else { continue };
            // Deflate adds a few bytes to what it cannot compress.
            if chunk.filter_mask != 0 || chunk.size > 2 * chunk_bytes as u64 {
                return None;
            }
            let packed = source.read_bytes(chunk.address, chunk.size as usize).ok()?;
            let start = number * self.chunk_rows;
            let rows = self.chunk_rows.min(self.rows.saturating_sub(start)) as usize;
            unpacker.unpack_chunk(&packed, chunk_bytes, self.element_bytes)?;
            let elements = unpacker.elements.chunks_exact(self.element_bytes);
            elements.take(rows).for_each(&mut visit);
        }
        Some(())
    }
}

/// Unpacks chunks, one after the other in the same memory.
pub(crate) struct Unpacker {
    inflate: Decompress,
    shuffled: Vec<u8>,
    elements: Vec<u8>,
}

impl Unpacker {
    pub(crate) fn new() -> Self {
        Self {
            inflate: Decompress::new(true),
            shuffled: Vec::new(),
            elements: Vec::new(),
        }
    }

    /// Unpacks a chunk that must have `length` bytes.
    fn unpack_chunk(&mut self, packed: &[u8], length: usize, element_bytes: usize) -> Option<()> {
        self.shuffled.resize(length, 0);
        self.elements.clear();
        self.elements.resize(length, 0);
        self.inflate.reset(true);
        let status = self
            .inflate
            .decompress(packed, &mut self.shuffled, FlushDecompress::Finish)
            .ok()?;
        if status != Status::StreamEnd || self.inflate.total_out() != length as u64 {
            return None;
        }
        let count = length / element_bytes;
        for (place, bytes) in self.shuffled.chunks_exact(count).enumerate() {
            // Most bytes of most numbers.
            if bytes.iter().all(|byte| *byte == 0) {
                continue;
            }
            let elements = self.elements.chunks_exact_mut(element_bytes);
            for (element, byte) in elements.zip(bytes) {
                element[place] = *byte;
            }
        }
        Some(())
    }
}
