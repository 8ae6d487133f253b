//! `chat_history.jsonl`: the model's messages, in the format of today and the one before. There are no times in it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::fields::Fields;
use super::open_text::place_fragments;
use super::{Line, Session, span_of, stream, tools};
use crate::record::Record;
use crate::shared::{items, kept, string};
use backstory_event::{Event, EventKey, Kind, Output};

/// The part that a message's own text is; its tool calls are those after it.
const TEXT_PART: u16 = 0;
/// The part that the old format's reasoning is, which stands in the record of the reply.
const REASONING_PART: u16 = u16::MAX;
/// The channel of texts that one message has in several blocks; those of speakers come before it.
const BLOCKS_CHANNEL: u8 = 8;

/// Whether the first line of a file is like one of a cache of messages and of no other agent's log. `old` also takes the old format, which is
/// everyone's, so the name must vouch for it.
pub(super) fn begins(first: &str, old: bool) -> bool {
    const TYPES: [&str; 6] = [
        "system",
        "user",
        "reasoning",
        "assistant",
        "tool_result",
        "backend_tool_call",
    ];
    const ROLES: [&str; 4] = ["system", "user", "assistant", "tool"];
    // What a message quotes has its quotation marks escaped, so this finds keys only.
    const OTHERS: [&str; 4] = ["\"uuid\":", "\"sessionId\":", "\"payload\":", "\"parts\":"];
    if OTHERS.iter().any(|mark| first.contains(mark)) {
        return false;
    }
    match Line::read(first) {
        Ok(line) => match (string(line.kind), string(line.role)) {
            (Some(kind), None) => TYPES.contains(&kind.as_ref()),
            (None, Some(role)) => old && ROLES.contains(&role.as_ref()),
            _ => false,
        },
        // The system prompt may be longer than what is looked at. Grok writes the kind first and no spaces.
        Err(_) => {
            TYPES
                .iter()
                .any(|kind| first.starts_with(&format!("{{\"type\":\"{kind}\"")))
                || old
                    && ROLES
                        .iter()
                        .any(|role| first.starts_with(&format!("{{\"role\":\"{role}\"")))
        }
    }
}

/// Texts of the parts of a message.
pub(super) fn texts(json: &str) -> Vec<(u16, String)> {
    let found = Message::read(json)
        .map(|message| message.parts())
        .unwrap_or_default();
    let parts = found.into_iter();
    parts.map(|part| (part.part, part.call.text)).collect()
}

impl Session {
    pub(super) fn message(&mut self, record: Record<'_>, out: &mut Output) {
        let Some(message) = Message::read(record.json) else {
            return;
        };
        let parts = message.parts();
        if parts.is_empty() {
            return;
        }
        self.place_blocks(&message, record, out);
        let session = self.session(None);
        let model = string(message.model_id).filter(|model| !model.is_empty());
        let model = model.map(|model| self.models.share(&model));
        let place = self.place_key(&session, record.json);
        for part in parts {
            let named = part.id.as_deref().filter(|id| !id.is_empty());
            let key = match (part.kind, named) {
                (Kind::ToolCall, Some(id)) => {
                    EventKey::of(&[b"grok", session.as_bytes(), b"call", id.as_bytes()])
                }
                (Kind::ToolResult, Some(id)) => {
                    EventKey::of(&[b"grok", session.as_bytes(), b"result", id.as_bytes()])
                }
                _ if part.part == TEXT_PART => place,
                _ => EventKey::of(&[&place.0.to_le_bytes(), &part.part.to_le_bytes()]),
            };
            if named.is_some() && !self.first_time(key) {
                continue;
            }
            let mut event = Event::new(&session, key, part.kind, None, span_of(record, part.part));
            match part.kind {
                Kind::ToolCall => {
                    if let Some(id) = named {
                        self.state.calls.open(id, &part.call.tool, None);
                    }
                    event.tool = Some(part.call.tool);
                }
                Kind::ToolResult => {
                    event.tool = named
                        .and_then(|id| self.state.calls.close(id))
                        .map(|call| call.tool);
                    event.error = says_failure(&part.call.text);
                }
                _ => {}
            }
            event.body.identity.tool_use_id = named.map(str::to_string);
            event.model = model.clone().filter(|_| part.kind.role() == "assistant");
            event.body.text = part.call.text;
            event.command = part.call.command;
            event.touches = part.call.touches;
            self.put(event, out);
        }
    }
}

impl Session {
    /// Puts out where the blocks of a message lie that are read as one text.
    fn place_blocks(&self, message: &Message<'_>, record: Record<'_>, out: &mut Output) {
        for content in [message.content, message.reasoning_content] {
            let mut strings = Vec::new();
            if content.is_some_and(|content| content.get().starts_with('[')) {
                stream::content_and_strings(content, &mut strings);
            }
            if strings.len() > 1 {
                place_fragments(BLOCKS_CHANNEL, true, &strings, record, out);
            }
        }
    }
}

