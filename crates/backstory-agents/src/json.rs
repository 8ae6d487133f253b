//! JSON as logs really hold it: several values glued on one line, lone surrogates, invalid UTF-8.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Calls `each` with the byte range of every JSON value on a line, and returns why the rest could not be read, if so.
///
/// Two complete values on one line happen when a writer was killed between record and newline; both are given.
pub(crate) fn values(line: &[u8], mut each: impl FnMut(&str, Range<usize>)) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let mut places = match text {
        Cow::Borrowed(_) => None,
        Cow::Owned(_) => Some(RepairedPlaces::new(line)),
    };
    let mut stream = serde_json::Deserializer::from_str(&text).into_iter::<&RawValue>();
    loop {
        let before = stream.byte_offset();
        match stream.next() {
            None => return None,
            Some(Ok(value)) => {
                let end = stream.byte_offset();
                let start = end - value.get().len();
                let range = match &mut places {
                    None => start..end,
                    Some(places) => places.original_range(start..end),
                };
                each(value.get(), range);
            }
            Some(Err(error)) => {
                // A value that starts well after good ones, or never: the remainder is the skipped record.
                let rest = text.get(before..).unwrap_or_default();
                return if rest.trim().is_empty() {
                    None
                } else {
                    Some(error.to_string())
                };
            }
        }
    }
}

/// Finds where positions of a repaired text lie in the line that it was made of: every run of bytes that is no UTF-8 became one U+FFFD.
/// Positions must be asked for in ascending order, so that the line is gone through once.
pub(crate) struct RepairedPlaces<'a> {
    chunks: std::str::Utf8Chunks<'a>,
    /// The chunk at hand: its first byte in the repaired text and in the line, and the lengths of its valid part and of all of it.
    repaired: usize,
    place: usize,
    valid: usize,
    whole: usize,
}

impl<'a> RepairedPlaces<'a> {
    pub(crate) fn new(line: &'a [u8]) -> Self {
        let mut places = RepairedPlaces {
            chunks: line.utf8_chunks(),
            repaired: 0,
            place: 0,
            valid: 0,
            whole: 0,
        };
        places.take_chunk();
        places
    }

    fn take_chunk(&mut self) -> bool {
        let Some(chunk) = self.chunks.next() else {
            return false;
        };
        self.valid = chunk.valid().len();
        self.whole = self.valid + chunk.invalid().len();
        true
    }

    /// Returns where a part of the repaired text lies in the line.
    pub(crate) fn original_range(&mut self, range: Range<usize>) -> Range<usize> {
        self.original(range.start)..self.original(range.end)
    }

    fn original(&mut self, at: usize) -> usize {
        while at > self.repaired + self.valid {
            let next = self.repaired + self.valid + char::REPLACEMENT_CHARACTER.len_utf8();
            let place = self.place + self.whole;
            if !self.take_chunk() {
                return place;
            }
            (self.repaired, self.place) = (next, place);
        }
        self.place + (at - self.repaired)
    }
}

/// Reads a value, tolerating lone surrogates (`\ud83d` with no partner, left by writers that cut text in the middle).
pub(crate) fn read<T: for<'a> Deserialize<'a>>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text).or_else(|error| match repair_surrogates(text) {
        Some(repaired) => serde_json::from_str(&repaired),
        None => Err(error),
    })
}

/// Decodes a JSON string or gives any other value as it is written.
pub(crate) fn text_of(value: &RawValue) -> String {
    let raw = value.get();
    decode_string(raw).unwrap_or_else(|| raw.to_string())
}

/// Decodes a JSON string that has its quotes; `None` for anything else. Lone surrogates become U+FFFD.
///
/// Most of what logs hold are long strings with an escape a line: serde_json decodes them into a buffer that grows, and copies that.
pub(crate) fn decode_string(raw: &str) -> Option<String> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    let bytes = inner.as_bytes();
    let mut text = String::with_capacity(inner.len());
    let mut copied = 0;
    while let Some(found) = memchr::memchr(b'\\', bytes.get(copied..)?) {
        let start = copied + found;
        text.push_str(inner.get(copied..start)?);
        let (character, length) = decode_escape(bytes, start)?;
        text.push(character);
        copied = start + length;
    }
    text.push_str(inner.get(copied..)?);
    Some(text)
}

/// Returns the character that the escape sequence at `start` stands for, and its length.
fn decode_escape(bytes: &[u8], start: usize) -> Option<(char, usize)> {
    let character = match bytes.get(start + 1)? {
        b'n' => '\n',
        b'"' => '"',
        b'\\' => '\\',
        b't' => '\t',
        b'r' => '\r',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => {
            let unit = escape_unit(bytes, start)?;
            let low = escape_unit(bytes, start + 6).filter(|low| (0xDC00..0xE000).contains(low));
            return match (unit, low) {
                (0xD800..0xDC00, Some(low)) => {
                    let code = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                    Some((char::from_u32(code)?, 12))
                }
                _ => Some((
                    char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER),
                    6,
                )),
            };
        }
        _ => return None,
    };
    Some((character, 2))
}

