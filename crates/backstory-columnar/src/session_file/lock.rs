//! The file beside a session file in which a new version is written, and the locks by which writers wait for each other.
//!
//! The new version always has the same name, so that it is itself the lock: whoever holds an exclusive `flock` on it writes. A version that a
//! killed process left is found unlocked by the next writer and removed. The old file is locked too: h5py respects that.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// End of the name of the file that a new version is written to.
const NEW_VERSION_SUFFIX: &str = ".backstory-new";

/// New version of a file, locked until it is dropped. Without [`NewVersion::replace_target`] it is removed.
pub(super) struct NewVersion {
    file: File,
    path: PathBuf,
    target: PathBuf,
    old: Option<File>,
    done: bool,
}

/// Returns the file that `path` names: a symbolic link is followed, so that the file that it points to is replaced and not the link.
pub(super) fn resolve_target(path: &Path) -> Result<PathBuf> {
    let refuse = |what: &str| {
        Err(Error::BadTarget {
            path: path.to_owned(),
            what: what.to_owned(),
        })
    };
    match fs::metadata(path) {
        Ok(found) if found.is_file() => fs::canonicalize(path).map_err(Error::io(path)),
        Ok(_) => refuse("exists and is not a regular file"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return refuse("is a symbolic link to a file that does not exist");
            }
            let Some(name) = path.file_name() else {
                return refuse("is not the name of a file");
            };
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            Ok(fs::canonicalize(folder)
                .map_err(Error::io(folder))?
                .join(name))
        }
        Err(error) => Err(Error::io(path)(error)),
    }
}

/// Returns whether another program writes a file, or has it open in h5py: whoever writes it now waits.
pub fn is_in_use(path: &Path) -> bool {
    let is_locked = |file: File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    let Ok(target) = resolve_target(path) else {
        return false;
    };
    let files = [new_version_path(&target), target];
    files
        .iter()
        .any(|path| File::open(path).is_ok_and(is_locked))
}

/// Returns the path at which a new version of a file is written.
fn new_version_path(target: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(NEW_VERSION_SUFFIX);
    target.with_file_name(name)
}

impl NewVersion {
    /// Locks `target`, a resolved path, and creates an empty new version. Without `wait`, a locked file is an error.
    pub(super) fn create(target: &Path, wait: bool) -> Result<NewVersion> {
        let path = new_version_path(target);
        loop {
            let mode = fs::metadata(target).ok();
            let file = open_new(&path, mode.as_ref())?;
            lock_file(&file, &path, target, wait)?;
            let found = file.metadata().map_err(Error::io(&path))?;
            if !is_same_file(&found, &path) {
                continue;
            }
            if found.len() > 0 {
                // Left by a process that was killed.
                fs::remove_file(&path).map_err(Error::io(&path))?;
                continue;
            }
            let mut new = NewVersion {
                file,
                path: path.clone(),
                target: target.to_owned(),
                old: None,
                done: false,
            };
            if new.lock_old(wait)? {
                return Ok(new);
            }
        }
    }

    /// Locks the file that is to be replaced. Returns whether it is still the one at its path.
    fn lock_old(&mut self, wait: bool) -> Result<bool> {
        let old = match File::open(&self.target) {
            Ok(old) => old,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(error) => return Err(Error::io(&self.target)(error)),
        };
        lock_file(&old, &self.target, &self.target, wait)?;
        let found = old.metadata().map_err(Error::io(&self.target))?;
        copy_mode(&self.file, &found).map_err(Error::io(&self.path))?;
        let same = is_same_file(&found, &self.target);
        self.old = Some(old);
        Ok(same)
    }

    /// The old file, if there is one.
    pub(super) fn old_file(&self) -> Option<&File> {
        self.old.as_ref()
    }

    /// The file to write to.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Makes the new version durable and renames it over the target.
    pub(super) fn replace_target(mut self) -> Result<()> {
        self.file.sync_all().map_err(Error::io(&self.path))?;
        fs::rename(&self.path, &self.target).map_err(Error::io(&self.target))?;
        self.done = true;
        let folder = self.target.parent().unwrap_or(Path::new("."));
        sync_folder(folder).map_err(Error::io(folder))
    }
}

impl Drop for NewVersion {
    fn drop(&mut self) {
        if !self.done {
            // Nothing more can be done about a file that cannot be removed; the next writer tries again.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn lock_file(file: &File, path: &Path, target: &Path, wait: bool) -> Result<()> {
    if wait {
        return file.lock().map_err(Error::io(path));
    }
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Error::Locked {
            path: target.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(Error::io(path)(error)),
    }
}

/// Opens or creates the new version. It is readable by whoever can read the old file.
#[cfg(unix)]
fn open_new(path: &Path, old: Option<&fs::Metadata>) -> Result<File> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    let mut options = OpenOptions::new();
    // Not through a link that someone put there.
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    // Whole logs are in it: nobody else needs to read a new one.
    options.mode(old.map_or(0o600, |old| old.mode() & 0o777));
    let file = options.open(path).map_err(Error::io(path))?;
    let found = file.metadata().map_err(Error::io(path))?;
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    if !found.is_file() || found.nlink() > 1 || !is_own {
        return Err(Error::BadTarget {
            path: path.to_owned(),
            what: "is in the way of the new version: remove it".into(),
        });
    }
    Ok(file)
}

#[cfg(not(unix))]
fn open_new(path: &Path, _old: Option<&fs::Metadata>) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(Error::io(path))
}

/// Gives the new version the permissions of the old file.
#[cfg(unix)]
fn copy_mode(file: &File, old: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    file.set_permissions(fs::Permissions::from_mode(old.mode() & 0o777))
}

#[cfg(not(unix))]
fn copy_mode(_file: &File, _old: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn is_same_file(found: &fs::Metadata, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::symlink_metadata(path)
        .is_ok_and(|named| named.ino() == found.ino() && named.dev() == found.dev())
}

#[cfg(not(unix))]
fn is_same_file(_found: &fs::Metadata, path: &Path) -> bool {
    path.exists()
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
