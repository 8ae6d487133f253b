//! What became of the symbols of files on disk since a time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use backstory_code::{Outline, SymbolChangeKind, compare};
use backstory_event::{FileId, TimeMs};
use backstory_store::{SymbolFilter, SymbolRow};

use super::files::Here;
use super::scan::SourceOutline;
use super::snapshot::symbols_of;
use crate::Code;
use crate::error::Result;
use crate::place::real;

/// What became of the symbols of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileState {
    changed: HashMap<String, SymbolChangeKind>,
    /// Whether it is known that the others are what they were.
    is_whole: bool,
}

impl FileState {
    pub(super) fn new(changed: HashMap<String, SymbolChangeKind>, is_whole: bool) -> Self {
        FileState { changed, is_whole }
    }

    /// What became of a symbol: new or modified; unchanged when that is known, else `None`.
    pub fn of(&self, symbol: &str) -> Option<&'static str> {
        match self.changed.get(symbol) {
            Some(SymbolChangeKind::New) => Some("new"),
            Some(_) => Some("modified"),
            None => self.is_whole.then_some("unchanged"),
        }
    }
}

impl Code<'_> {
    /// What became of the symbols of these files since a time, by agents or by anybody.
    pub fn states(&self, files: &[SourceOutline], since: TimeMs) -> Result<Vec<FileState>> {
        let known = self.memory.store.code_files()?;
        let changes = self.memory.store.symbol_changes(&SymbolFilter {
            since: Some(since),
            ..SymbolFilter::default()
        })?;
        let mut by_file: HashMap<FileId, Vec<&SymbolRow>> = HashMap::new();
        for row in &changes {
            by_file.entry(row.file).or_default().push(row);
        }
        let mut rows_of: HashMap<PathBuf, HashMap<PathBuf, FileId>> = HashMap::new();
        let mut states = Vec::new();
        for file in files {
            let path = real(&file.path);
            let here = Here::around(path.parent().unwrap_or(&path));
            let rows = rows_of.entry(here.base().to_path_buf());
            let rows = rows.or_insert_with(|| {
                let paths = known.iter().map(|file| (here.path_of(file), file.id));
                paths.collect()
            });
            let is_older = changed_at(&path).is_some_and(|at| at < since);
            let mut state = FileState {
                is_whole: is_older,
                ..FileState::default()
            };
            if let (Some(row), Ok(outline), false) = (rows.get(&path), &file.outline, is_older) {
                let changes = by_file.get(row).map_or(&[][..], Vec::as_slice);
                state.changed = together(changes);
                self.since_seen(*row, outline, &mut state)?;
            }
            states.push(state);
        }
        Ok(states)
    }

    /// What differs from how it was last seen was changed by somebody else since.
    fn since_seen(&self, file: FileId, outline: &Outline, state: &mut FileState) -> Result<()> {
        if let Some(snapshot) = self.memory.store.file_snapshot(file, None)?
            && !snapshot.is_gone
        {
            let known = symbols_of(&snapshot.symbols, snapshot.has_errors);
            for change in compare(&known.symbols, &outline.symbols) {
                state.changed.entry(change.name).or_insert(change.change);
            }
            state.is_whole = true;
        }
        Ok(())
    }
}

/// When a file was written last.
fn changed_at(path: &Path) -> Option<TimeMs> {
    let modified = std::fs::metadata(path).ok()?.modified().ok()?;
    let since_epoch = modified.duration_since(UNIX_EPOCH).ok()?;
    let milliseconds = i64::try_from(since_epoch.as_millis()).ok()?;
    Some(TimeMs::new(milliseconds))
}

/// What several turns did to symbols together; rows come the newest first.
pub(super) fn together(rows: &[&SymbolRow]) -> HashMap<String, SymbolChangeKind> {
    let mut changes = HashMap::new();
    for row in rows.iter().rev() {
        let now = row.change;
        let change = changes.entry(row.name.clone()).or_insert(now);
        // What is new and was then changed is new; what came back is only another.
        *change = match (*change, now) {
            (SymbolChangeKind::New, SymbolChangeKind::Modified | SymbolChangeKind::Renamed) => {
                SymbolChangeKind::New
            }
            (SymbolChangeKind::Deleted, SymbolChangeKind::New) => SymbolChangeKind::Modified,
            (_, now) => now,
        };
    }
    changes
}
