//! The consumer that counts calls in stack traces.

use std::borrow::Cow;
use std::collections::HashMap;

use backstory_event::{Event, Kind, Seq, SessionId, TurnNo};
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
    /// Those that are stored from this turn on are counted anew.
    recounted_from: Option<TurnNo>,
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

    /// A turn in which calls were counted that may be others now is counted anew.
    fn first_needed(&mut self, store: &Store, lag: &Lag) -> Result<Seq> {
        let mut calls = SessionCalls::default();
        let mut first = lag.from;
        if !lag.is_new()
            && store.has_calls_from(lag.session, lag.from)?
            && let Some((turn, beginning)) = store.turn_beginning(lag.session, lag.from)?
        {
            calls.recounted_from = Some(turn);
            first = beginning;
        }
        self.sessions.insert(lag.session, calls);
        Ok(first)
    }

    fn begin(&mut self, _store: &Store, _lag: &Lag, _from: Seq) -> Result<()> {
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
                    turn: event.turn,
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
        store: &mut Store,
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
            if let Some(turn) = calls.recounted_from {
                coding.remove_calls(place.session, turn)?;
            }
            save_runs(&coding, place, &calls.runs, self.redactor)?;
        }
        coding.clear_lag(id, seen)?;
        Ok(coding.commit()?)
    }
}
