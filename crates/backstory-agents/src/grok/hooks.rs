//! Hooks of Grok Build, which runs those of Claude Code and Cursor as well.
//!
//! Checked against the program's source, xai-org/grok-build of August 2026.

use std::path::Path;

use serde_json::Value;
use serde_json::value::RawValue;

use super::stream::whole_prompt;
use super::tools;
use crate::hook::dialect::{Certainty, ContextMoment, HookDialect, ToolEffects, ToolOutcome};
use crate::hook::event::{EventMeaning, EventName};
use crate::hook::fields::name;
use crate::hook::registration::{ForeignHooks, HookLayout, HookRegistration, TimeoutUnit};
use crate::object::Object;
use crate::reader::{SourceName, trailing_uuid};
use crate::shared::kept;

/// The hooks of Grok.
pub(crate) struct GrokHooks;

static REGISTRATION: HookRegistration = HookRegistration {
    variable: Some("GROK_HOME"),
    folder: ".grok",
    file: "hooks/backstory.json",
    layout: HookLayout::Grouped,
    events: &[
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
        "PostToolUseFailure",
        "PermissionDenied",
        "PreCompact",
        "Stop",
        "SubagentStop",
        "SessionEnd",
    ],
    timeout_unit: TimeoutUnit::Seconds,
    note: None,
    also_runs: Some(ForeignHooks {
        agent: "claude-code",
        file: ".claude/settings.json",
    }),
    plugin: None,
};

static EVENTS: &[EventName] = &[
    EventName::new("stopcancelled", EventMeaning::Stopped, "StopCancelled"),
    EventName::new("subagentend", EventMeaning::SubagentStopped, "SubagentStop"),
];

impl HookDialect for GrokHooks {
    fn registration(&self) -> &'static HookRegistration {
        &REGISTRATION
    }

    fn events(&self) -> &'static [EventName] {
        EVENTS
    }

    fn recognize(&self, _event: Option<&str>, input: &Object<'_>) -> Certainty {
        match input.has("sessionId") || input.has("hookEventName") {
            true => Certainty::Certain,
            false => Certainty::Unknown,
        }
    }

    /// It runs hooks that others registered: `afterAgentResponse` of Cursor whenever a tool was used.
    fn names_events_itself(&self) -> bool {
        true
    }

    /// A subagent is a session like any other.
    fn session_id(&self, input: &Object<'_>, transcript: Option<&str>) -> Option<String> {
        let log = SourceName {
            path: Path::new(transcript.unwrap_or_default()),
        };
        log.folder(1)
            .and_then(trailing_uuid)
            .map(|id| id.to_string())
            .or_else(|| name(input, self.fields().session))
    }

    fn prompt_text(&self, raw: &str) -> Option<String> {
        let (text, injected) = whole_prompt(raw);
        kept(&text).filter(|_| !injected)
    }

    fn tool_effects(&self, tool: &str, input: &str) -> ToolEffects {
        let call = tools::call(tool, "", input, &[]);
        ToolEffects {
            name: Some(call.tool),
            command: call.command,
            touches: call.touches,
        }
    }

    fn tool_outcome(&self, response: &RawValue) -> ToolOutcome {
        let outcome = tools::outcome(Some(response), false);
        ToolOutcome {
            text: kept(&tools::result_text(Some(response), None)),
            error: outcome.error,
            duration_ms: outcome.duration_ms,
            before: None,
        }
    }

    /// It does not listen.
    fn context_answer(&self, _moment: ContextMoment, _text: &str) -> Option<Value> {
        None
    }
}
