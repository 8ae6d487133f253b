//! The consumer that counts calls in stack traces.

use std::borrow::Cow;
use std::collections::HashMap;

use backstory_event::{Event, Kind, Seq, SessionId};
use backstory_redact::Redactor;
use backstory_store::{ConsumerId, ConsumerInfo, Lag, Store};

use super::consumer::{Consumer, PreparedEvent, Progress};
use crate::code::{Run, TracedCall, save_runs, traced_calls};
use crate::error::Result;

/// Number of calls that are stored in one transaction.
const MAX_UNSTORED_CALLS: usize = 100_000;

/// Counts calls in the stack traces that tools printed.
pub(crate) struct TraceReader<'r> {
    redactor: Option<&'r Redactor>,
    sessions: HashMap<SessionId, SessionCalls>,
    unstored: usize,
}

/// Calls that a session showed.
#[derive(Default)]
struct SessionCalls {
    /// Those that are stored from this event on are counted anew.
    recounted_from: Option<Seq>,
    runs: Vec<Run>,
}

impl<'r> TraceReader<'r> {
    /// Files that traces name are known by their redacted path.
    pub(crate) fn new(redactor: Option<&'r Redactor>) -> Self {
        TraceReader {
            redactor,
            sessions: HashMap::new(),
            unstored: 0,
        }
    }
}

impl Consumer for TraceReader<'_> {
    type Prepared = Vec<TracedCall>;

    fn info(&self) -> ConsumerInfo {
        ConsumerInfo {
            name: Cow::Borrowed("traces"),
            version: 1,
            before_eviction: true,
            follows_titles: false,
        }
    }

    fn prepare(event: &Event, _call: Option<&Event>) -> Vec<TracedCall> {
        match event.kind {
            Kind::ToolResult => traced_calls(&event.body.text),
            _ => Vec::new(),
        }
    }

    /// Calls are counted by event, so those before stay as they are.
    fn first_needed(&mut self, _store: &Store, lag: &Lag) -> Result<Seq> {
        Ok(lag.from)
    }

    fn begin(&mut self, _store: &Store, lag: &Lag, from: Seq) -> Result<()> {
        let calls = SessionCalls {
            // What is evicted stays counted.
            recounted_from: (!lag.is_new()).then(|| from.max(lag.evicted.next())),
            runs: Vec::new(),
        };
        self.sessions.insert(lag.session, calls);
        Ok(())
    }

    fn apply(
        &mut self,
        session: SessionId,
        events: Vec<PreparedEvent<Vec<TracedCall>>>,
    ) -> Result<()> {
        let calls = self.sessions.entry(session).or_default();
        for event in events {
            self.unstored += event.prepared.len();
            calls
                .runs
                .extend(event.prepared.into_iter().map(|call| Run {
                    call,
                    seq: event.seq,
                    at: event.at,
                }));
        }
        Ok(())
    }

    fn discard(&mut self, session: SessionId) {
        self.sessions.remove(&session);
    }

    fn is_full(&self) -> bool {
        self.unstored >= MAX_UNSTORED_CALLS
    }

    fn commit(
        &mut self,
        store: &Store,
        id: ConsumerId,
        seen: &[Lag],
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let mut sessions = std::mem::take(&mut self.sessions);
        self.unstored = 0;
        if seen.is_empty() {
            return Ok(());
        }
        let mut places = Vec::new();
        for lag in seen {
            let calls = sessions.remove(&lag.session).unwrap_or_default();
            if !calls.runs.is_empty() || calls.recounted_from.is_some() {
                places.push((store.work_place(lag.session)?, calls));
            }
        }
        let coding = store.coding()?;
        for (place, calls) in &places {
            if let Some(from) = calls.recounted_from {
                coding.remove_calls(place.session, from)?;
            }
            save_runs(&coding, place, &calls.runs, self.redactor)?;
        }
        coding.clear_lag(id, seen)?;
        Ok(coding.commit()?)
    }
}
