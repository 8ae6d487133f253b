//! Keeping the full-text index in step with the store.

use std::path::{Path, PathBuf};

use backstory_event::{Seq, SessionId};
use backstory_store::{IndexError, Lag, LagOrder, Store, TextIndex, try_lock_file};
use serde::{Deserialize, Serialize};

use crate::Search;
use crate::derive::{FULLTEXT, FullText, Progress, Runner};
use crate::error::Result;

/// Number of events that can be searched beside the index without a noticeable delay; more are indexed.
const MOST_FRESH_EVENTS: u64 = 400;

/// A session that is searched beside the index costs as much as so many events, even if only its title is new.
const SESSION_COSTS: u64 = 8;

/// What was done to the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexReport {
    /// Events added, those included that were added again because their session grew.
    pub events: u64,
    /// Bytes of text.
    pub bytes: u64,
    /// Whether the index was made anew.
    pub rebuilt: bool,
}

impl Search<'_> {
    /// Brings the full-text index up to date. A few fresh events are left for later, unless `all` are asked for: search finds
    /// them all the same. A missing or damaged index is made anew.
    pub fn refresh_index(
        &self,
        all: bool,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<IndexReport> {
        let folder = index_folder(&self.memory.home);
        let seal = self.memory.store.seal()?;
        let whole = seal.is_some_and(|seal| seal.looks_whole(&folder));
        if whole && is_left_beside(&unindexed(&self.memory.store)?, all) {
            return Ok(IndexReport::default());
        }
        let index = FullText::open(&self.memory.home, &self.memory.store)?;
        self.finish_index(index, all, progress)
    }
}

impl Search<'_> {
    /// Adds to an index that is being written what it lacks, and makes all of it count.
    pub(crate) fn finish_index(
        &self,
        index: FullText,
        all: bool,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<IndexReport> {
        let total = self.memory.store.lag().seen_events(None)?.1;
        let mut done = 0;
        let mut count = |step: Progress| {
            if let Progress::Event = step {
                done += 1;
                progress(done, total);
            }
        };
        Runner::new(&self.memory.store, index)?.finish(&self.memory.store, all, &mut count)
    }

    /// Removes the documents of sessions from the files of the index for good, and indexes those of them anew that are still stored.
    pub(crate) fn remove_sessions(
        &self,
        rows: impl Iterator<Item = SessionId> + Clone,
    ) -> Result<()> {
        let mut index = FullText::open(&self.memory.home, &self.memory.store)?;
        index.remove_for_good(rows.clone());
        if let Some(consumer) = self.memory.store.lag().find(FULLTEXT)? {
            // A row that was removed may have been given to a new session.
            for session in self.memory.store.session_heads(rows)?.into_keys() {
                self.memory
                    .store
                    .lag()
                    .mark(consumer, session, Seq::FIRST)?;
            }
        }
        self.finish_index(index, true, &mut |_, _| {})?;
        Ok(())
    }

    /// Makes the index anew from all that is stored.
    pub(crate) fn rebuild_index(&self) -> Result<()> {
        let index = FullText::anew(&self.memory.home, &self.memory.store)?;
        self.finish_index(index, true, &mut |_, _| {})?;
        Ok(())
    }

    /// Makes the index smaller: without evicted events, if it has many, and without what a writer left that was stopped, be it files
    /// of this generation or others. With `anew` all of it is written again: how small an index becomes by removing events depends
    /// on how often it was written before.
    pub(crate) fn reclaim_index(&self, anew: bool) -> Result<()> {
        let folder = index_folder(&self.memory.home);
        let seal = self.memory.store.seal()?;
        let has_index = seal.is_some();
        let is_whole = seal.is_none_or(|seal| seal.looks_whole(&folder));
        if anew && has_index {
            self.rebuild_index()?;
        } else if !is_whole || unindexed(&self.memory.store)?.iter().any(Lag::is_evicted) {
            self.refresh_index(true, &mut |_, _| {})?;
        }
        // Whoever holds the lock may be about to write a new generation.
        if let Some(_lock) = try_lock_file(&self.memory.home.join("index.lock"))?
            && let Some(seal) = self.memory.store.seal()?
        {
            seal.remove_other_generations(&folder);
        }
        Ok(())
    }
}

