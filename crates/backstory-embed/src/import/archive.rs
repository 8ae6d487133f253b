//! Models in zip archives, such as Python wheels.

use std::fs::{self, File};
use std::io::{Read, copy};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use crate::map::open_file;
use crate::{Error, Result};

/// Archives with more in them are refused.
const MOST_ENTRIES: usize = 100_000;

/// Whether a file is a zip archive, by its first bytes.
pub(super) fn is_archive(path: &Path) -> Result<bool> {
    let mut start = [0; 4];
    let mut file = open_file(path).map_err(|error| Error::io(path, error))?;
    Ok(file.read_exact(&mut start).is_ok() && start == *b"PK\x03\x04")
}

/// Unpacks the files of an archive that may belong to a model, each to its place below the folder.
pub(super) fn unpack(path: &Path, folder: &Path, most_bytes: u64) -> Result<()> {
    let damaged = |error: zip::result::ZipError| {
        Error::malformed(path, format!("it cannot be unpacked: {error}"))
    };
    let file = open_file(path).map_err(|error| Error::io(path, error))?;
    let mut archive = ZipArchive::new(file).map_err(damaged)?;
    if archive.len() > MOST_ENTRIES {
        return Err(Error::malformed(path, "it holds too many files"));
    }
    fs::create_dir(folder).map_err(|error| Error::io(folder, error))?;
    let mut left = most_bytes;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(damaged)?;
        let name = entry.name().map_err(damaged)?.into_owned();
        if !entry.is_file() || !is_wanted(&name) {
            continue;
        }
        // Names that lead out of the folder have no enclosed form.
        let Some(inner) = entry.enclosed_name() else {
            return Err(Error::malformed(
                path,
                format!("it holds a file named {name:?}"),
            ));
        };
        let target = folder.join(inner);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(|error| Error::io(parent, error))?;
        }
        let mut output = File::create_new(&target).map_err(|error| Error::io(&target, error))?;
        // What the archive says about sizes need not be true, so what is unpacked is counted.
        let written = copy(
            &mut entry.by_ref().take(left.saturating_add(1)),
            &mut output,
        )
        .map_err(|error| Error::malformed(path, format!("it cannot be unpacked: {error}")))?;
        left = left
            .checked_sub(written)
            .ok_or_else(|| Error::malformed(path, "it unpacks to too much"))?;
    }
    Ok(())
}

/// Whether a file may belong to a model or say under which licence it is.
fn is_wanted(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    let extension = Path::new(name)
        .extension()
        .and_then(|extension| extension.to_str());
    matches!(extension, Some("json" | "safetensors" | "gguf"))
        || matches!(name, "METADATA" | "README.md" | "LICENSE")
}

/// An error about an unpacked file, told of the archive: the unpacked one is gone when the error is read.
pub(super) fn name_source(error: Error, unpacked: &Path, source: &Path) -> Error {
    let inside = |path: PathBuf| match path.strip_prefix(unpacked) {
        Ok(inner) if inner.as_os_str().is_empty() => source.to_path_buf(),
        Ok(inner) => source.join(inner),
        Err(_) => path,
    };
    match error {
        Error::Malformed { path, reason } => Error::Malformed {
            path: inside(path),
            reason,
        },
        Error::Io { path, source } => Error::Io {
            path: inside(path),
            source,
        },
        other => other,
    }
}
