//! Tables of sessions, events, tool calls and usage as Parquet files, made for DuckDB and polars.
//!
//! [`export_table`] writes one table into one file, [`export_tables()`] all of them into a folder: `TABLE/month=2026-11/part-2026-11-18.parquet`.
//! A part has the sessions that started on one day (UTC), so that exporting again writes only the days whose sessions changed. A part is
//! written beside the old one and renamed over it: there is no moment in which a row is missing or there twice, and no manifest that a kill
//! could leave behind. The footer of every file names its sessions, each with a fingerprint of the state that was written.

mod column_buffer;
mod export_tables;
mod fingerprint;
mod footer;
mod inspect;
mod kept_calls;
mod kept_rows;
mod layout;
mod lost_rows;
mod options;
mod part;
mod plan;
mod row_values;
mod schema;
mod table_columns;
mod table_files;
mod table_writer;
mod thrift;
mod tool_calls;
mod usage_rows;
mod write_parts;

pub use self::export_tables::{TableReport, export_table, export_tables};
pub use self::inspect::{
    ColumnSummary, FolderSummary, RowGroupSummary, TableFileSummary, TableSummary, inspect_folder,
    inspect_table,
};
pub use self::options::{TableOptions, TableProgress};
pub use self::schema::{ColumnKind, ColumnSchema, Table};
