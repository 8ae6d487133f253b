//! One message of `chat_history.jsonl`, in the format of today or the one before.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::body::{is_background, result_marks};
use super::content::{Content, content_text};
use super::edits::asked_edits;
use super::fields::Fields;
use super::note::unless_repeated;
use super::{stream, tools};
use crate::shared::{items, kept, string, success_of_status};
use backstory_event::{EventBody, Kind};

/// The part that a message's own text is; its tool calls are those after it.
pub(super) const TEXT_PART: u16 = 0;
/// The part that the old format's reasoning is, which stands in the record of the reply.
const REASONING_PART: u16 = u16::MAX;

/// Grok tells the model of a failed tool in these words, and the cache keeps nothing else of the failure.
pub(super) fn says_failure(text: &str) -> bool {
    text.strip_prefix("Tool `").is_some_and(|rest| {
        rest.lines()
            .next()
            .is_some_and(|line| line.contains("` failed"))
    })
}

/// One message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    synthetic_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    summary: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_call_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) model_id: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_effort: Option<&'a RawValue>,
    #[serde(borrow)]
    prior_turn_interrupt: Option<&'a RawValue>,
    /// In `backend_tool_call`.
    #[serde(borrow, rename = "kind")]
    backend: Option<&'a RawValue>,
}

/// What becomes one event.
pub(super) struct Part {
    pub(super) part: u16,
    pub(super) kind: Kind,
    pub(super) body: EventBody,
    /// For tool calls, what they ask.
    pub(super) call: tools::Call,
}

impl Part {
    fn said(part: u16, kind: Kind, text: &str) -> Option<Self> {
        Some(Part {
            part,
            kind,
            body: EventBody::from_text(kept(text)?),
            call: tools::Call::default(),
        })
    }

    /// A call; its input is JSON.
    fn called(part: u16, id: Option<Cow<'_, str>>, mut call: tools::Call, input: &str) -> Self {
        let text = std::mem::take(&mut call.text);
        let body = EventBody {
            arguments: tools::arguments(input, &text),
            command: call.command.take(),
            text,
            ..EventBody::default()
        };
        let part = Part {
            part,
            kind: Kind::ToolCall,
            body,
            call,
        };
        part.with_call_id(id)
    }

    fn with_call_id(mut self, id: Option<Cow<'_, str>>) -> Self {
        let id = id.filter(|id| !id.is_empty()).map(Cow::into_owned);
        self.body.identity.tool_use_id = id;
        self
    }
}

impl<'a> Message<'a> {
    /// Reads a message; `None` when the record is something else. Fails when a field is named twice.
    pub(super) fn read(json: &'a str) -> serde_json::Result<Option<Self>> {
        unless_repeated(json)
    }

    /// Returns the events of the message.
    pub(super) fn parts(&self) -> Vec<Part> {
        let kind = string(self.kind)
            .or_else(|| string(self.role))
            .unwrap_or_default();
        let mut parts: Vec<Part> = match kind.as_ref() {
            "system" | "developer" => {
                let said = Part::said(TEXT_PART, Kind::System, &content_text(self.content));
                said.into_iter().collect()
            }
            "user" => self.prompt().into_iter().collect(),
            "reasoning" => {
                let summary: Vec<String> = self
                    .summary
                    .map(items)
                    .unwrap_or_default()
                    .into_iter()
                    .map(|item| content_text(Some(item)))
                    .collect();
                let text = if summary.is_empty() {
                    content_text(self.content)
                } else {
                    summary.join("\n\n")
                };
                let said = Part::said(TEXT_PART, Kind::Reasoning, &text);
                said.into_iter().collect()
            }
            "assistant" => self.reply(),
            "tool_result" | "tool" => vec![self.result()],
            "backend_tool_call" => self.backend_call().into_iter().collect(),
            _ => Vec::new(),
        };
        let named = |raw| string(raw).filter(|name| !name.is_empty());
        for part in &mut parts {
            part.body.identity.uuid = named(self.id).map(Cow::into_owned);
            if part.kind.is_from_model() {
                part.body.effort = named(self.reasoning_effort).map(Cow::into_owned);
            }
        }
        parts
    }

    fn prompt(&self) -> Option<Part> {
        let content = Content::read(self.content);
        // What is said while the model works is marked as synthetic too.
        let is_synthetic =
            string(self.synthetic_reason).is_some_and(|reason| reason != "interjection");
        let (text, injected) = if is_synthetic {
            (content.text, true)
        } else {
            stream::whole_prompt(&content.text)
        };
        let kind = if injected { Kind::System } else { Kind::Prompt };
        let mut part = Part::said(TEXT_PART, kind, &text)?;
        part.body.images = content.images;
        // Of a call that was not allowed, its result says so.
        let interrupt = string(self.prior_turn_interrupt);
        part.body.marks.interrupted = interrupt.is_some_and(|how| how != "permission_rejected");
        Some(part)
    }

    fn reply(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        parts.extend(Part::said(
            REASONING_PART,
            Kind::Reasoning,
            &content_text(self.reasoning_content),
        ));
        parts.extend(Part::said(
            TEXT_PART,
            Kind::Reply,
            &content_text(self.content),
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
            let fields = Fields::read(&input);
            let asked = tools::read_call(&tool, "", &input, &fields, &[]);
            let mut called = Part::called(part, call.text(&["id"]), asked, &input);
            called.body.edits = asked_edits(&tool, &fields);
            parts.push(called);
        }
        parts
    }

    fn result(&self) -> Part {
        let text = kept(&content_text(self.content)).unwrap_or_default();
        let marks = result_marks(&text, says_failure(&text));
        let part = Part {
            part: TEXT_PART,
            kind: Kind::ToolResult,
            body: EventBody {
                in_background: is_background(&text),
                text,
                marks,
                ..EventBody::default()
            },
            call: tools::Call::default(),
        };
        part.with_call_id(string(self.tool_call_id))
    }

    /// A tool that ran on the server.
    fn backend_call(&self) -> Option<Part> {
        let fields = Fields::of(self.backend);
        let tool = fields
            .text(&["tool_type"])
            .unwrap_or(Cow::Borrowed("backend_tool"));
        let input = self.backend?.get();
        let call = tools::read_call(&tool, "search", input, &fields, &[]);
        let mut called = Part::called(TEXT_PART, fields.text(&["id"]), call, input);
        called.body.status = fields.owned(&["status"]);
        called.body.has_succeeded = success_of_status(called.body.status.as_deref());
        Some(called)
    }
}
