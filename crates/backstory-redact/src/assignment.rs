//! `name = value` in all the ways it is written: JSON, YAML, TOML, shell, headers, flags, source code, each of them escaped
//! any number of times.
//!
//! This only takes apart; whether a name or a value means a secret is for the rules to say.

use std::ops::Range;

use super::boundary::after_escape;
use super::examined::{count_leading, examined};
use super::search::{Search, Value, ValueMemo};

/// A name with the value that stands beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assignment {
    /// The whole name around the keyword.
    pub(super) name: Range<usize>,
    /// The value without its quotes.
    pub(super) value: Range<usize>,
    /// Whether the value stood in quotes.
    pub(super) quoted: bool,
    /// What stood between name and value.
    pub(super) separator: Separator,
    /// Whether a line break stood between name and value.
    pub(super) broken: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    /// `=` with nothing around it, as in a shell or a `.env` file.
    Tight,
    /// `=`, `:=`, `=>` with spaces.
    Equals,
    Colon,
    /// `"name", "value"`
    Comma,
    /// `--name value`
    Space,
    /// `<name>value</name>`
    Tag,
    /// `the name is value`
    Prose,
}

const LONGEST_NAME: usize = 64;
const LONGEST_BARE: usize = 512;
const LONGEST_QUOTED: usize = 4096;
const LONGEST_GAP: usize = 64;

