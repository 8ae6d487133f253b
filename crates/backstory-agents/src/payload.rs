//! Images, documents and recordings within records: where their base64 text lies. Agents and protocols write them alike.

use std::ops::Range;

use memchr::{memchr2, memmem};

/// Deeper JSON is not looked into.
const MAX_DEPTH: usize = 128;

/// Maximum number of payloads of one record.
const MAX_PAYLOADS: usize = 256;

/// Longer type names, media types and ids are none.
const MAX_NAME_BYTES: usize = 256;

/// One of these stands in every record that has a payload.
const MARKS: [&str; 5] = [
    "base64",
    "image_generation",
    "mimeType",
    "mime_type",
    "input_audio",
];

/// A base64 text within a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// Where it lies in the JSON text: without quotes, and without the beginning of a `data:` address.
    pub range: Range<usize>,
    /// Media type, as the record names it.
    pub media_type: Option<String>,
    /// Id of the tool call whose result it belongs to.
    pub tool_use_id: Option<String>,
}

/// Returns the payloads of a record, or of several one after the other, in their order. What is no base64 after all is for the caller
/// to find out.
///
/// Goes once through the text, whatever it is; JSON that is damaged costs payloads and nothing else.
pub fn find_payloads(json: &[u8]) -> Vec<Payload> {
    let has_mark = |mark: &&str| memmem::find(json, mark.as_bytes()).is_some();
    if !MARKS.iter().any(has_mark) {
        return Vec::new();
    }
    let mut walk = PayloadWalk {
        json,
        frames: Vec::new(),
        found: Vec::new(),
    };
    walk.run();
    let mut found = walk.found;
    found.sort_by_key(|payload| payload.range.start);
    found
}

/// A key that says something about payloads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Key {
    Type,
    MediaType,
    Format,
    CallId,
    Data,
    Result,
    #[default]
    Other,
}

impl Key {
    fn of(key: &[u8]) -> Self {
        match key {
            b"type" => Key::Type,
            b"media_type" | b"mime_type" | b"mimeType" => Key::MediaType,
            b"format" => Key::Format,
            b"tool_use_id" | b"call_id" | b"tool_call_id" | b"toolCallId" => Key::CallId,
            b"data" | b"blob" => Key::Data,
            b"result" => Key::Result,
            _ => Key::Other,
        }
    }
}

/// An object or array that is open.
#[derive(Debug, Default)]
struct Frame {
    is_object: bool,
    /// Whether the next string is a key.
    awaits_key: bool,
    key: Key,
    /// Number of payloads that were found before it.
    found_before: usize,
    kind: Option<Range<usize>>,
    media_type: Option<Range<usize>>,
    format: Option<Range<usize>>,
    call_id: Option<Range<usize>>,
    /// Strings that are payloads if what stands beside them says so.
    data: Option<Range<usize>>,
    result: Option<Range<usize>>,
}

struct PayloadWalk<'a> {
    json: &'a [u8],
    frames: Vec<Frame>,
    found: Vec<Payload>,
}

impl PayloadWalk<'_> {
    fn run(&mut self) {
        let mut at = 0;
        while let Some(byte) = self.json.get(at) {
            at += 1;
            match byte {
                b'"' => {
                    let end = string_end(self.json, at);
                    self.string(at..end);
                    at = end + 1;
                }
                b'{' | b'[' => {
                    if self.frames.len() == MAX_DEPTH {
                        return;
                    }
                    self.frames.push(Frame {
                        is_object: *byte == b'{',
                        awaits_key: *byte == b'{',
                        found_before: self.found.len(),
                        ..Frame::default()
                    });
                }
                b'}' | b']' => {
                    if let Some(frame) = self.frames.pop() {
                        self.close(frame);
                    }
                }
                b',' => {
                    if let Some(frame) = self.frames.last_mut() {
                        frame.awaits_key = frame.is_object;
                    }
                }
                _ => {}
            }
        }
    }

    fn string(&mut self, range: Range<usize>) {
        let text = &self.json[range.clone()];
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        if frame.awaits_key {
            frame.awaits_key = false;
            frame.key = Key::of(text);
            return;
        }
        let key = match frame.is_object {
            true => frame.key,
            false => Key::Other,
        };
        if let Some((media_type, start)) = data_address(text) {
            let range = range.start + start..range.end;
            return self.put(range, Some(media_type));
        }
        match key {
            Key::Type => frame.kind = Some(range),
            Key::MediaType => frame.media_type = Some(range),
            Key::Format => frame.format = Some(range),
            Key::CallId => frame.call_id = Some(range),
            Key::Data => frame.data = Some(range),
            Key::Result => frame.result = Some(range),
            Key::Other => {}
        }
    }

    /// Decides about the strings of an object, now that all that stands beside them is known.
    fn close(&mut self, frame: Frame) {
        let kind = self.name(frame.kind.as_ref()).unwrap_or_default();
        let media_type = self.name(frame.media_type.as_ref());
        let format = self.name(frame.format.as_ref());
        if let Some(data) = frame.data
            && (media_type.is_some() || format.is_some() || kind == "base64")
        {
            let sound = || format.map(|format| format!("audio/{format}"));
            self.put(data, media_type.or_else(sound));
        }
        if let Some(result) = frame.result
            && kind.contains("image_generation")
        {
            self.put(result, None);
        }
        if let Some(call) = self.name(frame.call_id.as_ref()) {
            let inner = self.found.iter_mut().skip(frame.found_before);
            for payload in inner.filter(|payload| payload.tool_use_id.is_none()) {
                payload.tool_use_id = Some(call.clone());
            }
        }
    }

    fn put(&mut self, range: Range<usize>, media_type: Option<String>) {
        if self.found.len() < MAX_PAYLOADS && !range.is_empty() {
            self.found.push(Payload {
                range,
                media_type,
                tool_use_id: None,
            });
        }
    }

    /// A string that names something.
    fn name(&self, range: Option<&Range<usize>>) -> Option<String> {
        let text = self.json.get(range?.clone())?;
        let is_short = !text.is_empty() && text.len() <= MAX_NAME_BYTES;
        let text = std::str::from_utf8(text).ok().filter(|_| is_short)?;
        Some(text.replace("\\/", "/"))
    }
}

