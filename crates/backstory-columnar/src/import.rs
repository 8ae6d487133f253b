//! Logs out of session files, to be imported by a memory.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use backstory_memory::{LoggedResponse, ProvidedLog, WrittenRecord};
use serde_json::Value;

use crate::added_calls::AddedCalls;
use crate::error::{Error, Result};
use crate::rows::{Message, SessionAttributes};
use crate::session_file::{AnswerStep, AnswerTracker, Session, SessionFile, max_log_bytes};

/// Number of rows that are read at once.
const ROWS_AT_ONCE: u64 = 1000;

/// Logs out of a session file.
#[derive(Debug, Default)]
pub struct UnpackedLogs {
    /// The logs.
    pub logs: Vec<ProvidedLog>,
    /// Sessions of which nothing can be imported, each with the reason.
    pub failed: Vec<(String, String)>,
}

/// Unpacks the logs of all sessions of a file into `folder`, which must be private. A session without logs, and rows that others
/// added to one with logs, are written down as a log.
pub fn unpack_logs(path: &Path, folder: &Path) -> Result<UnpackedLogs> {
    let file = SessionFile::open(path)?;
    let bytes = std::fs::metadata(path).map_err(Error::io(path))?.len();
    let mut unpacker = Unpacker {
        container: std::path::absolute(path).map_err(Error::io(path))?,
        folder,
        bytes_left: max_log_bytes(bytes),
        contents: HashMap::new(),
        paths: HashSet::new(),
        unpacked: UnpackedLogs::default(),
    };
    for session in file.distinct_sessions()? {
        let unpacked = unpacker.unpack_session(&session);
        if unpacker.bytes_left == 0 {
            return Err(Error::Damaged {
                path: path.to_owned(),
                place: "the group of logs".to_string(),
                what: "its logs are too long for a file of this size".to_string(),
            });
        }
        match unpacked {
            Ok(()) => {}
            // The next one could not be unpacked, either.
            Err(error @ Error::Io { .. }) => return Err(error),
            Err(error) => {
                let id = session.id().to_string();
                unpacker.unpacked.failed.push((id, error.to_string()));
            }
        }
    }
    Ok(unpacker.unpacked)
}

struct Unpacker<'a> {
    container: PathBuf,
    folder: &'a Path,
    bytes_left: u64,
    /// Contents of the logs of each path.
    contents: HashMap<String, HashSet<blake3::Hash>>,
    /// Paths by which logs are known.
    paths: HashSet<String>,
    unpacked: UnpackedLogs,
}

impl Unpacker<'_> {
    fn unpack_session(&mut self, session: &Session<'_>) -> Result<()> {
        let id = session.id();
        let stored = session.logs()?;
        let attributes = session.attributes()?;
        for log in &stored {
            self.add_log(&log.agent, &log.path, |out| {
                session.unpack_log(log, out).map(|_| ())
            })?;
        }
        let is_written = matches!(attributes.agent.as_str(), "" | WrittenRecord::AGENT);
        let rows = match stored.is_empty() {
            true if attributes.agent.is_empty() && session.has_only_logged_rows()? => {
                return Ok(());
            }
            true => RowChoice::All,
            false => RowChoice::Appended,
        };
        let has_others = rows == RowChoice::All || session.has_rows_of_others()?;
        if !is_written {
            if !has_others {
                return Ok(());
            }
            let reason = "it has rows without a log".to_string();
            self.unpacked.failed.push((id.to_string(), reason));
            return Ok(());
        }
        // The package's API adds calls without messages.
        let calls = AddedCalls::find(session)?;
        if !has_others && calls.is_empty() {
            return Ok(());
        }
        let path = match rows {
            RowChoice::All => format!("/{id}.jsonl"),
            RowChoice::Appended => format!("/{id}-appended.jsonl"),
        };
        self.add_log(WrittenRecord::AGENT, &path, |out| {
            write_rows(session, &attributes, rows, calls, out)
        })
    }

    fn add_log(
        &mut self,
        agent: &str,
        path: &str,
        write: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<()> {
        let file = self.folder.join(self.unpacked.logs.len().to_string());
        let out = File::create(&file).map_err(Error::io(&file))?;
        let mut out = LimitedWriter {
            out: BufWriter::new(out),
            bytes_left: &mut self.bytes_left,
            refused: None,
            content: blake3::Hasher::new(),
        };
        let written = write(&mut out);
        if let Some(refused) = out.refused {
            return Err(Error::io(&file)(refused));
        }
        written?;
        out.flush().map_err(Error::io(&file))?;
        let content = out.content.finalize();
        if let Some(path) = self.distinct_path(path, content) {
            self.unpacked.logs.push(ProvidedLog {
                agent: agent.to_string(),
                container: self.container.clone(),
                path,
                file,
            });
        }
        Ok(())
    }

    /// Returns a path by which no other log of the file is known: logs of several machines or times may have had the same one. `None` for
    /// a log that sessions share, which is unpacked already.
    fn distinct_path(&mut self, path: &str, content: blake3::Hash) -> Option<String> {
        let known = self.contents.entry(path.to_string()).or_default();
        if !known.insert(content) {
            return None;
        }
        let numbered = |number| match number {
            1 => path.to_string(),
            _ => format!("/{number}/{}", path.trim_start_matches('/')),
        };
        let mut names = (known.len()..).map(numbered);
        names.find(|name| self.paths.insert(name.clone()))
    }
}

