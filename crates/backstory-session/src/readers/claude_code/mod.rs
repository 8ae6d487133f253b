//! Claude Code: `~/.claude/projects/<folder>/<session>.jsonl` and the transcripts of its subagents.
//!
//! Checked against versions 0.2 to 2.1.2xx, November 2026. Subagents come in three generations: inline lines marked
//! `isSidechain`, sibling files `agent-<id>.jsonl`, and `<session>/subagents/agent-<id>.jsonl`; each becomes a session of its
//! own, `<session>/agent-<id>`, whose parent is the session.

mod content;
mod tools;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use self::content::{Message, Part, TEXT_PART};
use super::shared::{LastName, OpenCalls, is_true, string};
use crate::event::{
    Event, EventKey, Kind, Output, Parent, ParentKind, Response, SessionFacts, Span, Title,
};
use crate::reader::{Places, Reader, Reading, Shape, SourceName, trailing_uuid};
use crate::record::{Record, read_document};
use crate::time::milliseconds;

/// Reads the logs of Claude Code.
pub(crate) struct ClaudeCode;

impl Reader for ClaudeCode {
    fn agent(&self) -> &'static str {
        "claude-code"
    }

    fn roots(&self, places: &Places<'_>) -> Vec<PathBuf> {
        let mut folders = places.from_variable_or_home("CLAUDE_CONFIG_DIR", ".claude");
        if (places.variable)("CLAUDE_CONFIG_DIR").is_none() {
            // Some 1.0.3x versions wrote here.
            folders.push(places.home.join(".config/claude"));
        }
        folders
            .into_iter()
            .map(|folder| folder.join("projects"))
            .collect()
    }

    fn named(&self, path: &Path) -> Option<Shape> {
        let name = path.file_name()?.to_str()?;
        if name.ends_with(".jsonl") {
            Some(Shape::Lines)
        } else {
            (name.starts_with("agent-") && name.ends_with(".meta.json")).then_some(Shape::Document)
        }
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> Option<Shape> {
        if self.named(path) == Some(Shape::Document) {
            return Some(Shape::Document);
        }
        const MARKS: [&[u8]; 8] = [
            b"\"sessionId\"",
            b"\"parentUuid\"",
            b"\"leafUuid\"",
            b"\"type\":\"file-history-snapshot\"",
            b"\"type\":\"summary\"",
            b"\"type\": \"summary\"",
            b"\"isSidechain\"",
            b"\"type\":\"queue-operation\"",
        ];
        // Grok's updates and Gemini's chats name a sessionId too, Qwen writes Claude's envelope around Gemini's parts.
        const OTHERS: [&[u8]; 5] = [
            b"\"sessionUpdate\"",
            b"\"projectHash\"",
            b"\"parts\":[",
            b"\"usageMetadata\"",
            b"\"payload\":",
        ];
        let first_lines = &head[..head.len().min(32 << 10)];
        let found = |mark: &[u8]| memchr::memmem::find(first_lines, mark).is_some();
        let extension = path.extension().and_then(|extension| extension.to_str())?;
        (extension == "jsonl"
            && MARKS.iter().any(|mark| found(mark))
            && !OTHERS.iter().any(|mark| found(mark)))
        .then_some(Shape::Lines)
    }

    fn begin(&self, source: &SourceName<'_>, state: Option<&str>) -> Box<dyn Reading> {
        let state = state.and_then(|state| serde_json::from_str(state).ok());
        let file = FileIds::of(source);
        Box::new(Transcript {
            state: state.unwrap_or_default(),
            file,
            models: LastName::default(),
        })
    }

    fn text(&self, span: &[u8], part: u16) -> String {
        // Repaired by the code that repaired it when it was first read.
        let mut again = Again { part, text: None };
        read_document(&mut again, span, &mut Output::default());
        again.text.unwrap_or_default()
    }
}

/// A span that is read again for the text of one of its events.
struct Again {
    part: u16,
    text: Option<String>,
}

impl Reading for Again {
    fn record(&mut self, record: Record<'_>, _out: &mut Output) -> serde_json::Result<()> {
        let line: Line<'_> = serde_json::from_str(record.json)?;
        let found = line
            .parts()
            .into_iter()
            .find(|found| found.part == self.part);
        self.text = self.text.take().or(found.map(|found| found.text));
        Ok(())
    }

