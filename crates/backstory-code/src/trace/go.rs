//! Go's panics.

use super::lines::Lines;
use super::{Frame, keep, place};

/// `goroutine 1 [running]:` and a blank line after the last frame. Two lines a frame: what was called, and where it was.
pub(super) fn read(lines: &mut Lines<'_>) -> Option<Vec<Frame>> {
    let header = lines.line()?.trim();
    if !header.starts_with("goroutine ") || !header.ends_with(':') {
        return None;
    }
    lines.advance();
    let mut frames = Vec::new();
    while let Some(line) = lines.line() {
        if line.starts_with("...") {
            lines.advance();
            continue;
        }
        let name = called(line).filter(|name| !name.is_empty());
        let Some(name) = name.map(str::to_string) else {
            break;
        };
        lines.advance();
        let at = lines.line().and_then(|line| line.strip_prefix('\t'));
        // `file.go:12 +0x1d`.
        let place = at.and_then(|at| place(at.rsplit_once(" +0x").map_or(at, |(at, _)| at)));
        keep(&mut frames, Frame::new(plain(&name), &name, place));
        if at.is_some() {
            lines.advance();
        }
    }
    frames.reverse();
    Some(frames)
}

/// `a/b.(*T).f(0x12, {0x34, 0x5})`, or `created by a/b.f in goroutine 1`, which is the caller of all.
fn called(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("created by ") {
        return rest.split(" in goroutine").next();
    }
    let name = line.strip_suffix(')')?;
    if name.starts_with([' ', '\t']) {
        return None;
    }
    // Arguments have brackets of their own only as `(...)`.
    let name = name.strip_suffix("...").unwrap_or(name);
    name.rsplit_once('(').map(|(name, _)| name)
}

/// A closure is `f.func1`, or `f.func1.2` within another; `f.gowrap1` is what `go` runs.
fn plain(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    let name = name.strip_suffix("[...]").unwrap_or(name);
    let generated = |part: &&str| {
        let part = ["func", "gowrap", "deferwrap"]
            .iter()
            .find_map(|word| part.strip_prefix(word))
            .unwrap_or(part);
        part.bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    let mut parts = name.rsplit('.');
    let found = parts.find(|part| !generated(part)).unwrap_or(name);
    match found {
        "glob" | "init" if name.contains(".func") => "<anonymous>",
        found => found.strip_suffix("[...]").unwrap_or(found),
    }
}
