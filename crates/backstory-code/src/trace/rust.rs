//! What `RUST_BACKTRACE` and crates that print like it give.

use super::lines::Lines;
use super::name::name;
use super::{Frame, keep, number, place};

pub(super) fn read(lines: &mut Lines<'_>) -> Option<Vec<Frame>> {
    lines.advance();
    let mut frames: Vec<Frame> = Vec::new();
    while let Some(line) = lines.line() {
        let text = line.trim_start();
        if let Some(at) = text.strip_prefix("at ")
            && let Some(frame) = frames.last_mut()
        {
            if let (None, Some((file, line))) = (frame.line, place(at)) {
                (frame.file, frame.line) = (Some(file.to_string()), Some(line));
            }
        } else if let Some(path) = called(line, !frames.is_empty()) {
            let path = unhashed(path);
            keep(&mut frames, Frame::new(name(path).function, path, None));
        } else if !text.starts_with(['⋮', '━']) && (!text.is_empty() || !frames.is_empty()) {
            break;
        }
        lines.advance();
    }
    frames.reverse();
    Some(frames)
}

/// `3: a::f` or `3: 0x12ab - a::f`; what was inlined may have no number.
fn called(line: &str, inside: bool) -> Option<&str> {
    let text = line.trim();
    let numbered = text
        .split_once(": ")
        .filter(|(index, _)| number(index).is_some());
    let name = match numbered {
        Some((_, rest)) => rest.trim_start(),
        None if inside && line.starts_with("      ") && text.contains("::") => text,
        None => return None,
    };
    let name = match name
        .strip_prefix("0x")
        .and_then(|rest| rest.split_once(" - "))
    {
        Some((_, name)) => name,
        None => name.strip_prefix("- ").unwrap_or(name),
    };
    (!name.is_empty()).then_some(name)
}

/// Symbols end in a hash of sixteen digits.
fn unhashed(path: &str) -> &str {
    match path.rsplit_once("::h") {
        Some((rest, hash)) if hash.len() == 16 => rest,
        _ => path,
    }
}
