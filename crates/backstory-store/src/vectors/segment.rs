//! A segment that was opened and checked.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use twox_hash::XxHash3_64;

use super::layout::{
    CHECKSUM_BYTES, Entry, HEADER_BYTES, KEY_BYTES, Layout, Model, checksum, header,
};
use super::map::map;
use super::shape::Shape;
use super::{Result, VectorKey, damaged, on};
use crate::private::check_owner;

/// A segment that was opened and whose keys and codes were checked.
#[derive(Debug)]
pub(super) struct Segment {
    path: PathBuf,
    number: u64,
    layout: Layout,
    /// Header, keys and codes.
    head: Mmap,
    rows: Rows,
}

/// How rows are got at.
#[derive(Debug)]
enum Rows {
    Mapped(Mmap),
    Read(File),
}

impl Segment {
    /// Opens a segment. Rows are mapped, or read one by one: a page that is touched brings its neighbours with it, so that in a large
    /// segment a few hundred rows would take tens of megabytes of memory.
    pub(super) fn open(
        folder: &Path,
        model: &Model,
        shape: &Shape,
        entry: &Entry,
        map_rows: bool,
    ) -> Result<Self> {
        let path = entry.path(folder);
        let Some(layout) = Layout::new(shape, entry.rows) else {
            return Err(damaged(
                &path,
                format!("it cannot have {} rows", entry.rows),
            ));
        };
        check_owner(&path).map_err(|error| damaged(&path, error.to_string()))?;
        let found = match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => metadata.len(),
            Ok(_) => return Err(damaged(&path, "it is no file")),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(damaged(&path, "it is missing"));
            }
            Err(error) => return Err(on(&path)(error)),
        };
        if found != layout.length as u64 {
            let what = format!("it has {found} bytes instead of {}", layout.length);
            return Err(damaged(&path, what));
        }
        let file = File::open(&path).map_err(on(&path))?;
        let head = map(&file, 0, layout.rows_start).map_err(on(&path))?;
        let keys_hash = XxHash3_64::oneshot(&head[HEADER_BYTES..layout.codes_start]);
        let codes_hash = XxHash3_64::oneshot(&head[layout.codes_start..]);
        let expected = header(model, entry.number, entry.rows, keys_hash, codes_hash);
        if head[..HEADER_BYTES] != expected || XxHash3_64::oneshot(&expected) != entry.hash {
            return Err(damaged(&path, "its keys and codes do not fit its header"));
        }
        let rows = if map_rows {
            let length = layout.length - layout.rows_start;
            Rows::Mapped(map(&file, layout.rows_start as u64, length).map_err(on(&path))?)
        } else {
            Rows::Read(file)
        };
        Ok(Segment {
            path,
            number: entry.number,
            layout,
            head,
            rows,
        })
    }

    /// The key of each row.
    pub(super) fn keys(&self) -> &[[u8; KEY_BYTES]] {
        let keys = &self.head[HEADER_BYTES..self.layout.codes_start];
        &keys.as_chunks().0[..self.layout.rows]
    }

    /// The key of a row.
    pub(super) fn key(&self, at: usize) -> VectorKey {
        VectorKey::from_bytes(&self.keys()[at])
    }

    /// All codes, in blocks; behind the last row the last block is filled up.
    pub(super) fn codes(&self) -> &[u8] {
        &self.head[self.layout.codes_start..]
    }

    pub(super) fn rows(&self) -> usize {
        self.layout.rows
    }

    /// A row, checked. `buffer` is for rows that are not mapped.
    pub(super) fn row<'a>(&'a self, at: usize, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        let length = self.layout.row_bytes;
        let bytes = match &self.rows {
            Rows::Mapped(rows) => &rows[at * length..(at + 1) * length],
            Rows::Read(file) => {
                buffer.resize(length, 0);
                let start = self.layout.rows_start + at * length;
                read_exact_at(file, buffer, start as u64).map_err(|error| match error.kind() {
                    ErrorKind::UnexpectedEof => damaged(&self.path, "it ends too early"),
                    _ => on(&self.path)(error),
                })?;
                buffer
            }
        };
        let (row, stored) = bytes.split_at(length - CHECKSUM_BYTES);
        if stored != checksum(row, self.number, at) {
            return Err(damaged(
                &self.path,
                format!("row {at} does not fit its checksum"),
            ));
        }
        Ok(row)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], start: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, start)
}

#[cfg(windows)]
fn read_exact_at(file: &File, buffer: &mut [u8], start: u64) -> std::io::Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        let rest = &mut buffer[done..];
        match std::os::windows::fs::FileExt::seek_read(file, rest, start + done as u64)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            read => done += read,
        }
    }
    Ok(())
}
