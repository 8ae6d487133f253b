//! What is known of source files: their symbols as they were last seen, what turns did to them, and which calls were seen to happen.

use backstory_event::SessionId;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior};

use crate::blocks::{Packer, decompress};
use crate::checksums::{Scope, check_unit};
use crate::error::Result;
use crate::ingest::{Project, project_row};
use crate::open::Store;

/// The turn of what was seen live, until the log tells which it was.
pub const LIVE_TURN: i64 = -1;

/// A session with events that were not looked at for what they did to source files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncoded {
    /// The session's row.
    pub session: SessionId,
    /// The agent.
    pub agent: String,
    /// The folder that it worked in.
    pub cwd: Option<String>,
    /// Its project.
    pub project: Option<Project>,
    /// Events up to this seq were looked at.
    pub coded: u64,
    /// How many it has.
    pub events: u64,
}

/// A tool call that was answered, and names a file that it writes or a command that may move one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The call.
    pub call: u64,
    /// The answer.
    pub result: u64,
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
    pub call: u64,
}

/// A source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeFile {
    /// Its row.
    pub id: i64,
    /// Its project.
    pub project: Project,
    /// Its path below the root of that.
    pub name: String,
    /// The file that it was before it was moved.
    pub moved_from: Option<i64>,
}

/// A file as it was last seen whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// When.
    pub at: i64,
    /// Tells whether a text is the one that was seen.
    pub text_hash: i64,
    /// When it was seen since with errors that were not there before.
    pub broken_at: Option<i64>,
    /// The symbols, in the writer's own format.
    pub symbols: Vec<u8>,
}

/// What a turn did to a symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolRow {
    /// The session's row.
    pub session: SessionId,
    /// The turn.
    pub turn: i64,
    /// The file.
    pub file: i64,
    /// The symbol; empty for the file itself.
    pub name: String,
    /// What it is, in the writer's own numbers.
    pub kind: Option<u8>,
    /// What was done, in the writer's own numbers.
    pub change: u8,
    /// The name before it was renamed.
    pub earlier: Option<String>,
    /// When.
    pub at: Option<i64>,
}

/// A call that was seen in stack traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEdge {
    /// The file of the caller.
    pub file: i64,
    /// The caller's name, without what it is in.
    pub caller: String,
    /// The callee's.
    pub callee: String,
    /// How often it was seen.
    pub seen: u64,
    /// The session where it was seen last.
    pub session: SessionId,
    /// The event there.
    pub seq: u64,
    /// When.
    pub at: Option<i64>,
}

/// Which changes of symbols.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SymbolFilter {
    /// Of this session.
    pub session: Option<SessionId>,
    /// Of these files.
    pub files: Option<Vec<i64>>,
    /// Not before this.
    pub since: Option<i64>,
}

