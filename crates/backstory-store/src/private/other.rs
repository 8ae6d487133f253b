//! Where files have neither owners nor modes that we could ask for: only links and special files are refused.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::{Privacy, refused};

pub(super) fn open_file(path: &Path, _privacy: Privacy) -> io::Result<File> {
    if std::fs::symlink_metadata(path)?.is_symlink() {
        return Err(refused("it is a symbolic link"));
    }
    open_regular(path)
}

pub(super) fn open_settings(path: &Path) -> io::Result<File> {
    open_regular(path)
}

pub(super) fn special_type(_found: std::fs::FileType) -> &'static str {
    "neither a file nor a folder"
}

pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(refused("it is not a regular file"));
    }
    File::open(path)
}

pub(super) fn check_socket(_path: &Path) -> io::Result<()> {
    Ok(())
}

pub(super) fn is_private(path: &Path) -> io::Result<bool> {
    Ok(path.is_dir())
}

pub(super) fn check_owner(path: &Path) -> io::Result<()> {
    std::fs::metadata(path).map(drop)
}

#[allow(clippy::unnecessary_wraps, reason = "elsewhere files have owners")]
pub(super) fn judge_owner(_metadata: &std::fs::Metadata) -> io::Result<()> {
    Ok(())
}

pub(super) fn is_writable_by_others(_path: &Path) -> bool {
    false
}

pub(super) fn narrow_folder(path: &Path, _is_expected: fn(&OsStr) -> bool) -> io::Result<()> {
    match path.is_dir() {
        true => Ok(()),
        false => Err(refused("it is not a folder")),
    }
}

/// A folder whose files are opened.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Opens a folder. Refuses links.
    pub fn open(path: &Path, privacy: Privacy) -> io::Result<Self> {
        if std::fs::symlink_metadata(path)?.is_symlink() {
            return Err(refused("it is a symbolic link"));
        }
        Folder::open_typed(path, privacy)
    }

    /// Like [`Folder::open`], for a path that the user typed: it may be a link.
    pub fn open_typed(path: &Path, _privacy: Privacy) -> io::Result<Self> {
        match std::fs::metadata(path)?.is_dir() {
            true => Ok(Folder {
                path: path.to_path_buf(),
            }),
            false => Err(refused("it is not a folder")),
        }
    }

    /// Opens a folder in this one, with the same checks.
    pub fn open_folder(&self, name: &OsStr, privacy: Privacy) -> io::Result<Self> {
        Folder::open(&self.path.join(name), privacy)
    }

    /// Opens a file in this folder for reading, checked like [`open_file`](super::open_file).
    pub fn open_file(&self, name: &OsStr, privacy: Privacy) -> io::Result<File> {
        open_file(&self.path.join(name), privacy)
    }

    /// Makes a new file in this folder.
    pub fn create_file(&self, name: &OsStr) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        options.open(self.path.join(name))
    }

    /// Renames a file in this folder.
    pub fn rename_file(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        std::fs::rename(self.path.join(from), self.path.join(to))
    }

    /// Removes a file of this folder.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    /// Names of everything in this folder, in no order.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let entries = std::fs::read_dir(&self.path)?;
        entries.map(|entry| Ok(entry?.file_name())).collect()
    }

    /// Path that the folder was opened under.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
