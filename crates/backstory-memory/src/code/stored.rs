//! Source files as they were: answers out of stored snapshots.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use backstory_code::{Language, SymbolChangeKind};
use backstory_event::{FileId, TimeMs, TurnNo};
use backstory_store::{
    CallRow, ChangeType, CodeFile, Error as StoreError, FileSnapshot, FunctionRow, SessionHead,
    SnapshotFilter, SymbolFilter, SymbolRow,
};

use super::files::Here;
use super::query::{MOST_MOVES, files_at};
use super::scan::SourceOutline;
use super::snapshot::outline_of;
use super::state::{FileState, together};
use crate::Code;
use crate::error::Result;
use crate::place::{normal, real};

/// The snapshot that an outline is from.
#[derive(Debug, Clone, PartialEq)]
pub struct SnapshotSource {
    /// When it was; `None` if the log does not tell.
    pub at: Option<TimeMs>,
    /// The session that changed the file.
    pub session: SessionHead,
    /// The turn; `None` as long as its log has not been imported.
    pub turn: Option<TurnNo>,
}

/// Source files as they were.
#[derive(Debug, Clone, Default)]
pub struct StoredFiles {
    /// The files, in the order of their paths.
    pub files: Vec<SourceOutline>,
    /// What became of their symbols.
    pub states: Vec<FileState>,
    /// Files that are known but were not there at the time.
    pub missing: Vec<MissingFile>,
}

/// A file that is known but was not there at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingFile {
    /// Its path.
    pub path: PathBuf,
    /// When it was deleted or moved away; `None` if it was not seen before that time.
    pub gone_at: Option<TimeMs>,
}

/// Which rows of `function_map` or `call_graph` are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeRowFilter {
    /// Of this file, or of those in this folder, under whatever names they had.
    pub path: Option<PathBuf>,
    /// Of this session, by the agent's own id.
    pub session: Option<String>,
    /// Not before this time.
    pub since: Option<TimeMs>,
    /// Not after this time.
    pub until: Option<TimeMs>,
}

