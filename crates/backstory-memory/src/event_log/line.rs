//! A line of the log files: how it is written, and how lines of this and of older versions are read.

use std::borrow::Cow;
use std::time::Duration;

use backstory_event::TimeMs;
use backstory_redact::Redactor;
use backstory_store::LoggedEvent;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{EventType, LogEvent, MAX_ERROR_BYTES};
use crate::text;
use crate::text::rfc3339;

/// The columns, in their order.
#[derive(Serialize)]
struct Line<'a> {
    timestamp: String,
    session_id: Option<Cow<'a, str>>,
    event_type: &'static str,
    data: Map<String, Value>,
    duration_ms: Option<f64>,
    tokens_in: Option<u64>,
    tokens_out: Option<u64>,
}

/// Returns the line of an event, with its newline and without secrets: paths, ids and messages of errors may carry some.
pub(super) fn write_line(event: &LogEvent, redactor: &Redactor) -> std::io::Result<Vec<u8>> {
    let timestamp = rfc3339(Some(event.at)).ok_or_else(|| std::io::Error::other("invalid time"))?;
    let mut data = event.data.clone();
    let mut set = |name: &str, value: Value| data.insert(name.to_string(), value);
    if let Some(agent) = &event.agent {
        set("agent", agent.as_str().into());
    }
    // Redacted before it is cut: half a secret is a secret that no rule knows.
    let error = event.error.as_deref().map(|error| {
        let clean = redacted(error, redactor);
        text::beginning(&clean, MAX_ERROR_BYTES).to_string()
    });
    let status = error.as_ref().map_or("success", |_| "error");
    set("status", status.into());
    set("error", error.into());
    for value in data.values_mut() {
        redact_strings(value, redactor);
    }
    let session_id = event.session_id.as_deref();
    let line = Line {
        timestamp,
        session_id: session_id.map(|id| redacted(id, redactor)),
        event_type: event.event_type.name(),
        data,
        duration_ms: event.duration.map(to_ms),
        tokens_in: event.tokens_in,
        tokens_out: event.tokens_out,
    };
    let mut bytes = serde_json::to_vec(&line)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Takes secrets out of all strings of a value, each for itself: beside the names of our fields, a plain word could look like one.
fn redact_strings(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = redacted(text, redactor) {
                *text = clean;
            }
        }
        Value::Array(items) => {
            for item in items {
                redact_strings(item, redactor);
            }
        }
        Value::Object(fields) => {
            for value in fields.values_mut() {
                redact_strings(value, redactor);
            }
        }
        _ => {}
    }
}

fn redacted<'t>(text: &'t str, redactor: &Redactor) -> Cow<'t, str> {
    match redactor.redact(text.as_bytes(), &[]).bytes {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

fn to_ms(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1000.0
}

/// Reads a line; `None` when it is no event.
pub(super) fn read_line(line: &[u8]) -> Option<LoggedEvent> {
    let fields: Map<String, Value> = serde_json::from_slice(line).ok()?;
    if fields.contains_key("event_type") {
        read_columns(&fields)
    } else {
        read_flat(fields)
    }
}

fn read_columns(fields: &Map<String, Value>) -> Option<LoggedEvent> {
    let text = |name: &str| fields.get(name)?.as_str().map(str::to_string);
    let number = |name: &str| fields.get(name)?.as_u64();
    let data = fields.get("data").filter(|data| data.is_object());
    let duration_ms = fields.get("duration_ms").and_then(Value::as_f64);
    let event_type = text("event_type")?;
    let is_injected = event_type == EventType::HookContextInject.name();
    Some(LoggedEvent {
        at: read_time(fields.get("timestamp")?)?,
        session_id: text("session_id"),
        event_type,
        agent: data.and_then(|data| data["agent"].as_str().map(str::to_string)),
        duration_us: duration_ms.map(|ms| (ms.max(0.0) * 1000.0).round() as u64),
        tokens_in: number("tokens_in"),
        tokens_out: number("tokens_out"),
        tokens_injected: number("tokens_out").filter(|_| is_injected).unwrap_or(0),
        data: data.map(Value::to_string),
    })
}

/// A line of the first version: `at`, `name`, `agent`, `duration_us`, `tokens`, and everything else beside them.
fn read_flat(mut fields: Map<String, Value>) -> Option<LoggedEvent> {
    let at = read_time(&fields.remove("at")?)?;
    let text = |value: Option<Value>| value?.as_str().map(str::to_string);
    let number = |value: Option<Value>| value?.as_u64();
    Some(LoggedEvent {
        at,
        event_type: text(fields.remove("name"))?,
        agent: text(fields.remove("agent")),
        duration_us: number(fields.remove("duration_us")),
        tokens_out: number(fields.remove("tokens")),
        // Such lines name no session.
        session_id: None,
        tokens_injected: 0,
        tokens_in: None,
        data: (!fields.is_empty()).then(|| Value::Object(fields).to_string()),
    })
}

fn read_time(value: &Value) -> Option<TimeMs> {
    let time: jiff::Timestamp = value.as_str()?.parse().ok()?;
    Some(TimeMs::new(time.as_millisecond()))
}

/// Returns the ids of all sessions that a line or the data of a row names.
pub(crate) fn logged_sessions(json: &[u8]) -> Vec<String> {
    let mut sessions = Vec::new();
    if let Ok(value) = serde_json::from_slice::<Value>(json) {
        gather_sessions(&value, &mut sessions);
    }
    sessions
}

fn gather_sessions(value: &Value, sessions: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(id) if name == "session_id" || name == "session" => {
                        sessions.push(id.clone());
                    }
                    value => gather_sessions(value, sessions),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                gather_sessions(item, sessions);
            }
        }
        _ => {}
    }
}
