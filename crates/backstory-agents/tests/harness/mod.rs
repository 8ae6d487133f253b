//! What must hold whatever bytes a log has, for every reader, for hooks and for redaction.
//!
//! Two drivers share these checks: the test beside this folder, bounded and on the stable compiler, and the coverage-guided
//! targets in `fuzz/`. A check that fails panics. Nothing is said here about what a reader makes of a good log: that is for the
//! readers' own tests.

#![allow(clippy::panic, reason = "a failed check panics")]

pub(crate) mod hook;
pub(crate) mod mutate;
pub(crate) mod seeds;

use std::path::Path;
use std::sync::LazyLock;

use backstory_agents::sample::sample_paths;
use backstory_agents::{LogAgent, Reader, Shape, SourceName, read_document, read_lines};
use backstory_event::{Event, Output, Span};
use backstory_redact::Redactor;
use serde::de::IgnoredAny;
use serde_json::Value;

/// Checks the reader of an agent.
///
/// Reading in pieces, with the state written down between them, gives the same as reading at once; what is put out lies within
/// the data; and the body of an event can be read again from its span.
pub(crate) fn reader(agent: &str, data: &[u8]) {
    let Some(LogAgent { agent, reader }) = LogAgent::find(agent) else {
        panic!("no reader for {agent}")
    };
    // Readers take ids from names, so each kind of name is a way of its own through a reader.
    let Some((first, others)) = sample_paths(agent).split_first() else {
        panic!("no sample paths for {agent:?}")
    };
    // Each name costs another run. Of the rare ones any length picks one, so that over many inputs all have their turn.
    let other = others.get(data.len() % others.len().max(1));
    for name in std::iter::once(first).chain(other) {
        let path = &Path::new("/home/ada").join(name);
        // What it answers does not matter, only that it does.
        let _ = reader.recognises(path, data);
        let whole = match reader.named(path) {
            Some(Shape::Lines) => {
                let whole = read_in_pieces(reader, path, &[data]);
                let lines: Vec<&[u8]> = data.split_inclusive(|byte| *byte == b'\n').collect();
                if lines.len() > 1 {
                    check_same(
                        &whole,
                        &read_in_pieces(reader, path, &lines),
                        "a piece for each line",
                    );
                }
                if lines.len() > 2 {
                    let middle = lines[..lines.len() / 2].iter().map(|line| line.len()).sum();
                    let (first, second) = data.split_at(middle);
                    check_same(
                        &whole,
                        &read_in_pieces(reader, path, &[first, second]),
                        "two pieces",
                    );
                }
                whole
            }
            Some(Shape::Document) => {
                let mut output = Output::default();
                read_document(
                    &mut *reader.begin(&SourceName { path }, None),
                    data,
                    &mut output,
                );
                output
            }
            None => panic!("{agent:?} does not know its own file {name}"),
        };
        check_places(&whole, data);
        check_bodies(reader, &whole, data);
    }
}

/// Reads pieces one after the other, each as a process of its own would.
fn read_in_pieces(reader: &dyn Reader, path: &Path, pieces: &[&[u8]]) -> Output {
    let mut output = Output::default();
    let mut state: Option<String> = None;
    let (mut offset, mut line) = (0, 1);
    for piece in pieces {
        let mut reading = reader.begin(&SourceName { path }, state.as_deref());
        line += read_lines(&mut *reading, piece, offset, line, &mut output);
        offset += piece.len() as u64;
        state = Some(reading.state());
    }
    output
}

fn check_same(whole: &Output, pieces: &Output, how: &str) {
    assert_eq!(whole.events, pieces.events, "events, {how}");
    assert_eq!(whole.extensions, pieces.extensions, "extensions, {how}");
    assert_eq!(whole.responses, pieces.responses, "responses, {how}");
    assert_eq!(whole.telemetry, pieces.telemetry, "telemetry, {how}");
    assert_eq!(whole.facts, pieces.facts, "facts, {how}");
    assert_eq!(whole.skipped, pieces.skipped, "skipped, {how}");
}

/// Everything that is put out lies within the data.
fn check_places(output: &Output, data: &[u8]) {
    let length = data.len() as u64;
    let within = |offset: u64, size: u64| offset.checked_add(size).is_some_and(|end| end <= length);
    for event in &output.events {
        assert!(
            within(event.span.offset, event.span.length),
            "outside of {length} bytes: {event:?}"
        );
    }
    for extension in &output.extensions {
        assert!(
            extension.end <= length,
            "outside of {length} bytes: {extension:?}"
        );
        let known = output.events.iter().any(|event| event.key == extension.key);
        assert!(known, "extends no event: {extension:?}");
    }
    for record in &output.telemetry {
        assert!(
            within(record.span.offset, record.span.length),
            "outside of {length} bytes: {record:?}"
        );
        let known = |key| output.events.iter().any(|event| event.key == key);
        assert!(record.after.is_none_or(known), "after no event: {record:?}");
    }
    for response in &output.responses {
        let known = |key| output.events.iter().any(|event| event.key == key);
        assert!(
            response.event.is_none_or(known),
            "of no event: {response:?}"
        );
    }
    for skipped in &output.skipped {
        assert!(
            within(skipped.offset, skipped.length),
            "outside of {length} bytes: {skipped:?}"
        );
    }
}

