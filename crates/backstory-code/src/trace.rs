//! Stack traces in what programs print.
//!
//! Takes any text, most of which has none. What may be a frame is found by its marker first, so that megabytes of other text cost next
//! to nothing; then the format that the marker belongs to reads on, line by line. No line is read twice by one format, whatever is in
//! the text.

mod go;
mod java;
mod javascript;
mod lines;
mod name;
mod native;
mod pytest;
mod python;
mod rust;

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use serde::Serialize;

use lines::Lines;

/// Deeper traces are cut; what is printed first stays.
const MAX_FRAMES: usize = 200;
/// No frame is shorter than `#0 f a.c:1`.
const MIN_LINE: usize = 10;
/// A text that repeats its traces says nothing new.
const MAX_TRACES: usize = 50;

/// A function that was running.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Frame {
    /// The path or name of the file, as printed.
    pub file: Option<String>,
    /// The name as the source has it, without its class or module. A closure goes by the function that it stands in; what has no name
    /// is in `<…>`.
    pub function: String,
    /// The name as printed, without arguments.
    pub qualified: String,
    /// Counts from one.
    pub line: Option<usize>,
}

impl Frame {
    fn new(function: &str, qualified: &str, place: Option<(&str, usize)>) -> Frame {
        Frame {
            file: place.map(|(file, _)| file.to_string()),
            function: function.to_string(),
            qualified: qualified.to_string(),
            line: place.map(|(_, line)| line),
        }
    }
}

/// A way in which traces are printed.
struct Format {
    /// One of these is in the first line of every trace.
    markers: &'static [&'static str],
    /// Reads on from that line, and goes past what it understands. The outermost caller comes first.
    read: fn(&mut Lines<'_>) -> Option<Vec<Frame>>,
}

/// Some markers leave room for colours.
static FORMATS: &[Format] = &[
    Format {
        markers: &[", line "],
        read: python::read,
    },
    Format {
        markers: &[".py:", ".py\x1b[0m:"],
        read: pytest::read,
    },
    Format {
        markers: &["ack backtrace:", "━ BACKTRACE ━"],
        read: rust::read,
    },
    Format {
        markers: &[" at ", "\tat ", "[2mat "],
        read: javascript::read_at,
    },
    Format {
        markers: &["❯"],
        read: javascript::read_vitest,
    },
    Format {
        markers: &["@http", "@file:", "@webpack", "@resource:", "@moz-ext"],
        read: javascript::read_firefox,
    },
    Format {
        markers: &["goroutine "],
        read: go::read,
    },
    Format {
        markers: &["#0 "],
        read: native::read,
    },
];

/// All markers, and the format of each.
static MARKERS: LazyLock<Option<(AhoCorasick, Vec<usize>)>> = LazyLock::new(|| {
    let (formats, markers): (Vec<usize>, Vec<&str>) = FORMATS
        .iter()
        .enumerate()
        .flat_map(|(format, entry)| entry.markers.iter().map(move |marker| (format, *marker)))
        .unzip();
    // Other kinds of matches are not looked for with vectors.
    let kind = MatchKind::LeftmostFirst;
    let searcher = AhoCorasick::builder().match_kind(kind).build(markers);
    Some((searcher.ok()?, formats))
});

/// The traces in a text, in its order; each from the outermost caller to the innermost callee, so that neighbours are caller and callee.
pub fn traces(text: &str) -> Vec<Vec<Frame>> {
    let mut found = Vec::new();
    let Some((markers, formats)) = &*MARKERS else {
        return found;
    };
    let (mut at, mut floor) = (0, 0);
    // The line of the last marker, and the formats that had a look at it.
    let (mut start, mut end, mut tried) = (0, 0, 0_u32);
    while found.len() < MAX_TRACES
        && let Some(marker) = markers.find(Input::new(text).range(at..))
    {
        at = marker.end();
        if marker.start() >= end {
            (start, end) = lines::around(text, end, marker.range());
            tried = 0;
        }
        let format = formats.get(marker.pattern().as_usize());
        let Some((&format, entry)) =
            format.and_then(|format| Some((format, FORMATS.get(*format)?)))
        else {
            continue;
        };
        if tried & (1 << format) != 0 || end - start < MIN_LINE {
            continue;
        }
        tried |= 1 << format;
        let mut lines = Lines::new(text, start..end, floor);
        let trace = (entry.read)(&mut lines);
        if lines.at() > start {
            floor = lines.at();
            end = end.max(floor);
            at = at.max(floor);
        }
        // Prose has words like those of a trace, but tells no lines.
        if let Some(trace) = trace
            && trace.iter().any(|frame| frame.line.is_some())
        {
            found.push(trace);
        }
    }
    found
}

fn keep(frames: &mut Vec<Frame>, frame: Frame) {
    if frames.len() < MAX_FRAMES {
        frames.push(frame);
    }
}

/// `file:line` or `file:line:column`.
fn place(text: &str) -> Option<(&str, usize)> {
    let (rest, last) = text.rsplit_once(':')?;
    let last = number(last)?;
    let (file, line) = match rest.rsplit_once(':') {
        Some((file, line)) => number(line).map_or((rest, last), |line| (file, line)),
        None => (rest, last),
    };
    (!file.is_empty()).then_some((file, line))
}

fn number(text: &str) -> Option<usize> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}
