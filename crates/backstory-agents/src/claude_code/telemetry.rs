//! Telemetry of Claude Code: how it worked, beside what was said.
//!
//! Logs repeat much of it: some at every start, the rest whenever the model is reminded of it. Such records count when they say
//! something new. Those that only log what was shown, loaded or run as always (`progress`, `hook_success`, `skill_listing`, …) do
//! not count.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::content::Message;
use super::line::Line;
use super::transcript::Transcript;
use crate::bounds::{MAX_CALL_ID_BYTES, MAX_NAME_BYTES, bound_context, bound_name};
use crate::json;
use crate::record::Record;
use crate::shared::{is_true, string};
use backstory_event::{
    EventKey, Kind, Output, Span, Telemetry, TelemetryItem, TelemetryRecord, TurnContext,
};

/// Fields that most records have, and that say nothing of what one is about.
const ENVELOPE_FIELDS: [&str; 18] = [
    "agentId",
    "cwd",
    "entrypoint",
    "gitBranch",
    "isMeta",
    "isSidechain",
    "message",
    "parentUuid",
    "promptId",
    "sessionId",
    "sessionKind",
    "session_id",
    "slug",
    "subtype",
    "timestamp",
    "type",
    "userType",
    "version",
];

/// Types of records that say how something stands, again and again.
const STATE_RECORDS: [&str; 7] = [
    "agent-name",
    "agent-setting",
    "cost-state",
    "mode",
    "pr-link",
    "tag",
    "worktree-state",
];

/// Types of attachments that say how something stands, again and again.
const STATE_ATTACHMENTS: [&str; 4] = ["auto_mode", "budget_usd", "goal_status", "plan_mode"];

/// Types of attachments that say that something happened.
const NOTICE_ATTACHMENTS: [&str; 11] = [
    "auto_mode_exit",
    "hook_blocking_error",
    "hook_cancelled",
    "hook_error_during_execution",
    "hook_non_blocking_error",
    "hook_stopped_continuation",
    "max_turns_reached",
    "plan_mode_exit",
    "plan_mode_reentry",
    "ultra_effort_enter",
    "ultra_effort_exit",
];

/// One thing that a line says.
struct Notice {
    item: TelemetryItem,
    /// What it is about, where logs repeat it: it counts when it differs from the one before.
    topic: Option<&'static str>,
    /// Whether an event of the line says it already.
    in_event: bool,
}

impl Notice {
    fn new(item: TelemetryItem) -> Self {
        Notice {
            item,
            topic: None,
            in_event: false,
        }
    }

    fn repeated(topic: &'static str, item: TelemetryItem) -> Self {
        Notice {
            topic: Some(topic),
            ..Notice::new(item)
        }
    }
}

impl Transcript {
    /// Puts a record of telemetry out when a line says something new.
    pub(super) fn telemetry(
        &mut self,
        line: &Line<'_>,
        session: &Arc<str>,
        has_prompt: bool,
        record: Record<'_>,
        out: &mut Output,
    ) {
        let mut is_new = false;
        for notice in line.notices(has_prompt) {
            is_new |= self.is_new(&notice, session) && !notice.in_event;
        }
        if is_new {
            out.telemetry.push(TelemetryRecord {
                session: session.clone(),
                after: self.state.last_event(session),
                at: line.at(),
                span: Span {
                    offset: record.offset,
                    length: record.length,
                    part: 0,
                },
            });
        }
    }

    fn is_new(&mut self, notice: &Notice, session: &str) -> bool {
        let Some(topic) = notice.topic else {
            return true;
        };
        let content = serde_json::to_vec(&notice.item).unwrap_or_default();
        let hash = EventKey::of(&[session.as_bytes(), &content]).0;
        self.state.telemetry.insert(topic.to_string(), hash) != Some(hash)
    }
}

