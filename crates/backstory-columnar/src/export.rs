//! Export of a memory's sessions to one HDF5 file, or to a file each in a folder.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use backstory_memory::{Damage, Memory, Redactor, SessionRow, TextEmbedder};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::files::create_private_folder;
use crate::placement::{PlacedSession, SessionTarget, file_name, place_sessions};
use crate::replacement::rename_target;
use crate::rows::SessionColumns;
use crate::session_columns::{ReadColumns, read_columns, session_state};
use crate::session_file::{WriteOptions, write_sessions};

/// Attribute `source` of the files that are written.
const SOURCE: &str = "backstory";

/// Sessions with more bytes of logs are written to a folder one after the other, to bound memory.
const LARGE_LOG_BYTES: u64 = 16 << 20;

/// Options of an export.
#[derive(Clone, Copy)]
pub struct ExportOptions<'a> {
    /// Threads that read and compress.
    pub threads: usize,
    /// The redactor, if secrets are redacted. Rows that a file has from before are redacted, too.
    pub redactor: Option<Redactor>,
    /// Model that embeds the text of every message.
    pub embedder: Option<&'a TextEmbedder>,
}

impl ExportOptions<'_> {
    fn write_options(&self, threads: usize) -> WriteOptions {
        WriteOptions {
            threads,
            redactor: self.redactor,
        }
    }
}

/// Result of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ExportReport {
    /// Sessions that were written, because they are new or have changed.
    pub written: u64,
    /// Sessions that the target has already.
    pub unchanged: u64,
    /// Messages of the sessions that were written.
    pub messages: u64,
    /// Tool calls of the sessions that were written.
    pub tool_calls: u64,
    /// Bytes of all files of these sessions.
    pub bytes: u64,
    /// Sessions that could not be written, each with the reason.
    #[serde(skip)]
    pub failed: Vec<(String, String)>,
    /// Damage that was met in the store, with the session: its rows are written without what is damaged.
    #[serde(skip)]
    pub damage: Vec<(String, Damage)>,
}

/// Called with the number of sessions that are done.
pub type ExportProgress<'a> = &'a (dyn Fn(u64) + Sync);

/// Writes sessions to one file. An existing file is rebuilt beside it and replaced, and keeps what else it has; if it has all of them
/// already, it is left alone.
pub fn export_file(
    memory: &Memory,
    sessions: &[SessionRow],
    path: &Path,
    options: &ExportOptions<'_>,
    progress: ExportProgress<'_>,
) -> Result<ExportReport> {
    let target = SessionTarget::file(path)?;
    let mut report = ExportReport::default();
    let mut changed = Vec::new();
    for placed in report.place_sessions(memory, sessions, &target, options)? {
        match is_unchanged(memory, &placed, options) {
            Ok(true) => report.unchanged += 1,
            Ok(false) => changed.push(placed),
            Err(error @ Error::Memory(_)) => report.add_failed(&placed.row, &error),
            Err(error) => return Err(error),
        }
    }
    progress(report.done_sessions());
    let has_changed = !changed.is_empty();
    if has_changed || target.is_empty_file() && report.failed.is_empty() {
        // Sessions are read while those before them are compressed. More readers gain nothing that is worth their memory.
        let reader = memory.open_reader()?.ok_or(Error::NoStore)?;
        let write_options = options.write_options(options.threads);
        let (sender, receiver) = mpsc::sync_channel(0);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for placed in changed {
                    let read = read_placed(&reader, &placed, options);
                    if sender.send((placed.row, read)).is_err() {
                        return;
                    }
                }
            });
            let received = receiver.into_iter().filter_map(|(row, read)| {
                let columns = report.add_read(&row, read);
                progress(report.done_sessions());
                columns.map(Ok)
            });
            let mut received = received.peekable();
            match received.peek() {
                // None could be read: the file stays as it is.
                None if has_changed => Ok(()),
                _ => write_sessions(path, SOURCE, received, &write_options).map(drop),
            }
        })?;
    }
    report.bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    Ok(report)
}