/// How the full-text index is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IndexHealth {
    /// What is wrong with it, if anything is.
    pub damage: Option<String>,
    /// Events that are searched beside it.
    #[serde(rename = "fresh_events")]
    pub fresh: u64,
    /// What it takes on disk.
    pub bytes: u64,
}

impl Search<'_> {
    /// Checks the full-text index, every byte of it.
    pub fn index_health(&self) -> Result<IndexHealth> {
        let folder = index_folder(&self.memory.home);
        let fresh = unindexed(&self.memory.store)?.iter().map(Lag::count).sum();
        let verified = match self.memory.store.seal()? {
            Some(seal) => TextIndex::verify(&folder, &seal),
            None if self.memory.store.lag().seen_events(None)?.1 == 0 => Ok(()),
            None => Err(IndexError::Missing),
        };
        Ok(IndexHealth {
            damage: verified.err().map(|error| error.to_string()),
            fresh,
            bytes: index_bytes(&self.memory.home),
        })
    }
}

/// What the index takes on disk.
pub(crate) fn index_bytes(home: &Path) -> u64 {
    bytes_two_below(&index_folder(home))
}

/// What vectors take on disk.
pub(crate) fn vector_bytes(home: &Path) -> u64 {
    bytes_two_below(&home.join("vectors"))
}

fn bytes_two_below(folder: &Path) -> u64 {
    let folders = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    folders(folder)
        .flat_map(|generation| folders(&generation.path()))
        .filter_map(|file| file.metadata().ok())
        .map(|metadata| metadata.len())
        .sum()
}

pub(crate) fn index_folder(home: &Path) -> PathBuf {
    home.join("index")
}

/// Returns what the index lacks.
pub(crate) fn unindexed(store: &Store) -> Result<Vec<Lag>> {
    match store.lag().find(FULLTEXT)? {
        Some(consumer) => Ok(store.lag().of(consumer, LagOrder::Stored)?),
        None => Ok(Vec::new()),
    }
}

/// Returns all that an index would hold.
pub(crate) fn indexable(store: &Store) -> Result<Vec<Lag>> {
    match store.lag().find(FULLTEXT)? {
        Some(consumer) => Ok(store.lag().of_all(consumer)?),
        None => Ok(Vec::new()),
    }
}

/// Returns whether so little is lacking that it is searched beside the index.
pub(crate) fn is_left_beside(fresh: &[Lag], all: bool) -> bool {
    let costs: u64 = fresh
        .iter()
        .map(|fresh| fresh.count() + SESSION_COSTS)
        .sum();
    fresh.is_empty() || (!all && costs <= MOST_FRESH_EVENTS)
}

#[cfg(test)]
mod tests {
    use crate::trial::{Trial, id, prompt};

    #[test]
    fn many_sessions_are_not_left_beside_the_index_because_of_their_titles() {
        let mut trial = Trial::new();
        for (round, beside) in [(0..60, 0), (0..5, 5), (5..60, 0)] {
            for session in round {
                let line = if beside == 0 && trial.memory.sessions().row(&id(session)).is_err() {
                    prompt(session, 1, 1, "count the till")
                } else {
                    format!(
                        "{{\"type\":\"custom-title\",\"customTitle\":\"Till\",\"sessionId\":\"{}\"}}\n",
                        id(session)
                    )
                };
                trial.append(&id(session), &[line]);
            }
            trial.sweep();
            assert_eq!(super::unindexed(&trial.memory.store).unwrap().len(), beside);
        }
    }
}
