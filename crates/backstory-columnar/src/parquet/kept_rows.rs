//! Rows that the memory does not have, of sessions that it does not know or whose text is evicted: they are copied out of the file that
//! is replaced.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use ::parquet::column::reader::ColumnReader;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use ::parquet::schema::types::SchemaDescriptor;
use backstory_memory::Redactor;

use super::column_buffer::Value;
use super::footer::{PartContent, SessionKey, content_checksum, read_footer};
use super::kept_calls::KeptCalls;
use super::part::PartWriter;
use super::plan::PartTarget;
use super::schema::{ColumnKind, ColumnSchema, Table};
use crate::error::{Error, Result};
use crate::files::open_regular_file;
use crate::redaction::{redact_id, redact_text};

/// Events by session whose stored text turned out to be damaged.
pub(super) type DamagedEvents = HashMap<SessionKey, HashSet<i64>>;

/// Rows that were copied of sessions that the memory has, too.
#[derive(Default)]
pub(super) struct CopiedRows {
    /// Damaged events of which an old file has the text.
    pub(super) events: DamagedEvents,
    /// Tool calls; rows without a result are in there only.
    pub(super) calls: HashMap<SessionKey, KeptCalls>,
}

impl CopiedRows {
    /// Takes a row of a session, and returns it if nothing can be added to it.
    fn add_row(&mut self, table: Table, key: &SessionKey, row: Vec<Value>) -> Option<Vec<Value>> {
        match (table, &row[..]) {
            (Table::ToolCalls, _) => {
                return self.calls.entry(key.clone()).or_default().collect_row(row);
            }
            (Table::Events, [_, _, Value::Integer(seq), ..]) => {
                self.events.entry(key.clone()).or_default().insert(*seq);
            }
            _ => {}
        }
        Some(row)
    }
}

/// Events of a session whose text the memory does not have.
#[derive(Default)]
struct LostEvents {
    /// Last event that is evicted.
    last_evicted: i64,
    damaged: HashSet<i64>,
}

impl LostEvents {
    /// Returns whether a row has text of a lost event. One that was damaged when it was written has none.
    fn has_row(&self, table: Table, row: &[Value]) -> bool {
        let columns = || table.columns().iter().zip(row);
        let is_damaged = columns()
            .any(|(column, value)| column.name == "damaged" && *value == Value::Boolean(true));
        let mut events = columns().filter_map(|(column, value)| match (column.name, value) {
            ("seq" | "call_seq" | "result_seq", Value::Integer(seq)) => Some(*seq),
            _ => None,
        });
        events.any(|seq| seq <= self.last_evicted || !is_damaged && self.damaged.contains(&seq))
    }
}

/// Rows of a session that are copied.
#[derive(Clone, Copy)]
enum KeptRows<'a> {
    None,
    All,
    /// Those of lost events.
    Lost(&'a LostEvents),
}

/// Sessions of an old file of which rows are copied.
struct KeptSessions<'a> {
    whole: HashSet<&'a SessionKey>,
    lost: HashMap<&'a SessionKey, LostEvents>,
}

impl<'a> KeptSessions<'a> {
    fn new(target: &'a PartTarget, damaged: &'a DamagedEvents) -> Self {
        let mut lost: HashMap<&SessionKey, LostEvents> = HashMap::new();
        for (key, seq) in &target.evicted {
            lost.entry(key).or_default().last_evicted = i64::from(seq.get());
        }
        // Rows of other tables are made without the text of events.
        for (key, events) in damaged.iter().filter(|_| target.has_old_rows) {
            lost.entry(key).or_default().damaged.clone_from(events);
        }
        KeptSessions {
            whole: target.kept.iter().map(|(key, _)| key).collect(),
            lost,
        }
    }

    fn rows_to_copy(&self, key: &SessionKey) -> KeptRows<'_> {
        match self.whole.contains(key) {
            true => KeptRows::All,
            false => self.lost.get(key).map_or(KeptRows::None, KeptRows::Lost),
        }
    }
}

