//! Telemetry: records that say how Codex worked rather than what was said.
//!
//! [`topic`] is cheap and decides while a log is read; [`items`] reads what such a record says when it is asked for.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::line::RolloutLine;
use super::settings::{read_session_settings, read_settings};
use super::turn_item;
use crate::bounds::{MAX_CALL_ID_BYTES, MAX_NAME_BYTES, bound_context, bound_name};
use crate::json;
use crate::object::Object;
use backstory_event::{Telemetry, TelemetryItem, TurnContext};

/// What a telemetry record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    /// The session's own record.
    SessionSettings,
    TurnSettings,
    ThreadSettings,
    TokenCount,
    TurnStart,
    TurnEnd,
    PlanUpdate,
    /// A call of the tool that keeps the plan.
    PlanCall,
    Approval,
    Compaction,
    /// Tells of a compaction that has a record of its own in most logs.
    CompactionNotice,
    ToolTiming,
    /// The same for tools whose result mostly says it too.
    RepeatedTiming,
    Other,
}

/// Events that are not telemetry: those that are read as text, beginnings of what has an end, and what only screens need.
const NO_TELEMETRY: &[&str] = &[
    "agent_message",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "agent_reasoning_section_break",
    "background_event",
    "dynamic_tool_call_request",
    "hook_started",
    "image_generation_end",
    "item_started",
    "mcp_startup_update",
    "patch_apply_updated",
    "raw_response_completed",
    "raw_response_item",
    "session_configured",
    "shutdown_complete",
    "terminal_interaction",
    "thread_name_updated",
    "thread_queue_changed",
    "thread_rolled_back",
    "turn_diff",
    "user_message",
    "view_image_tool_call",
    "web_search_end",
];

/// Requests for approval whose names do not end like those of others.
const APPROVALS: &[&str] = &[
    "elicitation_request",
    "guardian_assessment",
    "request_permissions",
    "request_user_input",
];

/// Fields of a compaction or of the end of a turn that repeat the conversation.
const REPEATED_HISTORY: &[&str] = &[
    "last_agent_message",
    "message",
    "replacement_history",
    "replacement_history_metadata",
];

/// Returns what a record is about if it holds telemetry.
pub(super) fn topic(line: &RolloutLine<'_>) -> Option<Topic> {
    let payload = line.payload.as_ref()?;
    match line.kinds() {
        (Some("session_meta"), _) => Some(Topic::SessionSettings),
        (Some("turn_context"), _) => Some(Topic::TurnSettings),
        (Some("compacted"), _) => Some(Topic::Compaction),
        (Some("security_risk_score"), _) => Some(Topic::Other),
        (Some("event_msg"), Some(kind)) => event_topic(kind, payload),
        (Some("response_item"), Some("function_call")) => {
            let is_plan = payload.word("name").as_deref() == Some("update_plan");
            is_plan.then_some(Topic::PlanCall)
        }
        _ => None,
    }
}

fn event_topic(kind: &str, event: &Object<'_>) -> Option<Topic> {
    let if_has = |field: &str, topic| event.get(field).is_some().then_some(topic);
    match kind {
        "token_count" => {
            if_has("info", Topic::TokenCount).or_else(|| if_has("rate_limits", Topic::TokenCount))
        }
        "thread_settings_applied" => if_has("thread_settings", Topic::ThreadSettings),
        "task_started" | "turn_started" => Some(Topic::TurnStart),
        "task_complete" | "turn_complete" | "turn_aborted" => Some(Topic::TurnEnd),
        "plan_update" => Some(Topic::PlanUpdate),
        "context_compacted" => Some(Topic::CompactionNotice),
        "mcp_tool_call_end" | "dynamic_tool_call_response" => Some(Topic::ToolTiming),
        "exec_command_end" | "patch_apply_end" => Some(Topic::RepeatedTiming),
        "error" => if_has("codex_error_info", Topic::Other),
        "item_completed" => match turn_item::type_name(&event.object("item")?).as_str() {
            "contextcompaction" => Some(Topic::CompactionNotice),
            "subagentactivity" | "enteredreviewmode" | "exitedreviewmode" => Some(Topic::Other),
            _ => None,
        },
        _ if kind.ends_with("_approval_request") || APPROVALS.contains(&kind) => {
            Some(Topic::Approval)
        }
        _ if kind.ends_with("_delta")
            || kind.ends_with("_begin")
            || kind.starts_with("realtime_conversation_")
            || NO_TELEMETRY.contains(&kind) =>
        {
            None
        }
        _ => Some(Topic::Other),
    }
}

/// Returns the id of the call that an event tells of.
pub(super) fn call_id(event: &Object<'_>) -> Option<String> {
    let id = event.name("call_id").or_else(|| event.name("callId"));
    id.or_else(|| event.name("id"))
}

fn bounded_call_id(event: &Object<'_>) -> Option<String> {
    let id = call_id(event)?;
    Some(bound_name(&id, MAX_CALL_ID_BYTES).into_owned())
}

