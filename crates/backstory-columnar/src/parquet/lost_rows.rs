//! Sessions of which an old file has records that the logs do not have any more: they are not written again.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use ::parquet::errors::ParquetError;
use ::parquet::file::reader::FileReader;
use backstory_memory::{EventRange, Memory, SessionRow};

use super::column_buffer::Value;
use super::footer::{PartContent, SessionKey};
use super::kept_rows::{damaged_table, open_checked, read_columns, session_key, text_of};
use super::row_values::SharedEvent;
use super::schema::Table;
use super::usage_rows::usage_rows;
use crate::error::Result;
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
    /// Number of events, of the table of sessions.
    events: i64,
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
        self.span = joined_span(self.span, times);
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
            // Events known only from a hook event are replaced by those of the log.
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
                self.events = integer("events").unwrap_or_default();
            }
        }
    }

    /// Adds the records of a session as a memory has it.
    fn add_session(&mut self, memory: &Memory, session: &SessionRow, table: Table) -> Result<()> {
        if matches!(table, Table::Usage | Table::Sessions) {
            self.extend_span(session_times(session));
        }
        match table {
            Table::Sessions => {
                self.events = event_count(session);
                return Ok(());
            }
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

    fn into_comparable(self, is_redacted_otherwise: bool) -> RecordMarks {
        comparable_marks(self.ids.into_iter(), is_redacted_otherwise)
    }
}

/// Gives ids the form in which they are compared with those of a file that was redacted with another key, or not at all.
fn comparable_marks(ids: impl Iterator<Item = String>, is_redacted_otherwise: bool) -> RecordMarks {
    let comparable = |id: String| match is_redacted_otherwise {
        true => redacted_id(&id),
        false => unkeyed_markers(&id).into_owned(),
    };
    ids.map(comparable).collect()
}

/// Returns a span that has these times, too.
fn joined_span(
    span: Option<(i64, i64)>,
    times: impl IntoIterator<Item = i64>,
) -> Option<(i64, i64)> {
    times.into_iter().fold(span, |span, at| {
        let (first, last) = span.unwrap_or((at, at));
        Some((first.min(at), last.max(at)))
    })
}

/// Returns whether a span lies within another.
fn is_within(span: Option<(i64, i64)>, other: Option<(i64, i64)>) -> bool {
    match (span, other) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some((first, last)), Some((from, to))) => from <= first && last <= to,
    }
}

/// Columns that identify a row's source record.
fn id_columns(table: Table) -> &'static [&'static str] {
    match table {
        Table::Events => &["agent", "session", "timestamp", "uuid", "live", "damaged"],
        Table::ToolCalls => &["agent", "session", "tool_use_id"],
        Table::Usage => &["agent", "session", "timestamp"],
        Table::Sessions => &["agent", "session", "started_at", "ended_at", "events"],
    }
}

/// Reads the records that a file has of these sessions.
fn read_ids(
    path: &Path,
    old: &PartContent,
    sessions: &HashSet<&SessionKey>,
) -> Result<HashMap<SessionKey, RecordIds>> {
    let unreadable = |error: ParquetError| damaged_table(path, old.table, error.to_string());
    let reader = open_checked(path, old.table)?;
    let names = id_columns(old.table);
    let is_read = |name: &str| names.contains(&name);
    let mut found: HashMap<SessionKey, RecordIds> = HashMap::new();
    for number in 0..reader.num_row_groups() {
        let group = reader.get_row_group(number).map_err(unreadable)?;
        let mut columns = read_columns(&*group, old.table, &is_read).map_err(unreadable)?;
        let known = old.table.columns().iter().map(|column| column.name);
        let names: Vec<&str> = known.filter(|name| is_read(name)).collect();
        loop {
            let values = columns.iter_mut().filter_map(Iterator::next);
            let row: Vec<(&str, Value)> = names.iter().copied().zip(values).collect();
            let [(_, Value::Text(agent)), (_, Value::Text(session)), ..] = &row[..] else {
                break;
            };
            let key = session_key(agent, session);
            let key = old.current_key(&key);
            if sessions.contains(key) {
                let ids = found.entry(key.clone()).or_default();
                ids.add_row(old.table, &row);
            }
        }
    }
    Ok(found)
}

