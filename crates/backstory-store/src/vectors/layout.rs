//! Where in a segment what lies.
//!
//! A segment is a header, the keys, the codes in blocks, and the rows. The header says what the rest is and carries hashes of keys and
//! codes; the manifest carries a hash of the header. Each row carries a checksum of its own, for few of them are ever read.

use std::path::{Path, PathBuf};

use twox_hash::XxHash3_64;

use super::VectorKey;
use super::scan::BLOCK_ROWS;
use super::shape::Shape;

/// Changes whenever old files would be read wrongly: layout, rotation, rounding.
pub(super) const VERSION: u32 = 1;

pub(super) const HEADER_BYTES: usize = 128;
pub(super) const KEY_BYTES: usize = 12;
pub(super) const CHECKSUM_BYTES: usize = 4;

/// Keys fill a multiple of this, so that blocks start where a line of the processor's cache does.
const ALIGNMENT: usize = 64;

/// The model of a folder's vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) id: [u8; 32],
    pub(super) dimensions: u32,
}

/// A segment as the manifest names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// Names the file; never used twice for segments that a manifest has named.
    pub(super) number: u64,
    pub(super) rows: u64,
    /// Hash of the header.
    pub(super) hash: u64,
}

impl Entry {
    pub(super) fn path(&self, folder: &Path) -> PathBuf {
        path(folder, self.number)
    }
}

/// The file of the segment with a number.
pub(super) fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:08}.{EXTENSION}"))
}

/// What the names of segments end with.
pub(super) const EXTENSION: &str = "vectors";

/// Where in a segment of so many rows what lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) rows: usize,
    pub(super) codes_start: usize,
    pub(super) rows_start: usize,
    /// The length of a row with its checksum.
    pub(super) row_bytes: usize,
    pub(super) length: usize,
}

impl Layout {
    /// `None` for none and for more rows than a file can have.
    pub(super) fn new(shape: &Shape, rows: u64) -> Option<Self> {
        let rows = usize::try_from(rows).ok().filter(|rows| *rows > 0)?;
        let keys = rows
            .checked_mul(KEY_BYTES)?
            .checked_next_multiple_of(ALIGNMENT)?;
        let codes = rows
            .checked_next_multiple_of(BLOCK_ROWS)?
            .checked_mul(shape.code_bytes())?;
        let row_bytes = shape.row_bytes() + CHECKSUM_BYTES;
        let codes_start = HEADER_BYTES.checked_add(keys)?;
        let rows_start = codes_start.checked_add(codes)?;
        Some(Layout {
            rows,
            codes_start,
            rows_start,
            row_bytes,
            length: rows_start.checked_add(rows.checked_mul(row_bytes)?)?,
        })
    }
}

/// The header of a segment whose keys and codes have these hashes.
pub(super) fn header(
    model: &Model,
    number: u64,
    rows: u64,
    keys_hash: u64,
    codes_hash: u64,
) -> [u8; HEADER_BYTES] {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend_from_slice(b"BSTRYSEG");
    header.extend_from_slice(&VERSION.to_le_bytes());
    header.extend_from_slice(&model.dimensions.to_le_bytes());
    header.extend_from_slice(&model.id);
    for number in [number, rows, keys_hash, codes_hash] {
        header.extend_from_slice(&number.to_le_bytes());
    }
    let mut whole = [0; HEADER_BYTES];
    whole[..header.len()].copy_from_slice(&header);
    whole
}

/// The checksum of a row. It knows the row's place, so that a row does not pass for another.
pub(super) fn checksum(row: &[u8], segment: u64, at: usize) -> [u8; CHECKSUM_BYTES] {
    let place = (segment << 32 ^ at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = XxHash3_64::oneshot(row) ^ place;
    ((hash ^ hash >> 32) as u32).to_le_bytes()
}

impl VectorKey {
    pub(super) fn to_bytes(self) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        bytes[..4].copy_from_slice(&self.session.get().to_le_bytes());
        bytes[4..8].copy_from_slice(&self.seq.get().to_le_bytes());
        bytes[8..].copy_from_slice(&self.chunk.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; KEY_BYTES]) -> Self {
        let number = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        VectorKey {
            session: number(0).into(),
            seq: number(4).into(),
            chunk: number(8),
        }
    }
}
