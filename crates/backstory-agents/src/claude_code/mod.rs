//! Claude Code: `~/.claude/projects/<folder>/<session>.jsonl` and the transcripts of its subagents.
//!
//! Checked against versions 0.2 to 2.1.2xx, November 2026. Subagents come in three generations: inline lines marked
//! `isSidechain`, sibling files `agent-<id>.jsonl`, and `<session>/subagents/agent-<id>.jsonl`; each becomes a session of its
//! own, `<session>/agent-<id>`, whose parent is the session.

mod answers;
pub(crate) mod content;
mod edits;
mod facts;
pub(crate) mod hooks;
mod lifetime;
mod line;
mod marks;
mod object_field;
mod program_text;
pub(crate) mod sample;
pub(crate) mod session;
mod telemetry;
pub(crate) mod tools;
mod transcript;
mod twin;
mod usage;
pub(crate) mod written;

use std::path::{Path, PathBuf};

pub(crate) use self::lifetime::LIFETIME;
pub(crate) use self::tools::BOOKKEEPING_TOOLS;

use self::line::Line;
use self::session::FileIds;
use self::transcript::{Names, Transcript};
use crate::agents::AGENTS;
use crate::bounds::bound_body;
use crate::reader::{Places, Reader, Reading, RecordContent, Shape, SourceName};
use crate::record::{Record, read_document};
use backstory_event::{EventBody, Output, Telemetry, ToolClass};

/// Reads the logs of Claude Code.
pub(crate) struct ClaudeCode;

/// Returns the string that is the value of the field whose name ends before these bytes, as it stands there.
fn string_value(bytes: &[u8]) -> Option<&[u8]> {
    let value = bytes.trim_ascii_start().strip_prefix(b":")?;
    let value = value.trim_ascii_start().strip_prefix(b"\"")?;
    Some(&value[..memchr::memchr(b'"', value)?])
}

impl Reader for ClaudeCode {
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

    /// Keys are made of `uuid` or of a message's `id`; `leafUuid` names an event by its key.
    fn each_copied_id<'a>(&self, bytes: &'a [u8], each: &mut dyn FnMut(&'a [u8])) -> bool {
        for field in ["uid\"", "\"id\""] {
            for at in memchr::memmem::find_iter(bytes, field) {
                if let Some(id) = string_value(&bytes[at + field.len()..]) {
                    each(id);
                }
            }
        }
        true
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
        // Agents that are not in the table name a sessionId too (Copilot), quote such logs (OpenCode), or write Claude's
        // envelope (Qwen).
        const OTHERS: [&str; 4] = [
            "\"parts\":[",
            "\"usageMetadata\"",
            "\"providerID\"",
            "\"type\":\"session.start\"",
        ];
        let marks_of_agents = AGENTS.iter().flat_map(|agent| agent.log_marks);
        let mut others = OTHERS.iter().chain(marks_of_agents);
        let first_lines = &head[..head.len().min(32 << 10)];
        let found = |mark: &[u8]| memchr::memmem::find(first_lines, mark).is_some();
        let extension = path.extension().and_then(|extension| extension.to_str())?;
        (extension == "jsonl"
            && MARKS.iter().any(|mark| found(mark))
            && !others.any(|mark| found(mark.as_bytes())))
        .then_some(Shape::Lines)
    }

    fn begin(&self, source: &SourceName<'_>, state: Option<&str>) -> Box<dyn Reading> {
        let state = state.and_then(|state| serde_json::from_str(state).ok());
        let file = FileIds::of(source);
        Box::new(Transcript {
            state: state.unwrap_or_default(),
            file,
            names: Names::default(),
        })
    }

    fn reread(&self, span: &[u8]) -> Vec<(u16, EventBody)> {
        let mut again = BodyReading::default();
        // Repaired by the code that repaired it when it was first read.
        read_document(&mut again, span, &mut Output::default());
        again.bodies
    }

    fn content(&self, span: &[u8]) -> Option<RecordContent> {
        let mut again = ContentReading::default();
        read_document(&mut again, span, &mut Output::default());
        again.content
    }

    fn telemetry(&self, span: &[u8]) -> Vec<Telemetry> {
        let mut again = TelemetryReading::default();
        read_document(&mut again, span, &mut Output::default());
        again.items
    }

    fn tool_class(&self, tool: &str) -> ToolClass {
        tools::tool_class(tool)
    }

    fn is_program_text(&self, text: &str) -> bool {
        program_text::is_program_text(text)
    }

    fn error_tags(&self) -> &'static [&'static str] {
        &["tool_use_error", "error"]
    }

    fn tool_slips(&self) -> &'static [&'static str] {
        marks::TOOL_SLIPS
    }
}

/// A span that is read again for the bodies of its events.
#[derive(Default)]
struct BodyReading {
    bodies: Vec<(u16, EventBody)>,
}

impl Reading for BodyReading {
    fn record(&mut self, record: Record<'_>, _out: &mut Output) -> serde_json::Result<()> {
        let line = Line::parse(record.json)?;
        for mut part in line.iter().flat_map(Line::parts) {
            bound_body(&mut part.body);
            self.bodies.push((part.part, part.body));
        }
        Ok(())
    }

    fn state(&self) -> String {
        String::new()
    }
}

/// A span that is read again for the content of its message.
#[derive(Default)]
struct ContentReading {
    content: Option<RecordContent>,
}

impl Reading for ContentReading {
    fn record(&mut self, record: Record<'_>, _out: &mut Output) -> serde_json::Result<()> {
        let line = Line::parse(record.json)?;
        self.content = line.as_ref().and_then(Line::record_content);
        Ok(())
    }

    fn state(&self) -> String {
        String::new()
    }
}

/// A span that is read again for its telemetry.
#[derive(Default)]
struct TelemetryReading {
    items: Vec<Telemetry>,
}

impl Reading for TelemetryReading {
    fn record(&mut self, record: Record<'_>, _out: &mut Output) -> serde_json::Result<()> {
        if let Some(line) = Line::parse(record.json)? {
            self.items.extend(line.telemetry());
        }
        Ok(())
    }

    fn state(&self) -> String {
        String::new()
    }
}

#[cfg(test)]
mod tests;
