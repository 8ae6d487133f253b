//! Files of a worktree that differ from the last commit.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::index::{IndexEntry, Listed, next_listed};
use super::metadata::git_folder;
use super::process::{Deadline, Git};

/// Limit for all of it. What was found until then counts: a huge repository must not hold up the start of a session.
const MAX_TIME: Duration = Duration::from_millis(80);

/// Limit for the files of each kind: modified, staged, untracked.
const MAX_FILES: usize = 200;

/// Limit for one listed path with its data, and for the list of staged files.
const MAX_OUTPUT_BYTES: usize = 256 << 10;

/// Limit for files that are hashed because their times changed and their sizes did not.
const MAX_HASHED_FILES: usize = 64;

/// Larger files are not hashed.
const MAX_HASHED_BYTES: u64 = 1 << 20;

/// Files that differ from the last commit. Git is asked in the background, for it takes as long as everything else.
#[derive(Debug, Default)]
pub(crate) struct ChangedFiles {
    known: OnceLock<Vec<String>>,
    asked: Option<(Mutex<Receiver<Vec<String>>>, Deadline)>,
}

impl ChangedFiles {
    /// Begins to look at the worktree with this top folder, which must be one that the user is in or has named.
    pub(crate) fn find_in(root: PathBuf) -> Self {
        let (sender, receiver) = channel();
        let deadline = Deadline::after(MAX_TIME);
        let until = deadline.clone();
        // Without a thread nothing is found.
        let _ = std::thread::Builder::new().spawn(move || {
            let _ = sender.send(changed_files(&root, &until));
        });
        ChangedFiles {
            known: OnceLock::new(),
            asked: Some((Mutex::new(receiver), deadline)),
        }
    }

    /// These files, found already.
    #[cfg(test)]
    pub(crate) fn known(files: Vec<String>) -> Self {
        ChangedFiles {
            known: OnceLock::from(files),
            asked: None,
        }
    }

    #[cfg(test)]
    pub(super) fn is_running(&self) -> bool {
        let asked = self.asked.as_ref();
        asked.is_some_and(|(_, deadline)| !deadline.is_over())
    }

    /// Their paths below the top folder of the worktree, as soon as they are known.
    pub(crate) fn paths(&self) -> &[String] {
        self.known.get_or_init(|| self.wait().unwrap_or_default())
    }

    /// A file system that hangs is not waited for longer than git.
    fn wait(&self) -> Option<Vec<String>> {
        let (receiver, deadline) = self.asked.as_ref()?;
        let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
        receiver.recv_timeout(deadline.remaining() + MAX_TIME).ok()
    }
}

impl Drop for ChangedFiles {
    /// Whoever does not wait for the answer may be about to exit: git is ended before.
    fn drop(&mut self) {
        if let Some((_, deadline)) = &self.asked
            && self.known.get().is_none()
        {
            deadline.cancel();
            self.wait();
        }
    }
}

/// Returns modified, deleted, staged and untracked files, as far as they are found in time. A change of permissions alone is none.
pub(super) fn changed_files(root: &Path, deadline: &Deadline) -> Vec<String> {
    let Some(git) = Git::in_worktree(root) else {
        return Vec::new();
    };
    let staged = git.start(&[
        "diff-index",
        "--cached",
        "-z",
        "--name-only",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--ignore-submodules=all",
        "HEAD",
        "--",
    ]);
    let mut changed = differing_from_index(&git, deadline);
    if let Some(staged) = staged {
        let output = staged.read_all(deadline, MAX_OUTPUT_BYTES);
        // What follows the last NUL is empty or cut off.
        let whole = memchr::memrchr(0, &output).and_then(|end| output.get(..end));
        let paths = whole.unwrap_or_default().split(|byte| *byte == 0);
        changed.extend(paths.take(MAX_FILES).map(text_of));
    }
    changed.remove("");
    changed.into_iter().collect()
}

/// Modified, deleted and untracked files. Git would compare contents with the index through the filters of the repository, so it only
/// lists the index here; the files are looked at without it.
fn differing_from_index(git: &Git, deadline: &Deadline) -> BTreeSet<String> {
    let mut scan = Scan::new(git.root());
    let listing = git.start(&[
        "ls-files",
        "-z",
        "-t",
        "--cached",
        "--others",
        "--directory",
        "--no-empty-directory",
        "--exclude-standard",
        "--stage",
        "--debug",
    ]);
    if let Some(mut listing) = listing {
        let mut output = Vec::new();
        // While git writes, what it wrote is looked at.
        while output.len() < MAX_OUTPUT_BYTES && listing.read_more(deadline, &mut output) {
            let mut rest = output.as_slice();
            while let Some(listed) = next_listed(&mut rest) {
                if deadline.is_over() {
                    break;
                }
                scan.look_at(&listed);
            }
            let looked_at = output.len() - rest.len();
            output.drain(..looked_at);
        }
    }
    let Scan {
        mut modified,
        untracked,
        unclear,
        ..
    } = scan;
    modified.extend(modified_by_hash(git, unclear, deadline));
    let modified = modified.into_iter().take(MAX_FILES);
    modified.chain(untracked).collect()
}

