//! Session files: the schema of the columns, reading, and writing.

mod appended;
mod attributes;
mod columns;
mod copy;
mod fields;
mod frames;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzz;
mod limits;
mod log;
mod logged_records;
mod merge;
mod open;
mod read;
mod reuse;
mod save;
mod save_files;
mod schema;
mod summary;
#[cfg(test)]
mod tests;
mod unlisted;
mod write;

pub(crate) use appended::{AnswerStep, AnswerTracker};
#[cfg(any(test, feature = "fuzzing"))]
pub use fuzz::{check_bytes, find_sealed_blocks, reseal_blocks, reseal_checksums};
pub(crate) use limits::max_log_bytes;
pub use log::LogInfo;
pub use open::SessionFile;
pub use read::Session;
pub use summary::{SessionSummary, SessionTotals};
pub use write::{WriteOptions, WriteReport, write_sessions};
