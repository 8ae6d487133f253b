//! `signals.json`: counters of a session, rewritten as it goes on.

use serde_json::{Map, Value};

use super::fields::Fields;
use super::telemetry::parse_value;
use super::{Session, span_of};
use crate::record::Record;
use backstory_event::{Output, SessionFacts, TelemetryItem};

/// The counters that say how full the context window is.
const CONTEXT_COUNTERS: [&str; 5] = [
    "contextTokensUsed",
    "contextWindowTokens",
    "contextWindowUsage",
    "compactionCount",
    "totalTokensBeforeCompaction",
];

/// Returns whether the beginning of a file is that of such counters.
pub(super) fn begins(head: &[u8]) -> bool {
    let found = |mark: &str| memchr::memmem::find(head, mark.as_bytes()).is_some();
    head.trim_ascii_start().starts_with(b"{")
        && found("\"turnCount\"")
        && found("\"userMessageCount\"")
        && found("\"toolCallCount\"")
}

fn is_signals(fields: &Fields<'_>) -> bool {
    fields.unsigned("turnCount").is_some() || fields.unsigned("contextTokensUsed").is_some()
}

impl Session {
    /// Puts the counters out.
    pub(super) fn signals(&mut self, record: Record<'_>, out: &mut Output) {
        let fields = Fields::read(record.json);
        if !is_signals(&fields) {
            return;
        }
        let session = self.session(None);
        let window = fields.unsigned("contextWindowTokens");
        out.facts.push(SessionFacts {
            session: Some(session.clone()),
            context_window: window.filter(|window| *window > 0),
            ..SessionFacts::default()
        });
        self.put_telemetry(&session, None, span_of(record, 0), out);
    }
}

/// Returns what the counters say.
pub(super) fn items(json: &str, fields: &Fields<'_>) -> Vec<TelemetryItem> {
    if !is_signals(fields) {
        return Vec::new();
    }
    let context: Map<String, Value> = CONTEXT_COUNTERS
        .iter()
        .filter_map(|name| {
            let counter = parse_value(fields.get(&[name])?.get());
            Some((name.to_string(), counter))
        })
        .collect();
    vec![
        TelemetryItem::TokenCount {
            context_tokens: fields.unsigned("contextTokensUsed"),
            context_window: fields.unsigned("contextWindowTokens"),
            value: Value::Object(context),
        },
        TelemetryItem::Other {
            name: "signals".to_string(),
            value: parse_value(json),
        },
    ]
}
