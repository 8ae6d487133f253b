//! Where things are in a JSON file of a user, which may have comments and trailing commas. Nothing is changed, no value is kept but
//! the keys: what is written back is always the user's own text.

use serde::de::IgnoredAny;

/// Deeper than anybody nests, and shallow enough for every stack.
const DEEPEST: usize = 512;

/// A value and where it is, in bytes.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Object(Vec<Item>),
    Array(Vec<Item>),
    String,
    /// A number, `true`, `false` or `null`.
    Plain,
}

/// A member of an object or an element of an array.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Where it begins: with its key, if it has one.
    pub(super) start: usize,
    /// Without escapes; empty in an array.
    pub(super) key: String,
    pub(super) value: Node,
    /// Where the comma behind it is.
    pub(super) comma: Option<usize>,
}

/// Why a text is no JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) line: usize,
    pub(super) reason: String,
}

impl Node {
    /// What is in an object or array.
    pub(super) fn items(&self) -> &[Item] {
        match &self.kind {
            Kind::Object(items) | Kind::Array(items) => items,
            Kind::String | Kind::Plain => &[],
        }
    }

    pub(super) fn is_object(&self) -> bool {
        matches!(self.kind, Kind::Object(_))
    }

    pub(super) fn is_array(&self) -> bool {
        matches!(self.kind, Kind::Array(_))
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let Kind::Object(items) = &self.kind else {
            return None;
        };
        let item = items.iter().find(|item| item.key == key);
        item.map(|item| &item.value)
    }
}

/// Reads a text that must be one JSON value.
pub(super) fn scan(text: &str) -> Result<Node, Broken> {
    let mut scanner = Scanner {
        text,
        at: if text.starts_with('\u{feff}') { 3 } else { 0 },
        depth: 0,
    };
    scanner.skip_trivia()?;
    let node = scanner.value()?;
    scanner.skip_trivia()?;
    if scanner.at < text.len() {
        return Err(scanner.broken("something follows the end"));
    }
    Ok(node)
}

/// The line that a byte is in, from 1.
pub(super) fn line_of(text: &[u8], at: usize) -> usize {
    let before = &text[..at.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// A string without its quotes and escapes.
pub(super) fn decoded(quoted: &str) -> String {
    // Halves of surrogate pairs, which JavaScript allows, are no text; no key that matters has them.
    serde_json::from_str(quoted).unwrap_or_else(|_| quoted.to_string())
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Scanner<'_> {
    fn broken(&self, reason: &str) -> Broken {
        Broken {
            line: line_of(self.text.as_bytes(), self.at),
            reason: reason.to_string(),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Steps over whitespace and comments.
    fn skip_trivia(&mut self) -> Result<(), Broken> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                Some(b'/') => match bytes.get(self.at + 1) {
                    Some(b'/') => {
                        let rest = &bytes[self.at..];
                        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                        self.at += end.unwrap_or(rest.len());
                    }
                    Some(b'*') => {
                        let end = self.text[self.at + 2..].find("*/");
                        let end = end.ok_or_else(|| self.broken("a comment does not end"))?;
                        self.at += end + 4;
                    }
                    _ => return Err(self.broken("a lone slash")),
                },
                _ => return Ok(()),
            }
        }
    }

    fn value(&mut self) -> Result<Node, Broken> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => Kind::Object(self.items(b'}')?),
            Some(b'[') => Kind::Array(self.items(b']')?),
            Some(b'"') => {
                self.string()?;
                Kind::String
            }
            Some(_) => {
                self.plain()?;
                Kind::Plain
            }
            None => return Err(self.broken("it ends too early")),
        };
        Ok(Node {
            start,
            end: self.at,
            kind,
        })
    }

    fn items(&mut self, close: u8) -> Result<Vec<Item>, Broken> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.broken("it is nested too deeply"));
        }
        self.at += 1;
        let mut items: Vec<Item> = Vec::new();
        loop {
            self.skip_trivia()?;
            match self.peek() {
                Some(byte) if byte == close => break,
                Some(b',') => {
                    match items.last_mut() {
                        Some(item) if item.comma.is_none() => item.comma = Some(self.at),
                        _ => return Err(self.broken("a comma follows nothing")),
                    }
                    self.at += 1;
                    continue;
                }
                Some(_) if items.last().is_some_and(|item| item.comma.is_none()) => {
                    return Err(self.broken("a comma is missing"));
                }
                Some(_) => {}
                None => return Err(self.broken("it ends too early")),
            }
            let start = self.at;
            let key = if close == b'}' {
                self.key()?
            } else {
                String::new()
            };
            let value = self.value()?;
            items.push(Item {
                start,
                key,
                value,
                comma: None,
            });
        }
        self.at += 1;
        self.depth -= 1;
        Ok(items)
    }

    fn key(&mut self) -> Result<String, Broken> {
        if self.peek() != Some(b'"') {
            return Err(self.broken("a key is missing"));
        }
        let start = self.at;
        self.string()?;
        let key = decoded(&self.text[start..self.at]);
        self.skip_trivia()?;
        if self.peek() != Some(b':') {
            return Err(self.broken("a colon is missing"));
        }
        self.at += 1;
        self.skip_trivia()?;
        Ok(key)
    }

    fn string(&mut self) -> Result<(), Broken> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut at = start + 1;
        loop {
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => at += 2,
                Some(b'\n' | b'\r') | None => return Err(self.broken("a string does not end")),
                Some(_) => at += 1,
            }
        }
        self.check(start, at + 1, "a string with what no string may have")
    }

    fn plain(&mut self) -> Result<(), Broken> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().take_while(|byte| is_part(byte)).count();
        self.check(self.at, self.at + length, "this is no value")
    }

    /// Steps over what is JSON in itself.
    fn check(&mut self, start: usize, end: usize, otherwise: &str) -> Result<(), Broken> {
        let is_json = self
            .text
            .get(start..end)
            .is_some_and(|part| serde_json::from_str::<IgnoredAny>(part).is_ok());
        if !is_json {
            return Err(self.broken(otherwise));
        }
        self.at = end;
        Ok(())
    }
}