    fn state(&self) -> String {
        String::new()
    }
}

/// What the file's name tells about the sessions in it.
#[derive(Debug)]
struct FileIds {
    session: Option<Arc<str>>,
    agent: Option<String>,
    stem: Arc<str>,
}

impl FileIds {
    fn of(source: &SourceName<'_>) -> Self {
        let stem = source.stem();
        let agent = stem.strip_prefix("agent-").map(str::to_string);
        let session = if agent.is_some() {
            // `<session>/subagents/agent-x.jsonl`, or deeper for workflows.
            let below = source
                .path
                .ancestors()
                .find(|folder| folder.ends_with("subagents"));
            below
                .and_then(Path::parent)
                .and_then(Path::file_name)
                .and_then(|name| name.to_str())
                .map(Arc::from)
        } else {
            trailing_uuid(stem).or_else(|| source.folder(1).and_then(trailing_uuid))
        };
        FileIds {
            session,
            agent,
            stem: Arc::from(stem),
        }
    }
}

struct Transcript {
    state: State,
    file: FileIds,
    models: LastName,
}

/// What must be known of the records before.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    /// The session of the file, once a record has told it.
    session: Option<Arc<str>>,
    /// The facts last put out, so that they are put out on change only.
    cwd: Option<String>,
    branch: Option<String>,
    machine: Option<bool>,
    parent_known: bool,
    /// The uuid of the record before: a record that answers another one branches.
    last_uuid: Option<String>,
    calls: OpenCalls,
    /// Inline subagents without an id: which record belongs to which, the newest ones.
    sidechains: VecDeque<(String, Arc<str>)>,
    announced: Vec<Arc<str>>,
}

const MOST_SIDECHAIN_RECORDS: usize = 512;

/// A line, with every value still raw: an odd type in one field must not cost the record.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    uuid: Option<&'a RawValue>,
    #[serde(borrow)]
    parent_uuid: Option<&'a RawValue>,
    #[serde(borrow)]
    session_id: Option<&'a RawValue>,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    cwd: Option<&'a RawValue>,
    #[serde(borrow)]
    git_branch: Option<&'a RawValue>,
    #[serde(borrow)]
    entrypoint: Option<&'a RawValue>,
    #[serde(borrow)]
    is_sidechain: Option<&'a RawValue>,
    #[serde(borrow)]
    agent_id: Option<&'a RawValue>,
    #[serde(borrow)]
    is_meta: Option<&'a RawValue>,
    #[serde(borrow)]
    is_compact_summary: Option<&'a RawValue>,
    #[serde(borrow)]
    is_api_error_message: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt_source: Option<&'a RawValue>,
    #[serde(borrow)]
    origin: Option<&'a RawValue>,
    #[serde(borrow)]
    request_id: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_result: Option<&'a RawValue>,
    #[serde(borrow)]
    attachment: Option<&'a RawValue>,
    #[serde(borrow)]
    subtype: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    summary: Option<&'a RawValue>,
    #[serde(borrow)]
    leaf_uuid: Option<&'a RawValue>,
    #[serde(borrow)]
    ai_title: Option<&'a RawValue>,
    #[serde(borrow)]
    custom_title: Option<&'a RawValue>,
    /// In `agent-<id>.meta.json`.
    #[serde(borrow)]
    description: Option<&'a RawValue>,
}

impl Line<'_> {
    fn kind(&self) -> Cow<'_, str> {
        string(self.kind).unwrap_or_default()
    }

    fn message(&self) -> Option<Message<'_>> {
        serde_json::from_str(self.message?.get()).ok()
    }
}

impl Reading for Transcript {
    fn record(&mut self, record: Record<'_>, out: &mut Output) -> serde_json::Result<()> {
        let line: Line<'_> = serde_json::from_str(record.json)?;
        let Some(session) = self.session_of(&line, out) else {
            return Ok(());
        };
        self.facts(&line, &session, out);
        let uuid = string(line.uuid);
        let at = string(line.timestamp).and_then(|time| milliseconds(&time));
        self.events(&line, &session, uuid.as_deref(), at, record, out);
        if line.kind() == "assistant" {
            self.response(&line, &session, uuid.as_deref(), at, out);
        }
        if let Some(uuid) = uuid {
            self.state.last_uuid = Some(uuid.into_owned());
        }
        Ok(())
    }

