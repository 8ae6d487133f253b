//! What is understood of small logs, a record a line.

use std::path::Path;

use super::Toy;
use crate::reader::{Reader, SourceName};
use crate::record::read_lines;
use backstory_event::{Action, Output};

/// Reads a log and compares what is understood of it. Read line by line, and again from its spans, it is the same.
fn check(log: &str, expect: &[&str]) {
    let path = Path::new("/home/ada/.toy/logs/s1.toylog");
    let mut whole = Output::default();
    read_lines(
        &mut *Toy.begin(&SourceName { path }, None),
        log.as_bytes(),
        0,
        1,
        &mut whole,
    );
    let shown: Vec<String> = whole
        .events
        .iter()
        .map(|event| {
            let mut line = format!(
                "{} {} | {}",
                event.session,
                event.kind.name(),
                event.body.text
            );
            if let Some(command) = &event.body.command {
                line.push_str(&format!(" $ {command}"));
            }
            for touch in &event.touches {
                let write = touch.action == Action::Write;
                line.push_str(&format!(
                    " {} {}",
                    if write { "W" } else { "R" },
                    touch.path
                ));
            }
            line
        })
        .collect();
    assert_eq!(shown, expect, "{log}");
    let (mut pieces, mut offset) = (Output::default(), 0);
    for line in log.split_inclusive('\n') {
        let mut reading = Toy.begin(&SourceName { path }, Some(""));
        read_lines(&mut *reading, line.as_bytes(), offset, 1, &mut pieces);
        offset += line.len() as u64;
    }
    assert_eq!(pieces.events, whole.events);
    for event in whole.events {
        let start = event.span.offset as usize;
        let span = &log.as_bytes()[start..start + event.span.length as usize];
        assert_eq!(Toy.reread(span), [(0, event.body)]);
    }
}

#[test]
fn records_are_events() {
    check(
        r#"{"toy":"opened","folder":"/home/ada"}
{"toy":"asked","id":"r1","time":"2026-11-09T10:00:00Z","text":" build it "}
{"toy":"called","id":"r2","call":"c1","tool":"build","input":{"path":"a.rs","text":"fn a() {}"}}
{"toy":"returned","id":"r3","call":"c1","tool":"build","ok":true,"text":""}
{"toy":"called","id":"r4","call":"c2","tool":"run","input":{"command":"cargo test"}}
{"toy":"said","id":"r5","text":"Built."}"#,
        &[
            "s1 prompt | build it",
            r#"s1 tool_call | {"path":"a.rs","text":"fn a() {}"} W a.rs"#,
            "s1 tool_result | ",
            r#"s1 tool_call | {"command":"cargo test"} $ cargo test"#,
            "s1 reply | Built.",
        ],
    );
}

#[test]
fn what_is_no_record_says_nothing() {
    check("{\"toy\":7}\nnot json\n{\"toy\":\"asked\"}\n[]\n{}", &[]);
}
