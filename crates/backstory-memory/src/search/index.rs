//! Keeping the full-text index in step with the store.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use backstory_event::{Seq, SessionId};
use backstory_store::{
    EventRange, IndexError, IndexedEvent, Store, Taken, TextIndex, TextIndexWriter, Unindexed,
    lock_file, try_lock_file,
};

use super::document::Documents;
use crate::Memory;
use crate::digest;
use crate::error::Result;
use crate::read::{view_of_stored, visit};

/// So many events are searched beside the index without anybody noticing; with more of them they are indexed.
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

impl Memory {
    /// Brings the full-text index up to date. A few fresh events are left for later, unless `all` are asked for: search finds
    /// them all the same. A missing or damaged index is made anew.
    pub fn refresh_index(
        &mut self,
        all: bool,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<IndexReport> {
        let folder = index_folder(&self.home);
        let seal = self.store.seal()?;
        let whole = seal.is_some_and(|seal| seal.looks_whole(&folder));
        if whole && is_left(&self.store.unindexed()?, all) {
            return Ok(IndexReport::default());
        }
        IndexUpdate::open(&self.home, &self.store)?.finish(&mut self.store, all, progress)
    }
}

impl Memory {
    /// Makes the index smaller: without evicted events, if it has many, and without what a writer left that was stopped, be it files
    /// of this generation or others. With `anew` all of it is written again: how small an index becomes by removing events depends
    /// on how often it was written before.
    pub(crate) fn reclaim_index(&mut self, anew: bool) -> Result<()> {
        let folder = index_folder(&self.home);
        let seal = self.store.seal()?;
        let has_index = seal.is_some();
        let is_whole = seal.is_none_or(|seal| seal.looks_whole(&folder));
        if anew && has_index {
            let update = IndexUpdate::anew(&self.home, &self.store)?;
            update.finish(&mut self.store, true, &mut |_, _| {})?;
        } else if !is_whole || self.store.index_has_evicted()? {
            self.refresh_index(true, &mut |_, _| {})?;
        }
        // Whoever holds the lock may be about to write a new generation.
        if let Some(_lock) = try_lock_file(&self.home.join("index.lock"))?
            && let Some(seal) = self.store.seal()?
        {
            seal.remove_other_generations(&folder);
        }
        Ok(())
    }
}

/// How the full-text index is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexHealth {
    /// What is wrong with it, if anything is.
    pub damage: Option<String>,
    /// Events that are searched beside it.
    pub fresh: u64,
    /// What it takes on disk.
    pub bytes: u64,
}

