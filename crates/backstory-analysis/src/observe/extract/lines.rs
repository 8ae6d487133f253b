//! The lines of a text that tell most.

use crate::text;

/// Bytes of a text that are read, at its beginning and at its end.
const MOST_READ: usize = 12 << 10;

/// Less room than this is not worth filling.
const LEAST: usize = 12;

/// The longest line, in bytes.
const LINE: usize = 160;

/// Words that tell of results and of trouble.
const TELLING: [&str; 12] = [
    "error",
    "fail",
    "panic",
    "passed",
    "warning",
    "exception",
    "not found",
    "cannot",
    "denied",
    "conflict",
    "fatal",
    "expected",
];

/// Beginnings of lines that define something.
const DEFINITIONS: [&str; 22] = [
    "fn ",
    "pub ",
    "def ",
    "class ",
    "func ",
    "struct ",
    "enum ",
    "trait ",
    "impl ",
    "type ",
    "interface ",
    "export ",
    "function ",
    "async ",
    "const ",
    "module ",
    "message ",
    "create table",
    "public ",
    "private ",
    "protected ",
    "#",
];

/// Beginnings of lines that say little.
const IDLE: [&str; 14] = [
    "use ",
    "import ",
    "from ",
    "#include",
    "package ",
    "//",
    "compiling ",
    "downloading ",
    "downloaded ",
    "finished ",
    "running ",
    "checking ",
    "the file ",
    "warning: truncated",
];

/// Endings of lines that say nothing.
const ENDINGS: [char; 4] = ['{', ';', ',', ' '];

/// Order of two lines with the same score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The earlier one, as in a file.
    First,
    /// The later one, as in what a command printed.
    Last,
}

/// Scores of lines that say little, and of those that say something.
pub(super) const IDLE_WORTH: u8 = 1;
pub(super) const WORTH: u8 = 2;

/// A line of a text.
pub(super) struct Line<'t> {
    place: usize,
    worth: u8,
    line: &'t str,
}

/// The lines of a text that say anything, those first that tell most.
pub(super) fn ranked(plain: &str, order: Order) -> Vec<Line<'_>> {
    let lines = plain.lines().enumerate().map(|(place, line)| {
        let line = unnumbered(line.trim());
        let worth = worth(line);
        Line { place, worth, line }
    });
    let mut lines: Vec<Line<'_>> = lines.filter(|line| line.worth > 0).collect();
    lines.sort_by_key(|line| {
        let place = match order {
            Order::First => line.place,
            Order::Last => usize::MAX - line.place,
        };
        (std::cmp::Reverse(line.worth), place)
    });
    lines
}

/// The lines that tell most and are worth at least so much, in their order, together with what stands between them not longer than
/// this.
pub(super) fn telling(lines: &[Line<'_>], least: u8, most: usize) -> Vec<String> {
    let mut room = most;
    let mut chosen: Vec<(usize, String)> = Vec::new();
    for Line { place, worth, line } in lines {
        if room < LEAST || *worth < least {
            break;
        }
        let line = line.trim_end_matches(ENDINGS);
        if !chosen.is_empty() && line.len() <= LINE && line.len() + 2 > room {
            continue;
        }
        // Half a line tells little: it is only taken when there is nothing else.
        let longest = if chosen.is_empty() {
            LINE.min(room)
        } else {
            LINE
        };
        let line = cut(line, longest);
        let is_new = chosen.iter().all(|(_, known)| *known != line);
        if line.is_empty() || !is_new || line.len() + 2 > room {
            continue;
        }
        room -= line.len() + 2;
        chosen.push((*place, line));
    }
    chosen.sort_unstable_by_key(|(place, _)| *place);
    chosen.into_iter().map(|(_, line)| line).collect()
}

/// Returns the beginning and the end of a text as a terminal would show them.
pub(super) fn plain(source: &str) -> String {
    if source.len() <= 2 * MOST_READ {
        return text::without_escapes(source);
    }
    let start = text::beginning(source, MOST_READ);
    let end = text::ending(source, MOST_READ);
    // What is cut in the middle of a word must not look like a whole one.
    let start = start.rfind('\n').map_or("", |at| &start[..at]);
    let end = end.find('\n').map_or("", |at| &end[at + 1..]);
    text::without_escapes(&format!("{start}\n{end}"))
}

/// Returns the score of a line; 0 says nothing.
fn worth(line: &str) -> u8 {
    let letters = line
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .take(3)
        .count();
    if letters < 3 {
        return 0;
    }
    let start = text::beginning(line, 400).to_ascii_lowercase();
    if IDLE.iter().any(|words| start.starts_with(words)) {
        return IDLE_WORTH;
    }
    let is_telling = TELLING.iter().any(|words| start.contains(words));
    let is_definition = DEFINITIONS.iter().any(|words| start.starts_with(words));
    WORTH + u8::from(is_definition) + 2 * u8::from(is_telling)
}

/// A line without the number that tools put before it.
fn unnumbered(line: &str) -> &str {
    let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if rest.len() == line.len() {
        return line;
    }
    let after = rest.strip_prefix('→').or_else(|| rest.strip_prefix('\t'));
    after.map_or(line, str::trim)
}

/// The beginning of a text that is not longer than this, with whole words only: half a path or number would be another one.
pub(super) fn cut(text: &str, most: usize) -> String {
    const MORE: &str = "…";
    if text.len() <= most {
        return text.to_string();
    }
    let start = text::beginning(text, most.saturating_sub(MORE.len()));
    let is_whole = text[start.len()..].starts_with(char::is_whitespace);
    let end = match is_whole {
        true => start.len(),
        false => start.rfind(char::is_whitespace).unwrap_or(0),
    };
    match start[..end].trim_end() {
        "" => String::new(),
        start => format!("{start}{MORE}"),
    }
}
