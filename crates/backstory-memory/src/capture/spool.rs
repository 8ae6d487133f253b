//! Where captures wait when the store cannot be had: a file each, written beside and renamed, so that one is whole or not there.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use backstory_session::redact::Redactor;

use super::Capture;
use crate::Memory;
use crate::error::Result;

/// No capture is larger; what is was not written by us.
const LARGEST: u64 = 32 << 20;

/// The folders where captures wait.
#[derive(Debug, Clone)]
pub struct Spool {
    folders: Vec<PathBuf>,
}

impl Spool {
    /// In the store's folder, or in one of others when that cannot be written to. They need not be there.
    pub fn new(home: &Path, elsewhere: Vec<PathBuf>) -> Self {
        let own = std::iter::once(home.join("spool"));
        Spool {
            folders: own.chain(elsewhere).collect(),
        }
    }

    /// Puts a capture where the next process finds it; the error of the last place when there is none. Without a redactor secrets
    /// stay. Whoever cannot read the store does not know its key, so markers of the same secret differ.
    pub fn put(&self, capture: &Capture, redactor: Option<&Redactor>) -> std::io::Result<()> {
        let json = serde_json::to_vec(&capture.clean(redactor))?;
        let name = format!("{:015}-{:016x}.json", capture.at.max(0), capture.nonce);
        let mut problem = std::io::Error::from(std::io::ErrorKind::NotFound);
        for folder in &self.folders {
            match write(folder, &name, &json) {
                Ok(()) => return Ok(()),
                Err(error) => problem = error,
            }
        }
        Err(problem)
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.files("json").next().is_none()
    }

    /// How many captures wait.
    pub fn len(&self) -> usize {
        self.files("json").count()
    }

    /// Removes what processes that died before this time were writing.
    pub fn clean(&self, before: SystemTime) {
        for path in self.files("part") {
            let written = std::fs::metadata(&path).and_then(|file| file.modified());
            if written.is_ok_and(|time| time < before) {
                let _ = std::fs::remove_file(path);
            }
        }
    }

    /// What waits, the oldest first.
    fn waiting(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.files("json").collect();
        files.sort_by(|one, other| one.file_name().cmp(&other.file_name()));
        files
    }

    fn files(&self, ending: &str) -> impl Iterator<Item = PathBuf> {
        self.folders
            .iter()
            .filter_map(|folder| std::fs::read_dir(folder).ok())
            .flat_map(|entries| entries.flatten().map(|entry| entry.path()))
            .filter(move |path| path.extension().is_some_and(|found| found == ending))
    }
}

impl Memory {
    /// Stores what waits in the spool, at most so many; how many there were. One that cannot be read is put aside.
    pub fn drain(&mut self, spool: &Spool, most: usize) -> Result<usize> {
        let mut drained = 0;
        for path in spool.waiting().into_iter().take(most) {
            let is_capture =
                std::fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() <= LARGEST);
            let capture = is_capture
                .then(|| std::fs::read(&path).ok())
                .flatten()
                .and_then(|json| serde_json::from_slice::<Capture>(&json).ok());
            match capture {
                Some(capture) => {
                    capture.store(&mut self.store, self.redactor.as_ref())?;
                    // Should it be stored again because it cannot be removed: it is known by its key.
                    let _ = std::fs::remove_file(&path);
                    drained += 1;
                }
                // Another process was faster, or it is not ours.
                None if !path.exists() => {}
                None => {
                    let _ = std::fs::rename(&path, path.with_extension("unreadable"));
                }
            }
        }
        Ok(drained)
    }
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    let beside = folder.join(format!("{name}.part"));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&beside).and_then(|mut file| {
        must_be_private(folder, &file)?;
        file.write_all(bytes)?;
        std::fs::rename(&beside, folder.join(name))
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// A folder among temporary things may have been made by somebody else. It must belong to whom a file in it belongs to.
#[cfg(unix)]
fn must_be_private(folder: &Path, file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let (folder, file) = (std::fs::symlink_metadata(folder)?, file.metadata()?);
    if folder.is_dir() && folder.uid() == file.uid() && folder.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(std::io::ErrorKind::PermissionDenied.into())
}

#[cfg(not(unix))]
fn must_be_private(_folder: &Path, _file: &File) -> std::io::Result<()> {
    Ok(())
}
