//! Spool of captures while the store cannot be written: a file each, written beside and renamed, so that one is whole or not there.
//!
//! The store's own folder comes first; when that takes nothing, a folder among temporary files does. Somebody else may have made
//! that one, or put something into it, so every folder and file is opened by [`trusted`](crate::trusted) and must be ours.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use backstory_redact::Redactor;
use backstory_store::is_store_entry;
use backstory_store::private::{Folder, Privacy, make_private_folder};

use super::{Capture, MAX_CAPTURE_BYTES};
use crate::Captures;
use crate::error::Result;
use crate::import::discover::Problem;
use crate::trusted::{is_private_folder, read_at_most};

/// Ending of a whole capture.
const CAPTURE: &str = "json";
/// Ending of a capture that is being written.
const PART: &str = "part";
/// Ending of a file of ours that is no capture.
const UNREADABLE: &str = "unreadable";
/// Ending of an empty file whose name tells of a capture that could be written nowhere.
const LOST: &str = "lost";

/// Maximum number of unreadable files that a report names.
const MAX_NAMED_FILES: usize = 5;

/// The folders where captures wait.
#[derive(Debug, Clone)]
pub struct Spool {
    home: PathBuf,
    folders: Vec<PathBuf>,
}

/// Limits on what is drained at once.
#[derive(Debug, Clone, Copy)]
pub struct DrainLimits {
    /// Number of captures.
    pub captures: usize,
    /// Bytes of all captures.
    pub bytes: u64,
}

impl DrainLimits {
    /// Everything that waits.
    pub const NONE: DrainLimits = DrainLimits {
        captures: usize::MAX,
        bytes: u64::MAX,
    };
}

/// What became of captures that waited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DrainReport {
    /// Number of captures stored.
    pub stored: usize,
    /// Folders and files that were not trusted and are left as they are, captures that could be written nowhere, and files that
    /// are no capture.
    pub problems: Vec<Problem>,
}

/// A file in a spool.
struct Waiting<'a> {
    folder: &'a Folder,
    name: OsString,
}

impl Spool {
    /// In the store's folder, or in one of others when that cannot be written to. They need not be there.
    pub fn new(home: &Path, elsewhere: Vec<PathBuf>) -> Self {
        let own = std::iter::once(home.join("spool"));
        Spool {
            home: home.to_path_buf(),
            folders: own.chain(elsewhere).collect(),
        }
    }

    /// Returns the folders that are there, ours, and closed to everybody else.
    pub(crate) fn private_folders(&self) -> Vec<PathBuf> {
        let folders = self.folders.iter();
        folders
            .filter(|folder| is_private_folder(folder))
            .cloned()
            .collect()
    }

    /// Puts a capture where the next process finds it, as it is: it must have been cleaned. One that is too large to be read again
    /// leaves a marker. The error of the last place when there is none.
    pub fn put(&self, cleaned: &Capture) -> io::Result<()> {
        let mut json = serde_json::to_vec(cleaned)?;
        if json.len() as u64 > MAX_CAPTURE_BYTES {
            json = serde_json::to_vec(&cleaned.marker(json.len() as u64))?;
        }
        let name = format!("{:015}-{:016x}", cleaned.at.get().max(0), cleaned.nonce);
        self.put_file(&name, &json)
    }

    fn put_file(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut problem = io::Error::from(io::ErrorKind::NotFound);
        for number in 0..self.folders.len() {
            let written = self
                .make_folder(number)
                .and_then(|folder| write(&folder, name, bytes));
            match written {
                Ok(()) => return Ok(()),
                Err(error) => problem = error,
            }
        }
        Err(problem)
    }

    /// Leaves a trace of a capture that can be written nowhere: an empty file, which a full disk and a limit on the size of files
    /// still allow, whose name tells what it was. The agent's log has the event.
    pub fn put_trace(&self, capture: &Capture) -> io::Result<()> {
        let agent = capture.input.agent.name;
        let event = &capture.input.event;
        let name = format!("{:015}-{agent}-{event}.{LOST}", capture.at.get().max(0));
        let mut problem = io::Error::from(io::ErrorKind::NotFound);
        for number in 0..self.folders.len() {
            let made = self
                .make_folder(number)
                .and_then(|folder| folder.create_file(name.as_ref()));
            match made {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
                Err(error) => problem = error,
            }
        }
        Err(problem)
    }

