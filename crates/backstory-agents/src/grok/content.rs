//! Content of messages: a string, a block, or several.

use serde_json::value::RawValue;

use super::fields::Fields;
use crate::shared::{cut, items, string};
use backstory_event::Image;

/// Length of the beginning of a data URL in which its media type stands.
const MAX_DATA_URL_HEAD_BYTES: usize = 256;

/// What content holds.
#[derive(Debug, Default)]
pub(super) struct Content<'a> {
    pub(super) text: String,
    /// The JSON strings that the text is made of.
    pub(super) strings: Vec<&'a RawValue>,
    /// What is not text.
    pub(super) images: Vec<Image>,
}

impl<'a> Content<'a> {
    pub(super) fn read(raw: Option<&'a RawValue>) -> Self {
        let mut content = Content::default();
        match raw {
            Some(raw) if raw.get().starts_with('[') => {
                for block in items(raw) {
                    content.add_block(block);
                }
            }
            Some(raw) => content.add_block(raw),
            None => {}
        }
        content
    }

    fn add_block(&mut self, raw: &'a RawValue) {
        if let Some(text) = string(Some(raw)) {
            self.strings.push(raw);
            self.text.push_str(&text);
            return;
        }
        let block = Fields::read(raw.get());
        match string(block.get(&["type"])).as_deref() {
            Some("image" | "image_url") => {
                self.images.push(read_image(&block));
                self.text.push_str("\n[image]\n");
            }
            Some("audio") => {
                self.images.push(read_image(&block));
                self.text.push_str("\n[audio]\n");
            }
            // The file is named and not quoted: its contents are not what the person said.
            Some("resource_link") => self.add_name(&block),
            Some("resource") => {
                let resource = Fields::of(block.get(&["resource"]));
                self.images.push(read_image(&resource));
                self.add_name(&resource);
            }
            _ => {
                let raw = block.get(&["text"]);
                let text = string(raw).unwrap_or_default();
                self.strings.extend(raw.filter(|_| !text.is_empty()));
                self.text.push_str(&text);
            }
        }
    }

    fn add_name(&mut self, resource: &Fields<'_>) {
        if let Some(name) = resource.text(&["uri", "name"]) {
            self.text.push_str(&format!("\n[{name}]\n"));
        }
    }
}

/// Returns the text of content.
pub(super) fn content_text(raw: Option<&RawValue>) -> String {
    Content::read(raw).text
}

/// Reads an image, a recording or a file, as the Agent Client Protocol and the models' own protocols have them.
fn read_image(block: &Fields<'_>) -> Image {
    let mut image = Image {
        media_type: block.owned(&["mimeType", "mime_type", "media_type"]),
        source: block.owned(&["uri"]),
        encoded_bytes: block.get(&["data", "blob", "text"]).map_or(0, quoted_bytes),
    };
    let nested = Fields::of(block.get(&["image_url"]));
    let url = block.get(&["url"]).or_else(|| nested.get(&["url"]));
    if let Some(url) = url.or_else(|| block.get(&["image_url"])) {
        add_url(url, &mut image);
    }
    image
}

/// Adds an address, which may hold the data itself.
fn add_url(url: &RawValue, image: &mut Image) {
    let head = cut(url.get(), MAX_DATA_URL_HEAD_BYTES);
    let data = head.strip_prefix("\"data:");
    match data.and_then(|data| data.split_once(',')) {
        Some((described, _)) => {
            let media_type = described.split(';').next().unwrap_or_default();
            if image.media_type.is_none() && !media_type.is_empty() {
                image.media_type = Some(media_type.replace("\\/", "/"));
            }
            let before = "data:,".len() + described.len();
            image.encoded_bytes = quoted_bytes(url).saturating_sub(before as u64);
        }
        None if data.is_some() => image.encoded_bytes = quoted_bytes(url),
        None => image.source = string(Some(url)).map(std::borrow::Cow::into_owned),
    }
}

/// Length of a JSON string between its quotes.
fn quoted_bytes(raw: &RawValue) -> u64 {
    let is_string = raw.get().starts_with('"');
    let length = raw.get().len().saturating_sub(2) as u64;
    if is_string { length } else { 0 }
}
