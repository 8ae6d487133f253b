//! A text line by line, without colours.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memrchr};

/// Longer lines are no frames; templates of C++ come near.
const MAX_LINE: usize = 16 << 10;

/// Where reading is.
pub(super) struct Lines<'t> {
    text: &'t str,
    start: usize,
    end: usize,
    /// What is before this has been read.
    floor: usize,
    line: Cow<'t, str>,
}

/// The line around a place; nothing before `floor` is looked at.
pub(super) fn around(text: &str, floor: usize, place: Range<usize>) -> (usize, usize) {
    let before = text.as_bytes().get(floor..place.start);
    let newline = memrchr(b'\n', before.unwrap_or_default());
    let start = newline.map_or(floor, |newline| floor + newline + 1);
    (start, end_of(text, place.end))
}

fn end_of(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    memchr(b'\n', rest).map_or(text.len(), |newline| at + newline + 1)
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str, line: Range<usize>, floor: usize) -> Lines<'t> {
        Lines {
            text,
            start: line.start,
            end: line.end,
            floor: floor.min(line.start),
            line: clean(text.get(line).unwrap_or_default()),
        }
    }

    /// Where the line begins, or the end of the text.
    pub(super) fn at(&self) -> usize {
        self.start
    }

    /// The line without its end; none after the last one.
    pub(super) fn line(&self) -> Option<&str> {
        (self.start < self.text.len()).then_some(&*self.line)
    }

    pub(super) fn advance(&mut self) {
        self.start = self.end;
        self.end = end_of(self.text, self.start);
        self.line = clean(self.text.get(self.start..self.end).unwrap_or_default());
    }

    /// The lines before this one that have not been read, the nearest first.
    pub(super) fn before(&self) -> impl Iterator<Item = Cow<'t, str>> + use<'t> {
        let before = self.text.get(self.floor..self.start).unwrap_or_default();
        before.trim_end_matches('\n').rsplit('\n').map(clean)
    }
}

fn clean(line: &str) -> Cow<'_, str> {
    if line.len() > MAX_LINE {
        return Cow::Borrowed("");
    }
    let line = line.trim_end_matches(['\n', '\r']);
    if memchr(b'\x1b', line.as_bytes()).is_none() {
        return Cow::Borrowed(line);
    }
    let mut parts = line.split('\x1b');
    let mut plain = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let rest = part.strip_prefix('[').unwrap_or(part);
        let rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ';');
        let mut letters = rest.chars();
        letters.next();
        plain.push_str(letters.as_str());
    }
    Cow::Owned(plain)
}
