//! Writing tables into a file or a folder.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use backstory_memory::{Damage, Memory, SessionRow};
use serde::Serialize;

use super::footer::{PartContent, SessionKey, read_footer};
use super::layout::{month_folders, part_files};
use super::options::{TableOptions, TableProgress};
use super::plan::{OldPart, Planner};
use super::schema::Table;
use super::write_parts::write_parts;
use crate::error::{Error, Result};
use crate::files::create_private_folder;
use crate::replacement::{WriteLock, resolve_target};

/// Result of writing tables.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TableReport {
    /// Number of files written.
    pub files_written: u64,
    /// Number of files that were left alone, because none of their sessions changed.
    pub files_unchanged: u64,
    /// Number of sessions in the files written.
    pub sessions_written: u64,
    /// Number of rows written.
    pub rows_written: u64,
    /// Size of the files written.
    pub bytes_written: u64,
    /// Damage that was met in the store: what it concerns is empty in the tables.
    #[serde(skip)]
    pub damage: Vec<Damage>,
    /// Sessions that were left as they are, because the old files have records that the memory lacks.
    #[serde(skip)]
    pub lost: Vec<String>,
    /// Those of them that may have secrets, although others were redacted.
    #[serde(skip)]
    pub unredacted: Vec<String>,
}

impl TableReport {
    fn of_plan(planner: &Planner<'_>) -> Self {
        let ids =
            |keys: &BTreeSet<SessionKey>| keys.iter().map(|key| key.session.clone()).collect();
        TableReport {
            lost: ids(&planner.lost),
            unredacted: ids(&planner.unredacted),
            ..TableReport::default()
        }
    }
}

/// Writes one table of these sessions into a file. A file that is there already must be of the same table. It is replaced if any of these
/// sessions is new or changed, and keeps the rows of its other sessions.
pub fn export_table(
    memory: &Memory,
    sessions: &[SessionRow],
    table: Table,
    file: &Path,
    options: &TableOptions,
    progress: &mut dyn FnMut(TableProgress),
) -> Result<TableReport> {
    let file = &resolve_target(file)?;
    let _lock = WriteLock::acquire(file)?;
    let mut old = existing_part(file, table)?;
    let mut planner = Planner::new(memory, sessions, options, &[table])?;
    planner.rename_redacted(old.iter_mut().map(|content| (file.as_path(), content)))?;
    planner.exclude_incomplete_sessions(old.iter().map(|content| (file.as_path(), content)))?;
    let mut report = TableReport::of_plan(&planner);
    match planner.plan_file(table, file, old.as_ref())? {
        Some(plan) => write_parts(memory, vec![plan], options, progress, &mut report)?,
        None => report.files_unchanged += 1,
    }
    Ok(report)
}

/// Writes all tables of these sessions into a folder, which may have some already: of those, only the parts are written whose sessions
/// changed. Sessions that such a part has and that are not among these are read from the memory, too; rows of one that the memory does not have
/// are copied.
pub fn export_tables(
    memory: &Memory,
    sessions: &[SessionRow],
    folder: &Path,
    options: &TableOptions,
    progress: &mut dyn FnMut(TableProgress),
) -> Result<TableReport> {
    create_private_folder(folder)?;
    let _lock = WriteLock::acquire(folder)?;
    let mut old = Vec::new();
    for table in Table::ALL {
        for (month, path) in month_folders(&folder.join(table.name()))? {
            for part in part_files(&path)? {
                let content = existing_part(&part, table)?;
                old.extend(content.map(|content| (month.clone(), part, content)));
            }
        }
    }
    let mut planner = Planner::new(memory, sessions, options, &Table::ALL)?;
    let contents = old.iter_mut().map(|(_, path, content)| (&**path, content));
    planner.rename_redacted(contents)?;
    let records = old
        .iter()
        .filter(|(_, _, content)| content.table == Table::Events);
    planner
        .exclude_incomplete_sessions(records.map(|(_, path, content)| (path.as_path(), content)))?;
    let mut report = TableReport::of_plan(&planner);
    // A session that has events now leaves the part of those without before it comes into another one.
    let unlisted = planner.plan_unlisted(folder, &old)?;
    let parts = planner.plan_folder(folder, &old)?;
    let targets = unlisted.iter().chain(&parts).flat_map(|plan| &plan.targets);
    let replaced: HashSet<&Path> = targets.map(|target| target.path.as_path()).collect();
    let is_kept = |(_, path, _): &&OldPart| !replaced.contains(path.as_path());
    report.files_unchanged = old.iter().filter(is_kept).count() as u64;
    for plans in [Vec::from_iter(unlisted), parts] {
        write_parts(memory, plans, options, progress, &mut report)?;
    }
    Ok(report)
}

/// Returns the content of the file that would be replaced; `None` when there is none.
fn existing_part(path: &Path, table: Table) -> Result<Option<PartContent>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io(path)(error)),
        Ok(_) => {}
    }
    let (metadata, _) = read_footer(path).map_err(Error::into_target_error)?;
    let refuse = |what: String| {
        Err(Error::BadTarget {
            path: path.to_owned(),
            what,
        })
    };
    match PartContent::from_metadata(&metadata) {
        None => {
            refuse("is a Parquet file that Backstory did not write, and is not replaced: write to another file".to_string())
        }
        Some(content) if content.table != table => refuse(format!(
            "has the table {}: write to another file",
            content.table.name()
        )),
        content => Ok(content),
    }
}
