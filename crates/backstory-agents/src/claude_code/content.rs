//! The content of a message: text, thinking, tool calls and their results.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::edits;
use super::tools::ToolInput;
use crate::bounds::{MAX_NAME_BYTES, bound_name};
use crate::injected::{inside, without_leading_blocks};
use crate::json::text_of;
use crate::object::Object;
use crate::shared::{is_true, items, kept, kept_text, string};
use backstory_event::{EventBody, Image, Kind, Touch};

/// The part that holds a record's own text; content blocks count from one after it.
pub(super) const TEXT_PART: u16 = 0;

/// One event of a line, as far as the line alone tells.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) part: u16,
    pub(super) kind: Kind,
    pub(super) body: EventBody,
    pub(super) tool: Option<String>,
    pub(super) touches: Vec<Touch>,
    pub(super) error: bool,
}

impl Part {
    pub(super) fn new(part: u16, kind: Kind, text: String) -> Self {
        Part {
            part,
            kind,
            body: EventBody::from_text(text),
            tool: None,
            touches: Vec::new(),
            error: false,
        }
    }

    /// Returns the part with the id of its tool call.
    fn of_call(mut self, call: Option<&RawValue>) -> Self {
        self.body.identity.tool_use_id = string(call).map(Cow::into_owned);
        self
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) model: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_id: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    is_error: Option<&'a RawValue>,
    /// Of an image or document.
    #[serde(borrow)]
    source: Option<&'a RawValue>,
}

/// Where an image or document comes from.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ImageSource<'a> {
    #[serde(borrow)]
    media_type: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    #[serde(borrow)]
    url: Option<&'a RawValue>,
    #[serde(borrow)]
    file_id: Option<&'a RawValue>,
}

impl<'a> Block<'a> {
    /// Reads a block that names a field twice: the last value counts. Nothing of a block that is no object.
    fn with_repeated_keys(block: &'a RawValue) -> Self {
        let Some(fields) = Object::of(block) else {
            return Block::default();
        };
        Block {
            kind: fields.get("type"),
            text: fields.get("text"),
            thinking: fields.get("thinking"),
            id: fields.get("id"),
            name: fields.get("name"),
            input: fields.get("input"),
            tool_use_id: fields.get("tool_use_id"),
            content: fields.get("content"),
            is_error: fields.get("is_error"),
            source: fields.get("source"),
        }
    }
}

impl<'a> Message<'a> {
    fn blocks(&self) -> Vec<Block<'a>> {
        let Some(content) = self
            .content
            .filter(|content| content.get().starts_with('['))
        else {
            return Vec::new();
        };
        // All at once when all are objects, as they are; else each by itself, so that an odd one costs only itself.
        serde_json::from_str(content.get()).unwrap_or_else(|_| {
            let each = items(content).into_iter();
            let parse = |block: &'a RawValue| serde_json::from_str(block.get());
            each.map(|block| parse(block).unwrap_or_else(|_| Block::with_repeated_keys(block)))
                .collect()
        })
    }

    /// The id of the first call that a user record answers.
    pub(super) fn result_id(&self) -> Option<String> {
        let blocks = self.blocks();
        let mut ids = blocks.iter().filter_map(|block| string(block.tool_use_id));
        ids.next().map(Cow::into_owned)
    }

    /// A user record's events: its text, as one, and each tool result. `forced` overrules the judgement of the text.
    pub(super) fn user_parts(&self, forced: Option<Kind>) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut texts = Vec::new();
        let mut images = Vec::new();
        if let Some(text) = string(self.content) {
            texts.push(text.into_owned());
        }
        for (part, block) in (1..u16::MAX).zip(&self.blocks()) {
            match &*string(block.kind).unwrap_or_default() {
                "text" => texts.extend(block.text.map(text_of)),
                kind @ ("image" | "document") => {
                    texts.push(format!("[{kind}]"));
                    images.push(block.image());
                }
                "tool_result" => {
                    let text = block.content.map(result_text).unwrap_or_default();
                    let result =
                        Part::new(part, Kind::ToolResult, kept_text(text).unwrap_or_default());
                    parts.push(Part {
                        error: is_true(block.is_error),
                        ..result.of_call(block.tool_use_id)
                    });
                }
                _ => {}
            }
        }
        if let Some(mut part) = text_part(&texts, forced) {
            part.body.images = images;
            parts.push(part);
        }
        parts
    }

    /// An assistant record's events: a block each.
    pub(super) fn assistant_parts(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = match string(self.content).and_then(|text| kept(&text)) {
            Some(text) => vec![Part::new(TEXT_PART, Kind::Reply, text)],
            // A record has at most as many events as there are numbers for its parts; no agent writes so many.
            None => (1..u16::MAX)
                .zip(&self.blocks())
                .filter_map(|(part, block)| block.assistant_part(part))
                .collect(),
        };
        if let Some(reason) = string(self.stop_reason) {
            // Bounded before it is repeated.
            let reason = bound_name(&reason, MAX_NAME_BYTES);
            for part in &mut parts {
                part.body.stop_reason = Some(reason.to_string());
            }
        }
        parts
    }
}

