//! Hidden characters: terminal colours, zero-width characters, backspaces. A viewer does not show them, so a key that they
//! interrupt looks whole, and is whole as soon as somebody drops them.
//!
//! They are found as they stand in the log: as bytes, or as an escape sequence at any depth. What stands around them is searched
//! once more without them; see `StrippedText`.

use std::ops::Range;

use super::assignment::backslashes;
use super::escape::{ascii_of_unicode_escape, hex_of_unicode_escape};
use super::examined::{count_leading, examined};
use super::pattern::MAX_TOKEN_BYTES;

/// Number of bytes on both sides of a hidden sequence that are searched without it.
const CONTEXT_BYTES: usize = 1024;
/// Number of parameter bytes in a terminal control sequence.
const MAX_CSI_PARAMETER_BYTES: usize = 32;
/// Length in bytes of the link or title in an operating system command.
const MAX_OSC_BYTES: usize = 512;
/// Number of bytes that are looked at together.
const CHUNK_BYTES: usize = 64;

/// Escape sequences and hidden characters of a text, for which it has to be searched again.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Where printable characters are written as escape sequences.
    pub(super) odd: Vec<usize>,
    /// Pieces of text with hidden characters that may interrupt a secret, sorted and disjoint.
    pub(super) windows: Vec<Range<usize>>,
}

impl Marks {
    /// Finds the marks in `part` of `text`. Windows may reach beyond the part.
    pub(super) fn find(text: &[u8], part: Range<usize>) -> Self {
        let mut marks = Self::default();
        let bytes = text.get(part.clone()).unwrap_or_default();
        examined(bytes.len());
        let mut at = part.start;
        let mut cluster: Range<usize> = 0..0;
        let mut is_colour = false;
        for chunk in bytes.chunks(CHUNK_BYTES) {
            let start = at;
            at += chunk.len();
            if Chunk::at(text, start).is_some_and(|chunk| !chunk.has_mark()) {
                continue;
            }
            examined(chunk.len());
            for (offset, &byte) in chunk.iter().enumerate() {
                let place = start + offset;
                if place < cluster.end || !may_mark(byte) {
                    continue;
                }
                let run = if byte == b'\\' {
                    if escapes_printable(text, place) {
                        marks.odd.push(place);
                        continue;
                    }
                    // Only the last backslash of a run is the one that escapes.
                    if text.get(place + 1) == Some(&b'\\') {
                        continue;
                    }
                    let before = text.get(cluster.end..place).unwrap_or_default();
                    count_leading(before.iter().rev(), |byte| byte == b'\\')
                } else {
                    0
                };
                let Some(end) = hidden_end(text, place - run) else {
                    continue;
                };
                if cluster.end == place - run {
                    cluster.end = end;
                } else {
                    marks.add_window(text, &cluster, is_colour);
                    cluster = place - run..end;
                    is_colour = false;
                }
                examined(end - (place - run));
                is_colour |= text
                    .get(place - run..end)
                    .is_some_and(|bytes| bytes.contains(&b'['));
            }
        }
        marks.add_window(text, &cluster, is_colour);
        marks
    }

    /// Adds the window around a cluster of hidden sequences, if these can interrupt a secret or stand between it and its name.
    fn add_window(&mut self, text: &[u8], cluster: &Range<usize>, is_colour: bool) {
        let before = cluster.start.checked_sub(1).and_then(|at| text.get(at));
        let (Some(before), Some(after)) = (before, text.get(cluster.end)) else {
            return;
        };
        let is_part = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
        // A colour may stand beside a blank that rules know: `Authorization: ␛[1mBearer␛[0m …`.
        let is_wanted =
            is_colour || is_part(before) && is_part(after) || matches!(before, b':' | b'=');
        if cluster.is_empty() || !is_wanted {
            return;
        }
        let start = cluster.start.saturating_sub(CONTEXT_BYTES);
        let mut end = text.len().min(cluster.end + CONTEXT_BYTES);
        let last = self.windows.last().map_or(0, |last| last.end);
        if end > last {
            // A secret may be longer. What the window before has seen is not looked at again.
            let rest = text.get(end..).unwrap_or_default().iter();
            end += count_leading(rest.take(MAX_TOKEN_BYTES), |byte| byte.is_ascii_graphic());
        }
        match self.windows.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => self.windows.push(start..end),
        }
    }
}

/// Bytes of a text, and the same one and two bytes later.
struct Chunk<'t> {
    bytes: &'t [u8; CHUNK_BYTES],
    next: &'t [u8; CHUNK_BYTES],
    third: &'t [u8; CHUNK_BYTES],
}

impl<'t> Chunk<'t> {
    fn at(text: &'t [u8], start: usize) -> Option<Self> {
        let bytes = |from: usize| text.get(from..).and_then(<[u8]>::first_chunk);
        Some(Self {
            bytes: bytes(start)?,
            next: bytes(start + 1)?,
            third: bytes(start + 2)?,
        })
    }