    /// Opens a folder to write to it, making it as needed.
    fn make_folder(&self, number: usize) -> io::Result<Folder> {
        let path = self
            .folders
            .get(number)
            .map_or(Path::new(""), PathBuf::as_path);
        if number == 0 {
            make_private_folder(&self.home, is_store_entry)?;
            make_private_folder(path, |_| true)?;
        } else {
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(path)?;
        }
        Folder::open(path, Privacy::Private)
    }

    /// The folders that are there and ours, and those that are there and not.
    fn open_folders(&self) -> (Vec<Folder>, Vec<Problem>) {
        let (mut folders, mut problems) = (Vec::new(), Vec::new());
        for (number, path) in self.folders.iter().enumerate() {
            let mut opened = Folder::open(path, Privacy::Private);
            // One of ours below the store may have become wider, as after a restore.
            if number == 0
                && opened
                    .as_ref()
                    .is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
                && make_private_folder(&self.home, is_store_entry).is_ok()
                && make_private_folder(path, |_| true).is_ok()
            {
                opened = Folder::open(path, Privacy::Private);
            }
            match opened {
                Ok(folder) => folders.push(folder),
                Err(error) if is_missing(&error) => {}
                Err(error) => problems.push(Problem {
                    path: path.clone(),
                    reason: format!("captures that wait there are not read: {error}"),
                }),
            }
        }
        (folders, problems)
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        let (folders, _) = self.open_folders();
        !files(&folders, CAPTURE)
            .iter()
            .any(|file| file.open().is_ok())
    }

    /// Number of captures that wait.
    pub fn len(&self) -> usize {
        let (folders, _) = self.open_folders();
        let files = files(&folders, CAPTURE);
        files.iter().filter(|file| file.open().is_ok()).count()
    }

    /// Folders and files that are not trusted, captures that could be written nowhere, and those that could not be read.
    pub fn problems(&self) -> Vec<Problem> {
        let (folders, mut problems) = self.open_folders();
        for file in files(&folders, CAPTURE) {
            if let Err(error) = file.open()
                && !is_missing(&error)
            {
                problems.push(file.problem(&error));
            }
        }
        problems.extend(files(&folders, LOST).iter().map(lost_capture));
        problems.extend(folders.iter().filter_map(unreadable_captures));
        problems
    }

    /// Removes the traces of captures that could be written nowhere, once somebody was told of them.
    pub fn remove_traces(&self) {
        let (folders, _) = self.open_folders();
        for file in files(&folders, LOST) {
            let _ = file.folder.remove_file(&file.name);
        }
    }

    /// Removes what processes that died before this time were writing.
    pub fn clean(&self, before: SystemTime) {
        let (folders, _) = self.open_folders();
        for file in files(&folders, PART) {
            let written = file.open().and_then(|file| file.metadata()?.modified());
            if written.is_ok_and(|time| time < before) {
                let _ = file.folder.remove_file(&file.name);
            }
        }
    }
}

impl Waiting<'_> {
    fn open(&self) -> io::Result<File> {
        self.folder.open_file(&self.name, Privacy::OnlyWeWrite)
    }

    fn problem(&self, error: &io::Error) -> Problem {
        Problem {
            path: self.folder.path().join(&self.name),
            reason: format!("this capture is not read: {error}"),
        }
    }
}

