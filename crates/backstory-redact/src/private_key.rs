//! Private key blocks, as tools show them: with real or escaped line breaks, indented, numbered, quoted or as a diff.
//!
//! The lines between the armour are taken as one secret. A block without its last line (the tool cut it off) ends at the last
//! line that is plainly base64, so that the prose after it is kept.

use std::ops::Range;

use super::assignment::backslashes;
use super::boundary::after_escape;
use super::examined::{count_leading, examined};
use super::rule::Found;
use super::search::Search;

const LONGEST_BLOCK: usize = 64 * 1024;
/// Number of lines before the key: headers and empty ones.
const MAX_HEADER_LINES: usize = 12;
/// Length in bytes of the longest path that a listing writes before a line.
const MAX_PATH_BYTES: usize = 200;
/// Length in bytes of what may stand before a line: indentation, a number, a mark.
const MAX_PREFIX_BYTES: usize = 32;
/// Number of bytes that the type and the length of a key take in base64.
const MAX_LENGTH_BYTES: usize = 6;
/// Length in bytes of the shortest key that is known without its first line: an Ed25519 key.
const MIN_BARE_KEY_BYTES: usize = 60;
/// The first line of a real key is at least this long; shorter ones are documentation.
const SHORTEST_FIRST_LINE: usize = 16;
/// A line shorter than this is the last one of a block.
const SHORTEST_FULL_LINE: usize = 40;

/// The body of the block in whose first line `PRIVATE KEY` stands at `hit`.
pub(super) fn armoured(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let text = search.text;
    let before = text.get(hit.start.saturating_sub(40)..hit.start)?;
    let label = count_leading(before.iter().rev(), |byte| {
        byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '
    });
    let label = before.get(before.len() - label..)?;
    let dashes = before.get(..before.len() - label.len())?;
    if label.starts_with(b"END ") && dashes.ends_with(b"----") {
        let dashes = count_leading(dashes.iter().rev().take(5), |byte| byte == b'-');
        return lines_before_end_armour(text, hit.start - label.len() - dashes);
    }
    if !label.starts_with(b"BEGIN ") || !dashes.ends_with(b"----") {
        return None;
    }
    let mut start = hit.end;
    if text.get(start..)?.starts_with(b" BLOCK") {
        start += b" BLOCK".len();
    }
    let closing = count_leading(text.iter().skip(start), |byte| byte == b'-');
    if closing < 4 {
        return None;
    }
    let line = before.get(..before.len() - label.len())?;
    let dashes = count_leading(line.iter().rev().take(5), |byte| byte == b'-');
    let path = listed_path(text, hit.start - label.len() - dashes);
    body(text, start + closing, path)
}

/// The lines of a key before its last line at `end`, of which the first line was cut off.
fn lines_before_end_armour(text: &[u8], end: usize) -> Option<Found> {
    let floor = end.saturating_sub(LONGEST_BLOCK);
    let mut range: Option<Range<usize>> = None;
    let mut at = end;
    let mut longest = 0;
    while let Some(line_end) = line_before(text, at).filter(|line_end| *line_end > floor) {
        let before = text.get(floor..line_end)?;
        let length = count_leading(before.iter().rev(), |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
        });
        let start = after_escape(text, line_end - length).min(line_end);
        let length = line_end - start;
        // The last line may be short, and the first if the text begins there.
        if length == 0 || length < SHORTEST_FULL_LINE && range.is_some() && start > 0 {
            break;
        }
        longest = longest.max(length);
        range = Some(start..range.map_or(line_end, |range| range.end));
        at = start;
    }
    range
        .filter(|_| longest >= SHORTEST_FULL_LINE)
        .map(Found::plain)
}

