//! The consumer that remembers what sessions did to source files.

use std::borrow::Cow;
use std::path::PathBuf;

use backstory_event::{Event, Seq, SessionId};
use backstory_redact::Redactor;
use backstory_store::{ConsumerId, ConsumerInfo, Lag, Store};

use super::consumer::{Consumer, PreparedEvent, Progress};
use crate::code::{FreshEdits, PackedEdits, ScanLog, history_beginning, renew_history};
use crate::error::Result;

/// Remembers functions. Sessions are compared with those that began before them, so all wait for the end of a sweep; the edits of fresh events
/// wait with them.
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
            fresh: FreshEdits::new(home.clone()),
            home,
            redactor,
            scans: ScanLog::default(),
            edit_counts: (0, 0),
        }
    }
}

impl Consumer for CodeHistory<'_> {
    type Prepared = Option<PackedEdits>;

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

    fn prepare(event: &Event, _call: Option<&Event>) -> Option<PackedEdits> {
        PackedEdits::of_source_files(&event.body.edits)
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
        events: Vec<PreparedEvent<Option<PackedEdits>>>,
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
        let fresh = std::mem::replace(&mut self.fresh, FreshEdits::new(self.home.clone()));
        let (home, redactor) = (&self.home, self.redactor);
        let scans = &mut self.scans;
        renew_history(home, store, (id, seen), &fresh, redactor, scans, progress)?;
        let (found, read_back) = fresh.counts();
        self.edit_counts.0 += found;
        self.edit_counts.1 += read_back;
        Ok(())
    }
}
