//! C and C++, as gdb and the sanitizers print them.

use super::lines::Lines;
use super::name::name;
use super::{Frame, keep, number, place};

pub(super) fn read(lines: &mut Lines<'_>) -> Option<Vec<Frame>> {
    let mut frames: Vec<Frame> = Vec::new();
    let mut next = 0;
    // A frame that goes on in the next line, or has its variables there.
    let (mut open, mut wrapped) = (false, false);
    while let Some(line) = lines.line() {
        match frame(line, next) {
            Some(frame) => {
                next += 1;
                open = !line.starts_with(' ');
                wrapped = frame.line.is_none() && !line.ends_with(')');
                keep(&mut frames, frame);
            }
            None if open && (line.starts_with("    ") || line == "No locals.") => {
                let at = line.rsplit_once(" at ").and_then(|(_, at)| place(at));
                if let (true, Some((file, line)), Some(frame)) = (wrapped, at, frames.last_mut()) {
                    (frame.file, frame.line) = (Some(file.to_string()), Some(line));
                    wrapped = false;
                }
            }
            _ => break,
        }
        lines.advance();
    }
    frames.reverse();
    (!frames.is_empty()).then_some(frames)
}

/// `#0  0x12 in f (a=1) at file.c:12`, `#0 0x12 in f(int) file.c:12:3` or `#0 f file.c:12 (program+0x12)`.
fn frame(line: &str, wanted: usize) -> Option<Frame> {
    let (index, rest) = line.trim().strip_prefix('#')?.split_once(' ')?;
    // The first one says where it is, or else its address.
    if number(index)? != wanted || (wanted == 0 && !rest.contains(':') && !rest.contains('x')) {
        return None;
    }
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix("0x") {
        Some(rest) => rest.split_once(" in ")?.1,
        None => rest,
    };
    let (path, place) = located(rest);
    let name = name(path);
    // Other languages number their frames too, but begin with the file.
    if path.is_empty() || name.function.contains(['/', '\\', '"', '\'']) {
        return None;
    }
    Some(Frame::new(name.function, name.qualified, place))
}

/// Where it is said to be, and what comes before that.
fn located(text: &str) -> (&str, Option<(&str, usize)>) {
    if let Some((name, at)) = text.rsplit_once(" at ")
        && let Some(place) = place(at)
    {
        return (name, Some(place));
    }
    if let Some((name, _)) = text.rsplit_once(" from ") {
        return (name, None);
    }
    let mut text = text;
    // The program and its build.
    while let Some((name, _)) = text
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once(" ("))
    {
        if name.is_empty() {
            break;
        }
        text = name;
    }
    match text.rsplit_once(' ') {
        Some((name, at)) => place(at).map_or((text, None), |place| (name, Some(place))),
        None => (text, None),
    }
}
