//! Session files: the schema of the columns, reading, and writing.

mod columns;
mod copy;
mod limits;
mod lock;
mod log;
mod merge;
mod open;
mod read;
mod save;
mod schema;
mod write;

pub use log::LogInfo;
pub use open::{SessionFile, SessionSummary, check_bytes};
pub use read::Session;
pub use write::{WriteOptions, WriteReport, write_sessions};
