//! Keeping the full-text index in step with the store.

use backstory_store::{
    EventRange, IndexError, IndexedEvent, Seal, Store, TextIndexWriter, Unindexed, lock_file,
};

use super::document::Documents;
use crate::Memory;
use crate::error::Result;
use crate::read::visit;

/// So many events are searched beside the index without anybody noticing; with more of them they are indexed.
const MOST_FRESH_EVENTS: u64 = 400;

/// With more events than this the index is written by several threads.
const WORTH_THREADS: u64 = 20_000;

/// Each thread takes memory.
const MOST_THREADS: usize = 3;

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
        let folder = self.index_folder();
        let few = |fresh: &[Unindexed]| {
            let most = if all { 0 } else { MOST_FRESH_EVENTS };
            fresh.iter().map(Unindexed::count).sum::<u64>() <= most && (!all || fresh.is_empty())
        };
        let whole =
            |seal: &Option<Seal>| seal.as_ref().is_some_and(|seal| seal.looks_whole(&folder));
        if few(&self.store.unindexed()?) && whole(&self.store.seal()?) {
            return Ok(IndexReport::default());
        }
        let lock = lock_file(&self.home.join("index.lock"), || {})?;
        // Asked again: whoever had the lock may have done it.
        let (fresh, seal) = (self.store.unindexed()?, self.store.seal()?);
        if few(&fresh) && whole(&seal) {
            return Ok(IndexReport::default());
        }
        let threads = |pending: &[Unindexed]| {
            let events: u64 = pending.iter().map(|pending| pending.events).sum();
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            if events > WORTH_THREADS {
                cores.min(MOST_THREADS)
            } else {
                1
            }
        };
        let opened = seal
            .as_ref()
            .ok_or(IndexError::Missing)
            .and_then(|seal| TextIndexWriter::open(&folder, seal, threads(&fresh)));
        let (writer, pending, rebuilt) = match opened {
            Ok(writer) => (writer, fresh, false),
            Err(_) => {
                let everything = self.store.indexable()?;
                let writer = TextIndexWriter::begin(&folder, seal.as_ref(), threads(&everything))?;
                (writer, everything, true)
            }
        };
        let mut report = write(&self.store, &writer, &pending, progress)?;
        report.rebuilt = rebuilt;
        let seal = writer.commit()?;
        self.store.settle_index(&seal, &pending)?;
        seal.remove_other_generations(&folder);
        drop(lock);
        Ok(report)
    }

    pub(crate) fn index_folder(&self) -> std::path::PathBuf {
        self.home.join("index")
    }
}

fn write(
    store: &Store,
    writer: &TextIndexWriter,
    pending: &[Unindexed],
    progress: &mut dyn FnMut(u64, u64),
) -> Result<IndexReport> {
    let mut report = IndexReport::default();
    let total: u64 = pending.iter().map(|pending| pending.events).sum();
    let mut done = 0;
    let heads = store.session_heads(pending.iter().map(|pending| pending.session))?;
    for pending in pending {
        writer.remove(pending.session as u32);
        let Some(head) = heads.get(&pending.session) else {
            continue;
        };
        let mut documents = Documents::new(head);
        let mut add = |event: IndexedEvent| {
            report.events += 1;
            report.bytes += event.texts.iter().map(String::len).sum::<usize>() as u64;
            writer.add(event)
        };
        if let Some(title) = documents.title() {
            add(title)?;
        }
        visit(store, head.id, &head.agent, EventRange::All, |event| {
            done += 1;
            if let Some(document) = documents.event(&event) {
                add(document)?;
            }
            Ok(())
        })?;
        progress(done, total);
    }
    Ok(report)
}