impl Store {
    /// Sessions whose last events were not looked at, those that began first, first.
    pub fn uncoded(&self) -> Result<Vec<Uncoded>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT sessions.id, agent, cwd, root, remote, coded, events FROM sessions LEFT JOIN projects ON projects.id = sessions.project \
             WHERE events > MAX(coded, evicted) ORDER BY started_at, sessions.id",
        )?;
        let rows = statement.query_map([], |row| {
            let root: Option<String> = row.get(3)?;
            let remote = row.get(4)?;
            Ok(Uncoded {
                session: row.get(0)?,
                agent: row.get(1)?,
                cwd: row.get(2)?,
                project: root.map(|root| Project { root, remote }),
                coded: row.get(5)?,
                events: row.get(6)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Calls that were answered without an error after this seq and write files or may move some, in the order of the answers.
    pub fn answered(&self, session: SessionId, after: u64) -> Result<Vec<Answered>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT results.call, results.seq, paths.path FROM events AS results \
             JOIN touches INDEXED BY touches_by_event ON touches.session = ?1 AND touches.seq = results.call AND action > 0 \
             JOIN paths ON paths.id = touches.path \
             WHERE results.session = ?1 AND results.seq > ?2 AND results.call IS NOT NULL AND results.error IS NULL \
             UNION ALL SELECT results.call, results.seq, NULL FROM events AS calls \
             JOIN events AS results ON results.session = ?1 AND results.seq > MAX(?2, calls.seq) AND results.call = calls.seq \
             WHERE calls.session = ?1 AND instr(calls.command, 'mv ') > 0 AND results.error IS NULL ORDER BY 2, 1, 3",
        )?;
        let rows = statement.query_map((session, after), |row| {
            Ok(Answered {
                call: row.get(0)?,
                result: row.get(1)?,
                path: row.get(2)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The last writes to a path, as logs have it, before a call: of the session itself, and of those of its project that began
    /// before it. The newest comes first.
    pub fn writes_before(
        &self,
        path: &str,
        session: SessionId,
        call: u64,
        limit: usize,
    ) -> Result<Vec<WriteRow>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT other.id, other.agent, touches.seq FROM paths JOIN touches ON touches.path = paths.id \
             JOIN sessions AS other ON other.id = touches.session JOIN sessions AS own ON own.id = ?2 \
             WHERE paths.path = ?1 AND action > 0 AND ((other.id = own.id AND touches.seq < ?3) \
               OR (other.id != own.id AND other.project = own.project AND other.started_at < own.started_at)) \
             ORDER BY other.id = own.id DESC, other.started_at DESC, touches.seq DESC LIMIT ?4",
        )?;
        let rows = statement.query_map((path, session, call, limit as u64), |row| {
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

    /// A file as it was last seen whole.
    pub fn snapshot(&self, file: i64) -> Result<Option<Snapshot>> {
        snapshot(&self.connection, file)
    }

    /// Files that were last seen with errors that were not there before: the file, and when that was.
    pub fn broken_files(&self) -> Result<Vec<(i64, i64)>> {
        let query =
            "SELECT file, broken_at FROM snapshots WHERE broken_at IS NOT NULL ORDER BY file";
        let mut statement = self.connection.prepare_cached(query)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// What turns did to symbols, the newest first.
    pub fn symbol_changes(&self, filter: &SymbolFilter) -> Result<Vec<SymbolRow>> {
        let mut conditions =
            vec!["(?1 IS NULL OR at >= ?1) AND (?2 IS NULL OR session = ?2)".to_string()];
        if let Some(files) = &filter.files {
            let files: Vec<String> = files.iter().map(i64::to_string).collect();
            conditions.push(format!("file IN ({})", files.join(",")));
        }
        let query = format!(
            "SELECT session, turn, file, name, kind, change, earlier, at FROM symbol_changes WHERE {} \
             ORDER BY at DESC, session DESC, turn DESC, file, name",
            conditions.join(" AND ")
        );
        let mut statement = self.connection.prepare(&query)?;
        let rows = statement.query_map((filter.since, filter.session), symbol_from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Calls that were seen in stack traces, those of the given files only.
    pub fn run_edges(&self, files: &[i64]) -> Result<Vec<RunEdge>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT file, caller, callee, seen, session, seq, at FROM run_edges WHERE file = ?1",
        )?;
        let mut edges = Vec::new();
        for file in files {
            let rows = statement.query_map([file], |row| {
                Ok(RunEdge {
                    file: row.get(0)?,
                    caller: row.get(1)?,
                    callee: row.get(2)?,
                    seen: row.get(3)?,
                    session: row.get(4)?,
                    seq: row.get(5)?,
                    at: row.get(6)?,
                })
            })?;
            for row in rows {
                edges.push(row?);
            }
        }
        Ok(edges)
    }

    /// Begins to store what was learned of source files.
    pub fn coding(&mut self) -> Result<Coding<'_>> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        Ok(Coding {
            transaction,
            packer: Packer::for_notes()?,
        })
    }
}

/// A transaction that stores what was learned of source files.
pub struct Coding<'a> {
    transaction: Transaction<'a>,
    packer: Packer,
}

impl Coding<'_> {
    /// The row of a source file, made if need be.
    pub fn file(&self, project: &Project, name: &str) -> Result<i64> {
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
        Ok(self.transaction.last_insert_rowid())
    }

    /// A file as it was last seen whole.
    pub fn snapshot(&self, project: &Project, name: &str) -> Result<Option<Snapshot>> {
        match code_file(&self.transaction, project, name)? {
            Some(file) => snapshot(&self.transaction, file),
            None => Ok(None),
        }
    }

    /// The only file of a project that has this name in some folder.
    pub fn file_named(&self, project: &Project, name: &str) -> Result<Option<i64>> {
        let project = project_row(&self.transaction, project)?;
        let mut statement = self.transaction.prepare_cached(
            "SELECT MAX(id), COUNT(*) FROM code_files WHERE project = ?1 AND (name = ?2 OR substr(name, -length(?2) - 1) = '/' || ?2)",
        )?;
        let (id, count): (Option<i64>, u64) =
            statement.query_row((project, name), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(id.filter(|_| count == 1))
    }

    /// Takes note that a file was moved. What was known of it is known of the new one.
    pub fn moved(&self, from: i64, to: i64) -> Result<()> {
        if from == to {
            return Ok(());
        }
        let update = "UPDATE code_files SET moved_from = ?1 WHERE id = ?2";
        self.transaction
            .prepare_cached(update)?
            .execute((from, to))?;
        let update = "UPDATE OR REPLACE snapshots SET file = ?2 WHERE file = ?1";
        self.transaction
            .prepare_cached(update)?
            .execute((from, to))?;
        Ok(())
    }

    /// Stores how a file was last seen, unless it was seen later already.
    pub fn see(&mut self, file: i64, session: SessionId, snapshot: &Snapshot) -> Result<()> {
        let symbols = self.packer.compress(&snapshot.symbols)?;
        let insert = "INSERT INTO snapshots (file, session, at, text_hash, broken_at, symbols) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
             ON CONFLICT (file) DO UPDATE SET session = excluded.session, at = excluded.at, text_hash = excluded.text_hash, \
             broken_at = excluded.broken_at, symbols = excluded.symbols WHERE excluded.at >= at";
        self.transaction.prepare_cached(insert)?.execute((
            file,
            session,
            snapshot.at,
            snapshot.text_hash,
            snapshot.broken_at,
            symbols,
        ))?;
        Ok(())
    }

    /// Takes note that a file has errors that were not there when it was last seen whole.
    pub fn broken(&self, file: i64, at: i64) -> Result<()> {
        let update = "UPDATE snapshots SET broken_at = ?2 WHERE file = ?1 AND at <= ?2";
        self.transaction
            .prepare_cached(update)?
            .execute((file, at))?;
        Ok(())
    }

    /// Takes note that a file is gone.
    pub fn gone(&self, file: i64, at: i64) -> Result<()> {
        let delete = "DELETE FROM snapshots WHERE file = ?1 AND at <= ?2";
        self.transaction
            .prepare_cached(delete)?
            .execute((file, at))?;
        Ok(())
    }

    /// What is stored of what a turn did to a symbol.
    pub fn known(&self, row: &SymbolRow) -> Result<Option<SymbolRow>> {
        let mut statement = self.transaction.prepare_cached(
            "SELECT session, turn, file, name, kind, change, earlier, at FROM symbol_changes \
             WHERE session = ?1 AND turn = ?2 AND file = ?3 AND name = ?4",
        )?;
        let key = (row.session, row.turn, row.file, &row.name);
        Ok(statement.query_row(key, symbol_from_row).optional()?)
    }

    /// Stores what a turn did to a symbol, in the place of what was stored before.
    pub fn change(&self, row: &SymbolRow) -> Result<()> {
        let insert = "INSERT OR REPLACE INTO symbol_changes (session, turn, file, name, kind, change, earlier, at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        self.transaction.prepare_cached(insert)?.execute((
            row.session,
            row.turn,
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
    pub fn unchange(&self, row: &SymbolRow) -> Result<()> {
        let delete = "DELETE FROM symbol_changes WHERE session = ?1 AND turn = ?2 AND file = ?3 AND name = ?4";
        let key = (row.session, row.turn, row.file, &row.name);
        self.transaction.prepare_cached(delete)?.execute(key)?;
        Ok(())
    }

    /// Counts a call that was seen in a stack trace.
    pub fn ran(&self, edge: &RunEdge) -> Result<()> {
        let insert = "INSERT INTO run_edges (file, caller, callee, seen, session, seq, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
             ON CONFLICT (file, caller, callee) DO UPDATE SET seen = seen + excluded.seen, \
             session = excluded.session, seq = excluded.seq, at = excluded.at";
        self.transaction.prepare_cached(insert)?.execute((
            edge.file,
            &edge.caller,
            &edge.callee,
            edge.seen,
            edge.session,
            edge.seq,
            edge.at,
        ))?;
        Ok(())
    }

    /// Takes note that the events of a session were looked at up to this seq. What was seen live is told by them now.
    pub fn finish(&self, session: SessionId, coded: u64) -> Result<()> {
        let delete = "DELETE FROM symbol_changes WHERE session = ?1 AND turn = ?2";
        self.transaction
            .prepare_cached(delete)?
            .execute((session, LIVE_TURN))?;
        let update = "UPDATE sessions SET coded = ?2 WHERE id = ?1";
        self.transaction
            .prepare_cached(update)?
            .execute((session, coded))?;
        Ok(())
    }

    /// Makes it so.
    pub fn commit(self) -> Result<()> {
        Ok(self.transaction.commit()?)
    }
}

fn code_file(connection: &Connection, project: &Project, name: &str) -> Result<Option<i64>> {
    let mut statement = connection.prepare_cached(
        "SELECT code_files.id FROM code_files JOIN projects ON projects.id = project \
         WHERE name = ?3 AND (remote = ?2 OR root = ?1) ORDER BY remote IS ?2 DESC LIMIT 1",
    )?;
    let found = statement.query_row((&project.root, &project.remote, name), |row| row.get(0));
    Ok(found.optional()?)
}

fn snapshot(connection: &Connection, file: i64) -> Result<Option<Snapshot>> {
    let query = "SELECT at, text_hash, broken_at, symbols FROM snapshots WHERE file = ?1";
    let mut statement = connection.prepare_cached(query)?;
    let found = statement
        .query_row([file], |row| {
            Ok(Snapshot {
                at: row.get(0)?,
                text_hash: row.get(1)?,
                broken_at: row.get(2)?,
                symbols: row.get(3)?,
            })
        })
        .optional()?;
    let Some(mut snapshot) = found else {
        return Ok(None);
    };
    check_unit(connection, Scope::Snapshots, file)?;
    snapshot.symbols = decompress(&snapshot.symbols)?;
    Ok(Some(snapshot))
}

fn symbol_from_row(row: &Row<'_>) -> rusqlite::Result<SymbolRow> {
    Ok(SymbolRow {
        session: row.get(0)?,
        turn: row.get(1)?,
        file: row.get(2)?,
        name: row.get(3)?,
        kind: row.get(4)?,
        change: row.get(5)?,
        earlier: row.get(6)?,
        at: row.get(7)?,
    })
}
