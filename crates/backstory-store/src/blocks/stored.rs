//! Blocks and attachments as they lie in the database, and whether they are what was stored.

use crate::attachment;
use backstory_event::StreamId;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use crate::checksums::hash_row;
use crate::error::Result;

/// The columns of a [`StoredBlock`].
pub(super) const STORED_BLOCK: &str = "id, start, length, cuts, data, (SELECT sum FROM checksums WHERE scope = 3 AND unit = blocks.id)";

/// A block as it lies in the database.
pub(super) struct StoredBlock<'a> {
    pub(super) id: i64,
    pub(super) stream: StreamId,
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) cuts: Option<&'a str>,
    pub(super) data: &'a [u8],
    /// The checksum that it was stored with.
    pub(super) sum: Option<i64>,
}

impl<'a> StoredBlock<'a> {
    pub(super) fn from_row(stream: StreamId, row: &'a rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(StoredBlock {
            id: row.get(0)?,
            stream,
            start: row.get(1)?,
            length: row.get(2)?,
            cuts: row.get_ref(3)?.as_str_or_null()?,
            data: row.get_ref(4)?.as_blob()?,
            sum: row.get(5)?,
        })
    }

    /// The checksum of the compressed bytes and of where they belong: the values of the row, in the order of the scope's columns.
    pub(super) fn checksum(&self) -> i64 {
        hash_row(&[
            ValueRef::Integer(self.id),
            ValueRef::Integer(self.stream.into()),
            ValueRef::Integer(self.start as i64),
            ValueRef::Integer(self.length as i64),
            self.cuts
                .map_or(ValueRef::Null, |cuts| ValueRef::Text(cuts.as_bytes())),
            ValueRef::Blob(self.data),
        ])
    }

    /// Whether it is what was stored. One from before there were checksums passes until a sweep has given it one.
    pub(super) fn is_sound(&self) -> bool {
        self.sum.is_none_or(|sum| sum == self.checksum())
    }
}

/// Whether damage was found that the logs are read again for.
pub(super) fn is_mending(connection: &Connection) -> Result<bool> {
    let query = "SELECT EXISTS (SELECT 1 FROM damaged)";
    Ok(connection
        .prepare_cached(query)?
        .query_row([], |row| row.get(0))?)
}

/// The bytes of an attachment; `None` when it is missing or not what was stored.
pub(crate) fn read_attachment(connection: &Connection, id: i64) -> Result<Option<Vec<u8>>> {
    let query = "SELECT hash, data FROM attachments WHERE id = ?1";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let found: Option<(Vec<u8>, Vec<u8>)> = connection
        .prepare_cached(query)?
        .query_row([id], row)
        .optional()?;
    Ok(found
        .filter(|(hash, data)| hash.as_slice() == blake3::hash(data).as_bytes())
        .map(|(_, data)| data))
}

/// Puts attachments back into a text; `None` when one of them is damaged.
pub(super) fn restore(
    connection: &Connection,
    text: &[u8],
    cuts: &[(usize, i64)],
) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let mut copied = 0;
    for (at, id) in cuts {
        let Some(payload) = read_attachment(connection, *id)? else {
            return Ok(None);
        };
        bytes.extend_from_slice(text.get(copied..*at).unwrap_or_default());
        bytes.extend_from_slice(attachment::encode(&payload).as_bytes());
        copied = *at;
    }
    bytes.extend_from_slice(text.get(copied..).unwrap_or_default());
    Ok(Some(bytes))
}
