//! Asking what turns did to functions.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use backstory_code::{SymbolChangeKind, SymbolKind};
use backstory_event::{FileId, SessionId, TimeMs, TurnNo};
use backstory_store::{AnswerRows, CodeFile, SessionHead, SymbolFilter, SymbolRow};

use serde::{Deserialize, Serialize};

use super::files::Here;
use crate::Code;
use crate::error::Result;
use crate::place::real;
use crate::read::prompt;
use crate::serde_text::{rfc3339_time, session_and_agent};
use crate::upkeep::WithDamage;

/// A file that was moved more often than this is followed no further.
pub(super) const MOST_MOVES: usize = 32;

/// Which changes of functions are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChangeFilter {
    /// Of this session, by its row.
    pub session: Option<SessionId>,
    /// Not before this time.
    pub since: Option<TimeMs>,
    /// Of this file, or of those in this folder, under whatever names they had.
    pub path: Option<PathBuf>,
    /// At most of so many turns, the newest first; 0 is all.
    pub limit: usize,
}

/// A turn that changed source files.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnChanges {
    /// The session.
    pub session: SessionHead,
    /// The turn; `None` as long as its log has not been swept.
    pub turn: Option<TurnNo>,
    /// When it last changed one.
    pub at: Option<TimeMs>,
    /// What was asked in it.
    pub prompt: Option<String>,
    /// The files.
    pub files: Vec<FileSymbols>,
}

/// What a turn did to a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSymbols {
    /// The root of its project.
    pub root: String,
    /// Its path below that.
    pub name: String,
    /// What became of the file.
    pub change: SymbolChangeKind,
    /// What became of its symbols.
    pub symbols: Vec<ChangedSymbol>,
}

/// What became of a symbol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedSymbol {
    /// Its qualified name.
    pub name: String,
    /// What it is.
    pub kind: Option<SymbolKind>,
    /// What became of it.
    pub change: SymbolChangeKind,
    /// The name that it had before.
    pub earlier: Option<String>,
}

/// The life of a symbol.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SymbolLife {
    /// The last name that it had.
    pub name: String,
    /// What it is.
    pub kind: Option<SymbolKind>,
    /// The root of its project.
    #[serde(rename = "project")]
    pub root: String,
    /// The last file that it was in, below that.
    pub file: String,
    /// What happened to it, the newest first.
    pub changes: Vec<LifeEvent>,
}

/// What a turn did to one symbol.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LifeEvent {
    /// The session.
    #[serde(flatten, serialize_with = "session_and_agent")]
    pub session: SessionHead,
    /// The turn; `None` as long as its log has not been swept.
    pub turn: Option<TurnNo>,
    /// When.
    #[serde(rename = "timestamp", with = "rfc3339_time")]
    pub at: Option<TimeMs>,
    /// What was asked in the turn.
    pub prompt: Option<String>,
    /// What became of the symbol.
    pub change: SymbolChangeKind,
    /// The name that it had before.
    pub earlier: Option<String>,
}

