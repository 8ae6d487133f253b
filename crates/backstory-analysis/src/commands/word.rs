//! Words of command lines, without their quotes.

use super::nested::{Nesting, nested_end};

/// Word of a command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// Bytes at the beginning that were neither quoted nor expanded.
    pub(super) plain: usize,
}

impl Word {
    /// Returns the word if nothing of it is quoted or expanded: only such words are keywords.
    pub(super) fn as_plain(&self) -> Option<&str> {
        (self.plain == self.text.len()).then_some(self.text.as_str())
    }

    /// Returns whether the word assigns a variable: `NAME=`, `NAME+=`, `NAME[…]=`.
    pub(super) fn is_assignment(&self) -> bool {
        let plain = self.text.get(..self.plain).unwrap_or_default();
        let Some((name, _)) = plain.split_once('=') else {
            return false;
        };
        let name = name.strip_suffix('+').unwrap_or(name);
        let name = name.split('[').next().unwrap_or_default();
        is_name(name)
    }
}

/// Returns whether a text can be the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Word that is being read.
#[derive(Default)]
struct WordBuilder {
    text: String,
    /// Length of the plain beginning, once it has ended.
    plain: Option<usize>,
}

impl WordBuilder {
    fn end_plain(&mut self) {
        self.plain = self.plain.or(Some(self.text.len()));
    }

    /// Returns whether a parenthesis goes on with the word: `x=(…)`, `@(…)`.
    fn takes_parenthesis(&self) -> bool {
        let is_pattern = self.text.ends_with(['?', '*', '+', '@']);
        is_pattern || (self.text.ends_with('=') && self.plain.is_none())
    }

    fn finish(self) -> Word {
        let plain = self.plain.unwrap_or(self.text.len());
        Word {
            text: self.text,
            plain,
        }
    }
}

/// Reads the word at `at`, at least one letter, and moves `at` behind it.
pub(super) fn read_word(line: &str, at: &mut usize) -> Word {
    let bytes = line.as_bytes();
    let mut word = WordBuilder::default();
    let start = *at;
    while let Some(&byte) = bytes.get(*at) {
        let next = bytes.get(*at + 1).copied();
        match (byte, next) {
            (b'\\', Some(b'\n')) => *at += 2,
            (b'\\', _) => {
                word.end_plain();
                *at += 1;
                push_letter(line, at, &mut word.text);
            }
            (b'\'', _) => {
                word.end_plain();
                let end = nested_end(line, *at + 1, Nesting::Single);
                let raw = line.get(*at + 1..end).unwrap_or_default();
                word.text.push_str(raw.strip_suffix('\'').unwrap_or(raw));
                *at = end;
            }
            (b'"', _) => {
                word.end_plain();
                *at += 1;
                push_double(line, at, &mut word.text);
            }
            (b'$', Some(b'\'')) => {
                word.end_plain();
                let end = nested_end(line, *at + 2, Nesting::Ansi);
                let raw = line.get(*at + 2..end).unwrap_or_default();
                push_ansi(raw.strip_suffix('\'').unwrap_or(raw), &mut word.text);
                *at = end;
            }
            (b'$', Some(b'"')) => *at += 1,
            (b'$' | b'`', _) => {
                word.end_plain();
                push_expansion(line, at, &mut word.text);
            }
            // A process substitution, an array, an extended pattern.
            (b'<' | b'>', Some(b'(')) if *at == start => {
                word.end_plain();
                push_nested(line, at, 2, Nesting::Commands, &mut word.text);
            }
            (b'(', _) if word.takes_parenthesis() => {
                word.end_plain();
                push_nested(line, at, 1, Nesting::Commands, &mut word.text);
            }
            (b' ' | b'\t' | b'\n' | b'\r' | b';' | b'&' | b'|' | b'(' | b')', _) => break,
            // Alone it is the operator of a test.
            (b'<' | b'>', _) if *at > start => break,
            _ => push_run(line, at, &mut word.text),
        }
    }
    word.finish()
}

fn push_letter(line: &str, at: &mut usize, text: &mut String) {
    if let Some(letter) = line.get(*at..).and_then(|rest| rest.chars().next()) {
        text.push(letter);
        *at += letter.len_utf8();
    }
}

/// Pushes the letter at `at` and those behind it that mean nothing to a shell.
fn push_run(line: &str, at: &mut usize, text: &mut String) {
    let bytes = line.as_bytes();
    let is_special = |byte: &u8| b"\\'\"$`<>();&| \t\r\n".contains(byte);
    let first = line.get(*at..).and_then(|rest| rest.chars().next());
    let start = *at + first.map_or(1, char::len_utf8);
    let rest = bytes.get(start..).unwrap_or_default();
    let end = rest.iter().position(is_special);
    let end = end.map_or(bytes.len(), |end| start + end);
    text.push_str(line.get(*at..end).unwrap_or_default());
    *at = end;
}

/// Pushes a nested text as it is written, from `at`; its inside begins so many bytes later.
fn push_nested(line: &str, at: &mut usize, opening: usize, nesting: Nesting, text: &mut String) {
    let end = nested_end(line, *at + opening, nesting);
    text.push_str(line.get(*at..end).unwrap_or_default());
    *at = end;
}

/// Pushes `$(…)`, `${…}` or `` `…` `` as it is written; of another `$`, only that.
fn push_expansion(line: &str, at: &mut usize, text: &mut String) {
    let bytes = line.as_bytes();
    match (bytes.get(*at), bytes.get(*at + 1), bytes.get(*at + 2)) {
        (Some(b'`'), _, _) => push_nested(line, at, 1, Nesting::Backticks, text),
        (_, Some(b'('), Some(b'(')) => push_nested(line, at, 2, Nesting::Arithmetic, text),
        (_, Some(b'('), _) => push_nested(line, at, 2, Nesting::Commands, text),
        (_, Some(b'{'), _) => push_nested(line, at, 2, Nesting::Expansion, text),
        _ => push_letter(line, at, text),
    }
}

/// Pushes a text in double quotes, from behind the opening quote to behind the closing one.
fn push_double(line: &str, at: &mut usize, text: &mut String) {
    let bytes = line.as_bytes();
    while let Some(&byte) = bytes.get(*at) {
        match (byte, bytes.get(*at + 1)) {
            (b'"', _) => {
                *at += 1;
                return;
            }
            (b'\\', Some(b'\n')) => *at += 2,
            (b'\\', Some(b'"' | b'\\' | b'$' | b'`')) => {
                *at += 1;
                push_letter(line, at, text);
            }
            (b'\\', _) => push_letter(line, at, text),
            (b'$' | b'`', _) => push_expansion(line, at, text),
            _ => {
                let rest = &bytes[*at..];
                let is_special = |byte: &u8| b"\"\\$`".contains(byte);
                let length = rest.iter().position(is_special).unwrap_or(rest.len());
                text.push_str(line.get(*at..*at + length).unwrap_or_default());
                *at += length;
            }
        }
    }
}

/// Pushes the inside of `$'…'`. Of escapes, those of single letters are replaced.
fn push_ansi(raw: &str, text: &mut String) {
    let mut letters = raw.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some(other @ ('\\' | '\'' | '"' | '?')) => text.push(other),
            Some(other) => text.extend(['\\', other]),
            None => text.push('\\'),
        }
    }
}
