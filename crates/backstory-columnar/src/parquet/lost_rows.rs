//! Sessions of which an old file has records that the logs do not have any more: they are not written again.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use ::parquet::file::reader::FileReader;
use backstory_memory::{EventRange, Memory, SessionRow};

use super::column_buffer::Value;
use super::footer::{PartContent, SessionKey};
use super::kept_rows::{open_checked, read_columns, text_of};
use super::row_values::SharedEvent;
use super::schema::Table;
use super::usage_rows::usage_rows;
use crate::error::{Error, Result};
use crate::pairing::RecordMarks;
use crate::redaction::{redacted_id, unkeyed_markers};

/// Maximum number of answers that the end of a log cuts: the session's and a subagent's. They have another time when they are whole.
const MAX_CUT_ANSWERS: usize = 2;

/// Ids of the records that rows were made from; their times with a number, if they have no ids.
#[derive(Default)]
struct RecordIds {
    ids: HashSet<String>,
    /// Number of rows at each time; of those without one at `None`.
    at: HashMap<Option<i64>, u64>,
    /// First and last time of tables whose rows are not of one record each.
    span: Option<(i64, i64)>,
}

impl RecordIds {
    fn add_id(&mut self, id: &str) {
        self.ids.insert(id.to_string());
    }

    fn add_time(&mut self, at: Option<i64>) {
        let count = self.at.entry(at).or_default();
        *count += 1;
        self.ids.insert(match at {
            Some(at) => format!("at {at} {count}"),
            None => format!("row {count}"),
        });
    }

    fn extend_span(&mut self, times: impl IntoIterator<Item = i64>) {
        for at in times {
            let (first, last) = self.span.unwrap_or((at, at));
            self.span = Some((first.min(at), last.max(at)));
        }
    }

    /// Adds the record of a row of an old file.
    fn add_row(&mut self, table: Table, row: &[(&str, Value)]) {
        let value = |name: &str| {
            let found = row.iter().find(|(column, _)| *column == name);
            found.map(|(_, value)| value)
        };
        let is_set = |name: &str| value(name) == Some(&Value::Boolean(true));
        let text = |name: &str| match value(name) {
            Some(Value::Text(text)) => Some(text_of(text)),
            _ => None,
        };
        let integer = |name: &str| match value(name) {
            Some(Value::Integer(number)) => Some(*number),
            _ => None,
        };
        match table {
            // Events that only a hook told of are replaced by those of the log.
            Table::Events if is_set("live") || is_set("damaged") => {}
            Table::Events => match text("uuid").filter(|id| !id.is_empty()) {
                Some(id) => self.add_id(&id),
                None => self.add_time(integer("timestamp")),
            },
            Table::ToolCalls => {
                if let Some(id) = text("tool_use_id") {
                    self.add_id(&id);
                }
            }
            Table::Usage => {
                let at = integer("timestamp");
                self.add_time(at);
                self.extend_span(at);
            }
            Table::Sessions => {
                self.extend_span(["started_at", "ended_at"].into_iter().filter_map(integer));
            }
        }
    }

    /// Adds the records of a session as a memory has it.
    fn add_session(&mut self, memory: &Memory, session: &SessionRow, table: Table) -> Result<()> {
        if matches!(table, Table::Usage | Table::Sessions) {
            let times = [session.started_at, session.ended_at].into_iter().flatten();
            self.extend_span(times.map(i64::from));
        }
        match table {
            Table::Sessions => return Ok(()),
            Table::Usage => {
                for row in usage_rows(memory, &SessionKey::of_row(session), Some(session))? {
                    let columns = table.columns().iter().map(|column| column.name);
                    let at = columns.zip(&row).find(|(name, _)| *name == "timestamp");
                    self.add_time(match at {
                        Some((_, Value::Integer(at))) => Some(*at),
                        _ => None,
                    });
                }
                return Ok(());
            }
            Table::Events | Table::ToolCalls => {}
        }
        for record in memory
            .sessions()
            .open(session.clone())
            .events(EventRange::All)?
        {
            let event = SharedEvent::new(record?);
            match table {
                Table::Events => {
                    if let Some(id) = event.record.uuid.as_deref() {
                        self.add_id(id);
                    }
                    // A row that had no id may have one now: the line after it gave it one.
                    self.add_time(event.at);
                }
                Table::ToolCalls => {
                    if let Some(id) = &event.record.tool_use_id {
                        self.add_id(id);
                    }
                }
                Table::Sessions | Table::Usage => {}
            }
        }
        Ok(())
    }

    /// Gives ids the form in which they are compared with those of a file that was redacted with another key, or not at all.
    fn into_comparable(self, is_redacted_otherwise: bool) -> RecordMarks {
        let comparable = |id: String| match is_redacted_otherwise {
            true => redacted_id(&id),
            false => unkeyed_markers(&id).into_owned(),
        };
        self.ids.into_iter().map(comparable).collect()
    }
}

/// Returns whether a span lies within another.
fn is_within(span: Option<(i64, i64)>, other: Option<(i64, i64)>) -> bool {
    match (span, other) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some((first, last)), Some((from, to))) => from <= first && last <= to,
    }
}

