//! Toy: an agent that nobody runs, by which the recipe in CONTRIBUTING is tested. Built for tests only.
//!
//! `~/.toy/logs/<session>.toylog`, a record a line: `{"toy":"asked","id":"…","time":"…","text":"…"}`. A record has one event at most.

pub(crate) mod hooks;
pub(crate) mod sample;
#[cfg(test)]
mod tests;
mod tools;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::object::Object;
use crate::reader::{Places, Reader, Reading, Shape, SourceName, times_after};
use crate::record::{Record, read_document};
use crate::retention::LogLifetime;
use crate::shared::kept;
use crate::time;
use backstory_event::{
    Event, EventBody, EventKey, Identity, Kind, Output, SessionFacts, Span, TimeMs, Title,
    ToolClass,
};

/// What every record begins with.
const MARK: &[u8] = b"{\"toy\":";

/// When it deletes its logs.
pub(crate) const LIFETIME: LogLifetime = LogLifetime::Limited {
    default_days: 7,
    settings_file: |places| places.home.join(".toy/keep-days"),
    read_days: |text| text.trim().parse().ok(),
};

/// Reads the logs of Toy.
pub(crate) struct Toy;

impl Reader for Toy {
    fn roots(&self, places: &Places<'_>) -> Vec<PathBuf> {
        let folders = places.from_variable_or_home("TOY_HOME", ".toy");
        folders.iter().map(|folder| folder.join("logs")).collect()
    }

    fn named(&self, path: &Path) -> Option<Shape> {
        let name = path.file_name()?.to_str()?;
        name.ends_with(".toylog").then_some(Shape::Lines)
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> Option<Shape> {
        self.named(path).filter(|_| head.starts_with(MARK))
    }

    fn times(&self, piece: &[u8]) -> (Option<TimeMs>, Option<TimeMs>) {
        times_after(b"\"time\":\"", piece)
    }

    fn begin(&self, source: &SourceName<'_>, _state: Option<&str>) -> Box<dyn Reading> {
        Box::new(ToyReading {
            session: Arc::from(source.stem()),
        })
    }

    fn reread(&self, span: &[u8]) -> Vec<(u16, EventBody)> {
        let mut again = BodyReading::default();
        read_document(&mut again, span, &mut Output::default());
        again.bodies
    }

    fn tool_class(&self, tool: &str) -> ToolClass {
        tools::tool_class(tool)
    }
}

/// A log being read. Nothing in it depends on the records before.
struct ToyReading {
    session: Arc<str>,
}

impl Reading for ToyReading {
    fn record(&mut self, record: Record<'_>, out: &mut Output) -> serde_json::Result<()> {
        let fields = Object::parse(record.json)?;
        if fields.text("toy").as_deref() == Some("opened") {
            out.facts.push(SessionFacts {
                session: Some(self.session.clone()),
                title: fields.name("title").map(Title::Generated),
                cwd: fields.name("folder"),
                branch: fields.name("branch"),
                agent_version: fields.name("version"),
                ..SessionFacts::default()
            });
        }
        let Some((kind, body)) = body_of(&fields) else {
            return Ok(());
        };
        // A record without an id is known by its text.
        let id = fields.name("id");
        let id = id.as_deref().unwrap_or(record.json);
        let key = EventKey::of(&[b"toy", self.session.as_bytes(), id.as_bytes()]);
        let span = Span {
            offset: record.offset,
            length: record.length,
            part: 0,
        };
        let at = fields.text("time").and_then(|at| time::milliseconds(&at));
        let mut event = Event::new(&self.session, key, kind, at, span);
        event.tool = fields.name("tool");
        event.error = fields.says("ok", false);
        if kind == Kind::ToolCall {
            let tool = event.tool.as_deref().unwrap_or_default();
            event.touches = tools::effects(tool, &body.text).touches;
        }
        event.body = body;
        out.events.push(event);
        Ok(())
    }

    fn state(&self) -> String {
        String::new()
    }
}

/// A span that is read again.
#[derive(Default)]
struct BodyReading {
    bodies: Vec<(u16, EventBody)>,
}

impl Reading for BodyReading {
    fn record(&mut self, record: Record<'_>, _out: &mut Output) -> serde_json::Result<()> {
        let body = body_of(&Object::parse(record.json)?);
        self.bodies.extend(body.map(|(_, body)| (0, body)));
        Ok(())
    }

    fn state(&self) -> String {
        String::new()
    }
}

/// The event that a record is; `None` for one that is none.
fn body_of(record: &Object<'_>) -> Option<(Kind, EventBody)> {
    let said = || record.text("text").and_then(|text| kept(&text));
    let (kind, text) = match record.text("toy")?.as_str() {
        "asked" => (Kind::Prompt, said()?),
        "thought" => (Kind::Reasoning, said()?),
        "said" => (Kind::Reply, said()?),
        "called" => (Kind::ToolCall, record.get("input")?.get().to_string()),
        "returned" => (Kind::ToolResult, said().unwrap_or_default()),
        "shortened" => (Kind::Summary, said()?),
        _ => return None,
    };
    let mut body = EventBody::from_text(text);
    body.identity = Identity {
        uuid: record.name("id"),
        parent_uuid: None,
        tool_use_id: record.name("call"),
    };
    body.marks.compacted = kind == Kind::Summary;
    if kind == Kind::ToolCall {
        let tool = record.name("tool").unwrap_or_default();
        body.command = tools::effects(&tool, &body.text).command;
    }
    Some((kind, body))
}
