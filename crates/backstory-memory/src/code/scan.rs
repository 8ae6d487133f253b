//! Source files on disk, as git would see them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use backstory_code::{Language, MAX_BYTES, Outline, Skipped, outline};
use ignore::WalkBuilder;

use super::files::is_foreign;
use super::stored::SnapshotSource;
use crate::git::worktree_root;
use crate::import::discover::Problem;
use crate::trusted::read_regular_file;

/// Files with patterns of what to leave out.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// Limit for such a file.
const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;

/// No more files and folders of a folder are looked at; walking so many takes a few seconds.
const MAX_ENTRIES: usize = 500_000;
/// No more source files of a folder are read, nor more bytes of them; parsing so many takes about ten seconds.
const MAX_SOURCE_FILES: usize = 20_000;
const MAX_SOURCE_BYTES: u64 = 64 << 20;

/// What is in a source file.
#[derive(Debug, Clone)]
pub struct SourceOutline {
    /// Its path.
    pub path: PathBuf,
    /// The language that it is in.
    pub language: &'static Language,
    /// What it defines and calls, or why it was not looked into.
    pub outline: Result<Outline, Skipped>,
    /// The snapshot that it is from; `None` when it is the file on disk.
    pub snapshot: Option<SnapshotSource>,
}

/// What is in the source files of a folder.
#[derive(Debug, Clone, Default)]
pub struct SourceFolder {
    /// The files, in the order of their names.
    pub files: Vec<SourceOutline>,
    /// Those that could not be read.
    pub problems: Vec<Problem>,
    /// Where the walk ended because there was too much to look at.
    pub stopped_at: Option<PathBuf>,
}

/// Looks into a source file; `None` when it is in no language that is known here.
pub fn scan_file(path: &Path) -> std::io::Result<Option<SourceOutline>> {
    let language = Language::of_path(path);
    language.map(|language| scan(path, language)).transpose()
}

/// Looks into every source file below a folder, but for those that git would ignore and those on other file systems. Ends early
/// in a folder that has too many.
pub fn scan_folder(folder: &Path) -> SourceFolder {
    scan_at_most(folder, MAX_ENTRIES, MAX_SOURCE_FILES, MAX_SOURCE_BYTES)
}

fn scan_at_most(
    folder: &Path,
    max_entries: usize,
    max_files: usize,
    max_bytes: u64,
) -> SourceFolder {
    if let Some(unreadable) = unreadable_ignore_file(folder) {
        return SourceFolder {
            problems: vec![unreadable],
            ..SourceFolder::default()
        };
    }
    let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    let mut above = real.ancestors().skip(1).filter_map(unreadable_ignore_file);
    let above = above.next();
    let unreadable: Arc<Mutex<Vec<Problem>>> = Arc::default();
    let left_out = Arc::clone(&unreadable);
    let is_wanted = move |entry: &ignore::DirEntry| {
        let name = entry.file_name().to_str().unwrap_or_default();
        if !entry.file_type().is_some_and(|kind| kind.is_dir()) || entry.depth() == 0 {
            return true;
        }
        if is_foreign(name) {
            return false;
        }
        match unreadable_ignore_file(entry.path()) {
            Some(problem) => left_out.lock().is_ok_and(|mut all| {
                all.push(problem);
                false
            }),
            None => true,
        }
    };
    let walk = WalkBuilder::new(folder)
        .require_git(false)
        // The walker would follow links of worktrees without any limit.
        .git_exclude(false)
        .parents(above.is_none())
        .same_file_system(true)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(is_wanted)
        .build();
    let mut files: Vec<(PathBuf, &'static Language)> = Vec::new();
    let mut bytes = 0;
    let mut stopped_at = None;
    for (number, entry) in walk.filter_map(Result::ok).enumerate() {
        if number >= max_entries || files.len() >= max_files || bytes >= max_bytes {
            stopped_at = Some(entry.into_path());
            break;
        }
        if entry.file_type().is_some_and(|kind| kind.is_file())
            && let Some(language) = Language::of_path(entry.path())
        {
            let length = entry.metadata().map_or(0, |metadata| metadata.len());
            // Of a longer one nothing is read.
            bytes += if length > MAX_BYTES as u64 { 0 } else { length };
            files.push((entry.into_path(), language));
        }
    }
    let mut found = outlines(&files);
    found.stopped_at = stopped_at;
    found.problems.extend(above);
    if let Ok(mut unreadable) = unreadable.lock() {
        found.problems.append(&mut unreadable);
    }
    found
}

/// Returns the ignore file of a folder that the walker must not read: it opens whatever has the name, and a pipe or device would never
/// end. A repository can have it as a link.
fn unreadable_ignore_file(folder: &Path) -> Option<Problem> {
    IGNORE_FILES.iter().find_map(|name| {
        let path = folder.join(name);
        let file = std::fs::metadata(&path).ok()?;
        let is_small = file.is_file() && file.len() <= MAX_IGNORE_FILE_BYTES;
        (!is_small && !file.is_dir()).then(|| Problem {
            path,
            reason: "not a regular file of at most 1 MiB: its folder is left out".to_string(),
        })
    })
}

/// The repository around a folder, or the folder itself.
pub fn repository_around(folder: &Path) -> &Path {
    worktree_root(folder).unwrap_or(folder)
}

/// On all cores, in order.
fn outlines(files: &[(PathBuf, &'static Language)]) -> SourceFolder {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(SourceFolder::default());
    let work = || {
        while let Some((path, language)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let scanned = scan(path, language);
            let Ok(mut found) = found.lock() else { return };
            match scanned {
                Ok(scanned) => found.files.push(scanned),
                Err(error) => found.problems.push(Problem {
                    path: path.clone(),
                    reason: error.to_string(),
                }),
            }
        }
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 1..cores.min(files.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut found = found.into_inner().unwrap_or_default();
    found.files.sort_by(|one, other| one.path.cmp(&other.path));
    found
        .problems
        .sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn scan(path: &Path, language: &'static Language) -> std::io::Result<SourceOutline> {
    let outline = match read_regular_file(path, MAX_BYTES as u64) {
        Ok(bytes) => outline(language, &bytes),
        Err(error) if error.kind() == ErrorKind::FileTooLarge => Err(Skipped::TooLarge),
        Err(error) => return Err(error),
    };
    Ok(SourceOutline {
        path: path.to_path_buf(),
        language,
        outline,
        snapshot: None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_too_much_in_it_is_looked_at_in_part() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.py", "b.txt", "c.py", "d.py"] {
            std::fs::write(folder.path().join(name), "x = 1\n").unwrap();
        }
        let check = |entries, files, bytes, count: usize, stopped: Option<&str>| {
            let found = scan_at_most(folder.path(), entries, files, bytes);
            let stopped = stopped.map(|name| folder.path().join(name));
            assert_eq!((found.files.len(), found.stopped_at), (count, stopped));
        };
        check(100, 100, 100, 3, None);
        check(100, 3, 100, 3, None);
        check(100, 2, 100, 2, Some("d.py"));
        check(100, 100, 12, 2, Some("d.py"));
        // The folder itself is the first entry.
        check(3, 100, 100, 1, Some("c.py"));
    }
}
