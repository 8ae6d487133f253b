//! Layout of a folder of tables: `TABLE/month=2026-11/part-2026-11-18.parquet`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use backstory_memory::TimeMs;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::schema::Table;
use crate::error::{Error, Result};

/// Beginning of the names of the folders of months, as Hive has it.
const MONTH_PREFIX: &str = "month=";

/// Month of sessions whose start is not known: DuckDB and polars read it as null.
pub(super) const NO_MONTH: &str = "__HIVE_DEFAULT_PARTITION__";

/// Part of sessions whose start is not known.
const NO_DAY_PART: &str = "unknown";

/// Part of sessions that used tokens and have no event of their own.
pub(super) const UNLISTED_PART: &str = "unlisted";

/// Returns the month and the part, a day in UTC, of a session that started at this time.
pub(super) fn month_and_part(started_at: Option<TimeMs>) -> (String, String) {
    let time = started_at.and_then(|at| Timestamp::from_millisecond(at.get()).ok());
    let Some(time) = time else {
        return (NO_MONTH.to_string(), NO_DAY_PART.to_string());
    };
    let date = time.to_zoned(TimeZone::UTC).date();
    (
        format!("{:04}-{:02}", date.year(), date.month()),
        date.to_string(),
    )
}

/// Returns the months of a table with their folders, in order.
pub(super) fn month_folders(table: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut months = Vec::new();
    for (name, path) in entries_of(table)? {
        if let Some(month) = name.strip_prefix(MONTH_PREFIX)
            && path.is_dir()
        {
            months.push((month.to_string(), path));
        }
    }
    Ok(months)
}

/// Returns the parts in the folder of a month, in order.
pub(super) fn part_files(month: &Path) -> Result<Vec<PathBuf>> {
    let is_part = |name: &str| name.starts_with("part-") && name.ends_with(".parquet");
    let entries = entries_of(month)?.into_iter();
    Ok(entries
        .filter(|(name, _)| is_part(name))
        .map(|(_, path)| path)
        .collect())
}

/// Returns where the part of a table lies.
pub(super) fn part_path(folder: &Path, table: Table, month: &str, part: &str) -> PathBuf {
    let month = format!("{MONTH_PREFIX}{month}");
    folder
        .join(table.name())
        .join(month)
        .join(format!("part-{part}.parquet"))
}

fn entries_of(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let listed = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.map_err(Error::io(folder))?,
    };
    let mut entries = Vec::new();
    for entry in listed {
        let entry = entry.map_err(Error::io(folder))?;
        if let Ok(name) = entry.file_name().into_string() {
            entries.push((name, entry.path()));
        }
    }
    entries.sort();
    Ok(entries)
}
