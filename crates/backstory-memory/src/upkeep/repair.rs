//! Reading damaged pieces of the store again from the agents' logs.

use std::io::Read;
use std::path::Path;

use backstory_store::{AnswerRows, Damage, Rereading, Store, Verification};

use crate::Upkeep;
use crate::error::Result;
use crate::import::discover::Problem;
use crate::path_text::path_from_text;
use crate::trusted::open_regular;
use crate::upkeep::WithDamage;

/// Number of pieces of each kind that a check reads that does not read everything.
const SAMPLE_PIECES: u64 = 64;

/// Rows of a session that a sweep stores again from its log.
const REREAD_ROWS: [&str; 3] = ["rows", "events", "notes"];

impl Upkeep<'_> {
    /// Verifies the checksums of a sample of what is stored, or of everything.
    pub(crate) fn verify_store(&self, everything: bool) -> Result<Verification> {
        Ok(if everything {
            self.memory.store.verify_all()?
        } else {
            self.memory.store.verify_sample(SAMPLE_PIECES)?
        })
    }

    /// Returns an answer with the damage that was met while it was made and that of the rows it is made of, and notes it for the next
    /// sweep.
    pub fn with_damage<T>(
        &self,
        answer: T,
        rows: Option<&AnswerRows<'_>>,
    ) -> Result<WithDamage<T>> {
        if let Some(rows) = rows {
            self.verify_answer(rows)?;
        }
        let mut answer = WithDamage {
            answer,
            damage: Vec::new(),
            is_repairable: false,
        };
        self.add_met_damage(&mut answer);
        Ok(answer)
    }

    /// Adds the damage that was met since to an answer.
    pub(crate) fn add_met_damage<T>(&self, answer: &mut WithDamage<T>) {
        self.add_damage(answer, &self.take_damage());
    }

    /// Verifies the rows that an answer is made of.
    pub(crate) fn verify_answer(&self, rows: &AnswerRows<'_>) -> Result<()> {
        let found = self.memory.store.verify_answer(rows)?;
        self.memory.store.meet_damage(found.damage);
        Ok(())
    }

    /// Adds damage to an answer, and notes it for the next sweep.
    pub fn add_damage<T>(&self, answer: &mut WithDamage<T>, damage: &[Damage]) {
        self.note_damage(damage);
        answer.is_repairable |= damage.iter().any(|damage| self.can_be_read_again(damage));
        answer.damage.extend(damage.iter().map(Damage::to_string));
    }

    /// Damage that was met since the last call, while events were read.
    pub fn take_damage(&self) -> Vec<Damage> {
        self.memory.store.take_damage()
    }

    /// Returns what every sweep names until it is mended: logs that captures name and that are not trusted, damage that was met, and
    /// damaged captures. Those have no other copy, so nothing else may read them for long.
    pub fn take_problems(&self) -> Result<Vec<Problem>> {
        let mut problems = self.memory.captures().refused_logs()?;
        let mut damage = self.take_damage();
        for found in self.memory.captures().damaged()? {
            if !damage.contains(&found) {
                damage.push(found);
            }
        }
        problems.extend(damage.into_iter().map(|damage| Problem {
            path: self.memory.home.join("backstory.db"),
            reason: damage.to_string(),
        }));
        Ok(problems)
    }

    /// Remembers damage for the next sweep, which reads it again from the agents' logs. A store that cannot be written to is left as
    /// it is: the damage will be met again.
    pub(crate) fn note_damage(&self, damage: &[Damage]) {
        if !damage.is_empty()
            && !self.memory.store.is_untouched()
            && let Ok(store) = Store::open(&self.memory.home)
        {
            let _ = store.note_damage(damage);
        }
    }

    /// Returns whether the log that a damaged piece was read from is still there: then the next sweep reads it again.
    pub(crate) fn can_be_read_again(&self, damage: &Damage) -> bool {
        use backstory_store::DamagedPiece;
        let piece = match damage.piece {
            DamagedPiece::Bytes { stream, .. } => Rereading::Stream(stream),
            DamagedPiece::Session { id, what, .. } if REREAD_ROWS.contains(&what) => {
                Rereading::Session(id)
            }
            DamagedPiece::Journal(_) => return true,
            DamagedPiece::Session { .. }
            | DamagedPiece::Attachment(_)
            | DamagedPiece::Capture { .. }
            | DamagedPiece::Setting(_)
            | DamagedPiece::Rows { .. } => return false,
        };
        self.has_logs(piece).unwrap_or(false)
    }

    /// Has everything that is damaged and still in the logs read again by the sweep that calls this.
    pub(crate) fn begin_repair(&self) -> Result<()> {
        for piece in self.memory.store.noted_damage()? {
            if !self.memory.store.is_still_damaged(piece)? {
                self.memory.store.clear_damage(piece)?;
            } else if self.has_logs(piece)? {
                match piece {
                    Rereading::Stream(stream) => self.memory.store.reread_stream(stream)?,
                    Rereading::Session(session) => self.memory.store.reread_session(session)?,
                }
            }
        }
        Ok(())
    }

    fn has_logs(&self, piece: Rereading) -> Result<bool> {
        let paths = self.memory.store.damaged_paths(piece)?;
        for path in &paths {
            if !is_same_log(&self.memory.store, path)? {
                return Ok(false);
            }
        }
        Ok(!paths.is_empty())
    }
}

/// Returns whether a log has everything that was read of it: it begins as it did then, and is as long.
fn is_same_log(store: &Store, path: &str) -> Result<bool> {
    let Some(cursor) = store.cursor(path)? else {
        return Ok(false);
    };
    let (length, hash) = cursor.head;
    let file = path_from_text(path);
    let is_there = std::fs::metadata(&file).is_ok_and(|file| file.len() >= cursor.offset);
    // A compressed log is known by its name alone.
    if !is_there {
        return Ok(std::fs::exists(format!("{path}.zst")).unwrap_or(false));
    }
    Ok(read_beginning(&file, length).is_ok_and(|bytes| *blake3::hash(&bytes).as_bytes() == hash))
}

fn read_beginning(path: &Path, length: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}
