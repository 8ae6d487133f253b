//! What is known of source files: snapshots of their symbols and calls, what turns did to symbols, and which calls were seen to happen.

mod coding;
mod forget;
mod format;
mod history;
mod names;
mod new;
mod parts;
mod rows;
mod snapshot;
#[cfg(test)]
mod tests;

use backstory_event::{
    Action, FileId, Kind, Seq, SessionId, SymbolChangeKind, SymbolKind, TimeMs, TurnNo,
    UnknownNumber,
};
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{OptionalExtension, Row};

pub use self::coding::{Coding, LastSnapshot};
pub(crate) use self::forget::remove_snapshots;
pub use self::new::{NewCall, NewSnapshot, NewSymbol};
pub(crate) use self::parts::UNIT_SHIFT;
use self::parts::read_snapshot;
pub use self::rows::{CallRow, FunctionRow, SnapshotFilter};
pub use self::snapshot::{
    CallRecord, ChangeType, FileSnapshot, PlacedSymbol, PriorSymbol, SymbolChanges, SymbolRecord,
};
use crate::checksums::{Scope, damage};
use crate::error::Result;
use crate::ingest::Project;
use crate::open::Store;

/// A turn as columns have it: -1 for what was seen live, until the log tells which it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredTurn(pub(crate) Option<TurnNo>);

impl ToSql for StoredTurn {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.map_or(-1, i64::from).into())
    }
}

impl FromSql for StoredTurn {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value.as_i64()? {
            -1 => Ok(StoredTurn(None)),
            _ => TurnNo::column_result(value).map(|turn| StoredTurn(Some(turn))),
        }
    }
}

/// Where a session worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkPlace {
    /// The session's row.
    pub session: SessionId,
    /// The agent.
    pub agent: String,
    /// The folder that it worked in.
    pub cwd: Option<String>,
    /// Its project.
    pub project: Option<Project>,
}

/// A tool call that was answered, and names a file that it writes or a command that may move one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The call.
    pub call: Seq,
    /// The answer.
    pub result: Seq,
    /// The file; `None` for a command.
    pub path: Option<String>,
}

/// A write to a file, by its call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteRow {
    /// The session's row.
    pub session: SessionId,
    /// The agent.
    pub agent: String,
    /// The call.
    pub call: Seq,
}

/// A source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeFile {
    /// Its row.
    pub id: FileId,
    /// Its project.
    pub project: Project,
    /// Its path below the root of that.
    pub name: String,
    /// The file that it was before it was moved.
    pub moved_from: Option<FileId>,
}

/// What a turn did to a symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolRow {
    /// The session's row.
    pub session: SessionId,
    /// The turn.
    pub turn: Option<TurnNo>,
    /// The file.
    pub file: FileId,
    /// The symbol; empty for the file itself.
    pub name: String,
    /// What it is; `None` for the file itself.
    pub kind: Option<SymbolKind>,
    /// What was done.
    pub change: SymbolChangeKind,
    /// The name before it was renamed.
    pub earlier: Option<String>,
    /// When.
    pub at: Option<TimeMs>,
}

/// A call that was seen in stack traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEdge {
    /// The file of the caller.
    pub file: FileId,
    /// The caller's name, without what it is in.
    pub caller: String,
    /// The callee's.
    pub callee: String,
    /// How often it was seen.
    pub seen: u64,
    /// The session where it was seen last.
    pub session: SessionId,
    /// The event there.
    pub seq: Seq,
    /// When.
    pub at: Option<TimeMs>,
}

/// Which changes of symbols.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SymbolFilter {
    /// Of this session.
    pub session: Option<SessionId>,
    /// Of these files.
    pub files: Option<Vec<FileId>>,
    /// Not before this.
    pub since: Option<TimeMs>,
}

impl Store {
    /// Returns where a session worked.
    pub fn work_place(&self, session: SessionId) -> Result<WorkPlace> {
        let query = "SELECT agent, cwd, root, remote FROM sessions LEFT JOIN projects ON projects.id = sessions.project WHERE sessions.id = ?1";
        let mut statement = self.connection.prepare_cached(query)?;
        Ok(statement.query_row([session], |row| {
            let root: Option<String> = row.get(2)?;
            let remote = row.get(3)?;
            Ok(WorkPlace {
                session,
                agent: row.get(0)?,
                cwd: row.get(1)?,
                project: root.map(|root| Project { root, remote }),
            })
        })?)
    }

