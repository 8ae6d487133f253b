//! Grok Build: `~/.grok/sessions/<folder>/<session>/`, of which three files hold a session.
//!
//! `updates.jsonl` is the log that Grok itself resumes from: streamed text in fragments, tool calls, tokens. `summary.json` says
//! where the session worked and what it is called. `chat_history.jsonl` is a cache of the model's messages, without times and
//! cut at compactions, so it is read only where there is no log. The other files (events, signals, plans) hold no text.
//!
//! Checked against the program's source, xai-org/grok-build of August 2026.

mod edits;
mod fields;
mod history;
pub(crate) mod hooks;
mod note;
mod open_text;
pub(crate) mod sample;
pub(crate) mod stream;
mod summary;
pub(crate) mod tools;
mod updates;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use self::note::Note;
use self::open_text::OpenText;
use self::updates::{Again, Run};
use super::shared::{LastName, OpenCalls};
use crate::bounds::bound_session_id;
use crate::reader::{Places, Reader, Reading, Shape, SourceName, SpanRecord, trailing_uuid};
use crate::record::{Record, read_lines};
use backstory_event::{Event, EventBody, EventKey, Kind, Output, Span, ToolClass};

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
            "updates.jsonl" | "chat_history.jsonl" => Some(Shape::Lines),
            "summary.json" => Some(Shape::Document),
            _ => None,
        }
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> Option<Shape> {
        let name = path.file_name()?.to_str()?;
        let found = |mark: &str| memchr::memmem::find(head, mark.as_bytes()).is_some();
        if name == "summary.json" {
            return (found("\"info\"") && found("\"session_summary\"")).then_some(Shape::Document);
        }
        if !name.ends_with(".jsonl") {
            return None;
        }
        let first = head
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii)
            .find(|line| !line.is_empty())?;
        let first = String::from_utf8_lossy(first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first));
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
        let is_summary = source
            .path
            .file_name()
            .is_some_and(|name| name == "summary.json");
        Box::new(Session {
            state: state.map(State::read).unwrap_or_default(),
            is_summary,
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
        let record = SpanRecord::parse(span);
        let body = |(part, text): (u16, String)| {
            let edits = record
                .as_ref()
                .map(|record| edits::of_record(&record.0, part))
                .unwrap_or_default();
            (
                part,
                EventBody {
                    edits,
                    ..EventBody::from_text(text)
                },
            )
        };
        numbered_texts(span).into_iter().map(body).collect()
    }

    fn tool_class(&self, _tool: &str) -> ToolClass {
        ToolClass::Other
    }
}

fn numbered_texts(span: &[u8]) -> Vec<(u16, String)> {
    // The code that cut the span into records when it was first read cuts it again: byte order marks, values glued on one
    // line and lone surrogates are then the same.
    let mut again = Again::default();
    read_lines(&mut again, span, 0, 1, &mut Output::default());
    again.texts
}

/// A source file being read. What a record is mostly shows in the record, so one type reads all three files.
struct Session {
    state: State,
    /// Old summaries have nothing by which to know them but their name.
    is_summary: bool,
    /// The id of the session, from the folder.
    id: Option<Arc<str>>,
    /// What to call the session when neither folder nor records have an id.
    other_name: Arc<str>,
    names: LastName,
    models: LastName,
}

/// What must be known of the records before.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct State {
    /// The session that records name; counts only when the folder does not.
    session: Option<String>,
    /// The model last named.
    model: Option<String>,
    /// How many prompts there were.
    turn: u64,
    /// The records of this turn that have no id of their own, and how often each occurred.
    seen: Vec<(i64, u32)>,
    /// The text that is streaming.
    run: Option<Run>,
    /// Texts that later records may carry on.
    open: Vec<OpenText>,
    /// Calls that were announced before their input was known: no event yet.
    announced: OpenCalls,
    /// Calls that wait for their result.
    calls: OpenCalls,
    /// The keys of the newest calls and results put out: updates of a call may repeat its end.
    told: VecDeque<i64>,
    /// The prompts that can be rewound to: their number, and the event before each.
    prompts: Vec<(u64, Option<i64>)>,
    /// Whether prompts are numbered in this log; those without a number then are said within a turn.
    numbered: bool,
    /// The event last put out.
    last: Option<i64>,
    /// The event that the next prompt answers, after a rewind.
    branch: Option<i64>,
}

impl State {
    fn read(state: &str) -> Self {
        let mut state: State = serde_json::from_str(state).unwrap_or_default();
        // Versions before did not keep which texts are open.
        if state.open.is_empty() {
            state.open.extend(state.run.as_ref().map(OpenText::of_run));
        }
        state
    }
}

/// Bounds of what the state remembers. What is forgotten only loses a join.
const MOST_REMEMBERED: usize = 256;

impl Reading for Session {
    fn record(&mut self, record: Record<'_>, out: &mut Output) -> serde_json::Result<()> {
        let line = Line::read(record.json)?;
        if self.is_summary {
            self.summary(record, out);
        } else if let Some(note) = line.note() {
            self.update(&note, record, out);
        } else if line.kind.is_some() || line.role.is_some() {
            self.message(record, out);
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

    /// The key of a record that has no id: its text, where in the session it stands, and the how manieth of its kind it is there.
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

    /// Puts an event out. Whatever was streaming is over then, for its text would go on after something else.
    fn put(&mut self, mut event: Event, out: &mut Output) {
        self.state.run = None;
        if event.kind == Kind::Prompt {
            event.parent = self.state.branch.take().map(EventKey);
            self.state.turn += 1;
            self.state.seen.clear();
        }
        self.state.last = Some(event.key.0);
        out.events.push(event);
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

/// The outermost fields of a record, by which its kind shows.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    update: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    /// The record itself: old logs have notifications without an envelope.
    #[serde(skip)]
    whole: &'a str,
}

impl<'a> Line<'a> {
    fn read(json: &'a str) -> serde_json::Result<Self> {
        if !json.trim_start().starts_with('{') {
            // Damaged JSON says so itself; a list would pass for the fields of a line, in their order.
            serde_json::from_str::<&RawValue>(json)?;
            return Err(serde::de::Error::custom("a record is an object"));
        }
        serde_json::from_str(json).map(|line| Line {
            whole: json,
            ..line
        })
    }

    /// The notification that the record is, if it is one.
    fn note(&self) -> Option<Note<'a>> {
        match (self.params, self.update) {
            (Some(params), _) => Note::read(params.get(), self.timestamp),
            (None, Some(_)) => Note::read(self.whole, self.timestamp),
            (None, None) => None,
        }
    }
}

fn span_of(record: Record<'_>, part: u16) -> Span {
    Span {
        offset: record.offset,
        length: record.length,
        part,
    }
}
