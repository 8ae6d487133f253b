//! Export of a memory's sessions to one HDF5 file, or to a file each in a folder.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use backstory_memory::{Damage, Memory, Redactor, SessionRow, TextEmbedder};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::files::create_private_folder;
use crate::redaction::RedactedIdentity;
use crate::replacement::rename_target;
use crate::rows::{AttributeValue, SessionColumns};
use crate::session_columns::{
    NamedSession, ReadColumns, STATE_ATTRIBUTE, name_sessions, read_columns, session_state,
    started_seconds,
};
use crate::session_file::{SessionFile, WriteOptions, write_sessions};

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
    let stored = StoredSessions::read(path)?;
    let mut report = ExportReport::default();
    let mut changed = Vec::new();
    for named in name_sessions(sessions) {
        match stored.has_unchanged(memory, &named, options) {
            Ok(true) => report.unchanged += 1,
            Ok(false) => changed.push(named),
            Err(error @ Error::Memory(_)) => report.add_failed(&named.row, &error),
            Err(error) => return Err(error),
        }
    }
    progress(report.done_sessions());
    let has_changed = !changed.is_empty();
    if has_changed || stored.sessions.is_empty() && report.failed.is_empty() {
        // Sessions are read while those before them are compressed. More readers gain nothing that is worth their memory.
        let reader = memory.open_reader()?.ok_or(Error::NoStore)?;
        let write_options = WriteOptions {
            threads: options.threads,
            redactor: options.redactor,
            ..WriteOptions::default()
        };
        let (sender, receiver) = mpsc::sync_channel(0);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for named in changed {
                    let read = read_columns(&reader, &named.row, &named.name, options);
                    if sender.send((named.row, read)).is_err() {
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
    let sessions = name_sessions(sessions);
    let redacted = find_redacted_files(folder, &sessions)?;
    let next = AtomicUsize::new(0);
    let report = Mutex::new(Ok(ExportReport::default()));
    let large = Mutex::new(());
    let work = |memory: Memory| {
        while let Some(named) = sessions.get(next.fetch_add(1, Ordering::Relaxed)) {
            let path = folder.join(file_name(&named.name));
            let old = redacted.get(&named.name).map(PathBuf::as_path);
            let one = export_one(&memory, named, (&path, old), options, &large);
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
                one => sum.add_result(&named.row, one),
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

/// Returns the name of a session's file: no shell takes it for an option, and no listing hides it. Characters that it cannot have are
/// percent-encoded, so that two sessions never have one file.
fn file_name(name: &str) -> String {
    let mut encoded = String::new();
    for (at, character) in name.char_indices() {
        let is_encoded = match character {
            '-' | '.' => at == 0,
            '%' => is_percent_encoding(&name[at..]),
            character => character.is_control(),
        };
        let mut bytes = [0; 4];
        match is_encoded {
            true => encoded.extend(
                character
                    .encode_utf8(&mut bytes)
                    .bytes()
                    .map(|byte| format!("%{byte:02X}")),
            ),
            false => encoded.push(character),
        }
    }
    format!("{encoded}.h5")
}

/// Returns whether a text begins with `%` and two hexadecimal digits.
fn is_percent_encoding(text: &str) -> bool {
    let digits = text.bytes().skip(1).take(2);
    digits.filter(u8::is_ascii_hexdigit).count() == 2
}

/// Returns the files of sessions whose ids have secrets and were redacted otherwise, by the names that the sessions have now.
fn find_redacted_files(
    folder: &Path,
    sessions: &[NamedSession],
) -> Result<HashMap<String, PathBuf>> {
    let mut wanted = HashMap::new();
    for NamedSession { row, name } in sessions {
        if let Some(identity) =
            RedactedIdentity::new(&row.agent, &row.session, started_seconds(row))
        {
            wanted.insert(identity, name);
        }
    }
    let mut found = HashMap::new();
    if wanted.is_empty() {
        return Ok(found);
    }
    let current: HashSet<String> = sessions
        .iter()
        .map(|named| file_name(&named.name))
        .collect();
    for entry in std::fs::read_dir(folder).map_err(Error::io(folder))? {
        let entry = entry.map_err(Error::io(folder))?;
        let path = entry.path();
        let is_current = entry
            .file_name()
            .to_str()
            .is_none_or(|name| current.contains(name));
        if is_current || path.extension().is_none_or(|extension| extension != "h5") {
            continue;
        }
        // Others may have put anything there.
        let Ok(stored) = StoredSessions::read(&path) else {
            continue;
        };
        if stored.sessions.len() == 1
            && let Some(identity) = stored.redacted.keys().next()
            && let Some(name) = wanted.get(identity)
        {
            found.insert((*name).clone(), path);
        }
    }
    Ok(found)
}

/// Writes one session to a file of its own, in place of the old one, if there is one under another name. `large` is held while that takes
/// much memory.
fn export_one(
    memory: &Memory,
    named: &NamedSession,
    (path, old): (&Path, Option<&Path>),
    options: &ExportOptions<'_>,
    large: &Mutex<()>,
) -> Result<ExportReport> {
    let mut report = ExportReport::default();
    let mut path = path;
    if let Some(old) = old.filter(|_| !path.exists()) {
        match StoredSessions::read(old)?.has_unchanged(memory, named, options)? {
            true => path = old,
            false => rename_target(old, path)?,
        }
    }
    if StoredSessions::read(path)?.has_unchanged(memory, named, options)? {
        report.unchanged = 1;
    } else {
        let session = memory.sessions().open(named.row.clone());
        let write_options = WriteOptions {
            threads: 1,
            redactor: options.redactor,
            ..WriteOptions::default()
        };
        let bytes: u64 = session.logs()?.iter().map(|log| log.length).sum();
        let _alone = (bytes > LARGE_LOG_BYTES).then(|| large.lock());
        let read = read_columns(memory, &named.row, &named.name, options)?;
        let columns = report.count_session(&named.row, read);
        write_sessions(path, SOURCE, std::iter::once(Ok(columns)), &write_options)?;
    }
    report.bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    Ok(report)
}

/// A session as a file has it.
struct StoredSession {
    agent: String,
    id: Option<String>,
    state: Option<String>,
}

/// Sessions that a file has, by name.
struct StoredSessions<'a> {
    path: &'a Path,
    sessions: HashMap<String, StoredSession>,
    /// Names of those whose ids have secrets.
    redacted: HashMap<RedactedIdentity, String>,
}

impl<'a> StoredSessions<'a> {
    /// Reads what a file has; nothing when there is no file.
    fn read(path: &'a Path) -> Result<Self> {
        let mut sessions = HashMap::new();
        let mut redacted = HashMap::new();
        match SessionFile::open(path) {
            Ok(file) => {
                for session in file.all_sessions()? {
                    let attributes = session.attributes()?;
                    if let Some(identity) = RedactedIdentity::of_group(session.id(), &attributes) {
                        redacted.insert(identity, session.id().to_string());
                    }
                    let mut other = attributes.other.into_iter();
                    let state = other.find_map(|(name, value)| match value {
                        AttributeValue::Text(state) if name == STATE_ATTRIBUTE => Some(state),
                        _ => None,
                    });
                    let stored = StoredSession {
                        agent: attributes.agent,
                        id: attributes.session_id_original,
                        state,
                    };
                    sessions.insert(session.id().to_string(), stored);
                }
            }
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.of_output()),
        }
        Ok(StoredSessions {
            path,
            sessions,
            redacted,
        })
    }

    /// Returns the session whose id was redacted otherwise.
    fn find_redacted(&self, row: &SessionRow) -> Option<&StoredSession> {
        if self.redacted.is_empty() {
            return None;
        }
        let identity = RedactedIdentity::new(&row.agent, &row.session, started_seconds(row))?;
        self.sessions.get(self.redacted.get(&identity)?)
    }

    /// Returns whether the file has a session as it is now. One of the same name that is another session is an error: its rows would be
    /// mixed with those of this one.
    fn has_unchanged(
        &self,
        memory: &Memory,
        named: &NamedSession,
        options: &ExportOptions<'_>,
    ) -> Result<bool> {
        let redacted = self.find_redacted(&named.row);
        let Some(stored) = redacted.or_else(|| self.sessions.get(&named.name)) else {
            return Ok(false);
        };
        // Files of others name no agent, and not always the id.
        let has_other_agent = !stored.agent.is_empty() && stored.agent != named.row.agent;
        let has_other_id = stored
            .id
            .as_ref()
            .is_some_and(|id| *id != named.row.session);
        if has_other_agent || has_other_id && redacted.is_none() {
            return Err(Error::BadTarget {
                path: self.path.to_owned(),
                what: format!(
                    "has another session named \"{}\": write to a new file",
                    named.name
                ),
            });
        }
        let session = memory.sessions().open(named.row.clone());
        Ok(stored.state == Some(session_state(&session, options)?))
    }
}

impl ExportReport {
    /// Number of sessions that need no more work.
    fn done_sessions(&self) -> u64 {
        self.written + self.unchanged + self.failed.len() as u64
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_those_of_sessions_and_distinct() {
        for (name, file) in [
            (
                "0f8fad5b-d9cb-469f-a165-70867728950e",
                "0f8fad5b-d9cb-469f-a165-70867728950e.h5",
            ),
            ("a_b", "a_b.h5"),
            ("100%.ü", "100%.ü.h5"),
            ("a\nb", "a%0Ab.h5"),
            ("a\u{85}b", "a%C2%85b.h5"),
            ("a%0Ab", "a%250Ab.h5"),
            ("-rf", "%2Drf.h5"),
            (".a", "%2Ea.h5"),
            ("_.a", "_.a.h5"),
            ("%", "%.h5"),
            ("%é1", "%é1.h5"),
        ] {
            assert_eq!(file_name(name), file);
        }
    }
}