    fn state(&self) -> String {
        serde_json::to_string(&self.state).unwrap_or_default()
    }
}

impl Transcript {
    /// The session that a line belongs to; `None` for one that belongs to none yet (a title before the first message).
    fn session_of(&mut self, line: &Line<'_>, out: &mut Output) -> Option<Arc<str>> {
        let named = string(line.session_id);
        if self.state.session.is_none() {
            let found = self
                .file
                .session
                .clone()
                .or_else(|| named.as_deref().map(Arc::from));
            let found = match (found, line.uuid) {
                (Some(found), _) => found,
                (None, Some(_)) => self.file.stem.clone(),
                (None, None) => {
                    self.loose_title(line, out);
                    return None;
                }
            };
            self.state.session = Some(found);
        }
        let main = self.state.session.clone()?;
        if let Some(agent) = &self.file.agent {
            let child: Arc<str> = Arc::from(format!("{main}/agent-{agent}"));
            self.announce(&child, &main, out);
            return Some(child);
        }
        if is_true(line.is_sidechain) {
            return Some(self.sidechain(line, &main, out));
        }
        // The file's name is the session of record; another id in it is the session that was copied from.
        if let Some(other) = named.filter(|named| **named != *main)
            && !self.state.parent_known
        {
            self.state.parent_known = true;
            let parent = Parent {
                session: other.into_owned(),
                kind: ParentKind::Fork,
            };
            let facts = SessionFacts {
                session: Some(main.clone()),
                parent: Some(parent),
                ..SessionFacts::default()
            };
            out.facts.push(facts);
        }
        Some(main)
    }

    /// The session of an inline subagent: by its id, or else by the chain of records that starts it.
    fn sidechain(&mut self, line: &Line<'_>, main: &Arc<str>, out: &mut Output) -> Arc<str> {
        if let Some(agent) = string(line.agent_id) {
            let child: Arc<str> = Arc::from(format!("{main}/agent-{agent}"));
            self.announce(&child, main, out);
            return child;
        }
        let uuid = string(line.uuid).unwrap_or_default();
        let known = string(line.parent_uuid)
            .and_then(|parent| {
                self.state
                    .sidechains
                    .iter()
                    .rev()
                    .find(|(uuid, _)| **uuid == *parent)
            })
            .map(|(_, session)| session.clone());
        let child = known.unwrap_or_else(|| {
            let child: Arc<str> =
                Arc::from(format!("{main}/sidechain-{}", super::shared::cut(&uuid, 8)));
            self.announce(&child, main, out);
            child
        });
        if self.state.sidechains.len() == MOST_SIDECHAIN_RECORDS {
            self.state.sidechains.pop_front();
        }
        self.state
            .sidechains
            .push_back((uuid.into_owned(), child.clone()));
        child
    }

    fn announce(&mut self, child: &Arc<str>, main: &Arc<str>, out: &mut Output) {
        if self.state.announced.contains(child) {
            return;
        }
        if self.state.announced.len() == MOST_SIDECHAIN_RECORDS {
            self.state.announced.remove(0);
        }
        self.state.announced.push(child.clone());
        out.facts.push(SessionFacts {
            session: Some(child.clone()),
            parent: Some(Parent {
                session: main.to_string(),
                kind: ParentKind::Subagent,
            }),
            machine: Some(true),
            cwd: self.state.cwd.clone(),
            branch: self.state.branch.clone(),
            ..SessionFacts::default()
        });
    }

