//! What became of the symbols of files on disk since a time.

use std::collections::{BTreeMap, HashMap};

use backstory_code::{Change, Outline, compare};
use backstory_store::SymbolFilter;

use super::files::Here;
use super::save::change_of;
use super::scan::SourceOutline;
use super::snapshot::look_of;
use crate::Memory;
use crate::error::Result;
use crate::place::real;

/// What became of the symbols of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileState {
    changed: HashMap<String, Change>,
    /// Whether it is known that the others are what they were.
    is_whole: bool,
}

impl FileState {
    /// What became of a symbol: new or modified; unchanged when that is known, else `None`.
    pub fn of(&self, symbol: &str) -> Option<&'static str> {
        match self.changed.get(symbol) {
            Some(Change::New) => Some("new"),
            Some(_) => Some("modified"),
            None => self.is_whole.then_some("unchanged"),
        }
    }
}

impl Memory {
    /// What became of the symbols of these files since a time, by agents or by anybody.
    pub fn code_states(&self, files: &[SourceOutline], since: i64) -> Result<Vec<FileState>> {
        let known = self.store.code_files()?;
        let mut states = Vec::new();
        for file in files {
            let path = real(&file.path);
            let folder = path.parent().unwrap_or(&path);
            let here = Here::around(folder);
            let row = known.iter().find(|known| here.path_of(known) == path);
            let changed_at = std::fs::metadata(&path).and_then(|metadata| metadata.modified());
            let changed_at = changed_at.ok().and_then(|at| {
                let since_epoch = at.duration_since(std::time::UNIX_EPOCH).ok()?;
                i64::try_from(since_epoch.as_millis()).ok()
            });
            let is_older = changed_at.is_some_and(|at| at < since);
            let mut state = FileState {
                is_whole: is_older,
                ..FileState::default()
            };
            if let (Some(row), Ok(outline), false) = (row, &file.outline, is_older) {
                self.changed_since(row.id, outline, since, &mut state)?;
            }
            states.push(state);
        }
        Ok(states)
    }

    fn changed_since(
        &self,
        file: i64,
        outline: &Outline,
        since: i64,
        state: &mut FileState,
    ) -> Result<()> {
        let rows = self.store.symbol_changes(&SymbolFilter {
            files: Some(vec![file]),
            since: Some(since),
            ..SymbolFilter::default()
        })?;
        let mut changes: BTreeMap<String, Change> = BTreeMap::new();
        for row in rows.iter().rev() {
            let change = changes.entry(row.name.clone());
            let before = change.or_insert(change_of(row.change));
            // What is new and was then changed is new; what came back is only another.
            *before = match (*before, change_of(row.change)) {
                (Change::New, Change::Modified | Change::Renamed) => Change::New,
                (Change::Deleted, Change::New) => Change::Modified,
                (_, now) => now,
            };
        }
        state.changed.extend(changes);
        // What differs from how it was last seen was changed by somebody else since.
        if let Some(snapshot) = self.store.snapshot(file)? {
            for change in compare(&look_of(&snapshot).symbols, &outline.symbols) {
                state.changed.entry(change.name).or_insert(change.change);
            }
            state.is_whole = true;
        }
        Ok(())
    }
}