impl Code<'_> {
    /// Returns the source file at an absolute path, or those below it, as they were at a time, by default as they were last seen. With
    /// `since`, symbols are marked that changed since then, else those that the last turn changed.
    pub fn outlines(
        &self,
        path: &Path,
        until: Option<TimeMs>,
        since: Option<TimeMs>,
    ) -> Result<StoredFiles> {
        let known = self.known_files()?;
        let path = real(&normal(path));
        let here = Here::around(&path);
        let is_here = |file: &&CodeFile| here.path_of(file).starts_with(&path);
        let mut files: Vec<&CodeFile> = known.values().filter(is_here).collect();
        let mut stored = StoredFiles::default();
        files.sort_by_key(|file| here.path_of(file));
        let mut found: Vec<(&CodeFile, FileSnapshot)> = Vec::new();
        for file in files {
            match self.snapshot_of(&known, file, until)? {
                Some((file, snapshot)) if !snapshot.is_gone => found.push((file, snapshot)),
                gone => stored.missing.push(MissingFile {
                    path: here.path_of(file),
                    gone_at: gone.map(|(_, snapshot)| snapshot.at),
                }),
            }
        }
        let sessions = found.iter().map(|(_, snapshot)| snapshot.session);
        let heads = self.memory.store.session_heads(sessions)?;
        for (file, snapshot) in found {
            let path = here.path_of(file);
            let (Some(language), Some(head)) =
                (Language::of_path(&path), heads.get(&snapshot.session))
            else {
                continue;
            };
            stored.states.push(match since {
                Some(since) => self.changed_between(file.id, since, until)?,
                None => state_of(&snapshot),
            });
            stored.files.push(SourceOutline {
                path,
                language,
                outline: Ok(outline_of(&snapshot.symbols, snapshot.has_errors)),
                snapshot: Some(SnapshotSource {
                    at: Some(snapshot.at).filter(|at| *at > TimeMs::ZERO),
                    session: head.clone(),
                    turn: snapshot.turn,
                }),
            });
        }
        Ok(stored)
    }

    /// Returns the paths of known source files, and of folders with some, that end with this one, part by part.
    pub fn paths_ending_with(&self, end: &Path) -> Result<Vec<PathBuf>> {
        let files = self.memory.store.code_files()?;
        let mut found = BTreeSet::new();
        for file in &files {
            let path = full_path(file);
            let ending = path.ancestors().filter(|path| path.ends_with(end));
            found.extend(ending.last().map(Path::to_path_buf));
        }
        Ok(found.into_iter().collect())
    }

    /// Returns the folders of the projects of this name.
    pub fn projects_named(&self, name: &str) -> Result<Vec<PathBuf>> {
        let projects = self.memory.store.projects_named(name)?;
        let roots = projects.into_iter().map(|project| project.root.into());
        Ok(roots.collect())
    }

    /// Symbols of all snapshots: the rows of `function_map`.
    pub fn function_map(&self, filter: &CodeRowFilter) -> Result<Vec<FunctionRow>> {
        Ok(self.memory.store.function_map(&self.row_filter(filter)?)?)
    }

    /// Calls of all snapshots and those that stack traces showed: the rows of `call_graph`.
    pub fn call_rows(&self, filter: &CodeRowFilter) -> Result<Vec<CallRow>> {
        Ok(self.memory.store.call_graph(&self.row_filter(filter)?)?)
    }

    fn row_filter(&self, filter: &CodeRowFilter) -> Result<SnapshotFilter> {
        let files = match &filter.path {
            Some(path) => Some(files_at(path, &self.known_files()?)),
            None => None,
        };
        Ok(SnapshotFilter {
            files,
            session: filter.session.clone(),
            since: filter.since,
            until: filter.until,
        })
    }

    /// The last snapshot of a file up to a time, by the name that it had then.
    fn snapshot_of<'f>(
        &self,
        known: &'f BTreeMap<FileId, CodeFile>,
        file: &'f CodeFile,
        until: Option<TimeMs>,
    ) -> Result<Option<(&'f CodeFile, FileSnapshot)>> {
        let mut file = file;
        for _ in 0..MOST_MOVES {
            match self.memory.store.file_snapshot(file.id, until) {
                Ok(Some(snapshot)) => return Ok(Some((file, snapshot))),
                Ok(None) => {}
                Err(StoreError::DamagedPiece(damage)) => {
                    self.memory.store.meet_damage([*damage]);
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            }
            match file.moved_from.and_then(|before| known.get(&before)) {
                Some(before) => file = before,
                None => break,
            }
        }
        Ok(None)
    }

    fn changed_between(
        &self,
        file: FileId,
        since: TimeMs,
        until: Option<TimeMs>,
    ) -> Result<FileState> {
        let rows = self.memory.store.symbol_changes(&SymbolFilter {
            files: Some(vec![file]),
            since: Some(since),
            ..SymbolFilter::default()
        })?;
        let is_before = |row: &&SymbolRow| until.is_none_or(|until| row.at <= Some(until));
        let rows: Vec<&SymbolRow> = rows.iter().filter(is_before).collect();
        Ok(FileState::new(together(&rows), true))
    }
}

fn full_path(file: &CodeFile) -> PathBuf {
    Path::new(&file.project.root).join(&file.name)
}

/// What the turn of a snapshot did.
fn state_of(snapshot: &FileSnapshot) -> FileState {
    let changes = snapshot.symbols.iter().zip(snapshot.change_types());
    let changed = changes.filter_map(|(placed, change)| {
        let change = match change {
            ChangeType::New => SymbolChangeKind::New,
            ChangeType::Modified(_) => SymbolChangeKind::Modified,
            ChangeType::Unchanged => return None,
        };
        Some((placed.record.name.clone(), change))
    });
    FileState::new(changed.collect(), true)
}
