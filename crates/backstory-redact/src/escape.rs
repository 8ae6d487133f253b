//! Escape sequences: taking them out of a secret before it is hashed, and out of a line before it is searched.

use std::ops::Range;

use super::assignment::backslashes;
use super::examined::examined;
use super::hidden::{hidden_end, may_mark};

/// The value behind an escaped text, whatever the number of times it was escaped: sequences are taken out until none is left,
/// so that all depths end in the same bytes.
pub(super) fn unescape(text: &[u8]) -> Vec<u8> {
    let mut value = text.to_vec();
    while value.contains(&b'\\') {
        let shorter = unescape_once(&value);
        if shorter.len() == value.len() {
            break;
        }
        value = shorter;
    }
    value
}

fn unescape_once(text: &[u8]) -> Vec<u8> {
    examined(text.len());
    let mut value = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let (plain, width) = match (byte, text.get(at + 1)) {
            (b'\\', Some(b'n')) => (b'\n', 2),
            (b'\\', Some(b'r')) => (b'\r', 2),
            (b'\\', Some(b't')) => (b'\t', 2),
            (b'\\', Some(&(b'"' | b'\\' | b'/' | b'\''))) => {
                (text.get(at + 1).copied().unwrap_or(byte), 2)
            }
            (b'\\', Some(b'u')) => {
                ascii_of_unicode_escape(text, at).map_or((byte, 1), |plain| (plain, 6))
            }
            _ => (byte, 1),
        };
        value.push(plain);
        at += width;
    }
    value
}

/// The printable ASCII byte that `\u00XX` at `at` stands for.
pub(super) fn ascii_of_unicode_escape(text: &[u8], at: usize) -> Option<u8> {
    let byte = u8::try_from(hex_of_unicode_escape(text, at)?).ok()?;
    (b' '..=b'~').contains(&byte).then_some(byte)
}

/// The number in `\uXXXX` at `at`.
pub(super) fn hex_of_unicode_escape(text: &[u8], at: usize) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = text.get(at..at + 6)? else {
        return None;
    };
    digits.iter().try_fold(0, |number, digit| {
        Some(number << 4 | char::from(*digit).to_digit(16)?)
    })
}

/// The length of the escape sequence at `at`, if it stands for a printable character that is no quote and no backslash.
pub(super) fn printable_escape(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at..at + 2)? {
        b"\\/" => Some(2),
        b"\\u" => ascii_of_unicode_escape(text, at)
            .filter(|byte| !matches!(byte, b'"' | b'\'' | b'\\' | b' '))
            .map(|_| 6),
        _ => None,
    }
}

/// The lines of `text` in which the sorted `places` are.
pub(super) fn lines_of(text: &[u8], places: &[usize]) -> Vec<Range<usize>> {
    let mut lines: Vec<Range<usize>> = Vec::new();
    for &place in places {
        if lines.last().is_some_and(|line| place < line.end) {
            continue;
        }
        let start = memchr::memrchr(b'\n', text.get(..place).unwrap_or_default())
            .map_or(0, |newline| newline + 1);
        let end = memchr::memchr(b'\n', text.get(place..).unwrap_or_default())
            .map_or(text.len(), |length| place + length);
        examined(end - start);
        lines.push(start..end);
    }
    lines
}

/// A piece of text with escapes or hidden characters taken out, and the way back.
#[derive(Debug)]
pub(super) struct StrippedText {
    /// The plain text. Ordinary escapes (`\n`, `\"`) are still in it: rules understand those.
    pub(super) text: Vec<u8>,
    /// True for a window around hidden characters, and not of a whole line.
    pub(super) is_window: bool,
    cuts: Vec<Cut>,
}

/// A sequence that was taken out.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// Where the stripped text goes on: at the plain byte that the sequence stands for, if any.
    at: usize,
    /// Number of plain bytes: one, or none for a hidden sequence.
    width: usize,
    /// End of the sequence in the original.
    end: usize,
}

impl StrippedText {
    /// Strips `line` without odd escapes.
    pub(super) fn without_odd_escapes(line: &[u8]) -> Self {
        Self::new(line, false)
    }

    /// Strips `window`: returns it without odd escapes and without hidden characters.
    pub(super) fn without_hidden(window: &[u8]) -> Self {
        Self::new(window, true)
    }

