//! Everything that an output says beyond what `render` shows, one thing a line.

use super::{Codex, read};
use crate::reader::Reader;
use backstory_event::{Event, EventKey, Output};

/// Reads a log and compares the lines that begin with one of these words.
#[track_caller]
pub(super) fn check_details(words: &[&str], lines: &[String], expected: &str) {
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let found = details(&read(lines), log.as_bytes());
    let is_wanted = |line: &&String| words.iter().any(|word| line.starts_with(word));
    let found: Vec<String> = found.iter().filter(is_wanted).cloned().collect();
    let trimmed: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(found.join("\n"), trimmed.join("\n"));
}

fn details(out: &Output, log: &[u8]) -> Vec<String> {
    let mut lines: Vec<String> = out.events.iter().map(event_details).collect();
    // Events are named by their number, from 1.
    let number = |key: Option<EventKey>| {
        let place = key.and_then(|key| out.events.iter().position(|event| event.key == key));
        place.map_or("none".to_string(), |place| (place + 1).to_string())
    };
    for response in &out.responses {
        let mut line = format!("used event={}", number(response.event));
        line.extend(response.branch.iter().map(|name| format!(" branch={name}")));
        let tier = &response.billing.service_tier;
        line.extend(tier.iter().map(|tier| format!(" tier={tier}")));
        let usage = response.usage;
        if usage.web_searches + usage.web_fetches > 0 {
            let (searches, fetches) = (usage.web_searches, usage.web_fetches);
            line.push_str(&format!(" searches={searches} fetches={fetches}"));
        }
        lines.push(line);
    }
    for facts in &out.facts {
        let mut line = "facts".to_string();
        let words = [
            ("version", &facts.agent_version),
            ("mode", &facts.permission_mode),
            ("meta", &facts.meta),
        ];
        for (name, value) in words {
            line.extend(value.iter().map(|value| format!(" {name}={value}")));
        }
        let window = facts.context_window;
        line.extend(window.map(|window| format!(" window={window}")));
        lines.push(line);
    }
    for record in &out.telemetry {
        let start = record.span.offset as usize;
        let items = Codex.telemetry(&log[start..start + record.span.length as usize]);
        assert!(!items.is_empty(), "{record:?}");
        for item in items {
            assert!(item.at.is_none() || item.at == record.at);
            let said = serde_json::to_string(&item.item).unwrap();
            lines.push(format!("telemetry after={} {said}", number(record.after)));
        }
    }
    lines
}

fn event_details(event: &Event) -> String {
    let body = &event.body;
    let mut line = event.kind.name().to_string();
    let words = [
        ("uuid", &body.identity.uuid),
        ("parent", &body.identity.parent_uuid),
        ("call", &body.identity.tool_use_id),
        ("arguments", &body.arguments),
        ("status", &body.status),
        ("stop", &body.stop_reason),
        ("effort", &body.effort),
    ];
    for (name, value) in words {
        line.extend(value.iter().map(|value| format!(" {name}={value}")));
    }
    for image in &body.images {
        let media_type = image.media_type.as_deref().unwrap_or("?");
        let source = image.source.as_deref().unwrap_or("?");
        line.push_str(&format!(
            " image={media_type},{source},{}",
            image.encoded_bytes
        ));
    }
    for mark in body.marks.names() {
        line.push_str(&format!(" {mark}"));
    }
    line.extend(
        body.edits
            .iter()
            .map(|edit| format!(" edits {}", edit.path)),
    );
    line.extend(body.context.iter().map(|context| format!(" {context:?}")));
    line
}
