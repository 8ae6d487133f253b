//! Files of the user are written whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Writes a file beside and renames it, so that it is never half there; makes its folder if there is none. A link stays, and
/// what it names is written; permissions stay; what is read-only is refused.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    try_write(path, bytes).map_err(|source| Error::Unwritable {
        path: path.to_path_buf(),
        source,
    })
}

fn try_write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let real = real_path(path)?;
    let before = std::fs::metadata(&real).ok();
    // Renaming would get around it.
    if before
        .as_ref()
        .is_some_and(|file| file.permissions().readonly())
    {
        return Err(std::io::Error::new(
            std::io::ErrorKind::PermissionDenied,
            "it is read-only",
        ));
    }
    if let Some(folder) = real.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let beside = real.with_file_name(format!(".{name}.{}.new", std::process::id()));
    let written = (|| {
        let mut file = std::fs::File::create(&beside)?;
        file.write_all(bytes)?;
        if let Some(before) = before {
            file.set_permissions(before.permissions())?;
        }
        file.sync_all()?;
        std::fs::rename(&beside, &real)
    })();
    if written.is_err() {
        // It may never have been made.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// Where a path leads; a link that leads nowhere is an error, for nobody meant to make what it names.
fn real_path(path: &Path) -> std::io::Result<PathBuf> {
    match std::fs::canonicalize(path) {
        Ok(real) => Ok(real),
        Err(_) if std::fs::symlink_metadata(path).is_err() => Ok(path.to_path_buf()),
        Err(error) => Err(error),
    }
}