/// The end of the line before the one whose content begins at `at`.
fn line_before(text: &[u8], at: usize) -> Option<usize> {
    let from = at.saturating_sub(MAX_PREFIX_BYTES);
    let window = text.get(from..at)?;
    examined(window.len());
    let last = window.iter().enumerate().rposition(|(offset, byte)| {
        *byte == b'\n' || *byte == b'n' && offset > 0 && window.get(offset - 1) == Some(&b'\\')
    })?;
    let start = from + last + 1;
    let blanks = count_leading(text.get(start..at)?.iter(), |byte| byte == b' ');
    if skip_prefix(text, start + blanks, b"") != at {
        return None;
    }
    let mut end = from + last;
    // The carriage return and the backslashes that belong to the break.
    loop {
        let before = text.get(..end)?;
        match before {
            [.., b'\r' | b'\\' | b' ' | b'\t'] => end -= 1,
            [.., b'\\', b'r'] => end -= 2,
            _ => break,
        }
    }
    Some(end)
}

/// The path that a listing such as `grep -n` writes before every line, if it stands before `at`: `keys/a.pem:1:`.
fn listed_path(text: &[u8], at: usize) -> &[u8] {
    let before = text.get(..at).unwrap_or_default();
    let mark = |byte: u8| matches!(byte, b':' | b'-');
    let before = before.strip_suffix(b":").or(before.strip_suffix(b"-"));
    let before = before.unwrap_or_default();
    let digits = count_leading(before.iter().rev().take(7), |byte| byte.is_ascii_digit());
    let numbered = before.get(..before.len() - digits).unwrap_or_default();
    let before = match numbered.split_last() {
        Some((last, path)) if digits > 0 && mark(*last) => path,
        _ => before,
    };
    let length = count_leading(before.iter().rev().take(MAX_PATH_BYTES), |byte| {
        byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b':')
    });
    let start = before.len() - length;
    // Of a line break that is written as an escape the letter is left.
    let start = after_escape(text, start).min(before.len());
    before.get(start..).unwrap_or_default()
}

/// The lines of a key without its first line, in which what all keys of its kind begin with stands at `hit`.
pub(super) fn key_without_armour(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let text = search.text;
    // Some kinds begin with their length.
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let before = text
        .get(..hit.start)?
        .iter()
        .rev()
        .take(MAX_LENGTH_BYTES + 1);
    let before = count_leading(before, is_base64);
    let start = after_escape(text, hit.start - before).min(hit.start);
    let key = text.get(start..hit.end)?;
    let is_start =
        start == hit.start || hit.start - start == MAX_LENGTH_BYTES && key.starts_with(b"MII");
    if search.progress.is_decided(start) || !is_start {
        return None;
    }
    // Whatever begins in the same run of base64, or in the lines that follow it, is part of it.
    let limit = text.len().min(start + LONGEST_BLOCK);
    search
        .progress
        .decide(base64_line(text.get(..limit)?, start).end);
    let found = body(text, start, b"")?;
    search.progress.decide(found.range.end);
    (found.range.len() >= MIN_BARE_KEY_BYTES).then_some(found)
}

/// The private lines of a PuTTY key file, after `Private-Lines:` at `hit`.
pub(super) fn putty(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let text = search.text;
    let digits = count_leading(text.iter().skip(hit.end).take(8), |byte| {
        byte.is_ascii_digit() || byte == b' '
    });
    body(text, hit.end + digits, b"")
}

/// Reads lines from `start` on, as long as they can be a key's.
fn body(text: &[u8], start: usize, path: &[u8]) -> Option<Found> {
    let text = text.get(..text.len().min(start + LONGEST_BLOCK))?;
    let mut value = Vec::new();
    let mut range: Option<Range<usize>> = None;
    // Some write the whole key behind the first line without a break.
    let mut at = skip_break(text, start).unwrap_or(start);
    let mut skipped = 0;
    while skipped <= MAX_HEADER_LINES {
        let line = base64_line(text, skip_prefix(text, at, path));
        let content = text.get(line.clone())?;
        skipped += usize::from(range.is_none());
        if range.is_none() && is_header(text, &line) {
            at = end_of_line(text, line.end);
        } else if content.is_empty() && range.is_none() && !is_armour(text, line.start) {
            at = line.end;
        } else if is_key_line(text, &line, range.is_none(), path) {
            value.extend_from_slice(content);
            range = Some(range.map_or(line.start, |range| range.start)..line.end);
            if content.len() < SHORTEST_FULL_LINE
                && !text.get(line.end..)?.starts_with(b"=")
                && !next_is_checksum(text, line.end, path)
            {
                break;
            }
            at = line.end;
        } else {
            break;
        }
        match skip_break(text, at) {
            Some(next) => at = next,
            None => break,
        }
    }
    range.map(|range| Found {
        range,
        value: Some(value),
    })
}

