//! How each coding agent writes its sessions down and calls hooks.
//!
//! Everything here is a pure function of bytes: no file is opened, no clock is read, and bad input is never an error of the
//! whole, only a counted skip. [`AGENTS`] is the list of agents; [`read_lines`] drives a reader over a chunk of a log;
//! [`hook::read`] parses the input of hooks.

mod agents;
mod arguments;
pub mod bounds;
mod claude_code;
mod codex;
mod cursor;
mod edit;
mod gemini;
mod grok;
pub mod hook;
mod injected;
mod json;
mod object;
mod patch;
mod reader;
mod record;
mod resume;
mod retention;
pub mod sample;
mod shared;
mod shell;
mod time;
#[cfg(feature = "test-agents")]
mod toy;

pub use agents::{AGENTS, Agent, ContextLimits, HookAgent, LogAgent, reader};
pub use arguments::{ArgumentUse, each_argument};
pub use injected::{CONTEXT_CLOSE, CONTEXT_OPEN, without_context};
pub use reader::{Places, Reader, Reading, Shape, SourceName};
pub use record::{MAX_RECORD_BYTES, Record, read_document, read_lines};
pub use resume::Resume;
pub use retention::LogLifetime;
