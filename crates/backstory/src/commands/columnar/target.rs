//! Targets of columnar files, and reports of what was written.

use std::path::{Path, PathBuf};

use backstory_columnar::{
    ExportOptions, ExportReport, Table, TableOptions, TableProgress, TableReport, export_file,
    export_folder, export_table, export_tables, is_in_use,
};
use backstory_memory::{Memory, Problem, SessionRow};
use serde::Serialize;

use super::session_file::lower_extension;
use crate::cli::{ColumnarFormat, OutputArgs, TableName};
use crate::error::Error;
use crate::output::{counted, one_line, progress_bar, short_bytes, warn};
use crate::setting::now;

/// Bytes of memory that adding to a session takes for each byte of its logs. Measured: 4.1 with 200 MB, 4.7 with 50 MB.
const MEMORY_PER_LOG_BYTE: u64 = 5;

/// Path and format of columnar files.
pub(super) enum Target {
    H5File(PathBuf),
    H5Folder(PathBuf),
    Table(PathBuf, Table),
    Tables(PathBuf),
}

/// Sessions that are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Selection {
    /// Those of logs, which can be fewer than before.
    Logs,
    /// All of a store.
    All,
    /// Some of a store.
    Some,
}

/// Report of what was written.
#[derive(Serialize)]
pub(super) struct Written {
    #[serde(skip)]
    pub(super) text: String,
    /// Path as text: bytes that are no UTF-8 cannot stand in JSON.
    output: String,
    #[serde(flatten)]
    report: WrittenReport,
    /// Sessions, and damage of the store, with the reason why they are not in the files.
    pub(super) failed: Vec<FailedPart>,
    /// Paths that could not be read or hold no log; none where logs were not named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problems: Option<Vec<Problem>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WrittenReport {
    Sessions(ExportReport),
    Tables(TableReport),
}

/// Something that could not be written.
#[derive(Serialize)]
pub(super) struct FailedPart {
    pub(super) session: Option<String>,
    pub(super) reason: String,
}

impl Target {
    pub(super) fn from_arguments(output: &OutputArgs) -> Result<Self, Error> {
        let path = output.output.clone();
        let extension = lower_extension(&path);
        let is_folder = path.is_dir() || ends_with_separator(&path);
        // A folder of HDF5 files is not what such a name asks for.
        let has_tables = is_folder && extension.as_deref() == Some("parquet");
        let format = output
            .format
            .or(has_tables.then_some(ColumnarFormat::Parquet));
        let extension = extension.as_deref().filter(|_| !is_folder);
        let refuse = |message: String| {
            let hint = "give FILE.h5, FILE.parquet or a folder to -o; end the name of a new folder with a slash if it has a dot";
            Err(Error::usage(message).hint(hint))
        };
        let target = match (extension, format) {
            (Some("h5" | "hdf5"), None | Some(ColumnarFormat::H5)) => Target::H5File(path),
            (Some("parquet"), None | Some(ColumnarFormat::Parquet)) => {
                let table = output.table.unwrap_or(TableName::Events);
                return Ok(Target::Table(path, table.into()));
            }
            (Some("h5" | "hdf5" | "parquet"), Some(_)) => {
                return refuse(format!("{} is not of that --format", path.display()));
            }
            (None, None | Some(ColumnarFormat::H5)) if is_folder_name(&path) => {
                Target::H5Folder(path)
            }
            (None, Some(ColumnarFormat::Parquet)) if is_folder_name(&path) => Target::Tables(path),
            _ if path.is_file() => {
                return refuse(format!(
                    "{} exists, and its name is not that of a columnar file",
                    path.display()
                ));
            }
            _ => {
                return refuse(format!(
                    "{} is not the name of a columnar file",
                    path.display()
                ));
            }
        };
        match output.table {
            Some(_) => Err(Error::usage("--table is for FILE.parquet only")
                .hint("a folder with --format parquet has all tables")),
            None => Ok(target),
        }
    }