/// The end of the lines that go on with a block whose lines before `at` were redacted already.
pub(super) fn rest_of_block(text: &[u8], at: usize) -> Option<usize> {
    let text = text.get(..text.len().min(at + LONGEST_BLOCK))?;
    let mut end = None;
    let mut next = skip_break(text, at);
    while let Some(start) = next {
        let line = base64_line(text, skip_prefix(text, start, b""));
        if !is_key_line(text, &line, false, b"") {
            break;
        }
        end = Some(line.end);
        next = skip_break(text, line.end);
    }
    end
}

/// Whether the base64 at `line` is a line of a key and not a word of the prose after a key that was cut off.
fn is_key_line(text: &[u8], line: &Range<usize>, first: bool, path: &[u8]) -> bool {
    let content = text.get(line.clone()).unwrap_or_default();
    let ends = at_line_end(text, line.end) || is_armour(text, line.end);
    // Something may close the text right behind the last line: a bracket, a comma.
    let is_last = !first && (content.ends_with(b"=") || looks_random(content));
    if content.is_empty() || !ends && !is_last {
        return false;
    }
    let length = content.len();
    if first {
        length >= SHORTEST_FIRST_LINE
    } else {
        length >= SHORTEST_FULL_LINE
            || is_last
            || next_is_armour(text, line.end, path)
            // Cut off in the middle of a line.
            || line.end == text.len()
    }
}

pub(super) fn base64_line(text: &[u8], start: usize) -> Range<usize> {
    let length = count_leading(text.iter().skip(start), |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
    });
    start..start + length
}

fn is_armour(text: &[u8], at: usize) -> bool {
    text.get(at..)
        .is_some_and(|rest| rest.starts_with(b"-----") || rest.starts_with(b"Private-MAC"))
}

/// Whether the block ends right after the line that ends at `at`, or after one more line with an OpenPGP checksum.
fn next_is_armour(text: &[u8], at: usize, path: &[u8]) -> bool {
    let next = |at| skip_break(text, at).map(|start| skip_prefix(text, start, path));
    is_armour(text, at)
        || next(at).is_some_and(|start| is_armour(text, start))
        || next_is_checksum(text, at, path)
        || text
            .get(..at)
            .is_some_and(|before| before.len() > 5 && before.get(before.len() - 5) == Some(&b'='))
}

fn next_is_checksum(text: &[u8], at: usize, path: &[u8]) -> bool {
    skip_break(text, at)
        .map(|start| base64_line(text, skip_prefix(text, start, path)))
        .is_some_and(|line| line.len() == 5 && text.get(line.start) == Some(&b'='))
}

/// Past one line break or the blanks that stand for one. `None` if something else is there.
fn skip_break(text: &[u8], mut at: usize) -> Option<usize> {
    let from = at;
    let mut breaks = 0;
    loop {
        match text.get(at) {
            Some(b' ' | b'\t' | b'\r') => at += 1,
            Some(b'\n') if breaks == 0 => {
                breaks += 1;
                at += 1;
            }
            Some(b'\\') => {
                let run = backslashes(text, at);
                match text.get(at + run) {
                    Some(b'r' | b't') => at += run + 1,
                    Some(b'n') if breaks == 0 => {
                        breaks += 1;
                        at += run + 1;
                    }
                    _ => break,
                }
            }
            _ => break,
        }
    }
    examined(at - from);
    (at > from).then_some(at)
}

