//! Files of the user are written whole or not at all.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Writes a file beside and renames it, so that it is never half there; makes its folder if there is none. A link stays, and
/// what it names is written; permissions stay, and the owner where that is allowed; what is read-only is refused.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    write(path, bytes, false)
}

/// The same, and a new file is for nobody else to read.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    write(path, bytes, true)
}

fn write(path: &Path, bytes: &[u8], is_private: bool) -> Result<()> {
    try_write(path, bytes, is_private).map_err(|source| Error::Unwritable {
        path: path.to_path_buf(),
        source,
    })
}

fn try_write(path: &Path, bytes: &[u8], is_private: bool) -> std::io::Result<()> {
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
        // What the old file hides must not show in the meantime.
        let mut file = create(&beside, is_private || before.is_some())?;
        file.write_all(bytes)?;
        if let Some(before) = before {
            take_over(&file, &before)?;
        }
        file.sync_all()?;
        std::fs::rename(&beside, &real)?;
        // Or a power cut might bring the old one back; not every system can.
        let _ = real.parent().map(|folder| File::open(folder)?.sync_all());
        Ok(())
    })();
    if written.is_err() {
        // It may never have been made.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

fn create(path: &Path, is_private: bool) -> std::io::Result<File> {
    // One that was left behind may be open to others.
    let _ = std::fs::remove_file(path);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if is_private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = is_private;
    options.open(path)
}

/// Gives a file the owner, if possible, and the permissions of another.
fn take_over(file: &File, before: &Metadata) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        // Only the administrator may give files away.
        let _ = std::os::unix::fs::fchown(file, Some(before.uid()), Some(before.gid()));
    }
    file.set_permissions(before.permissions())
}

/// Where a path leads; a link that leads nowhere is an error, for nobody meant to make what it names.
fn real_path(path: &Path) -> std::io::Result<PathBuf> {
    match std::fs::canonicalize(path) {
        Ok(real) => Ok(real),
        Err(_) if std::fs::symlink_metadata(path).is_err() => Ok(path.to_path_buf()),
        Err(error) => Err(error),
    }
}
