//! One line of a transcript, and the events that it holds by itself.

use std::borrow::Cow;
use std::cell::OnceCell;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{Message, Part, TEXT_PART};
use crate::shared::{is_true, kept, string};
use crate::time::milliseconds;
use backstory_event::Kind;

/// A line, with every value still raw: an odd type in one field must not cost the record.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Line<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) uuid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) parent_uuid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) session_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) cwd: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) git_branch: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) entrypoint: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) is_sidechain: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) agent_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) is_meta: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) is_compact_summary: Option<&'a RawValue>,
    #[serde(borrow)]
    is_visible_in_transcript_only: Option<&'a RawValue>,
    #[serde(borrow, rename = "sourceToolUseID")]
    source_tool_use_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) is_api_error_message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) prompt_source: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) origin: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) request_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_use_result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) attachment: Option<&'a RawValue>,
    /// In `progress`.
    #[serde(borrow)]
    pub(super) data: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) subtype: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) summary: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) leaf_uuid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) ai_title: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) custom_title: Option<&'a RawValue>,
    /// In `agent-<id>.meta.json`.
    #[serde(borrow)]
    pub(super) description: Option<&'a RawValue>,
    /// The message, once somebody asked: it is long and several ask.
    #[serde(skip)]
    read_message: OnceCell<Option<Message<'a>>>,
}

impl<'a> Line<'a> {
    pub(super) fn kind(&self) -> Cow<'_, str> {
        string(self.kind).unwrap_or_default()
    }

    pub(super) fn cwd(&self) -> Option<Cow<'_, str>> {
        string(self.cwd).filter(|cwd| !cwd.is_empty())
    }

    pub(super) fn branch(&self) -> Option<Cow<'_, str>> {
        string(self.git_branch).filter(|branch| !matches!(&**branch, "" | "HEAD"))
    }

    pub(super) fn at(&self) -> Option<i64> {
        string(self.timestamp).and_then(|time| milliseconds(&time))
    }

    pub(super) fn message(&self) -> Option<&Message<'a>> {
        let read = || serde_json::from_str(self.message?.get()).ok();
        self.read_message.get_or_init(read).as_ref()
    }

    /// The events in a line, by this line alone.
    pub(super) fn parts(&self) -> Vec<Part> {
        match &*self.kind() {
            "user" => self.user_parts(),
            "assistant" => self.assistant_parts(),
            "attachment" => self.attachment_parts(),
            "system" => self.system_parts(),
            _ => Vec::new(),
        }
    }

    fn user_parts(&self) -> Vec<Part> {
        let Some(message) = self.message() else {
            return Vec::new();
        };
        let forced = if is_true(self.is_compact_summary) {
            Some(Kind::Summary)
        } else if is_true(self.is_meta) || !self.typed_by_person() {
            Some(Kind::System)
        } else {
            None
        };
        message.user_parts(forced)
    }

    /// Whether a user record can be a person's: newer versions say where a prompt came from, and tools answer in such records, too.
    fn typed_by_person(&self) -> bool {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Origin<'a> {
            #[serde(borrow)]
            kind: Option<&'a RawValue>,
        }
        let origin = self
            .origin
            .and_then(|origin| serde_json::from_str::<Origin<'_>>(origin.get()).ok());
        let kind = origin.and_then(|origin| string(origin.kind));
        let is_of_tool = self.tool_use_result.is_some() || self.source_tool_use_id.is_some();
        !is_of_tool
            && !is_true(self.is_visible_in_transcript_only)
            && kind.is_none_or(|kind| kind == "human")
            && string(self.prompt_source).is_none_or(|source| source != "system")
    }

    fn assistant_parts(&self) -> Vec<Part> {
        let Some(message) = self.message() else {
            return Vec::new();
        };
        let mut parts = message.assistant_parts();
        if is_true(self.is_api_error_message) {
            for part in &mut parts {
                part.kind = Kind::System;
                part.error = true;
            }
        }
        parts
    }

    /// Of all attachments only a prompt typed while a tool ran is speech; it never comes again as a user record.
    fn attachment_parts(&self) -> Vec<Part> {
        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct Attachment<'a> {
            #[serde(borrow, rename = "type")]
            kind: Option<&'a RawValue>,
            #[serde(borrow)]
            prompt: Option<&'a RawValue>,
            #[serde(borrow)]
            command_mode: Option<&'a RawValue>,
        }
        let Some(attachment) = self
            .attachment
            .and_then(|raw| serde_json::from_str::<Attachment<'_>>(raw.get()).ok())
        else {
            return Vec::new();
        };
        if string(attachment.kind).as_deref() != Some("queued_command") {
            return Vec::new();
        }
        let typed = string(attachment.command_mode).is_none_or(|mode| mode == "prompt");
        let message = Message {
            content: attachment.prompt,
            ..Message::default()
        };
        message.user_parts((!typed).then_some(Kind::System))
    }

    fn system_parts(&self) -> Vec<Part> {
        let subtype = string(self.subtype).unwrap_or_default();
        let (kind, text) = match &*subtype {
            "away_summary" => (Kind::Summary, string(self.content)),
            "local_command" | "informational" | "scheduled_task_fire" => {
                (Kind::System, string(self.content))
            }
            "api_error" => (
                Kind::System,
                self.error.map(|error| Cow::Borrowed(error.get())),
            ),
            _ => return Vec::new(),
        };
        let Some(text) = text.and_then(|text| kept(&text)) else {
            return Vec::new();
        };
        vec![Part {
            error: &*subtype == "api_error",
            ..Part::new(TEXT_PART, kind, text)
        }]
    }
}
