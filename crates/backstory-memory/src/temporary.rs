//! Folders for data that is thrown away: private, removed when they are dropped, and by the next process if theirs was killed.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::import::discover::is_own;
use crate::random::random_key;

/// Beginning of the names of such folders.
const NAME_PREFIX: &str = "backstory-tmp-";

/// File in such a folder whose lock its process holds as long as it lives.
const LOCK_NAME: &str = "in-use.lock";

/// Number of names that are tried: another process may remove a folder in the instant before its lock is taken.
const MAX_TRIES: usize = 16;

/// A private folder that is removed, with everything in it, when this is dropped.
#[derive(Debug)]
pub struct TemporaryFolder {
    path: PathBuf,
    lock: Option<File>,
}

impl TemporaryFolder {
    /// Makes a folder below `parent`, and removes those of processes that were killed.
    pub fn create(parent: &Path) -> Result<Self> {
        remove_leftovers(parent);
        for _ in 0..MAX_TRIES {
            let random = random_key();
            let name: String = random.iter().take(8).map(|b| format!("{b:02x}")).collect();
            let path = parent.join(format!("{NAME_PREFIX}{name}"));
            match TemporaryFolder::create_at(&path) {
                Ok(Some(folder)) => return Ok(folder),
                Ok(None) => {}
                Err(source) => return Err(Error::Path { path, source }),
            }
        }
        Err(Error::Path {
            path: parent.to_path_buf(),
            source: std::io::Error::other("other processes remove every folder made there"),
        })
    }

    /// Makes the folder and takes its lock; `None` when another process took it for a leftover meanwhile.
    fn create_at(path: &Path) -> std::io::Result<Option<Self>> {
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)?;
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let lock = match options.open(path.join(LOCK_NAME)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            lock => lock?,
        };
        // Whoever removes a folder holds its lock, so one that is still there now stays.
        let is_ours = lock.try_lock().is_ok() && path.join(LOCK_NAME).exists();
        Ok(is_ours.then(|| TemporaryFolder {
            path: path.to_path_buf(),
            lock: Some(lock),
        }))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Some systems remove no file that is open.
        drop(self.lock.take());
        // What cannot be removed now is a leftover of the next process.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Removes folders whose process lives no more. Only the user's own ones: `parent` may be writable for everybody.
fn remove_leftovers(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_named = name
            .to_str()
            .is_some_and(|name| name.starts_with(NAME_PREFIX));
        // Of the entry itself: a link is not followed.
        let is_own_folder = |entry: std::fs::Metadata| entry.file_type().is_dir() && is_own(&entry);
        if is_named && entry.metadata().is_ok_and(is_own_folder) {
            remove_leftover(&entry.path());
        }
    }
}

fn remove_leftover(folder: &Path) {
    match File::options().write(true).open(folder.join(LOCK_NAME)) {
        Ok(lock) if lock.try_lock().is_ok() => {
            // The lock file goes last: without it the folder would look as if it were just being made.
            let _ = remove_content(folder)
                .and_then(|()| std::fs::remove_file(folder.join(LOCK_NAME)))
                .and_then(|()| std::fs::remove_dir(folder));
        }
        // Just being made, or left in the instant before it had its lock file; only an empty one can be removed so.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let _ = std::fs::remove_dir(folder);
        }
        _ => {}
    }
}

fn remove_content(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == LOCK_NAME {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => std::fs::remove_dir_all(entry.path())?,
            false => std::fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_private_and_goes_with_its_owner() {
        let parent = tempfile::tempdir().unwrap();
        let folder = TemporaryFolder::create(parent.path()).unwrap();
        std::fs::create_dir(folder.path().join("inner")).unwrap();
        std::fs::write(folder.path().join("inner/file"), "text").unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = folder.path().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        // Those that are in use stay.
        let other = TemporaryFolder::create(parent.path()).unwrap();
        assert!(folder.path().join("inner/file").exists());
        drop((folder, other));
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    #[cfg(unix)]
    fn leftovers_go_and_nothing_else_does() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        // What a killed process leaves: with its lock file, and without.
        for (name, file) in [("1", Some("in-use.lock")), ("2", None)] {
            let folder = at(&format!("{NAME_PREFIX}{name}"));
            std::fs::create_dir(&folder).unwrap();
            if let Some(file) = file {
                std::fs::write(folder.join(file), "").unwrap();
                std::fs::create_dir(folder.join("inner")).unwrap();
                std::fs::write(folder.join("inner/backstory.db"), "x").unwrap();
            }
        }
        // What only looks like it.
        let kept = at("kept");
        std::fs::create_dir(&kept).unwrap();
        std::fs::write(kept.join("in-use.lock"), "").unwrap();
        std::os::unix::fs::symlink(&kept, at(&format!("{NAME_PREFIX}link"))).unwrap();
        std::fs::write(at(&format!("{NAME_PREFIX}file")), "").unwrap();
        let odd = at(&format!("{NAME_PREFIX}odd"));
        std::fs::create_dir(&odd).unwrap();
        std::fs::write(odd.join("file"), "").unwrap();
        let folder = TemporaryFolder::create(parent.path()).unwrap();
        assert!(!at(&format!("{NAME_PREFIX}1")).exists());
        assert!(!at(&format!("{NAME_PREFIX}2")).exists());
        assert!(kept.join("in-use.lock").exists());
        assert!(odd.join("file").exists() && at(&format!("{NAME_PREFIX}file")).exists());
        assert!(folder.path().exists());
    }

    #[test]
    fn many_at_once_do_not_remove_each_other() {
        let parent = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let folder = TemporaryFolder::create(parent.path()).unwrap();
                        let file = folder.path().join("file");
                        std::fs::write(&file, "text").unwrap();
                        assert_eq!(std::fs::read_to_string(&file).unwrap(), "text");
                    }
                });
            }
        });
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
