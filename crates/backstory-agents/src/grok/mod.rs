//! Grok Build: `~/.grok/sessions/<folder>/<session>/`, of which five files hold a session.
//!
//! `updates.jsonl` is the log that Grok itself resumes from: streamed text in fragments, tool calls, tokens. `summary.json` says
//! where the session worked and what it is called. `chat_history.jsonl` is a cache of the model's messages, without times and
//! cut at compactions, so it is read only where there is no log. `events.jsonl` and `signals.json` hold no text: they say how long
//! tools took, what the user allowed, and how full the context was. The other files (plans, points to rewind to) repeat the log.
//!
//! Checked against the program's source, xai-org/grok-build of August 2026.

mod again;
mod body;
mod calls;
mod content;
mod edits;
mod events;
mod fields;
mod history;
pub(crate) mod hooks;
mod line;
mod message;
mod note;
mod open_text;
pub(crate) mod sample;
mod signals;
mod state;
pub(crate) mod stream;
mod summary;
mod telemetry;
mod tool_class;
pub(crate) mod tools;
mod updates;
mod usage;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use self::tool_class::BOOKKEEPING_TOOLS;

use self::again::Again;
use self::line::Line;
use self::state::State;
use super::shared::LastName;
use crate::bounds::{bound_body, bound_session_id};
use crate::reader::{Places, Reader, Reading, Shape, SourceName, trailing_uuid};
use crate::record::{Record, read_lines};
use backstory_event::{Event, EventBody, EventKey, Kind, Output, Span, Telemetry, ToolClass};

/// Reads the logs of Grok Build.
pub(crate) struct Grok;

impl Reader for Grok {
    fn roots(&self, places: &Places<'_>) -> Vec<PathBuf> {
        let folders = places.from_variable_or_home("GROK_HOME", ".grok");
        folders
            .into_iter()
            .map(|folder| folder.join("sessions"))
            .collect()
    }

    fn named(&self, path: &Path) -> Option<Shape> {
        match path.file_name()?.to_str()? {
            "updates.jsonl" | "chat_history.jsonl" | "events.jsonl" => Some(Shape::Lines),
            "summary.json" | "signals.json" => Some(Shape::Document),
            _ => None,
        }
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> Option<Shape> {
        let name = path.file_name()?.to_str()?;
        let found = |mark: &str| memchr::memmem::find(head, mark.as_bytes()).is_some();
        if name == "summary.json" {
            return (found("\"info\"") && found("\"session_summary\"")).then_some(Shape::Document);
        }
        if name == "signals.json" {
            return signals::begins(head).then_some(Shape::Document);
        }
        if !name.ends_with(".jsonl") {
            return None;
        }
        let first = head
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii)
            .find(|line| !line.is_empty())?;
        let first = String::from_utf8_lossy(first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first));
        if name == "events.jsonl" {
            return events::begins(&first).then_some(Shape::Lines);
        }
        let history = match name {
            "chat_history.jsonl" => history::begins(&first, true),
            _ => name.starts_with("source-v") && history::begins(&first, false),
        };
        (note::begins(&first) || history).then_some(Shape::Lines)
    }

    fn superseded_by(&self, path: &Path) -> Option<PathBuf> {
        (path.file_name()? == "chat_history.jsonl").then(|| path.with_file_name("updates.jsonl"))
    }

    fn begin(&self, source: &SourceName<'_>, state: Option<&str>) -> Box<dyn Reading> {
        let folder = source.folder(1);
        let name = source.path.file_name().and_then(|name| name.to_str());
        Box::new(Session {
            state: state.map(State::read).unwrap_or_default(),
            file: match name {
                Some("summary.json") => SessionFile::Summary,
                Some("events.jsonl") => SessionFile::Events,
                Some("signals.json") => SessionFile::Signals,
                _ => SessionFile::Conversation,
            },
            id: folder.and_then(trailing_uuid),
            other_name: Arc::from(folder.unwrap_or_else(|| source.stem())),
            names: LastName::default(),
            models: LastName::default(),
        })
    }

    fn open_since(&self, state: &str) -> Option<u64> {
        let open = State::read(state).open;
        open.iter().map(|text| text.since).min()
    }

    fn reread(&self, span: &[u8]) -> Vec<(u16, EventBody)> {
        // The code that cut the span into records when it was first read cuts it again: byte order marks, values glued on one
        // line and lone surrogates are then the same.
        let mut again = Again::default();
        read_lines(&mut again, span, 0, 1, &mut Output::default());
        let mut bodies = again.bodies;
        for (_, body) in &mut bodies {
            bound_body(body);
        }
        bodies
    }

    fn telemetry(&self, span: &[u8]) -> Vec<Telemetry> {
        telemetry::span_telemetry(span)
    }

    fn tool_class(&self, tool: &str) -> ToolClass {
        tool_class::tool_class(tool)
    }
}