/// Writes each session to a file of its own in a folder, `<session>.h5`. Files of sessions that have not changed are left alone. An error of
/// the system ends it; a session that cannot be read or added to its file does not, and is in the report.
pub fn export_folder(
    memory: &Memory,
    sessions: &[SessionRow],
    folder: &Path,
    options: &ExportOptions<'_>,
    progress: ExportProgress<'_>,
) -> Result<ExportReport> {
    create_private_folder(folder)?;
    let mut report = ExportReport::default();
    let target = SessionTarget::folder(folder)?;
    let sessions = report.place_sessions(memory, sessions, &target, options)?;
    let next = AtomicUsize::new(0);
    let report = Mutex::new(Ok(report));
    let large = Mutex::new(());
    let work = |memory: Memory| {
        while let Some(placed) = sessions.get(next.fetch_add(1, Ordering::Relaxed)) {
            let path = folder.join(file_name(&placed.name));
            let one = export_one(&memory, placed, &path, options, &large);
            let Ok(mut report) = report.lock() else {
                return;
            };
            let Ok(sum) = report.as_mut() else {
                return;
            };
            match one {
                // The next one could not be written, either.
                Err(error @ Error::Io { .. }) => {
                    *report = Err(error);
                    return;
                }
                one => sum.add_result(&placed.row, one),
            }
            progress(sum.done_sessions());
        }
    };
    let mut readers = Vec::new();
    for _ in 0..options.threads.max(1) {
        readers.push(memory.open_reader()?.ok_or(Error::NoStore)?);
    }
    std::thread::scope(|scope| {
        for reader in readers {
            scope.spawn(|| work(reader));
        }
    });
    report.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Writes one session to a file of its own, in place of the old one, if there is one under another name. `large` is held while that takes
/// much memory.
fn export_one(
    memory: &Memory,
    placed: &PlacedSession,
    path: &Path,
    options: &ExportOptions<'_>,
    large: &Mutex<()>,
) -> Result<ExportReport> {
    let mut report = ExportReport::default();
    let mut path = path;
    let is_unchanged = is_unchanged(memory, placed, options)?;
    if let Some(old) = &placed.old
        && old.path != path
    {
        match is_unchanged {
            true => path = &old.path,
            false => rename_target(&old.path, path)?,
        }
    }
    if is_unchanged {
        report.unchanged = 1;
    } else {
        let session = memory.sessions().open(placed.row.clone());
        let write_options = options.write_options(1);
        let bytes: u64 = session.logs()?.iter().map(|log| log.length).sum();
        let _alone = (bytes > LARGE_LOG_BYTES).then(|| large.lock());
        let read = read_placed(memory, placed, options)?;
        let columns = report.count_session(&placed.row, read);
        write_sessions(path, SOURCE, std::iter::once(Ok(columns)), &write_options)?;
    }
    report.bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    Ok(report)
}

/// Returns whether the target has a session as it is now.
fn is_unchanged(
    memory: &Memory,
    placed: &PlacedSession,
    options: &ExportOptions<'_>,
) -> Result<bool> {
    let Some(old) = &placed.old else {
        return Ok(false);
    };
    let session = memory.sessions().open(placed.row.clone());
    Ok(old.state == Some(session_state(&session, options)?))
}

fn read_placed(
    memory: &Memory,
    placed: &PlacedSession,
    options: &ExportOptions<'_>,
) -> Result<ReadColumns> {
    let mut read = read_columns(memory, &placed.row, &placed.name, options)?;
    read.columns.replaced = placed.old.as_ref().map(|old| old.name.clone());
    Ok(read)
}

impl ExportReport {
    /// Number of sessions that need no more work.
    fn done_sessions(&self) -> u64 {
        self.written + self.unchanged + self.failed.len() as u64
    }

    /// Finds the places of sessions; counts those that have none.
    fn place_sessions(
        &mut self,
        memory: &Memory,
        sessions: &[SessionRow],
        target: &SessionTarget<'_>,
        options: &ExportOptions<'_>,
    ) -> Result<Vec<PlacedSession>> {
        let placement = place_sessions(memory, sessions, target, options.redactor.as_ref())?;
        for (row, error) in placement.failed {
            match error {
                Error::Io { .. } => return Err(error),
                error => self.add_failed(&row, &error),
            }
        }
        Ok(placement.placed)
    }

    /// Counts a session that will be written, and returns its columns.
    fn count_session(&mut self, row: &SessionRow, read: ReadColumns) -> SessionColumns {
        let ReadColumns { columns, damage } = read;
        self.written += 1;
        self.messages += columns.messages.len() as u64;
        self.tool_calls += columns.tool_calls.len() as u64;
        let damage = damage.into_iter();
        self.damage
            .extend(damage.map(|damage| (row.session.clone(), damage)));
        columns
    }

    /// Counts a session that was read, and returns its columns; `None` when it could not be read.
    fn add_read(&mut self, row: &SessionRow, read: Result<ReadColumns>) -> Option<SessionColumns> {
        match read {
            Ok(read) => Some(self.count_session(row, read)),
            Err(error) => {
                self.add_failed(row, &error);
                None
            }
        }
    }

    fn add_failed(&mut self, row: &SessionRow, error: &Error) {
        self.failed.push((row.session.clone(), error.to_string()));
    }

    fn add_result(&mut self, row: &SessionRow, one: Result<ExportReport>) {
        match one {
            Ok(one) => {
                self.written += one.written;
                self.unchanged += one.unchanged;
                self.messages += one.messages;
                self.tool_calls += one.tool_calls;
                self.bytes += one.bytes;
                self.damage.extend(one.damage);
            }
            Err(error) => self.add_failed(row, &error),
        }
    }
}