/// Position of the quote that ends a string, or of the end of the text.
fn string_end(json: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(found) = json.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if json.get(at) == Some(&b'"') {
            return at;
        }
        at += 2;
    }
    json.len()
}

/// Media type of a `data:` address and where its base64 text begins.
fn data_address(text: &[u8]) -> Option<(String, usize)> {
    let head = text.strip_prefix(b"data:")?;
    let head = &head[..head.len().min(MAX_NAME_BYTES)];
    let comma = memchr::memchr(b',', head)?;
    let head = std::str::from_utf8(&head[..comma]).ok()?;
    let media_type = head.strip_suffix(";base64")?.split(';').next()?;
    Some((media_type.replace("\\/", "/"), "data:".len() + comma + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(json: &str) -> Vec<(String, Option<String>, Option<String>)> {
        let text = |payload: &Payload| json[payload.range.clone()].to_string();
        let payloads = find_payloads(json.as_bytes());
        let tell = |payload: &Payload| {
            (
                text(payload),
                payload.media_type.clone(),
                payload.tool_use_id.clone(),
            )
        };
        payloads.iter().map(tell).collect()
    }

    fn payload(
        text: &str,
        media: Option<&str>,
        call: Option<&str>,
    ) -> (String, Option<String>, Option<String>) {
        (
            text.to_string(),
            media.map(str::to_string),
            call.map(str::to_string),
        )
    }

    #[test]
    fn every_way_to_write_a_payload_is_known() {
        for (json, expected) in [
            (
                r#"[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]"#,
                payload("AAAA", Some("image/png"), None),
            ),
            (
                r#"[{"type":"tool_result","content":[{"type":"text","text":"x"},{"source":{"data":"BBBB","media_type":"image\/jpeg","type":"base64"},"type":"image"}],"tool_use_id":"toolu_1"}]"#,
                payload("BBBB", Some("image/jpeg"), Some("toolu_1")),
            ),
            (
                r#"{"content":[{"type":"input_image","image_url":"data:image/png;base64,CCCC"}]}"#,
                payload("CCCC", Some("image/png"), None),
            ),
            (
                r#"{"images":["a.png","data:image\/webp;x=1;base64,DD\/D"]}"#,
                payload("DD\\/D", Some("image/webp"), None),
            ),
            (
                r#"{"type":"image_generation_call","status":"completed","result":"EEEE"}"#,
                payload("EEEE", None, None),
            ),
            (
                r#"{"call_id":"c1","output":[{"type":"image","data":"FFFF","mimeType":"image/gif"}]}"#,
                payload("FFFF", Some("image/gif"), Some("c1")),
            ),
            (
                r#"{"type":"input_audio","input_audio":{"data":"GGGG","format":"wav"}}"#,
                payload("GGGG", Some("audio/wav"), None),
            ),
        ] {
            assert_eq!(found(json), [expected], "{json}");
        }
    }

    #[test]
    fn what_only_looks_like_a_payload_is_none() {
        for json in [
            r#"{"data":"AAAA","text":"base64"}"#,
            r#"{"result":"AAAA","type":"call","text":"image_generation"}"#,
            r#"{"text":"data:image/png,AAAA base64"}"#,
            r#"{"url":"https://base64/,AAAA"}"#,
            r#"{"data":{"type":"base64"}}"#,
            r#"{"data":"","type":"base64"}"#,
            "base64 \"data\":\"AAAA\"",
        ] {
            assert_eq!(found(json), [], "{json}");
        }
    }

    #[test]
    fn damage_and_size_cost_nothing_else() {
        let deep = "[".repeat(1 << 20) + "\"base64\"";
        assert_eq!(find_payloads(deep.as_bytes()), []);
        let image = r#"{"type":"base64","data":"AAAA"},"#;
        let many = image.repeat(10_000);
        assert_eq!(find_payloads(many.as_bytes()).len(), MAX_PAYLOADS);
        let json = format!("[{image}{image}]");
        for end in 0..json.len() {
            for piece in [&json[..end], &json[end..]] {
                assert!(find_payloads(piece.as_bytes()).len() <= 2);
            }
        }
        assert_eq!(
            find_payloads(b"{\"type\":\"base64\",\"data\":\"AA\\").len(),
            0
        );
        let lines = format!("{{\"a\":1}}\n{}\n", image.trim_end_matches(','));
        assert_eq!(find_payloads(lines.as_bytes()).len(), 1);
    }
}
