//! The one schema that every agent's log is read into.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::body::{EventBody, Identity, Image};
use crate::ids::TimeMs;
use crate::telemetry::TelemetryRecord;

/// Model of responses whose log names none.
pub const UNKNOWN_MODEL: &str = "unknown";

/// What a reader understood of the records it was given, in their order.
#[derive(Debug, Default)]
pub struct Output {
    /// New events.
    pub events: Vec<Event>,
    /// Events that go on in later records.
    pub extensions: Vec<Extension>,
    /// API responses and what they used.
    pub responses: Vec<Response>,
    /// Records that say how the agent worked rather than what was said.
    pub telemetry: Vec<TelemetryRecord>,
    /// What was learned about sessions.
    pub facts: Vec<SessionFacts>,
    /// Records that could not be read.
    pub skipped: Vec<Skipped>,
    /// Places of text that is read together with the text of other places: a secret may begin in one and end in another.
    pub fragments: Vec<Fragment>,
}

/// A JSON string whose text goes on in another one: streamed messages, and messages of several blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// Which of the texts that the file streams side by side, a number of the reader's own.
    pub channel: u8,
    /// Whether a new text begins here, rather than going on from the last fragment of the channel.
    pub begins: bool,
    /// First byte behind the opening quote, in the stored bytes.
    pub offset: u64,
    /// Number of bytes up to the closing quote.
    pub length: u64,
}

/// One normalised record of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The agent's own id of the session that the record was found in.
    pub session: Arc<str>,
    /// Content id: the same record, replayed anywhere, has the same key.
    pub key: EventKey,
    /// Key that this event has in the session it may be a replay of (a Codex fork repeats its parent's history).
    pub replay: Option<EventKey>,
    /// The event that this one answers, where that is not simply the one before it: rewinds and retries branch here.
    pub parent: Option<EventKey>,
    /// Kind of event.
    pub kind: Kind,
    /// Time, if the log says.
    pub at: Option<TimeMs>,
    /// Place of its record in the stored bytes of the source file.
    pub span: Span,
    /// The model that wrote it.
    pub model: Option<Arc<str>>,
    /// The tool called, or whose result this is.
    pub tool: Option<String>,
    /// Files that a tool call names.
    pub touches: Vec<Touch>,
    /// Whether a tool result is an error.
    pub error: bool,
    /// Exit code of the command, where the result has one.
    pub exit_code: Option<i64>,
    /// Duration of the tool call, where the log allows to tell.
    pub duration_ms: Option<i64>,
    /// Everything that the bytes of its span determine.
    pub body: EventBody,
}

impl Event {
    /// Returns an event with nothing but its place and kind.
    pub fn new(
        session: &Arc<str>,
        key: EventKey,
        kind: Kind,
        at: Option<TimeMs>,
        span: Span,
    ) -> Self {
        Event {
            session: session.clone(),
            key,
            replay: None,
            parent: None,
            kind,
            at,
            span,
            model: None,
            tool: None,
            touches: Vec::new(),
            error: false,
            exit_code: None,
            duration_ms: None,
            body: EventBody::default(),
        }
    }
}

/// Kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// What a person asked.
    Prompt,
    /// What the model answered.
    Reply,
    /// What the model thought.
    Reasoning,
    /// A tool that the model called.
    ToolCall,
    /// What the tool gave back.
    ToolResult,
    /// A summary that the agent made of its own history.
    Summary,
    /// Everything else: injected text, notices, interruptions.
    System,
}

impl Kind {
    /// Every kind, in the order of the numbers that stores keep.
    pub const ALL: [Kind; 7] = [
        Kind::Prompt,
        Kind::Reply,
        Kind::Reasoning,
        Kind::ToolCall,
        Kind::ToolResult,
        Kind::Summary,
        Kind::System,
    ];

    /// The name used in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Prompt => "prompt",
            Kind::Reply => "reply",
            Kind::Reasoning => "reasoning",
            Kind::ToolCall => "tool_call",
            Kind::ToolResult => "tool_result",
            Kind::Summary => "summary",
            Kind::System => "system",
        }
    }

    /// Who speaks.
    pub fn role(self) -> &'static str {
        match self {
            Kind::Prompt => "user",
            Kind::Reply | Kind::Reasoning | Kind::ToolCall => "assistant",
            Kind::ToolResult => "tool",
            Kind::Summary | Kind::System => "system",
        }
    }

    /// Returns whether the model wrote it.
    pub fn is_from_model(self) -> bool {
        matches!(self, Kind::Reply | Kind::Reasoning | Kind::ToolCall)
    }
}

/// Where an event lies: a byte range of the stored source file, and which part of the record there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// Which content block of the record.
    pub part: u16,
}

/// More records that carry on an event, mostly its text: its span grows up to `end`.
#[derive(Debug, Clone, PartialEq)]
pub struct Extension {
    /// The event.
    pub key: EventKey,
    /// One past the last byte of the record that carries it on.
    pub end: u64,
    /// The text to append.
    pub text: String,
    /// Images that it adds.
    pub images: Vec<Image>,
    /// Ids that it adds where there are none.
    pub identity: Identity,
    /// Why the model stopped, in the provider's own word.
    pub stop_reason: Option<String>,
}

impl Extension {
    /// Returns an extension that adds nothing but bytes.
    pub fn new(key: EventKey, end: u64) -> Self {
        Extension {
            key,
            end,
            text: String::new(),
            images: Vec::new(),
            identity: Identity::default(),
            stop_reason: None,
        }
    }

