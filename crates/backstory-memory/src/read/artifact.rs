//! Images, documents and other files within records.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use backstory_agents::{Payload, find_payloads};
use backstory_event::EventView;
use backstory_store::attachment;

/// Longest part of a name that is taken from the agent's id of a record.
const MAX_STEM_BYTES: usize = 64;

/// Longer media types are none.
const MAX_MEDIA_TYPE_BYTES: usize = 100;

/// Media type of bytes of which nobody says what they are.
const UNKNOWN_MEDIA_TYPE: &str = "application/octet-stream";

/// Media types and the extension of names, with the first bytes of such files where they tell.
const MEDIA_TYPES: [(&str, &str, &[u8]); 12] = [
    ("image/png", "png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", "jpg", b"\xff\xd8\xff"),
    ("image/gif", "gif", b"GIF8"),
    ("application/pdf", "pdf", b"%PDF-"),
    ("application/zip", "zip", b"PK\x03\x04"),
    ("image/webp", "webp", b""),
    ("image/bmp", "bmp", b""),
    ("image/tiff", "tiff", b""),
    ("image/heic", "heic", b""),
    ("audio/wav", "wav", b""),
    ("audio/mpeg", "mp3", b""),
    ("video/mp4", "mp4", b""),
];

/// A file within a record: an image that was pasted, a document, an image that a tool gave back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Name, unique within its session and the same whenever it is read: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// Media type, such as `image/png`.
    pub media_type: String,
    /// Origin: `tool_result:ID` with the id of the tool call, else the kind of the event, such as `prompt`.
    pub origin: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// An artifact and where its base64 text lies in the JSON.
pub(super) struct PlacedArtifact {
    pub(super) artifact: Artifact,
    pub(super) range: Range<usize>,
    pub(super) tool_use_id: Option<String>,
}

/// Takes artifacts out of the records of one session.
#[derive(Default)]
pub(super) struct ArtifactFinder {
    /// Names without number and extension that were given out.
    stems: HashSet<String>,
    /// Places of payloads that were found, as long as records can enclose each other.
    seen: HashSet<(u32, u64)>,
}

impl ArtifactFinder {
    /// Finds the artifacts in the JSON of a record. Base64 of text stays where it is: it is stored as the log has it, no plainer.
    pub(super) fn find(&mut self, json: &[u8], first: &EventView<'_>) -> Vec<PlacedArtifact> {
        let decoded = find_payloads(json).into_iter().filter_map(|payload| {
            let bytes = decode_binary(json.get(payload.range.clone())?)?;
            Some((payload, bytes))
        });
        let mut found: Vec<PlacedArtifact> = Vec::new();
        let mut stem = None;
        for (payload, bytes) in decoded {
            let stem = stem.get_or_insert_with(|| self.stem_of(first));
            let media_type = media_type_of(&payload, &bytes);
            let name = format!("{stem}-{}.{}", found.len() + 1, extension_of(&media_type));
            found.push(PlacedArtifact {
                artifact: Artifact {
                    name,
                    media_type,
                    origin: match &payload.tool_use_id {
                        Some(call) => format!("tool_result:{call}"),
                        None => first.event.kind.name().to_string(),
                    },
                    bytes,
                },
                range: payload.range,
                tool_use_id: payload.tool_use_id,
            });
        }
        found
    }

    /// Like [`ArtifactFinder::find`], of a record that may enclose others, without what was found before.
    pub(super) fn find_once(&mut self, json: &[u8], first: &EventView<'_>) -> Vec<PlacedArtifact> {
        let mut found = self.find(json, first);
        let place = |found: &PlacedArtifact| {
            let offset = first.event.span.offset + found.range.start as u64;
            (first.stream.get(), offset)
        };
        found.retain(|found| self.seen.insert(place(found)));
        found
    }

    /// Returns the beginning of the names of a record's artifacts: the agent's id of the record; if it has none, or another record has the same,
    /// the number of its first event.
    fn stem_of(&mut self, first: &EventView<'_>) -> String {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let uuid = first.event.body.identity.uuid.as_deref();
        let stem = uuid
            .filter(|uuid| (8..=MAX_STEM_BYTES).contains(&uuid.len()))
            .filter(|uuid| uuid.bytes().all(is_plain));
        match stem {
            Some(stem) if self.stems.insert(stem.to_string()) => stem.to_string(),
            _ => format!("event-{}", first.seq.count()),
        }
    }
}

/// The bytes that a base64 text in JSON stands for; `None` when they are text.
fn decode_binary(text: &[u8]) -> Option<Vec<u8>> {
    let mut text = Cow::Borrowed(text);
    if memchr::memchr(b'\\', &text).is_some() {
        let escaped = std::str::from_utf8(&text).ok()?;
        text = Cow::Owned(escaped.replace("\\/", "/").into_bytes());
    }
    match attachment::is_text_payload(&text) {
        true => None,
        false => attachment::decode(&text),
    }
}

/// Returns the media type that the record names; of one that names none, that of the first bytes.
fn media_type_of(payload: &Payload, bytes: &[u8]) -> String {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'+' | b'.' | b'_');
    let named = payload.media_type.as_deref().filter(|name| {
        name.len() <= MAX_MEDIA_TYPE_BYTES && name.contains('/') && name.bytes().all(is_plain)
    });
    if let Some(named) = named {
        return named.to_ascii_lowercase();
    }
    let has_beginning = |(_, _, beginning): &&(&str, &str, &[u8])| {
        !beginning.is_empty() && bytes.starts_with(beginning)
    };
    let known = MEDIA_TYPES.iter().find(has_beginning);
    known
        .map_or(UNKNOWN_MEDIA_TYPE, |known| known.0)
        .to_string()
}

fn extension_of(media_type: &str) -> &'static str {
    let known = MEDIA_TYPES.iter().find(|known| known.0 == media_type);
    known.map_or("bin", |known| known.1)
}
