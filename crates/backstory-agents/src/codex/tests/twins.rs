//! Ids that only the second of two records of the same words has.

use super::{Codex, event, item, read, shown};
use crate::reader::Reader;
use backstory_event::Output;

/// Ids of each event once all of the log is read, one event a line.
fn ids(lines: &[String], log: &[u8]) -> String {
    let Output {
        mut events,
        extensions,
        ..
    } = read(lines);
    for extension in extensions {
        assert!(!extension.is_of_content());
        let of_it = events.iter_mut().filter(|event| event.key == extension.key);
        for event in of_it {
            event.span.length = extension.end - event.span.offset;
            event.body.identity.add_missing(&extension.identity);
        }
    }
    let line = |event: &backstory_event::Event| {
        let span = &log[event.span.offset as usize..][..event.span.length as usize];
        let again = Codex.reread(span);
        assert_eq!(again, [(event.span.part, event.body.clone())]);
        let identity = &event.body.identity;
        let id = |id: &Option<String>| id.clone().unwrap_or_else(|| "-".to_string());
        format!(
            "{} {} {}",
            event.kind.name(),
            id(&identity.uuid),
            id(&identity.parent_uuid)
        )
    };
    events.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(lines: &[String], expected: &str) {
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let trimmed: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(ids(lines, log.as_bytes()), trimmed.join("\n"));
}

fn message(role: &str, id: &str, text: &str) -> String {
    let content = format!(r#"[{{"type":"output_text","text":"{text}"}}]"#);
    let turn = r#""internal_chat_message_metadata_passthrough":{"turn_id":"t1"}"#;
    item(&format!(
        r#"{{"type":"message","role":"{role}","id":"{id}","content":{content},{turn}}}"#
    ))
}

#[test]
fn the_second_record_names_the_event_of_the_first() {
    let thoughts = r#"{"type":"reasoning","id":"r1","summary":[{"type":"summary_text","text":"Hm"},{"type":"summary_text","text":"Ah"}]}"#;
    check(
        &[
            item(
                r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello"}]}"#,
            ),
            event(r#"{"type":"user_message","client_id":"u1","message":"Hello"}"#),
            shown("agent_message", "Hi"),
            message("assistant", "m1", "Hi"),
            event(r#"{"type":"agent_reasoning","text":"Hm"}"#),
            event(r#"{"type":"agent_reasoning","text":"Ah"}"#),
            item(thoughts),
            shown("agent_message", "Yes"),
            shown("agent_message", "Yes"),
            message("assistant", "m2", "Yes"),
            message("assistant", "m3", "Yes"),
        ],
        "
        prompt u1 -
        reply m1 t1
        reasoning r1 -
        reasoning r1 -
        reply m2 t1
        reply m3 t1
        ",
    );
}

#[test]
fn a_record_of_another_kind_ends_the_wait() {
    check(
        &[
            shown("agent_message", "Hi"),
            event(r#"{"type":"token_count","info":null}"#),
            message("assistant", "m1", "Hi"),
        ],
        "reply - -",
    );
    // Glued to one line, as a crash may leave them.
    let glued = format!(
        "{}{}",
        shown("agent_message", "Hi"),
        message("assistant", "m1", "Hi")
    );
    check(&[glued], "reply m1 t1");
}
