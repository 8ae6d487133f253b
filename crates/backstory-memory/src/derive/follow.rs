//! Consumers outside of this crate: files that follow the memory, copies of it elsewhere.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io;

use backstory_event::{Event, EventView, Seq, SessionId, SessionName};
use backstory_store::{
    ConsumerId, ConsumerInfo, EventRange, Lag, LagOrder, SessionFilter, SessionHead, Store,
};

use super::consumer::{Consumer, PreparedEvent, Progress};
use super::runner::Runner;
use crate::Memory;
use crate::error::{Error, Result};
use crate::read::visit_stored;

/// Receiver of events that follows a memory. The store remembers by its name which events it lacks; the same events may come twice if a
/// process dies in between.
pub trait EventSink {
    /// Returns the name under which the store remembers what it lacks.
    fn name(&self) -> &str;

    /// Returns the version of its rules. When it is raised, all events that are stored come again.
    fn version(&self) -> u32 {
        1
    }

    /// Returns whether its results stay when the text of a session is evicted. Eviction waits for it then.
    fn keeps_evicted(&self) -> bool {
        true
    }

    /// Returns the sessions that it has data of.
    fn sessions(&mut self) -> io::Result<Vec<SessionName>>;

    /// Begins with a session whose events from `from` on are new or have changed. Returns the first event that it must see.
    fn begin_session(&mut self, session: &SessionHead, from: Seq) -> io::Result<Seq>;

    /// Takes the next event of the session.
    fn receive_event(&mut self, event: &EventView<'_>) -> io::Result<()>;

    /// Ends the session. The sink must have stored its events durably when this returns.
    fn end_session(&mut self, session: &SessionHead) -> io::Result<()>;

    /// Removes its data of a session that the memory no longer has.
    fn remove_session(&mut self, session: &SessionName) -> io::Result<()>;
}

/// Result of [`Memory::follow`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FollowReport {
    /// Number of sessions whose events were given to the sink.
    pub sessions: u64,
    /// Number of events.
    pub events: u64,
    /// Number of sessions that the sink removed.
    pub removed: u64,
}

impl Memory {
    /// Passes a sink all events that it lacks, session by session, and has it remove forgotten sessions. Can be stopped at any time and
    /// goes on from there.
    pub fn follow(&self, sink: &mut dyn EventSink) -> Result<FollowReport> {
        let mut follower = Follower {
            sink,
            report: FollowReport::default(),
        };
        follower.remove_forgotten(&self.store)?;
        let mut runner = Runner::new(&self.store, follower)?;
        runner.catch_up(&self.store, LagOrder::Stored, &mut |_| {})?;
        Ok(runner.consumer.report)
    }

    /// Ends following under a name: the store no longer remembers which events the sink lacks, and eviction does not wait for it.
    pub fn unfollow(&self, name: &str) -> Result<()> {
        match self.store.lag().find(&sink_consumer(name))? {
            Some(consumer) => Ok(self.store.lag().remove(consumer)?),
            None => Ok(()),
        }
    }
}

/// Returns the name of a sink's consumer in the store.
fn sink_consumer(name: &str) -> String {
    format!("sink {name}")
}

/// Consumer that reads a session back when it commits, for a sink needs events whole and one session at a time.
struct Follower<'s> {
    sink: &'s mut dyn EventSink,
    report: FollowReport,
}

impl Follower<'_> {
    fn remove_forgotten(&mut self, store: &Store) -> Result<()> {
        let rows = store.session_rows(&SessionFilter::default())?;
        let heads = store.session_heads(rows.iter().copied())?;
        let known: HashSet<SessionName> = heads.values().map(SessionHead::name).collect();
        for session in self.sink.sessions().map_err(sink_error)? {
            if !known.contains(&session) {
                self.sink.remove_session(&session).map_err(sink_error)?;
                self.report.removed += 1;
            }
        }
        Ok(())
    }

    fn give_session(&mut self, store: &Store, head: &SessionHead, lag: &Lag) -> Result<()> {
        let from = self
            .sink
            .begin_session(head, lag.from)
            .map_err(sink_error)?;
        visit_stored(
            store,
            head.id,
            &head.agent,
            EventRange::From(from),
            |view| {
                self.report.events += 1;
                self.sink.receive_event(&view).map_err(sink_error)
            },
        )?;
        self.report.sessions += 1;
        self.sink.end_session(head).map_err(sink_error)
    }
}

impl Consumer for Follower<'_> {
    type Prepared = ();

    const READS_BACK: bool = false;

    fn info(&self) -> ConsumerInfo {
        ConsumerInfo {
            name: Cow::Owned(sink_consumer(self.sink.name())),
            version: self.sink.version(),
            before_eviction: self.sink.keeps_evicted(),
            follows_titles: false,
        }
    }

    fn prepare(_event: &Event, _call: Option<&Event>) {}

    fn first_needed(&mut self, _store: &Store, lag: &Lag) -> Result<Seq> {
        Ok(lag.from)
    }

    fn begin(&mut self, _store: &Store, _lag: &Lag, _from: Seq) -> Result<()> {
        Ok(())
    }

    fn apply(&mut self, _session: SessionId, _events: Vec<PreparedEvent<()>>) -> Result<()> {
        Ok(())
    }

    fn discard(&mut self, _session: SessionId) {}

    /// Every session is committed on its own.
    fn is_full(&self) -> bool {
        true
    }

    fn commit(
        &mut self,
        store: &Store,
        id: ConsumerId,
        seen: &[Lag],
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let heads = store.session_heads(seen.iter().map(|lag| lag.session))?;
        for lag in seen {
            if let Some(head) = heads.get(&lag.session) {
                self.give_session(store, head, lag)?;
            }
            store.lag().clear(id, &[*lag])?;
        }
        Ok(())
    }
}

fn sink_error(error: io::Error) -> Error {
    Error::Sink(error)
}
