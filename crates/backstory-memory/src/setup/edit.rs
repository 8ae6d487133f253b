//! Puts an item into an object or array of a user's file, and takes it out again so that not a byte tells that it was there.
//!
//! Whoever takes out must know what there was before, and the text is all there is to know it by. So where something empty is filled,
//! the blanks behind its opening bracket say how it was: a [`Mark`].

use std::ops::Range;

use super::scan::{Item, Node};

/// How an object or array was before something was put into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// It was made for it, and so many folders too if it is the whole file.
    Made(usize),
    /// There was nothing between its brackets.
    Empty,
    /// Only the outermost object: there was nothing but whitespace in the file.
    Blank,
    /// There was whitespace between its brackets, which is still before the closing one.
    Spaced,
}

impl Mark {
    fn text(self) -> String {
        match self {
            Mark::Made(folders) => "\t".repeat(folders),
            Mark::Empty => " ".to_string(),
            Mark::Blank => "  ".to_string(),
            Mark::Spaced => "   ".to_string(),
        }
    }

    /// What the text behind an opening bracket says.
    pub(super) fn read(inside: &str) -> Mark {
        let blanks = inside.len() - inside.trim_start_matches([' ', '\t']).len();
        let (blanks, rest) = inside.split_at(blanks);
        if !rest.starts_with(['\r', '\n']) {
            return Mark::Made(0);
        }
        match blanks {
            " " => Mark::Empty,
            "  " => Mark::Blank,
            "   " => Mark::Spaced,
            tabs if tabs.bytes().all(|byte| byte == b'\t') => Mark::Made(tabs.len()),
            _ => Mark::Made(0),
        }
    }
}

/// How a file is laid out.
pub(super) struct Layout {
    newline: &'static str,
    /// One step of indentation.
    step: String,
}

impl Layout {
    pub(super) fn of(text: &str, root: &Node) -> Self {
        let is_windows = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
        let step = root
            .items()
            .first()
            .and_then(|item| indent_before(text, item.start));
        Layout {
            newline: if is_windows { "\r\n" } else { "\n" },
            step: match step {
                Some(step) if !step.is_empty() => step.to_string(),
                _ => "  ".to_string(),
            },
        }
    }

    /// Puts an item behind the last one of an object or array. Its lines must be indented by tabs and end with `\n`; they become what
    /// is usual in the file. `made` is the mark of one that is made for it; others are looked at.
    pub(super) fn append(&self, text: &str, into: &Node, item: &str, made: Option<Mark>) -> String {
        let close = into.end - 1;
        let line = text[..into.start].rfind('\n').map_or(0, |at| at + 1);
        let line = &text[line..];
        let outer = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        let last = into.items().last();
        let indent = last
            .and_then(|last| indent_before(text, last.start))
            .map_or_else(|| format!("{outer}{}", self.step), str::to_string);
        let item = self.indented(item, &indent);
        let separator = format!("{}{indent}", self.newline);
        let own_line = format!("{}{outer}", self.newline);
        let Some(last) = last else {
            let inside = &text[into.start + 1..close];
            let before = inside.trim_end_matches(WHITESPACE);
            if !before.is_empty() {
                let at = into.start + 1 + before.len();
                return format!("{}{separator}{item}{}", &text[..at], &text[at..]);
            }
            let mark = made.unwrap_or(match inside {
                "" => Mark::Empty,
                _ => Mark::Spaced,
            });
            let end = if mark == Mark::Spaced {
                inside
            } else {
                &own_line
            };
            let (head, tail) = (&text[..=into.start], &text[close..]);
            return format!("{head}{}{separator}{item}{end}{tail}", mark.text());
        };
        // Behind comments, which belong to what is before them; the comma belongs to the value.
        let value_end = last.value.end;
        let at = value_end + text[value_end..close].trim_end_matches(WHITESPACE).len();
        let (head, between, tail) = (&text[..value_end], &text[value_end..at], &text[at..]);
        match last.comma {
            Some(_) => format!("{head}{between}{separator}{item},{tail}"),
            None => format!("{head},{between}{separator}{item}{tail}"),
        }
    }

    fn indented(&self, item: &str, indent: &str) -> String {
        let mut lines = item.split('\n');
        let mut text = lines.next().unwrap_or_default().to_string();
        for line in lines {
            let content = line.trim_start_matches('\t');
            text.push_str(self.newline);
            text.push_str(indent);
            text.push_str(&self.step.repeat(line.len() - content.len()));
            text.push_str(content);
        }
        text
    }
}

/// What becomes of an object or array when an item is taken out.
pub(super) enum Rest {
    /// It stays, and this is the text without the item.
    Text(String),
    /// It was made for the item and is to go too.
    Nothing(Mark),
}

/// Takes an item out of an object or array.
pub(super) fn take_out(text: &str, from: &Node, index: usize) -> Rest {
    let items = from.items();
    let item = &items[index];
    let space = text[..item.start].trim_end_matches(WHITESPACE).len();
    let without = |ranges| Rest::Text(without(text, ranges));
    let comma = item.comma.map_or(NOTHING, |at| at..at + 1);
    if let Some(next) = items.get(index + 1) {
        // Comments between them belong to the next.
        if is_blank(&between(text, item, next.start)) {
            return without([item.start..next.start, NOTHING]);
        }
        return without([space..item.value.end, comma]);
    }
    if let Some(previous) = index.checked_sub(1).map(|index| &items[index]) {
        if item.comma.is_some() {
            return without([space..item.value.end, comma]);
        }
        let comma = previous.comma.map_or(NOTHING, |at| at..at + 1);
        return without([comma, space..item.value.end]);
    }
    let inside = &text[from.start + 1..from.end - 1];
    let before = &text[from.start + 1..item.start];
    if !is_blank(before) || !is_blank(&between(text, item, from.end - 1)) {
        return without([space..item.value.end, comma]);
    }
    match Mark::read(inside) {
        Mark::Empty => without([from.start + 1..from.end - 1, NOTHING]),
        Mark::Spaced => without([from.start + 1..item.value.end, comma]),
        mark => Rest::Nothing(mark),
    }
}

/// What is between an item and a later place, but for its comma.
fn between(text: &str, item: &Item, until: usize) -> String {
    let behind = &text[item.value.end..until];
    match item.comma {
        Some(at) => {
            let at = at - item.value.end;
            [&behind[..at], &behind[at + 1..]].concat()
        }
        None => behind.to_string(),
    }
}

/// No bytes at all.
const NOTHING: Range<usize> = 0..0;

fn without(text: &str, ranges: [Range<usize>; 2]) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges.into_iter().filter(|range| !range.is_empty()) {
        rest.push_str(&text[at..range.start]);
        at = range.end;
    }
    rest.push_str(&text[at..]);
    rest
}

/// What JSON takes for whitespace.
const WHITESPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// Whether there is nothing but whitespace.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim_matches(WHITESPACE).is_empty()
}

/// The blanks before something that begins a line.
fn indent_before(text: &str, at: usize) -> Option<&str> {
    let line = text[..at].rfind('\n')? + 1;
    let blanks = &text[line..at];
    blanks
        .bytes()
        .all(|byte| matches!(byte, b' ' | b'\t'))
        .then_some(blanks)
}
