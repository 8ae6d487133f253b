//! What a coding agent's session is, how each agent writes one down, and what must be redacted from it.
//!
//! Everything here is a pure function of bytes: no file is opened, no clock is read, and bad input is never an error of the
//! whole, only a counted skip. [`READERS`] is the list of agents; [`read_lines`] drives a reader over a chunk of a log;
//! [`hook::read`] understands what agents tell while they work.

pub mod attachment;
pub mod bounds;
mod edit;
mod event;
pub mod hook;
mod injected;
mod json;
mod patch;
mod reader;
mod readers;
mod record;
pub mod redact;
pub mod sample;
mod shell;
mod time;

pub use edit::{Change, FileEdit, Hunk, HunkLine, Substitution};
pub use event::{
    Action, Event, EventKey, Extension, Fragment, Kind, Output, Parent, ParentKind, Response,
    SessionFacts, Skipped, Span, Title, Touch, Usage,
};
pub use injected::{CONTEXT_CLOSE, CONTEXT_OPEN};
pub use reader::{Places, Reader, Reading, Shape, SourceName, SpanRecord, is_agent, reader};
pub use readers::READERS;
pub use record::{MAX_RECORD_BYTES, Record, read_document, read_lines};
