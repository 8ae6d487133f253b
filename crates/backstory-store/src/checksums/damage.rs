//! Damage that was found, by name.

use std::fmt;

use backstory_event::{SessionId, StreamId};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use super::scope::Scope;
use serde::{Serialize, Serializer};

use crate::error::{Error, Result};
use crate::settings::is_key;

/// Stored data that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// What is damaged.
    pub piece: DamagedPiece,
    /// The source file that it was read from, if it was.
    pub path: Option<String>,
}

/// [`Damage`] as JSON has it: its kind, where it is, and the same in words.
#[derive(Default, Serialize)]
struct DamageRecord<'a> {
    piece: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<Option<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    text: String,
}

impl Serialize for Damage {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let path = Some(self.path.as_deref());
        let text = self.to_string();
        let record = match &self.piece {
            DamagedPiece::Bytes { start, length, .. } => DamageRecord {
                piece: "bytes",
                path,
                start: Some(*start),
                length: Some(*length),
                text,
                ..DamageRecord::default()
            },
            DamagedPiece::Session { session, what, .. } => DamageRecord {
                piece: what,
                session: Some(Some(session)),
                text,
                ..DamageRecord::default()
            },
            DamagedPiece::Journal(start) => DamageRecord {
                piece: "journal",
                path,
                start: Some(*start),
                text,
                ..DamageRecord::default()
            },
            DamagedPiece::Attachment(id) => DamageRecord {
                piece: "attachment",
                id: Some(*id),
                text,
                ..DamageRecord::default()
            },
            DamagedPiece::Capture { item, session } => DamageRecord {
                piece: "capture",
                id: Some(*item),
                session: Some(session.as_deref()),
                text,
                ..DamageRecord::default()
            },
            DamagedPiece::Setting(name) => DamageRecord {
                piece: "setting",
                name: Some(name),
                text,
                ..DamageRecord::default()
            },
            DamagedPiece::Rows { what, .. } => DamageRecord {
                piece: what,
                path,
                text,
                ..DamageRecord::default()
            },
        };
        record.serialize(serializer)
    }
}

/// A piece of the store that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DamagedPiece {
    /// Bytes of a source file.
    Bytes {
        /// The stream.
        stream: StreamId,
        /// The first byte.
        start: u64,
        /// How many bytes.
        length: u64,
    },
    /// Rows of a session.
    Session {
        /// The session's row.
        id: SessionId,
        /// The agent's own id of it.
        session: String,
        /// Which rows.
        what: &'static str,
    },
    /// An image or document.
    Attachment(i64),
    /// The journal of the database, from this byte on: the last changes are lost.
    Journal(u64),
    /// An event that a hook captured and no log has told yet.
    Capture {
        /// Its number in the queue.
        item: i64,
        /// The agent's own id of the session, if that can still be told.
        session: Option<String>,
    },
    /// A value that the store keeps for itself, by name.
    Setting(String),
    /// Any other rows.
    Rows {
        /// Which.
        what: &'static str,
        /// The number of the group of rows.
        unit: i64,
    },
}

