//! Hooks of Cursor, which runs those of Claude Code as well.
//!
//! Known from the documentation only, November 2026.

use std::path::Path;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::hook::dialect::{Certainty, ContextMoment, HookDialect, ToolEffects, ToolOutcome};
use crate::hook::event::{EventMeaning, EventName, ImpliedTool};
use crate::hook::fields::name;
use crate::hook::output::read_outcome;
use crate::hook::registration::{HookLayout, HookRegistration, TimeoutUnit};
use crate::hook::tool::effects_by_table;
use crate::injected::inside;
use crate::object::{Object, string};
use crate::reader::{SourceName, trailing_uuid};
use crate::shared::kept;
use backstory_event::Action;

/// The hooks of Cursor.
pub(crate) struct CursorHooks;

static REGISTRATION: HookRegistration = HookRegistration {
    variable: None,
    folder: ".cursor",
    file: "hooks.json",
    layout: HookLayout::Flat,
    events: &[
        "sessionStart",
        "beforeSubmitPrompt",
        // Not afterFileEdit and afterShellExecution besides: they tell the same again, without an id.
        "postToolUse",
        // A call that is denied comes here too, with a `failure_type` that says so.
        "postToolUseFailure",
        "preCompact",
        "stop",
        "subagentStop",
        "sessionEnd",
    ],
    timeout_unit: TimeoutUnit::Seconds,
    note: None,
    also_runs: None,
    plugin: None,
};

/// Edits and commands have events of their own, in which the tool is called as in the events of all tools.
const EDIT: ImpliedTool = ImpliedTool {
    name: "Write",
    fields: &["file_path", "edits"],
};
const SHELL: ImpliedTool = ImpliedTool {
    name: "Shell",
    fields: &["command"],
};

static EVENTS: &[EventName] = &[
    EventName::new(
        "aftermcpexecution",
        EventMeaning::ToolUsed(None),
        "PostToolUse",
    ),
    EventName::new(
        "afterfileedit",
        EventMeaning::ToolUsed(Some(EDIT)),
        "PostToolUse",
    ),
    EventName::new(
        "aftershellexecution",
        EventMeaning::ToolUsed(Some(SHELL)),
        "PostToolUse",
    ),
    EventName::new(
        "beforesubmitprompt",
        EventMeaning::Prompted,
        "UserPromptSubmit",
    ),
    EventName::new(
        "afteragentresponse",
        EventMeaning::Replied,
        "AfterAgentResponse",
    ),
    EventName::new("beforeshellexecution", EventMeaning::Nothing, "PreToolUse"),
    EventName::new("beforemcpexecution", EventMeaning::Nothing, "PreToolUse"),
    EventName::new("beforereadfile", EventMeaning::Nothing, "PreToolUse"),
    EventName::new(
        "afteragentthought",
        EventMeaning::Nothing,
        "AfterAgentThought",
    ),
];

const ACTIONS: &[(&str, Action)] = &[
    ("Read", Action::Read),
    ("Write", Action::Write),
    ("Edit", Action::Write),
    ("StrReplace", Action::Write),
    ("EditNotebook", Action::Write),
    ("Delete", Action::Delete),
];

impl HookDialect for CursorHooks {
    fn registration(&self) -> &'static HookRegistration {
        &REGISTRATION
    }

    fn events(&self) -> &'static [EventName] {
        EVENTS
    }

    fn recognize(&self, _event: Option<&str>, input: &Object<'_>) -> Certainty {
        if input.has("cursor_version") {
            Certainty::Certain
        } else if input.has("conversation_id") {
            Certainty::Likely
        } else {
            Certainty::Unknown
        }
    }

    fn session_id(&self, input: &Object<'_>, transcript: Option<&str>) -> Option<String> {
        let log = SourceName {
            path: Path::new(transcript.unwrap_or_default()),
        };
        name(input, &["conversation_id"])
            .or_else(|| name(input, self.fields().session))
            .or_else(|| trailing_uuid(log.stem()).map(|id| id.to_string()))
    }

    fn prompt_text(&self, raw: &str) -> Option<String> {
        kept(inside(raw, "user_query").unwrap_or(raw))
    }

    fn tool_effects(&self, tool: &str, input: &str) -> ToolEffects {
        effects_by_table(tool, input, ACTIONS, &["Shell", "Bash"])
    }

    fn is_denied(&self, input: &Object<'_>) -> bool {
        input.text("failure_type").as_deref() == Some("permission_denied")
    }

    /// Gives JSON within a string.
    fn tool_outcome(&self, response: &RawValue) -> ToolOutcome {
        let said = string(response);
        let within = said
            .as_deref()
            .and_then(|said| serde_json::from_str::<&RawValue>(said).ok());
        read_outcome(within.unwrap_or(response))
    }

    fn context_answer(&self, moment: ContextMoment, text: &str) -> Option<Value> {
        match moment {
            ContextMoment::Start => Some(json!({ "additional_context": text })),
            ContextMoment::Prompt => None,
        }
    }
}
