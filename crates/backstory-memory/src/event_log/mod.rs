//! The event log: what Backstory did, a line of JSON each, in a file a day; whoever has time takes the lines over into the
//! database, where the view `event_log` has them. Logging costs its caller one short write and never fails it. `docs/events.md` lists
//! what is logged.

mod files;
mod line;
mod opened;
mod take_over;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use backstory_event::{TimeMs, TurnNo};
use serde_json::{Map, Value};

pub(crate) use self::line::logged_sessions;
pub(crate) use self::opened::MAX_REMEMBERED_HITS;

/// Number of days that files and rows are kept.
const DAYS_KEPT: usize = 30;
const DAY_MS: i64 = 24 * 3600 * 1000;

/// Size of the longest error message that is logged.
const MAX_ERROR_BYTES: usize = 1 << 10;

/// Type of a logged event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it, docs/events.md says more")]
pub enum EventType {
    HookCapture,
    HookContextInject,
    HookSummary,
    HookUnreadable,
    HookLate,
    CompressStart,
    CompressDone,
    CompressError,
    AstScan,
    AstCallGraph,
    SearchQuery,
    SearchResult,
    LearningExtracted,
    LearningReinforced,
    LearningInvalidated,
    ContextTokenBudget,
    ContextProgressive,
    RecallDelivered,
    RecallUsed,
    RecallIgnored,
    RecallWithheld,
    QueueDone,
    RetainDone,
    SweepDone,
}

impl EventType {
    /// All of them.
    pub const ALL: [EventType; 24] = [
        EventType::HookCapture,
        EventType::HookContextInject,
        EventType::HookSummary,
        EventType::HookUnreadable,
        EventType::HookLate,
        EventType::CompressStart,
        EventType::CompressDone,
        EventType::CompressError,
        EventType::AstScan,
        EventType::AstCallGraph,
        EventType::SearchQuery,
        EventType::SearchResult,
        EventType::LearningExtracted,
        EventType::LearningReinforced,
        EventType::LearningInvalidated,
        EventType::ContextTokenBudget,
        EventType::ContextProgressive,
        EventType::RecallDelivered,
        EventType::RecallUsed,
        EventType::RecallIgnored,
        EventType::RecallWithheld,
        EventType::QueueDone,
        EventType::RetainDone,
        EventType::SweepDone,
    ];

    /// The name in files and in the database: the part of the program, and what it did.
    pub fn name(self) -> &'static str {
        match self {
            EventType::HookCapture => "hook.capture",
            EventType::HookContextInject => "hook.context_inject",
            EventType::HookSummary => "hook.summary",
            EventType::HookUnreadable => "hook.unreadable",
            EventType::HookLate => "hook.late",
            EventType::CompressStart => "compress.start",
            EventType::CompressDone => "compress.done",
            EventType::CompressError => "compress.error",
            EventType::AstScan => "ast.scan",
            EventType::AstCallGraph => "ast.call_graph",
            EventType::SearchQuery => "search.query",
            EventType::SearchResult => "search.result",
            EventType::LearningExtracted => "learning.extracted",
            EventType::LearningReinforced => "learning.reinforced",
            EventType::LearningInvalidated => "learning.invalidated",
            EventType::ContextTokenBudget => "context.token_budget",
            EventType::ContextProgressive => "context.progressive",
            EventType::RecallDelivered => "recall.delivered",
            EventType::RecallUsed => "recall.used",
            EventType::RecallIgnored => "recall.ignored",
            EventType::RecallWithheld => "recall.withheld",
            EventType::QueueDone => "queue.done",
            EventType::RetainDone => "retain.done",
            EventType::SweepDone => "sweep.done",
        }
    }
}

/// An event that is to be logged.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEvent {
    /// Time in unix milliseconds.
    pub at: TimeMs,
    /// What happened.
    pub event_type: EventType,
    /// The agent's own id of the session.
    pub session_id: Option<String>,
    /// The agent that it was done for.
    pub agent: Option<String>,
    /// How long it took.
    pub duration: Option<Duration>,
    /// Tokens that went into a model.
    pub tokens_in: Option<u64>,
    /// Tokens that came out of a model, or were given to an agent.
    pub tokens_out: Option<u64>,
    /// What went wrong.
    pub error: Option<String>,
    data: Map<String, Value>,
}

impl LogEvent {
    /// Something that was done at this time.
    pub fn new(event_type: EventType, at: TimeMs) -> Self {
        LogEvent {
            at,
            event_type,
            session_id: None,
            agent: None,
            duration: None,
            tokens_in: None,
            tokens_out: None,
            error: None,
            data: Map::new(),
        }
    }

    /// Adds a field to the data.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.data.insert(name.to_string(), value.into());
        self
    }

    /// Names the session that it is about, by the agent's own id.
    #[must_use]
    pub fn in_session(mut self, session_id: Option<&str>) -> Self {
        self.session_id = session_id.map(str::to_string);
        self
    }

    /// Says how long it took.
    #[must_use]
    pub fn taking(mut self, duration: Duration) -> Self {
        self.duration = Some(duration);
        self
    }

    /// Says what went wrong, if something did.
    #[must_use]
    pub fn failed(mut self, error: Option<impl Into<String>>) -> Self {
        self.error = error.map(Into::into);
        self
    }
}

/// The log of a store, by the folder of that: whoever logs may have no memory open.
#[derive(Debug, Clone, Copy)]
pub struct EventLog<'a> {
    home: &'a Path,
}

impl<'a> EventLog<'a> {
    /// Returns the log of the store in a folder.
    pub fn of_store(home: &'a Path) -> Self {
        EventLog { home }
    }

    /// Adds lines, in one write. A store that is not there gets none, and nothing that goes wrong here matters to the caller. Secrets are
    /// taken out of every line.
    pub fn append(&self, events: &[LogEvent]) {
        let _ = files::append(self.home, events);
    }

    /// Logs that a session or a turn is shown, if it is a hit of a recent search.
    pub fn append_opened(&self, session: &str, turn: Option<TurnNo>, now: TimeMs) {
        if let Some(rank) = opened::rank_of_opened(self.home, session, turn, now) {
            let event = LogEvent::new(EventType::SearchResult, now)
                .in_session(Some(session))
                .with("session", session)
                .with("turn", turn.map(TurnNo::get))
                .with("rank", rank);
            self.append(&[event]);
        }
    }
}