/// Writer with a limit that several writers share.
struct LimitedWriter<'a, W> {
    out: W,
    bytes_left: &'a mut u64,
    /// Error of the output. Whoever writes to it knows only the file that is read.
    refused: Option<io::Error>,
    /// Hash of what was written.
    content: blake3::Hasher,
}

impl<W: Write> Write for LimitedWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self.bytes_left = self.bytes_left.saturating_sub(bytes.len() as u64);
        if *self.bytes_left == 0 {
            return Err(io::Error::other("more than such a file can hold"));
        }
        let written = self.out.write(bytes).map_err(|error| {
            let kind = error.kind();
            self.refused = Some(error);
            io::Error::from(kind)
        })?;
        self.content.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Rows of a session that are written as a log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowChoice {
    All,
    /// Rows appended by other programs.
    Appended,
}

/// Writes rows of a session as lines of a log.
fn write_rows(
    session: &Session<'_>,
    attributes: &SessionAttributes,
    choice: RowChoice,
    mut calls: AddedCalls,
    out: &mut dyn Write,
) -> Result<()> {
    let rows = session.message_count()?;
    let appended = session.appended_rows()?;
    let is_repeated = |row| appended.as_ref().is_some_and(|rows| rows.is_repeated(row));
    let write_error = || Error::io(Path::new(session.id()));
    let mut write_calls = |before: f64, out: &mut dyn Write| -> Result<()> {
        while let Some(lines) = calls.next_log_lines(before, session.id(), attributes) {
            for line in lines {
                writeln!(out, "{line}").map_err(write_error())?;
            }
        }
        Ok(())
    };
    let mut from = 0;
    let mut responses = Responses::new(session);
    while from < rows {
        let to = rows.min(from + ROWS_AT_ONCE);
        for (row, message) in (from..).zip(session.messages(from..to)?) {
            let is_logged = choice == RowChoice::Appended && message.seq > 0;
            let is_logged = is_logged || is_repeated(row);
            let response = responses.advance_to(&message, is_logged);
            if is_logged {
                continue;
            }
            write_calls(message.timestamp, out)?;
            let line = log_line(session.id(), attributes, &message, &response);
            writeln!(out, "{line}").map_err(write_error())?;
        }
        from = to;
    }
    write_calls(f64::INFINITY, out)
}

/// Ids of the responses that rows belong to. Agents log a response as several records, each with its whole usage, which counts once.
struct Responses<'a, 'f> {
    session: &'a Session<'f>,
    answers: AnswerTracker,
    /// Response of the current answer, or one that has the id of its first row.
    current: LoggedResponse,
    /// Whether a log has the first row of the current answer.
    is_logged: bool,
    /// Responses of the logs, read when an answer goes on behind their end.
    logged: Option<HashMap<String, LoggedResponse>>,
}

impl<'a, 'f> Responses<'a, 'f> {
    fn new(session: &'a Session<'f>) -> Self {
        Responses {
            session,
            answers: AnswerTracker::default(),
            current: LoggedResponse::default(),
            is_logged: false,
            logged: None,
        }
    }

    /// Advances to the next row, and returns its response. That of a row in a log is not looked up.
    fn advance_to(&mut self, message: &Message, is_logged: bool) -> LoggedResponse {
        let of_row = || LoggedResponse {
            response: message.uuid.clone(),
            request: String::new(),
        };
        match self.answers.advance_to(message) {
            AnswerStep::New => {
                self.current = of_row();
                self.is_logged = is_logged;
            }
            AnswerStep::Continued if self.is_logged && !is_logged => {
                let session = self.session;
                let logged = self
                    .logged
                    .get_or_insert_with(|| session.logged_responses());
                if let Some(found) = logged.get(&self.current.response) {
                    self.current = found.clone();
                }
                self.is_logged = false;
            }
            AnswerStep::Continued => {}
            AnswerStep::Other => return of_row(),
        }
        self.current.clone()
    }
}

fn log_line(
    id: &str,
    attributes: &SessionAttributes,
    message: &Message,
    response: &LoggedResponse,
) -> String {
    let text = || Value::from(message.text.clone());
    let usage = message.usage;
    let record = WrittenRecord {
        kind: &message.kind,
        uuid: &message.uuid,
        parent_uuid: &message.parent_uuid,
        session: attributes.session_id_original.as_deref().unwrap_or(id),
        seconds: message.timestamp,
        cwd: &attributes.cwd,
        git_branch: &attributes.git_branch,
        agent_version: &attributes.agent_version,
        role: &message.role,
        content: serde_json::from_str(&message.json).unwrap_or_else(|_| text()),
        response: &response.response,
        request: &response.request,
        model: &message.model,
        tokens: [
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
        ],
    };
    record.into_line()
}
