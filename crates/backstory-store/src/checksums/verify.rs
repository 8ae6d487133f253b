//! Comparing what is stored with its checksums.

use super::damage;
use super::scope::{Scope, Units};
use super::update::sum_unit;
use super::{Damage, DamagedPiece, one_view, stored_sum};
use crate::blocks::{self, BlockReader};
use crate::error::{Error, Result};
use crate::journal::first_damaged_byte;
use crate::open::Store;
use crate::settings::{damaged_settings, setting_damage};
use backstory_event::{SessionId, StreamId};
use serde::Serialize;

/// What a verification found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Damaged pieces.
    pub damage: Vec<Damage>,
    /// Number of pieces that were compared with their checksum.
    pub verified: u64,
    /// Number of pieces that have no checksum yet; sweeps add them.
    pub unchecked: u64,
}

impl Verification {
    fn note(&mut self, damage: Damage) {
        let is_whole_table = matches!(damage.piece, DamagedPiece::Rows { what, .. } if what == Scope::Settings.name());
        let mut pieces = self.damage.iter().map(|damage| &damage.piece);
        // Of settings those are named that are damaged, if that is known.
        if is_whole_table && pieces.any(|piece| matches!(piece, DamagedPiece::Setting(_))) {
            return;
        }
        if !self.damage.contains(&damage) {
            self.damage.push(damage);
        }
    }
}

