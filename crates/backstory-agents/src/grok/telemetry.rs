//! Telemetry of Grok: what `updates.jsonl`, `events.jsonl` and `signals.json` say of how the agent worked.
//!
//! Which records get a row is decided when they are read; what a row says is read from its span.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::events::{self, TurnTimes};
use super::fields::{Fields, integer, moment};
use super::note::Note;
use super::{Line, Session, signals, span_of};
use crate::bounds::{MAX_CALL_ID_BYTES, MAX_NAME_BYTES, bound_context, bound_name};
use crate::json;
use crate::reader::Reading;
use crate::record::{Record, read_document, read_lines};
use crate::shared::{is_true, string};
use backstory_event::{
    Event, EventKey, Output, SessionFacts, Span, Telemetry, TelemetryItem, TelemetryRecord, TimeMs,
    TurnContext,
};

/// Updates that are events, facts, or lists of what could be used; and reports of progress, of which there may be one a second.
const WITHOUT_TELEMETRY: [&str; 22] = [
    "tool_call",
    "tool_call_update",
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "rewind_marker",
    "session_recap",
    "session_recap_unavailable",
    "session_summary_generated",
    "session_info_update",
    "available_commands_update",
    "hooks_changed",
    "plugins_changed",
    "memory_files",
    "hook_annotation",
    "diff_review",
    "feedback_request",
    "relay_sync_status",
    "session_status",
    "goal_updated",
    "workflow_updated",
    "monitor_event",
];

/// Returns whether a notification says something of how the agent worked that its events do not.
pub(super) fn is_worth_a_row(note: &Note<'_>) -> bool {
    let kind = note.kind();
    if kind == "hook_execution" {
        // Hooks run with every call. Only those that failed or stood in the way are remarkable.
        let update = note.raw.map(RawValue::get).unwrap_or_default();
        return memchr::memmem::find(update.as_bytes(), b"\"failed\"").is_some();
    }
    let is_stream = ["_chunk", "_progress", "_delta"].map(|end| kind.ends_with(end));
    !kind.is_empty() && !is_stream.contains(&true) && !WITHOUT_TELEMETRY.contains(&kind.as_ref())
}

impl Session {
    /// Puts an event out, and with the first answer of a turn how full the context is by then.
    pub(super) fn put_noted(
        &mut self,
        event: Event,
        note: &Note<'_>,
        record: Record<'_>,
        out: &mut Output,
    ) {
        let session = event.session.clone();
        let is_first_answer = self.put(event, out);
        if is_first_answer && integer(note.meta.total_tokens).is_some() {
            self.put_telemetry(&session, note.at, span_of(record, 0), out);
        }
    }

    /// Puts a telemetry record out.
    pub(super) fn put_telemetry(
        &self,
        session: &Arc<str>,
        at: Option<TimeMs>,
        span: Span,
        out: &mut Output,
    ) {
        out.telemetry.push(TelemetryRecord {
            session: session.clone(),
            after: self.state.last.map(EventKey),
            at,
            span,
        });
    }

    /// Puts out the settings that a notification changes.
    pub(super) fn learn_settings(&mut self, note: &Note<'_>, session: &Arc<str>, out: &mut Output) {
        match note.kind().as_ref() {
            "current_mode_update" => {
                let mode = note.fields().owned(&["currentModeId", "current_mode_id"]);
                self.learn_mode(mode.as_deref(), session, out);
            }
            "auto_compact_started" => {
                let window = note.fields().unsigned("context_window");
                self.learn_window(window, session, out);
            }
            _ => {}
        }
    }

    /// Puts a permission mode out, if it is another than before.
    pub(super) fn learn_mode(&mut self, mode: Option<&str>, session: &Arc<str>, out: &mut Output) {
        let mode = mode.map(|mode| bound_name(mode, MAX_NAME_BYTES).into_owned());
        if mode.is_none() || mode == self.state.mode {
            return;
        }
        self.state.mode.clone_from(&mode);
        out.facts.push(SessionFacts {
            session: Some(session.clone()),
            permission_mode: mode,
            ..SessionFacts::default()
        });
    }

    /// Puts the size of the context window out, if it is another than before.
    pub(super) fn learn_window(
        &mut self,
        window: Option<u64>,
        session: &Arc<str>,
        out: &mut Output,
    ) {
        let window = window.filter(|window| *window > 0);
        if window.is_none() || window == self.state.window {
            return;
        }
        self.state.window = window;
        out.facts.push(SessionFacts {
            session: Some(session.clone()),
            context_window: window,
            ..SessionFacts::default()
        });
    }
}

/// Returns what the telemetry record in a span says.
pub(super) fn span_telemetry(span: &[u8]) -> Vec<Telemetry> {
    // A document of several lines is one record, a turn of `events.jsonl` several.
    let mut whole = TelemetryAgain::default();
    let mut out = Output::default();
    read_document(&mut whole, span, &mut out);
    if !out.skipped.is_empty() {
        whole = TelemetryAgain::default();
        read_lines(&mut whole, span, 0, 1, &mut out);
    }
    whole.found
}

/// A span that is read again for its telemetry.
#[derive(Default)]
struct TelemetryAgain {
    found: Vec<Telemetry>,
    begun: bool,
    times: TurnTimes,
}

