//! Telling a Codex log by the first bytes of a file.
//!
//! The head may end anywhere, in the middle of the first record too, for that one holds the whole system prompt. So it is not
//! parsed but walked: only the names and beginnings of the outermost fields count, never what some text quotes.

use crate::reader::Shape;

/// A few records decide; what is still unclear then is not ours.
const RECORDS: usize = 8;

/// What the envelopes of records are called.
const ENVELOPES: &[&[u8]] = &[
    b"\"session_meta\"",
    b"\"response_item\"",
    b"\"event_msg\"",
    b"\"turn_context\"",
    b"\"compacted\"",
    b"\"world_state\"",
    b"\"inter_agent_communication\"",
    b"\"inter_agent_communication_metadata\"",
];

/// Fields that only other agents' records have.
const FOREIGN: &[&[u8]] = &[
    b"sessionId",
    b"parentUuid",
    b"uuid",
    b"parentId",
    b"message",
    b"method",
    b"params",
    b"data",
];

/// How the file is laid out, if Codex wrote it.
pub(super) fn shape(head: &[u8]) -> Option<Shape> {
    let mut rest = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    for _ in 0..RECORDS {
        let (fields, after) = walk(rest)?;
        match judge(&fields) {
            Verdict::Codex(shape) => return Some(shape),
            Verdict::Other => return None,
            Verdict::Unclear => rest = after,
        }
    }
    None
}

enum Verdict {
    Codex(Shape),
    Other,
    Unclear,
}

fn judge(fields: &Fields<'_>) -> Verdict {
    if FOREIGN.iter().any(|name| fields.get(name).is_some()) {
        return Verdict::Other;
    }
    let kind = fields.get(b"type");
    if let (Some(kind), true) = (kind, fields.begins(b"payload", b'{'))
        && ENVELOPES.contains(&kind)
    {
        return Verdict::Codex(Shape::Lines);
    }
    if let Some((session, _)) = fields.get(b"session").and_then(walk) {
        // The items may lie beyond the head; then only the instructions tell.
        let items = fields.begins(b"items", b'[') || session.get(b"instructions").is_some();
        let document = session.is_header() && items;
        return if document {
            Verdict::Codex(Shape::Document)
        } else {
            Verdict::Other
        };
    }
    let bare = match kind {
        None => {
            fields.is_header() && fields.get(b"instructions").is_some()
                || fields.get(b"record_type").is_some()
        }
        Some(b"\"message\"") => {
            let content = fields.get(b"content").unwrap_or_default();
            fields.get(b"role").is_some()
                && ["\"input_text\"", "\"output_text\""]
                    .iter()
                    .any(|part| memchr::memmem::find(content, part.as_bytes()).is_some())
        }
        Some(b"\"function_call\"") => {
            fields.get(b"call_id").is_some() && fields.get(b"arguments").is_some()
        }
        Some(b"\"function_call_output\"") => {
            fields.get(b"call_id").is_some() && fields.get(b"output").is_some()
        }
        // Grok writes reasoning just so, and of other types we know nothing.
        Some(_) => false,
    };
    if bare {
        Verdict::Codex(Shape::Lines)
    } else {
        Verdict::Unclear
    }
}

/// Names, with their quotes, and values.
struct Fields<'a>(Vec<(&'a [u8], &'a [u8])>);

impl<'a> Fields<'a> {
    fn get(&self, name: &[u8]) -> Option<&'a [u8]> {
        let quoted = |key: &[u8]| {
            key.strip_prefix(b"\"")
                .and_then(|key| key.strip_suffix(b"\""))
                == Some(name)
        };
        self.0
            .iter()
            .find(|(key, _)| quoted(key))
            .map(|(_, value)| *value)
    }

    fn begins(&self, name: &[u8], with: u8) -> bool {
        self.get(name).and_then(|value| value.first()) == Some(&with)
    }

    /// The first line of a bare log, and the `session` of a document: an id and a time.
    fn is_header(&self) -> bool {
        self.begins(b"id", b'"') && self.begins(b"timestamp", b'"')
    }
}

/// The outermost fields of the object that the bytes begin with, as far as they go, and what follows it.
/// A line that is no object has no fields. `None` when nothing is left.
fn walk(bytes: &[u8]) -> Option<(Fields<'_>, &[u8])> {
    let bytes = bytes.trim_ascii_start();
    let mut fields = Vec::new();
    let (b'{', mut rest) = bytes.split_first()? else {
        let next_line = memchr::memchr(b'\n', bytes).and_then(|end| bytes.get(end..));
        return Some((Fields(fields), next_line.unwrap_or_default()));
    };
    loop {
        rest = rest.trim_ascii_start();
        rest = rest.strip_prefix(b",").unwrap_or(rest).trim_ascii_start();
        if rest.first() != Some(&b'"') {
            return Some((Fields(fields), rest.strip_prefix(b"}").unwrap_or_default()));
        }
        let (name, after) = rest.split_at(value_length(rest));
        let Some(value) = after.trim_ascii_start().strip_prefix(b":") else {
            return Some((Fields(fields), &[]));
        };
        let value = value.trim_ascii_start();
        let (value, after) = value.split_at(value_length(value));
        fields.push((name, value));
        rest = after;
    }
}

/// How long the value is that the bytes begin with; up to the end when it is cut off.
fn value_length(bytes: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => {
                in_string = !in_string;
                if !in_string && depth == 0 {
                    return at + 1;
                }
            }
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b',' if depth == 0 => return at,
            _ => {}
        }
    }
    bytes.len()
}
