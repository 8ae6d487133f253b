//! The history of one source file: its snapshots in the order of time.

use backstory_event::{FileId, SessionId, TimeMs, TurnNo};
use rusqlite::Connection;

use super::StoredTurn;
use super::format::encode_part;
use super::new::{NewSnapshot, placed_symbols};
use super::parts::{SnapshotRow, end_row, part_ranges, part_row, read_part};
use super::snapshot::{FileSnapshot, PlacedSymbol, PriorSymbol, SymbolChanges};
use crate::blocks::Packer;
use crate::error::{Error, Result};

/// The history of a file, as far as it was read, with what was added to it.
pub(super) struct FileHistory {
    file: FileId,
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
    pub(super) fn read(connection: &Connection, file: FileId) -> Result<Self> {
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
    pub(super) fn remove(connection: &Connection, file: FileId) -> Result<()> {
        connection.execute("DELETE FROM snapshots WHERE file = ?1", [file])?;
        connection.execute(
            "DELETE FROM snapshot_states WHERE id >= ?1 AND id < ?2",
            [part_row(file, 0), end_row(file)],
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
        if new.turn.is_none() && self.is_known(&snapshot) {
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
        (session, turn, at): (SessionId, Option<TurnNo>, TimeMs),
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
    pub(super) fn set_broken(&mut self, at: TimeMs) {
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
    pub(super) fn remove_live(
        &mut self,
        connection: &Connection,
        session: SessionId,
    ) -> Result<()> {
        let is_of_session = |row: &SnapshotRow| row.session == session;
        if let Some(first) = self.rows.iter().position(is_of_session) {
            self.read_from(connection, first)?;
        }
        let of_session = |snapshot: &&FileSnapshot| snapshot.session == session;
        let told = self.snapshots.iter().filter(of_session);
        let told: Vec<FileSnapshot> = told
            .filter(|snapshot| snapshot.turn.is_some())
            .cloned()
            .collect();
        let Some(last) = told.iter().map(|snapshot| snapshot.at).max() else {
            return Ok(());
        };
        let is_told = |snapshot: &FileSnapshot| {
            snapshot.session == session
                && snapshot.turn.is_none()
                && (snapshot.at <= last || told.iter().any(|told| told.is_same_state(snapshot)))
        };
        let before = self.snapshots.len();
        self.snapshots.retain(|snapshot| !is_told(snapshot));
        self.is_changed |= self.snapshots.len() != before;
        Ok(())
    }

    /// Removes all snapshots from a time on.
    pub(super) fn truncate(&mut self, connection: &Connection, from: TimeMs) -> Result<()> {
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
        session: SessionId,
        turn: Option<TurnNo>,
    ) -> Result<Option<FileSnapshot>> {
        if turn.is_none() {
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
            snapshot.at = snapshot.at.plus_ms(1);
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
        delete.execute((after, end_row(self.file)))?;
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
                StoredTurn(row.turn),
                row.at,
                row.is_gone,
                row.broken_at,
            ))?;
        }
        Ok(())
    }
}