/// Content is JSON, and payloads are strings without quotes, in their order.
fn check_content(reader: &dyn Reader, span: &[u8]) {
    let content = reader.content(span);
    if let Some(content) = &content {
        let value: serde_json::Result<&serde_json::value::RawValue> =
            serde_json::from_str(&content.json);
        assert!(value.is_ok(), "{}", content.json);
    }
    let json = content.as_ref().map(|content| content.json.as_bytes());
    for bytes in json.into_iter().chain([span]) {
        let mut end = 0;
        for payload in backstory_agents::find_payloads(bytes) {
            assert!(payload.range.start >= end);
            end = payload.range.end;
            let text = &bytes[payload.range.clone()];
            assert!(!text.is_empty() && text.len() < bytes.len());
        }
    }
}

/// The body that is read again from an event's span is the one that was put out, with all that was added to its text later.
/// What a telemetry record says is found in its span.
fn check_bodies(reader: &dyn Reader, output: &Output, data: &[u8]) {
    let mut events = output.events.clone();
    for extension in &output.extensions {
        // A record that occurs twice has the same key twice: what goes on is then the later event.
        let extended = |event: &&mut Event| {
            event.key == extension.key && event.span.offset + event.span.length <= extension.end
        };
        if let Some(event) = events.iter_mut().rev().find(extended) {
            event.span.length = extension.end - event.span.offset;
            event.body.text.push_str(&extension.text);
            let images = extension.images.iter().cloned();
            event.body.images.extend(images);
            event.body.identity.add_missing(&extension.identity);
            let stop_reason = extension.stop_reason.clone();
            event.body.stop_reason = stop_reason.or(event.body.stop_reason.take());
        }
    }
    let bytes_of = |span: Span| &data[span.offset as usize..][..span.length as usize];
    for event in &events {
        let span = bytes_of(event.span);
        let of_span = |other: &&Event| {
            (other.span.offset, other.span.length) == (event.span.offset, event.span.length)
        };
        let bodies = reader.reread(span);
        check_content(reader, span);
        for event in events.iter().filter(of_span) {
            let found = bodies.iter().find(|(part, _)| *part == event.span.part);
            assert_eq!(
                found.map(|(_, body)| body),
                Some(&event.body),
                "read again from {:?}",
                String::from_utf8_lossy(span)
            );
        }
    }
    for record in &output.telemetry {
        let start = record.span.offset as usize;
        let span = &data[start..start + record.span.length as usize];
        assert!(
            !reader.telemetry(span).is_empty(),
            "nothing in {:?}",
            String::from_utf8_lossy(span)
        );
    }
}

/// Made once: compiling the rules takes longer than most inputs.
static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| Redactor::new([7; 32]));

/// Checks redaction.
///
/// It changes nothing the second time, leaves valid JSON valid, and keeps protected ranges as they are.
pub(crate) fn redact(data: &[u8]) {
    let once = REDACTOR.redact(data, &[]);
    assert!(
        once.count > 0 || *once.bytes == *data,
        "changed, but nothing was counted"
    );
    let twice = REDACTOR.redact(&once.bytes, &[]);
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(
        shown(&twice.bytes),
        shown(&once.bytes),
        "the second time, of {:?}",
        shown(data)
    );
    check_json_lines(data, &once.bytes);
    check_protected(data);
}

fn check_json_lines(data: &[u8], redacted: &[u8]) {
    let mut before = data.split(|byte| *byte == b'\n');
    if before.clone().all(is_json) {
        let after: Vec<&[u8]> = redacted.split(|byte| *byte == b'\n').collect();
        assert_eq!(
            after.len(),
            before.clone().count(),
            "lines of {:?}",
            String::from_utf8_lossy(redacted)
        );
        assert!(
            after.into_iter().all(is_json),
            "no JSON any more: {:?}",
            String::from_utf8_lossy(redacted)
        );
        return;
    }
    // Between broken lines a secret may reach over a line's end, but a good line alone must stay good.
    for line in before.by_ref().filter(|line| is_json(line)) {
        let alone = REDACTOR.redact(line, &[]);
        assert!(
            is_json(&alone.bytes),
            "no JSON any more: {:?}",
            String::from_utf8_lossy(&alone.bytes)
        );
        if serde_json::from_slice::<Value>(line).is_ok() {
            let decoded = serde_json::from_slice::<Value>(&alone.bytes);
            assert!(
                decoded.is_ok(),
                "a string of {:?} was cut in an escape",
                String::from_utf8_lossy(&alone.bytes)
            );
        }
    }
}

/// Whether a line is JSON, or empty. Nesting of any depth and lone surrogates are JSON.
fn is_json(line: &[u8]) -> bool {
    line.trim_ascii().is_empty() || serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

fn check_protected(data: &[u8]) {
    let third = data.len() / 3;
    let (middle, last) = (third..data.len() - third, data.len() - third..data.len());
    let ends = vec![0..third, last];
    for protected in [ends, vec![middle]] {
        let redacted = REDACTOR.redact(data, &protected);
        let mut rest = &*redacted.bytes;
        for range in protected {
            let kept = &data[range];
            let found = memchr::memmem::find(rest, kept);
            let Some(found) = found else {
                panic!(
                    "a protected range was touched: {:?}",
                    String::from_utf8_lossy(kept)
                )
            };
            rest = &rest[found + kept.len()..];
        }
    }
}