    /// Whether there is anything to look at. Every sixth chunk of a log has some character beyond ASCII, hardly any a hidden one, so
    /// the better test is made only there. Neither has a branch, so that the compiler makes vectors of them.
    fn has_mark(&self) -> bool {
        self.has_strange_byte() && self.has_hidden_byte() || self.has_escape()
    }

    #[inline]
    fn has_strange_byte(&self) -> bool {
        // Below the blank are controls and, seen as negative, all bytes beyond ASCII.
        let is_strange = |byte: u8| u8::from(byte.cast_signed() < 0x20) & u8::from(byte != b'\n');
        let found = self.bytes.iter().fold(0, |found, &byte| {
            found | is_strange(byte) | u8::from(byte == 0x7f)
        });
        found != 0
    }

    #[inline]
    fn has_escape(&self) -> bool {
        let found = self
            .bytes
            .iter()
            .zip(self.next)
            .fold(0, |found, (&byte, &next)| {
                // `b`, `f`, `r` and `v` differ in these two bits.
                let is_letter =
                    u8::from(next | 0x14 == b'v') | u8::from(next == b'u') | u8::from(next == b'/');
                found | u8::from(byte == b'\\') & is_letter
            });
        found != 0
    }

    #[inline]
    fn has_hidden_byte(&self) -> bool {
        let mut found = 0;
        let pairs = self.bytes.iter().zip(self.next).zip(self.third);
        for ((&byte, &next), &third) in pairs {
            let is = |lead: u8| u8::from(byte == lead);
            let follows = |second: u8| u8::from(next == second);
            let is_control =
                u8::from(byte < 0x20) & u8::from(byte != b'\n') & u8::from(byte != b'\t');
            // Of the general punctuation: U+200B to U+200F, U+202A to U+202E, U+2060 to U+206F.
            let is_between = |first: u8| u8::from(third.wrapping_sub(first) <= 4);
            let is_format = follows(0x80) & (is_between(0x8b) | is_between(0xaa)) | follows(0x81);
            found |= is_control
                | is(0x7f)
                | is(0xc2) & (u8::from(next < 0xa0) | follows(0xad))
                | is(0xcd) & follows(0x8f)
                | is(0xd8) & follows(0x9c)
                | is(0xe1)
                | is(0xe2) & is_format
                | is(0xe3) & follows(0x85)
                | is(0xef) & (follows(0xb8) | follows(0xbb) | follows(0xbe) | follows(0xbf))
                | is(0xf0) & (1 - follows(0x9f))
                | is(0xf3);
        }
        found != 0
    }
}

/// Whether an escape sequence or a hidden character may begin with this byte.
pub(super) fn may_mark(byte: u8) -> bool {
    matches!(
        byte,
        b'\\' | 0..=0x08 | 0x0b..=0x1f | 0x7f | 0xc2 | 0xcd | 0xd8 | 0xe1..=0xe3 | 0xef | 0xf0 | 0xf3
    )
}

/// Whether the backslash at `at` makes an escape sequence of a printable character.
fn escapes_printable(text: &[u8], at: usize) -> bool {
    match text.get(at + 1) {
        Some(b'/') => true,
        Some(b'u') => ascii_of_unicode_escape(text, at).is_some(),
        _ => false,
    }
}

/// Returns the end of the hidden sequence at `at`: a character, or a whole terminal control sequence.
pub(super) fn hidden_end(text: &[u8], at: usize) -> Option<usize> {
    let (character, end) = character_at(text, at)?;
    if !is_hidden(character) {
        return None;
    }
    match character {
        // Shown as blanks.
        '\u{2028}' | '\u{2029}' => None,
        // The end of a line.
        '\r' => match text.get(end) {
            Some(b'\n') => None,
            Some(b'\\') if text.get(end + backslashes(text, end)) == Some(&b'n') => None,
            _ => Some(end),
        },
        '\u{1b}' => Some(escape_sequence_end(text, at, end).unwrap_or(end)),
        '\u{9b}' => Some(csi_end(text, end).unwrap_or(end)),
        _ => Some(end),
    }
}

