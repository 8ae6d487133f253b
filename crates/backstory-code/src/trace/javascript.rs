//! JavaScript: V8 and what prints like it, vitest, and Firefox.

use super::lines::Lines;
use super::{Frame, java, keep, place};

const ANONYMOUS: &str = "<anonymous>";

/// Lines `at …`, which Java has as well.
pub(super) fn read_at(lines: &mut Lines<'_>) -> Option<Vec<Frame>> {
    read(lines, |line| {
        let mut text = line.trim_start();
        // Build tools put a level before each line.
        if text.starts_with('[') {
            text = text.split_once("] ")?.1.trim_start();
        }
        let text = text.strip_prefix("at ")?.trim();
        java::frame(text).or_else(|| frame(text))
    })
}

/// Lines `❯ f file:1:2`, with source between them.
pub(super) fn read_vitest(lines: &mut Lines<'_>) -> Option<Vec<Frame>> {
    read(lines, |line| {
        let text = line.trim_start().strip_prefix("❯ ")?.trim();
        let (name, at) = text.rsplit_once(' ').unwrap_or(("", text));
        Some(named(name, Some(file_and_line(at)?)))
    })
}

/// Lines `f@file:1:2`.
pub(super) fn read_firefox(lines: &mut Lines<'_>) -> Option<Vec<Frame>> {
    read(lines, |line| {
        let (name, at) = line.trim().split_once('@')?;
        let at = file_and_line(at)?;
        // `promise callback*f`, and `f/<` for a function without a name in `f`.
        let name = name.rsplit('*').next().unwrap_or(name);
        if name.contains(' ') {
            return None;
        }
        let mut parts = name.rsplit('/').map(|part| part.trim_matches('<'));
        Some(named(
            parts.find(|part| !part.is_empty()).unwrap_or_default(),
            Some(at),
        ))
    })
}

fn read(lines: &mut Lines<'_>, frame: fn(&str) -> Option<Frame>) -> Option<Vec<Frame>> {
    let mut frames = Vec::new();
    while let Some(line) = lines.line() {
        match frame(line) {
            Some(frame) => keep(&mut frames, frame),
            None if !frames.is_empty() && is_source(line) => {}
            None => break,
        }
        lines.advance();
    }
    frames.reverse();
    (!frames.is_empty()).then_some(frames)
}

/// `12| code` and `  | ^`.
fn is_source(line: &str) -> bool {
    let digits = |letter: char| letter.is_ascii_digit() || letter == ' ';
    line.trim_start_matches(digits).starts_with('|')
}

/// `f (file:1:2)`, `async f (…)`, `new F (…)`, `O.f [as g] (…)` or `file:1:2`.
fn frame(text: &str) -> Option<Frame> {
    // What an error carries is printed after its last frame.
    let text = text.strip_suffix(" {").unwrap_or(text);
    let text = text.strip_prefix("async ").unwrap_or(text);
    let Some((name, at)) = text
        .strip_suffix(')')
        .and_then(|text| text.split_once(" ("))
    else {
        return match text {
            ANONYMOUS => Some(named("", None)),
            at => {
                let at = file_and_line(at)?;
                (!at.0.ends_with(".rs")).then(|| named("", Some(at)))
            }
        };
    };
    let place = match at {
        ANONYMOUS | "native" | "unknown" => None,
        at if at.starts_with("index ") || at.starts_with("eval at ") => None,
        at => Some(file_and_line(at)?),
    };
    Some(named(name, place))
}

fn file_and_line(text: &str) -> Option<(&str, usize)> {
    let (file, line) = place(text)?;
    let file = file.strip_prefix("file://").unwrap_or(file);
    let is_file = file.contains(['/', '.', '\\']) || file.starts_with("node:");
    is_file.then_some((file, line))
}

fn named(name: &str, place: Option<(&str, usize)>) -> Frame {
    let name = name.split(" [as ").next().unwrap_or(name).trim();
    // `new F`, `get f`, `set f`.
    let plain = name.rsplit(['.', ' ']).find(|part| !part.is_empty());
    match name {
        "" => Frame::new(ANONYMOUS, ANONYMOUS, place),
        name => Frame::new(plain.unwrap_or(name), name, place),
    }
}
