//! The distilled tier: what was noted of each session.

use backstory_event::{Seq, SessionId};
use rusqlite::{OptionalExtension, TransactionBehavior};

use crate::blocks::{Packer, decompress};
use crate::checksums::{Scope, check_unit};
use crate::error::{Error, Result};
use crate::index;
use crate::ingest::TitleRank;
use crate::open::Store;

/// A session whose digest lacks its last events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undigested {
    /// The session's row.
    pub session: SessionId,
    /// The agent.
    pub agent: String,
    /// Its events up to this one are in the digest.
    pub digested: Seq,
    /// How many it has.
    pub events: u64,
}

/// What was noted of a session, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestRow {
    /// The session's row.
    pub session: SessionId,
    /// Events up to this seq are in it.
    pub events: Seq,
    /// How the session ended.
    pub outcome: String,
    /// What people recognise the session by, if it has no title but its first line.
    pub title: Option<String>,
    /// The notes, in the writer's own format.
    pub notes: Vec<u8>,
}

impl Store {
    /// Sessions that have events which their digest lacks, and that are not gone.
    pub fn undigested(&self) -> Result<Vec<Undigested>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, agent, COALESCE(digests.events, 0), sessions.events FROM sessions \
             LEFT JOIN digests ON digests.session = sessions.id WHERE sessions.events > MAX(COALESCE(digests.events, 0), evicted) ORDER BY id",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(Undigested {
                session: row.get(0)?,
                agent: row.get(1)?,
                digested: row.get(2)?,
                events: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// What was noted of a session.
    pub fn digest(&self, session: SessionId) -> Result<Option<DigestRow>> {
        let query = "SELECT session, events, outcome, notes FROM digests JOIN notes USING (session) WHERE session = ?1";
        let mut statement = self.connection.prepare_cached(query)?;
        statement
            .query_row([session], digest_from_row)
            .optional()?
            .map(|row| self.unpack_notes(row))
            .transpose()
    }

    /// Calls `each` with what was noted of every session, in their order. Damaged notes are left out and named by
    /// [`Store::take_damage`].
    pub fn digests(&self, mut each: impl FnMut(DigestRow)) -> Result<()> {
        let query = "SELECT session, events, outcome, notes FROM digests JOIN notes USING (session) ORDER BY session";
        let mut statement = self.connection.prepare_cached(query)?;
        for row in statement.query_map([], digest_from_row)? {
            match self.unpack_notes(row?) {
                Ok(digest) => each(digest),
                Err(Error::DamagedPiece(damage)) => self.meet_damage([*damage]),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn unpack_notes(&self, row: DigestRow) -> Result<DigestRow> {
        check_unit(&self.connection, Scope::Notes, row.session.into())?;
        Ok(DigestRow {
            notes: decompress(&row.notes)?,
            ..row
        })
    }

    /// Stores what was noted of sessions.
    pub fn save_digests(&mut self, digests: &[DigestRow]) -> Result<()> {
        if digests.is_empty() {
            return Ok(());
        }
        let mut packer = Packer::for_notes()?;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO digests (session, events, outcome) VALUES (?1, ?2, ?3) ON CONFLICT (session) \
                 DO UPDATE SET events = excluded.events, outcome = excluded.outcome",
            )?;
            let mut note = transaction.prepare_cached(
                "INSERT INTO notes (session, notes) VALUES (?1, ?2) ON CONFLICT (session) DO UPDATE SET notes = excluded.notes",
            )?;
            let mut entitle = transaction.prepare_cached(
                "UPDATE sessions SET title = ?2 WHERE id = ?1 AND title_rank <= ?3 AND title IS NOT ?2 RETURNING events",
            )?;
            for digest in digests {
                let notes = packer.compress(&digest.notes)?;
                insert.execute((digest.session, digest.events, &digest.outcome))?;
                note.execute((digest.session, notes))?;
                let Some(title) = &digest.title else { continue };
                let renamed: Option<Seq> = entitle
                    .query_row((digest.session, title, TitleRank::Prompt), |row| row.get(0))
                    .optional()?;
                if let Some(events) = renamed {
                    index::mark_changed(&transaction, digest.session, events.next())?;
                }
            }
        }
        Ok(transaction.commit()?)
    }
}

fn digest_from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<DigestRow> {
    Ok(DigestRow {
        session: row.get(0)?,
        events: row.get(1)?,
        outcome: row.get(2)?,
        title: None,
        notes: row.get(3)?,
    })
}
