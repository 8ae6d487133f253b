//! Telemetry: records that say how the agent worked rather than what was said.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::body::TurnContext;
use crate::event::{EventKey, Span};
use crate::ids::TimeMs;

/// A record of a log that holds telemetry. What it says is read again from its span.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetryRecord {
    /// The agent's own id of the session.
    pub session: Arc<str>,
    /// The event of the session before it; `None` before the first.
    pub after: Option<EventKey>,
    /// Time.
    pub at: Option<TimeMs>,
    /// Place of the record in the stored bytes.
    pub span: Span,
}

/// One thing that a telemetry record says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Telemetry {
    /// Time.
    pub at: Option<TimeMs>,
    /// What it says.
    #[serde(flatten)]
    pub item: TelemetryItem,
}

/// Kinds of telemetry. Values are the agent's own JSON, verbatim.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TelemetryItem {
    /// Settings of the turn that begins or goes on here.
    Context(TurnContext),
    /// Token counts, and how full the context window is.
    TokenCount {
        /// Tokens in the context window after the last response.
        context_tokens: Option<u64>,
        /// Size of the context window in tokens.
        context_window: Option<u64>,
        /// The counts.
        value: Value,
    },
    /// Rate limits of the account.
    RateLimits {
        /// The limits.
        value: Value,
    },
    /// A new state of the plan or to-do list.
    PlanUpdate {
        /// The plan.
        value: Value,
    },
    /// A request for approval, or its answer.
    Approval {
        /// Id of the tool call.
        tool_use_id: Option<String>,
        /// The request or answer.
        value: Value,
    },
    /// The history was replaced by a summary.
    Compaction {
        /// What the agent says of it.
        value: Value,
    },
    /// A tool call ran.
    ToolTiming {
        /// Id of the tool call.
        tool_use_id: Option<String>,
        /// Name of the tool.
        tool: Option<String>,
        /// Duration in milliseconds.
        duration_ms: Option<i64>,
        /// How it ended, in the agent's own word.
        outcome: Option<String>,
    },
    /// A turn begins, before its prompt is logged.
    TurnStart {
        /// What the agent says of it.
        value: Value,
    },
    /// A turn ended.
    TurnEnd {
        /// Duration of the turn in milliseconds.
        duration_ms: Option<i64>,
        /// Time from the prompt to the first answer in milliseconds.
        first_answer_ms: Option<i64>,
    },
    /// Any other event of the agent.
    Other {
        /// The agent's name of the event.
        name: String,
        /// The event.
        value: Value,
    },
}
