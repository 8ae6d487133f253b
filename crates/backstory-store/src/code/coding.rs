//! Storing what was learned of source files, in one transaction.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use backstory_event::{FileId, Seq, SessionId, TimeMs, TurnNo, UnknownNumber};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::history::FileHistory;
use super::new::NewSnapshot;
use super::snapshot::{PlacedSymbol, PriorSymbol, SymbolChanges, prior_symbols};
use super::{RunEdge, StoredTurn, SymbolRow, symbol_from_row};
use crate::blocks::Packer;
use crate::error::{Error, Result};
use crate::ingest::{Project, project_row};
use crate::lag::{ConsumerId, Lag, clear_lag};
use crate::open::Store;

impl Store {
    /// Begins to store what was learned of source files.
    pub fn coding(&self) -> Result<Coding<'_>> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        Ok(Coding {
            transaction,
            packer: Packer::for_snapshots()?,
            histories: RefCell::default(),
        })
    }
}

/// A transaction that stores what was learned of source files.
pub struct Coding<'a> {
    transaction: Transaction<'a>,
    packer: Packer,
    /// Histories of files that were asked for or changed; `None` for those that are damaged. Stored when all is done, so that each
    /// is packed once.
    histories: RefCell<BTreeMap<FileId, Option<FileHistory>>>,
}

/// A file as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastSnapshot {
    /// Whether some of it does not parse.
    pub has_errors: bool,
    /// Symbols in the order of the file.
    pub symbols: Vec<PlacedSymbol>,
}

