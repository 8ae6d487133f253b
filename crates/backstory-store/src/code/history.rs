//! The history of one source file: its snapshots in the order of time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use backstory_event::{FileId, SessionId, TimeMs, TurnNo};
use rusqlite::{Connection, OptionalExtension};

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

    /// The last snapshot that a session knows of: its own, or else one before a time of those sessions that began before it. What was
    /// seen live of the session is what its log tells now.
    pub(super) fn last_before(
        &mut self,
        connection: &Connection,
        session: SessionId,
        at: Option<TimeMs>,
    ) -> Result<Option<&FileSnapshot>> {
        let own =
            |place: (SessionId, Option<TurnNo>, TimeMs)| place.0 == session && place.1.is_some();
        let mut found = self.last_place(|place| Ok(own(place)))?;
        if found.is_none() {
            let mut begun: HashMap<SessionId, bool> = HashMap::new();
            found = self.last_place(|(other, _, seen_at)| {
                if other == session || at.is_some_and(|at| seen_at >= at) {
                    return Ok(false);
                }
                Ok(match begun.entry(other) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(place) => {
                        *place.insert(began_before(connection, other, session)?)
                    }
                })
            })?;
        }
        let Some(number) = found else {
            return Ok(None);
        };
        self.read_from(connection, number)?;
        Ok(self.snapshots.get(number - self.unread))
    }

    /// Returns the number of the last snapshot whose session, turn and time fit.
    fn last_place(
        &self,
        mut fits: impl FnMut((SessionId, Option<TurnNo>, TimeMs)) -> Result<bool>,
    ) -> Result<Option<usize>> {
        for (number, snapshot) in self.snapshots.iter().enumerate().rev() {
            if fits((snapshot.session, snapshot.turn, snapshot.at))? {
                return Ok(Some(self.unread + number));
            }
        }
        for (number, row) in self.rows[..self.unread].iter().enumerate().rev() {
            if fits((row.session, row.turn, row.at))? {
                return Ok(Some(number));
            }
        }
        Ok(None)
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
    pub(super) fn set_broken(&mut self, connection: &Connection, at: TimeMs) -> Result<()> {
        if let Some(last) = self.last_until(connection, at)?
            && !last.is_gone
        {
            last.broken_at = last.broken_at.max(Some(at));
            self.is_changed = true;
        }
        Ok(())
    }

    /// The last snapshot up to a time.
    fn last_until(
        &mut self,
        connection: &Connection,
        at: TimeMs,
    ) -> Result<Option<&mut FileSnapshot>> {
        let unread = self.rows[..self.unread].partition_point(|row| row.at <= at);
        if self.snapshots.first().is_none_or(|first| first.at > at) {
            self.read_from(connection, unread.saturating_sub(1))?;
        }
        let place = self.snapshots.partition_point(|known| known.at <= at);
        Ok(place.checked_sub(1).map(|last| &mut self.snapshots[last]))
    }

    /// Removes what turns of a session showed, from one on. At these moments the session left the file: errors that were there then are
    /// not known any more.
    pub(super) fn remove_turns(
        &mut self,
        connection: &Connection,
        (session, from): (SessionId, TurnNo),
        moments: &[TimeMs],
    ) -> Result<()> {
        for moment in moments {
            if let Some(last) = self.last_until(connection, *moment)?
                && last.broken_at == Some(*moment)
            {
                last.broken_at = None;
                self.is_changed = true;
            }
        }
        let is_told = |session_of: SessionId, turn: Option<TurnNo>| {
            session_of == session && turn.is_some_and(|turn| turn >= from)
        };
        let unread = &self.rows[..self.unread];
        if let Some(first) = unread.iter().position(|row| is_told(row.session, row.turn)) {
            // The one before it may take over when the file was seen broken.
            self.read_from(connection, first.saturating_sub(1))?;
        }
        while let Some(place) = self
            .snapshots
            .iter()
            .rposition(|snapshot| is_told(snapshot.session, snapshot.turn))
        {
            let removed = self.snapshots.remove(place);
            self.is_changed = true;
            if let Some(before) = place
                .checked_sub(1)
                .map(|before| &mut self.snapshots[before])
                && !before.is_gone
            {
                before.broken_at = before.broken_at.max(removed.broken_at);
            }
        }
        Ok(())
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
            self.read_from(connection, earlier.saturating_sub(1))?;
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
        // The errors that were seen came after this one.
        if let Some(before) = place
            .checked_sub(1)
            .map(|before| &mut self.snapshots[before])
            && before.broken_at >= Some(snapshot.at)
        {
            let broken_at = before.broken_at.take();
            snapshot.broken_at = broken_at.filter(|_| !snapshot.is_gone);
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

/// Returns whether a session began before another one; of two that began together, whether it was stored first.
fn began_before(connection: &Connection, session: SessionId, other: SessionId) -> Result<bool> {
    let query = "SELECT (COALESCE(one.started_at, -9223372036854775808), one.id) < (COALESCE(other.started_at, -9223372036854775808), other.id) \
         FROM sessions AS one, sessions AS other WHERE one.id = ?1 AND other.id = ?2";
    let mut statement = connection.prepare_cached(query)?;
    let found = statement.query_row((session, other), |row| row.get(0));
    Ok(found.optional()?.unwrap_or(false))
}
