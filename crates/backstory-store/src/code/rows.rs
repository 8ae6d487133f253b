//! Symbols and calls of all snapshots as rows: the views `function_map` and `call_graph`.

use std::collections::{BTreeSet, HashMap, HashSet};

use backstory_event::{FileId, TimeMs, TurnNo};
use rusqlite::Row;
use rusqlite::functions::FunctionFlags;
use serde_json::{Value, json};

use super::UNIT_SHIFT;
use super::format::decode_part;
use super::snapshot::{ChangeType, FileSnapshot};
use crate::blocks::decompress;
use crate::checksums::{Scope, check_unit};
use crate::error::Result;
use crate::lossy::LossyRow;
use crate::open::Store;

/// The views. They need the functions that [`Store::install_views`] adds.
const VIEWS: &str = include_str!("views.sql");

/// The caller of calls outside of every function.
const MODULE: &str = "<module>";

/// Names of resolutions; any other name is the reason why a call is unresolved.
const RESOLUTIONS: [&str; 4] = ["direct", "self_method", "import", "unresolved"];

/// Which rows are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotFilter {
    /// Of these files, by their rows.
    pub files: Option<Vec<FileId>>,
    /// Of this session, by the agent's own id.
    pub session: Option<String>,
    /// Not before this time.
    pub since: Option<TimeMs>,
    /// Not after this time.
    pub until: Option<TimeMs>,
}

/// A symbol in a snapshot: a row of `function_map`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionRow {
    /// Path of the file.
    pub file_path: String,
    /// Time of the snapshot; 0 if it is not known.
    pub snapshot_at: TimeMs,
    /// The agent's own id of the session.
    pub session: String,
    /// The turn; `None` as long as its log has not been imported.
    pub turn: Option<TurnNo>,
    /// Qualified name. The second of several symbols of the same name ends with `#2`.
    pub qualified_name: String,
    /// Kind: `function`, `async_method`, `class`, …
    pub kind: String,
    /// Qualified name of what it is defined in.
    pub parent_class: Option<String>,
    /// Declaration on one line; `None` when it was deleted.
    pub signature: Option<String>,
    /// Decorators as a JSON array.
    pub decorators: String,
    /// First line of the documentation.
    pub docstring: Option<String>,
    /// First line.
    pub line_start: u64,
    /// Last line.
    pub line_end: u64,
    /// Hash, in hexadecimal digits; of a type, without its members. `None` when it was deleted.
    pub body_hash: Option<String>,
    /// Hash before the turn; `None` when it is new.
    pub prev_hash: Option<String>,
    /// `new`, `modified`, `unchanged` or `deleted`.
    pub change_type: String,
}

/// A call in a snapshot, or one that a stack trace showed: a row of `call_graph`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRow {
    /// The agent's own id of the session.
    pub session: String,
    /// Time of the snapshot or of the stack trace, in milliseconds.
    pub snapshot_at: Option<TimeMs>,
    /// Path of the caller's file.
    pub caller_file: String,
    /// Qualified name of the caller; `<module>` outside of every function.
    pub caller_name: String,
    /// What is called, as written.
    pub callee_name: String,
    /// What that is.
    pub callee_resolved: Option<String>,
    /// `direct`, `self_method`, `import`, `runtime` or `unresolved`.
    pub resolution: String,
    /// Why it is unresolved.
    pub reason: Option<String>,
    /// Line; `None` for what a stack trace showed.
    pub line_number: Option<u64>,
}

impl Store {
    /// Adds the views `function_map` and `call_graph` to this connection.
    pub fn install_views(&self) -> Result<()> {
        let expand = |name: &str, rows: fn(&[FileSnapshot]) -> Value| {
            let flags = FunctionFlags::SQLITE_UTF8
                | FunctionFlags::SQLITE_DETERMINISTIC
                | FunctionFlags::SQLITE_INNOCUOUS;
            self.connection
                .create_scalar_function(name, 1, flags, move |context| {
                    let states = context.get_raw(0).as_blob()?;
                    let wrong = |error: String| rusqlite::Error::UserFunctionError(error.into());
                    let bytes = decompress(states).map_err(|error| wrong(error.to_string()))?;
                    let snapshots = decode_part(&bytes).map_err(wrong)?;
                    Ok(rows(&snapshots).to_string())
                })
        };
        expand("snapshot_symbols", symbol_rows)?;
        expand("snapshot_calls", call_rows)?;
        Ok(self.connection.execute_batch(VIEWS)?)
    }

    /// Symbols of snapshots, file by file in the order of time.
    pub fn function_map(&self, filter: &SnapshotFilter) -> Result<Vec<FunctionRow>> {
        let columns = "file_path, snapshot_at, session, turn, qualified_name, kind, parent_class, signature, decorators, docstring, \
             line_start, line_end, body_hash, prev_hash, change_type";
        let query = format!("SELECT {columns} FROM function_map");
        let order = "file_path, snapshot_at, line_start";
        self.view_rows(&query, order, filter, function_from_row)
    }

    /// Calls of snapshots, file by file in the order of time.
    pub fn call_graph(&self, filter: &SnapshotFilter) -> Result<Vec<CallRow>> {
        let columns = "session, snapshot_at, caller_file, caller_name, callee_name, callee_resolved, resolution, reason, line_number";
        let query = format!("SELECT {columns} FROM call_graph");
        let order = "caller_file, snapshot_at, line_number";
        self.view_rows(&query, order, filter, call_from_row)
    }

