//! Walking through JSON as it is written, of any depth: without white space, with long strings cut.

use super::{Happening, HookInput, ToolUse};
use crate::json::{self, repair_surrogates};

impl HookInput {
    /// Cuts what was said by model and tools in the middle where it is longer than so many bytes. Prompts stay whole, for they
    /// are compared with those of the log, and so does the text of a file before it was edited.
    pub fn shorten(&mut self, max_string: usize) {
        match &mut self.happening {
            Happening::ToolUsed(tool) => tool.shorten(max_string),
            Happening::Replied { text }
            | Happening::Stopped {
                reply: Some(text), ..
            } => {
                shorten(text, max_string);
            }
            _ => {}
        }
    }
}

impl ToolUse {
    /// Cuts the output and every string in the input that is longer than so many bytes in its middle. The input stays JSON.
    pub fn shorten(&mut self, max_string: usize) {
        if let Some(output) = &mut self.output {
            shorten(output, max_string);
        }
        if self.input.len() > max_string {
            self.input = with_short_strings(&self.input, max_string);
        }
    }
}

/// JSON without white space between its tokens and without half characters.
pub(super) fn compact(json: &str) -> String {
    let mut compact = String::with_capacity(json.len());
    for piece in Pieces(json) {
        if piece.starts_with('"') {
            compact.push_str(piece);
        } else {
            compact.extend(piece.split_ascii_whitespace());
        }
    }
    repair_surrogates(&compact).unwrap_or(compact)
}

fn with_short_strings(json: &str, max_string: usize) -> String {
    let mut short = String::with_capacity(json.len());
    for piece in Pieces(json) {
        // Escapes only make a string longer.
        let decoded = (piece.len() > max_string && piece.starts_with('"'))
            .then(|| json::read::<String>(piece).ok())
            .flatten();
        let cut = decoded.and_then(|text| without_middle(&text, max_string));
        match cut.and_then(|text| serde_json::to_string(&text).ok()) {
            Some(cut) => short.push_str(&cut),
            None => short.push_str(piece),
        }
    }
    short
}

fn shorten(text: &mut String, most: usize) {
    if let Some(short) = without_middle(text, most) {
        *text = short;
    }
}

/// The first three quarters and the last quarter of a text of at most so many bytes; `None` when that is no shorter.
fn without_middle(text: &str, most: usize) -> Option<String> {
    if text.len() <= most {
        return None;
    }
    let (mut first, mut last) = (most - most / 4, text.len() - most / 4);
    while !text.is_char_boundary(first) {
        first -= 1;
    }
    while !text.is_char_boundary(last) {
        last += 1;
    }
    let (first, left_out, last) = (&text[..first], last - first, &text[last..]);
    let short = format!("{first}[… {left_out} bytes left out …]{last}");
    (short.len() < text.len()).then_some(short)
}

/// The strings of a JSON text, with their quotation marks, and what lies between them.
struct Pieces<'a>(&'a str);

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.0.is_empty() {
            return None;
        }
        let bytes = self.0.as_bytes();
        let length = if bytes[0] == b'"' {
            string_length(bytes)
        } else {
            memchr::memchr(b'"', bytes).unwrap_or(bytes.len())
        };
        let (piece, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(piece)
    }
}

/// How long the string is that the bytes begin with.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = bytes
        .get(at..)
        .and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
    {
        if bytes[at + found] == b'"' {
            return at + found + 1;
        }
        // What is escaped is a quotation mark at most, never the end.
        at += found + 2;
    }
    bytes.len()
}