impl Line<'_> {
    /// The telemetry of a line, by this line alone.
    pub(super) fn telemetry(&self) -> Vec<Telemetry> {
        let at = self.at();
        let has_prompt = self.parts().iter().any(|part| part.kind == Kind::Prompt);
        let notices = self.notices(has_prompt).into_iter();
        notices
            .filter(|notice| !notice.in_event)
            .map(|Notice { item, .. }| Telemetry { at, item })
            .collect()
    }

    fn notices(&self, has_prompt: bool) -> Vec<Notice> {
        match &*self.kind() {
            "system" => self.system_notice().into_iter().collect(),
            "user" => self.user_notices(has_prompt),
            "attachment" => self.attachment_notice().into_iter().collect(),
            "assistant" if is_true(self.is_api_error_message) && self.error.is_some() => {
                vec![Notice::new(self.other_item("api_error"))]
            }
            "permission-mode" => self.mode_notice().into_iter().collect(),
            kind => {
                let known = STATE_RECORDS.into_iter().find(|known| *known == kind);
                let notice = |name| Notice::repeated(name, self.other_item(name));
                known.map(notice).into_iter().collect()
            }
        }
    }

    fn system_notice(&self) -> Option<Notice> {
        let subtype = string(self.subtype)?;
        Some(Notice::new(match &*subtype {
            // Events that say no more than their text.
            "away_summary" | "informational" | "local_command" | "scheduled_task_fire" => {
                return None;
            }
            "turn_duration" => TelemetryItem::TurnEnd {
                duration_ms: self.duration_ms.and_then(|raw| raw.get().parse().ok()),
                first_answer_ms: None,
            },
            "compact_boundary" | "microcompact_boundary" => TelemetryItem::Compaction {
                value: Value::Object(self.own_fields()),
            },
            other => self.other_item(other),
        }))
    }

    fn user_notices(&self, has_prompt: bool) -> Vec<Notice> {
        let new_todos = self.twin().and_then(|twin| twin.new_todos);
        let plans = [self.todos, self.plan_content, new_todos];
        let mut notices: Vec<Notice> = plans
            .into_iter()
            .flatten()
            .filter_map(plan_notice)
            .collect();
        notices.extend(self.mode_notice().map(|notice| Notice {
            in_event: has_prompt,
            ..notice
        }));
        if self.tool_denial_kind.is_some() {
            let mut value = self.own_fields();
            value.retain(|name, _| matches!(&**name, "toolDenialKind" | "userFeedback"));
            let call = self.message.object().and_then(Message::result_id);
            notices.push(Notice::new(TelemetryItem::Approval {
                tool_use_id: call.map(|call| bound_name(&call, MAX_CALL_ID_BYTES).into_owned()),
                value: Value::Object(value),
            }));
        }
        notices
    }

    fn attachment_notice(&self) -> Option<Notice> {
        let attachment = self.attachment.object()?;
        let fields = || {
            let mut fields = self.own_fields().remove("attachment")?;
            fields.as_object_mut()?.remove("type");
            Some(fields)
        };
        let kind = attachment.kind();
        match &*kind {
            "task_reminder" | "todo_reminder" => attachment.content.and_then(plan_notice),
            "hook_permission_decision" => {
                let call = string(attachment.tool_use_id);
                Some(Notice::new(TelemetryItem::Approval {
                    tool_use_id: call.map(|call| bound_name(&call, MAX_CALL_ID_BYTES).into_owned()),
                    value: fields()?,
                }))
            }
            "command_permissions" if attachment.allowed_tools.is_some_and(is_filled) => {
                let item = TelemetryItem::Approval {
                    tool_use_id: None,
                    value: fields()?,
                };
                Some(Notice::repeated("command_permissions", item))
            }
            kind => {
                let find =
                    |known: &[&'static str]| known.iter().copied().find(|known| *known == kind);
                let state = find(&STATE_ATTACHMENTS);
                let name = state.or_else(|| find(&NOTICE_ATTACHMENTS))?;
                let item = TelemetryItem::Other {
                    name: name.to_string(),
                    value: fields()?,
                };
                Some(Notice {
                    topic: state,
                    ..Notice::new(item)
                })
            }
        }
    }

    fn mode_notice(&self) -> Option<Notice> {
        let mut context = TurnContext {
            permission_mode: Some(self.mode()?.into_owned()),
            ..TurnContext::default()
        };
        bound_context(&mut context);
        let item = TelemetryItem::Context(context);
        Some(Notice::repeated("permission-mode", item))
    }

    fn other_item(&self, name: &str) -> TelemetryItem {
        TelemetryItem::Other {
            name: bound_name(name, MAX_NAME_BYTES).into_owned(),
            value: Value::Object(self.own_fields()),
        }
    }

    /// The fields of the record that are of its kind.
    fn own_fields(&self) -> Map<String, Value> {
        let mut fields: Map<String, Value> = json::read(self.json).unwrap_or_default();
        fields.retain(|name, _| !ENVELOPE_FIELDS.contains(&&**name));
        fields
    }
}

/// A new state of the plan, unless it is empty.
fn plan_notice(plan: &RawValue) -> Option<Notice> {
    let value = is_filled(plan).then(|| json::read(plan.get()).ok())??;
    let item = TelemetryItem::PlanUpdate { value };
    Some(Notice::repeated("plan", item))
}

/// Returns whether a value is a list with items or a text.
fn is_filled(raw: &RawValue) -> bool {
    let raw = raw.get();
    raw.starts_with(['[', '"']) && !matches!(raw, "[]" | "\"\"")
}