    /// Returns whether it changes what was said.
    pub fn is_of_content(&self) -> bool {
        !self.text.is_empty() || !self.images.is_empty()
    }
}

/// A content id: a hash of what makes a record the same record wherever it is copied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventKey(pub i64);

impl EventKey {
    /// The key of something named by these parts, in this order. Parts are framed, so `["ab", "c"]` and `["a", "bc"]` differ.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut first = [0; 8];
        first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        EventKey(i64::from_le_bytes(first))
    }
}

/// A file that a tool call names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touch {
    /// The path as the log has it.
    pub path: String,
    /// What was done to it.
    pub action: Action,
}

/// What a tool call does to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Read or searched.
    Read,
    /// Changed or created.
    Write,
    /// Removed.
    Delete,
}

impl Action {
    /// Every action, in the order of the numbers that stores keep.
    pub const ALL: [Action; 3] = [Action::Read, Action::Write, Action::Delete];
}

/// One API response and the tokens it used. The same response is often logged several times, with counts that grow as it
/// streams: the largest one counts, once.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The session that it was found in.
    pub session: Arc<str>,
    /// Content id of the response.
    pub key: EventKey,
    /// Its key in the session that this may be a replay of.
    pub replay: Option<EventKey>,
    /// First event of the message that the response is; `None` when it has none, or none is known.
    pub event: Option<EventKey>,
    /// Whether `event` replaces the one that was known before. If not, the first one counts.
    pub replaces_event: bool,
    /// Time.
    pub at: Option<TimeMs>,
    /// The model that answered.
    pub model: Arc<str>,
    /// The git branch that was checked out.
    pub branch: Option<Arc<str>>,
    /// Tokens and server-side tools.
    pub usage: Usage,
    /// What its price depends on beside tokens.
    pub billing: Billing,
}

/// Tokens, each counted in exactly one column, and requests to server-side tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input that no cache held.
    pub input: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache, for whatever time.
    pub cache_write: u64,
    /// Part of `cache_write` that is kept for an hour; the rest is kept for five minutes.
    pub cache_write_1h: u64,
    /// Part of the output that was reasoning, where the log says. Not part of the total, for `output` holds it already.
    pub reasoning: u64,
    /// Web searches that the provider ran.
    pub web_searches: u64,
    /// Web pages that the provider fetched.
    pub web_fetches: u64,
}

impl Usage {
    /// Returns the sum of all tokens.
    pub fn total(&self) -> u64 {
        self.input_total().saturating_add(self.output)
    }

    /// Returns the tokens of the request: input, read from a cache or not.
    pub fn input_total(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// Returns the part of `cache_write` that is kept for five minutes.
    pub fn cache_write_5m(&self) -> u64 {
        self.cache_write.saturating_sub(self.cache_write_1h)
    }
}

/// What the price of a response depends on beside its tokens, as the log names it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Billing {
    /// Service tier: `standard`, `priority`, `batch`, ….
    pub service_tier: Option<Arc<str>>,
    /// Speed: `standard`, `fast`.
    pub speed: Option<Arc<str>>,
    /// Where the model ran: `us`, ….
    pub inference_geo: Option<Arc<str>>,
}

/// What a log tells about a session. Fields that are `None` say nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionFacts {
    /// The agent's own id of the session; `None` for a title that names its session by `leaf`.
    pub session: Option<Arc<str>>,
    /// For a title that stands in another session's file: an event of the session it names.
    pub leaf: Option<EventKey>,
    /// What people recognise it by.
    pub title: Option<Title>,
    /// The folder it worked in.
    pub cwd: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
    /// The root of the repository, where the log says.
    pub repository: Option<String>,
    /// The remote of the repository.
    pub remote: Option<String>,
    /// The session that this one came from.
    pub parent: Option<Parent>,
    /// True for headless sessions: subagents, headless runs, memory tools.
    pub machine: Option<bool>,
    /// When it began and was last active, for formats whose records carry no time.
    pub period: Option<(TimeMs, TimeMs)>,
    /// Version of the agent.
    pub agent_version: Option<String>,
    /// Permission mode, by the agent's own name: `default`, `plan`, `bypassPermissions`, `on-request`, ….
    pub permission_mode: Option<String>,
    /// Size of the model's context window in tokens.
    pub context_window: Option<u64>,
    /// The agent's own record of the session, as JSON, verbatim; of several the last one counts.
    pub meta: Option<String>,
    /// Place of the record that says so in the stored bytes; set by whoever cuts the log into records.
    pub span: Option<Span>,
}

/// A session's title; of several, the one of the highest variant wins, then the latest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Title {
    /// The beginning of the first prompt.
    Prompt(String),
    /// A summary or title that the agent made.
    Generated(String),
    /// A name that a person gave.
    Given(String),
}

/// The session that another came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// Its id.
    pub session: String,
    /// How they are related.
    pub kind: ParentKind,
}

/// How a session relates to its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParentKind {
    /// The parent started it to do a part of the work.
    Subagent,
    /// It goes on from a copy of the parent's history.
    Fork,
}

/// A record that could not be read, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The line in the source file, from 1.
    pub line: u64,
    /// Where the record begins in the stored bytes.
    pub offset: u64,
    /// How many bytes it has.
    pub length: u64,
    /// Why.
    pub reason: String,
}
