//! The agent's own record of each session: where it lies, and its short values.

use backstory_event::{SessionId, Span, StreamId};
use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Result;
use crate::open::Store;

/// Strings, and arrays as JSON, that are longer are not kept beside the stored record: nobody filters by them. The shorter limits are for
/// records with so many values that they would not fit.
const MAX_VALUE_BYTES: [usize; 3] = [512, 64, 16];
/// Maximum length of all kept values of a session.
const MAX_FIELDS_BYTES: usize = 8 << 10;

/// Where the agent's own record of a session lies in the stored bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetaPlace {
    /// The stream.
    pub stream: StreamId,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}

/// A value that the agent's own record of a session must have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedMeta")]
pub struct MetaEquals {
    path: String,
    value: String,
}

/// A condition whose path was not looked at yet.
#[derive(Deserialize)]
struct UncheckedMeta {
    path: String,
    value: String,
}

impl TryFrom<UncheckedMeta> for MetaEquals {
    type Error = String;

    fn try_from(unchecked: UncheckedMeta) -> std::result::Result<Self, String> {
        MetaEquals::new(&unchecked.path, &unchecked.value)
            .ok_or_else(|| format!("invalid metadata key {:?}", unchecked.path))
    }
}

impl MetaEquals {
    /// Returns the condition that the field at a dotted path has a value; `None` when the path is not made of segments of letters,
    /// digits, `_` and `-`.
    pub fn new(path: &str, value: &str) -> Option<Self> {
        let is_valid = |segment: &str| {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            !segment.is_empty() && segment.bytes().all(is_part)
        };
        path.split('.').all(is_valid).then(|| MetaEquals {
            path: path.to_string(),
            value: value.to_string(),
        })
    }

    /// Returns the path in SQLite's notation.
    pub(crate) fn json_path(&self) -> String {
        let segments = self.path.split('.');
        let quoted = segments.map(|segment| format!(".\"{segment}\""));
        format!("${}", quoted.collect::<String>())
    }

    pub(crate) fn value(&self) -> &str {
        &self.value
    }
}

impl Store {
    /// Returns where the agent's own record of a session lies, and its short values as JSON.
    pub fn session_meta(&self, session: SessionId) -> Result<Option<(MetaPlace, String)>> {
        let query = "SELECT stream, offset, length, fields FROM session_meta WHERE session = ?1";
        let row = |row: &rusqlite::Row<'_>| {
            let place = MetaPlace {
                stream: row.get(0)?,
                offset: row.get(1)?,
                length: row.get(2)?,
            };
            Ok((place, row.get(3)?))
        };
        let mut statement = self.connection.prepare_cached(query)?;
        Ok(statement.query_row([session], row).optional()?)
    }
}

/// Returns whether the record of a session is known.
pub(crate) fn exists(connection: &Connection, session: SessionId) -> Result<bool> {
    let query = "SELECT EXISTS (SELECT 1 FROM session_meta WHERE session = ?1)";
    let mut statement = connection.prepare_cached(query)?;
    Ok(statement.query_row([session], |row| row.get(0))?)
}

/// Stores the record of a session in place of an earlier one.
pub(crate) fn save(
    connection: &Connection,
    session: SessionId,
    stream: StreamId,
    span: Span,
    json: &str,
) -> Result<()> {
    let all = match serde_json::from_str(json) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let mut within_limits = MAX_VALUE_BYTES
        .into_iter()
        .map(|most| Value::Object(short_fields(&all, most)).to_string());
    let fits = |fields: &String| fields.len() <= MAX_FIELDS_BYTES;
    let fields = within_limits.find(fits).unwrap_or_else(|| "{}".to_string());
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO session_meta (session, stream, offset, length, fields) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute((session, stream, span.offset, span.length, fields))?;
    Ok(())
}

fn short_fields(fields: &Map<String, Value>, max_bytes: usize) -> Map<String, Value> {
    let short = |(key, value): (&String, &Value)| {
        let value = match value {
            Value::Object(inner) => Value::Object(short_fields(inner, max_bytes)),
            value if value.to_string().len() > max_bytes => return None,
            value => value.clone(),
        };
        Some((key.clone(), value))
    };
    fields.iter().filter_map(short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Saves a record and returns the values that are kept of it.
    fn saved(fields: Map<String, Value>) -> Value {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let session = "INSERT INTO sessions (id, agent, session) VALUES (1, 'codex', 'one')";
        store.connection.execute(session, []).unwrap();
        let stream = StreamId::default();
        let span = Span {
            offset: 0,
            length: 1,
            part: 0,
        };
        let json = Value::Object(fields).to_string();
        save(&store.connection, 1.into(), stream, span, &json).unwrap();
        let (_, kept) = store.session_meta(1.into()).unwrap().unwrap();
        assert!(kept.len() <= MAX_FIELDS_BYTES);
        serde_json::from_str(&kept).unwrap()
    }

    /// A branch, and so many values of a length.
    fn fields(count: usize, bytes: usize) -> Map<String, Value> {
        let value = Value::from("x".repeat(bytes));
        let values = (0..count).map(|number| (format!("field {number}"), value.clone()));
        let branch = ("git".to_string(), serde_json::json!({"branch": "main"}));
        values.chain([branch]).collect()
    }

    #[test]
    fn a_record_with_many_values_keeps_its_short_ones() {
        for (count, bytes, kept) in [
            (20, 300, 21),
            (20, 600, 1),
            (200, 300, 1),
            (200, 40, 1),
            (60, 40, 61),
        ] {
            let saved = saved(fields(count, bytes));
            assert_eq!(saved["git"]["branch"], "main", "{count} {bytes}");
            assert_eq!(saved.as_object().unwrap().len(), kept, "{count} {bytes}");
        }
        // Too many even of the shortest.
        assert_eq!(saved(fields(2000, 3)), serde_json::json!({}));
    }
}
