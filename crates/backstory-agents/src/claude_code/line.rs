//! One line of a transcript, and the events that it holds by itself.

use std::borrow::Cow;
use std::cell::OnceCell;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::answers;
use super::content::{Message, Part, TEXT_PART};
use super::edits;
use super::marks;
use super::object_field::ObjectField;
use super::twin::Twin;
use crate::bounds::{MAX_CALL_ID_BYTES, MAX_NAME_BYTES, bound_name};
use crate::reader::RecordContent;
use crate::shared::{is_true, kept, string};
use crate::time::milliseconds;
use backstory_event::{Kind, TimeMs, TurnContext};

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
    pub(super) message: ObjectField<'a, Message<'a>>,
    #[serde(borrow)]
    tool_use_result: ObjectField<'a, Twin<'a>>,
    #[serde(borrow)]
    pub(super) attachment: ObjectField<'a, Attachment<'a>>,
    /// In `progress`.
    #[serde(borrow)]
    pub(super) data: ObjectField<'a, Progress<'a>>,
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
    #[serde(borrow)]
    version: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) permission_mode: Option<&'a RawValue>,
    #[serde(borrow)]
    effort: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_denial_kind: Option<&'a RawValue>,
    /// The to-do list, in prompts of versions 2.0.
    #[serde(borrow)]
    pub(super) todos: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) plan_content: Option<&'a RawValue>,
    /// In `turn_duration`.
    #[serde(borrow)]
    pub(super) duration_ms: Option<&'a RawValue>,
    /// The line as it is written.
    #[serde(skip)]
    pub(super) json: &'a str,
    /// The timestamp, once somebody asked.
    #[serde(skip)]
    parsed_time: OnceCell<Option<TimeMs>>,
}

/// What a `progress` record carries of a subagent.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Progress<'a> {
    #[serde(borrow)]
    pub(super) agent_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
}

/// What an `attachment` record carries, as far as it is needed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Attachment<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
    #[serde(borrow)]
    command_mode: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow, rename = "toolUseID")]
    pub(super) tool_use_id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) allowed_tools: Option<&'a RawValue>,
}

impl Attachment<'_> {
    pub(super) fn kind(&self) -> Cow<'_, str> {
        string(self.kind).unwrap_or_default()
    }
}

impl<'a> Line<'a> {
    /// Parses a record; `None` when it is none, though it is JSON.
    pub(super) fn parse(json: &'a str) -> serde_json::Result<Option<Self>> {
        let mut line: Line<'_> = serde_json::from_str(json)?;
        // Serde takes an array for the fields in their order.
        if json.starts_with('[') {
            return Ok(None);
        }
        if let ObjectField::List(blocks) = &line.tool_use_result {
            line.tool_use_result = ObjectField::Object(Twin::of_list(blocks));
        }
        line.json = json;
        Ok(Some(line))
    }

