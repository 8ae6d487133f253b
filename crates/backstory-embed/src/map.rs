//! Files as memory.

#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;

use crate::{Error, Result};

/// Opens a regular file for reading. A pipe or device would have us wait, or never end.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    File::open(path)
}

/// Reads a regular file of at most this many bytes.
pub(crate) fn read_file(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(path)?
        .take(max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        let message = format!("it is larger than {} MiB", max_bytes >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Bytes that came from memory or lie in a file.
pub(crate) enum Bytes {
    /// In memory.
    Owned(Vec<u8>),
    /// In a file, read as they are touched.
    Mapped(memmap2::Mmap),
}

impl Bytes {
    /// Maps a file. An empty one gives no bytes.
    pub(crate) fn map(path: &Path) -> Result<Bytes> {
        let file = open_file(path).map_err(|error| Error::io(path, error))?;
        let length = file
            .metadata()
            .map_err(|error| Error::io(path, error))?
            .len();
        if length == 0 {
            return Ok(Bytes::Owned(Vec::new()));
        }
        // SAFETY: the map is read-only and shared, and a file of ours is written once under another name, moved into place and never
        // changed again; a replaced one keeps its old bytes for whoever has mapped it. Nothing but plain numbers is read from the
        // map and each access is checked, so that bytes changed by others can give wrong vectors, never an invalid value.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|error| Error::io(path, error))?;
        Ok(Bytes::Mapped(map))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Owned(bytes) => bytes,
            Bytes::Mapped(map) => map,
        }
    }
}
