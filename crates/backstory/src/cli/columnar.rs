//! Columnar files.

use std::path::PathBuf;

use backstory_columnar::Table;
use clap::{Args, ValueEnum};

use super::{FilterArgs, agent};

/// Convert agent logs to columnar files, without a store.
///
/// FILE.h5 is one HDF5 file for all sessions, FILE.parquet one table of events, FOLDER/ a file each. Existing sessions are kept;
/// new or grown ones are added.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Logs of any supported agent, or folders with logs.
    #[arg(required = true, value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Only logs of this agent.
    #[arg(long, value_parser = agent::log_agent())]
    pub(crate) agent: Option<String>,
    /// Redact secrets; as configured for the store unless given. Markers are those of the store, if there is one.
    #[arg(long, value_enum)]
    pub(crate) redact: Option<OnOff>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Export stored sessions to columnar files.
///
/// FILE.h5 is one HDF5 file for all sessions, FILE.parquet one table of events, FOLDER/ a file each. Existing sessions are kept;
/// new or grown ones are added.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Only these sessions: ids or beginnings of them.
    #[arg(value_name = "SESSION")]
    pub(crate) sessions: Vec<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where columnar files are written.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// FILE.h5, FILE.parquet, or a folder.
    #[arg(short, long, value_name = "FILE|FOLDER")]
    pub(crate) output: PathBuf,
    /// Format of the files in a folder; HDF5 unless given.
    #[arg(long, value_enum)]
    pub(crate) format: Option<ColumnarFormat>,
    /// The table in FILE.parquet; events unless given.
    #[arg(long, value_enum)]
    pub(crate) table: Option<TableName>,
    /// Model that embeds the messages of HDF5 files; the one in use unless given, see `backstory model`.
    #[arg(long, value_name = "MODEL")]
    pub(crate) embed: Option<String>,
    /// Omit embeddings, even if a model is configured.
    #[arg(long, conflicts_with = "embed")]
    pub(crate) no_embed: bool,
}

/// A table of a Parquet file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableName {
    /// A row a session.
    Sessions,
    /// A row an event.
    Events,
    /// A row a tool call.
    #[value(name = "tool_calls", alias = "tool-calls")]
    ToolCalls,
    /// A row a message that used tokens.
    Usage,
}

impl From<TableName> for Table {
    fn from(name: TableName) -> Self {
        match name {
            TableName::Sessions => Table::Sessions,
            TableName::Events => Table::Events,
            TableName::ToolCalls => Table::ToolCalls,
            TableName::Usage => Table::Usage,
        }
    }
}

/// Format of columnar files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColumnarFormat {
    /// HDF5.
    H5,
    /// Parquet.
    Parquet,
}

/// A setting that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnOff {
    /// Yes.
    On,
    /// No.
    Off,
}

/// Summarize a columnar file.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// An HDF5 file, also one that is still growing or was left unclosed; a Parquet file; or a folder of such files.
    #[arg(value_name = "FILE|FOLDER")]
    pub(crate) path: PathBuf,
    /// Only this session of an HDF5 file: its id or the beginning of it.
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