/// Opens a file that Backstory wrote. One that is not as it was written is refused before anything of it is decoded.
pub(super) fn open_checked(path: &Path, table: Table) -> Result<SerializedFileReader<File>> {
    let (metadata, footer) = read_footer(path)?;
    let content = PartContent::from_metadata(&metadata);
    let sessions = content.map_or_else(Vec::new, |content| content.sessions);
    let schema = table.parquet_schema().map_err(Error::parquet(path))?;
    let mut body = open_regular_file(path)?.take(footer.start);
    let mut hasher = blake3::Hasher::new();
    std::io::copy(&mut body, &mut hasher).map_err(Error::io(path))?;
    let checksum = content_checksum(&mut hasher, metadata.row_groups(), &sessions);
    let columns = metadata.file_metadata().schema_descr().columns();
    let has_schema = columns == SchemaDescriptor::new(schema).columns();
    if footer.checksum != Some(checksum) || !has_schema {
        return Err(damaged_table(
            path,
            table,
            "its rows are not those that were written, and some of them may be nowhere else; restore the file, or write to a new place".to_string(),
        ));
    }
    let file = open_regular_file(path)?;
    SerializedFileReader::new(file).map_err(|error| damaged_table(path, table, error.to_string()))
}

pub(super) fn damaged_table(path: &Path, table: Table, what: String) -> Error {
    Error::Damaged {
        path: path.to_owned(),
        place: format!("the table {}", table.name()),
        what,
    }
}

/// Copies rows from a file that Backstory wrote.
pub(super) fn copy_kept_rows(
    target: &PartTarget,
    damaged_events: &DamagedEvents,
    part: &mut PartWriter,
) -> Result<CopiedRows> {
    let (path, table) = (target.path.as_path(), target.table);
    let unreadable = |error: ParquetError| damaged_table(path, table, error.to_string());
    let reader = open_checked(path, table)?;
    let sessions = KeptSessions::new(target, damaged_events);
    let mut known: HashMap<SessionKey, KeptRows<'_>> = HashMap::new();
    let mut copied = CopiedRows::default();
    for number in 0..reader.num_row_groups() {
        let group = reader.get_row_group(number).map_err(unreadable)?;
        let mut columns = read_columns(&*group, table, &|_| true).map_err(unreadable)?;
        loop {
            let mut row: Vec<Value> = columns.iter_mut().filter_map(Iterator::next).collect();
            if row.len() < columns.len() {
                break;
            }
            let [Value::Text(agent), Value::Text(session), ..] = &row[..] else {
                continue;
            };
            let key = session_key(agent, session);
            let current = target.renamed.get(&key).unwrap_or(&key);
            let kept = match known.get(&key) {
                Some(kept) => *kept,
                None => *known
                    .entry(key.clone())
                    .or_insert(sessions.rows_to_copy(current)),
            };
            if let Some(redactor) = &target.redactor
                && !matches!(kept, KeptRows::None)
            {
                redact_row(redactor, table, &mut row);
            }
            if *current != key {
                row[1] = current.session.as_str().into();
            }
            match kept {
                KeptRows::All => part.push_row(row)?,
                KeptRows::Lost(lost) if lost.has_row(table, &row) => {
                    if let Some(row) = copied.add_row(table, current, row) {
                        part.push_row(row)?;
                    }
                }
                KeptRows::Lost(..) | KeptRows::None => {}
            }
        }
    }
    Ok(copied)
}

/// Replaces the secrets of a row.
fn redact_row(redactor: &Redactor, table: Table, row: &mut [Value]) {
    let redacted = |text: &ByteArray, kind: ColumnKind| {
        let mut redacted = text_of(text);
        match kind {
            ColumnKind::Text => drop(redact_text(redactor, &mut redacted)),
            // Names and lists have paths.
            _ => redact_id(redactor, &mut redacted),
        }
        ByteArray::from(redacted.into_bytes())
    };
    for (column, value) in table.columns().iter().zip(row) {
        match value {
            Value::Text(text) => *text = redacted(text, column.kind),
            Value::List(texts) => texts
                .iter_mut()
                .for_each(|text| *text = redacted(text, column.kind)),
            _ => {}
        }
    }
}

pub(super) fn session_key(agent: &ByteArray, session: &ByteArray) -> SessionKey {
    SessionKey {
        agent: text_of(agent),
        session: text_of(session),
    }
}