/// Returns the record marks of each session.
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

/// Returns the session's record marks.
pub(super) fn session_marks(
    memory: &Memory,
    session: &SessionRow,
    table: Table,
) -> Result<RecordMarks> {
    let mut ids = RecordIds::default();
    ids.add_session(memory, session, table)?;
    Ok(ids.into_comparable(true))
}

/// Records that an old file has of a session and that the memory does not have of it.
struct MissingRecords {
    key: SessionKey,
    ids: RecordMarks,
    span: Option<(i64, i64)>,
    is_redacted_otherwise: bool,
}

/// Sessions that are forks of each other. A record that several have is counted for one of them.
#[derive(Default)]
struct ForkFamily {
    /// First and last time of all of them.
    span: Option<(i64, i64)>,
    /// Number of events that they have more than in an old table of sessions.
    gained_events: i64,
}

/// Search for records that old files of a table have and the memory lacks.
pub(super) struct LostRecordSearch<'a> {
    memory: &'a Memory,
    listed: &'a HashMap<SessionKey, SessionRow>,
    is_redacted: bool,
    table: Table,
    missing: Vec<MissingRecords>,
    /// Sessions of an old table of sessions, with the number of their events if they changed.
    old_events: HashMap<SessionKey, Option<i64>>,
}

impl<'a> LostRecordSearch<'a> {
    /// Begins a search; `listed` are all sessions of the memory.
    pub(super) fn new(
        memory: &'a Memory,
        listed: &'a HashMap<SessionKey, SessionRow>,
        is_redacted: bool,
        table: Table,
    ) -> Self {
        LostRecordSearch {
            memory,
            listed,
            is_redacted,
            table,
            missing: Vec::new(),
            old_events: HashMap::new(),
        }
    }

    /// Adds an old file of the table, with the sessions in it that changed.
    pub(super) fn add_part(
        &mut self,
        (path, old): (&Path, &PartContent),
        sessions: &[&SessionRow],
    ) -> Result<()> {
        let keys: Vec<SessionKey> = sessions
            .iter()
            .map(|session| SessionKey::of_row(session))
            .collect();
        let mut known = read_ids(path, old, &keys.iter().collect())?;
        if self.table == Table::Sessions {
            let unchanged = old.sessions.iter().map(|(key, _)| (key.clone(), None));
            self.old_events.extend(unchanged);
            let changed = known.iter();
            let changed = changed.map(|(key, ids)| (key.clone(), Some(ids.events)));
            self.old_events.extend(changed);
        }
        let is_redacted_otherwise = self.is_redacted != old.is_redacted;
        for (key, session) in keys.into_iter().zip(sessions) {
            let Some(ids) = known.remove(&key) else {
                continue;
            };
            let (span, events) = (ids.span, ids.events);
            let mut ids = ids.into_comparable(is_redacted_otherwise);
            let mut now = RecordIds::default();
            now.add_session(self.memory, session, self.table)?;
            let is_shorter = !is_within(span, now.span) || events > now.events;
            let now = now.into_comparable(is_redacted_otherwise);
            let had_more = ids.len() > now.len();
            ids.retain(|id| !now.contains(id));
            let was_cut = self.table == Table::Usage && ids.len() <= MAX_CUT_ANSWERS && !had_more;
            if is_shorter || !(ids.is_empty() || was_cut) {
                self.missing.push(MissingRecords {
                    key,
                    ids,
                    span,
                    is_redacted_otherwise,
                });
            }
        }
        Ok(())
    }

