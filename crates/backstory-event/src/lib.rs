//! The schema that every agent's log and every hook is read into: events, edits of files, usage, ids.
//!
//! Types only: nothing here parses, opens files or depends on an agent.

mod edit;
mod event;

pub use edit::{Change, FileEdit, Hunk, HunkLine, Substitution};
pub use event::{
    Action, Event, EventKey, Extension, Fragment, Kind, Output, Parent, ParentKind, Response,
    SessionFacts, Skipped, Span, Title, Touch, Usage,
};
