//! Replacing a file: a new version is written beside it and renamed over it, under a lock by which writers wait for each other.
//!
//! The lock is an exclusive `flock` on a file of its own, which its holder removes. A lock and a new version that a killed process left
//! are found unlocked by the next writer, and taken over.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files::open_regular_file;

/// End of the name of a new version.
const NEW_VERSION_SUFFIX: &str = ".backstory-new";

/// Name of the lock of a folder, and end of the name of that of a file.
const LOCK_SUFFIX: &str = ".backstory-lock";

/// Returns the file that `path` names: a symbolic link is followed, so that the file that it points to is replaced and not the link.
pub(crate) fn resolve_target(path: &Path) -> Result<PathBuf> {
    let refuse = |what: String| {
        Err(Error::BadTarget {
            path: path.to_owned(),
            what,
        })
    };
    match fs::metadata(path) {
        Ok(found) if found.is_file() => fs::canonicalize(path).map_err(Error::io(path)),
        Ok(_) => refuse("exists and is not a regular file: write to another path".to_string()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return refuse(
                    "is a symbolic link to a file that does not exist: remove it".to_string(),
                );
            }
            let Some(name) = path.file_name() else {
                return refuse("is not the name of a file".to_string());
            };
            let folder = folder_of(path);
            match fs::canonicalize(folder) {
                Ok(folder) => Ok(folder.join(name)),
                Err(error) if error.kind() == ErrorKind::NotFound => refuse(format!(
                    "there is no folder {}: create it first",
                    folder.display()
                )),
                Err(error) => Err(Error::io(folder)(error)),
            }
        }
        Err(error) => Err(Error::io(path)(error)),
    }
}

/// Returns whether another program writes a file or folder, or has the file open in h5py: whoever writes it now waits.
pub fn is_in_use(path: &Path) -> bool {
    let is_locked = |file: File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    let target = match path.is_dir() {
        true => path.to_owned(),
        false => match resolve_target(path) {
            Ok(target) => target,
            Err(_) => return false,
        },
    };
    [lock_path(&target), target]
        .iter()
        .any(|path| open_regular_file(path).is_ok_and(is_locked))
}

/// Lock of a file or folder that one writer holds at a time, until it is dropped.
pub(crate) struct WriteLock {
    path: PathBuf,
    _file: File,
}

impl WriteLock {
    /// Locks a folder, or a file that [`resolve_target`] gave, when no other process holds the lock.
    pub(crate) fn acquire(target: &Path) -> Result<Self> {
        let path = lock_path(target);
        loop {
            let file = open_lock(&path, target)?;
            file.lock().map_err(Error::io(target))?;
            // The holder before removes it.
            if is_at_path(&file, &path) {
                return Ok(WriteLock { path, _file: file });
            }
        }
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        // One that stays is locked by the next writer.
        let _ = fs::remove_file(&self.path);
    }
}

/// Locks the file that is to be replaced, as h5py does with files that it writes; `None` when there is none.
pub(crate) fn lock_old_version(target: &Path) -> Result<Option<File>> {
    loop {
        let file = match open_regular_file(target) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                return Ok(None);
            }
            opened => opened?,
        };
        file.lock().map_err(Error::io(target))?;
        if is_at_path(&file, target) {
            return Ok(Some(file));
        }
    }
}

/// Renames a file within its folder, when nobody writes either. A file that has the new name is an error.
pub(crate) fn rename_target(old: &Path, new: &Path) -> Result<()> {
    let mut targets = [resolve_target(old)?, resolve_target(new)?];
    // All take the locks in the same order.
    targets.sort();
    let [first, second] = &targets;
    let _locks = [WriteLock::acquire(first)?, WriteLock::acquire(second)?];
    let _file = lock_old_version(&resolve_target(old)?)?;
    // Written while this waited, perhaps.
    if fs::symlink_metadata(new).is_ok() {
        return Err(Error::BadTarget {
            path: new.to_owned(),
            what: "already exists; a renamed session needs this name: move or delete it"
                .to_string(),
        });
    }
    fs::rename(old, new).map_err(Error::io(old))
}

/// New version of a file, for the holder of its lock. It is removed when it is dropped before [`NewVersion::replace_target`].
pub(crate) struct NewVersion {
    file: File,
    path: PathBuf,
    target: PathBuf,
    is_done: bool,
}

