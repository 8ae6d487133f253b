//! The two ways in which pytest itself tells a trace.

use super::lines::Lines;
use super::{Frame, keep, number};

/// How far above a location its function may begin.
const MAX_SOURCE: usize = 1000;

/// `path.py:12: rest`. Source and messages, which may look the same, begin with other letters.
fn location(line: &str) -> Option<((&str, usize), &str)> {
    if line.starts_with([' ', '>']) || line.starts_with("E ") {
        return None;
    }
    // Windows has a colon after the drive.
    let drive = if line.as_bytes().get(1) == Some(&b':') {
        2
    } else {
        0
    };
    let colon = drive + line.get(drive..)?.find(':')?;
    let (file, rest) = line.split_at_checked(colon)?;
    if !file.ends_with(".py") {
        return None;
    }
    let (line, rest) = rest.get(1..)?.split_once(':')?;
    Some(((file, number(line)?), rest.trim()))
}

pub(super) fn read(lines: &mut Lines<'_>) -> Option<Vec<Frame>> {
    let (_, rest) = location(lines.line()?)?;
    match rest.starts_with("in ") {
        true => Some(short(lines)),
        false => long(lines),
    }
}

/// `path.py:12: in f`, with some source below.
fn short(lines: &mut Lines<'_>) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let Some(line) = lines.line() {
        let found = location(line).and_then(|(at, rest)| Some((at, rest.strip_prefix("in ")?)));
        match found {
            Some((at, name)) => keep(&mut frames, Frame::new(name, name, Some(at))),
            None if line.starts_with("    ") => {}
            None => break,
        }
        lines.advance();
    }
    frames
}

/// The source of each function down to the line that was running, and `path.py:12:` below it.
fn long(lines: &mut Lines<'_>) -> Option<Vec<Frame>> {
    let mut frames = Vec::new();
    let mut function = above(lines);
    while let Some(line) = lines.line() {
        if let Some((at, rest)) = location(line) {
            // The innermost one tells the exception.
            let innermost = !rest.is_empty();
            let frame = function
                .take()
                .map(|name| Frame::new(&name, &name, Some(at)));
            lines.advance();
            keep(&mut frames, frame?);
            if innermost || !lines.line().is_some_and(|line| line.starts_with("_ _ ")) {
                break;
            }
        } else if line.starts_with("___") || line.starts_with("===") {
            break;
        } else {
            function = defined(line).map(str::to_string).or(function);
            lines.advance();
        }
    }
    Some(frames)
}

/// The function whose source ends above this line.
fn above(lines: &Lines<'_>) -> Option<String> {
    let mut running = false;
    for line in lines.before().take(MAX_SOURCE) {
        let current = line.starts_with("> ");
        if !current && !line.is_empty() && !line.starts_with("    ") && !line.starts_with("E ") {
            return None;
        }
        running |= current;
        if running && let Some(name) = defined(&line) {
            return Some(name.to_string());
        }
    }
    None
}

/// Source is printed without the indentation of its function. One of a single line runs where it is defined.
fn defined(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("    ").or(line.strip_prefix(">   "))?;
    let rest = rest.strip_prefix("async ").unwrap_or(rest);
    let name = rest.strip_prefix("def ")?.split(['(', '[']).next();
    name.filter(|name| !name.is_empty())
}