    pub(super) fn kind(&self) -> Cow<'_, str> {
        string(self.kind).unwrap_or_default()
    }

    pub(super) fn cwd(&self) -> Option<Cow<'_, str>> {
        string(self.cwd).filter(|cwd| !cwd.is_empty())
    }

    pub(super) fn branch(&self) -> Option<Cow<'_, str>> {
        string(self.git_branch).filter(|branch| !matches!(&**branch, "" | "HEAD"))
    }

    pub(super) fn at(&self) -> Option<TimeMs> {
        let parse = || string(self.timestamp).and_then(|time| milliseconds(&time));
        *self.parsed_time.get_or_init(parse)
    }

    pub(super) fn version(&self) -> Option<Cow<'_, str>> {
        string(self.version).filter(|version| !version.is_empty())
    }

    pub(super) fn mode(&self) -> Option<Cow<'_, str>> {
        string(self.permission_mode).filter(|mode| !mode.is_empty())
    }

    /// Type and content of a record that has events.
    pub(super) fn record_content(&self) -> Option<RecordContent> {
        let kind = self.kind();
        let content = match &*kind {
            "user" | "assistant" => self.message.object()?.content,
            "attachment" => self.attachment.object()?.prompt,
            _ => self.content.or(self.error),
        };
        Some(RecordContent {
            kind: bound_name(&kind, MAX_NAME_BYTES).into_owned(),
            json: content?.get().to_string(),
        })
    }

    /// The structured twin of the tool results.
    pub(super) fn twin(&self) -> Option<&Twin<'a>> {
        self.tool_use_result.object()
    }

    /// The events in a line, by this line alone.
    pub(super) fn parts(&self) -> Vec<Part> {
        let mut parts = match &*self.kind() {
            "user" => self.user_parts(),
            "assistant" => self.assistant_parts(),
            "attachment" => self.attachment_parts(),
            "system" => self.system_parts(),
            _ => Vec::new(),
        };
        if !parts.is_empty() {
            self.complete_parts(&mut parts);
        }
        parts
    }

    /// Adds what the record says of all its events.
    fn complete_parts(&self, parts: &mut [Part]) {
        // Bounded before they are repeated: a record may have thousands of events.
        let bounded = |raw, max_bytes| {
            string(raw).map(|name: Cow<'_, str>| bound_name(&name, max_bytes).into_owned())
        };
        let uuid = bounded(self.uuid, MAX_CALL_ID_BYTES).filter(|uuid| !uuid.is_empty());
        let parent_uuid = bounded(self.parent_uuid, MAX_CALL_ID_BYTES);
        let effort = bounded(self.effort, MAX_NAME_BYTES);
        let denial = bounded(self.tool_denial_kind, MAX_NAME_BYTES);
        for part in parts {
            let body = &mut part.body;
            body.identity.uuid.clone_from(&uuid);
            body.identity.parent_uuid.clone_from(&parent_uuid);
            body.effort.clone_from(&effort);
            match part.kind {
                Kind::Prompt => body.context = self.turn_context().map(Box::new),
                Kind::System => body.marks.interrupted = marks::is_interruption(&body.text),
                Kind::Summary => body.marks.compacted = is_true(self.is_compact_summary),
                Kind::ToolResult => {
                    body.in_background = marks::is_background(&body.text);
                    body.marks.interrupted = marks::is_interruption(&body.text);
                    body.marks.denied =
                        part.error && marks::is_denial(&body.text, denial.as_deref());
                    if body.marks.denied {
                        let version = self.version();
                        let reason =
                            answers::rejection(&body.text, denial.as_deref(), version.as_deref());
                        body.user_answers.extend(reason);
                    }
                    if body.status.is_none() {
                        body.status.clone_from(&denial);
                    }
                }
                _ => {}
            }
        }
    }

    /// The settings that the record names.
    fn turn_context(&self) -> Option<TurnContext> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Thinking<'a> {
            #[serde(borrow)]
            level: Option<&'a RawValue>,
        }
        let thinking: Thinking<'_> = self
            .thinking_metadata
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        let effort = string(self.effort).or_else(|| string(thinking.level));
        let context = TurnContext {
            cwd: self.cwd().map(Cow::into_owned),
            // `HEAD` when none is checked out.
            branch: string(self.git_branch)
                .filter(|branch| !branch.is_empty())
                .map(Cow::into_owned),
            effort: effort.map(Cow::into_owned),
            permission_mode: self.mode().map(Cow::into_owned),
            agent_version: self.version().map(Cow::into_owned),
            ..TurnContext::default()
        };
        (context != TurnContext::default()).then_some(context)
    }

    fn user_parts(&self) -> Vec<Part> {
        let Some(message) = self.message.object() else {
            return Vec::new();
        };
        let forced = if is_true(self.is_compact_summary) {
            Some(Kind::Summary)
        } else if is_true(self.is_meta) || !self.typed_by_person() {
            Some(Kind::System)
        } else {
            None
        };
        let mut parts = message.user_parts(forced);
        let mut results = parts
            .iter_mut()
            .filter(|part| part.kind == Kind::ToolResult);
        // The twin is of the record: with several results in it nobody knows whose.
        if let (Some(result), None, Some(twin)) = (results.next(), results.next(), self.twin()) {
            result.body.status = string(twin.status).map(Cow::into_owned);
            result.body.edits.extend(edits::made_edit(twin));
            result.body.user_answers = answers::question_answers(twin);
        }
        parts
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
        let is_of_tool = !self.tool_use_result.is_missing() || self.source_tool_use_id.is_some();
        !is_of_tool
            && !is_true(self.is_visible_in_transcript_only)
            && kind.is_none_or(|kind| kind == "human")
            && string(self.prompt_source).is_none_or(|source| source != "system")
    }

    fn assistant_parts(&self) -> Vec<Part> {
        let Some(message) = self.message.object() else {
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
        let attachment = self.attachment.object();
        let queued = attachment.filter(|attachment| attachment.kind() == "queued_command");
        let Some(attachment) = queued else {
            return Vec::new();
        };
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