impl Coding<'_> {
    /// The row of a source file, made if need be.
    pub fn file(&self, project: &Project, name: &str) -> Result<FileId> {
        let project = project_row(&self.transaction, project)?;
        let known = "SELECT id FROM code_files WHERE project = ?1 AND name = ?2";
        let mut statement = self.transaction.prepare_cached(known)?;
        let found = statement.query_row((project, name), |row| row.get(0));
        if let Some(id) = found.optional()? {
            return Ok(id);
        }
        let insert = "INSERT INTO code_files (project, name) VALUES (?1, ?2)";
        self.transaction
            .prepare_cached(insert)?
            .execute((project, name))?;
        Ok(FileId::last_inserted(&self.transaction)?)
    }

    /// The last snapshot of a file, if it was there then. With `seen_by`, the last one of that session, or else of those that began
    /// before it, before a time: what came later or is told by a session that began later may or may not be known yet.
    pub fn last_snapshot(
        &self,
        project: &Project,
        name: &str,
        seen_by: Option<(SessionId, Option<TimeMs>)>,
    ) -> Result<Option<LastSnapshot>> {
        let Some(file) = code_file(&self.transaction, project, name)? else {
            return Ok(None);
        };
        self.with_history(file, |history| {
            let last = match seen_by {
                Some((session, at)) => history.last_before(&self.transaction, session, at)?,
                None => history.last(),
            };
            let last = last.filter(|last| !last.is_gone);
            Ok(last.map(|last| LastSnapshot {
                has_errors: last.has_errors,
                symbols: last.symbols.clone(),
            }))
        })
        .map(Option::flatten)
    }

    /// The only file of a project that has this name in some folder.
    pub fn file_named(&self, project: &Project, name: &str) -> Result<Option<FileId>> {
        let project = project_row(&self.transaction, project)?;
        let mut statement = self.transaction.prepare_cached(
            "SELECT MAX(id), COUNT(*) FROM code_files WHERE project = ?1 AND (name = ?2 OR substr(name, -length(?2) - 1) = '/' || ?2)",
        )?;
        let (id, count): (Option<FileId>, u64) =
            statement.query_row((project, name), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(id.filter(|_| count == 1))
    }

    /// Takes note that a turn moved a file. What was known of it is known of the new one.
    pub fn record_move(
        &self,
        from: FileId,
        to: FileId,
        (session, turn, at): (SessionId, Option<TurnNo>, TimeMs),
    ) -> Result<()> {
        if from == to {
            return Ok(());
        }
        let update = "UPDATE code_files SET moved_from = ?1 WHERE id = ?2";
        self.transaction
            .prepare_cached(update)?
            .execute((from, to))?;
        let last = self.with_history(from, |history| Ok(history.last().cloned()))?;
        let Some(mut last) = last.flatten().filter(|last| !last.is_gone) else {
            return Ok(());
        };
        let prior = prior_symbols(&last.symbols);
        let is_of_turn = (last.session, last.turn) == (session, turn);
        if !is_of_turn {
            last.changes = SymbolChanges::default();
        }
        (last.session, last.turn, last.at) = (session, turn, at);
        self.with_history(to, |history| history.add_moved(&self.transaction, last))?;
        self.with_history(from, |history| {
            history.add_removal(&self.transaction, (session, turn, at), prior)
        })?;
        Ok(())
    }

    /// Adds a snapshot of a file. The snapshot of the same turn, if there is one, is replaced.
    pub fn add_snapshot(&self, file: FileId, snapshot: NewSnapshot<'_>) -> Result<()> {
        self.with_history(file, |history| history.add(&self.transaction, snapshot))?;
        Ok(())
    }

    /// Takes note that a file has errors that were not there when it was last seen whole.
    pub fn mark_broken(&self, file: FileId, at: TimeMs) -> Result<()> {
        self.with_history(file, |history| history.set_broken(&self.transaction, at))?;
        Ok(())
    }

    /// Removes what turns of a session did, from one on: it is told anew.
    pub fn remove_turns(&self, session: SessionId, from: TurnNo) -> Result<()> {
        let query = "SELECT file, at FROM symbol_changes WHERE session = ?1 AND turn >= ?2 AND name = '' \
             UNION SELECT file, NULL FROM snapshots WHERE session = ?1 AND turn >= ?2";
        let mut statement = self.transaction.prepare_cached(query)?;
        let files = statement.query_map((session, from), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut changed: BTreeMap<FileId, Vec<TimeMs>> = BTreeMap::new();
        for row in files {
            let (file, at): (FileId, Option<TimeMs>) = row?;
            changed.entry(file).or_default().extend(at);
        }
        for (file, moments) in changed {
            self.with_history(file, |history| {
                history.remove_turns(&self.transaction, (session, from), &moments)
            })?;
        }
        let delete = "DELETE FROM symbol_changes WHERE session = ?1 AND turn >= ?2";
        self.transaction
            .prepare_cached(delete)?
            .execute((session, from))?;
        Ok(())
    }

    /// Takes note that a turn deleted a file, which had these symbols.
    pub fn record_removal(
        &self,
        file: FileId,
        (session, turn, at): (SessionId, Option<TurnNo>, TimeMs),
        prior: Vec<PriorSymbol>,
    ) -> Result<()> {
        self.with_history(file, |history| {
            history.add_removal(&self.transaction, (session, turn, at), prior)
        })?;
        Ok(())
    }

    /// Does something with the history of a file, which is read when it is first needed. Of a file whose history is damaged nothing is
    /// known and nothing is stored: what is left of it must not be taken for sound.
    fn with_history<T>(
        &self,
        file: FileId,
        act: impl FnOnce(&mut FileHistory) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut histories = self.histories.borrow_mut();
        let history = match histories.entry(file) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                place.insert(match FileHistory::read(&self.transaction, file) {
                    Ok(history) => Some(history),
                    Err(Error::DamagedPiece(_)) => None,
                    Err(error) => return Err(error),
                })
            }
        };
        let Some(found) = history else {
            return Ok(None);
        };
        match act(found) {
            Err(Error::DamagedPiece(_)) => {
                *history = None;
                Ok(None)
            }
            done => done.map(Some),
        }
    }

    /// What is stored of what a turn did to a symbol. A row that says nothing known is as good as none: what is stored now replaces it.
    pub fn stored_change(&self, row: &SymbolRow) -> Result<Option<SymbolRow>> {
        let mut statement = self.transaction.prepare_cached(
            "SELECT session, turn, file, name, kind, change, earlier, at FROM symbol_changes \
             WHERE session = ?1 AND turn = ?2 AND file = ?3 AND name = ?4",
        )?;
        let key = (row.session, StoredTurn(row.turn), row.file, &row.name);
        match statement.query_row(key, symbol_from_row) {
            Err(error) if UnknownNumber::is_cause_of(&error) => Ok(None),
            known => Ok(known.optional()?),
        }
    }

    /// Stores what a turn did to a symbol, in the place of what was stored before.
    pub fn store_change(&self, row: &SymbolRow) -> Result<()> {
        let insert = "INSERT OR REPLACE INTO symbol_changes (session, turn, file, name, kind, change, earlier, at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        self.transaction.prepare_cached(insert)?.execute((
            row.session,
            StoredTurn(row.turn),
            row.file,
            &row.name,
            row.kind,
            row.change,
            &row.earlier,
            row.at,
        ))?;
        Ok(())
    }

    /// Removes what is stored of what a turn did to a symbol: nothing, after all.
    pub fn delete_change(&self, row: &SymbolRow) -> Result<()> {
        let delete = "DELETE FROM symbol_changes WHERE session = ?1 AND turn = ?2 AND file = ?3 AND name = ?4";
        let key = (row.session, StoredTurn(row.turn), row.file, &row.name);
        self.transaction.prepare_cached(delete)?.execute(key)?;
        Ok(())
    }

    /// Counts a call that was seen in a stack trace.
    pub fn count_call(&self, edge: &RunEdge) -> Result<()> {
        let insert = "INSERT INTO run_edges (file, caller, callee, session, seq, seen, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
             ON CONFLICT (file, caller, callee, session, seq) DO UPDATE SET seen = seen + excluded.seen, at = excluded.at";
        self.transaction.prepare_cached(insert)?.execute((
            edge.file,
            &edge.caller,
            &edge.callee,
            edge.session,
            edge.seq,
            edge.seen,
            edge.at,
        ))?;
        Ok(())
    }

    /// Removes the calls that were seen in a session from an event on: they are counted anew.
    pub fn remove_calls(&self, session: SessionId, from: Seq) -> Result<()> {
        let delete = "DELETE FROM run_edges WHERE session = ?1 AND seq >= ?2";
        self.transaction
            .prepare_cached(delete)?
            .execute((session, from))?;
        Ok(())
    }

    /// Takes note that a consumer has seen what it lacked.
    pub fn clear_lag(&self, consumer: ConsumerId, seen: &[Lag]) -> Result<()> {
        clear_lag(&self.transaction, consumer, seen)
    }

    /// Removes what was seen live of a session: its events tell it now.
    pub fn remove_live(&self, session: SessionId) -> Result<()> {
        let query = "SELECT DISTINCT file FROM symbol_changes WHERE session = ?1 AND turn = ?2";
        let mut statement = self.transaction.prepare_cached(query)?;
        let seen_live = statement.query_map((session, StoredTurn(None)), |row| row.get(0))?;
        let seen_live: Vec<FileId> = seen_live.collect::<rusqlite::Result<_>>()?;
        for file in seen_live {
            self.with_history(file, |history| {
                history.remove_live(&self.transaction, session)
            })?;
        }
        let delete = "DELETE FROM symbol_changes WHERE session = ?1 AND turn = ?2";
        self.transaction
            .prepare_cached(delete)?
            .execute((session, StoredTurn(None)))?;
        Ok(())
    }

    /// Makes it so.
    pub fn commit(mut self) -> Result<()> {
        for history in self.histories.take().into_values().flatten() {
            history.store(&self.transaction, &mut self.packer)?;
        }
        Ok(self.transaction.commit()?)
    }
}

fn code_file(connection: &Connection, project: &Project, name: &str) -> Result<Option<FileId>> {
    let mut statement = connection.prepare_cached(
        "SELECT code_files.id FROM code_files JOIN projects ON projects.id = project \
         WHERE name = ?3 AND (remote = ?2 OR root = ?1) ORDER BY remote IS ?2 DESC LIMIT 1",
    )?;
    let found = statement.query_row((&project.root, &project.remote, name), |row| row.get(0));
    Ok(found.optional()?)
}