/// Replaces every `\uD800`–`\uDFFF` escape that has no partner by U+FFFD; `None` when there is none.
pub(crate) fn repair_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut repaired = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        let start = at + found;
        match escape_unit(bytes, start) {
            None => at = start + 2,
            Some(unit) if !(0xD800..0xE000).contains(&unit) => at = start + 6,
            Some(high)
                if high < 0xDC00
                    && escape_unit(bytes, start + 6)
                        .is_some_and(|low| (0xDC00..0xE000).contains(&low)) =>
            {
                at = start + 12;
            }
            Some(_) => {
                repaired.push_str(&text[copied..start]);
                repaired.push_str("\\ufffd");
                copied = start + 6;
                at = copied;
            }
        }
        if at >= bytes.len() {
            break;
        }
    }
    if repaired.is_empty() && copied == 0 {
        return None;
    }
    repaired.push_str(&text[copied..]);
    Some(repaired)
}

fn escape_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &[u8], values_found: &[&str], error: bool) {
        let mut found = Vec::new();
        let result = values(line, |text, _| found.push(text.to_string()));
        assert_eq!(found, values_found, "{}", String::from_utf8_lossy(line));
        assert_eq!(result.is_some(), error, "{result:?}");
    }

    #[test]
    fn one_value_glued_values_and_damage() {
        check(br#"{"a":1}"#, &[r#"{"a":1}"#], false);
        check(br#"  {"a":1}  "#, &[r#"{"a":1}"#], false);
        check(br#"{"a":1}{"b":2}"#, &[r#"{"a":1}"#, r#"{"b":2}"#], false);
        check(br#"{"a":1}{"b":"#, &[r#"{"a":1}"#], true);
        check(b"not json", &[], true);
        check(b"", &[], false);
        check(b"{\"a\":\"\xff\"}", &["{\"a\":\"\u{fffd}\"}"], false);
    }

    #[test]
    fn values_of_a_repaired_line_are_found_where_they_were() {
        let line = b"\"\xff\" \"a\xf0\x9f\"{\"\xc3\xbc\":\"\xe2\x82\xff\xff\"}[1]";
        let mut found: Vec<&[u8]> = Vec::new();
        assert_eq!(values(line, |_, range| found.push(&line[range])), None);
        let expected: [&[u8]; 4] = [
            b"\"\xff\"",
            b"\"a\xf0\x9f\"",
            b"{\"\xc3\xbc\":\"\xe2\x82\xff\xff\"}",
            b"[1]",
        ];
        assert_eq!(found, expected);
        // Many of them take time in proportion to their number.
        let many = b"\"\xff\"".repeat(500_000);
        let mut count = 0;
        values(&many, |_, range| count += range.len());
        assert_eq!(count, many.len());
    }

    #[test]
    fn deep_nesting_does_not_overflow() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        check(deep.as_bytes(), &[&deep], false);
        check("[".repeat(100_000).as_bytes(), &[], true);
    }

    #[test]
    fn strings_are_decoded_as_serde_json_does() {
        for raw in [
            r#""""#,
            r#""plain""#,
            r#""a\nb\t\"c\\d\/e\b\f\r""#,
            r#""\u0041\u00e9\u20ac\ud83d\ude00\u0000""#,
            "\"é\\n€\\\\\"",
        ] {
            let expected: String = serde_json::from_str(raw).unwrap();
            assert_eq!(decode_string(raw), Some(expected), "{raw}");
        }
        let lone = r#""\ud83d \ud83d\ud83d\ude00\ude00\ud83d""#;
        let expected = "\u{fffd} \u{fffd}\u{1f600}\u{fffd}\u{fffd}";
        assert_eq!(decode_string(lone).as_deref(), Some(expected));
        assert_eq!(read::<String>(lone).unwrap(), expected);
        for other in ["3", "", "\"", r#""\x""#, r#""\u00""#, r#""\"#] {
            assert_eq!(decode_string(other), None, "{other}");
        }
    }

    #[test]
    fn lone_surrogates_are_repaired() {
        assert_eq!(read::<String>(r#""a\ud83d b""#).unwrap(), "a\u{fffd} b");
        assert_eq!(
            read::<String>(r#""\ude00\ud83d\ude00""#).unwrap(),
            "\u{fffd}\u{1f600}"
        );
        assert_eq!(read::<String>(r#""\\ud83d""#).unwrap(), "\\ud83d");
        assert_eq!(repair_surrogates(r#""plain \n \u0041""#), None);
    }
}
