//! Source files, as git would see them.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use backstory_code::{LANGUAGES, Language, MAX_BYTES, Outline, Skipped, outline};
use ignore::WalkBuilder;

use crate::error::{Error, ErrorKind};
use crate::output::warn;

/// Folders of code that somebody else wrote.
const FOREIGN: &[&str] = &["node_modules", "target", "vendor"];

/// One source file.
pub(super) struct Scanned {
    pub(super) path: String,
    pub(super) language: &'static Language,
    pub(super) outline: Result<Outline, Skipped>,
}

/// Looks into one file.
pub(super) fn file(path: &Path) -> Result<Scanned, Error> {
    let Some(language) = Language::of_path(path) else {
        let message = format!("{} is in no language that is known here", path.display());
        return Err(Error::new(ErrorKind::NotFound, message).hint(known_languages()));
    };
    let scanned = scan(path, language);
    scanned.map_err(|error| Error::usage(format!("{}: {error}", path.display())))
}

/// Looks into every source file below a folder, in the order of their names.
pub(super) fn folder(folder: &Path) -> Vec<Scanned> {
    let foreign = |entry: &ignore::DirEntry| {
        let name = entry.file_name().to_str().unwrap_or_default();
        entry.depth() > 0 && FOREIGN.contains(&name)
    };
    let walk = WalkBuilder::new(folder)
        .require_git(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(move |entry| !foreign(entry))
        .build();
    let files: Vec<(PathBuf, &'static Language)> = walk
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .filter_map(|entry| Some((entry.path().to_path_buf(), Language::of_path(entry.path())?)))
        .collect();
    outlines(&files)
}

/// On all cores, in order.
fn outlines(files: &[(PathBuf, &'static Language)]) -> Vec<Scanned> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let work = || {
        while let Some((path, language)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            match scan(path, language) {
                Ok(scanned) => {
                    if let Ok(mut found) = found.lock() {
                        found.push(scanned);
                    }
                }
                Err(error) => warn(&format!("{}: {error}", path.display())),
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
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn scan(path: &Path, language: &'static Language) -> std::io::Result<Scanned> {
    let told = path.strip_prefix(".").unwrap_or(path);
    let too_large = std::fs::metadata(path)?.len() > MAX_BYTES as u64;
    let outline = match too_large {
        true => Err(Skipped::TooLarge),
        false => outline(language, &std::fs::read(path)?),
    };
    Ok(Scanned {
        path: told.display().to_string(),
        language,
        outline,
    })
}

/// The repository around a folder, or the folder itself.
pub(super) fn repository(folder: &Path) -> PathBuf {
    let mut above = folder.ancestors();
    let root = above.find(|above| above.join(".git").exists());
    root.unwrap_or(folder).to_path_buf()
}

/// For whoever has none of these.
pub(super) fn known_languages() -> String {
    let names: Vec<String> = LANGUAGES
        .iter()
        .map(|language| format!("{} (.{})", language.name, language.extensions.join(", .")))
        .collect();
    format!("known are {}", names.join("; "))
}
