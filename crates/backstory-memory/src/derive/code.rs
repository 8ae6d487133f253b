//! The consumer that remembers what sessions did to source files.

use std::borrow::Cow;
use std::path::PathBuf;

use backstory_event::{Event, FileEdit, Seq, SessionId};
use backstory_redact::Redactor;
use backstory_store::{ConsumerId, ConsumerInfo, Lag, Store};

use super::consumer::{Consumer, PreparedEvent, Progress};
use crate::code::{FreshEdits, ScanLog, history_beginning, renew_history, source_edits};
use crate::error::Result;

/// Remembers functions. Sessions are compared with those that began before them, so all wait for the end of a sweep; the edits of fresh events
/// wait with them, as far as there is room.
pub(crate) struct CodeHistory<'r> {
    home: PathBuf,
    redactor: Option<&'r Redactor>,
    fresh: FreshEdits,
    /// Source files that were parsed.
    pub(crate) scans: ScanLog,
    /// Events whose edits were at hand, and those that had to be read back.
    pub(crate) edit_counts: (u64, u64),
}

impl<'r> CodeHistory<'r> {
    pub(crate) fn new(home: PathBuf, redactor: Option<&'r Redactor>) -> Self {
        CodeHistory {
            home,
            redactor,
            fresh: FreshEdits::default(),
            scans: ScanLog::default(),
            edit_counts: (0, 0),
        }
    }
}

impl Consumer for CodeHistory<'_> {
    type Prepared = Option<Vec<FileEdit>>;

    /// Of all events it needs the few that edited source files.
    const READS_BACK: bool = false;

    fn info(&self) -> ConsumerInfo {
        ConsumerInfo {
            name: Cow::Borrowed("code"),
            version: 1,
            before_eviction: true,
            follows_titles: false,
        }
    }

    fn prepare(event: &Event, _call: Option<&Event>) -> Option<Vec<FileEdit>> {
        source_edits(&event.body.edits)
    }

    /// A turn of which something is known is told anew as a whole.
    fn first_needed(&mut self, store: &Store, lag: &Lag) -> Result<Seq> {
        Ok(history_beginning(store, lag)?.first)
    }

    fn begin(&mut self, _store: &Store, lag: &Lag, from: Seq) -> Result<()> {
        self.fresh.begin_session(lag.session, from);
        Ok(())
    }

    fn apply(
        &mut self,
        session: SessionId,
        events: Vec<PreparedEvent<Option<Vec<FileEdit>>>>,
    ) -> Result<()> {
        for event in events {
            self.fresh.add_event(session, event.seq, event.prepared);
        }
        Ok(())
    }

    fn discard(&mut self, session: SessionId) {
        self.fresh.remove_session(session);
    }

    fn commit(
        &mut self,
        store: &Store,
        id: ConsumerId,
        seen: &[Lag],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let fresh = std::mem::take(&mut self.fresh);
        let (home, redactor) = (&self.home, self.redactor);
        let scans = &mut self.scans;
        renew_history(home, store, (id, seen), &fresh, redactor, scans, progress)?;
        let (found, read_back) = fresh.counts();
        self.edit_counts.0 += found;
        self.edit_counts.1 += read_back;
        Ok(())
    }
}
