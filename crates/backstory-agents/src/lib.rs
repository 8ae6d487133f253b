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
mod failure;
mod gemini;
mod grok;
pub mod hook;
mod injected;
mod json;
mod object;
mod patch;
mod payload;
mod reader;
mod record;
mod repeated_keys;
mod resume;
mod retention;
pub mod sample;
mod shared;
mod shell;
mod time;
mod tool_use;
#[cfg(feature = "test-agents")]
mod toy;

pub use agents::{AGENTS, Agent, ContextLimits, HookAgent, LogAgent, reader};
pub use arguments::{ArgumentUse, call_arguments, each_argument, raw_arguments};
pub use claude_code::written::{LoggedResponse, WrittenRecord};
pub use failure::{is_tool_slip, unframed_output, without_error_tags};
pub use injected::{CONTEXT_CLOSE, CONTEXT_OPEN, is_program_text, without_context};
pub use payload::{Payload, find_payloads};
pub use reader::{Places, Reader, Reading, RecordContent, Shape, SourceName};
pub use record::{MAX_RECORD_BYTES, Record, read_document, read_lines};
pub use resume::Resume;
pub use retention::LogLifetime;
pub use tool_use::{
    argument_text, is_bookkeeping_tool, is_whole_writer, tool_family, tool_request, written_lines,
};