/// Columns that tell which record a row was made from.
fn id_columns(table: Table) -> &'static [&'static str] {
    match table {
        Table::Events => &["agent", "session", "timestamp", "uuid", "live", "damaged"],
        Table::ToolCalls => &["agent", "session", "tool_use_id"],
        Table::Usage => &["agent", "session", "seq", "timestamp"],
        Table::Sessions => &["agent", "session", "started_at", "ended_at"],
    }
}

/// Reads the records that a file has of these sessions.
fn read_ids(
    path: &Path,
    old: &PartContent,
    sessions: &HashSet<&SessionKey>,
) -> Result<HashMap<SessionKey, RecordIds>> {
    let reader = open_checked(path, old.table)?;
    let names = id_columns(old.table);
    let is_read = |name: &str| names.contains(&name);
    let mut found: HashMap<SessionKey, RecordIds> = HashMap::new();
    for number in 0..reader.num_row_groups() {
        let group = reader.get_row_group(number).map_err(Error::parquet(path))?;
        let columns = read_columns(&*group, old.table, &is_read);
        let mut columns = columns.map_err(Error::parquet(path))?;
        let known = old.table.columns().iter().map(|column| column.name);
        let names: Vec<&str> = known.filter(|name| is_read(name)).collect();
        loop {
            let values = columns.iter_mut().filter_map(Iterator::next);
            let row: Vec<(&str, Value)> = names.iter().copied().zip(values).collect();
            let [(_, Value::Text(agent)), (_, Value::Text(session)), ..] = &row[..] else {
                break;
            };
            let key = SessionKey {
                agent: text_of(agent),
                session: text_of(session),
            };
            let key = old.current_key(&key);
            if sessions.contains(key) {
                let ids = found.entry(key.clone()).or_default();
                ids.add_row(old.table, &row);
            }
        }
    }
    Ok(found)
}

/// Returns what sessions of a file are recognised by, in the same order.
pub(super) fn read_record_marks(
    (path, old): (&Path, &PartContent),
    sessions: &[SessionKey],
) -> Result<Vec<RecordMarks>> {
    let wanted = sessions.iter().collect();
    if !old.sessions.iter().any(|(key, _)| sessions.contains(key)) {
        return Ok(Vec::new());
    }
    let mut known = read_ids(path, old, &wanted)?;
    let marks = sessions.iter().map(|key| known.remove(key));
    Ok(marks
        .map(|ids| ids.unwrap_or_default().into_comparable(true))
        .collect())
}

/// Returns what a session is recognised by.
pub(super) fn session_marks(
    memory: &Memory,
    session: &SessionRow,
    table: Table,
) -> Result<RecordMarks> {
    let mut ids = RecordIds::default();
    ids.add_session(memory, session, table)?;
    Ok(ids.into_comparable(true))
}

/// Returns those sessions of which a file has records that neither these sessions nor others of the memory have. `sessions` are in the file.
pub(super) fn find_lost_rows(
    memory: &Memory,
    (path, old): (&Path, &PartContent),
    sessions: &[&SessionRow],
    listed: &HashMap<SessionKey, SessionRow>,
    is_redacted: bool,
) -> Result<Vec<SessionKey>> {
    let table = old.table;
    let keys: Vec<SessionKey> = sessions
        .iter()
        .map(|session| SessionKey::of_row(session))
        .collect();
    let mut known = read_ids(path, old, &keys.iter().collect())?;
    let is_other_redaction = is_redacted != old.is_redacted;
    let mut missing = Vec::new();
    for (key, session) in keys.into_iter().zip(sessions) {
        let Some(ids) = known.remove(&key) else {
            continue;
        };
        let span = ids.span;
        let mut ids = ids.into_comparable(is_other_redaction);
        let mut now = RecordIds::default();
        now.add_session(memory, session, table)?;
        let is_shorter = !is_within(span, now.span);
        let now = now.into_comparable(is_other_redaction);
        let had_more = ids.len() > now.len();
        ids.retain(|id| !now.contains(id));
        let was_cut = table == Table::Usage && ids.len() <= MAX_CUT_ANSWERS && !had_more;
        if is_shorter || !(ids.is_empty() || was_cut) {
            missing.push((key, ids, span));
        }
    }
    // Records that a fork shares with its parent are counted for one of them; one that is not written either gives none.
    let mut lost: HashSet<SessionKey> = missing.iter().map(|(key, ..)| key.clone()).collect();
    while !lost.is_empty() {
        let mut written = RecordIds::default();
        for (key, session) in listed.iter().filter(|(key, _)| !lost.contains(key)) {
            debug_assert_eq!(*key, SessionKey::of_row(session));
            written.add_session(memory, session, table)?;
        }
        let written_span = written.span;
        let written = written.into_comparable(is_other_redaction);
        let still_lost = missing.iter().filter(|(key, ids, span)| {
            let is_written = ids.is_subset(&written) && is_within(*span, written_span);
            lost.contains(key) && !is_written
        });
        let still_lost: HashSet<SessionKey> = still_lost.map(|(key, ..)| key.clone()).collect();
        if still_lost.len() == lost.len() {
            break;
        }
        lost = still_lost;
    }
    Ok(lost.into_iter().collect())
}