pub(super) fn text_of(bytes: &ByteArray) -> String {
    String::from_utf8_lossy(bytes.data()).into_owned()
}

/// Reads the values of columns of a row group.
pub(super) fn read_columns(
    group: &dyn RowGroupReader,
    table: Table,
    is_read: &dyn Fn(&str) -> bool,
) -> ParquetResult<Vec<std::vec::IntoIter<Value>>> {
    let rows = row_count(group.metadata())?;
    let columns = table.columns().iter().enumerate();
    columns
        .filter(|(_, column)| is_read(column.name))
        .map(|(number, column)| {
            let values = read_values(group.get_column_reader(number)?, column, rows)?;
            match values.len() == rows {
                true => Ok(values.into_iter()),
                false => Err(wrong_column(column)),
            }
        })
        .collect()
}

fn row_count(group: &RowGroupMetaData) -> ParquetResult<usize> {
    usize::try_from(group.num_rows()).map_err(|error| ParquetError::General(error.to_string()))
}

fn wrong_column(column: &ColumnSchema) -> ParquetError {
    ParquetError::General(format!("its column {} is not as expected", column.name))
}

/// Reads the values of a column, one for each row.
fn read_values(
    reader: ColumnReader,
    column: &ColumnSchema,
    rows: usize,
) -> ParquetResult<Vec<Value>> {
    let (mut definitions, mut repetitions) = (Vec::new(), Vec::new());
    macro_rules! values_of {
        ($reader:ident, $value:expr) => {{
            let mut values = Vec::new();
            let mut left = rows;
            while left > 0 {
                let (definitions, repetitions) = (&mut definitions, &mut repetitions);
                let read = $reader.read_records(
                    left,
                    Some(definitions),
                    Some(repetitions),
                    &mut values,
                )?;
                match read.0 {
                    0 => break,
                    records => left = left.saturating_sub(records),
                }
            }
            values.into_iter().map($value)
        }};
    }
    let kind = column.kind;
    match (reader, kind) {
        (ColumnReader::ByteArrayColumnReader(mut reader), ColumnKind::TextList) => {
            let texts = values_of!(reader, |text| text);
            Ok(join_lists(texts, &definitions, &repetitions))
        }
        (ColumnReader::ByteArrayColumnReader(mut reader), ColumnKind::Name | ColumnKind::Text) => {
            let values = values_of!(reader, Value::Text);
            Ok(fill_nulls(values, column, &definitions))
        }
        (
            ColumnReader::Int64ColumnReader(mut reader),
            ColumnKind::Integer | ColumnKind::Timestamp,
        ) => {
            let values = values_of!(reader, Value::Integer);
            Ok(fill_nulls(values, column, &definitions))
        }
        (ColumnReader::Int32ColumnReader(mut reader), ColumnKind::Date) => {
            let values = values_of!(reader, Value::Date);
            Ok(fill_nulls(values, column, &definitions))
        }
        (ColumnReader::BoolColumnReader(mut reader), ColumnKind::Boolean) => {
            let values = values_of!(reader, Value::Boolean);
            Ok(fill_nulls(values, column, &definitions))
        }
        _ => Err(wrong_column(column)),
    }
}

/// Puts nulls between values where definition levels have them.
fn fill_nulls(
    mut values: impl Iterator<Item = Value>,
    column: &ColumnSchema,
    definitions: &[i16],
) -> Vec<Value> {
    if !column.nullable {
        return values.collect();
    }
    let value = |level: &i16| match level {
        0 => Some(Value::Null),
        _ => values.next(),
    };
    definitions.iter().map_while(value).collect()
}

/// Joins the texts of each row: repetition level 0 begins a row, and definition level 0 is an empty list.
fn join_lists(
    mut texts: impl Iterator<Item = ByteArray>,
    definitions: &[i16],
    repetitions: &[i16],
) -> Vec<Value> {
    let mut lists: Vec<Vec<ByteArray>> = Vec::new();
    for (definition, repetition) in definitions.iter().zip(repetitions) {
        if *repetition == 0 {
            lists.push(Vec::new());
        }
        if *definition > 0
            && let Some(list) = lists.last_mut()
        {
            list.extend(texts.next());
        }
    }
    lists.into_iter().map(Value::List).collect()
}