    fn facts(&mut self, line: &Line<'_>, session: &Arc<str>, out: &mut Output) {
        self.loose_title(line, out);
        let mut facts = SessionFacts {
            session: Some(session.clone()),
            ..SessionFacts::default()
        };
        facts.title = match (
            string(line.custom_title),
            string(line.ai_title),
            string(line.description),
        ) {
            (Some(given), _, _) => Some(Title::Given(given.into_owned())),
            (_, Some(generated), _) | (_, _, Some(generated)) => {
                Some(Title::Generated(generated.into_owned()))
            }
            _ => None,
        };
        let cwd = string(line.cwd)
            .filter(|cwd| !cwd.is_empty() && self.state.cwd.as_deref() != Some(&**cwd));
        if let Some(cwd) = cwd {
            self.state.cwd = Some(cwd.to_string());
            facts.cwd = Some(cwd.into_owned());
        }
        let branch = string(line.git_branch).filter(|branch| {
            !matches!(&**branch, "" | "HEAD") && self.state.branch.as_deref() != Some(&**branch)
        });
        if let Some(branch) = branch {
            self.state.branch = Some(branch.to_string());
            facts.branch = Some(branch.into_owned());
        }
        if self.state.machine.is_none() && self.file.agent.is_none() {
            self.state.machine =
                string(line.entrypoint).map(|entrypoint| entrypoint.starts_with("sdk"));
            facts.machine = self.state.machine;
        }
        if (SessionFacts {
            session: None,
            ..facts.clone()
        }) != SessionFacts::default()
        {
            out.facts.push(facts);
        }
    }

    /// A `summary` names the session of the record it points at, which is mostly in another file.
    fn loose_title(&self, line: &Line<'_>, out: &mut Output) {
        if line.kind() != "summary" {
            return;
        }
        if let (Some(summary), Some(leaf)) = (string(line.summary), string(line.leaf_uuid)) {
            out.facts.push(SessionFacts {
                leaf: Some(record_key(&leaf, 0)),
                title: Some(Title::Generated(summary.into_owned())),
                ..SessionFacts::default()
            });
        }
    }

    fn events(
        &mut self,
        line: &Line<'_>,
        session: &Arc<str>,
        uuid: Option<&str>,
        at: Option<i64>,
        record: Record<'_>,
        out: &mut Output,
    ) {
        let parts = line.parts();
        if parts.is_empty() {
            return;
        }
        let parent = string(line.parent_uuid)
            .filter(|parent| self.state.last_uuid.as_deref() != Some(&**parent))
            .map(|parent| record_key(&parent, 0));
        let model = string(line.message().and_then(|message| message.model))
            .map(|model| self.models.share(&model));
        for (ordinal, part) in parts.into_iter().enumerate() {
            let key = match uuid {
                Some(uuid) => record_key(uuid, ordinal),
                None => EventKey::of(&[
                    b"claude-code",
                    session.as_bytes(),
                    record.json.as_bytes(),
                    &[ordinal as u8],
                ]),
            };
            let span = Span {
                offset: record.offset,
                length: record.length,
                part: part.part,
            };
            let mut event = Event::new(session, key, part.kind, at, span);
            event.parent = parent.filter(|_| ordinal == 0);
            if part.kind.role() == "assistant" {
                event.model = model.clone();
            }
            self.fill(&mut event, part, line);
            out.events.push(event);
        }
    }

    /// Joins calls and results and takes over what the part knows of tools.
    fn fill(&mut self, event: &mut Event, part: Part, line: &Line<'_>) {
        event.text = part.text;
        match (part.kind, &part.call) {
            (Kind::ToolCall, Some(call)) => {
                let tool = part.tool.as_deref().unwrap_or_default();
                self.state.calls.open(call, tool, event.at);
                event.command = part.command;
                event.touches = part.touches;
                event.tool = part.tool;
            }
            (Kind::ToolResult, Some(call)) => {
                let opened = self.state.calls.close(call);
                let outcome = tools::outcome(&event.text, part.error, line.tool_use_result);
                event.error = outcome.error;
                event.exit_code = outcome.exit_code;
                let elapsed = opened
                    .as_ref()
                    .and_then(|opened| Some(event.at? - opened.at?))
                    .filter(|elapsed| *elapsed >= 0);
                event.duration_ms = outcome.duration_ms.or(elapsed);
                event.tool = opened.map(|opened| opened.tool);
            }
            _ => event.error = part.error,
        }
        event.call = part.call;
    }