/// Which of a session's files is read. What a record is shows in the record where texts are, and in the file's name elsewhere: old
/// summaries have nothing else to be known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionFile {
    Conversation,
    Summary,
    Events,
    Signals,
}

/// A source file being read.
struct Session {
    state: State,
    file: SessionFile,
    /// The id of the session, from the folder.
    id: Option<Arc<str>>,
    /// What to call the session when neither folder nor records have an id.
    other_name: Arc<str>,
    names: LastName,
    models: LastName,
}

/// Bounds of what the state remembers. What is forgotten only loses a join.
const MOST_REMEMBERED: usize = 256;

impl Reading for Session {
    fn record(&mut self, record: Record<'_>, out: &mut Output) -> serde_json::Result<()> {
        let line = Line::read(record.json)?;
        match self.file {
            SessionFile::Summary => self.summary(record, out),
            SessionFile::Events => self.event_line(record, out),
            SessionFile::Signals => self.signals(record, out),
            SessionFile::Conversation => {
                if let Some(note) = line.note()? {
                    self.update(&note, record, out);
                } else if line.kind.is_some() || line.role.is_some() {
                    self.message(record, out)?;
                }
            }
        }
        Ok(())
    }

    fn state(&self) -> String {
        serde_json::to_string(&self.state).unwrap_or_default()
    }
}

impl Session {
    /// The session of a record that may name one.
    fn session(&mut self, named: Option<&str>) -> Arc<str> {
        if let Some(id) = &self.id {
            return id.clone();
        }
        if self.state.session.is_none() {
            let named = named.filter(|named| !named.is_empty());
            self.state.session = named.map(|named| bound_session_id(named).into_owned());
        }
        match &self.state.session {
            Some(session) => self.names.share(session),
            None => self.other_name.clone(),
        }
    }

    /// The key of a record that has no id: its text, its place in the session, and its number among records of its kind there.
    fn place_key(&mut self, session: &str, json: &str) -> EventKey {
        let hash = EventKey::of(&[json.as_bytes()]).0;
        let occurrence = match self.state.seen.iter_mut().find(|(seen, _)| *seen == hash) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                if self.state.seen.len() == MOST_REMEMBERED {
                    self.state.seen.remove(0);
                }
                self.state.seen.push((hash, 0));
                0
            }
        };
        let turn = self.state.turn.to_le_bytes();
        EventKey::of(&[
            b"grok",
            session.as_bytes(),
            &turn,
            json.as_bytes(),
            &occurrence.to_le_bytes(),
        ])
    }

    /// Puts an event out, and returns whether it is the first answer of its turn. Whatever was streaming is over then, for its text
    /// would go on after something else.
    fn put(&mut self, mut event: Event, out: &mut Output) -> bool {
        self.state.run = None;
        let is_answer = event.kind.is_from_model();
        let is_first_answer = is_answer && (self.state.turn_over || self.state.answer.is_none());
        if is_first_answer {
            self.state.answer = Some(event.key.0);
            self.state.turn_over = false;
        }
        if event.kind == Kind::Prompt {
            event.parent = self.state.branch.take().map(EventKey);
            self.state.turn += 1;
            self.state.seen.clear();
        }
        self.state.last = Some(event.key.0);
        out.events.push(event);
        is_first_answer
    }

    /// Whether this call or result was not put out before.
    fn first_time(&mut self, key: EventKey) -> bool {
        if self.state.told.contains(&key.0) {
            return false;
        }
        if self.state.told.len() == MOST_REMEMBERED {
            self.state.told.pop_front();
        }
        self.state.told.push_back(key.0);
        true
    }
}

fn span_of(record: Record<'_>, part: u16) -> Span {
    Span {
        offset: record.offset,
        length: record.length,
        part,
    }
}
