//! The runner: gives a consumer the events that it lacks, fresh ones as they are stored and others from the store.
//!
//! The rules about gaps, catching up and beginning again are here and nowhere else.

use std::collections::HashMap;

use backstory_event::{Event, Kind, Seq, SessionId};
use backstory_store::{ConsumerId, EventRange, Lag, LagOrder, Store};

use super::consumer::{Consumer, PreparedEvent, Progress};
use crate::error::Result;
use crate::read::visit_stored;

/// Maximum number of events that are read back before they are applied.
const MAX_READ_BACK_EVENTS: usize = if cfg!(test) { 8 } else { 256 };

/// Maximum number of calls without a result that are remembered while events are read back.
const MAX_OPEN_CALLS: usize = 256;

/// A consumer and its progress.
pub(crate) struct Runner<C: Consumer> {
    pub(crate) consumer: C,
    id: ConsumerId,
    /// Sessions of which fresh events were applied, with the event that must come next.
    fed: HashMap<SessionId, Seq>,
    /// Lags that were worked off since the last commit.
    seen: Vec<Lag>,
}

impl<C: Consumer> Runner<C> {
    /// Makes the consumer known to the store.
    pub(crate) fn new(store: &Store, consumer: C) -> Result<Self> {
        let id = store.lag().register(&consumer.info())?;
        Ok(Runner {
            consumer,
            id,
            fed: HashMap::new(),
            seen: Vec::new(),
        })
    }

    pub(crate) fn id(&self) -> ConsumerId {
        self.id
    }

    /// Feeds the consumer fresh events of a session, unless it lacks others before them: then they are read back later.
    pub(crate) fn feed(
        &mut self,
        store: &Store,
        session: SessionId,
        lags: &[(ConsumerId, Lag)],
        events: Vec<PreparedEvent<C::Prepared>>,
    ) -> Result<()> {
        let (Some(first), Some(last)) = (events.first(), events.last()) else {
            return Ok(());
        };
        let (first, next) = (first.seq, last.seq.next());
        match self.fed.get(&session) {
            Some(expected) if *expected == first => {}
            Some(_) => {
                self.discard(session);
                return Ok(());
            }
            None => {
                let lag = lags.iter().find(|(consumer, _)| *consumer == self.id);
                let Some((_, lag)) = lag else { return Ok(()) };
                if lag.from != first || self.consumer.first_needed(store, lag)? != first {
                    return Ok(());
                }
                self.consumer.begin(store, lag, first)?;
            }
        }
        self.fed.insert(session, next);
        self.consumer.apply(session, events)
    }

    /// Takes fresh events of a session back: something before them changed.
    pub(crate) fn discard(&mut self, session: SessionId) {
        if self.fed.remove(&session).is_some() {
            self.consumer.discard(session);
        }
    }

    /// Commits what was fed, if it is much.
    pub(crate) fn commit_when_full(&mut self, store: &Store) -> Result<()> {
        match self.consumer.is_full() {
            true => self.commit_fed(store),
            false => Ok(()),
        }
    }

    /// Commits what was fed.
    pub(crate) fn commit_fed(&mut self, store: &Store) -> Result<()> {
        let mut sessions: Vec<SessionId> = self.fed.keys().copied().collect();
        sessions.sort_unstable();
        let mut lags = Vec::with_capacity(sessions.len());
        for session in sessions {
            let of_session = store.lag().of_session(session)?.into_iter();
            lags.extend(of_session.filter(|(consumer, _)| *consumer == self.id));
        }
        self.take_fed(lags.into_iter().map(|(_, lag)| lag))?;
        self.commit(store, &mut |_| {})
    }

    /// Takes note that sessions were seen of which all events were fed, and returns the others.
    pub(crate) fn take_fed(&mut self, lags: impl IntoIterator<Item = Lag>) -> Result<Vec<Lag>> {
        let mut rest = Vec::new();
        for lag in lags {
            match self.fed.remove(&lag.session) {
                Some(next) if next.previous().count() == lag.events => {
                    self.consumer.end(lag.session)?;
                    self.seen.push(lag);
                }
                Some(_) => {
                    self.consumer.discard(lag.session);
                    rest.push(lag);
                }
                None => rest.push(lag),
            }
        }
        Ok(rest)
    }

    /// Feeds the consumer all events that it lacks.
    pub(crate) fn catch_up(
        &mut self,
        store: &Store,
        order: LagOrder,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        if C::READS_BACK {
            self.commit_fed(store)?;
        }
        let lags = store.lag().of(self.id, order)?;
        self.read_back(store, &lags, progress)
    }

    /// Reads what the consumer lacks of these sessions, and commits it.
    pub(crate) fn read_back(
        &mut self,
        store: &Store,
        lags: &[Lag],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let heads = store.session_heads(lags.iter().map(|lag| lag.session))?;
        for lag in lags {
            if let Some(head) = heads.get(&lag.session).filter(|_| C::READS_BACK) {
                self.read_session(store, &head.agent, lag, progress)?;
            }
            self.seen.push(*lag);
            if self.consumer.is_full() {
                self.commit(store, progress)?;
            }
        }
        self.commit(store, progress)
    }

    fn read_session(
        &mut self,
        store: &Store,
        agent: &str,
        lag: &Lag,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let session = lag.session;
        let from = self.consumer.first_needed(store, lag)?;
        self.consumer.begin(store, lag, from)?;
        let consumer = &mut self.consumer;
        let mut calls: HashMap<Seq, Event> = HashMap::new();
        let mut events = Vec::new();
        visit_stored(store, session, agent, EventRange::From(from), |view| {
            let call = view.call.and_then(|call| calls.remove(&call));
            events.push(PreparedEvent {
                seq: view.seq,
                turn: view.turn,
                call: view.call,
                at: view.event.at,
                prepared: C::prepare(&view.event, call.as_ref()),
            });
            progress(Progress::Event);
            if view.event.kind == Kind::ToolCall && calls.len() < MAX_OPEN_CALLS {
                calls.insert(view.seq, view.event.into_owned());
            }
            if events.len() >= MAX_READ_BACK_EVENTS {
                consumer.apply(session, std::mem::take(&mut events))?;
            }
            Ok(())
        })?;
        self.consumer.apply(session, events)?;
        self.consumer.end(session)
    }

    fn commit(&mut self, store: &Store, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let seen = std::mem::take(&mut self.seen);
        self.consumer.commit(store, self.id, &seen, progress)
    }
}