    fn response(
        &mut self,
        line: &Line<'_>,
        session: &Arc<str>,
        uuid: Option<&str>,
        at: Option<i64>,
        out: &mut Output,
    ) {
        let Some(message) = line.message() else {
            return;
        };
        let (Some(usage), Some(model)) = (message.usage(), string(message.model)) else {
            return;
        };
        if model == "<synthetic>" {
            return;
        }
        let request = string(line.request_id).unwrap_or_default();
        let key = match (string(message.id), uuid) {
            (Some(id), _) => EventKey::of(&[b"claude-usage", id.as_bytes(), request.as_bytes()]),
            (None, Some(uuid)) => EventKey::of(&[b"claude-usage", uuid.as_bytes()]),
            (None, None) => return,
        };
        let model = self.models.share(&model);
        out.responses.push(Response {
            session: session.clone(),
            key,
            replay: None,
            at,
            model,
            usage,
        });
    }
}

/// The key of the n-th event of the record with this uuid; copies of a record keep its uuid.
fn record_key(uuid: &str, ordinal: usize) -> EventKey {
    EventKey::of(&[
        b"claude-code",
        uuid.as_bytes(),
        &(ordinal as u64).to_le_bytes(),
    ])
}

impl Line<'_> {
    /// The events in a line, by this line alone.
    fn parts(&self) -> Vec<Part> {
        match &*self.kind() {
            "user" => self.user_parts(),
            "assistant" => self.assistant_parts(),
            "attachment" => self.attachment_parts(),
            "system" => self.system_parts(),
            _ => Vec::new(),
        }
    }

    fn user_parts(&self) -> Vec<Part> {
        let Some(message) = self.message() else {
            return Vec::new();
        };
        let forced = if is_true(self.is_compact_summary) {
            Some(Kind::Summary)
        } else if is_true(self.is_meta) || !self.typed_by_person() {
            Some(Kind::System)
        } else {
            None
        };
        message.user_parts(forced)
    }

    /// Whether a user record can be a person's: newer versions say where a prompt came from.
    fn typed_by_person(&self) -> bool {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Origin<'a> {
            #[serde(borrow)]
            kind: Option<&'a RawValue>,
        }
        let origin = self
            .origin
            .and_then(|origin| serde_json::from_str::<Origin<'_>>(origin.get()).ok());
        let kind = origin.and_then(|origin| string(origin.kind));
        kind.is_none_or(|kind| kind == "human")
            && string(self.prompt_source).is_none_or(|source| source != "system")
    }

    fn assistant_parts(&self) -> Vec<Part> {
        let Some(message) = self.message() else {
            return Vec::new();
        };
        let mut parts = message.assistant_parts();
        if is_true(self.is_api_error_message) {
            for part in &mut parts {
                part.kind = Kind::System;
                part.error = true;
            }
        }
        parts
    }

    /// Of all attachments only a prompt typed while a tool ran is speech; it never comes again as a user record.
    fn attachment_parts(&self) -> Vec<Part> {
        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct Attachment<'a> {
            #[serde(borrow, rename = "type")]
            kind: Option<&'a RawValue>,
            #[serde(borrow)]
            prompt: Option<&'a RawValue>,
            #[serde(borrow)]
            command_mode: Option<&'a RawValue>,
        }
        let Some(attachment) = self
            .attachment
            .and_then(|raw| serde_json::from_str::<Attachment<'_>>(raw.get()).ok())
        else {
            return Vec::new();
        };
        if string(attachment.kind).as_deref() != Some("queued_command") {
            return Vec::new();
        }
        let typed = string(attachment.command_mode).is_none_or(|mode| mode == "prompt");
        let message = Message {
            content: attachment.prompt,
            ..Message::default()
        };
        message.user_parts((!typed).then_some(Kind::System))
    }

    fn system_parts(&self) -> Vec<Part> {
        let subtype = string(self.subtype).unwrap_or_default();
        let (kind, text) = match &*subtype {
            "away_summary" => (Kind::Summary, string(self.content)),
            "local_command" | "informational" | "scheduled_task_fire" => {
                (Kind::System, string(self.content))
            }
            "api_error" => (
                Kind::System,
                self.error.map(|error| Cow::Borrowed(error.get())),
            ),
            _ => return Vec::new(),
        };
        let Some(text) = text.and_then(|text| super::shared::kept(&text)) else {
            return Vec::new();
        };
        vec![Part {
            error: &*subtype == "api_error",
            ..Part::new(TEXT_PART, kind, text)
        }]
    }
}

#[cfg(test)]
mod tests;