impl Memory {
    /// Checks the full-text index, every byte of it.
    pub fn index_health(&self) -> Result<IndexHealth> {
        let folder = index_folder(&self.home);
        let fresh = self.store.unindexed()?.iter().map(Unindexed::count).sum();
        let verified = match self.store.seal()? {
            Some(seal) => TextIndex::verify(&folder, &seal),
            None if self.store.indexable()?.is_empty() => Ok(()),
            None => Err(IndexError::Missing),
        };
        Ok(IndexHealth {
            damage: verified.err().map(|error| error.to_string()),
            fresh,
            bytes: index_bytes(&self.home),
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

/// Whether so little is left for later.
fn is_left(fresh: &[Unindexed], all: bool) -> bool {
    let costs: u64 = fresh
        .iter()
        .map(|fresh| fresh.count() + SESSION_COSTS)
        .sum();
    fresh.is_empty() || (!all && costs <= MOST_FRESH_EVENTS)
}

/// The index while it is written to. Nothing of it counts before it is finished.
pub(crate) struct IndexUpdate {
    folder: PathBuf,
    writer: TextIndexWriter,
    rebuilt: bool,
    /// Whether its files looked as sealed.
    whole: bool,
    /// How many events of each session were fed, from its first one on, and what makes its documents.
    fed: HashMap<SessionId, (Seq, Documents)>,
    report: IndexReport,
    _lock: File,
}

impl IndexUpdate {
    /// Opens the index, or begins a new one if there is none that can be used.
    pub(crate) fn open(home: &Path, store: &Store) -> Result<Self> {
        Self::begin(home, store, true)
    }

    /// Begins a new index, whatever there is.
    pub(crate) fn anew(home: &Path, store: &Store) -> Result<Self> {
        Self::begin(home, store, false)
    }

    fn begin(home: &Path, store: &Store, go_on: bool) -> Result<Self> {
        let lock = lock_file(&home.join("index.lock"), || {})?;
        let folder = index_folder(home);
        let seal = store.seal()?;
        let opened = seal
            .as_ref()
            .filter(|_| go_on)
            .ok_or(IndexError::Missing)
            .and_then(|seal| TextIndexWriter::open(&folder, seal));
        let whole = seal.as_ref().is_some_and(|seal| seal.looks_whole(&folder));
        let (writer, rebuilt) = match opened {
            Ok(writer) => (writer, false),
            Err(_) => (TextIndexWriter::begin(&folder, seal.as_ref())?, true),
        };
        Ok(IndexUpdate {
            folder,
            writer,
            rebuilt,
            whole,
            fed: HashMap::new(),
            report: IndexReport::default(),
            _lock: lock,
        })
    }

    /// Takes events right when they are stored, which saves reading them again: those of sessions that begin here.
    pub(crate) fn feed(&mut self, taken: &Taken) -> Result<()> {
        for session in &taken.extended {
            self.fed.remove(session);
        }
        for events in taken.events.chunk_by(|a, b| a.session == b.session) {
            // What was lengthened is read again as a whole; fed here it would only have to be removed.
            let Some(first) = events
                .first()
                .filter(|first| !taken.extended.contains(&first.session))
            else {
                continue;
            };
            // Put back below, unless events are missing in between.
            let begin = || (Seq::ZERO, Documents::of(first.session));
            let (fed, mut documents) = self.fed.remove(&first.session).unwrap_or_else(begin);
            if first.seq != fed.next() {
                continue;
            }
            for stored in events {
                if let Some(document) = documents.event(&view_of_stored(stored)) {
                    self.add(document)?;
                }
            }
            let fed = Seq::last_of(fed.count() + events.len() as u64);
            self.fed.insert(first.session, (fed, documents));
        }
        Ok(())
    }

    /// Adds what was not fed, and makes all of it count.
    pub(crate) fn finish(
        mut self,
        store: &mut Store,
        all: bool,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<IndexReport> {
        let pending = if self.rebuilt {
            store.indexable()?
        } else {
            store.unindexed()?
        };
        if pending.iter().any(Unindexed::is_evicted) {
            self.writer.make_room();
        }
        let is_fed = |pending: &Unindexed| {
            let fed = self.fed.get(&pending.session);
            fed.is_some_and(|(fed, _)| fed.count() == pending.events)
        };
        let (mut done, rest): (Vec<Unindexed>, Vec<Unindexed>) =
            pending.into_iter().partition(is_fed);
        let heads = store.session_heads(done.iter().map(|done| done.session))?;
        for head in heads.values() {
            if let Some(title) = Documents::new(head).title() {
                self.add(title)?;
            }
        }
        if self.rebuilt || !is_left(&rest, all) {
            self.write(store, &rest, progress)?;
            done.extend(rest);
        }
        if done.is_empty() && self.whole {
            return Ok(self.report);
        }
        self.report.rebuilt = self.rebuilt;
        let seal = self.writer.commit()?;
        store.settle_index(&seal, &done)?;
        seal.remove_other_generations(&self.folder);
        Ok(self.report)
    }

    fn write(
        &mut self,
        store: &Store,
        pending: &[Unindexed],
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<()> {
        let total: u64 = pending.iter().map(|pending| pending.events).sum();
        let mut done = 0;
        let heads = store.session_heads(pending.iter().map(|pending| pending.session))?;
        for pending in pending {
            self.writer.remove(pending.session);
            let Some(head) = heads.get(&pending.session) else {
                continue;
            };
            let mut documents = Documents::new(head);
            if let Some(title) = documents.title() {
                self.add(title)?;
            }
            for noted in digest::evicted(store, head)? {
                self.add(documents.noted(&noted))?;
            }
            visit(store, head.id, &head.agent, EventRange::All, |event| {
                done += 1;
                match documents.event(&event) {
                    Some(document) => self.add(document),
                    None => Ok(()),
                }
            })?;
            progress(done, total);
        }
        Ok(())
    }

    fn add(&mut self, event: IndexedEvent) -> Result<()> {
        self.report.events += 1;
        self.report.bytes += event.texts.iter().map(String::len).sum::<usize>() as u64;
        Ok(self.writer.add(event)?)
    }
}

#[cfg(test)]
mod tests {
    use crate::trial::{Trial, id, prompt};

    #[test]
    fn many_sessions_are_not_left_beside_the_index_because_of_their_titles() {
        let mut trial = Trial::new();
        for (round, beside) in [(0..60, 0), (0..5, 5), (5..60, 0)] {
            for session in round {
                let line = if beside == 0 && trial.memory.session(&id(session)).is_err() {
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
            assert_eq!(trial.memory.store.unindexed().unwrap().len(), beside);
        }
    }
}