/// Returns the end of the terminal control sequence whose escape character is from `at` to `end`.
fn escape_sequence_end(text: &[u8], at: usize, end: usize) -> Option<usize> {
    match text.get(end)? {
        b'[' => csi_end(text, end + 1),
        b'(' | b')' => text
            .get(end + 1)?
            .is_ascii_alphanumeric()
            .then_some(end + 2),
        b']' => {
            let rest = text.get(end + 1..)?.iter().take(MAX_OSC_BYTES);
            let length = count_leading(rest, |byte| {
                byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\')
            });
            let stop = end + 1 + length;
            match character_at(text, stop)? {
                ('\u{7}', end) => Some(end),
                ('\u{1b}', end) => {
                    // The backslash that follows is written with twice as many as the escape character.
                    let width = (backslashes(text, at) * 2).max(1);
                    (backslashes(text, end) >= width).then_some(end + width)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns the end of a control sequence whose parameters begin at `start`.
fn csi_end(text: &[u8], start: usize) -> Option<usize> {
    let rest = text.get(start..)?;
    let length = count_leading(rest.iter().take(MAX_CSI_PARAMETER_BYTES), |byte| {
        matches!(byte, b'0'..=b'?')
    });
    rest.get(length)?
        .is_ascii_alphabetic()
        .then_some(start + length + 1)
}

/// Returns the character at `at`, which may be written as an escape sequence, and its end.
fn character_at(text: &[u8], at: usize) -> Option<(char, usize)> {
    let first = *text.get(at)?;
    if first == b'\\' {
        let run = backslashes(text, at);
        let last = at + run - 1;
        return match text.get(last + 1)? {
            b'b' => Some(('\u{8}', last + 2)),
            b'f' => Some(('\u{c}', last + 2)),
            b'r' => Some(('\r', last + 2)),
            b'u' => {
                let unit = hex_of_unicode_escape(text, last)?;
                if !(0xd800..0xdc00).contains(&unit) {
                    return char::from_u32(unit).map(|character| (character, last + 6));
                }
                let second = last + 6 + run - 1;
                if backslashes(text, last + 6) != run {
                    return None;
                }
                let low = hex_of_unicode_escape(text, second)?;
                let low = low.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                let code = 0x1_0000 + ((unit - 0xd800) << 10) + low;
                char::from_u32(code).map(|character| (character, second + 6))
            }
            _ => None,
        };
    }
    let width = match first {
        0..0x80 => 1,
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return None,
    };
    let bytes = text.get(at..at + width)?;
    let character = std::str::from_utf8(bytes).ok()?.chars().next()?;
    Some((character, at + width))
}

/// Returns whether a character is a control, format, bidi, zero-width, tag or filler character. Newline and tab are not.
///
/// Joiners and emoji presentation selectors are among them: some are shown between their neighbours.
pub fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' | ' '..='~' => false,
        // C0, DEL, C1, soft hyphen.
        '\0'..='\u{9f}' | '\u{ad}' => true,
        '\u{a0}'..='\u{34e}' => false,
        // Combining grapheme joiner, Arabic letter mark, Hangul fillers, Khmer inherent vowels, Mongolian selectors.
        '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        // Zero width, bidi marks, line and paragraph separators, bidi embeddings; word joiner, invisible operators, bidi isolates.
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        // Variation selectors, byte order mark, interlinear annotation.
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        // Format controls of hieroglyphs, shorthand and music; tags and supplementary variation selectors.
        | '\u{13430}'..='\u{13440}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_end_where_they_are_shown_to_end() {
        for (sequence, rest) in [
            ("\u{1b}[31m", "x"),
            ("\u{1b}[01;31m", "\u{1b}[K"),
            ("\u{1b}(B", "x"),
            ("\u{1b}]8;;https://x.internal\u{7}", "x"),
            ("\u{1b}]8;;https://x.internal\u{1b}\\", "x"),
            ("\\u001b]8;;https://x.internal\\u001b\\\\", "\\n"),
            ("\\u001b[31m", "x"),
            ("\\\\u001B[0m", "x"),
            ("\u{1b}", "]no end"),
            ("\u{9b}1m", "x"),
            ("\u{200b}", "x"),
            ("\\u200b", "x"),
            ("\\\\\\\\u200b", "x"),
            ("\u{e0041}", "x"),
            ("\\udb40\\udc41", "x"),
            ("\\\\udb40\\\\udc41", "x"),
            ("\\b", "x"),
            ("\u{8}", "x"),
            ("\r", "x"),
        ] {
            let text = format!("{sequence}{rest}");
            assert_eq!(
                hidden_end(text.as_bytes(), 0),
                Some(sequence.len()),
                "{text:?}"
            );
        }
        for text in [
            "x",
            "é",
            "\\n",
            "\\u00e9",
            "\\u0041",
            "\r\n",
            "\\r\\n",
            "\\\\r\\\\n",
            "\\ud83d\\ude00",
            "\\udb40x",
            "\u{2028}",
            "\\",
        ] {
            assert_eq!(hidden_end(text.as_bytes(), 0), None, "{text:?}");
        }
    }

    #[test]
    fn only_what_may_interrupt_a_secret_has_a_window() {
        let windows = |text: &str| Marks::find(text.as_bytes(), 0..text.len()).windows.len();
        for text in [
            "a\u{1b}[1mb",
            "password:\u{1b}[0m \u{1b}[32mx",
            "a\u{200b}b",
            "a\\u200bb",
            "a\\\\u001b[1m\\\\u001b[Kb",
            "a\u{8}b",
            " \u{1b}[32mPASS\u{1b}[39m tests ",
            "\\n\\u001b[32mPASS\\u001b[39m\\n",
        ] {
            assert_eq!(windows(text), 1, "{text:?}");
        }
        for text in [
            "\u{feff}using",
            "\"\\ufeffusing",
            "⚠\u{fe0f} careful",
            "10%\r\n11%",
        ] {
            assert_eq!(windows(text), 0, "{text:?}");
        }
    }
}
