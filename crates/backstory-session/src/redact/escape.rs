//! Escape sequences: taking them out of a secret before it is hashed, and out of a line before it is searched.

use std::ops::Range;

use memchr::memmem;

use super::examined::examined;

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
fn ascii_of_unicode_escape(text: &[u8], at: usize) -> Option<u8> {
    let [b'\\', b'u', b'0', b'0', high, low] = text.get(at..at + 6)? else {
        return None;
    };
    let digit = |byte: &u8| {
        char::from(*byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let byte = digit(high)? << 4 | digit(low)?;
    (b' '..=b'~').contains(&byte).then_some(byte)
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

/// The lines of `text` in which a printable character is written as an escape sequence (`\u0041`, `\/`), so that a rule would
/// not see it.
pub(super) fn odd_lines(text: &[u8]) -> Vec<Range<usize>> {
    // Twice for the sequences and once for the ends of lines.
    examined(text.len() * 3);
    let mut places: Vec<usize> = memmem::find_iter(text, b"\\u00")
        .filter(|&at| {
            matches!(text.get(at + 4), Some(b'2'..=b'7'))
                && ascii_of_unicode_escape(text, at).is_some()
        })
        .collect();
    places.extend(memmem::find_iter(text, b"\\/"));
    places.sort_unstable();
    let mut lines: Vec<Range<usize>> = Vec::new();
    for place in places {
        if lines.last().is_some_and(|line| place < line.end) {
            continue;
        }
        let start = memchr::memrchr(b'\n', text.get(..place).unwrap_or_default())
            .map_or(0, |newline| newline + 1);
        let end = memchr::memchr(b'\n', text.get(place..).unwrap_or_default())
            .map_or(text.len(), |length| place + length);
        lines.push(start..end);
    }
    lines
}

/// A line with the odd escapes taken out, and the way back.
#[derive(Debug)]
pub(super) struct Shadow {
    /// The plain text. Ordinary escapes (`\n`, `\"`) are still in it: rules understand those.
    pub(super) text: Vec<u8>,
    /// For each replaced sequence: where its plain byte stands in `text`, and the end of the sequence in the original.
    cuts: Vec<(usize, usize)>,
}

impl Shadow {
    /// The shadow of `line`.
    pub(super) fn of(line: &[u8]) -> Self {
        examined(line.len());
        let mut text = Vec::with_capacity(line.len());
        let mut cuts = Vec::new();
        let mut at = 0;
        while let Some(length) = memchr::memchr(b'\\', line.get(at..).unwrap_or_default()) {
            text.extend_from_slice(line.get(at..at + length).unwrap_or_default());
            at += length;
            let run = line
                .iter()
                .skip(at)
                .take_while(|byte| **byte == b'\\')
                .count();
            // All backslashes of the run go with the character: at depth n there are 2^(n-1) of them.
            let last = at + run - 1;
            let plain = match line.get(last + 1) {
                Some(b'/') => Some((b'/', 2)),
                Some(b'u') => ascii_of_unicode_escape(line, last).map(|plain| (plain, 6)),
                _ => None,
            };
            match plain {
                // A quote or a backslash must keep looking escaped, or it would end the string for the rules.
                Some((plain, width)) if !matches!(plain, b'"' | b'\\') => {
                    cuts.push((text.len(), last + width));
                    text.push(plain);
                    at = last + width;
                }
                _ => {
                    text.extend(std::iter::repeat_n(b'\\', run));
                    at += run;
                }
            }
        }
        text.extend_from_slice(line.get(at..).unwrap_or_default());
        Self { text, cuts }
    }

    /// The part of the original line that `range` of the shadow stands for.
    pub(super) fn original(&self, range: &Range<usize>) -> Range<usize> {
        self.place(range.start)..self.place(range.end)
    }

    fn place(&self, at: usize) -> usize {
        let before = self.cuts.partition_point(|(plain, _)| *plain < at);
        match before.checked_sub(1).and_then(|index| self.cuts.get(index)) {
            Some((plain, end)) => end + (at - plain - 1),
            None => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let shadow = Shadow::of(line);
        assert_eq!(shadow.text, br"aAb/c\nB/d\u0022e");
        assert_eq!(shadow.original(&(0..1)), 0..1);
        assert_eq!(shadow.original(&(1..2)), 1..7);
        assert_eq!(shadow.original(&(1..4)), 1..10);
        assert_eq!(shadow.original(&(7..9)), 13..25);
        assert_eq!(shadow.original(&(9..10)), 25..26);
    }

    #[test]
    fn only_lines_with_odd_escapes_are_odd() {
        assert_eq!(
            odd_lines(b"plain\\n\\u001b[0m\nb\\u0041\nx\\/y\\/\n\\u00e9"),
            [17..24, 25..31]
        );
    }
}