impl NewVersion {
    /// Creates an empty new version of a file that [`resolve_target`] gave. Whoever can read the old one can read it; if there is none,
    /// nobody else can: it has whole sessions.
    pub(crate) fn create(target: &Path) -> Result<Self> {
        let path = path_beside(target, NEW_VERSION_SUFFIX);
        match fs::symlink_metadata(&path) {
            // Left by a process that was killed.
            Ok(found) if found.is_file() => fs::remove_file(&path).map_err(Error::io(&path))?,
            Ok(_) => return Err(in_the_way(&path)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(&path)(error)),
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let new = NewVersion {
            file: options.open(&path).map_err(Error::io(target))?,
            path,
            target: target.to_owned(),
            is_done: false,
        };
        #[cfg(unix)]
        if let Ok(old) = fs::metadata(target) {
            keep_access(&old, &new.file).map_err(Error::io(target))?;
        }
        Ok(new)
    }

    /// The file to write to.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The file that it is a new version of.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Makes the new version durable and renames it over the target; returns its size.
    pub(crate) fn replace_target(mut self) -> Result<u64> {
        self.file.sync_all().map_err(Error::io(&self.target))?;
        let bytes = self.file.metadata().map_err(Error::io(&self.target))?.len();
        fs::rename(&self.path, &self.target).map_err(Error::io(&self.target))?;
        self.is_done = true;
        // Or a power cut might bring the old file back.
        #[cfg(unix)]
        {
            let folder = folder_of(&self.target);
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(Error::io(folder))?;
        }
        Ok(bytes)
    }
}

impl Drop for NewVersion {
    fn drop(&mut self) {
        if !self.is_done {
            // One that cannot be removed is removed by the next writer.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Gives a new version the owner, the group and the mode of the old one. Another group than the old one gets no access.
#[cfg(unix)]
fn keep_access(old: &fs::Metadata, new: &File) -> std::io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let (owner, group) = (Some(old.uid()), Some(old.gid()));
    if new.metadata()?.gid() != old.gid() || new.metadata()?.uid() != old.uid() {
        // Only root may give a file away; others may give it to a group of theirs.
        let _ = fchown(new, owner, group).or_else(|_| fchown(new, None, group));
    }
    let mut mode = old.permissions().mode() & 0o777;
    if new.metadata()?.gid() != old.gid() {
        mode &= !0o070;
    }
    new.set_permissions(fs::Permissions::from_mode(mode))
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Returns a hidden path in the same folder, which no pattern for session files or tables finds.
fn path_beside(target: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(suffix);
    target.with_file_name(name)
}

fn lock_path(target: &Path) -> PathBuf {
    match target.is_dir() {
        true => target.join(LOCK_SUFFIX),
        false => path_beside(target, LOCK_SUFFIX),
    }
}

fn in_the_way(path: &Path) -> Error {
    Error::BadTarget {
        path: path.to_owned(),
        what: "is not a regular file owned by you; remove it".to_string(),
    }
}

/// Opens or creates the file of a lock: not through a link that someone put there, and without waiting for the other end of a pipe.
fn open_lock(path: &Path, target: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.custom_flags(flags.bits() as i32).mode(0o600);
    }
    let opened = options.open(path);
    let found = match &opened {
        Ok(file) => file.metadata(),
        Err(_) => fs::symlink_metadata(path),
    };
    match found {
        Ok(found) if !is_own_file(&found) => Err(in_the_way(path)),
        _ => opened.map_err(Error::io(target)),
    }
}

#[cfg(unix)]
fn is_own_file(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    // Removed meanwhile: no link at all.
    found.is_file() && found.nlink() <= 1 && is_own
}

#[cfg(not(unix))]
fn is_own_file(found: &fs::Metadata) -> bool {
    found.is_file()
}

#[cfg(unix)]
fn is_at_path(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |found: fs::Metadata| (found.dev(), found.ino());
    let named = fs::symlink_metadata(path).map(place).ok();
    named.is_some() && named == file.metadata().map(place).ok()
}

#[cfg(not(unix))]
fn is_at_path(_file: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_renamed_over_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let [old, new] = ["old", "new"].map(|name| folder.path().join(name));
        fs::write(&old, "old").unwrap();
        fs::write(&new, "new").unwrap();
        let error = rename_target(&old, &new).unwrap_err().to_string();
        assert!(error.contains("needs this name"), "{error}");
        assert_eq!(fs::read(&new).unwrap(), b"new");
        fs::remove_file(&new).unwrap();
        rename_target(&old, &new).unwrap();
        assert_eq!(fs::read(&new).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
