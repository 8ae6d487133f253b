//! What it takes to read an agent's logs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::record::Record;
use crate::time;
use backstory_event::{EventBody, Output, Telemetry, TimeMs, ToolClass};

/// Knows how one agent writes its sessions down.
pub trait Reader: Sync {
    /// The folders below which the agent keeps its logs.
    fn roots(&self, places: &Places<'_>) -> Vec<PathBuf>;

    /// What a file below such a folder is, by its name alone; `None` when it holds nothing of a session.
    fn named(&self, path: &Path) -> Option<Shape>;

    /// What a file of unknown origin is, by its name and first bytes; `None` when this agent did not write it.
    fn recognises(&self, path: &Path, head: &[u8]) -> Option<Shape>;

    /// A file beside this one that holds the same session better: when it exists, this one is left alone.
    fn superseded_by(&self, _path: &Path) -> Option<PathBuf> {
        None
    }

    /// The first and the last time that a piece of a file names. Files are read in their order, so that of
    /// two that share history the older one comes first.
    fn times(&self, piece: &[u8]) -> (Option<TimeMs>, Option<TimeMs>) {
        times_after(b"\"timestamp\":\"", piece)
    }

    /// Begins to read a source file, or goes on where `state`, from [`Reading::state`], left off.
    fn begin(&self, source: &SourceName<'_>, state: Option<&str>) -> Box<dyn Reading>;

    /// Offset in the stored bytes of the first record whose text may go on in records after `state`, from [`Reading::state`];
    /// `None` when no text is open.
    fn open_since(&self, _state: &str) -> Option<u64> {
        None
    }

    /// Reads the bodies of all events of a span again from its stored bytes, each with its part. They equal those that
    /// [`Reading::record`] put out, and the extensions of a streamed text appended.
    fn reread(&self, span: &[u8]) -> Vec<(u16, EventBody)>;

    /// Calls `each` with the ids in stored bytes by which copies of a record or response are recognised, as the JSON has them: all keys
    /// are made of one of them or of the session's id. False when the reader makes keys of something else.
    fn each_copied_id<'a>(&self, _bytes: &'a [u8], _each: &mut dyn FnMut(&'a [u8])) -> bool {
        false
    }

    /// Returns type and content of the record in a span, verbatim, where records are messages as models get them; `None` for agents that
    /// write them otherwise.
    fn content(&self, _span: &[u8]) -> Option<RecordContent> {
        None
    }

    /// Returns what the telemetry record in a span says.
    fn telemetry(&self, _span: &[u8]) -> Vec<Telemetry> {
        Vec::new()
    }

    /// Returns the class of a tool, by the agent's own name of it.
    fn tool_class(&self, tool: &str) -> ToolClass;

    /// Returns whether a text in the user's name, without space before it, is one that the agent writes and does not mark as such.
    fn is_program_text(&self, _text: &str) -> bool {
        false
    }

    /// Returns what a command printed, if an output is the frame that the agent puts around it.
    fn framed_output<'a>(&self, _output: &'a str) -> Option<&'a str> {
        None
    }

    /// Names of the tags that the agent puts around errors.
    fn error_tags(&self) -> &'static [&'static str] {
        &[]
    }

    /// Words, in lower case, of errors that say that the agent used a tool of its own in a wrong way.
    fn tool_slips(&self) -> &'static [&'static str] {
        &[]
    }
}

/// The times in quotes after the first and after the last mark.
pub(crate) fn times_after(mark: &[u8], piece: &[u8]) -> (Option<TimeMs>, Option<TimeMs>) {
    let time_at = |at: usize| {
        let text = &piece[at + mark.len()..];
        let end = memchr::memchr(b'"', text)?;
        time::milliseconds(std::str::from_utf8(&text[..end]).ok()?)
    };
    let first = memchr::memmem::find(piece, mark).and_then(time_at);
    let last = memchr::memmem::rfind(piece, mark).and_then(time_at);
    (first, last)
}

/// One source file being read. Records come in their order; what is understood goes to the output.
pub trait Reading: Send {
    /// Reads one record. An error means that the JSON is damaged or of a shape the reader does not know; nothing was put out
    /// then, and the caller may try again with a repaired record.
    fn record(&mut self, record: Record<'_>, out: &mut Output) -> serde_json::Result<()>;

    /// What must be remembered to go on with the next record in another process.
    fn state(&self) -> String;
}

/// Type and content of a record, verbatim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordContent {
    /// The record's own type.
    pub kind: String,
    /// The content as JSON: a string, or a list of blocks.
    pub json: String,
}

/// How a source file is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// JSON records, one a line, appended to.
    Lines,
    /// One JSON document, rewritten as a whole.
    Document,
}

/// Where things are on this machine, as far as readers need it. Passed in, for a library reads no environment.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    /// The user's home folder.
    pub home: &'a Path,
    /// Looks an environment variable up.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Places<'_> {
    /// The folders named by a variable (several are separated by commas), else a folder below home.
    pub fn from_variable_or_home(&self, variable: &str, below_home: &str) -> Vec<PathBuf> {
        match (self.variable)(variable).filter(|value| !value.trim().is_empty()) {
            Some(value) => value
                .split(',')
                .map(|folder| PathBuf::from(folder.trim()))
                .collect(),
            None => vec![self.home.join(below_home)],
        }
    }
}

/// What a source file is called. Readers take ids from it, never open it.
#[derive(Debug, Clone, Copy)]
pub struct SourceName<'a> {
    /// The whole path.
    pub path: &'a Path,
}

impl SourceName<'_> {
    /// The file name up to its first dot.
    pub fn stem(&self) -> &str {
        let name = self
            .path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        name.split('.').next().unwrap_or_default()
    }

    /// The name of the folder `up` levels above the file (1: the folder it is in).
    pub fn folder(&self, up: usize) -> Option<&str> {
        self.path
            .ancestors()
            .nth(up)
            .and_then(Path::file_name)
            .and_then(|name| name.to_str())
    }
}

/// The uuid at the end of a name (`rollout-2026-01-02T03-04-05-<uuid>`, `2026-01-21-<uuid>`), which is an agent's own session id.
pub(crate) fn trailing_uuid(name: &str) -> Option<Arc<str>> {
    let start = name.len().checked_sub(36)?;
    let tail = name.get(start..)?;
    let shaped = tail.bytes().enumerate().all(|(i, byte)| match i {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    shaped.then(|| Arc::from(tail))
}