impl Code<'_> {
    /// What turns did to functions, the newest first.
    pub fn changes(&self, filter: &ChangeFilter) -> Result<WithDamage<Vec<TurnChanges>>> {
        let turns = self.find_changes(filter)?;
        let session = filter.session.map(|session| [session]);
        let rows = session
            .as_ref()
            .map(|session| AnswerRows::SessionList(session));
        self.memory.upkeep().with_damage(turns, rows.as_ref())
    }

    pub(super) fn find_changes(&self, filter: &ChangeFilter) -> Result<Vec<TurnChanges>> {
        let known = self.known_files()?;
        let files = filter.path.as_ref().map(|path| files_at(path, &known));
        let rows = self.memory.store.symbol_changes(&SymbolFilter {
            session: filter.session,
            files,
            since: filter.since,
        })?;
        let mut order = Vec::new();
        let mut turns: HashMap<(SessionId, Option<TurnNo>), Vec<SymbolRow>> = HashMap::new();
        for row in rows {
            let key = (row.session, row.turn);
            let rows = turns.entry(key).or_default();
            if rows.is_empty() {
                order.push(key);
            }
            rows.push(row);
        }
        if filter.limit > 0 {
            order.truncate(filter.limit);
        }
        let heads = self
            .memory
            .store
            .session_heads(order.iter().map(|(session, _)| *session))?;
        let mut told = Vec::new();
        for key in order {
            let (Some(head), Some(rows)) = (heads.get(&key.0), turns.remove(&key)) else {
                continue;
            };
            let turn = key.1;
            told.push(TurnChanges {
                session: head.clone(),
                turn,
                at: rows.iter().filter_map(|row| row.at).max(),
                prompt: self.asked(head, turn)?,
                files: files_of(&known, &rows),
            });
        }
        Ok(told)
    }

    /// The lives of the symbols that have this name, or whose qualified name ends with it; with a path, only of those in that file or
    /// folder. A symbol is followed back through its names.
    pub fn history(&self, name: &str, path: Option<&Path>) -> Result<WithDamage<Vec<SymbolLife>>> {
        let lives = self.find_lives(name, path)?;
        self.memory.upkeep().with_damage(lives, None)
    }

    fn find_lives(&self, name: &str, path: Option<&Path>) -> Result<Vec<SymbolLife>> {
        let known = self.known_files()?;
        let files = path.map(|path| files_at(path, &known));
        let rows = self.memory.store.symbol_changes(&SymbolFilter {
            files,
            ..SymbolFilter::default()
        })?;
        let mut lives: Vec<(FileId, Vec<&SymbolRow>)> = Vec::new();
        let mut taken = HashSet::new();
        for (place, row) in rows.iter().enumerate() {
            if row.name.is_empty() || !is_named(&row.name, name) || taken.contains(&place) {
                continue;
            }
            lives.push((row.file, life(&rows, place, &known, &mut taken)));
        }
        let sessions = lives.iter().flat_map(|(_, rows)| rows.iter());
        let heads = self
            .memory
            .store
            .session_heads(sessions.map(|row| row.session))?;
        let mut told = Vec::new();
        for (file, rows) in lives {
            let (Some(file), Some(newest)) = (known.get(&file), rows.first()) else {
                continue;
            };
            let mut changes = Vec::new();
            for row in &rows {
                let Some(head) = heads.get(&row.session) else {
                    continue;
                };
                let turn = row.turn;
                changes.push(LifeEvent {
                    session: head.clone(),
                    turn,
                    at: row.at,
                    prompt: self.asked(head, turn)?,
                    change: row.change,
                    earlier: row.earlier.clone(),
                });
            }
            told.push(SymbolLife {
                name: newest.name.clone(),
                kind: newest.kind,
                root: file.project.root.clone(),
                file: file.name.clone(),
                changes,
            });
        }
        Ok(told)
    }

    /// Files at a path or below it that were last seen in the middle of an edit, with errors that were not there before: their names, and
    /// when that was. What is told of their functions is from before.
    pub fn broken_files(&self, path: &Path) -> Result<Vec<(String, TimeMs)>> {
        let known = self.known_files()?;
        let here = files_at(path, &known);
        let broken = self.memory.store.broken_files()?.into_iter();
        let broken = broken.filter(|(file, _)| here.contains(file));
        Ok(broken
            .filter_map(|(file, at)| Some((known.get(&file)?.name.clone(), at)))
            .collect())
    }

    fn asked(&self, head: &SessionHead, turn: Option<TurnNo>) -> Result<Option<String>> {
        match turn {
            Some(turn) => prompt(&self.memory.store, head, turn),
            None => Ok(None),
        }
    }

    pub(super) fn known_files(&self) -> Result<BTreeMap<FileId, CodeFile>> {
        let files = self.memory.store.code_files()?.into_iter();
        Ok(files.map(|file| (file.id, file)).collect())
    }
}

/// The known files at a path or below it, with those that they were before they were moved.
pub(super) fn files_at(path: &Path, known: &BTreeMap<FileId, CodeFile>) -> Vec<FileId> {
    let path = real(path);
    let here = Here::around(&path);
    let mut found: Vec<FileId> = known
        .values()
        .filter(|file| here.path_of(file).starts_with(&path))
        .map(|file| file.id)
        .collect();
    let mut place = 0;
    while let Some(file) = found.get(place) {
        let before = known.get(file).and_then(|file| file.moved_from);
        found.extend(before.filter(|before| !found.contains(before)));
        place += 1;
    }
    found
}

/// Whether a qualified name ends with this one, part by part.
fn is_named(qualified: &str, name: &str) -> bool {
    let before = qualified.strip_suffix(name);
    before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

fn files_of(known: &BTreeMap<FileId, CodeFile>, rows: &[SymbolRow]) -> Vec<FileSymbols> {
    let mut files: BTreeMap<FileId, FileSymbols> = BTreeMap::new();
    for row in rows {
        let Some(file) = known.get(&row.file) else {
            continue;
        };
        let told = files.entry(row.file).or_insert_with(|| FileSymbols {
            root: file.project.root.clone(),
            name: file.name.clone(),
            change: SymbolChangeKind::Modified,
            symbols: Vec::new(),
        });
        if row.name.is_empty() {
            told.change = row.change;
            continue;
        }
        told.symbols.push(ChangedSymbol {
            name: row.name.clone(),
            kind: row.kind,
            change: row.change,
            earlier: row.earlier.clone(),
        });
    }
    for file in files.values_mut() {
        file.symbols.sort_by(|a, b| a.name.cmp(&b.name));
    }
    files.into_values().collect()
}

/// Everything that happened to the symbol of a row, that row being the newest: rows come the newest first.
fn life<'r>(
    rows: &'r [SymbolRow],
    newest: usize,
    known: &BTreeMap<FileId, CodeFile>,
    taken: &mut HashSet<usize>,
) -> Vec<&'r SymbolRow> {
    let mut life = Vec::new();
    let mut name = rows[newest].name.as_str();
    let mut files = vec![rows[newest].file];
    while files.len() <= MOST_MOVES
        && let Some(before) = files
            .last()
            .and_then(|file| known.get(file)?.moved_from)
            .filter(|before| !files.contains(before))
    {
        files.push(before);
    }
    for (place, row) in rows.iter().enumerate().skip(newest) {
        if row.name != name || !files.contains(&row.file) {
            continue;
        }
        taken.insert(place);
        life.push(row);
        if let Some(earlier) = &row.earlier {
            name = earlier;
        }
    }
    life
}
