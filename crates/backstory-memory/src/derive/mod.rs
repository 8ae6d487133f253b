//! Everything that is derived from events, by one runner.
//!
//! A consumer prepares each event alone, on the threads that parse logs, and applies what it prepared in order. `runner.rs` decides which
//! events it sees: fresh ones as they are stored, others from the store. The table `lag` of the store says what each one lacks.
//! [`Prepared`] and [`Consumers`] are the list of those that follow a sweep; vectors are made in the background.

mod code;
mod consumer;
mod follow;
mod fulltext;
mod notes;
mod runner;
#[cfg(test)]
mod tests;
mod traces;
mod vectors;

use std::collections::HashMap;
use std::path::Path;

use backstory_event::{Event, EventKey, Kind, SessionId};
use backstory_redact::Redactor;
use backstory_store::{LagOrder, Store, Stored, Taken};

use self::code::CodeHistory;
use self::consumer::Consumer;
use self::notes::NoteTaker;
use self::traces::TraceReader;
use crate::error::Result;

pub(crate) use consumer::{PreparedEvent, Progress};
pub use follow::{EventSink, FollowReport};
pub(crate) use fulltext::{FULLTEXT, FullText};
pub(crate) use notes::NOTES;
pub(crate) use runner::Runner;
pub(crate) use vectors::{VectorMaker, vectors_consumer};

/// An event as each consumer of a sweep prepared it.
pub(crate) struct Prepared {
    fulltext: <FullText as Consumer>::Prepared,
    notes: <NoteTaker as Consumer>::Prepared,
    code: <CodeHistory<'static> as Consumer>::Prepared,
    traces: <TraceReader<'static> as Consumer>::Prepared,
}

impl Prepared {
    fn new(event: &Event, call: Option<&Event>) -> Self {
        Prepared {
            fulltext: FullText::prepare(event, call),
            notes: NoteTaker::prepare(event, call),
            code: CodeHistory::prepare(event, call),
            traces: TraceReader::prepare(event, call),
        }
    }
}

/// Prepares the events of a chunk, in their order.
pub(crate) fn prepare_events(events: &[Event]) -> Vec<(EventKey, Prepared)> {
    let mut calls: HashMap<&str, &Event> = HashMap::new();
    let mut prepared = Vec::with_capacity(events.len());
    for event in events {
        let id = event.body.identity.tool_use_id.as_deref();
        let call = match (event.kind, id) {
            (Kind::ToolCall, Some(id)) => {
                calls.insert(id, event);
                None
            }
            (Kind::ToolResult, Some(id)) => calls.remove(id),
            _ => None,
        };
        // Two sessions in one file may use the same ids.
        let call = call.filter(|call| call.session == event.session);
        prepared.push((event.key, Prepared::new(event, call)));
    }
    prepared
}

/// The consumers that follow a sweep.
pub(crate) struct Consumers<'r> {
    /// `None` when little is new: that is searched beside the index.
    pub(crate) fulltext: Option<Runner<FullText>>,
    pub(crate) notes: Runner<NoteTaker>,
    pub(crate) code: Runner<CodeHistory<'r>>,
    pub(crate) traces: Runner<TraceReader<'r>>,
}

impl<'r> Consumers<'r> {
    /// Makes the consumers known to the store. With `bulk` events are indexed as they are stored.
    pub(crate) fn open(
        home: &Path,
        store: &Store,
        redactor: Option<&'r Redactor>,
        bulk: bool,
    ) -> Result<Self> {
        // If it cannot be opened now, the refresh at the end says why.
        let index = bulk.then(|| FullText::open(home, store).ok()).flatten();
        let code = CodeHistory::new(home.to_path_buf(), redactor);
        Ok(Consumers {
            fulltext: index.map(|index| Runner::new(store, index)).transpose()?,
            notes: Runner::new(store, NoteTaker::default())?,
            code: Runner::new(store, code)?,
            traces: Runner::new(store, TraceReader::new(redactor))?,
        })
    }

    /// Feeds consumers the events that were just stored.
    pub(crate) fn feed(
        &mut self,
        store: &Store,
        taken: &Taken,
        mut prepared: HashMap<EventKey, Prepared>,
    ) -> Result<()> {
        for session in &taken.extended {
            self.discard(*session);
        }
        for events in taken.events.chunk_by(|a, b| a.session == b.session) {
            let session = match events.first() {
                // What was lengthened is read again.
                Some(first) if !taken.extended.contains(&first.session) => first.session,
                _ => continue,
            };
            self.feed_session(store, session, events, &mut prepared)?;
        }
        self.notes.commit_when_full(store)?;
        self.traces.commit_when_full(store)
    }

    fn feed_session(
        &mut self,
        store: &Store,
        session: SessionId,
        events: &[Stored],
        prepared: &mut HashMap<EventKey, Prepared>,
    ) -> Result<()> {
        let (mut fulltext, mut notes) = (Vec::new(), Vec::new());
        let (mut code, mut traces) = (Vec::new(), Vec::new());
        for stored in events {
            let prepared = prepared.remove(&stored.event.key);
            let prepared = prepared.unwrap_or_else(|| Prepared::new(&stored.event, None));
            fulltext.push(placed(stored, prepared.fulltext));
            notes.push(placed(stored, prepared.notes));
            code.push(placed(stored, prepared.code));
            traces.push(placed(stored, prepared.traces));
        }
        let lags = store.lag().of_session(session)?;
        if let Some(index) = &mut self.fulltext
            && index.feed(store, session, &lags, fulltext).is_err()
        {
            // The refresh at the end begins anew and says what is wrong.
            self.fulltext = None;
        }
        self.notes.feed(store, session, &lags, notes)?;
        self.code.feed(store, session, &lags, code)?;
        self.traces.feed(store, session, &lags, traces)
    }

    fn discard(&mut self, session: SessionId) {
        if let Some(index) = &mut self.fulltext {
            index.discard(session);
        }
        self.notes.discard(session);
        self.code.discard(session);
        self.traces.discard(session);
    }

    /// Brings the notes up to date; returns the number of sessions that got a new digest.
    pub(crate) fn finish_notes(&mut self, store: &Store) -> Result<u64> {
        self.notes.catch_up(store, LagOrder::Stored, &mut |_| {})?;
        Ok(self.notes.consumer.renewed)
    }

    /// Brings the history of source files up to date, and the calls in stack traces, which name files that it knows.
    pub(crate) fn finish_code(
        &mut self,
        store: &Store,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        self.code.catch_up(store, LagOrder::Begun, progress)?;
        self.traces.catch_up(store, LagOrder::Begun, &mut |_| {})
    }
}

fn placed<P>(stored: &Stored, prepared: P) -> PreparedEvent<P> {
    PreparedEvent {
        seq: stored.seq,
        turn: stored.turn,
        call: stored.call,
        at: stored.event.at,
        prepared,
    }
}
