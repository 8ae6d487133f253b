//! What it takes to read an agent's logs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::edit::FileEdit;
use crate::hook::Agent;
use crate::json;
use crate::readers::READERS;
use crate::record::Record;
use backstory_event::Output;

/// The reader of an agent.
pub fn reader(agent: &str) -> Option<&'static dyn Reader> {
    READERS
        .iter()
        .copied()
        .find(|reader| reader.agent() == agent)
}

/// Whether sessions of such an agent can be there: its logs are read, or it calls hooks.
pub fn is_agent(name: &str) -> bool {
    reader(name).is_some() || Agent::named(name).is_some()
}

/// Knows how one agent writes its sessions down.
pub trait Reader: Sync {
    /// The agent's name in the store, in JSON and on the command line.
    fn agent(&self) -> &'static str;

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

    /// Begins to read a source file, or goes on where `state`, from [`Reading::state`], left off.
    fn begin(&self, source: &SourceName<'_>, state: Option<&str>) -> Box<dyn Reading>;

    /// Offset in the stored bytes of the first record whose text may go on in records after `state`, from [`Reading::state`];
    /// `None` when no text is open.
    fn open_since(&self, _state: &str) -> Option<u64> {
        None
    }

    /// Texts of the events that have these parts of a span, from the stored bytes of the span. A span is parsed once for all of
    /// them: a record may have thousands of parts.
    fn texts(&self, span: &[u8], parts: &[u16]) -> Vec<String>;

    /// What an event did to files, from the record of its span: a call as it was asked, a result as it was done. Whether it was
    /// done at all only the result tells.
    fn edits(&self, record: &SpanRecord, part: u16) -> Vec<FileEdit>;
}

/// The record of a span, parsed once for the edits of all its events.
#[derive(Debug)]
pub struct SpanRecord(pub(crate) serde_json::Value);

impl SpanRecord {
    /// Parses the stored bytes of a span; `None` when they hold no JSON.
    pub fn parse(span: &[u8]) -> Option<Self> {
        let mut found = None;
        json::values(span, |text, _| {
            if found.is_none() {
                found = json::read(text).ok().map(SpanRecord);
            }
        });
        found
    }
}

/// Finds the text of each of `parts` among the numbered texts of a record.
pub(crate) fn texts_of_parts(
    parts: &[u16],
    numbered: impl IntoIterator<Item = (u16, String)>,
) -> Vec<String> {
    let mut numbered = numbered.into_iter();
    if let [only] = parts {
        let found = numbered.find(|(part, _)| part == only);
        return vec![found.map(|(_, text)| text).unwrap_or_default()];
    }
    let mut found: HashMap<u16, String> = HashMap::new();
    for (part, text) in numbered {
        found.entry(part).or_insert(text);
    }
    let texts = parts.iter().map(|part| found.get(part).cloned());
    texts.map(Option::unwrap_or_default).collect()
}

/// One source file being read. Records come in their order; what is understood goes to the output.
pub trait Reading: Send {
    /// Reads one record. An error means that the JSON is damaged or of a shape the reader does not know; nothing was put out
    /// then, and the caller may try again with a repaired record.
    fn record(&mut self, record: Record<'_>, out: &mut Output) -> serde_json::Result<()>;

    /// What must be remembered to go on with the next record in another process.
    fn state(&self) -> String;
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