/// Rows that an answer is made of. Answers over all sessions are left to `doctor`: verifying every row of the store would cost
/// several times as much as the answer.
#[derive(Debug, Clone, Copy)]
pub enum AnswerRows<'a> {
    /// A session's rows and events.
    Session(SessionId),
    /// The same, and what was noted, observed and summarized of the session.
    SessionWithNotes(SessionId),
    /// Rows and events of these sessions.
    Sessions(&'a [SessionId]),
    /// Listed sessions without their events.
    SessionList(&'a [SessionId]),
}

impl Store {
    /// Verifies the rows that an answer is made of, and the names that they refer to.
    pub fn verify_answer(&self, rows: &AnswerRows<'_>) -> Result<Verification> {
        let mut found = Verification::default();
        match rows {
            AnswerRows::Session(session) => self.verify_session(*session, &mut found)?,
            AnswerRows::SessionWithNotes(session) => {
                self.verify_session(*session, &mut found)?;
                for scope in [Scope::Notes, Scope::Summaries, Scope::KeptObservations] {
                    self.verify_unit(scope, (*session).into(), &mut found)?;
                }
                let observations = "SELECT id FROM observations WHERE session = ?1";
                for observation in self.numbers(observations, (*session).into())? {
                    self.verify_unit(Scope::Observations, observation, &mut found)?;
                }
            }
            AnswerRows::Sessions(sessions) => {
                for session in *sessions {
                    self.verify_session_events(*session, &mut found)?;
                }
                self.verify_names(&[Scope::Paths], &mut found)?;
            }
            AnswerRows::SessionList(sessions) => {
                for session in *sessions {
                    self.verify_unit(Scope::Sessions, (*session).into(), &mut found)?;
                }
                self.verify_names(&[], &mut found)?;
            }
        }
        Ok(found)
    }

    /// Verifies these scopes, and the names that nearly everything refers to.
    fn verify_names(&self, scopes: &[Scope], found: &mut Verification) -> Result<()> {
        for scope in scopes.iter().chain(&[Scope::Names, Scope::Projects]) {
            self.verify_scope(*scope, found)?;
        }
        Ok(())
    }

    fn verify_session_events(&self, session: SessionId, found: &mut Verification) -> Result<()> {
        for scope in [Scope::Sessions, Scope::Events] {
            self.verify_unit(scope, session.into(), found)?;
        }
        Ok(())
    }

    fn verify_session(&self, session: SessionId, found: &mut Verification) -> Result<()> {
        self.verify_session_events(session, found)?;
        let streams = "SELECT stream FROM session_streams WHERE session = ?1";
        for stream in self.numbers(streams, session.into())? {
            self.verify_unit(Scope::Streams, stream, found)?;
        }
        let paths = "SELECT DISTINCT path >> 6 FROM touches WHERE session = ?1";
        for unit in self.numbers(paths, session.into())? {
            self.verify_unit(Scope::Paths, unit, found)?;
        }
        self.verify_names(&[], found)
    }

    /// Verifies all rows and blobs, and reads every block through.
    pub fn verify_all(&self) -> Result<Verification> {
        let mut found = Verification::default();
        self.verify_summed_rows(&mut found)?;
        for scope in Scope::ALL {
            self.verify_scope(scope, &mut found)?;
        }
        let streams = "SELECT DISTINCT stream FROM blocks WHERE ?1 = 0";
        // Any other number is damage of its block, found above.
        let streams = self.numbers(streams, 0)?.into_iter();
        for stream in streams.filter_map(|stream| u32::try_from(stream).ok()) {
            self.verify_stream(stream.into(), &mut found)?;
        }
        for attachment in self.numbers("SELECT id FROM attachments WHERE ?1 = 0", 0)? {
            self.verify_attachment(attachment, &mut found)?;
        }
        // Looked at twice: another process may be writing.
        let journal = self.path().with_extension("db-wal");
        if let Some(start) = first_damaged_byte(&journal).and(first_damaged_byte(&journal)) {
            found.note(Damage {
                piece: DamagedPiece::Journal(start),
                path: Some(journal.to_string_lossy().into_owned()),
            });
        }
        found.unchecked = self.units_behind()?;
        Ok(found)
    }

    /// Verifies captured events and settings, which have a checksum in their row.
    fn verify_summed_rows(&self, found: &mut Verification) -> Result<()> {
        let (verified, damage) = self.queue().damaged_captures()?;
        found.verified += verified;
        for damage in damage {
            found.note(damage);
        }
        for name in damaged_settings(&self.connection)? {
            found.note(setting_damage(&name));
        }
        Ok(())
    }

    /// Verifies up to `count` pieces of each kind, drawn at random.
    pub fn verify_sample(&self, count: u64) -> Result<Verification> {
        let mut found = Verification::default();
        self.verify_summed_rows(&mut found)?;
        for scope in Scope::ALL {
            let query = format!(
                "SELECT unit FROM checksums WHERE scope = {} ORDER BY random() LIMIT ?1",
                scope as u8
            );
            // A table that is summed as a whole is left to those who read everything.
            if scope.units() == Units::Running {
                continue;
            }
            for unit in self.numbers(&query, count as i64)? {
                self.verify_unit(scope, unit, &mut found)?;
            }
        }
        let attachments = "SELECT id FROM attachments ORDER BY random() LIMIT ?1";
        for attachment in self.numbers(attachments, count as i64)? {
            self.verify_attachment(attachment, &mut found)?;
        }
        found.unchecked = self.units_behind()?;
        Ok(found)
    }

    fn numbers(&self, query: &str, value: i64) -> Result<Vec<i64>> {
        let mut statement = self.connection.prepare_cached(query)?;
        let rows = statement.query_map([value], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn verify_scope(&self, scope: Scope, found: &mut Verification) -> Result<()> {
        let units = "SELECT unit FROM checksums WHERE scope = ?1";
        for unit in self.numbers(units, scope as i64)? {
            self.verify_unit(scope, unit, found)?;
        }
        Ok(())
    }

    fn verify_unit(&self, scope: Scope, unit: i64, found: &mut Verification) -> Result<()> {
        let _view = one_view(&self.connection)?;
        let Some((sum, upto)) = stored_sum(&self.connection, scope, unit)? else {
            found.unchecked += 1;
            return Ok(());
        };
        found.verified += 1;
        // A row whose type has changed cannot even be read: damage as well.
        let same = match sum_unit(&self.connection, scope, unit, upto) {
            Ok(rows) => rows.sum == sum,
            Err(Error::Database(_)) => false,
            Err(error) => return Err(error),
        };
        if !same {
            found.note(damage::rows(&self.connection, scope, unit)?);
        }
        Ok(())
    }

    /// Reads all blocks of a stream, which must follow each other without a gap.
    fn verify_stream(&self, stream: StreamId, found: &mut Verification) -> Result<()> {
        let mut reader = BlockReader::new(&self.connection);
        for (_, start, length) in blocks::of_stream(&self.connection, stream)? {
            match reader.read(stream, start, length) {
                Ok(bytes) if bytes.len() as u64 == length => {}
                Ok(_) => found.note(damage::bytes(&self.connection, stream, start, length)?),
                Err(Error::DamagedPiece(damage)) => found.note(*damage),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn verify_attachment(&self, attachment: i64, found: &mut Verification) -> Result<()> {
        found.verified += 1;
        if blocks::read_attachment(&self.connection, attachment)?.is_none() {
            found.note(Damage {
                piece: DamagedPiece::Attachment(attachment),
                path: None,
            });
        }
        Ok(())
    }

    /// Damage of the blocks of a stream.
    pub(crate) fn stream_damage(&self, stream: StreamId) -> Result<Vec<Damage>> {
        let mut found = Verification::default();
        self.verify_stream(stream, &mut found)?;
        Ok(found.damage)
    }

    /// Damage of the rows and notes of a session.
    pub(crate) fn session_damage(&self, session: SessionId) -> Result<Vec<Damage>> {
        let mut found = Verification::default();
        for scope in [Scope::Sessions, Scope::Events, Scope::Notes] {
            self.verify_unit(scope, session.into(), &mut found)?;
        }
        Ok(found.damage)
    }
}
