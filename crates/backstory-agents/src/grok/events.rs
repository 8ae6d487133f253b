//! `events.jsonl`: when the model answered, how long tools took and how they ended, what the user allowed. There is no text in it.
//!
//! A turn is one telemetry record, from its beginning to its end, for only both together tell how long it took. What happened
//! within it has records of its own.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::fields::{Fields, integer};
use super::telemetry::{bounded_id, name_of, parse_value};
use super::{Line, Session, span_of};
use crate::bounds::bound_context;
use crate::record::Record;
use crate::shared::{is_true, string};
use backstory_event::{Output, SessionFacts, Span, TelemetryItem, TimeMs, TurnContext};

/// Grok's own name, in its hooks, for a session in which nothing is asked.
const UNASKED_MODE: &str = "bypassPermissions";
const DEFAULT_MODE: &str = "default";

/// Events that say nothing beside the one that follows each of them.
const WITHOUT_TELEMETRY: [&str; 6] = [
    "phase_changed",
    "first_token",
    "loop_started",
    "tool_started",
    "mcp_server_starting",
    "mcp_tool_call_started",
];

/// Length of a turn that is still read as one: longer ones say no more of their time than their end does.
const MAX_TURN_BYTES: u64 = 4 << 20;

/// Returns whether the first line of a file is one of this log: Copilot's of the same name has no `ts`.
pub(super) fn begins(first: &str) -> bool {
    if Line::read(first).is_ok() {
        const OTHERS: [&str; 5] = ["data", "payload", "timestamp", "uuid", "id"];
        let fields = Fields::read(first);
        let is_known = is_kind(&fields.string(&["type"]).unwrap_or_default());
        return is_known && fields.time(&["ts"]).is_some() && fields.get(&OTHERS).is_none();
    }
    // The line is longer than what is looked at. Grok writes the time first, then the kind, and no spaces.
    let kind = first
        .strip_prefix("{\"ts\":\"")
        .and_then(|rest| rest.split_once("\",\"type\":\""))
        .and_then(|(_, rest)| rest.split_once('"'));
    kind.is_some_and(|(kind, _)| is_kind(kind))
}

/// Whether an event of this log is called so.
fn is_kind(name: &str) -> bool {
    const KINDS: [&str; 11] = [
        "turn_started",
        "turn_ended",
        "phase_changed",
        "first_token",
        "loop_started",
        "tool_started",
        "tool_completed",
        "permission_requested",
        "permission_resolved",
        "interjected",
        "yolo_toggled",
    ];
    const FAMILIES: [&str; 4] = ["mcp_", "goal_", "todo_gate_", "laziness_"];
    KINDS.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}

/// A turn that has begun.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct BegunTurn {
    /// Where the record of its beginning lies.
    offset: u64,
    length: u64,
    at: Option<TimeMs>,
}

impl Session {
    /// Reads a line of the log.
    pub(super) fn event_line(&mut self, record: Record<'_>, out: &mut Output) {
        let fields = Fields::read(record.json);
        let Some(kind) = string(fields.get(&["type"])).filter(|kind| !kind.is_empty()) else {
            return;
        };
        if fields.get(&["ts"]).is_none() {
            return;
        }
        let session = self.session(fields.text(&["session_id"]).as_deref());
        self.link(&session, out);
        let at = fields.time(&["ts"]);
        match kind.as_ref() {
            "turn_started" => {
                // The one before never ended.
                if let Some(turn) = self.state.begun_turn.take() {
                    let span = Span {
                        offset: turn.offset,
                        length: turn.length,
                        part: 0,
                    };
                    self.put_telemetry(&session, turn.at, span, out);
                }
                self.learn_yolo(&fields, "yolo_mode", &session, out);
                self.state.begun_turn = Some(BegunTurn {
                    offset: record.offset,
                    length: record.length,
                    at,
                });
            }
            "turn_ended" => {
                let own = span_of(record, 0);
                let whole = self.state.begun_turn.take().map(|turn| Span {
                    offset: turn.offset,
                    length: (record.offset + record.length).saturating_sub(turn.offset),
                    part: 0,
                });
                let span = whole
                    .filter(|whole| whole.length <= MAX_TURN_BYTES)
                    .unwrap_or(own);
                self.put_telemetry(&session, at, span, out);
            }
            "mcp_health_check" if is_true(fields.get(&["healthy"])) => {}
            kind if WITHOUT_TELEMETRY.contains(&kind) => {}
            kind => {
                if kind == "yolo_toggled" {
                    self.learn_yolo(&fields, "enabled", &session, out);
                }
                self.put_telemetry(&session, at, span_of(record, 0), out);
            }
        }
    }

