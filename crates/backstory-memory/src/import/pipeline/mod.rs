//! Reading many files fast: one thread cuts them into chunks, workers redact, read and pack the chunks, the caller stores them
//! in order.
//!
//! State that depends on the order of the file (a reader's state, positions in the stored bytes) is handed from chunk to chunk
//! like a baton; all else runs on every core. The caller gets chunks in exactly the order of the files, so that a sweep that
//! is stopped anywhere leaves a beginning of the same history behind.

mod content;
mod feed;
mod fragments;
mod work;

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, mpsc};

use backstory_event::EventKey;
use backstory_redact::Redactor;
use backstory_store::{Chunk, Cursor};

pub(crate) use self::content::ContentHasher;
pub(crate) use self::fragments::stored_end;
use crate::derive::Prepared;
use crate::error::{Error, Result};
use crate::import::discover::{Found, Problem};
use crate::import::project::Projects;

/// Maximum number of bytes of logs in the pipeline. Each takes about four times its size in memory.
const BYTES_UNDER_WAY: usize = 8 << 20;

/// A file to read, and where to go on in it.
pub(crate) struct Job<'a> {
    pub(crate) found: &'a Found,
    pub(crate) cursor: Option<Cursor>,
    /// The end of what is stored of it, when texts are open there.
    pub(crate) stored_end: Option<(u64, Vec<u8>)>,
}

/// A chunk that is ready to be stored.
pub(crate) struct Done<'a> {
    /// The file.
    pub(crate) found: &'a Found,
    /// The chunk.
    pub(crate) chunk: Chunk<'a>,
    /// Its events as consumers prepared them, by their keys.
    pub(crate) prepared: Vec<(EventKey, Prepared)>,
    /// Number of bytes of the source file that it stands for.
    pub(crate) bytes_read: u64,
    /// True if it is the last one of its file.
    pub(crate) last: bool,
}

/// Reads files and gives their chunks, in order, to `each`; with `derives` consumers prepare the events. Returns what could not be read.
pub(crate) fn run<'a>(
    jobs: &'a [Job<'a>],
    redactor: Option<&Redactor>,
    workers: usize,
    derives: bool,
    mut each: impl FnMut(Done<'a>) -> Result<()>,
) -> Result<Vec<Problem>> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let budget = Budget::default();
    let projects = Projects::default();
    let (task_sender, tasks) = mpsc::sync_channel::<work::Task<'a>>(workers);
    let tasks = Mutex::new(tasks);
    let (done_sender, done) = mpsc::channel();
    std::thread::scope(|scope| {
        let feeder = scope.spawn(|| feed::feed(jobs, &budget, task_sender));
        for _ in 0..workers {
            let done_sender = done_sender.clone();
            scope.spawn({
                let (tasks, projects) = (&tasks, &projects);
                move || work::work(tasks, redactor, projects, derives, &done_sender)
            });
        }
        drop(done_sender);
        let result = in_order(&done, &budget, &mut each);
        // On an error the feeder may wait for room that nobody will make any more.
        budget.close();
        drop(done);
        let problems = feeder.join().map_err(|_| Error::Worker)?;
        result.map(|()| problems)
    })
}

fn in_order<'a>(
    done: &mpsc::Receiver<(u64, Result<Done<'a>>)>,
    budget: &Budget,
    each: &mut impl FnMut(Done<'a>) -> Result<()>,
) -> Result<()> {
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    for (number, result) in done {
        waiting.insert(number, result);
        while let Some(result) = waiting.remove(&next) {
            let finished = result?;
            let bytes = finished.bytes_read as usize;
            each(finished)?;
            budget.give_back(bytes);
            next += 1;
        }
    }
    if waiting.is_empty() {
        Ok(())
    } else {
        Err(Error::Worker)
    }
}

/// Bounds the memory of chunks on their way. One chunk may pass alone, however large it is.
#[derive(Default)]
struct Budget {
    taken: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Budget {
    /// Waits until so many bytes may be on their way; false when nobody will take them any more.
    fn take(&self, bytes: usize) -> bool {
        let Ok(taken) = self.taken.lock() else {
            return false;
        };
        let full = |(taken, closed): &mut (usize, bool)| {
            !*closed && *taken > 0 && *taken + bytes > BYTES_UNDER_WAY
        };
        let Ok(mut taken) = self.changed.wait_while(taken, full) else {
            return false;
        };
        taken.0 += bytes;
        !taken.1
    }

    fn give_back(&self, bytes: usize) {
        if let Ok(mut taken) = self.taken.lock() {
            taken.0 = taken.0.saturating_sub(bytes);
            self.changed.notify_all();
        }
    }

    fn close(&self) {
        if let Ok(mut taken) = self.taken.lock() {
            taken.1 = true;
            self.changed.notify_all();
        }
    }
}
