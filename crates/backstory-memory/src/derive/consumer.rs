//! Consumers of events.

use backstory_event::{Event, Seq, SessionId, TimeMs, TurnNo};
use backstory_store::{ConsumerId, ConsumerInfo, Lag, Store};

use crate::error::Result;

/// An event's place in its session, and what a consumer prepared of it.
pub(crate) struct PreparedEvent<P> {
    pub(crate) seq: Seq,
    pub(crate) turn: TurnNo,
    /// The call that a tool's result answers.
    pub(crate) call: Option<Seq>,
    pub(crate) at: Option<TimeMs>,
    pub(crate) prepared: P,
}

/// Progress of a consumer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Progress {
    /// One more event was read back.
    Event,
    /// Number of sessions that are done, and of all.
    Sessions(usize, usize),
}

/// Something that is derived from events. The runner decides which events it sees, in their order and without gaps.
pub(crate) trait Consumer {
    /// Result of preparing one event alone.
    type Prepared: Send;

    /// True if events that did not come fresh are read again for it. If not, it reads what it needs itself when it commits.
    const READS_BACK: bool = true;

    fn info(&self) -> ConsumerInfo;

    /// Prepares an event. Pure: it runs on the threads that parse logs. `call` is the call that a result answers, where it is at hand.
    fn prepare(event: &Event, call: Option<&Event>) -> Self::Prepared;

    /// Returns the first event of a session that it must see to derive what it lacks.
    fn first_needed(&mut self, store: &Store, lag: &Lag) -> Result<Seq>;

    /// Begins with a session: events from `from` on follow. Results of these events are not true any more.
    fn begin(&mut self, store: &Store, lag: &Lag, from: Seq) -> Result<()>;

    /// Takes the next events of a session. Neither parses nor matches: that was prepared.
    fn apply(
        &mut self,
        session: SessionId,
        events: Vec<PreparedEvent<Self::Prepared>>,
    ) -> Result<()>;

    /// Takes note that all events of a session were seen.
    fn end(&mut self, _session: SessionId) -> Result<()> {
        Ok(())
    }

    /// Drops what it derived of a session and has not committed.
    fn discard(&mut self, session: SessionId);

    /// Returns whether it holds so much that it should commit.
    fn is_full(&self) -> bool {
        false
    }

    /// Stores what it derived and, in the same transaction, that it has seen what it lacked.
    fn commit(
        &mut self,
        store: &Store,
        id: ConsumerId,
        seen: &[Lag],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()>;
}