impl Captures<'_> {
    /// Stores all captures that wait in the spool, redacted with the key of the store if they are to be.
    pub fn drain(&self, spool: &Spool, redact: bool) -> Result<DrainReport> {
        if spool.is_empty() {
            return Ok(DrainReport {
                stored: 0,
                problems: spool.problems(),
            });
        }
        let redactor = match redact {
            true => Some(self.memory.store_redactor()?),
            false => None,
        };
        self.drain_some(spool, DrainLimits::NONE, redactor.as_ref())
    }

    /// Stores captures that wait in the spool, the oldest first, redacted with this redactor if there is one. A file of ours that
    /// is no capture is put aside; one that is not trusted stays where it is.
    pub fn drain_some(
        &self,
        spool: &Spool,
        limits: DrainLimits,
        redactor: Option<&Redactor>,
    ) -> Result<DrainReport> {
        let (folders, problems) = spool.open_folders();
        let mut report = DrainReport {
            stored: 0,
            problems,
        };
        let mut bytes = 0;
        for file in files(&folders, CAPTURE).into_iter().take(limits.captures) {
            let opened = match file.open() {
                Ok(opened) => opened,
                // Another process was faster.
                Err(error) if is_missing(&error) => continue,
                Err(error) => {
                    report.problems.push(file.problem(&error));
                    continue;
                }
            };
            bytes += opened.metadata().map_or(0, |metadata| metadata.len());
            if bytes > limits.bytes {
                break;
            }
            let json = read_at_most(&opened, MAX_CAPTURE_BYTES).ok().flatten();
            let capture = json.and_then(|json| serde_json::from_slice::<Capture>(&json).ok());
            match capture {
                Some(capture) => {
                    capture
                        .clean(redactor)
                        .store(&self.memory.store, redactor)?;
                    // Should it be stored again because it cannot be removed: it is known by its key.
                    let _ = file.folder.remove_file(&file.name);
                    report.stored += 1;
                }
                None => {
                    let aside = Path::new(&file.name).with_extension(UNREADABLE);
                    let _ = file.folder.rename_file(&file.name, aside.as_os_str());
                }
            }
        }
        let lost = files(&folders, LOST);
        report.problems.extend(lost.iter().map(lost_capture));
        let unreadable = folders.iter().filter_map(unreadable_captures);
        report.problems.extend(unreadable);
        Ok(report)
    }
}

/// Files with an ending, the oldest first.
fn files<'a>(folders: &'a [Folder], ending: &str) -> Vec<Waiting<'a>> {
    let mut files = Vec::new();
    for folder in folders {
        let names = folder.names().unwrap_or_default().into_iter();
        let names = names.filter(|name| Path::new(name).extension() == Some(OsStr::new(ending)));
        files.extend(names.map(|name| Waiting { folder, name }));
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    files
}

fn lost_capture(file: &Waiting<'_>) -> Problem {
    Problem {
        path: file.folder.path().join(&file.name),
        reason: "a hook could not write what it was given; the agent's log has it".to_string(),
    }
}

/// Reports the files of a folder that were put aside because they are no capture.
fn unreadable_captures(folder: &Folder) -> Option<Problem> {
    let files = files(std::slice::from_ref(folder), UNREADABLE);
    let count = match files.len() {
        0 => return None,
        1 => "1 capture".to_string(),
        count => format!("{count} captures"),
    };
    let named = files.iter().take(MAX_NAMED_FILES);
    let mut named: Vec<String> = named
        .map(|file| file.name.to_string_lossy().into_owned())
        .collect();
    if files.len() > MAX_NAMED_FILES {
        named.push("…".to_string());
    }
    Some(Problem {
        path: folder.path().to_path_buf(),
        reason: format!(
            "{count} could not be read and will not be stored ({}): `backstory sweep` imports the same events from the agent's log; \
             then delete the `.{UNREADABLE}` files",
            named.join(", ")
        ),
    })
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// Writes a file beside and renames it. The hook and its watchdog may both write the same capture: each has a part of its own.
fn write(folder: &Folder, name: &str, bytes: &[u8]) -> io::Result<()> {
    static ATTEMPTS: AtomicU32 = AtomicU32::new(0);
    let attempt = ATTEMPTS.fetch_add(1, Ordering::Relaxed);
    let whole = OsString::from(format!("{name}.{CAPTURE}"));
    let part = OsString::from(format!("{name}.{attempt}.{CAPTURE}.{PART}"));
    let written = folder.create_file(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        folder.rename_file(&part, &whole)
    });
    if written.is_err() {
        let _ = folder.remove_file(&part);
    }
    written
}
