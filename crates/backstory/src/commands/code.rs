//! `map`, `calls`, `changes`, `why` and `report`: what source files define and call, and which turns changed them.

mod calls;
mod changes;
mod map;
mod mermaid;
mod report;
mod stored;
mod why;

use std::path::Path;

use backstory_event::TimeMs;
use jiff::tz::TimeZone;

use backstory_memory::Memory;
use backstory_memory::code::{LANGUAGES, SymbolChangeKind};
use backstory_memory::code::{SourceFolder, scan_folder};

pub(super) use calls::run as calls;
pub(super) use changes::run as changes;
pub(super) use map::run as map;
pub(super) use report::run as report;
pub(super) use why::run as why;

use crate::error::Error;
use crate::output::{harmless, warn};
use crate::setting::{Setting, now};

/// A time that somebody typed, or the beginning of a session.
fn moment(memory: &Memory, typed: &str) -> Result<TimeMs, Error> {
    let found = memory
        .sessions()
        .time_named(typed, now(), &TimeZone::system());
    found.map_err(no_moment)
}

/// A time that somebody typed for a state as of then: of a date its end, of a session its beginning.
fn state_moment(memory: &Memory, typed: &str) -> Result<TimeMs, Error> {
    let found = memory
        .sessions()
        .state_time_named(typed, now(), &TimeZone::system());
    found.map_err(no_moment)
}

fn no_moment(error: backstory_memory::Error) -> Error {
    Error::from(error).hint("or write the id of a session, or the beginning of one")
}

/// The memory, if there is one: source files can be looked at without.
fn memory_if_any(setting: &Setting) -> Option<Memory> {
    setting.memory().ok()
}

/// Looks into the source files of a folder, and says which could not be read and where it stopped.
fn scanned(folder: &Path) -> SourceFolder {
    let found = scan_folder(folder);
    if let Some(stopped_at) = &found.stopped_at {
        warn(&format!(
            "{} has too many files: stopped at {} after {} source files; name a smaller folder",
            folder.display(),
            shown(stopped_at),
            found.files.len()
        ));
    }
    for problem in &found.problems {
        warn(&format!("{}: {}", problem.path.display(), problem.reason));
    }
    found
}

/// A path as people type it.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(here).unwrap_or(path);
    let path = path.strip_prefix(".").unwrap_or(path);
    harmless(&path.display().to_string()).replace('\n', " ")
}

/// For whoever has none of these.
fn known_languages() -> String {
    let names: Vec<String> = LANGUAGES
        .iter()
        .map(|language| format!("{} (.{})", language.name, language.extensions.join(", .")))
        .collect();
    format!("known are {}", names.join("; "))
}

/// The sign of a change, as in a diff.
fn sign(change: SymbolChangeKind) -> char {
    match change {
        SymbolChangeKind::New => '+',
        SymbolChangeKind::Modified => '~',
        SymbolChangeKind::Deleted => '-',
        SymbolChangeKind::Renamed => '→',
    }
}