impl Reading for TelemetryAgain {
    fn record(&mut self, record: Record<'_>, _out: &mut Output) -> serde_json::Result<()> {
        let line = Line::read(record.json)?;
        let begins = !std::mem::replace(&mut self.begun, true);
        let (at, items) = if let Some(note) = line.note()? {
            (note.at, note_items(&note))
        } else {
            let fields = Fields::read(record.json);
            if fields.get(&["ts"]).is_some() {
                let at = fields.time(&["ts"]);
                (
                    at,
                    events::items(record.json, &fields, begins, &mut self.times),
                )
            } else {
                (None, signals::items(record.json, &fields))
            }
        };
        let found = items.into_iter().map(|item| Telemetry { at, item });
        self.found.extend(found);
        Ok(())
    }

    fn state(&self) -> String {
        String::new()
    }
}

/// Returns what a notification says.
fn note_items(note: &Note<'_>) -> Vec<TelemetryItem> {
    let kind = note.kind();
    let fields = note.fields();
    let value = || note.raw.map_or(Value::Null, |raw| parse_value(raw.get()));
    let context = |mut context: TurnContext| {
        bound_context(&mut context);
        TelemetryItem::Context(context)
    };
    let other = || TelemetryItem::Other {
        name: bound_name(&kind, MAX_NAME_BYTES).into_owned(),
        value: value(),
    };
    match kind.as_ref() {
        "plan" => vec![TelemetryItem::PlanUpdate { value: value() }],
        "current_mode_update" => vec![context(TurnContext {
            permission_mode: fields.owned(&["currentModeId", "current_mode_id"]),
            ..TurnContext::default()
        })],
        "model_changed" => vec![context(TurnContext {
            model: fields.owned(&["model_id"]),
            effort: fields.owned(&["reasoning_effort"]),
            ..TurnContext::default()
        })],
        "model_auto_switched" => vec![
            context(TurnContext {
                model: fields.owned(&["new_model_id"]),
                ..TurnContext::default()
            }),
            other(),
        ],
        "response_started" | "response_completed" => vec![TelemetryItem::TokenCount {
            context_tokens: response_tokens(&fields),
            context_window: None,
            value: value(),
        }],
        "auto_compact_started" => vec![TelemetryItem::TokenCount {
            context_tokens: fields.unsigned("tokens_used"),
            context_window: fields.unsigned("context_window"),
            value: value(),
        }],
        "auto_compact_completed" | "compaction_checkpoint" => {
            vec![TelemetryItem::Compaction { value: value() }]
        }
        "retry_state" if is_true(fields.get(&["is_rate_limited"])) => {
            vec![TelemetryItem::RateLimits { value: value() }]
        }
        "pending_interaction" | "interaction_resolved" => vec![TelemetryItem::Approval {
            tool_use_id: bounded_id(&fields, "tool_call_id"),
            value: value(),
        }],
        "turn_completed" => turn_end(note, value()),
        "user_message_chunk"
        | "agent_message_chunk"
        | "agent_thought_chunk"
        | "tool_call"
        | "tool_call_update" => vec![TelemetryItem::TokenCount {
            context_tokens: integer(note.meta.total_tokens)
                .and_then(|tokens| u64::try_from(tokens).ok()),
            context_window: None,
            value: note
                .raw_meta
                .map_or(Value::Null, |raw| parse_value(raw.get())),
        }],
        _ => vec![other()],
    }
}

/// The end of a turn: how long it took, why it ended, and what it cost.
fn turn_end(note: &Note<'_>, mut value: Value) -> Vec<TelemetryItem> {
    let began = moment(note.meta.turn_start_ms);
    let duration_ms = note.at.zip(began).map(|(at, began)| at.since(began));
    let end = TelemetryItem::TurnEnd {
        duration_ms: duration_ms.filter(|duration| *duration >= 0),
        first_answer_ms: None,
    };
    // Who stopped the turn stands beside the update.
    if let (Some(meta), Some(update)) = (note.raw_meta, value.as_object_mut()) {
        update
            .entry("_meta")
            .or_insert_with(|| parse_value(meta.get()));
    }
    let other = TelemetryItem::Other {
        name: "turn_completed".to_string(),
        value,
    };
    vec![end, other]
}

/// The tokens that a response was made from.
fn response_tokens(fields: &Fields<'_>) -> Option<u64> {
    let nested = Fields::of(fields.get(&["usage"]));
    let is_nested = nested.unsigned("input_tokens").is_some();
    let usage = if is_nested { &nested } else { fields };
    let cached = usage
        .count("cache_read_input_tokens")
        .saturating_add(usage.count("cache_creation_input_tokens"));
    let input = usage.unsigned("input_tokens")?;
    Some(input.saturating_add(cached))
}

/// Returns an id within its limit.
pub(super) fn bounded_id(fields: &Fields<'_>, name: &str) -> Option<String> {
    let id = fields.text(&[name])?;
    Some(bound_name(&id, MAX_CALL_ID_BYTES).into_owned())
}

/// Parses JSON; what nests too deep to be parsed is given as text.
pub(super) fn parse_value(raw: &str) -> Value {
    json::read(raw).unwrap_or_else(|_| Value::String(raw.to_string()))
}

/// Returns a string field of a record, or nothing.
pub(super) fn name_of(fields: &Fields<'_>, name: &str) -> Option<String> {
    let name = string(fields.get(&[name])).filter(|name| !name.is_empty())?;
    Some(bound_name(&name, MAX_NAME_BYTES).into_owned())
}
