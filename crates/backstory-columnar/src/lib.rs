//! Sessions as columns: HDF5 files that h5py, pandas and the Python package `agentic-conversations-hdf5` open.
//!
//! [`SessionFile`] reads them, also those that the package wrote and those that are still growing or were left unclosed. [`write_sessions`]
//! writes a new file, or rebuilds an existing one beside it and renames it over.

mod error;
mod hdf5;
mod rows;
mod session_file;

pub use error::{Error, Result};
pub use rows::{
    Artifact, AttributeValue, LogFile, Message, SessionAttributes, SessionColumns, TokenUsage, ToolCall, link_name,
};
pub use session_file::{LogInfo, Session, SessionFile, SessionSummary, WriteOptions, WriteReport, check_bytes, write_sessions};