/// What is known of a worktree while its index is gone through.
struct Scan<'r> {
    root: &'r Path,
    /// When the index was written. Of what was modified since, time and size say nothing: it can have been modified twice.
    index_written: Option<(i64, i64)>,
    modified: BTreeSet<String>,
    untracked: Vec<String>,
    unclear: Vec<Unclear>,
}

/// A file of which only the content says whether it was modified.
struct Unclear {
    path: OsString,
    object: Vec<u8>,
    modified: (i64, i64),
}

impl<'r> Scan<'r> {
    fn new(root: &'r Path) -> Self {
        let index =
            git_folder(root).and_then(|folder| std::fs::metadata(folder.join("index")).ok());
        Scan {
            root,
            index_written: index.map(|index| (index.mtime(), index.mtime_nsec())),
            modified: BTreeSet::new(),
            untracked: Vec::new(),
            unclear: Vec::new(),
        }
    }

    fn look_at(&mut self, listed: &Listed<'_>) {
        match listed {
            // What is in a new folder is not listed.
            Listed::Untracked(path) if path.ends_with(b"/") => {}
            Listed::Untracked(path) => {
                if self.untracked.len() < MAX_FILES {
                    self.untracked.push(text_of(path));
                }
            }
            Listed::Tracked(entry) if entry.is_unwatched() => {}
            Listed::Tracked(entry) => self.compare(entry),
        }
    }

    fn compare(&mut self, entry: &IndexEntry<'_>) {
        let path = Path::new(OsStr::from_bytes(entry.path));
        let is_below = |component| matches!(component, Component::Normal(_));
        if self.modified.len() >= MAX_FILES || !path.components().all(is_below) {
            return;
        }
        let file = match std::fs::symlink_metadata(self.root.join(path)) {
            Ok(file) => file,
            Err(error) => {
                use std::io::ErrorKind::{NotADirectory, NotFound};
                if matches!(error.kind(), NotFound | NotADirectory) {
                    self.modified.insert(text_of(entry.path));
                }
                return;
            }
        };
        let is_same_kind = match entry.is_link() {
            true => file.is_symlink(),
            false => file.is_file(),
        };
        let is_same_size = u32::try_from(file.len() & u64::from(u32::MAX)) == Ok(entry.size);
        let modified = (file.mtime(), file.mtime_nsec());
        let is_recent = self
            .index_written
            .is_some_and(|written| modified >= written);
        // Git writes a size of 0 where time and size would say nothing.
        if entry.is_unfinished() || !is_same_kind || !(is_same_size || entry.size == 0) {
            self.modified.insert(text_of(entry.path));
        } else if entry.is_regular()
            && (!is_same_size || is_recent || modified != entry.modified)
            && file.len() <= MAX_HASHED_BYTES
        {
            self.unclear.push(Unclear {
                path: path.as_os_str().to_os_string(),
                object: entry.object.to_vec(),
                modified,
            });
        }
    }
}

/// Those of some files whose contents differ from the index, by their hashes without any conversion; only the last modified ones
/// when there are many, as after copying a worktree.
fn modified_by_hash(git: &Git, mut unclear: Vec<Unclear>, deadline: &Deadline) -> Vec<String> {
    if unclear.is_empty() || deadline.is_over() {
        return Vec::new();
    }
    unclear.sort_by_key(|file| std::cmp::Reverse(file.modified));
    unclear.truncate(MAX_HASHED_FILES);
    let mut arguments: Vec<&OsStr> = ["hash-object", "--no-filters", "--"].map(OsStr::new).into();
    arguments.extend(unclear.iter().map(|file| file.path.as_os_str()));
    let Some(hashing) = git.start(&arguments) else {
        return Vec::new();
    };
    let output = hashing.read_all(deadline, MAX_OUTPUT_BYTES);
    let hashes = output.split_inclusive(|byte| *byte == b'\n');
    let hashes = hashes.filter_map(|hash| hash.strip_suffix(b"\n"));
    unclear
        .iter()
        .zip(hashes)
        .filter(|(file, hash)| file.object != *hash)
        .map(|(file, _)| text_of(file.path.as_bytes()))
        .collect()
}

fn text_of(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
