//! How each coding agent writes its sessions down and calls hooks.
//!
//! Everything here is a pure function of bytes: no file is opened, no clock is read, and bad input is never an error of the
//! whole, only a counted skip. [`READERS`] is the list of agents; [`read_lines`] drives a reader over a chunk of a log;
//! [`hook::read`] parses the input of hooks.

mod arguments;
pub mod bounds;
mod claude_code;
mod codex;
mod edit;
mod grok;
pub mod hook;
mod injected;
mod json;
mod patch;
mod reader;
mod readers;
mod record;
pub mod sample;
mod shared;
mod shell;
mod time;

pub use arguments::{ArgumentUse, each_argument};
pub use injected::{CONTEXT_CLOSE, CONTEXT_OPEN};
pub use reader::{Places, Reader, Reading, Shape, SourceName, is_agent, reader};
pub use readers::READERS;
pub use record::{MAX_RECORD_BYTES, Record, read_document, read_lines};