impl Damage {
    /// Whether it is of a key, or of the list of forgotten sessions: nothing can be imported without those.
    pub fn is_of_forgetting(&self) -> bool {
        match &self.piece {
            DamagedPiece::Setting(name) => is_key(name),
            DamagedPiece::Rows { what, .. } => *what == Scope::Forgotten.name(),
            _ => false,
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.piece {
            DamagedPiece::Bytes { start, length, .. } => {
                let path = self.path.as_deref().unwrap_or("an unknown file");
                write!(
                    out,
                    "stored bytes {start} to {} of {path} are damaged",
                    start + length
                )
            }
            DamagedPiece::Session { session, what, .. } => {
                write!(out, "the {what} of session {session} are damaged")
            }
            DamagedPiece::Attachment(id) => write!(out, "attachment {id} is damaged"),
            DamagedPiece::Journal(start) => {
                let path = self.path.as_deref().unwrap_or("the journal");
                write!(
                    out,
                    "{path} is damaged from byte {start} on, and the last changes are lost"
                )
            }
            DamagedPiece::Capture { item, session } => {
                write!(out, "captured event {item}")?;
                if let Some(session) = session {
                    write!(out, " of session {session}")?;
                }
                write!(out, " is damaged")
            }
            DamagedPiece::Setting(name) => write!(out, "the setting {name} is damaged"),
            DamagedPiece::Rows { what, unit } => {
                write!(out, "{what} (group {unit}) do not match their checksum")
            }
        }
    }
}

impl From<Damage> for Error {
    fn from(damage: Damage) -> Self {
        Error::DamagedPiece(Box::new(damage))
    }
}

/// Names damaged bytes of a stream.
pub(crate) fn bytes(
    connection: &Connection,
    stream: StreamId,
    start: u64,
    length: u64,
) -> Result<Damage> {
    let query = "SELECT path FROM streams JOIN source_files ON source_files.id = source WHERE streams.id = ?1";
    let path = connection
        .prepare_cached(query)?
        .query_row([stream], |row| Ok(lossy_text(row.get_ref(0)?)))
        .optional()?;
    Ok(Damage {
        piece: DamagedPiece::Bytes {
            stream,
            start,
            length,
        },
        path,
    })
}

/// Names a damaged captured event.
pub(crate) fn capture(connection: &Connection, item: i64) -> Result<Damage> {
    let query = "SELECT sessions.session FROM queue JOIN sessions ON sessions.id = queue.session WHERE queue.id = ?1";
    let session = connection
        .prepare_cached(query)?
        .query_row([item], |row| Ok(lossy_text(row.get_ref(0)?)))
        .optional()?;
    Ok(Damage {
        piece: DamagedPiece::Capture { item, session },
        path: None,
    })
}

/// Text of a row that may be damaged.
pub(crate) fn lossy_text(value: ValueRef<'_>) -> String {
    String::from_utf8_lossy(value.as_bytes().unwrap_or_default()).into_owned()
}

/// Names a damaged unit.
pub(crate) fn rows(connection: &Connection, scope: Scope, unit: i64) -> Result<Damage> {
    if scope == Scope::Queue {
        return capture(connection, unit);
    }
    if scope == Scope::Blocks {
        let query = "SELECT stream, start, length FROM blocks WHERE id = ?1";
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let found = connection
            .prepare_cached(query)?
            .query_row([unit], row)
            .optional()?;
        if let Some((stream, start, length)) = found {
            return bytes(connection, stream, start, length);
        }
    }
    let session = match scope {
        Scope::Sessions
        | Scope::Events
        | Scope::Notes
        | Scope::Summaries
        | Scope::KeptObservations
        | Scope::Lag => u32::try_from(unit).ok().map(SessionId::from),
        Scope::Observations => {
            let query = "SELECT session FROM observations WHERE id = ?1";
            connection
                .prepare_cached(query)?
                .query_row([unit], |row| row.get(0))
                .optional()?
                .flatten()
        }
        _ => None,
    };
    let what = scope.name();
    if let Some(id) = session {
        let query = "SELECT session FROM sessions WHERE id = ?1";
        let name: Option<String> = connection
            .prepare_cached(query)?
            .query_row([id], |row| Ok(lossy_text(row.get_ref(0)?)))
            .optional()?;
        return Ok(Damage {
            piece: DamagedPiece::Session {
                id,
                session: name.unwrap_or_else(|| format!("number {id}")),
                what,
            },
            path: None,
        });
    }
    let path = match scope {
        Scope::SourceFiles => connection
            .prepare_cached("SELECT path FROM source_files WHERE id = ?1")?
            .query_row([unit], |row| Ok(lossy_text(row.get_ref(0)?)))
            .optional()?,
        _ => None,
    };
    Ok(Damage {
        piece: DamagedPiece::Rows { what, unit },
        path,
    })
}