    fn new(line: &[u8], drops_hidden: bool) -> Self {
        examined(line.len());
        let mut stripped = Self {
            text: Vec::with_capacity(line.len()),
            is_window: drops_hidden,
            cuts: Vec::new(),
        };
        let mut at = 0;
        while let Some(rest) = line.get(at..) {
            let length = if drops_hidden {
                rest.iter().position(|byte| may_mark(*byte))
            } else {
                memchr::memchr(b'\\', rest)
            };
            let length = length.unwrap_or(rest.len());
            stripped
                .text
                .extend_from_slice(rest.get(..length).unwrap_or_default());
            at += length;
            if at >= line.len() {
                break;
            }
            let run = backslashes(line, at);
            if drops_hidden && let Some(end) = hidden_end(line, at) {
                stripped.cut(0, end);
                at = end;
                continue;
            }
            // All backslashes of the run go with the character: at depth n there are 2^(n-1) of them.
            let last = (at + run).saturating_sub(1);
            let plain = match line.get(last + 1) {
                _ if run == 0 => None,
                Some(b'/') => Some((b'/', 2)),
                Some(b'u') => ascii_of_unicode_escape(line, last).map(|plain| (plain, 6)),
                _ => None,
            };
            match plain {
                // A quote or a backslash must keep looking escaped, or it would end the string for the rules.
                Some((plain, width)) if !matches!(plain, b'"' | b'\\') => {
                    stripped.cut(1, last + width);
                    stripped.text.push(plain);
                    at = last + width;
                }
                _ => {
                    let end = at + run.max(1);
                    stripped
                        .text
                        .extend_from_slice(line.get(at..end).unwrap_or_default());
                    at = end;
                }
            }
        }
        stripped
    }

    fn cut(&mut self, width: usize, end: usize) {
        let at = self.text.len();
        self.cuts.push(Cut { at, width, end });
    }

    /// The part of the original that `range` of the stripped text stands for. Hidden sequences around it are no part of it.
    pub(super) fn original(&self, range: &Range<usize>) -> Range<usize> {
        let start = self
            .cuts
            .partition_point(|cut| cut.at + cut.width <= range.start);
        let end = self.cuts.partition_point(|cut| cut.at < range.end);
        let end = self.place(end, range.end);
        self.place(start, range.start).min(end)..end
    }

    fn place(&self, cuts_before: usize, at: usize) -> usize {
        match cuts_before
            .checked_sub(1)
            .and_then(|last| self.cuts.get(last))
        {
            Some(cut) => cut.end + at - (cut.at + cut.width).min(at),
            None => at,
        }
    }

    /// Returns true if a hidden sequence was taken out of `range`.
    pub(super) fn is_cut(&self, range: &Range<usize>) -> bool {
        let first = self.cuts.partition_point(|cut| cut.at <= range.start);
        let cuts = self.cuts.get(first..).unwrap_or_default();
        cuts.iter()
            .take_while(|cut| cut.at < range.end)
            .any(|cut| cut.width == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hidden::Marks;

    #[test]
    fn all_depths_end_in_the_same_value() {
        let value = "pa\"ss\\word\n1";
        let mut text = value.to_owned();
        let expected = unescape(value.as_bytes());
        for _ in 0..4 {
            let quoted = serde_json::to_string(&text).unwrap();
            text = quoted[1..quoted.len() - 1].to_owned();
            assert_eq!(unescape(text.as_bytes()), expected);
        }
    }

    #[test]
    fn a_shadow_maps_back() {
        let line = br"a\u0041b\/c\n\\u0042\\\\/d\u0022e";
        let stripped = StrippedText::without_odd_escapes(line);
        assert_eq!(stripped.text, br"aAb/c\nB/d\u0022e");
        assert_eq!(stripped.original(&(0..1)), 0..1);
        assert_eq!(stripped.original(&(1..2)), 1..7);
        assert_eq!(stripped.original(&(1..4)), 1..10);
        assert_eq!(stripped.original(&(7..9)), 13..25);
        assert_eq!(stripped.original(&(9..10)), 25..26);
    }

    #[test]
    fn a_shadow_without_hidden_characters_maps_back() {
        let line = "a\u{1b}[1mb\u{200b}\\u200bc\\u0041\u{ad}d".as_bytes();
        let stripped = StrippedText::without_hidden(line);
        assert_eq!(stripped.text, b"abcAd");
        assert_eq!(stripped.original(&(0..1)), 0..1);
        assert_eq!(stripped.original(&(0..2)), 0..6);
        assert_eq!(stripped.original(&(1..2)), 5..6);
        assert_eq!(stripped.original(&(1..3)), 5..16);
        assert_eq!(stripped.original(&(3..4)), 16..22);
        assert_eq!(stripped.original(&(3..5)), 16..25);
        assert!(stripped.is_cut(&(0..2)) && !stripped.is_cut(&(2..4)));
    }

    #[test]
    fn only_lines_with_odd_escapes_are_odd() {
        let text = b"plain\\n\\u001b[0m\nb\\u0041\nx\\/y\\/\n\\u00e9";
        let marks = Marks::find(text, 0..text.len());
        assert_eq!(lines_of(text, &marks.odd), [17..24, 25..31]);
    }
}
