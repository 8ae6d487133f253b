//! The distilled tier: what was noted of each session.

use backstory_event::{Seq, SessionId};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior};

use crate::blocks::{Packer, decompress};
use crate::checksums::{Scope, check_unit};
use crate::error::{Error, Result};
use crate::ingest::TitleRank;
use crate::lag::{ConsumerId, Lag, clear_lag, mark_title};
use crate::open::Store;

/// What was noted of a session, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestRow {
    /// The session's row.
    pub session: SessionId,
    /// How the session ended.
    pub outcome: String,
    /// What people recognise the session by, if it has no title but its first line.
    pub title: Option<String>,
    /// The notes, in the writer's own format.
    pub notes: Vec<u8>,
}

impl Store {
    /// What was noted of a session.
    pub fn digest(&self, session: SessionId) -> Result<Option<DigestRow>> {
        let query = "SELECT session, outcome, notes FROM digests JOIN notes USING (session) WHERE session = ?1";
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
        let query = "SELECT session, outcome, notes FROM digests JOIN notes USING (session) ORDER BY session";
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

    /// Returns the sessions that no agent and no person gave a title.
    pub fn sessions_without_given_title(&self) -> Result<Vec<SessionId>> {
        let query = "SELECT id FROM sessions WHERE title_rank <= ?1";
        let mut statement = self.connection.prepare_cached(query)?;
        let sessions = statement.query_map([TitleRank::Prompt], |row| row.get(0))?;
        Ok(sessions.collect::<rusqlite::Result<_>>()?)
    }

    /// Gives sessions the titles that their digests would give them.
    pub fn save_titles(&self, titles: &[(SessionId, String)]) -> Result<()> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        {
            let mut entitle =
                transaction.prepare_cached("UPDATE sessions SET title = ?2 WHERE id = ?1")?;
            for (session, title) in titles {
                entitle.execute((session, title))?;
            }
        }
        Ok(transaction.commit()?)
    }

    /// Stores what was noted of sessions, and that `consumer` has seen what it lacked of them.
    pub fn save_digests(
        &self,
        digests: &[DigestRow],
        consumer: ConsumerId,
        seen: &[Lag],
    ) -> Result<()> {
        if digests.is_empty() && seen.is_empty() {
            return Ok(());
        }
        let mut packer = Packer::for_notes()?;
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO digests (session, outcome) VALUES (?1, ?2) ON CONFLICT (session) DO UPDATE SET outcome = excluded.outcome",
            )?;
            let mut note = transaction.prepare_cached(
                "INSERT INTO notes (session, notes) VALUES (?1, ?2) ON CONFLICT (session) DO UPDATE SET notes = excluded.notes",
            )?;
            let mut entitle = transaction.prepare_cached(
                "UPDATE sessions SET title = ?2 WHERE id = ?1 AND title_rank <= ?3 AND title IS NOT ?2 RETURNING events",
            )?;
            for digest in digests {
                let notes = packer.compress(&digest.notes)?;
                insert.execute((digest.session, &digest.outcome))?;
                note.execute((digest.session, notes))?;
                let Some(title) = &digest.title else { continue };
                let renamed: Option<Seq> = entitle
                    .query_row((digest.session, title, TitleRank::Prompt), |row| row.get(0))
                    .optional()?;
                if let Some(events) = renamed {
                    mark_title(&transaction, digest.session, events.next())?;
                }
            }
        }
        clear_lag(&transaction, consumer, seen)?;
        Ok(transaction.commit()?)
    }
}

fn digest_from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<DigestRow> {
    Ok(DigestRow {
        session: row.get(0)?,
        outcome: row.get(1)?,
        title: None,
        notes: row.get(2)?,
    })
}
