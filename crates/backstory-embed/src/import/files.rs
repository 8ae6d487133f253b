//! Reading, hashing and copying of whole files.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use crate::map::{open_file, read_file};
use crate::{Error, Result};

/// Larger files than this are not read whole. The largest tokenizer in use has 35 MB.
const LARGEST: u64 = 256 << 20;

/// How much is copied at a time.
const CHUNK: usize = 1 << 20;

/// The content of a file that is not large.
pub(super) fn read_small(path: &Path) -> Result<Vec<u8>> {
    read_file(path, LARGEST).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => Error::malformed(path, "it is too large for what it should be"),
        _ => Error::io(path, error),
    })
}

/// The hash of a file, in hexadecimal digits.
pub(super) fn hash(path: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    open_file(path)
        .and_then(|file| hasher.update_reader(file).map(|_| ()))
        .map_err(|error| Error::io(path, error))?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// Writes a file and waits until it is on disk.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    File::create_new(path)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .map_err(|error| Error::io(path, error))
}

/// Copies a file and gives its hash. Folders on the way are made.
pub(super) fn copy(from: &Path, to: &Path) -> Result<String> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(|error| Error::io(parent, error))?;
    }
    let mut source = open_file(from).map_err(|error| Error::io(from, error))?;
    let mut target = File::create_new(to).map_err(|error| Error::io(to, error))?;
    let mut hasher = blake3::Hasher::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        let length = source
            .read(&mut chunk)
            .map_err(|error| Error::io(from, error))?;
        if length == 0 {
            break;
        }
        hasher.update(&chunk[..length]);
        target
            .write_all(&chunk[..length])
            .map_err(|error| Error::io(to, error))?;
    }
    target.sync_all().map_err(|error| Error::io(to, error))?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// The last part of a path.
pub(super) fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// How many bytes the files in a folder have.
pub(super) fn total(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(|error| Error::io(folder, error))? {
        let entry = entry.map_err(|error| Error::io(folder, error))?;
        let metadata = entry.metadata().map_err(|error| Error::io(folder, error))?;
        bytes += if metadata.is_dir() {
            total(&entry.path())?
        } else {
            metadata.len()
        };
    }
    Ok(bytes)
}