    /// Calls that were answered without an error after this seq and write files or may move some, in the order of the answers.
    pub fn answered(&self, session: SessionId, after: Seq) -> Result<Vec<Answered>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT results.call, results.seq, paths.path FROM events AS results \
             JOIN touches INDEXED BY touches_by_event ON touches.session = ?1 AND touches.seq = results.call AND action <> ?3 \
             JOIN paths ON paths.id = touches.path \
             WHERE results.session = ?1 AND results.seq > ?2 AND results.call IS NOT NULL AND results.error IS NULL \
             UNION ALL SELECT results.call, results.seq, NULL FROM events AS calls \
             JOIN events AS results ON results.session = ?1 AND results.seq > MAX(?2, calls.seq) AND results.call = calls.seq \
             WHERE calls.session = ?1 AND instr(calls.command, 'mv ') > 0 AND results.error IS NULL ORDER BY 2, 1, 3",
        )?;
        let rows = statement.query_map((session, after, Action::Read), |row| {
            Ok(Answered {
                call: row.get(0)?,
                result: row.get(1)?,
                path: row.get(2)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the first turn that events of a session from `from` on are of, or answer a call of.
    pub fn first_answered_turn(&self, session: SessionId, from: Seq) -> Result<Option<TurnNo>> {
        let query = "SELECT MIN(events.turn, COALESCE(calls.turn, events.turn)) FROM events \
             LEFT JOIN events AS calls ON calls.session = ?1 AND calls.seq = events.call \
             WHERE events.session = ?1 AND events.seq >= ?2 ORDER BY 1 LIMIT 1";
        let mut statement = self.connection.prepare_cached(query)?;
        let found = statement.query_row((session, from), |row| row.get(0));
        Ok(found.optional()?)
    }

    /// Returns the first stored event of a session from a turn on, and whether the turn begins with it.
    pub fn first_of_turn(&self, session: SessionId, turn: TurnNo) -> Result<Option<(Seq, bool)>> {
        let query = "SELECT seq, kind = ?3 OR seq = 1 FROM events WHERE session = ?1 AND turn >= ?2 ORDER BY seq LIMIT 1";
        let mut statement = self.connection.prepare_cached(query)?;
        let found = statement.query_row((session, turn, Kind::Prompt), |row| {
            Ok((row.get(0)?, row.get(1)?))
        });
        Ok(found.optional()?)
    }

    /// Returns whether it is known that turns of a session, from one on, changed source files.
    pub fn has_code_from(&self, session: SessionId, turn: TurnNo) -> Result<bool> {
        let query = "SELECT EXISTS (SELECT 1 FROM symbol_changes WHERE session = ?1 AND turn >= ?2) \
             OR EXISTS (SELECT 1 FROM snapshots WHERE session = ?1 AND turn >= ?2)";
        let mut statement = self.connection.prepare_cached(query)?;
        Ok(statement.query_row((session, turn), |row| row.get(0))?)
    }

    /// The last writes to a path, as logs have it, before a call: of the session itself, and of those of its project that began
    /// before it, up to the time of the call. The newest comes first.
    pub fn writes_before(
        &self,
        path: &str,
        session: SessionId,
        call: Seq,
        limit: usize,
    ) -> Result<Vec<WriteRow>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT other.id, other.agent, touches.seq FROM paths JOIN touches ON touches.path = paths.id \
             JOIN sessions AS other ON other.id = touches.session JOIN sessions AS own ON own.id = ?2 \
             JOIN events AS writes ON writes.session = touches.session AND writes.seq = touches.seq \
             LEFT JOIN events AS calls ON calls.session = ?2 AND calls.seq = ?3 \
             WHERE paths.path = ?1 AND action <> ?5 AND ((other.id = own.id AND touches.seq < ?3) \
               OR (other.id != own.id AND other.project = own.project AND other.started_at < own.started_at \
                 AND (writes.at < calls.at OR writes.at IS NULL OR calls.at IS NULL))) \
             ORDER BY other.id = own.id DESC, other.started_at DESC, touches.seq DESC LIMIT ?4",
        )?;
        let rows =
            statement.query_map((path, session, call, limit as u64, Action::Read), |row| {
                Ok(WriteRow {
                    session: row.get(0)?,
                    agent: row.get(1)?,
                    call: row.get(2)?,
                })
            })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// All source files that are known.
    pub fn code_files(&self) -> Result<Vec<CodeFile>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT code_files.id, root, remote, name, moved_from FROM code_files JOIN projects ON projects.id = project \
             ORDER BY root, name",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(CodeFile {
                id: row.get(0)?,
                project: Project {
                    root: row.get(1)?,
                    remote: row.get(2)?,
                },
                name: row.get(3)?,
                moved_from: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The last snapshot of a file, up to a time if one is given.
    pub fn file_snapshot(
        &self,
        file: FileId,
        until: Option<TimeMs>,
    ) -> Result<Option<FileSnapshot>> {
        read_snapshot(&self.connection, file, until)
    }

    /// Files that were last seen with errors that were not there before: the file, and when that was.
    pub fn broken_files(&self) -> Result<Vec<(FileId, TimeMs)>> {
        let query = "SELECT file, broken_at FROM snapshots AS last WHERE broken_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM snapshots \
             WHERE file = last.file AND (part, place) > (last.part, last.place)) ORDER BY file";
        let mut statement = self.connection.prepare_cached(query)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// What turns did to symbols, the newest first. Rows of unknown kinds or changes are left out and named by [`Store::take_damage`].
    pub fn symbol_changes(&self, filter: &SymbolFilter) -> Result<Vec<SymbolRow>> {
        let mut conditions =
            vec!["(?1 IS NULL OR at >= ?1) AND (?2 IS NULL OR session = ?2)".to_string()];
        if let Some(files) = &filter.files {
            let files: Vec<String> = files.iter().map(FileId::to_string).collect();
            conditions.push(format!("file IN ({})", files.join(",")));
        }
        let query = format!(
            "SELECT session, turn, file, name, kind, change, earlier, at FROM symbol_changes WHERE {} \
             ORDER BY at DESC, session DESC, turn DESC, file, name",
            conditions.join(" AND ")
        );
        let mut statement = self.connection.prepare(&query)?;
        let mut rows = statement.query((filter.since, filter.session))?;
        let mut changes = Vec::new();
        while let Some(row) = rows.next()? {
            match symbol_from_row(row) {
                Err(error) if UnknownNumber::is_cause_of(&error) => {
                    self.meet_damage([damage::rows(
                        &self.connection,
                        Scope::Sessions,
                        row.get(0)?,
                    )?]);
                }
                change => changes.push(change?),
            }
        }
        Ok(changes)
    }

    /// Calls that were seen in stack traces, those of the given files only.
    pub fn run_edges(&self, files: &[FileId]) -> Result<Vec<RunEdge>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT file, caller, callee, session, seq, seen, at FROM run_edges WHERE file = ?1 \
             ORDER BY caller, callee, at, session, seq",
        )?;
        let mut edges: Vec<RunEdge> = Vec::new();
        for file in files {
            let rows = statement.query_map([file], |row| {
                Ok(RunEdge {
                    file: row.get(0)?,
                    caller: row.get(1)?,
                    callee: row.get(2)?,
                    session: row.get(3)?,
                    seq: row.get(4)?,
                    seen: row.get(5)?,
                    at: row.get(6)?,
                })
            })?;
            for row in rows {
                let edge = row?;
                let call = |edge: &RunEdge| (edge.file, edge.caller.clone(), edge.callee.clone());
                match edges.last_mut().filter(|last| call(last) == call(&edge)) {
                    Some(last) => {
                        *last = RunEdge {
                            seen: last.seen.saturating_add(edge.seen),
                            ..edge
                        }
                    }
                    None => edges.push(edge),
                }
            }
        }
        Ok(edges)
    }
}

fn symbol_from_row(row: &Row<'_>) -> rusqlite::Result<SymbolRow> {
    Ok(SymbolRow {
        session: row.get(0)?,
        turn: row.get::<_, StoredTurn>(1)?.0,
        file: row.get(2)?,
        name: row.get(3)?,
        kind: row.get(4)?,
        change: row.get(5)?,
        earlier: row.get(6)?,
        at: row.get(7)?,
    })
}
