//! The consumer that takes notes of sessions, of which digests are made.

use std::borrow::Cow;
use std::collections::HashMap;

use backstory_event::{Event, Seq, SessionId};
use backstory_store::{ConsumerId, ConsumerInfo, DigestRow, Lag, Store};

use super::consumer::{Consumer, PreparedEvent, Progress};
use crate::conventions::AGENT_CONVENTIONS;
use crate::digest::{EventPlace, Notes, PreparedNote, digest_row, rewind_notes, stored_notes};
use crate::error::Result;

/// Name of the consumer in the store.
pub(crate) const NOTES: &str = "notes";

/// Number of digests that are stored in one transaction.
const MAX_UNSTORED_DIGESTS: usize = 200;

/// Takes notes of sessions.
#[derive(Default)]
pub(crate) struct NoteTaker {
    open: HashMap<SessionId, Notes>,
    ready: Vec<DigestRow>,
    /// Number of sessions that got a new digest.
    pub(crate) renewed: u64,
}

impl Consumer for NoteTaker {
    type Prepared = PreparedNote;

    fn info(&self) -> ConsumerInfo {
        ConsumerInfo {
            name: Cow::Borrowed(NOTES),
            version: 4,
            before_eviction: true,
            follows_titles: false,
        }
    }

    fn prepare(event: &Event, call: Option<&Event>) -> PreparedNote {
        PreparedNote::new(event, call, &AGENT_CONVENTIONS)
    }

    /// An event that is noted has changed: its turn is noted anew, unless all that is left of it are the notes.
    fn first_needed(&mut self, store: &Store, lag: &Lag) -> Result<Seq> {
        let mut notes = stored_notes(store, lag.session)?;
        rewind_notes(store, lag.session, &mut notes, lag.from)?;
        let first = notes.events.next();
        self.open.insert(lag.session, notes);
        Ok(first)
    }

    fn begin(&mut self, _store: &Store, _lag: &Lag, _from: Seq) -> Result<()> {
        Ok(())
    }

    fn apply(
        &mut self,
        session: SessionId,
        events: Vec<PreparedEvent<PreparedNote>>,
    ) -> Result<()> {
        let notes = self.open.entry(session).or_default();
        for event in events {
            let place = EventPlace {
                seq: event.seq,
                turn: event.turn,
                call: event.call,
                at: event.at,
            };
            notes.add_event(place, event.prepared);
        }
        Ok(())
    }

    fn end(&mut self, session: SessionId) -> Result<()> {
        if let Some(notes) = self.open.remove(&session) {
            self.ready.push(digest_row(session, &notes));
        }
        Ok(())
    }

    fn discard(&mut self, session: SessionId) {
        self.open.remove(&session);
    }

    fn is_full(&self) -> bool {
        self.open.len() + self.ready.len() >= MAX_UNSTORED_DIGESTS
    }

    fn commit(
        &mut self,
        store: &Store,
        id: ConsumerId,
        seen: &[Lag],
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        store.save_digests(&self.ready, id, seen)?;
        self.renewed += self.ready.len() as u64;
        self.ready.clear();
        self.open.clear();
        Ok(())
    }
}
