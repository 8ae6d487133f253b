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
    let exact = matches!(text, Cow::Borrowed(_));
    let mut stream = serde_json::Deserializer::from_str(&text).into_iter::<&RawValue>();
    loop {
        let before = stream.byte_offset();
        match stream.next() {
            None => return None,
            Some(Ok(value)) => {
                let end = stream.byte_offset();
                let start = end - value.get().len();
                let range = if exact {
                    start..end
                } else {
                    original(line, start)..original(line, end)
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

/// Where a position of the repaired text lies in the line: every run of bytes that is no UTF-8 became one U+FFFD.
pub(crate) fn original(line: &[u8], at: usize) -> usize {
    let (mut repaired, mut place) = (0, 0);
    for chunk in line.utf8_chunks() {
        let valid = chunk.valid().len();
        if at <= repaired + valid {
            return place + (at - repaired);
        }
        repaired += valid + char::REPLACEMENT_CHARACTER.len_utf8();
        place += valid + chunk.invalid().len();
    }
    place
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
    if raw.starts_with('"') {
        read::<String>(raw).unwrap_or_else(|_| raw.to_string())
    } else {
        raw.to_string()
    }
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
    fn deep_nesting_does_not_overflow() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        check(deep.as_bytes(), &[&deep], false);
        check("[".repeat(100_000).as_bytes(), &[], true);
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
