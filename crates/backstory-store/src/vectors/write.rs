//! Writes a segment, one row after the other.

use std::fs::File;
use std::hash::Hasher;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_64;

use super::layout::{self, Entry, HEADER_BYTES, Layout, Model, checksum, header};
use super::scan::BLOCK_ROWS;
use super::shape::Shape;
use super::{Result, VectorError, VectorKey, on};

/// How much is gathered before it is written.
const BUFFER_BYTES: usize = 1 << 18;

/// A segment that is being written. Nothing counts before a manifest names it, so it is written where it will stay.
pub(super) struct SegmentWriter {
    path: PathBuf,
    file: File,
    number: u64,
    layout: Layout,
    written: usize,
    keys: Part,
    codes: Part,
    rows: Part,
    /// The block that is not full yet.
    block: Vec<u8>,
}

impl SegmentWriter {
    /// Begins a segment of exactly so many rows, at least one.
    pub(super) fn create(folder: &Path, shape: &Shape, number: u64, rows: usize) -> Result<Self> {
        let path = layout::path(folder, number);
        let Some(layout) = Layout::new(shape, rows as u64) else {
            let source = std::io::ErrorKind::FileTooLarge.into();
            return Err(VectorError::File { path, source });
        };
        Ok(SegmentWriter {
            file: create(&path)?,
            path,
            number,
            layout,
            written: 0,
            keys: Part::new(HEADER_BYTES),
            codes: Part::new(layout.codes_start),
            rows: Part::new(layout.rows_start),
            block: vec![0; BLOCK_ROWS * shape.code_bytes()],
        })
    }

    /// Adds a row.
    pub(super) fn push(
        &mut self,
        key: VectorKey,
        code: impl Iterator<Item = u8>,
        row: &[u8],
    ) -> Result<()> {
        self.keys.buffer.extend_from_slice(&key.to_bytes());
        let at = self.written % BLOCK_ROWS;
        for (column, byte) in self.block.chunks_exact_mut(BLOCK_ROWS).zip(code) {
            column[at] = byte;
        }
        self.rows.buffer.extend_from_slice(row);
        let checksum = checksum(row, self.number, self.written);
        self.rows.buffer.extend_from_slice(&checksum);
        self.written += 1;
        if at + 1 == BLOCK_ROWS {
            self.end_block();
        }
        for part in [&mut self.keys, &mut self.codes, &mut self.rows] {
            if part.buffer.len() >= BUFFER_BYTES {
                part.flush(&mut self.file).map_err(on(&self.path))?;
            }
        }
        Ok(())
    }

    fn end_block(&mut self) {
        self.codes.buffer.extend_from_slice(&self.block);
        self.block.fill(0);
    }

    /// Writes what is left and waits until all of it is on the disk.
    pub(super) fn finish(mut self, model: &Model) -> Result<Entry> {
        if !self.written.is_multiple_of(BLOCK_ROWS) {
            self.end_block();
        }
        let keys_end = self.layout.codes_start - self.keys.at;
        self.keys.buffer.resize(keys_end, 0);
        for part in [&mut self.keys, &mut self.codes, &mut self.rows] {
            part.flush(&mut self.file).map_err(on(&self.path))?;
        }
        let rows = self.written as u64;
        let hashes = [&self.keys, &self.codes].map(|part| part.hash.finish());
        let header = header(model, self.number, rows, hashes[0], hashes[1]);
        self.file
            .rewind()
            .and_then(|()| self.file.write_all(&header))
            .and_then(|()| self.file.sync_all())
            .map_err(on(&self.path))?;
        Ok(Entry {
            number: self.number,
            rows,
            hash: XxHash3_64::oneshot(&header),
        })
    }
}

/// A part of the file that is written from its start to its end while others are.
struct Part {
    /// Where the buffer belongs.
    at: usize,
    buffer: Vec<u8>,
    hash: XxHash3_64,
}

impl Part {
    fn new(at: usize) -> Self {
        Part {
            at,
            buffer: Vec::new(),
            hash: XxHash3_64::new(),
        }
    }

    fn flush(&mut self, file: &mut File) -> std::io::Result<()> {
        self.hash.write(&self.buffer);
        file.seek(SeekFrom::Start(self.at as u64))?;
        file.write_all(&self.buffer)?;
        self.at += self.buffer.len();
        self.buffer.clear();
        Ok(())
    }
}

/// Makes a file that only the user can read, in the place of one that a dead writer may have left.
pub(super) fn create(path: &Path) -> Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(on(path))
}