    fn view_rows<T>(
        &self,
        query: &str,
        order: &str,
        filter: &SnapshotFilter,
        from_row: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.install_views()?;
        self.check_snapshots(filter)?;
        let files = match &filter.files {
            Some(files) => {
                let files: Vec<String> = files.iter().map(FileId::to_string).collect();
                format!("file IN ({})", files.join(","))
            }
            None => "1".to_string(),
        };
        let query = format!(
            "{query} WHERE {files} AND (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR snapshot_at >= ?2) \
             AND (?3 IS NULL OR snapshot_at <= ?3) ORDER BY {order}"
        );
        let mut statement = self.connection.prepare(&query)?;
        let values = (&filter.session, filter.since, filter.until);
        let rows = statement.query_map(values, from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

impl Store {
    /// Compares the snapshots of files with their checksums.
    fn check_snapshots(&self, filter: &SnapshotFilter) -> Result<()> {
        let units: BTreeSet<i64> = match &filter.files {
            Some(files) => files
                .iter()
                .map(|file| i64::from(*file) >> UNIT_SHIFT)
                .collect(),
            None => {
                let query = format!("SELECT DISTINCT file >> {UNIT_SHIFT} FROM snapshots");
                let mut statement = self.connection.prepare(&query)?;
                let rows = statement.query_map([], |row| row.get(0))?;
                rows.collect::<rusqlite::Result<_>>()?
            }
        };
        for unit in units {
            check_unit(&self.connection, Scope::Snapshots, unit)?;
        }
        Ok(())
    }
}

fn hex(hash: u32) -> String {
    format!("{hash:08x}")
}

/// What it is defined in.
fn parent_of(name: &str) -> Option<&str> {
    name.rfind('.').map(|dot| &name[..dot])
}

fn symbol_rows(snapshots: &[FileSnapshot]) -> Value {
    let mut rows = Vec::new();
    for (place, snapshot) in snapshots.iter().enumerate() {
        let mut times_seen = HashMap::new();
        for (placed, change) in snapshot.symbols.iter().zip(snapshot.change_types()) {
            let record = &placed.record;
            if record.name.is_empty() {
                continue;
            }
            let times: &mut u32 = times_seen.entry(record.name.as_str()).or_default();
            *times += 1;
            let name = match times {
                1 => record.name.clone(),
                times => format!("{}#{times}", record.name),
            };
            let (change, before) = match change {
                ChangeType::New => ("new", None),
                ChangeType::Modified(hash) => ("modified", Some(hash)),
                ChangeType::Unchanged => ("unchanged", Some(record.own_hash)),
            };
            rows.push(json!([
                place,
                name,
                record.kind,
                parent_of(&record.name),
                record.signature,
                record.decorators,
                record.doc,
                placed.line_start,
                placed.line_end,
                hex(record.own_hash),
                before.map(hex),
                change
            ]));
        }
        let mut names = HashSet::new();
        for gone in &snapshot.changes.deleted {
            if names.insert(&gone.name) {
                rows.push(json!([
                    place,
                    gone.name,
                    gone.kind,
                    parent_of(&gone.name),
                    null,
                    [],
                    null,
                    gone.line_start,
                    gone.line_end,
                    null,
                    hex(gone.hash),
                    "deleted"
                ]));
            }
        }
    }
    Value::Array(rows)
}

fn call_rows(snapshots: &[FileSnapshot]) -> Value {
    let mut rows = Vec::new();
    for (place, snapshot) in snapshots.iter().enumerate() {
        for placed in &snapshot.symbols {
            let record = &placed.record;
            let caller = match record.name.as_str() {
                "" => MODULE,
                name => name,
            };
            for call in &record.calls {
                let (resolution, reason) = match call.how.as_str() {
                    how if RESOLUTIONS.contains(&how) => (how, None),
                    reason => ("unresolved", Some(reason)),
                };
                rows.push(json!([
                    place,
                    caller,
                    call.callee,
                    call.resolved,
                    resolution,
                    reason,
                    i64::from(placed.line_start) + call.line
                ]));
            }
        }
    }
    Value::Array(rows)
}

fn function_from_row(row: &Row<'_>) -> rusqlite::Result<FunctionRow> {
    Ok(FunctionRow {
        file_path: row.text(0)?,
        snapshot_at: row.get(1)?,
        session: row.text(2)?,
        turn: row.get(3)?,
        qualified_name: row.get(4)?,
        kind: row.get(5)?,
        parent_class: row.get(6)?,
        signature: row.get(7)?,
        decorators: row.get(8)?,
        docstring: row.get(9)?,
        line_start: row.get(10)?,
        line_end: row.get(11)?,
        body_hash: row.get(12)?,
        prev_hash: row.get(13)?,
        change_type: row.get(14)?,
    })
}

fn call_from_row(row: &Row<'_>) -> rusqlite::Result<CallRow> {
    Ok(CallRow {
        session: row.text(0)?,
        snapshot_at: row.get(1)?,
        caller_file: row.text(2)?,
        caller_name: row.get(3)?,
        callee_name: row.get(4)?,
        callee_resolved: row.get(5)?,
        resolution: row.get(6)?,
        reason: row.get(7)?,
        line_number: row.get(8)?,
    })
}
