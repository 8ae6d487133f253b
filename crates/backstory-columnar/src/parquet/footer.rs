//! Footers of Parquet files: their schema, and the sessions that Backstory noted there.

use std::collections::HashMap;
use std::fmt::Write;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use ::parquet::file::metadata::{
    KeyValue, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use backstory_memory::SessionRow;

use super::schema::Table;
use super::thrift::check_schema_depth;
use crate::error::{Error, Result};
use crate::files::open_regular_file;
use crate::redaction::RedactedIdentity;

/// Number of the layout. Files of another one are written again.
pub(super) const LAYOUT: &str = "1";

/// A footer takes no more than that; parsed, it can take twenty times as much memory.
const MAX_FOOTER_BYTES: u64 = 16 << 20;

/// Length of the footer and `PAR1`.
const TAIL_BYTES: u64 = 8;

const TABLE_KEY: &str = "backstory.table";
const LAYOUT_KEY: &str = "backstory.layout";
const SESSIONS_KEY: &str = "backstory.sessions";
const STARTS_KEY: &str = "backstory.starts";
const REDACTION_KEY: &str = "backstory.redaction";
const CHECKSUM_KEY: &str = "backstory.checksum";

/// A session of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SessionKey {
    pub(super) agent: String,
    pub(super) session: String,
}

impl SessionKey {
    pub(super) fn of_row(row: &SessionRow) -> Self {
        SessionKey {
            agent: row.agent.clone(),
            session: row.session.clone(),
        }
    }

    /// Returns the identity of a session that started at this time, in milliseconds; `None` if its id has no secret.
    pub(super) fn identity(&self, start: Option<i64>) -> Option<RedactedIdentity> {
        let start = start.map_or(0.0, |at| at as f64 / 1000.0);
        RedactedIdentity::new(&self.agent, &self.session, start)
    }
}

/// Content of a file that Backstory wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartContent {
    pub(super) table: Table,
    pub(super) is_current_layout: bool,
    /// All its secrets were redacted.
    pub(super) is_redacted: bool,
    /// Its sessions, each with the fingerprint of the state that was written.
    pub(super) sessions: Vec<(SessionKey, String)>,
    /// Starts of those whose ids have secrets, in milliseconds since 1970.
    pub(super) starts: HashMap<SessionKey, i64>,
    /// Current keys of sessions whose rows have ids that were redacted otherwise, by these.
    pub(super) renamed: HashMap<SessionKey, SessionKey>,
}

impl PartContent {
    /// Returns the current key of a session whose rows have this one.
    pub(super) fn current_key<'a>(&'a self, key: &'a SessionKey) -> &'a SessionKey {
        self.renamed.get(key).unwrap_or(key)
    }

    /// Gives sessions their current keys.
    pub(super) fn rename_sessions(&mut self, renamed: &HashMap<SessionKey, SessionKey>) {
        for (key, _) in &mut self.sessions {
            if let Some(current) = renamed.get(key) {
                if let Some(at) = self.starts.remove(key) {
                    self.starts.insert(current.clone(), at);
                }
                self.renamed.insert(key.clone(), current.clone());
                *key = current.clone();
            }
        }
    }

    /// Returns the entries of the footer that [`PartContent::from_metadata`] reads.
    pub(super) fn to_metadata(&self, checksum: String) -> Vec<KeyValue> {
        let rows: Vec<[&str; 3]> = self
            .sessions
            .iter()
            .map(|(key, fingerprint)| {
                [
                    key.agent.as_str(),
                    key.session.as_str(),
                    fingerprint.as_str(),
                ]
            })
            .collect();
        let sessions = serde_json::to_string(&rows).unwrap_or_default();
        let mut starts: Vec<(&str, &str, i64)> = self
            .starts
            .iter()
            .map(|(key, at)| (key.agent.as_str(), key.session.as_str(), *at))
            .collect();
        starts.sort_unstable();
        let starts = serde_json::to_string(&starts).unwrap_or_default();
        let redaction = if self.is_redacted { "on" } else { "off" };
        vec![
            KeyValue::new(TABLE_KEY.to_string(), self.table.name().to_string()),
            KeyValue::new(LAYOUT_KEY.to_string(), LAYOUT.to_string()),
            KeyValue::new(REDACTION_KEY.to_string(), redaction.to_string()),
            KeyValue::new(SESSIONS_KEY.to_string(), sessions),
            KeyValue::new(STARTS_KEY.to_string(), starts),
            KeyValue::new(CHECKSUM_KEY.to_string(), checksum),
        ]
    }