    /// Returns those sessions of which the files have records that neither they nor others that are written have now.
    pub(super) fn find_lost(self) -> Result<HashSet<SessionKey>> {
        let mut lost: HashSet<SessionKey> = self.missing_keys(|_| true);
        if lost.is_empty() {
            return Ok(lost);
        }
        let families = self.fork_families();
        loop {
            // A session that is not written gives no records to others.
            let mut ids = HashSet::new();
            if self.missing.iter().any(|missing| !missing.ids.is_empty()) {
                let mut written = RecordIds::default();
                for (key, session) in self.listed.iter().filter(|(key, _)| !lost.contains(key)) {
                    debug_assert_eq!(*key, SessionKey::of_row(session));
                    written.add_session(self.memory, session, self.table)?;
                }
                ids = written.ids;
            }
            let comparable = [false, true].map(|is_redacted_otherwise| {
                let is_used = |missing: &MissingRecords| {
                    missing.is_redacted_otherwise == is_redacted_otherwise
                };
                match self.missing.iter().any(is_used) {
                    true => comparable_marks(ids.iter().cloned(), is_redacted_otherwise),
                    false => RecordMarks::new(),
                }
            });
            let still_lost = self.missing_keys(|missing| {
                let written = &comparable[usize::from(missing.is_redacted_otherwise)];
                let has_family = |family: &ForkFamily| {
                    is_within(missing.span, family.span) && family.gained_events >= 0
                };
                let row = self.listed.get(&missing.key);
                let family = row.and_then(|row| families.get(&self.first_of_family(row)));
                let is_written = missing.ids.is_subset(written) && family.is_some_and(has_family);
                lost.contains(&missing.key) && !is_written
            });
            if still_lost.len() == lost.len() || still_lost.is_empty() {
                return Ok(still_lost);
            }
            lost = still_lost;
        }
    }

    fn missing_keys(&self, is_wanted: impl Fn(&MissingRecords) -> bool) -> HashSet<SessionKey> {
        let missing = self.missing.iter().filter(|missing| is_wanted(missing));
        missing.map(|missing| missing.key.clone()).collect()
    }

    /// Returns the families of all sessions, by the session that they are forks of.
    fn fork_families(&self) -> HashMap<SessionKey, ForkFamily> {
        let mut families: HashMap<SessionKey, ForkFamily> = HashMap::new();
        for (key, row) in self.listed {
            let family = families.entry(self.first_of_family(row)).or_default();
            family.span = joined_span(family.span, session_times(row));
            if self.table == Table::Sessions {
                let now = event_count(row);
                let gained = match self.old_events.get(key) {
                    Some(Some(before)) => now.saturating_sub(*before),
                    Some(None) => 0,
                    None => now,
                };
                // Written without its parent, a fork had the history that it copied.
                let copied = self.lineage(row).map(copied_events).sum::<i64>();
                let gained = match gained < 0 {
                    true => gained.saturating_add(copied).min(0),
                    false => gained,
                };
                family.gained_events = family.gained_events.saturating_add(gained);
            }
        }
        families
    }

    /// Returns a session and those that it is, by any number of steps, a fork of.
    fn lineage<'r>(&'r self, row: &'r SessionRow) -> impl Iterator<Item = &'r SessionRow> {
        let parent = |row: &&'r SessionRow| self.listed.get(&fork_parent(row)?);
        // Damaged stores could have a circle.
        std::iter::successors(Some(row), parent).take(self.listed.len())
    }

    /// Returns the first session of a lineage, which may be unknown.
    fn first_of_family(&self, row: &SessionRow) -> SessionKey {
        let first = self.lineage(row).last().unwrap_or(row);
        fork_parent(first).unwrap_or_else(|| SessionKey::of_row(first))
    }
}

/// Returns the session that a session is a fork of.
fn fork_parent(row: &SessionRow) -> Option<SessionKey> {
    let is_fork = row.parent_kind.as_deref() == Some("fork");
    is_fork.then_some(SessionKey {
        agent: row.agent.clone(),
        session: row.parent.clone()?,
    })
}

/// Returns the number of events that a fork has of its parent.
fn copied_events(row: &SessionRow) -> i64 {
    match fork_parent(row) {
        Some(_) => row.parent_seq.map_or(0, |seq| i64::from(seq.get())),
        None => 0,
    }
}

/// Returns the number of events as the table of sessions has it.
fn event_count(row: &SessionRow) -> i64 {
    i64::try_from(row.events + row.live_events).unwrap_or(i64::MAX)
}

fn session_times(row: &SessionRow) -> impl Iterator<Item = i64> {
    let times = [row.started_at, row.ended_at].into_iter().flatten();
    times.map(i64::from)
}