    pub(super) fn write(
        &self,
        memory: &Memory,
        sessions: &[SessionRow],
        selection: Selection,
        options: &ExportOptions<'_>,
    ) -> Result<Written, Error> {
        // Files in a folder of HDF5 files are locked one by one.
        if let Target::H5File(path) | Target::Table(path, _) | Target::Tables(path) = self
            && is_in_use(path)
        {
            warn(&format!(
                "waiting until no other program writes {} or has it open",
                path.display()
            ));
        }
        if let Target::H5File(_) | Target::H5Folder(_) = self {
            warn_of_memory(memory, sessions)?;
        }
        let bar = progress_bar("{msg} [{bar:30}] {pos}/{len} sessions, {eta} left");
        bar.set_length(sessions.len() as u64);
        let progress = |done: u64| bar.set_position(done);
        let mut table_progress = |progress: TableProgress| {
            bar.set_length(progress.sessions_total);
            bar.set_position(progress.sessions_written);
        };
        let tables = TableOptions {
            threads: options.threads,
            with_unlisted_usage: selection != Selection::Some,
            preserve_missing_rows: selection == Selection::Logs,
            redactor: options.redactor,
            ..TableOptions::new(now())
        };
        let written = match self {
            Target::H5File(path) => {
                export_file(memory, sessions, path, options, &progress).map(report_files(path))
            }
            Target::H5Folder(path) => {
                export_folder(memory, sessions, path, options, &progress).map(report_files(path))
            }
            Target::Table(path, table) => {
                export_table(memory, sessions, *table, path, &tables, &mut table_progress)
                    .map(report_tables(path))
            }
            Target::Tables(path) => {
                export_tables(memory, sessions, path, &tables, &mut table_progress)
                    .map(report_tables(path))
            }
        };
        bar.finish_and_clear();
        Ok(written?)
    }
}

/// Returns whether files can be written into a folder of this name.
fn is_folder_name(path: &Path) -> bool {
    // Without a slash at its end, for which the system finds no file.
    let path: PathBuf = path.components().collect();
    (path.is_dir() || !path.exists()) && path.as_os_str() != "-"
}

fn ends_with_separator(path: &Path) -> bool {
    let name = path.as_os_str().to_string_lossy();
    name.ends_with(std::path::is_separator)
}

/// Warns if the largest session needs more than half of the machine's memory, where the system says how much there is.
fn warn_of_memory(memory: &Memory, sessions: &[SessionRow]) -> Result<(), Error> {
    let Some(total) = total_memory() else {
        return Ok(());
    };
    let mut largest = 0;
    for row in sessions {
        let logs = memory.sessions().open(row.clone()).logs()?;
        largest = largest.max(logs.iter().map(|log| log.length).sum());
    }
    let needed = largest.saturating_mul(MEMORY_PER_LOG_BYTE);
    if needed > total / 2 {
        warn(&format!(
            "the largest session has logs of {} and takes about {} of memory, more than half of what there is",
            short_bytes(largest),
            short_bytes(needed)
        ));
    }
    Ok(())
}

fn total_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

fn report_files(path: &Path) -> impl FnOnce(ExportReport) -> Written + '_ {
    move |report| {
        let failed = report.failed.iter();
        let failed = failed.map(|(session, reason)| (session, reason.clone()));
        let damage = report.damage.iter();
        let damage = damage.map(|(session, damage)| (session, damage.to_string()));
        let failed = failed.chain(damage).map(|(session, reason)| FailedPart {
            session: Some(session.clone()),
            reason,
        });
        Written {
            text: format!(
                "{}: {} written, {} unchanged, {}, {}, {}",
                path.display(),
                counted(report.written, "session"),
                report.unchanged,
                counted(report.messages, "message"),
                counted(report.tool_calls, "tool call"),
                short_bytes(report.bytes),
            ),
            output: path.to_string_lossy().into_owned(),
            failed: failed.collect(),
            problems: None,
            report: WrittenReport::Sessions(report),
        }
    }
}

fn report_tables(path: &Path) -> impl FnOnce(TableReport) -> Written + '_ {
    move |report| {
        let lost = report.lost.iter().map(|session| Problem {
            path: path.to_path_buf(),
            reason: format!(
                "session {} has rows that the logs lack; it was not written{}",
                one_line(session),
                match report.unredacted.contains(session) {
                    true => ", and may still have the secrets that --redact off left in it",
                    false => "",
                }
            ),
        });
        let lost: Vec<Problem> = lost.collect();
        let failed = report.damage.iter().map(|damage| FailedPart {
            session: None,
            reason: damage.to_string(),
        });
        Written {
            text: format!(
                "{}: {} written, {} unchanged, {}, {}, {}",
                path.display(),
                counted(report.files_written, "file"),
                report.files_unchanged,
                counted(report.sessions_written, "session"),
                counted(report.rows_written, "row"),
                short_bytes(report.bytes_written),
            ),
            output: path.to_string_lossy().into_owned(),
            failed: failed.collect(),
            problems: (!lost.is_empty()).then_some(lost),
            report: WrittenReport::Tables(report),
        }
    }
}
