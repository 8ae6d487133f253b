//! Forgetting: sessions leave every file of the store, and do not come back.
//!
//! Rows and streams of their own are deleted. What other sessions' files repeat of them is blanked out of the stored bytes, their
//! ids are masked everywhere, and database, index and vectors are written anew. In the end every file is searched for what is
//! not there any more.

mod proof;
mod sieve;
#[cfg(test)]
mod tests;

use backstory_store::{SessionFilter, SessionHead, VectorWriter, lock_file, try_lock_file};

use self::proof::Probes;
use self::sieve::{Names, Sieve};
use crate::error::Result;
use crate::search::{IndexUpdate, Mode, Need, Query, SearchOptions};
use crate::sweep::random_key;
use crate::{Memory, disk_bytes};

pub use proof::Proof;

/// Which sessions to forget; their subagents always go with them.
#[derive(Debug, Clone, Copy)]
pub enum Forget<'a> {
    /// The one whose id begins so.
    Session(&'a str),
    /// Those of a project, named as in [`SessionFilter`].
    Project(&'a str),
    /// Those with a turn that has all the words of a query.
    Query(&'a str),
}

/// What was forgotten.
#[derive(Debug, Clone)]
pub struct ForgetReport {
    /// By how many bytes the files on disk became smaller.
    pub freed_bytes: u64,
    /// What the store takes on disk now.
    pub final_usage_bytes: u64,
    /// Whether another process was in the way, so that the next sweep has to clean up what is left in its files.
    pub unclean: bool,
    /// That nothing is left.
    pub proof: Proof,
}

impl Memory {
    /// The sessions that would be forgotten.
    pub fn to_forget(&mut self, which: Forget<'_>) -> Result<Vec<SessionHead>> {
        let rows = match which {
            Forget::Session(prefix) => vec![self.session(prefix)?.id],
            Forget::Project(project) => self.store.session_rows(&SessionFilter {
                project: Some(project.to_string()),
                ..SessionFilter::default()
            })?,
            Forget::Query(text) => {
                let mut query = Query::parse(text);
                for clause in &mut query.clauses {
                    if clause.need == Need::Wanted {
                        clause.need = Need::Required;
                    }
                }
                let options = SearchOptions {
                    mode: Mode::Keyword,
                    ..SearchOptions::default()
                };
                let hits = self.search(&query, &options)?.hits;
                hits.into_iter().map(|hit| hit.session.id).collect()
            }
        };
        let rows = self.store.with_subagents(&rows)?;
        let mut heads = self.store.session_heads(rows.iter().copied())?;
        Ok(rows.iter().filter_map(|row| heads.remove(row)).collect())
    }

    /// Forgets sessions, and proves it. Stopped at any instant, they are forgotten or not; the next sweep cleans up then.
    pub fn forget(&mut self, sessions: &[SessionHead]) -> Result<ForgetReport> {
        let _lock = lock_file(&self.home.join("sweep.lock"), || {})?;
        let before = disk_bytes(&self.home);
        let names = Names::new(sessions);
        let probes = Probes::new(&self.store, sessions, &names)?;
        let rows: Vec<i64> = sessions.iter().map(|session| session.id).collect();
        let learned: Vec<&str> = sessions
            .iter()
            .flat_map(|session| [session.title.as_deref(), session.branch.as_deref()])
            .flatten()
            .collect();
        self.forget_lines(|line| names.masked(line).is_some())?;
        let forgetting = self.store.forget(&rows, random_key())?;
        for stream in forgetting.remaining()? {
            let mut sieve = Sieve::new(&stream, &names, forgetting.keys());
            forgetting.rewrite(stream.id, |start, bytes| sieve.block(start, bytes))?;
            if sieve.has_blanked() {
                forgetting.unlearn(stream.id, &learned)?;
            }
        }
        forgetting.rewrite_texts(|text| names.masked(text))?;
        forgetting.commit()?;
        let clean = self.clean_up()?;
        let final_usage_bytes = disk_bytes(&self.home);
        Ok(ForgetReport {
            freed_bytes: before.saturating_sub(final_usage_bytes),
            final_usage_bytes,
            unclean: !clean,
            proof: probes.prove(&self.home, &self.store)?,
        })
    }

    /// Writes anew what may still hold something that was forgotten; false when another process was in the way.
    pub(crate) fn clean_up(&mut self) -> Result<bool> {
        (self.open_index, self.open_model) = (None, None);
        IndexUpdate::anew(&self.home, &self.store)?.finish(
            &mut self.store,
            true,
            &mut |_, _| {},
        )?;
        let clean = self.clean_vectors()? && self.store.scrub()?;
        if clean {
            self.store.settle_forgotten()?;
        }
        Ok(clean)
    }

    /// Takes vectors of sessions out that are not there any more.
    fn clean_vectors(&self) -> Result<bool> {
        let Ok(folders) = std::fs::read_dir(self.home.join("vectors")) else {
            return Ok(true);
        };
        let Some(_lock) = try_lock_file(&self.home.join("vectors.lock"))? else {
            return Ok(false);
        };
        for folder in folders.flatten() {
            let name = folder.file_name().to_string_lossy().into_owned();
            let gone = match VectorWriter::open_existing(&folder.path()) {
                Ok(Some(mut writer)) => {
                    let known = writer.sessions()?;
                    let heads = self
                        .store
                        .session_heads(known.iter().copied().map(i64::from))?;
                    for session in known {
                        if !heads.contains_key(&i64::from(session)) {
                            writer.remove_session(session);
                        }
                    }
                    writer.commit().is_err()
                }
                Ok(None) => false,
                Err(_) => true,
            };
            if gone {
                // Damaged vectors cannot be sifted; they are made anew.
                self.drop_vectors(&name)?;
            }
        }
        Ok(true)
    }
}