/// Grok tells the model of a failed tool in these words, and the cache keeps nothing else of the failure.
fn says_failure(text: &str) -> bool {
    text.strip_prefix("Tool `").is_some_and(|rest| {
        rest.lines()
            .next()
            .is_some_and(|line| line.contains("` failed"))
    })
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    synthetic_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    summary: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_call_id: Option<&'a RawValue>,
    #[serde(borrow)]
    model_id: Option<&'a RawValue>,
    /// In `backend_tool_call`.
    #[serde(borrow, rename = "kind")]
    backend: Option<&'a RawValue>,
}

/// What becomes one event.
struct Part<'a> {
    part: u16,
    kind: Kind,
    /// The id of the tool call.
    id: Option<Cow<'a, str>>,
    /// Its text, and for tool calls what they ask.
    call: tools::Call,
}

impl<'a> Part<'a> {
    fn said(part: u16, kind: Kind, text: &str) -> Option<Self> {
        Some(Part {
            part,
            kind,
            id: None,
            call: tools::Call {
                text: kept(text)?,
                ..tools::Call::default()
            },
        })
    }
}

impl<'a> Message<'a> {
    fn read(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    fn parts(&self) -> Vec<Part<'a>> {
        let kind = string(self.kind)
            .or_else(|| string(self.role))
            .unwrap_or_default();
        match kind.as_ref() {
            "system" | "developer" => {
                Part::said(TEXT_PART, Kind::System, &stream::content(self.content))
                    .into_iter()
                    .collect()
            }
            "user" => self.prompt().into_iter().collect(),
            "reasoning" => {
                let summary: Vec<String> = self
                    .summary
                    .map(items)
                    .unwrap_or_default()
                    .into_iter()
                    .map(|item| stream::content(Some(item)))
                    .collect();
                let text = if summary.is_empty() {
                    stream::content(self.content)
                } else {
                    summary.join("\n\n")
                };
                Part::said(TEXT_PART, Kind::Reasoning, &text)
                    .into_iter()
                    .collect()
            }
            "assistant" => self.reply(),
            "tool_result" | "tool" => {
                let text = kept(&stream::content(self.content)).unwrap_or_default();
                let call = tools::Call {
                    text,
                    ..tools::Call::default()
                };
                vec![Part {
                    part: TEXT_PART,
                    kind: Kind::ToolResult,
                    id: string(self.tool_call_id),
                    call,
                }]
            }
            "backend_tool_call" => self.backend_call().into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn prompt(&self) -> Option<Part<'a>> {
        let text = stream::content(self.content);
        // What is said while the model works is marked as synthetic too.
        if string(self.synthetic_reason).is_some_and(|reason| reason != "interjection") {
            return Part::said(TEXT_PART, Kind::System, &text);
        }
        let (text, injected) = stream::whole_prompt(&text);
        Part::said(
            TEXT_PART,
            if injected { Kind::System } else { Kind::Prompt },
            &text,
        )
    }

    fn reply(&self) -> Vec<Part<'a>> {
        let mut parts = Vec::new();
        parts.extend(Part::said(
            REASONING_PART,
            Kind::Reasoning,
            &stream::content(self.reasoning_content),
        ));
        parts.extend(Part::said(
            TEXT_PART,
            Kind::Reply,
            &stream::content(self.content),
        ));
        let calls = self.tool_calls.map(items).unwrap_or_default();
        for (call, part) in calls.into_iter().zip(1..REASONING_PART) {
            let call = Fields::read(call.get());
            // The old format has name and arguments one level deeper.
            let function = Fields::of(call.get(&["function"]));
            let tool = call
                .text(&["name"])
                .or_else(|| function.text(&["name"]))
                .unwrap_or(Cow::Borrowed("tool"));
            let arguments = call
                .get(&["arguments"])
                .or_else(|| function.get(&["arguments"]));
            let input = match string(arguments) {
                Some(text) => text,
                None => Cow::Borrowed(arguments.map(RawValue::get).unwrap_or_default()),
            };
            let asked = tools::call(&tool, "", &input, &[]);
            parts.push(Part {
                part,
                kind: Kind::ToolCall,
                id: call.text(&["id"]),
                call: asked,
            });
        }
        parts
    }

    /// A tool that ran on the server.
    fn backend_call(&self) -> Option<Part<'a>> {
        let fields = Fields::of(self.backend);
        let tool = fields
            .text(&["tool_type"])
            .unwrap_or(Cow::Borrowed("backend_tool"));
        let call = tools::call(&tool, "search", self.backend?.get(), &[]);
        Some(Part {
            part: TEXT_PART,
            kind: Kind::ToolCall,
            id: fields.text(&["id"]),
            call,
        })
    }
}
