//! Python's own traces, those of groups of exceptions, and those of crashes.

use super::lines::Lines;
use super::{Frame, keep, number};

/// A line `File "…", line 1, in f` and where it begins.
struct Entry {
    column: usize,
    frame: Frame,
    /// A crash tells the innermost first.
    crash: bool,
}

fn entry(line: &str) -> Option<Entry> {
    let column = line.find("File \"")?;
    let (file, rest) = line.get(column + 6..)?.split_once("\", line ")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (line, rest) = rest.split_at_checked(digits)?;
    let (crash, name) = match rest.strip_prefix(", in ") {
        Some(name) => (false, name),
        None => (true, rest.strip_prefix(" in ")?),
    };
    let name = name.trim_end();
    let frame = Frame::new(name, name, Some((file, number(line)?)));
    (!name.is_empty()).then_some(Entry {
        column,
        frame,
        crash,
    })
}

pub(super) fn read(lines: &mut Lines<'_>) -> Option<Vec<Frame>> {
    let first = lines.line()?;
    let Entry { column, crash, .. } = entry(first)?;
    // Whatever is before the words, be it the bars of a group or the name of a container, is before the source as well.
    let prefix = first.get(..column)?.to_string();
    let mut frames = Vec::new();
    while let Some(rest) = lines.line().and_then(|line| line.strip_prefix(&prefix)) {
        match entry(rest) {
            Some(entry) if entry.column == 0 => keep(&mut frames, entry.frame),
            _ if rest.starts_with([' ', '\t']) || rest.starts_with("[Previous line") => {}
            _ => break,
        }
        lines.advance();
    }
    if crash {
        frames.reverse();
    }
    Some(frames)
}
