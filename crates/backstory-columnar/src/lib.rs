//! Sessions as columns: HDF5 files that h5py, pandas and the Python package `agentic-conversations-hdf5` open.
//!
//! [`SessionFile`] reads them, also those that the package wrote and those that are still growing or were left unclosed. [`write_sessions`]
//! writes a new file, or rebuilds an existing one beside it and renames it over.
//!
//! [`export_tables`] and [`export_table`] write Parquet files for DuckDB and polars; [`inspect_folder`] and [`inspect_table`] say what they have.

mod added_calls;
mod content;
mod error;
mod export;
mod files;
mod hdf5;
mod import;
mod pairing;
mod parquet;
mod placement;
mod redaction;
mod replacement;
mod rows;
mod session_columns;
mod session_file;

pub use self::parquet::{
    ColumnKind, ColumnSchema, ColumnSummary, FolderSummary, RowGroupSummary, Table,
    TableFileSummary, TableOptions, TableProgress, TableReport, TableSummary, export_table,
    export_tables, inspect_folder, inspect_table,
};
pub use content::ContentBlock;
pub use error::{Error, Result};
pub use export::{ExportOptions, ExportProgress, ExportReport, export_file, export_folder};
pub use import::{UnpackedLogs, unpack_logs};
pub use replacement::is_in_use;
pub use rows::{
    Artifact, AttributeValue, LogFile, LostParts, Message, SessionAttributes, SessionColumns,
    TokenUsage, ToolCall, link_name,
};
pub use session_columns::{ReadColumns, read_columns};
pub use session_file::{
    LogInfo, Session, SessionFile, SessionSummary, SessionTotals, WriteOptions, WriteReport,
    write_sessions,
};
#[cfg(any(test, feature = "fuzzing"))]
pub use session_file::{check_bytes, find_sealed_blocks, reseal_blocks, reseal_checksums};