impl Block<'_> {
    fn assistant_part(&self, index: u16) -> Option<Part> {
        match &*string(self.kind)? {
            "text" => Some(Part::new(
                index,
                Kind::Reply,
                kept_text(text_of(self.text?))?,
            )),
            "thinking" => Some(Part::new(
                index,
                Kind::Reasoning,
                kept_text(text_of(self.thinking?))?,
            )),
            kind @ ("tool_use" | "server_tool_use") => {
                let tool = string(self.name)?.into_owned();
                let input = self.input.map(ToolInput::parse).unwrap_or_default();
                let mut part = Part {
                    touches: input.touches(&tool),
                    ..Part::new(index, Kind::ToolCall, input.text()).of_call(self.id)
                };
                part.body.arguments = input.arguments();
                part.body.command = input.command_column();
                part.body.plan = input.plan_title(&tool);
                if kind == "tool_use" {
                    part.body.edits = edits::asked_edits(&tool, &input);
                }
                part.tool = Some(tool);
                Some(part)
            }
            kind if kind.ends_with("tool_result") => {
                let text = self.content.map(result_text).unwrap_or_default();
                Some(Part {
                    error: is_true(self.is_error),
                    ..Part::new(index, Kind::ToolResult, text).of_call(self.tool_use_id)
                })
            }
            _ => None,
        }
    }

    fn image(&self) -> Image {
        let source: ImageSource<'_> = self
            .source
            .and_then(|source| serde_json::from_str(source.get()).ok())
            .unwrap_or_default();
        let data = source.data.filter(|data| data.get().starts_with('"'));
        Image {
            media_type: string(source.media_type).map(Cow::into_owned),
            source: string(source.url)
                .or_else(|| string(source.file_id))
                .map(Cow::into_owned),
            encoded_bytes: data.map_or(0, |data| data.get().len() as u64 - 2),
        }
    }
}

/// What a tool gave back: text as it is, other things by name.
fn result_text(content: &RawValue) -> String {
    if let Some(text) = string(Some(content)) {
        return text.into_owned();
    }
    let blocks = items(content);
    if blocks.is_empty() {
        return content.get().to_string();
    }
    let texts: Vec<String> = blocks
        .into_iter()
        .map(|raw| {
            let block: Block<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
            match &*string(block.kind).unwrap_or_default() {
                "text" => block.text.map(text_of).unwrap_or_default(),
                "image" => "[image]".to_string(),
                _ => raw.get().to_string(),
            }
        })
        .collect();
    texts.join("\n")
}

/// The text of a user record: a prompt if anything in it was typed, else what was injected.
fn text_part(texts: &[String], forced: Option<Kind>) -> Option<Part> {
    if let Some(kind) = forced {
        return Some(Part::new(TEXT_PART, kind, kept_text(texts.join("\n"))?));
    }
    let typed: Vec<String> = texts.iter().filter_map(|text| typed(text)).collect();
    // An image alone, beside injected text, is no prompt.
    if typed
        .iter()
        .any(|text| !matches!(text.as_str(), "[image]" | "[document]"))
        || typed.len() == texts.len()
    {
        return Some(Part::new(
            TEXT_PART,
            Kind::Prompt,
            kept_text(typed.join("\n"))?,
        ));
    }
    Some(Part::new(
        TEXT_PART,
        Kind::System,
        kept_text(texts.join("\n"))?,
    ))
}

/// What a person typed of this text; `None` when programs put all of it there.
pub(crate) fn typed(text: &str) -> Option<String> {
    const PUT_BEFORE: [&str; 4] = [
        "ide_opened_file",
        "ide_selection",
        "ide_diagnostics",
        "system-reminder",
    ];
    const PUT_THERE: [&str; 12] = [
        "[Request interrupted by user",
        "Caveat: The messages below were generated by the user while running local commands",
        "This session is being continued from a previous conversation",
        "<local-command-",
        "<bash-input>",
        "<bash-stdout>",
        "<bash-stderr>",
        "<task-notification>",
        "<teammate-message",
        "<user-memory-input>",
        "<tool_use_error>",
        "<user-prompt-submit-hook>",
    ];
    let text = kept(text)?;
    let text = without_leading_blocks(&text, &PUT_BEFORE);
    if text.is_empty() || PUT_THERE.iter().any(|start| text.starts_with(start)) {
        return None;
    }
    if text.starts_with("<command-message>") || text.starts_with("<command-name>") {
        // Commands that carry a prompt come with the message first; built-in ones (/clear, /exit) say nothing to the model
        // unless they have arguments.
        let name = inside(text, "command-name")?;
        let arguments = inside(text, "command-args").unwrap_or_default();
        let speaks = text.starts_with("<command-message>") || !arguments.is_empty();
        return speaks.then(|| format!("{name} {arguments}").trim_end().to_string());
    }
    Some(text.to_string())
}
