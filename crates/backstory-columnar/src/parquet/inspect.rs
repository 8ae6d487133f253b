//! Summaries of Parquet files, from their footers alone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ::parquet::basic::LogicalType;
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::schema::types::ColumnDescriptor;
use serde::{Serialize, Serializer};

use super::footer::{PartContent, read_footer};
use super::layout::{month_folders, part_files};
use super::schema::Table;
use crate::error::Result;

/// Summary of a Parquet file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableFileSummary {
    /// The file.
    #[serde(serialize_with = "serialize_path")]
    pub path: PathBuf,
    /// Table, in a file that Backstory wrote.
    pub table: Option<Table>,
    /// Number of sessions, in a file that Backstory wrote.
    pub sessions: Option<u64>,
    /// Number of rows.
    pub rows: u64,
    /// Size of the file.
    pub bytes: u64,
    /// Program that wrote it.
    pub created_by: Option<String>,
    /// Its columns.
    pub columns: Vec<ColumnSummary>,
    /// Its row groups.
    pub row_groups: Vec<RowGroupSummary>,
}

/// Summary of a column of a Parquet file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnSummary {
    /// Name; of nested columns, with the names of their groups.
    pub name: String,
    /// Type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Bytes in the file.
    pub bytes: u64,
    /// Bytes before compression.
    pub uncompressed_bytes: u64,
}

/// Summary of a row group of a Parquet file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowGroupSummary {
    /// Number of rows.
    pub rows: u64,
    /// Bytes in the file.
    pub bytes: u64,
    /// Bytes before compression.
    pub uncompressed_bytes: u64,
}

/// Writes a path as text: bytes that are no UTF-8 cannot stand in JSON.
fn serialize_path<S: Serializer>(
    path: &Path,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Summary of a folder of tables.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FolderSummary {
    /// The folder.
    #[serde(serialize_with = "serialize_path")]
    pub path: PathBuf,
    /// Its tables.
    pub tables: Vec<TableSummary>,
    /// Files that could not be read, each with the reason.
    #[serde(skip)]
    pub failed: Vec<(PathBuf, String)>,
}

/// Summary of a table in a folder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableSummary {
    /// The table.
    pub table: Table,
    /// Its months.
    pub months: Vec<String>,
    /// Number of files.
    pub files: u64,
    /// Number of sessions.
    pub sessions: u64,
    /// Number of rows.
    pub rows: u64,
    /// Number of row groups.
    pub row_groups: u64,
    /// Size of its files.
    pub bytes: u64,
}

/// Reads the footer of a Parquet file, of any program. The file may be damaged or made to do harm: no more than 16 MB of it are read.
pub fn inspect_table(path: &Path) -> Result<TableFileSummary> {
    let (metadata, footer) = read_footer(path)?;
    let content = PartContent::from_metadata(&metadata);
    let file = metadata.file_metadata();
    let schema = file.schema_descr();
    let mut columns: Vec<ColumnSummary> = schema
        .columns()
        .iter()
        .map(|column| ColumnSummary {
            name: column_name(column),
            type_name: type_name(column),
            bytes: 0,
            uncompressed_bytes: 0,
        })
        .collect();
    let mut row_groups = Vec::with_capacity(metadata.num_row_groups());
    for group in metadata.row_groups() {
        let mut summary = RowGroupSummary {
            rows: count_or_zero(group.num_rows()),
            bytes: 0,
            uncompressed_bytes: 0,
        };
        for (column, chunk) in columns.iter_mut().zip(group.columns()) {
            let (bytes, uncompressed_bytes) = chunk_bytes(chunk);
            for (sum, bytes) in [
                (&mut column.bytes, bytes),
                (&mut summary.bytes, bytes),
                (&mut column.uncompressed_bytes, uncompressed_bytes),
                (&mut summary.uncompressed_bytes, uncompressed_bytes),
            ] {
                *sum = sum.saturating_add(bytes);
            }
        }
        row_groups.push(summary);
    }
    Ok(TableFileSummary {
        path: path.to_owned(),
        table: content.as_ref().map(|content| content.table),
        sessions: content.map(|content| content.sessions.len() as u64),
        rows: count_or_zero(file.num_rows()),
        bytes: footer.file_bytes,
        created_by: file.created_by().map(str::to_string),
        columns,
        row_groups,
    })
}

/// Reads the footers of all parts in a folder that [`export_tables()`](super::export_tables()) wrote; there may be none. Parts and folders
/// that cannot be read are named in it.
pub fn inspect_folder(folder: &Path) -> FolderSummary {
    let mut tables = Vec::new();
    let mut failed = Vec::new();
    for table in Table::ALL {
        let mut summary = TableSummary {
            table,
            months: Vec::new(),
            files: 0,
            sessions: 0,
            rows: 0,
            row_groups: 0,
            bytes: 0,
        };
        let mut months = BTreeSet::new();
        let table_folder = folder.join(table.name());
        for (month, path) in
            entries_or_report(month_folders(&table_folder), &table_folder, &mut failed)
        {
            for part in entries_or_report(part_files(&path), &path, &mut failed) {
                let part = match inspect_table(&part) {
                    Ok(part) => part,
                    Err(error) => {
                        failed.push((part, error.to_string()));
                        continue;
                    }
                };
                months.insert(month.clone());
                summary.files += 1;
                summary.sessions = summary.sessions.saturating_add(part.sessions.unwrap_or(0));
                summary.rows = summary.rows.saturating_add(part.rows);
                summary.row_groups += part.row_groups.len() as u64;
                summary.bytes = summary.bytes.saturating_add(part.bytes);
            }
        }
        summary.months = months.into_iter().collect();
        if summary.files > 0 {
            tables.push(summary);
        }
    }
    FolderSummary {
        path: folder.to_owned(),
        tables,
        failed,
    }
}

/// Returns what lies in a folder; nothing when it cannot be read, which is noted.
fn entries_or_report<T>(
    entries: Result<Vec<T>>,
    folder: &Path,
    failed: &mut Vec<(PathBuf, String)>,
) -> Vec<T> {
    entries.unwrap_or_else(|error| {
        failed.push((folder.to_owned(), error.to_string()));
        Vec::new()
    })
}

fn count_or_zero(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn chunk_bytes(chunk: &ColumnChunkMetaData) -> (u64, u64) {
    (
        count_or_zero(chunk.compressed_size()),
        count_or_zero(chunk.uncompressed_size()),
    )
}

/// Returns the name of a column; that of the list for a column of lists.
fn column_name(column: &ColumnDescriptor) -> String {
    let path = column.path().string();
    let is_list = |suffix: &str| path.strip_suffix(suffix).map(str::to_string);
    is_list(".list.element").unwrap_or(path)
}

fn type_name(column: &ColumnDescriptor) -> String {
    let name = match column.logical_type_ref() {
        Some(LogicalType::String) => "string".to_string(),
        Some(LogicalType::Date) => "date".to_string(),
        Some(LogicalType::Timestamp(_)) => "timestamp".to_string(),
        _ => format!("{}", column.physical_type()).to_lowercase(),
    };
    match column.max_rep_level() {
        0 => name,
        _ => format!("list of {name}"),
    }
}
