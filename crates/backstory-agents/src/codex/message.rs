//! Messages: who says what, and which of the user's were typed by a person.

use serde_json::value::RawValue;

use crate::object::{Object, string};
use crate::shared::{cut, kept};
use backstory_event::{Image, Kind};

/// What stands for an image. Its bytes are an attachment, never text.
const IMAGE: &str = "[image]";
const AUDIO: &str = "[audio]";

/// The media type of a `data:` address ends sooner.
const MAX_HEADER_BYTES: usize = 256;

/// How texts begin that Codex puts into the conversation in the user's name.
/// From `codex-rs/core/src/context` of August 2026, and older ones seen in logs.
const INJECTED: &[&str] = &[
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<app-context>",
    "<codex_internal_context",
    "<collaboration_mode>",
    "<environment_context",
    "<external_",
    "<goal_context>",
    "<hook_prompt",
    "<model_switch>",
    "<permissions instructions>",
    "<personality_spec>",
    "<plugins_instructions>",
    "<realtime_delegation>",
    "<recommended_plugins>",
    "<rollout_budget>",
    "<skill>",
    "<skills_instructions>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_action>",
    "<user_instructions",
    "<user_shell_command>",
    "Another language model started to solve this problem and produced a summary",
    "Warning: The maximum number of unified exec processes you can keep open is",
    "Warning: Your account was flagged for potentially high-risk cyber activity",
    "Warning: apply_patch was requested via ",
];

/// What editors write before the request, and the heading that the request follows.
const EDITOR_CONTEXT: &[&str] = &[
    "# Context from my IDE setup:",
    "# Files mentioned by the user:",
];
const REQUEST: &str = "## My request for Codex:";

/// A message in the user's name.
pub(super) struct UserMessage {
    pub(super) kind: Kind,
    pub(super) text: String,
    pub(super) images: Vec<Image>,
}

/// What a message in the user's name says: a prompt of what is genuine in it, else a system text of all of it.
pub(super) fn from_user(parts: impl Iterator<Item = Part>) -> Option<UserMessage> {
    let mut genuine = Vec::new();
    let mut injected = Vec::new();
    let mut images = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) => match request(&text) {
                Some(request) => genuine.extend(kept(request)),
                None => injected.extend(kept(&text)),
            },
            Part::Image(image) => {
                images.push(image);
                genuine.push(IMAGE.to_string());
            }
            Part::Audio => genuine.push(AUDIO.to_string()),
        }
    }
    let (kind, texts) = match (genuine.is_empty(), injected.is_empty()) {
        (false, _) => (Kind::Prompt, genuine),
        (true, false) => (Kind::System, injected),
        (true, true) => return None,
    };
    Some(UserMessage {
        kind,
        text: texts.join("\n"),
        images,
    })
}

/// All that a message says, one part a line.
pub(super) fn joined(parts: impl Iterator<Item = Part>) -> Option<String> {
    let texts: Vec<String> = parts.map(Part::into_text).collect();
    kept(&texts.join("\n"))
}

/// One part of a message.
pub(super) enum Part {
    /// Text.
    Text(String),
    /// An image, of which only the place in the text is kept.
    Image(Image),
    /// A recording, of which only the place in the text is kept.
    Audio,
}

impl Part {
    /// The text, if it is one.
    pub(super) fn text(self) -> Option<String> {
        match self {
            Part::Text(text) => Some(text),
            Part::Image(_) | Part::Audio => None,
        }
    }

    fn into_text(self) -> String {
        match self {
            Part::Text(text) => text,
            Part::Image(_) => IMAGE.to_string(),
            Part::Audio => AUDIO.to_string(),
        }
    }
}

/// The parts of a message's content, which is a list or in some old logs a plain string.
pub(super) fn parts(content: &RawValue) -> impl Iterator<Item = Part> {
    let whole = string(content).map(Part::Text);
    let list: Vec<&RawValue> = match whole {
        Some(_) => Vec::new(),
        None => serde_json::from_str(content.get()).unwrap_or_default(),
    };
    whole.into_iter().chain(list.into_iter().filter_map(part))
}

fn part(value: &RawValue) -> Option<Part> {
    if let Some(text) = string(value) {
        return Some(Part::Text(text));
    }
    let part = Object::of(value)?;
    let kind = part.word("type").unwrap_or_default();
    if kind.contains("image") {
        let place = part.get("image_url").or_else(|| part.get("path"));
        return Some(Part::Image(place.map(image_at).unwrap_or_default()));
    }
    if kind.contains("audio") {
        return Some(Part::Audio);
    }
    // `input_text`, `output_text`, `summary_text`, `reasoning_text`, `text`, `refusal`; encrypted parts have neither field.
    let text = part.text("text").or_else(|| part.text("refusal"))?;
    (!is_image_tag(&text)).then_some(Part::Text(text))
}

/// The images that a `user_message` event names.
pub(super) fn images(event: &Object<'_>) -> impl Iterator<Item = Part> {
    let places = ["images", "local_images"].map(|list| event.list(list));
    let places = places.into_iter().flatten();
    places.map(|place| Part::Image(image_at(place)))
}

/// An image by its address: a path, a link, or `data:` with the encoded image itself, of which only the length is kept.
fn image_at(place: &RawValue) -> Image {
    let nested = Object::of(place).and_then(|object| object.get("url"));
    let place = nested.unwrap_or(place);
    let Some(data) = place.get().strip_prefix("\"data:") else {
        return Image {
            source: string(place).filter(|source| !source.is_empty()),
            ..Image::default()
        };
    };
    let data = data.strip_suffix('"').unwrap_or(data);
    let (header, encoded) = cut(data, MAX_HEADER_BYTES)
        .find(',')
        .map_or(("", data), |end| (&data[..end], &data[end + 1..]));
    // Some writers escape slashes.
    let media_type = header
        .split(';')
        .next()
        .map(|name| name.replace("\\/", "/"));
    Image {
        media_type: media_type.filter(|name| !name.is_empty()),
        source: None,
        encoded_bytes: encoded.len() as u64,
    }
}

/// A text without all that differs between two records of the same message: white space, placeholders, tags around them.
pub(super) fn essence(text: &str) -> String {
    let bare = [IMAGE, AUDIO, "<proposed_plan>", "</proposed_plan>"]
        .iter()
        .fold(text.to_string(), |text, noise| text.replace(noise, ""));
    bare.chars()
        .filter(|character| !character.is_whitespace())
        .collect()
}

/// What the user asks for in a text: all of it, or what follows an editor's context; `None` when no person wrote it.
pub(crate) fn request(text: &str) -> Option<&str> {
    let text = text.trim_start();
    if EDITOR_CONTEXT.iter().any(|prefix| text.starts_with(prefix)) {
        // What stands before it may quote a file, and that may have the same heading.
        return text.rsplit_once(REQUEST).map(|(_, request)| request);
    }
    let injected = INJECTED.iter().any(|prefix| {
        // Codex itself compares its markers without regard to case.
        text.as_bytes()
            .get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
    });
    (!injected).then_some(text)
}

/// Codex names each image in a text part of its own: `<image name=[Image #1]>` before it, `</image>` after.
fn is_image_tag(text: &str) -> bool {
    let text = text.trim();
    text == "</image>"
        || (text.starts_with("<image") && text.ends_with('>') && !text.contains('\n'))
}