    /// Tells the store whose file this is: no event does.
    fn link(&mut self, session: &Arc<str>, out: &mut Output) {
        if self.state.linked.as_deref() == Some(session) {
            return;
        }
        self.state.linked = Some(session.to_string());
        out.facts.push(SessionFacts {
            session: Some(session.clone()),
            ..SessionFacts::default()
        });
    }

    fn learn_yolo(
        &mut self,
        fields: &Fields<'_>,
        name: &str,
        session: &Arc<str>,
        out: &mut Output,
    ) {
        let was_unasked = self.state.mode.as_deref() == Some(UNASKED_MODE);
        match yolo_mode(fields, name) {
            Some(UNASKED_MODE) => self.learn_mode(Some(UNASKED_MODE), session, out),
            // Which of the other modes it is stands in `updates.jsonl`.
            Some(other) if was_unasked => self.learn_mode(Some(other), session, out),
            _ => {}
        }
    }
}

/// The permission mode that a flag means.
fn yolo_mode(fields: &Fields<'_>, name: &str) -> Option<&'static str> {
    let flag = fields.get(&[name])?;
    match flag.get() {
        "true" => Some(UNASKED_MODE),
        "false" => Some(DEFAULT_MODE),
        _ => None,
    }
}

/// Times of a turn that were read so far.
#[derive(Debug, Default)]
pub(super) struct TurnTimes {
    began: Option<TimeMs>,
    first_answer: Option<TimeMs>,
}

/// Returns what an event says. Of the events within a turn, which have records of their own, only the times count.
pub(super) fn items(
    json: &str,
    fields: &Fields<'_>,
    begins: bool,
    times: &mut TurnTimes,
) -> Vec<TelemetryItem> {
    let kind = name_of(fields, "type").unwrap_or_default();
    let at = fields.time(&["ts"]);
    let other = || TelemetryItem::Other {
        name: kind.clone(),
        value: parse_value(json),
    };
    let since_began = |moment: Option<TimeMs>| {
        let (at, began) = moment.zip(times.began)?;
        Some(at.since(began).max(0))
    };
    match kind.as_str() {
        "turn_ended" => vec![
            TelemetryItem::TurnEnd {
                duration_ms: since_began(at),
                first_answer_ms: since_began(times.first_answer),
            },
            other(),
        ],
        "first_token" => {
            times.first_answer = times.first_answer.or(at);
            Vec::new()
        }
        _ if !begins => Vec::new(),
        "turn_started" => {
            times.began = at;
            let mut context = TurnContext {
                model: fields.owned(&["model_id"]),
                permission_mode: yolo_mode(fields, "yolo_mode")
                    .filter(|mode| *mode == UNASKED_MODE)
                    .map(str::to_string),
                ..TurnContext::default()
            };
            bound_context(&mut context);
            vec![TelemetryItem::Context(context), other()]
        }
        "yolo_toggled" => vec![TelemetryItem::Context(TurnContext {
            permission_mode: yolo_mode(fields, "enabled").map(str::to_string),
            ..TurnContext::default()
        })],
        "permission_requested" | "permission_resolved" => vec![TelemetryItem::Approval {
            tool_use_id: bounded_id(fields, "tool_call_id"),
            value: parse_value(json),
        }],
        // One that names its source times the way to another machine and back, for a call that has a time already.
        "tool_completed" if fields.get(&["source"]).is_none() => {
            vec![TelemetryItem::ToolTiming {
                tool_use_id: bounded_id(fields, "tool_call_id"),
                tool: name_of(fields, "tool_name"),
                duration_ms: integer(fields.get(&["duration_ms"])),
                outcome: name_of(fields, "outcome"),
            }]
        }
        _ => vec![other()],
    }
}
