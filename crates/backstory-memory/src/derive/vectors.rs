//! The consumer that makes vectors of what was said, in the background.

use std::borrow::Cow;
use std::collections::HashMap;

use backstory_embed::{Model, Weights};
use backstory_event::{Event, Kind, Seq, SessionId};
use backstory_store::{ConsumerId, ConsumerInfo, Lag, Store, VectorWriter};

use super::consumer::{Consumer, PreparedEvent, Progress};
use crate::error::{Error, Result};
use crate::models::{PassageBatch, VectorSet, passages};

/// Number of passages after which all that was done is made to last.
const MAX_UNCOMMITTED_PASSAGES: usize = 20_000;

/// Returns the name of the consumer that makes the vectors of a model.
pub(crate) fn vectors_consumer(model: &str) -> String {
    format!("vectors {model}")
}

/// Makes the vectors of one model.
pub(crate) struct VectorMaker<'m> {
    name: &'m str,
    model: &'m Model,
    weights: Option<&'m Weights>,
    set: &'m VectorSet,
    /// `None` only while it is being committed.
    writer: Option<VectorWriter>,
    /// The last event of each session that has vectors.
    last: HashMap<SessionId, Seq>,
    batch: PassageBatch,
    uncommitted: usize,
}

impl<'m> VectorMaker<'m> {
    pub(crate) fn open(
        name: &'m str,
        model: &'m Model,
        weights: Option<&'m Weights>,
        set: &'m VectorSet,
    ) -> Result<Self> {
        let writer = set.writer()?;
        Ok(VectorMaker {
            name,
            model,
            weights,
            set,
            last: writer.last_events()?,
            writer: Some(writer),
            batch: PassageBatch::default(),
            uncommitted: 0,
        })
    }

    fn writer(&mut self) -> Result<&mut VectorWriter> {
        self.writer.as_mut().ok_or(Error::Worker)
    }
}

impl Consumer for VectorMaker<'_> {
    type Prepared = (Kind, Vec<String>);

    fn info(&self) -> ConsumerInfo {
        ConsumerInfo {
            name: Cow::Owned(vectors_consumer(self.name)),
            version: 1,
            before_eviction: false,
            follows_titles: false,
        }
    }

    fn prepare(event: &Event, _call: Option<&Event>) -> (Kind, Vec<String>) {
        (event.kind, passages(event))
    }

    /// A session that has vectors of events that are others now, or are gone, gets new ones.
    fn first_needed(&mut self, _store: &Store, lag: &Lag) -> Result<Seq> {
        let is_stale = self
            .last
            .get(&lag.session)
            .is_some_and(|last| *last >= lag.from);
        match is_stale || lag.is_evicted() {
            true => Ok(Seq::FIRST),
            false => Ok(lag.from),
        }
    }

    fn begin(&mut self, _store: &Store, lag: &Lag, from: Seq) -> Result<()> {
        self.batch = PassageBatch::default();
        if from == Seq::FIRST && self.last.remove(&lag.session).is_some() {
            self.writer()?.remove_session(lag.session);
        }
        Ok(())
    }

    fn apply(
        &mut self,
        session: SessionId,
        events: Vec<PreparedEvent<(Kind, Vec<String>)>>,
    ) -> Result<()> {
        for event in events {
            let (kind, passages) = event.prepared;
            (self.batch).add_passages(session, (event.seq, event.turn), kind, passages);
            self.batch.embed_when_full(self.model, self.weights)?;
        }
        Ok(())
    }

    fn end(&mut self, session: SessionId) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        let (keys, rows) = batch.finish(self.model, self.weights)?;
        if let Some(last) = keys.last() {
            self.last.insert(session, last.seq);
        }
        self.uncommitted += keys.len();
        Ok(self.writer()?.append(&keys, &rows)?)
    }

    fn discard(&mut self, _session: SessionId) {
        self.batch = PassageBatch::default();
    }

    fn is_full(&self) -> bool {
        self.uncommitted >= MAX_UNCOMMITTED_PASSAGES
    }

    fn commit(
        &mut self,
        store: &Store,
        id: ConsumerId,
        seen: &[Lag],
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            writer.commit()?;
        }
        self.writer = Some(self.set.writer()?);
        self.uncommitted = 0;
        Ok(store.lag().clear(id, seen)?)
    }
}