/// Past the path of a listing, line numbers, quote marks, diff markers and indentation.
fn skip_prefix(text: &[u8], start: usize, path: &[u8]) -> usize {
    let mut at = start;
    let listed = text.get(start..).and_then(|rest| rest.strip_prefix(path));
    examined(path.len());
    if !path.is_empty() && matches!(listed, Some([b':' | b'-', ..])) {
        at += path.len() + 1;
    }
    let digits = count_leading(text.iter().skip(at).take(7), |byte| byte.is_ascii_digit());
    if digits > 0 {
        let rest = text.get(at + digits..).unwrap_or_default();
        let arrow = [
            &b"\xe2\x86\x92"[..],
            b"\\u2192",
            b"\\\\u2192",
            b" \xe2\x94\x82",
            b" \\u2502",
            b"\\t",
            b"\\\\t",
            b"\t",
            b":",
            b"|",
            b" |",
            b"-",
            b" ",
        ];
        if let Some(mark) = arrow.iter().find(|mark| rest.starts_with(mark)) {
            at += digits + mark.len();
        }
    }
    let content = at;
    while let Some(byte) = text.get(at) {
        let blank_follows = matches!(text.get(at + 1), Some(b' ' | b'\t'));
        match byte {
            b' ' | b'\t' => at += 1,
            b'>' | b'|' | b'#' | b'*' => at += 1,
            b'+' if at == content || blank_follows => at += 1,
            b'-' if text.get(at + 1) != Some(&b'-') => at += 1,
            _ => break,
        }
    }
    examined(at - start);
    at
}

/// `Proc-Type: 4,ENCRYPTED`, `DEK-Info: …`, `Version: …`
fn is_header(text: &[u8], line: &Range<usize>) -> bool {
    let rest = text.get(line.start..).unwrap_or_default();
    let name = count_leading(rest.iter().take(24), |byte| {
        byte.is_ascii_alphabetic() || byte == b'-'
    });
    name >= 3 && rest.get(name..).unwrap_or_default().starts_with(b": ")
}

fn end_of_line(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + count_leading(rest.iter().take(200), |byte| {
        !matches!(byte, b'\n' | b'\\' | b'"')
    })
}

fn at_line_end(text: &[u8], at: usize) -> bool {
    matches!(
        text.get(at),
        None | Some(b'\n' | b'\r' | b' ' | b'\t' | b'\\' | b'"' | b'\'' | b'`' | b'<' | b'\x1b')
    )
}