/// Reads what a record says.
pub(super) fn items(line: &RolloutLine<'_>) -> Vec<Telemetry> {
    let (Some(topic), Some(payload)) = (topic(line), &line.payload) else {
        return Vec::new();
    };
    let whole = || line.fields.get("payload").map_or(Value::Null, read_value);
    let name = || {
        let kind = line.payload_kind.as_ref().or(line.kind.as_ref());
        bound_name(kind.map_or("", |kind| kind), MAX_NAME_BYTES).into_owned()
    };
    let items = match topic {
        Topic::SessionSettings => vec![context_item(read_session_settings(payload))],
        Topic::TurnSettings => vec![context_item(read_settings(payload))],
        Topic::ThreadSettings => {
            let context = payload.object("thread_settings");
            let value = payload.get("thread_settings").map(read_value);
            let other = value.map(|value| TelemetryItem::Other {
                name: name(),
                value,
            });
            let context = context.map(|settings| context_item(read_settings(&settings)));
            context.into_iter().chain(other).collect()
        }
        Topic::TokenCount => token_items(payload),
        Topic::TurnStart => vec![TelemetryItem::TurnStart { value: whole() }],
        Topic::TurnEnd => vec![
            TelemetryItem::TurnEnd {
                duration_ms: payload.integer("duration_ms"),
                first_answer_ms: payload.integer("time_to_first_token_ms"),
            },
            TelemetryItem::Other {
                name: name(),
                value: without_history(payload),
            },
        ],
        Topic::PlanUpdate => vec![TelemetryItem::PlanUpdate { value: whole() }],
        Topic::PlanCall => {
            let arguments = payload.get("arguments").map(json::text_of);
            let value = json::read(arguments.as_deref().unwrap_or_default());
            vec![TelemetryItem::PlanUpdate {
                value: value.unwrap_or_else(|_| arguments.into()),
            }]
        }
        Topic::Approval => vec![TelemetryItem::Approval {
            tool_use_id: bounded_call_id(payload),
            value: whole(),
        }],
        Topic::Compaction | Topic::CompactionNotice => vec![TelemetryItem::Compaction {
            value: without_history(payload),
        }],
        Topic::ToolTiming | Topic::RepeatedTiming => vec![
            tool_timing(line.payload_kind.as_deref(), payload),
            TelemetryItem::Other {
                name: name(),
                value: whole(),
            },
        ],
        Topic::Other => vec![TelemetryItem::Other {
            name: name(),
            value: whole(),
        }],
    };
    let at = line.at;
    items
        .into_iter()
        .map(|item| Telemetry { at, item })
        .collect()
}

fn context_item(mut context: TurnContext) -> TelemetryItem {
    bound_context(&mut context);
    TelemetryItem::Context(context)
}

fn token_items(event: &Object<'_>) -> Vec<TelemetryItem> {
    let count = event.get("info").map(|info| {
        let fields = Object::of(info);
        let fields = fields.as_ref();
        let last = fields.and_then(|fields| fields.object("last_token_usage"));
        TelemetryItem::TokenCount {
            context_tokens: last.and_then(|last| positive(&last, "total_tokens")),
            context_window: fields.and_then(|fields| positive(fields, "model_context_window")),
            value: read_value(info),
        }
    });
    let limits = event
        .get("rate_limits")
        .map(|limits| TelemetryItem::RateLimits {
            value: read_value(limits),
        });
    count.into_iter().chain(limits).collect()
}

/// Reads the fields of an event that do not repeat the conversation.
fn without_history(event: &Object<'_>) -> Value {
    let fields = event.fields();
    let own = fields.filter(|(name, _)| !REPEATED_HISTORY.contains(name));
    let value: Map<String, Value> = own
        .map(|(name, value)| (name.to_string(), read_value(value)))
        .collect();
    value.into()
}

fn tool_timing(kind: Option<&str>, event: &Object<'_>) -> TelemetryItem {
    let invoked = event.object("invocation");
    let invoked = invoked.as_ref().unwrap_or(event);
    let tool = match kind {
        Some("exec_command_end") => Some("exec_command".to_string()),
        Some("patch_apply_end") => Some("apply_patch".to_string()),
        _ => invoked.name("tool").map(|tool| {
            let server = invoked.name("server");
            server.map_or(tool.clone(), |server| format!("mcp__{server}__{tool}"))
        }),
    };
    // `{"Ok":…}` or `{"Err":…}`.
    let result = event.object("result");
    let variant = || Some(result.as_ref()?.fields().next()?.0.to_string());
    let bounded = |name: String| bound_name(&name, MAX_NAME_BYTES).into_owned();
    TelemetryItem::ToolTiming {
        tool_use_id: bounded_call_id(event),
        tool: tool.map(bounded),
        duration_ms: turn_item::duration(event.get("duration")),
        outcome: event.name("status").or_else(variant).map(bounded),
    }
}

/// A count that is there and not below zero.
pub(super) fn positive(fields: &Object<'_>, name: &str) -> Option<u64> {
    serde_json::from_str(fields.get(name)?.get()).ok()
}

/// The value, or its text when it is nested too deeply to be one.
fn read_value(value: &RawValue) -> Value {
    json::read(value.get()).unwrap_or_else(|_| value.get().into())
}
