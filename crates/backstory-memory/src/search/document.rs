//! What is findable of a session: which words of each event the index takes.

use backstory_session::{Event, Kind};
use backstory_store::{IndexedEvent, Part, Place, SessionHead, Stored};
use serde_json::Value;

use crate::read::ShownEvent;

/// How much of one event is indexed. What people and models say is shorter, but for pasted logs.
const MOST_SAID: usize = 32 << 10;

/// How much of a text that a tool was given to write.
const MOST_WRITTEN: usize = 500;

/// How much of what a tool gave back is indexed.
const MOST_GIVEN: usize = 400;

/// Makes the documents of one session, in order.
pub(super) struct Documents<'a> {
    session: u32,
    title: Option<&'a str>,
    /// When the last event with a time was: one without is taken to have been then.
    minute: u32,
}

impl<'a> Documents<'a> {
    pub(super) fn new(head: &'a SessionHead) -> Self {
        Documents {
            session: head.id as u32,
            title: head.title.as_deref(),
            minute: minute(head.started_at),
        }
    }

    /// Of a session of which nothing is known yet but its row.
    pub(super) fn of(session: i64) -> Self {
        Documents {
            session: session as u32,
            title: None,
            minute: 0,
        }
    }

    /// The session's title; stands before its events, as number 0.
    pub(super) fn title(&self) -> Option<IndexedEvent> {
        let title = self.title?.to_string();
        Some(self.document(
            0,
            1,
            Kind::Summary,
            None,
            [title, String::new(), String::new()],
        ))
    }

    /// An event; `None` when nothing of it is worth finding.
    pub(super) fn event(&mut self, event: &ShownEvent) -> Option<IndexedEvent> {
        let row = &event.row;
        self.source(row.seq, row.turn, row.at, &Source::from(event))
    }

    /// An event as it was just stored.
    pub(super) fn stored(&mut self, stored: &Stored) -> Option<IndexedEvent> {
        let Stored {
            seq, turn, event, ..
        } = stored;
        self.source(*seq, *turn, event.at, &Source::from(event))
    }

    fn source(
        &mut self,
        seq: u64,
        turn: u64,
        at: Option<i64>,
        source: &Source<'_>,
    ) -> Option<IndexedEvent> {
        if at.is_some() {
            self.minute = minute(at);
        }
        let texts = searchable(source);
        if texts.iter().all(String::is_empty) {
            return None;
        }
        let tool = source.tool.map(str::to_string);
        Some(self.document(seq as u32, turn as u32, source.kind, tool, texts))
    }

    fn document(
        &self,
        seq: u32,
        turn: u32,
        kind: Kind,
        tool: Option<String>,
        texts: [String; 3],
    ) -> IndexedEvent {
        IndexedEvent {
            place: Place {
                session: self.session,
                seq,
                turn,
                kind,
                minute: self.minute,
            },
            tool,
            texts,
        }
    }
}

/// Minutes since 1970; what lies before or far after is a clock gone wrong.
pub(super) fn minute(at: Option<i64>) -> u32 {
    at.map_or(0, |at| (at / 60_000).clamp(0, i64::from(u32::MAX)) as u32)
}

/// What of an event its documents are made from, whether it was just read or comes from the store.
pub(super) struct Source<'a> {
    kind: Kind,
    tool: Option<&'a str>,
    command: Option<&'a str>,
    text: &'a str,
    files: Vec<&'a str>,
}

impl<'a> From<&'a ShownEvent> for Source<'a> {
    fn from(event: &'a ShownEvent) -> Self {
        Source {
            kind: event.row.kind,
            tool: event.row.tool.as_deref(),
            command: event.row.command.as_deref(),
            text: &event.text,
            files: event.files.iter().map(String::as_str).collect(),
        }
    }
}

impl<'a> From<&'a Event> for Source<'a> {
    fn from(event: &'a Event) -> Self {
        let mut files: Vec<&str> = event
            .touches
            .iter()
            .map(|touch| touch.path.as_str())
            .collect();
        // As the store gives them.
        files.sort_unstable();
        files.dedup();
        Source {
            kind: event.kind,
            tool: event.tool.as_deref(),
            command: event.command.as_deref(),
            text: &event.text,
            files,
        }
    }
}

/// What of an event is found by words, by part.
pub(super) fn searchable(event: &Source<'_>) -> [String; 3] {
    let mut texts = [String::new(), String::new(), String::new()];
    let [said, _, given] = &mut texts;
    match event.kind {
        Kind::Prompt | Kind::Reply | Kind::Reasoning | Kind::Summary => {
            said.push_str(beginning(event.text, MOST_SAID));
        }
        Kind::ToolCall => call(event, &mut texts),
        Kind::ToolResult => given.push_str(beginning(event.text.trim_start(), MOST_GIVEN)),
        Kind::System => {}
    }
    texts
}

/// Arguments that name or select something. All others are sentences, or text to write.
const NAMING: [&str; 12] = [
    "pattern",
    "path",
    "glob",
    "url",
    "query",
    "description",
    "skill",
    "args",
    "todos",
    "plan",
    "uri",
    "name",
];

/// Arguments that hold text to write into files.
const WRITING: [&str; 6] = [
    "new_string",
    "content",
    "patch",
    "input",
    "new_str",
    "file_text",
];

/// Arguments that tell nothing, or tell again.
const SILENT: [&str; 9] = [
    "file_path",
    "status",
    "activeForm",
    "subagent_type",
    "output_mode",
    "task_id",
    "old_string",
    "old_str",
    "id",
];

/// A tool call: its name, command, files and naming arguments were called; sentences to other agents or people were said;
/// the beginning of what it writes was given.
fn call(event: &Source<'_>, texts: &mut [String; 3]) {
    texts[Part::Called as usize].push_str(event.tool.unwrap_or_default());
    match (event.command, serde_json::from_str::<Value>(event.text)) {
        (Some(command), _) => add(texts, Part::Called, command, MOST_SAID),
        (None, Ok(arguments @ Value::Object(_))) => add_arguments("", &arguments, texts),
        (None, _) => add(texts, Part::Given, event.text, MOST_WRITTEN),
    }
    for file in &event.files {
        if !texts[Part::Called as usize].contains(file) {
            add(texts, Part::Called, file, MOST_SAID);
        }
    }
}

fn add_arguments(name: &str, value: &Value, texts: &mut [String; 3]) {
    match value {
        Value::String(_) if SILENT.contains(&name) => {}
        Value::String(text) if NAMING.contains(&name) => add(texts, Part::Called, text, MOST_SAID),
        Value::String(text) if WRITING.contains(&name) => {
            add(texts, Part::Given, text, MOST_WRITTEN);
        }
        Value::String(text) => add(texts, Part::Said, text, MOST_SAID),
        Value::Array(values) => values
            .iter()
            .for_each(|value| add_arguments(name, value, texts)),
        Value::Object(values) => {
            for (inner, value) in values {
                // What a list of tasks holds is the list's, whatever its parts are called.
                let name = if NAMING.contains(&name) && !SILENT.contains(&inner.as_str()) {
                    name
                } else {
                    inner
                };
                add_arguments(name, value, texts);
            }
        }
        _ => {}
    }
}

fn add(texts: &mut [String; 3], part: Part, text: &str, most: usize) {
    let all = &mut texts[part as usize];
    if !all.is_empty() {
        all.push('\n');
    }
    all.push_str(beginning(text, most));
}

/// The beginning of a text, cut between characters.
pub(super) fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