/// Whether a short line is rather the tail of a key than a word.
fn looks_random(line: &[u8]) -> bool {
    examined(line.len() * 2);
    line.ends_with(b"=")
        || line.iter().any(u8::is_ascii_digit)
            && line.iter().any(u8::is_ascii_uppercase)
            && line.len() >= 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plant::expand;
    use crate::search::{RuleProgress, ValueMemo};

    /// Shows the text with the body, if one is found, replaced by `#`.
    fn shown(text: &str) -> String {
        let Some(at) = text.find("PRIVATE KEY") else {
            return text.to_owned();
        };
        found(text, at..at + "PRIVATE KEY".len()).map_or_else(
            || text.to_owned(),
            |found| {
                format!(
                    "{}#{}",
                    &text[..found.range.start],
                    &text[found.range.end..]
                )
            },
        )
    }

    /// The body of the block whose label is at `hit`.
    fn found(text: &str, hit: Range<usize>) -> Option<Found> {
        let mut search = Search {
            text: text.as_bytes(),
            values: &mut ValueMemo::default(),
            progress: &mut RuleProgress::default(),
        };
        armoured(&mut search, &hit)
    }

    fn block() -> String {
        expand("{pem:RSA PRIVATE KEY}", 7).text
    }

    #[test]
    fn line_breaks_of_all_kinds() {
        for line_break in ["\n", "\n", "\\n", "\\\\n", "\\r\\n", "\r\n", " "] {
            let text = block().replace('\n', line_break);
            let expected = format!(
                "-----BEGIN RSA PRIVATE KEY-----{line_break}#{line_break}-----END RSA PRIVATE KEY-----"
            );
            assert_eq!(shown(&text), expected);
        }
    }

    #[test]
    fn prefixes_of_all_kinds() {
        for prefix in [
            "    ",
            "     3→",
            "12:",
            "> ",
            "+",
            "-",
            "7\\t",
            "  5\t",
            "| ",
            "+    ",
            "keys/a-b.pem:3:",
            "keys/a-b.pem-3-",
            "/srv/a.pem:",
            "3-",
            "  12 +",
            "   5 │ ",
        ] {
            let text: String = block()
                .lines()
                .map(|line| format!("{prefix}{line}\\n"))
                .collect();
            let expected = format!(
                "{prefix}-----BEGIN RSA PRIVATE KEY-----\\n{prefix}#\\n{prefix}-----END RSA PRIVATE KEY-----\\n"
            );
            assert_eq!(shown(&text), expected);
        }
    }

    #[test]
    fn all_forms_have_the_same_value() {
        let value = |text: &str| found(text, 15..26).and_then(|found| found.value);
        let plain = block();
        assert!(value(&plain).is_some());
        assert_eq!(value(&plain), value(&plain.replace('\n', "\\n")));
        assert_eq!(value(&plain), value(&plain.replace('\n', "\\n  12→")));
    }

    #[test]
    fn a_block_cut_off_ends_where_the_prose_begins() {
        let text = block();
        let lines: Vec<&str> = text.lines().take(3).collect();
        let cut = lines.join("\\n");
        assert_eq!(
            shown(&format!("{cut}\\nThe rest is cut off.\"")),
            "-----BEGIN RSA PRIVATE KEY-----\\n#\\nThe rest is cut off.\""
        );
        assert_eq!(
            shown(&format!("{cut}\",\"next\":1")),
            "-----BEGIN RSA PRIVATE KEY-----\\n#\",\"next\":1"
        );
        assert_eq!(
            shown(&format!("{cut}\\ndone\\n")),
            "-----BEGIN RSA PRIVATE KEY-----\\n#\\ndone\\n"
        );
    }

    #[test]
    fn a_block_that_is_not_finished_yet_is_taken_to_its_end() {
        let text = block();
        for length in 60..text.len() - 30 {
            let shown = shown(&text[..length]);
            let left = shown.strip_prefix("-----BEGIN RSA PRIVATE KEY-----\n#");
            assert!(left.is_some_and(|left| left.trim().is_empty()), "{shown}");
        }
    }

    #[test]
    fn a_block_whose_beginning_is_missing_is_taken_from_where_it_begins() {
        let text = block();
        let (_, rest) = text.split_once('\n').unwrap();
        for line_break in ["\n", "\\n", "\\\\n", "\\r\\n", "\r\n", "\n    ", "\\n  12→"] {
            for cut in [0, 1, 7, 40, 64, 65, 70] {
                let written = rest[cut..].trim_start().replace('\n', line_break);
                let armour = format!("{line_break}-----END RSA PRIVATE KEY-----");
                assert_eq!(shown(&written), format!("#{armour}"), "{written}");
                let quoted = format!("{{\"text\":\"more: {line_break}{written}\"}}");
                let output = shown(&quoted);
                assert!(output.contains('#') && output.len() < 200, "{output}");
            }
        }
        for text in [
            "done\n-----END RSA PRIVATE KEY-----",
            "...\\n-----END PRIVATE KEY-----",
            "until -----END PRIVATE KEY----- is read",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn headers_and_checksums() {
        let body = expand("{b64}\n{b64}\n{b30}==\n={b4}", 3).text;
        let head = "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n";
        let tail = "\n-----END PGP PRIVATE KEY BLOCK-----";
        assert_eq!(
            shown(&format!("{head}{body}{tail}")),
            format!("{head}#{tail}")
        );
    }

    #[test]
    fn documentation_is_kept() {
        for text in [
            "-----BEGIN PRIVATE KEY-----\\n...\\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\\nMIIE...\\n-----END PRIVATE KEY-----",
            "the -----BEGIN PRIVATE KEY----- header is looked for",
            "BEGIN PRIVATE KEY",
            "-----BEGIN PRIVATE KEY-----\",\"type\":\"text\"}",
        ] {
            assert_eq!(shown(text), text);
        }
    }
}
