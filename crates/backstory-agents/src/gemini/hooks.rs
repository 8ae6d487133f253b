//! Hooks of Gemini CLI. Calls that fail come with AfterTool; of calls that are denied nothing is told.
//!
//! Checked against the documentation in google-gemini/gemini-cli, November 2026.

use serde_json::Value;

use crate::hook::dialect::{Certainty, ContextMoment, HookDialect, ToolEffects, context_for_event};
use crate::hook::event::{EventMeaning, EventName};
use crate::hook::fields::{has_log_below, name};
use crate::hook::registration::{HookLayout, HookRegistration, TimeoutUnit};
use crate::hook::tool::effects_by_table;
use crate::object::Object;
use backstory_event::Action;

/// The hooks of Gemini CLI.
pub(crate) struct GeminiHooks;

static REGISTRATION: HookRegistration = HookRegistration {
    variable: None,
    folder: ".gemini",
    file: "settings.json",
    layout: HookLayout::Grouped,
    events: &[
        "SessionStart",
        "BeforeAgent",
        "AfterTool",
        "PreCompress",
        "AfterAgent",
        "SessionEnd",
    ],
    timeout_unit: TimeoutUnit::Milliseconds,
    note: None,
    also_runs: None,
    plugin: None,
};

static EVENTS: &[EventName] = &[
    EventName::new("aftertool", EventMeaning::ToolUsed(None), "PostToolUse"),
    EventName::new("beforeagent", EventMeaning::Prompted, "UserPromptSubmit"),
    EventName::new("afteragent", EventMeaning::Stopped, "Stop"),
    EventName::new("precompress", EventMeaning::Compacting, "PreCompact"),
    EventName::new("beforetool", EventMeaning::Nothing, "PreToolUse"),
    EventName::new("beforemodel", EventMeaning::Nothing, "BeforeModel"),
    EventName::new("aftermodel", EventMeaning::Nothing, "AfterModel"),
    EventName::new(
        "beforetoolselection",
        EventMeaning::Nothing,
        "BeforeToolSelection",
    ),
];

/// Events that only Gemini calls so.
const OWN_EVENTS: &[&str] = &[
    "BeforeAgent",
    "AfterAgent",
    "BeforeTool",
    "AfterTool",
    "BeforeModel",
    "AfterModel",
    "BeforeToolSelection",
    "PreCompress",
];

const ACTIONS: &[(&str, Action)] = &[
    ("read_file", Action::Read),
    ("write_file", Action::Write),
    ("replace", Action::Write),
    ("edit", Action::Write),
];

impl HookDialect for GeminiHooks {
    fn registration(&self) -> &'static HookRegistration {
        &REGISTRATION
    }

    fn events(&self) -> &'static [EventName] {
        EVENTS
    }

    fn recognize(&self, event: Option<&str>, input: &Object<'_>) -> Certainty {
        let said = || name(input, self.fields().event);
        let event = event.map(str::to_string).or_else(said);
        let is_own = event.is_some_and(|event| OWN_EVENTS.contains(&event.as_str()));
        match is_own || has_log_below(input, ".gemini") {
            true => Certainty::Likely,
            false => Certainty::Unknown,
        }
    }

    fn tool_effects(&self, tool: &str, input: &str) -> ToolEffects {
        effects_by_table(tool, input, ACTIONS, &["run_shell_command"])
    }

    fn context_answer(&self, moment: ContextMoment, text: &str) -> Option<Value> {
        let event = match moment {
            ContextMoment::Start => "SessionStart",
            ContextMoment::Prompt => "BeforeAgent",
        };
        Some(context_for_event(event, text))
    }
}
