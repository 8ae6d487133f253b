//! The history of one source file: its snapshots in the order of time, in parts that can be read alone.

use std::ops::Range;

use rusqlite::{Connection, OptionalExtension, Row};

use super::LIVE_TURN;
use super::format::{Versions, decode_part, encode_part};
use super::snapshot::{
    FileSnapshot, NewSnapshot, PlacedSymbol, PriorSymbol, SymbolChanges, SymbolRecord,
    placed_symbols,
};
use crate::blocks::{Packer, decompress};
use crate::checksums::{Scope, check_unit};
use crate::error::{Error, Result};

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
    pub(super) session: i64,
    pub(super) turn: i64,
    pub(super) at: i64,
    is_gone: bool,
    broken_at: Option<i64>,
}

impl SnapshotRow {
    const COLUMNS: &'static str = "part, place, session, turn, at, gone, broken_at";

    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(SnapshotRow {
            part: row.get(0)?,
            place: row.get(1)?,
            session: row.get(2)?,
            turn: row.get(3)?,
            at: row.get(4)?,
            is_gone: row.get(5)?,
            broken_at: row.get(6)?,
        })
    }

    fn of(snapshot: &FileSnapshot, part: i64, place: i64) -> Self {
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
fn part_row(file: i64, part: i64) -> i64 {
    (file << PART_BITS) + part
}

/// The snapshots of one part of a file, given their rows.
fn read_part(
    connection: &Connection,
    file: i64,
    rows: &[SnapshotRow],
) -> Result<Vec<FileSnapshot>> {
    let Some(first) = rows.first() else {
        return Ok(Vec::new());
    };
    check_unit(connection, Scope::Snapshots, file >> UNIT_SHIFT)?;
    let query = "SELECT states FROM snapshot_states WHERE id = ?1";
    let mut statement = connection.prepare_cached(query)?;
    let states: Option<Vec<u8>> = statement
        .query_row([part_row(file, first.part)], |row| row.get(0))
        .optional()?;
    let damaged = |reason: &str| Error::Damaged(format!("snapshots of file {file}: {reason}"));
    let states = states.ok_or_else(|| damaged("part is missing"))?;
    let mut snapshots = decode_part(&decompress(&states)?).map_err(|reason| damaged(&reason))?;
    if snapshots.len() != rows.len() {
        return Err(damaged("rows and states differ in number"));
    }
    for (snapshot, row) in snapshots.iter_mut().zip(rows) {
        row.complete(snapshot);
    }
    Ok(snapshots)
}

/// The last snapshot of a file up to a time.
pub(super) fn read_snapshot(
    connection: &Connection,
    file: i64,
    until: Option<i64>,
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

/// The history of a file, as far as it was read, with what was added to it.
pub(super) struct FileHistory {
    file: i64,
    /// All rows as they are stored.
    rows: Vec<SnapshotRow>,
    /// So many of them are of snapshots that were not read, nor changed.
    unread: usize,
    /// All others.
    snapshots: Vec<FileSnapshot>,
    is_changed: bool,
}

impl FileHistory {
    /// Reads the last part of a file's history.
    pub(super) fn read(connection: &Connection, file: i64) -> Result<Self> {
        let columns = SnapshotRow::COLUMNS;
        let query = format!("SELECT {columns} FROM snapshots WHERE file = ?1 ORDER BY part, place");
        let mut statement = connection.prepare_cached(&query)?;
        let rows = statement.query_map([file], SnapshotRow::from_row)?;
        let rows: Vec<SnapshotRow> = rows.collect::<rusqlite::Result<_>>()?;
        let mut history = FileHistory {
            file,
            unread: rows.len(),
            rows,
            snapshots: Vec::new(),
            is_changed: false,
        };
        history.read_from(connection, history.rows.len().saturating_sub(1))?;
        Ok(history)
    }

    /// Removes the whole history of a file.
    pub(super) fn remove(connection: &Connection, file: i64) -> Result<()> {
        connection.execute("DELETE FROM snapshots WHERE file = ?1", [file])?;
        connection.execute(
            "DELETE FROM snapshot_states WHERE id >= ?1 AND id < ?2",
            [part_row(file, 0), part_row(file + 1, 0)],
        )?;
        Ok(())
    }

    /// Reads parts until the snapshot with this number is among those that were read.
    fn read_from(&mut self, connection: &Connection, number: usize) -> Result<()> {
        while number < self.unread {
            let part = self.rows[self.unread - 1].part;
            let first = self.rows.partition_point(|row| row.part < part);
            let rows = &self.rows[first..self.unread];
            let mut snapshots = read_part(connection, self.file, rows)?;
            snapshots.append(&mut self.snapshots);
            self.snapshots = snapshots;
            self.unread = first;
        }
        Ok(())
    }

    /// The last snapshot.
    pub(super) fn last(&self) -> Option<&FileSnapshot> {
        self.snapshots.last()
    }

    /// The symbols that the file has, as far as is known.
    pub(super) fn last_symbols(&self) -> &[PlacedSymbol] {
        self.last().map_or(&[], |snapshot| &snapshot.symbols)
    }

    /// Adds a snapshot, in the place of what is known of the same turn.
    pub(super) fn add(&mut self, connection: &Connection, new: NewSnapshot<'_>) -> Result<()> {
        let symbols = placed_symbols(&new.symbols, self.last_symbols());
        let mut snapshot = FileSnapshot {
            session: new.session,
            turn: new.turn,
            at: new.at,
            is_gone: false,
            broken_at: None,
            has_errors: new.has_errors,
            symbols,
            changes: SymbolChanges::default(),
        };
        if new.turn == LIVE_TURN && self.is_known(&snapshot) {
            return Ok(());
        }
        let known = self.take_turn(connection, new.session, new.turn)?;
        let prior = known.map_or(new.prior, |known| known.prior_symbols());
        snapshot.changes = SymbolChanges::between(&prior, &snapshot.symbols);
        self.insert(connection, snapshot)
    }

    /// Whether the file was last seen just so; if so, it is sound again.
    fn is_known(&mut self, snapshot: &FileSnapshot) -> bool {
        let Some(last) = self.snapshots.last_mut() else {
            return false;
        };
        let is_known = last.at <= snapshot.at && last.is_same_state(snapshot);
        if is_known && last.broken_at.take().is_some() {
            self.is_changed = true;
        }
        is_known
    }

    /// Adds that the file is gone since a turn.
    pub(super) fn add_removal(
        &mut self,
        connection: &Connection,
        (session, turn, at): (i64, i64, i64),
        prior: Vec<PriorSymbol>,
    ) -> Result<()> {
        let known = self.take_turn(connection, session, turn)?;
        let was_known = known.is_some();
        let deleted = known.map_or(prior, |known| known.prior_symbols());
        if deleted.is_empty() && !was_known && self.rows.is_empty() && self.snapshots.is_empty() {
            return Ok(());
        }
        let snapshot = FileSnapshot {
            session,
            turn,
            at,
            is_gone: true,
            broken_at: None,
            has_errors: false,
            symbols: Vec::new(),
            changes: SymbolChanges {
                deleted,
                ..SymbolChanges::default()
            },
        };
        self.insert(connection, snapshot)
    }

    /// Adds a snapshot of another file, which was moved here.
    pub(super) fn add_moved(&mut self, connection: &Connection, from: FileSnapshot) -> Result<()> {
        self.take_turn(connection, from.session, from.turn)?;
        self.insert(connection, from)
    }

    /// Takes note that the file has errors that were not there when it was last seen whole.
    pub(super) fn set_broken(&mut self, at: i64) {
        if let Some(last) = self.snapshots.last_mut()
            && last.at <= at
            && !last.is_gone
        {
            last.broken_at = Some(at);
            self.is_changed = true;
        }
    }

    /// Removes what was seen live of a session, as far as its log tells it now: all up to the last snapshot that the log tells, and
    /// what shows the same as one of those.
    pub(super) fn remove_live(&mut self, connection: &Connection, session: i64) -> Result<()> {
        let is_of_session = |row: &SnapshotRow| row.session == session;
        if let Some(first) = self.rows.iter().position(is_of_session) {
            self.read_from(connection, first)?;
        }
        let of_session = |snapshot: &&FileSnapshot| snapshot.session == session;
        let told = self.snapshots.iter().filter(of_session);
        let told: Vec<FileSnapshot> = told
            .filter(|snapshot| snapshot.turn != LIVE_TURN)
            .cloned()
            .collect();
        let Some(last) = told.iter().map(|snapshot| snapshot.at).max() else {
            return Ok(());
        };
        let is_told = |snapshot: &FileSnapshot| {
            snapshot.session == session
                && snapshot.turn == LIVE_TURN
                && (snapshot.at <= last || told.iter().any(|told| told.is_same_state(snapshot)))
        };
        let before = self.snapshots.len();
        self.snapshots.retain(|snapshot| !is_told(snapshot));
        self.is_changed |= self.snapshots.len() != before;
        Ok(())
    }

    /// Removes all snapshots from a time on.
    pub(super) fn truncate(&mut self, connection: &Connection, from: i64) -> Result<()> {
        let first = self.rows.partition_point(|row| row.at < from);
        if first < self.rows.len() {
            self.read_from(connection, first)?;
        }
        self.snapshots.retain(|snapshot| snapshot.at < from);
        self.is_changed = true;
        Ok(())
    }

    /// Takes the snapshot of a turn out, if there is one.
    fn take_turn(
        &mut self,
        connection: &Connection,
        session: i64,
        turn: i64,
    ) -> Result<Option<FileSnapshot>> {
        if turn == LIVE_TURN {
            return Ok(None);
        }
        let unread = &self.rows[..self.unread];
        let is_same = |row: &SnapshotRow| row.session == session && row.turn == turn;
        if let Some(number) = unread.iter().position(is_same) {
            self.read_from(connection, number)?;
        }
        let mut snapshots = self.snapshots.iter();
        let is_same =
            |snapshot: &FileSnapshot| snapshot.session == session && snapshot.turn == turn;
        let found = snapshots.position(is_same);
        self.is_changed |= found.is_some();
        Ok(found.map(|place| self.snapshots.remove(place)))
    }

    /// Puts a snapshot in its place in time.
    fn insert(&mut self, connection: &Connection, mut snapshot: FileSnapshot) -> Result<()> {
        let unread = &self.rows[..self.unread];
        let earlier = unread.partition_point(|row| row.at < snapshot.at);
        if earlier < unread.len() {
            self.read_from(connection, earlier)?;
        }
        let mut place = self
            .snapshots
            .partition_point(|known| known.at < snapshot.at);
        // Each has a time of its own.
        while self
            .snapshots
            .get(place)
            .is_some_and(|known| known.at == snapshot.at)
        {
            snapshot.at += 1;
            place += 1;
        }
        self.snapshots.insert(place, snapshot);
        self.is_changed = true;
        Ok(())
    }

    /// Stores what was changed.
    pub(super) fn store(self, connection: &Connection, packer: &mut Packer) -> Result<()> {
        if !self.is_changed {
            return Ok(());
        }
        let first_part = self.rows.get(self.unread).map_or(0, |row| row.part);
        let parts = part_ranges(&self.snapshots);
        let mut rows = Vec::with_capacity(self.snapshots.len());
        for (part, range) in (first_part..).zip(&parts) {
            let snapshots = self.snapshots[range.clone()].iter();
            rows.extend(
                (0..)
                    .zip(snapshots)
                    .map(|(place, snapshot)| SnapshotRow::of(snapshot, part, place)),
            );
        }
        self.store_rows(connection, &rows)?;
        let insert = "INSERT OR REPLACE INTO snapshot_states (id, states) VALUES (?1, ?2)";
        let mut insert = connection.prepare_cached(insert)?;
        for (part, range) in (first_part..).zip(&parts) {
            let states = encode_part(&self.snapshots[range.clone()])
                .map_err(|error| Error::Damaged(error.to_string()))?;
            insert.execute((part_row(self.file, part), packer.compress(&states)?))?;
        }
        let after = part_row(self.file, first_part + parts.len() as i64);
        let delete = "DELETE FROM snapshot_states WHERE id >= ?1 AND id < ?2";
        let delete = &mut connection.prepare_cached(delete)?;
        delete.execute((after, part_row(self.file + 1, 0)))?;
        Ok(())
    }

    /// Stores rows in the place of those from the first that was read on.
    fn store_rows(&self, connection: &Connection, rows: &[SnapshotRow]) -> Result<()> {
        let stored = &self.rows[self.unread..];
        let pairs = stored.iter().zip(rows);
        let same = pairs.take_while(|(stored, row)| stored == row).count();
        if let Some(first) = stored.get(same) {
            let delete = "DELETE FROM snapshots WHERE file = ?1 AND (part, place) >= (?2, ?3)";
            connection
                .prepare_cached(delete)?
                .execute((self.file, first.part, first.place))?;
        }
        let insert = "INSERT INTO snapshots (file, part, place, session, turn, at, gone, broken_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let mut insert = connection.prepare_cached(insert)?;
        for row in &rows[same..] {
            insert.execute((
                self.file,
                row.part,
                row.place,
                row.session,
                row.turn,
                row.at,
                row.is_gone,
                row.broken_at,
            ))?;
        }
        Ok(())
    }
}

/// Divides snapshots into parts. Where one ends depends on nothing but what is in it, so the same history has the same parts, however
/// it came together.
fn part_ranges(snapshots: &[FileSnapshot]) -> Vec<Range<usize>> {
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