    /// Returns the content of a file that Backstory wrote; `None` for one of another program.
    pub(super) fn from_metadata(metadata: &ParquetMetaData) -> Option<PartContent> {
        let value = |key: &str| metadata_value(metadata, key);
        let rows: Vec<[String; 3]> = serde_json::from_str(value(SESSIONS_KEY)?).ok()?;
        let session = |[agent, session, fingerprint]: [String; 3]| {
            (SessionKey { agent, session }, fingerprint)
        };
        let starts: Option<Vec<(String, String, i64)>> =
            value(STARTS_KEY).and_then(|starts| serde_json::from_str(starts).ok());
        let starts = starts.into_iter().flatten();
        let start = |(agent, session, at)| (SessionKey { agent, session }, at);
        Some(PartContent {
            table: Table::from_name(value(TABLE_KEY)?)?,
            is_current_layout: value(LAYOUT_KEY)? == LAYOUT,
            is_redacted: value(REDACTION_KEY) == Some("on"),
            sessions: rows.into_iter().map(session).collect(),
            starts: starts.map(start).collect(),
            renamed: HashMap::new(),
        })
    }
}

fn metadata_value<'a>(metadata: &'a ParquetMetaData, key: &str) -> Option<&'a str> {
    let mut entries = metadata.file_metadata().key_value_metadata()?.iter();
    entries.find(|entry| entry.key == key)?.value.as_deref()
}

/// Returns the checksum of a file, given a hash of all that stands before its footer: of the bytes, of what readers need to know of them, and
/// of the sessions.
pub(super) fn content_checksum(
    hasher: &mut blake3::Hasher,
    row_groups: &[RowGroupMetaData],
    sessions: &[(SessionKey, String)],
) -> String {
    let mut known = format!("{sessions:?}");
    for group in row_groups {
        let _ = write!(known, "{};", group.num_rows());
        for column in group.columns() {
            let _ = write!(
                known,
                "{:?} {:?} {} {} {} {} {:?},",
                column.column_type(),
                column.compression(),
                column.num_values(),
                column.data_page_offset(),
                column.compressed_size(),
                column.uncompressed_size(),
                column.dictionary_page_offset(),
            );
        }
    }
    let digest = hasher.update(known.as_bytes()).finalize();
    digest.to_hex().to_string()
}

/// Footer in a file.
pub(super) struct FooterPlace {
    /// Offset of the footer.
    pub(super) start: u64,
    /// Size of the file.
    pub(super) file_bytes: u64,
    /// Checksum of all that stands before the footer, in a file that Backstory wrote.
    pub(super) checksum: Option<String>,
}

/// Reads the footer of a Parquet file. The file may be damaged or made to do harm.
pub(super) fn read_footer(path: &Path) -> Result<(ParquetMetaData, FooterPlace)> {
    let damaged = |what: &str| Error::Damaged {
        path: path.to_owned(),
        place: "the footer".to_string(),
        what: what.to_string(),
    };
    let mut file = open_regular_file(path)?;
    let found = file.metadata().map_err(Error::io(path))?;
    let mut read_at = |place: u64, bytes: &mut [u8]| {
        file.seek(SeekFrom::Start(place))
            .and_then(|_| file.read_exact(bytes))
            .map_err(Error::io(path))
    };
    let not_parquet = "the file is not Parquet, or was cut off";
    if found.len() == 0 {
        return Err(Error::Empty {
            path: path.to_owned(),
        });
    }
    // Magic bytes stand at both ends.
    let Some(tail_at) = found.len().checked_sub(TAIL_BYTES).filter(|at| *at >= 4) else {
        return Err(damaged(not_parquet));
    };
    let mut tail = [0; TAIL_BYTES as usize];
    read_at(tail_at, &mut tail)?;
    let [a, b, c, d, magic @ ..] = tail;
    match &magic {
        b"PAR1" => {}
        b"PARE" => {
            return Err(Error::BadTarget {
                path: path.to_owned(),
                what: "is encrypted, which is not supported: decrypt it first".to_string(),
            });
        }
        _ => return Err(damaged(not_parquet)),
    }
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    if length > MAX_FOOTER_BYTES {
        return Err(damaged(&format!(
            "it says that it has {length} bytes: at most {MAX_FOOTER_BYTES} are read"
        )));
    }
    let Some(footer_at) = tail_at.checked_sub(length).filter(|at| *at >= 4) else {
        return Err(damaged("it says that it is longer than the file"));
    };
    let mut footer = vec![0; length as usize];
    read_at(footer_at, &mut footer)?;
    check_schema_depth(&footer).map_err(damaged)?;
    let metadata = ParquetMetaDataReader::decode_metadata(&footer)
        .map_err(|error| damaged(&error.to_string()))?;
    let checksum = metadata_value(&metadata, CHECKSUM_KEY).map(str::to_string);
    let place = FooterPlace {
        start: footer_at,
        file_bytes: found.len(),
        checksum,
    };
    Ok((metadata, place))
}
