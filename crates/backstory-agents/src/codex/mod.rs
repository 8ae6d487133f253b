//! Codex: the command line, the editor extension, the desktop app, and forks that write the same rollouts.
//!
//! Format: `codex-rs/history`, `codex-rs/protocol` and `codex-rs/rollout` of openai/codex, read in August 2026, checked on
//! logs of October 2025 to August 2026. Three generations: one JSON document of the TypeScript program, bare items a line,
//! items a line in an envelope with a time.
//!
//! The same words are logged up to three times: as an item of the model's conversation, as an event for the screen, and as an
//! item of the app's history. The first of them makes the event and the others are dropped; see [`state::State::is_twin`].
//!
//! A fork begins with a copy of its parent's log, with new times, new ids on items and, for subagents, without the tool
//! calls or with the last turns only. Keys are therefore made of what is said in which turn, not of the bytes; every event of
//! a fork also has the key it would have in its parent, by which the store finds out how far the copy goes.
//!
//! Not read: encrypted reasoning, the history that a compaction leaves, the world state, and events that only repeat the
//! output of a tool.

pub(crate) mod call;
mod edits;
mod entry;
pub(crate) mod message;

pub(crate) mod hooks;
mod origin;
mod output;
mod reading;
mod recognise;
pub(crate) mod sample;
mod state;
#[cfg(test)]
mod tests;
mod turn_item;
mod usage;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::reading::CodexReading;
use crate::json;
use crate::object::Object;
use crate::reader::{Places, Reader, Reading, Shape, SourceName, SpanRecord, trailing_uuid};
use backstory_event::{EventBody, ToolClass};

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
    let json = String::from_utf8_lossy(span);
    // Repaired only if it was repaired when it was first read: else raw JSON in a text would differ.
    let repaired = match Object::parse(&json) {
        Ok(_) => None,
        Err(_) => json::repair_surrogates(&json),
    };
    let json = repaired.as_deref().unwrap_or(&json);
    let Ok(record) = Object::parse(json) else {
        return Vec::new();
    };
    if is_document(&record) {
        // Only a document with damaged text is a span as a whole: see `CodexReading::document`.
        let items = (0..u16::MAX).zip(record.list("items"));
        let text = |(part, item)| Some((part, entry::item(&Object::of(item)?)?.text));
        return items.filter_map(text).collect();
    }
    let (_, entries) = entry::entries(&record);
    let texts = entries.into_iter().map(|entry| entry.text);
    (0..u16::MAX).zip(texts).collect()
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