/// The assignment in whose name the keyword at `hit` stands.
pub(super) fn assignment(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Assignment> {
    let text = search.text;
    let name = name_around(text, hit)?;
    let (mut at, name_quote) = after_name(text, name.end);
    let space = skip_blanks(text, at);
    let labelled = value_label(text, at).map(|end| (Separator::Colon, end));
    let (separator, end) = labelled.or_else(|| separator(text, at, space, &name, name_quote))?;
    at = end;
    let value_at = skip_gap(text, at)?;
    let broken = text
        .get(at..value_at)?
        .iter()
        .any(|byte| matches!(byte, b'\n' | b'n' | b'r'));
    let (mut value, quoted) = value(text, value_at, search.values)?;
    if separator == Separator::Prose && text.get(value.clone())?.ends_with(b".") {
        value.end -= 1;
    }
    // A bare value after a quoted name is a JSON number, or code; replacing it would break the JSON.
    (quoted || !name_quote).then_some(Assignment {
        name,
        value,
        quoted,
        separator,
        broken,
    })
}

/// The value that begins at `at`, and whether it stands in quotes.
fn value(text: &[u8], at: usize, memo: &mut ValueMemo) -> Option<Value> {
    if let Some((start, known)) = &memo.last
        && *start == at
    {
        return known.clone();
    }
    let value = match quote(text, at) {
        Some((mark, depth, start)) => {
            quoted_end(text, start, mark, depth).map(|end| (start..end, true))
        }
        None => bare_end(text, at, memo).map(|end| (at..end, false)),
    };
    memo.last = Some((at, value.clone()));
    value
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn name_around(text: &[u8], hit: &Range<usize>) -> Option<Range<usize>> {
    let before = text.get(..hit.start)?;
    let left = before.iter().rev().take(LONGEST_NAME);
    let left = count_leading(left, |byte| is_name(byte) || byte == b'.');
    let right = text.get(hit.end..)?.iter().take(LONGEST_NAME);
    let right = count_leading(right, is_name);
    Some(after_escape(text, hit.start - left).min(hit.start)..hit.end + right)
}

/// Skips what may close a name: a quote, a bracket, the `?` of an optional field. Tells whether there was a quote.
fn after_name(text: &[u8], mut at: usize) -> (usize, bool) {
    let run = backslashes(text, at);
    let quoted = matches!(text.get(at + run), Some(b'"' | b'\'' | b'`'));
    if quoted {
        at += run + 1;
    }
    if matches!(text.get(at), Some(b']' | b'?' | b'!')) {
        at += 1;
    }
    (at, quoted)
}

fn separator(
    text: &[u8],
    at: usize,
    space: usize,
    name: &Range<usize>,
    name_quote: bool,
) -> Option<(Separator, usize)> {
    let next = text.get(space + 1);
    match text.get(space)? {
        b'=' if matches!(next, Some(b'=' | b'>' | b'~')) => Some((Separator::Equals, space + 2)),
        b'=' if space == at && !matches!(next, Some(b' ')) => Some((Separator::Tight, space + 1)),
        b'=' => Some((Separator::Equals, space + 1)),
        b':' if next == Some(&b'=') => Some((Separator::Equals, space + 2)),
        b':' if next == Some(&b':') => None,
        b':' => Some(
            annotated(text, space + 1).map_or((Separator::Colon, space + 1), |end| {
                (Separator::Equals, end)
            }),
        ),
        b',' if name_quote => Some((Separator::Comma, space + 1)),
        b'>' if name
            .start
            .checked_sub(1)
            .and_then(|before| text.get(before))
            == Some(&b'<') =>
        {
            Some((Separator::Tag, space + 1))
        }
        b'i' if space > at && text.get(space..)?.starts_with(b"is ") => {
            Some((Separator::Prose, space + 3))
        }
        _ if space > at
            && matches!(text.get(name.clone())?, [b'-', b'-', third, ..] if third.is_ascii_alphanumeric()) =>
        {
            Some((Separator::Space, space))
        }
        _ => None,
    }
}

/// Past the `value:` of `{"name": "NAME", "value": "…"}`, as in the configuration of containers.
fn value_label(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while at < from + LONGEST_GAP {
        match text.get(at)? {
            b' ' | b'\t' | b'\n' | b'\r' | b',' | b'"' | b'\'' => at += 1,
            b'\\' => {
                let run = backslashes(text, at);
                at += run + usize::from(matches!(text.get(at + run)?, b'n' | b'r' | b't' | b'"'));
            }
            b'v' | b'V' => break,
            _ => return None,
        }
    }
    examined(at - from);
    let label = at..at + b"value".len();
    if label.start == from || !text.get(label.clone())?.eq_ignore_ascii_case(b"value") {
        return None;
    }
    let (end, _) = after_name(text, label.end);
    let end = skip_blanks(text, end);
    matches!(text.get(end)?, b':' | b'=').then_some(end + 1)
}

/// Past the `=` of `name: type = value`.
fn annotated(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let length = count_leading(rest.iter().take(LONGEST_GAP), |byte| {
        !matches!(
            byte,
            b'=' | b'"' | b'\\' | b'\n' | b',' | b';' | b'{' | b'('
        )
    });
    (rest.get(length) == Some(&b'=')
        && rest.get(length + 1) == Some(&b' ')
        && length > 0
        && rest.get(length - 1) == Some(&b' '))
    .then_some(at + length + 1)
}

fn skip_blanks(text: &[u8], at: usize) -> usize {
    let rest = text.iter().skip(at).take(LONGEST_GAP);
    at + count_leading(rest, |byte| matches!(byte, b' ' | b'\t'))
}

/// Skips blanks and line breaks, escaped or not.
fn skip_gap(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while at < from + LONGEST_GAP {
        examined(1);
        match text.get(at)? {
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b'\\' => {
                let run = backslashes(text, at);
                match text.get(at + run)? {
                    b'n' | b'r' | b't' => at += run + 1,
                    _ => return Some(at),
                }
            }
            _ => return Some(at),
        }
    }
    None
}

pub(super) fn backslashes(text: &[u8], at: usize) -> usize {
    count_leading(text.iter().skip(at), |byte| byte == b'\\')
}

/// The quote that opens at `at`: its mark, the number of backslashes before it, and where the value begins.
pub(super) fn quote(text: &[u8], at: usize) -> Option<(u8, usize, usize)> {
    // Literals such as b"…" and f'…' have a letter before the quote.
    let at = if matches!(
        text.get(at..at + 2),
        Some([b'b' | b'f' | b'r' | b'u', b'"' | b'\'' | b'\\'])
    ) {
        at + 1
    } else {
        at
    };
    let run = backslashes(text, at);
    match text.get(at + run)? {
        mark @ (b'\'' | b'`') if run == 0 => Some((*mark, 0, at + 1)),
        // At depth n a quote has 2^n - 1 backslashes; any other number means that some string ends here.
        b'"' if (run + 1).is_power_of_two() => Some((b'"', run, at + run + 1)),
        _ => None,
    }
}

/// Where the quoted value that begins at `start` ends; never past the end of a string that this one stands in.
pub(super) fn quoted_end(text: &[u8], start: usize, mark: u8, depth: usize) -> Option<usize> {
    let limit = text.len().min(start + LONGEST_QUOTED);
    let mut at = start;
    loop {
        examined(1);
        let byte = if at < limit {
            *text.get(at)?
        } else {
            return (limit == text.len()).then_some(limit);
        };
        match byte {
            b'\n' | b'\r' => return None,
            b'\\' => {
                let run = backslashes(text, at);
                match text.get(at + run) {
                    Some(b'"') if mark == b'"' => {
                        if run < depth {
                            return Some(at);
                        }
                        // What is beyond the mark's own backslashes is pairs of escaped backslashes, or one that escapes the mark.
                        if (run - depth).is_multiple_of(2 * (depth + 1)) {
                            return Some(at + run - depth);
                        }
                    }
                    Some(b'"') => return Some(at),
                    _ => {}
                }
                // Also past what the backslashes escape, so that no sequence is ever cut in two.
                at += run + 1;
            }
            b'"' => return Some(at),
            byte if byte == mark => return Some(at),
            _ => at += 1,
        }
    }
}

/// Where the value without quotes that begins at `start` ends.
fn bare_end(text: &[u8], start: usize, memo: &mut ValueMemo) -> Option<usize> {
    let goes_on = |at: usize| {
        text.get(at).is_some_and(|byte| {
            !byte.is_ascii_whitespace()
                && !byte.is_ascii_control()
                && !b"\"'`\\,;<>(){}[]|".contains(byte)
                && !is_next_parameter(text, at)
        })
    };
    let limit = start + LONGEST_BARE;
    let end = memo.bare.end(start, limit.min(text.len()), goes_on);
    (start < end && end < limit).then_some(end)
}

/// Whether the `&` at `at` begins the next parameter of a query or the next command, and is not part of a password.
fn is_next_parameter(text: &[u8], at: usize) -> bool {
    if text.get(at) != Some(&b'&') {
        return false;
    }
    let after = text.get(at + 1..).unwrap_or_default();
    let name = count_leading(after.iter().take(32), is_name);
    matches!(after.first(), None | Some(b'&')) || name > 0 && after.get(name) == Some(&b'=')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::RuleProgress;

    fn check(text: &str, expected: Option<&str>) {
        let at = text.find("password").unwrap();
        let mut search = Search {
            text: text.as_bytes(),
            values: &mut ValueMemo::default(),
            progress: &mut RuleProgress::default(),
        };
        let found = assignment(&mut search, &(at..at + 8)).map(|found| &text[found.value]);
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn the_value_is_found_however_it_is_written() {
        for text in [
            r#""password": "s3cr3t""#,
            r#"\"password\":\"s3cr3t\""#,
            r#"\\\"password\\\" : \\\"s3cr3t\\\""#,
            r"password=s3cr3t\nnext",
            r"\npassword: s3cr3t\\nnext",
            "my_password = 's3cr3t'",
            "--password s3cr3t --other",
            r#"["--password","s3cr3t"]"#,
            r#"password: str = "s3cr3t""#,
            r#"const password: &str = b"s3cr3t";"#,
            r#"env["password"] = "s3cr3t""#,
            "password:\n  s3cr3t\n",
            r#"\"password\":\n\"s3cr3t\""#,
            "password := `s3cr3t`",
            "{'password' => 's3cr3t'}",
            "<password>s3cr3t</password>",
            "the password is s3cr3t ",
            r#"{"name": "password", "value": "s3cr3t"}"#,
            r#"{\"name\":\"password\",\"value\":\"s3cr3t\"}"#,
            r"- name: password\n  value: s3cr3t\n",
            "?password=s3cr3t&next=1",
        ] {
            check(text, Some("s3cr3t"));
        }
    }

    #[test]
    fn quotes_within_the_value_do_not_end_it() {
        check(r#""password": "a\"b""#, Some(r#"a\"b"#));
        check(r#"\"password\": \"a\\\"b\\\\\""#, Some(r#"a\\\"b\\\\"#));
    }

    #[test]
    fn an_enclosing_string_ends_the_value() {
        check(r#""x": "password=\"abc", "y": 1"#, Some("abc"));
        check(r#""x": "password='abc", "y": 1"#, Some("abc"));
    }

    #[test]
    fn numbers_and_prose_are_no_values() {
        check(r#""password": 12345678, "#, None);
        check("the password was good", None);
        check("password\n", None);
    }
}
