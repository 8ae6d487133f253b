//! Options and progress of writing tables.

use backstory_memory::{Redactor, TimeMs};

/// Options of writing tables.
#[derive(Debug, Clone, Copy)]
pub struct TableOptions {
    /// Threads that write files, each of which takes memory for row groups. A few are the most that are used.
    pub threads: usize,
    /// Time at which a session counts as running or not.
    pub now: TimeMs,
    /// Export tokens of sessions without an event of their own, too: `backstory usage` counts them. For exports of all sessions.
    pub with_unlisted_usage: bool,
    /// The redactor, if secrets are redacted. Rows that a file has from before are redacted, too.
    pub redactor: Option<Redactor>,
    /// Leave sessions as an old file has them if it has records of them that the memory lacks: logs may have been shortened, deleted or not
    /// been read this time. A store has what it once read.
    pub preserve_missing_rows: bool,
}

impl TableOptions {
    /// Writes what changed on one thread, and loses nothing.
    pub fn new(now: TimeMs) -> Self {
        TableOptions {
            threads: 1,
            now,
            with_unlisted_usage: false,
            redactor: None,
            preserve_missing_rows: false,
        }
    }
}

/// Progress of writing tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableProgress {
    /// Sessions that are to be written.
    pub sessions_total: u64,
    /// Sessions that were written.
    pub sessions_written: u64,
    /// Events that are to be read.
    pub events_total: u64,
    /// Events that were read.
    pub events_read: u64,
}
