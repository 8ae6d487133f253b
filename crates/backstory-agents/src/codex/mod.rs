//! Codex: the command line, the editor extension, the desktop app, and forks that write the same rollouts.
//!
//! Format: `codex-rs/history`, `codex-rs/protocol` and `codex-rs/rollout` of openai/codex, read in August 2026, checked on
//! logs of October 2025 to August 2026. Three generations: one JSON document of the TypeScript program, bare items a line,
//! items a line in an envelope with a time.
//!
//! The same words are logged up to three times: as an item of the model's conversation, as an event for the screen, and as an
//! item of the app's history. The first of them makes the event and the others are dropped; see [`twins`].
//!
//! A fork begins with a copy of its parent's log, with new times, new ids on items and, for subagents, without the tool
//! calls or with the last turns only. Keys are therefore made of what is said in which turn, not of the bytes; every event of
//! a fork also has the key it would have in its parent, by which the store finds out how far the copy goes.
//!
//! A body is what its own record says, and of ids what its twin adds. So settings of a turn are telemetry, for no prompt names them.
//!
//! Not read: encrypted reasoning, the history that a compaction leaves, the world state, and events that only repeat the
//! output of a tool.

pub(crate) mod call;
mod edits;
mod entry;
mod item;
mod line;
mod marks;
pub(crate) mod message;

pub(crate) mod hooks;
mod origin;
mod output;
mod reading;
mod recognise;
pub(crate) mod sample;
mod session;
mod settings;
mod state;
mod telemetry;
#[cfg(test)]
mod tests;
mod token_attribution;
mod tool_class;
mod turn_item;
mod twins;
mod usage;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use self::tool_class::BOOKKEEPING_TOOLS;

use self::line::RolloutLine;
use self::reading::CodexReading;
use crate::bounds::bound_body;
use crate::json;
use crate::object::Object;
use crate::reader::{Places, Reader, Reading, Shape, SourceName, trailing_uuid};
use backstory_event::{EventBody, Telemetry, ToolClass};

/// Reads the rollouts of Codex.
pub(crate) struct Codex;

impl Reader for Codex {
    fn roots(&self, places: &Places<'_>) -> Vec<PathBuf> {
        let homes = places.from_variable_or_home("CODEX_HOME", ".codex");
        homes
            .iter()
            .flat_map(|home| [home.join("sessions"), home.join("archived_sessions")])
            .collect()
    }

    /// Every key has the id of its session, or of the one that is repeated.
    fn each_copied_id<'a>(&self, _bytes: &'a [u8], _each: &mut dyn FnMut(&'a [u8])) -> bool {
        true
    }

    fn named(&self, path: &Path) -> Option<Shape> {
        let name = path.file_name()?.to_str()?.strip_prefix("rollout-")?;
        if name.ends_with(".jsonl") || name.ends_with(".jsonl.zst") {
            return Some(Shape::Lines);
        }
        name.ends_with(".json").then_some(Shape::Document)
    }

    fn recognises(&self, _path: &Path, head: &[u8]) -> Option<Shape> {
        recognise::shape(head)
    }

    fn superseded_by(&self, path: &Path) -> Option<PathBuf> {
        let name = path.file_name()?.to_str()?;
        let plain = name
            .strip_suffix(".zst")
            .filter(|plain| plain.ends_with(".jsonl"))?;
        Some(path.with_file_name(plain))
    }

    fn begin(&self, source: &SourceName<'_>, state: Option<&str>) -> Box<dyn Reading> {
        let state = state
            .and_then(|state| json::read(state).ok())
            .unwrap_or_default();
        Box::new(CodexReading::new(id_of(source), state))
    }

    fn reread(&self, span: &[u8]) -> Vec<(u16, EventBody)> {
        let is_longer = memchr::memchr(b'\n', span).is_some();
        let twins = is_longer.then(|| twins::reread_twins(span)).flatten();
        let mut bodies = twins.unwrap_or_else(|| line::read_span(span, numbered_bodies));
        if bodies.is_empty() {
            // Twins on one line.
            bodies = twins::reread_twins(span).unwrap_or_default();
        }
        for (_, body) in &mut bodies {
            bound_body(body);
        }
        bodies
    }

    fn telemetry(&self, span: &[u8]) -> Vec<Telemetry> {
        line::read_span(span, telemetry::items)
    }

    fn tool_class(&self, tool: &str) -> ToolClass {
        tool_class::classify_tool(tool)
    }

    fn framed_output<'a>(&self, output: &'a str) -> Option<&'a str> {
        output::framed_output(output)
    }
}

fn numbered_bodies(line: &RolloutLine<'_>) -> Vec<(u16, EventBody)> {
    if is_document(&line.fields) {
        // Only a document with damaged text is a span as a whole: see `CodexReading::document`.
        let items = (0..u16::MAX).zip(line.fields.list("items"));
        let body = |(part, item)| Some((part, item::item(&Object::of(item)?)?.body));
        return items.filter_map(body).collect();
    }
    let (_, entries) = entry::entries(line);
    let bodies = entries.into_iter().map(|entry| entry.body);
    (0..u16::MAX).zip(bodies).collect()
}

/// The session's id as the file or its folder is named; a log without a first record has no other.
fn id_of(source: &SourceName<'_>) -> Arc<str> {
    let stem = source.stem();
    // A thread that was reverted goes on in `rollout-<time>-<thread>_<rollout>`.
    let thread = stem
        .rsplit_once('_')
        .and_then(|(thread, _)| trailing_uuid(thread));
    thread
        .or_else(|| trailing_uuid(stem))
        .or_else(|| source.folder(1).and_then(trailing_uuid))
        .unwrap_or_else(|| Arc::from(stem))
}

/// Whether a record is the whole session, as the TypeScript program wrote it.
fn is_document(record: &Object<'_>) -> bool {
    record.object("session").is_some() && record.has("items")
}
