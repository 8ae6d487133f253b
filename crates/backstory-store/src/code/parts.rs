//! Parts of the history of a source file: each can be read alone.

use std::ops::Range;

use backstory_event::{FileId, SessionId, TimeMs, TurnNo};
use rusqlite::{Connection, OptionalExtension, Row};

use super::StoredTurn;
use super::format::{Versions, decode_part};
use super::snapshot::{FileSnapshot, SymbolRecord};
use crate::blocks::decompress;
use crate::checksums::{Scope, check_unit, damage};
use crate::error::Result;

/// A part that is heavier is full, unless its first snapshot is heavy itself: reading a snapshot means reading its part.
const MAX_PART_BYTES: usize = 64 << 10;
/// A part may be so many times as heavy as its first snapshot, which repeats what the part before has.
const MAX_PART_GROWTH: usize = 4;
/// About what a version of a symbol, a call and a symbol of a snapshot take beside their texts.
const VERSION_BYTES: usize = 48;
const CALL_BYTES: usize = 24;
const PLACED_BYTES: usize = 6;

/// Files have numbers below 2^43, parts below this.
const PART_BITS: u32 = 20;

/// Group of files whose rows are summed together.
pub(crate) const UNIT_SHIFT: u32 = 2;

/// What the table `snapshots` has of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SnapshotRow {
    pub(super) part: i64,
    pub(super) place: i64,
    pub(super) session: SessionId,
    pub(super) turn: Option<TurnNo>,
    pub(super) at: TimeMs,
    pub(super) is_gone: bool,
    pub(super) broken_at: Option<TimeMs>,
}

impl SnapshotRow {
    pub(super) const COLUMNS: &'static str = "part, place, session, turn, at, gone, broken_at";

    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(SnapshotRow {
            part: row.get(0)?,
            place: row.get(1)?,
            session: row.get(2)?,
            turn: row.get::<_, StoredTurn>(3)?.0,
            at: row.get(4)?,
            is_gone: row.get(5)?,
            broken_at: row.get(6)?,
        })
    }

    pub(super) fn of(snapshot: &FileSnapshot, part: i64, place: i64) -> Self {
        SnapshotRow {
            part,
            place,
            session: snapshot.session,
            turn: snapshot.turn,
            at: snapshot.at,
            is_gone: snapshot.is_gone,
            broken_at: snapshot.broken_at,
        }
    }

    fn complete(&self, snapshot: &mut FileSnapshot) {
        snapshot.session = self.session;
        snapshot.turn = self.turn;
        snapshot.at = self.at;
        snapshot.is_gone = self.is_gone;
        snapshot.broken_at = self.broken_at;
    }
}

/// The row of a part in `snapshot_states`.
pub(super) fn part_row(file: FileId, part: i64) -> i64 {
    (i64::from(file) << PART_BITS) + part
}

/// The row after all that the parts of a file may have.
pub(super) fn end_row(file: FileId) -> i64 {
    (i64::from(file) + 1) << PART_BITS
}

/// The snapshots of one part of a file, given their rows.
pub(super) fn read_part(
    connection: &Connection,
    file: FileId,
    rows: &[SnapshotRow],
) -> Result<Vec<FileSnapshot>> {
    let Some(first) = rows.first() else {
        return Ok(Vec::new());
    };
    let unit = i64::from(file) >> UNIT_SHIFT;
    check_unit(connection, Scope::Snapshots, unit)?;
    let query = "SELECT states FROM snapshot_states WHERE id = ?1";
    let mut statement = connection.prepare_cached(query)?;
    let states: Option<Vec<u8>> = statement
        .query_row([part_row(file, first.part)], |row| row.get(0))
        .optional()?;
    let states = states.and_then(|states| decompress(&states).ok());
    let snapshots = states.and_then(|states| decode_part(&states).ok());
    let Some(mut snapshots) = snapshots.filter(|snapshots| snapshots.len() == rows.len()) else {
        return Err(damage::rows(connection, Scope::Snapshots, unit)?.into());
    };
    for (snapshot, row) in snapshots.iter_mut().zip(rows) {
        row.complete(snapshot);
    }
    Ok(snapshots)
}

/// The last snapshot of a file up to a time.
pub(super) fn read_snapshot(
    connection: &Connection,
    file: FileId,
    until: Option<TimeMs>,
) -> Result<Option<FileSnapshot>> {
    let columns = SnapshotRow::COLUMNS;
    let query = format!(
        "SELECT {columns} FROM snapshots WHERE file = ?1 AND (?2 IS NULL OR at <= ?2) ORDER BY part DESC, place DESC LIMIT 1"
    );
    let mut statement = connection.prepare_cached(&query)?;
    let found = statement.query_row((file, until), SnapshotRow::from_row);
    let Some(row) = found.optional()? else {
        return Ok(None);
    };
    let query =
        format!("SELECT {columns} FROM snapshots WHERE file = ?1 AND part = ?2 ORDER BY place");
    let mut statement = connection.prepare_cached(&query)?;
    let rows = statement.query_map((file, row.part), SnapshotRow::from_row)?;
    let rows: Vec<SnapshotRow> = rows.collect::<rusqlite::Result<_>>()?;
    let mut snapshots = read_part(connection, file, &rows)?;
    let place = rows.iter().position(|other| other.place == row.place);
    Ok(place.map(|place| snapshots.swap_remove(place)))
}

/// Divides snapshots into parts. Where one ends depends on nothing but what is in it, so the same history has the same parts, however
/// it came together.
pub(super) fn part_ranges(snapshots: &[FileSnapshot]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut versions = Versions::default();
    let (mut bytes, mut first_bytes) = (0, 0);
    for (number, snapshot) in snapshots.iter().enumerate() {
        let is_full = bytes > MAX_PART_BYTES.max(first_bytes * MAX_PART_GROWTH);
        let begins = ranges.is_empty() || is_full;
        if begins {
            ranges.push(number..number);
            versions = Versions::default();
            bytes = 0;
        }
        for placed in &snapshot.symbols {
            bytes += PLACED_BYTES;
            let known = versions.count();
            if versions.number_of(&placed.record) as usize == known {
                bytes += record_bytes(&placed.record);
            }
        }
        if begins {
            first_bytes = bytes;
        }
        if let Some(range) = ranges.last_mut() {
            range.end = number + 1;
        }
    }
    ranges
}

/// About how many bytes a version of a symbol takes.
fn record_bytes(record: &SymbolRecord) -> usize {
    let calls = record
        .calls
        .iter()
        .map(|call| CALL_BYTES + call.callee.len() + call.resolved.as_ref().map_or(0, String::len));
    let doc = record.doc.as_ref().map_or(0, String::len);
    VERSION_BYTES + record.name.len() + record.signature.len() + doc + calls.sum::<usize>()
}
