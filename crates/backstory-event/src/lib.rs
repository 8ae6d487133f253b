//! The schema that every agent's log and every hook is read into: events, edits of files, usage, ids.
//!
//! Types only: nothing here parses, opens files or depends on an agent.

mod body;
mod edit;
mod event;
mod ids;
#[cfg(feature = "sqlite")]
mod sql;
mod symbol;
mod telemetry;
mod tool;
mod view;

pub use body::{EventBody, Identity, Image, Marks, TurnContext, UserAnswer};
pub use edit::{Change, FileEdit, Hunk, HunkLine, Substitution};
pub use event::{
    Action, Billing, Event, EventKey, Extension, Fragment, Kind, Output, Parent, ParentKind,
    Response, SessionFacts, Skipped, Span, Title, Touch, UNKNOWN_MODEL, Usage,
};
pub use ids::{
    AgentName, FileId, ProjectId, Seq, SessionId, SessionName, StreamId, TimeMs, TurnNo,
};
#[cfg(feature = "sqlite")]
pub use sql::{UnknownNumber, variant_from_sql};
pub use symbol::{SymbolChangeKind, SymbolKind};
pub use telemetry::{Telemetry, TelemetryItem, TelemetryRecord};
pub use tool::{ToolClass, ToolDeed, ToolRequest};
pub use view::{EventView, Origin};
