//! Hooks of Toy.

use super::tools;
use crate::hook::dialect::{Certainty, HookDialect, ToolEffects};
use crate::hook::event::{EventMeaning, EventName};
use crate::hook::fields::{COMMON_FIELDS, FieldNames};
use crate::hook::registration::{HookLayout, HookRegistration, TimeoutUnit};
use crate::object::Object;

/// The hooks of Toy.
pub(crate) struct ToyHooks;

static REGISTRATION: HookRegistration = HookRegistration {
    variable: Some("TOY_HOME"),
    folder: ".toy",
    file: "hooks.json",
    layout: HookLayout::Flat,
    events: &[
        "ToyOpened",
        "ToyAsked",
        "ToyReturned",
        "ToyBroke",
        "ToyRefused",
        "ToyPaused",
        "ToyClosed",
    ],
    timeout_unit: TimeoutUnit::Milliseconds,
    note: None,
    also_runs: None,
    plugin: None,
};

static EVENTS: &[EventName] = &[
    EventName::new("toyopened", EventMeaning::Started, "SessionStart"),
    EventName::new("toyasked", EventMeaning::Prompted, "UserPromptSubmit"),
    EventName::new("toyreturned", EventMeaning::ToolUsed(None), "PostToolUse"),
    EventName::new("toybroke", EventMeaning::ToolFailed, "PostToolUseFailure"),
    EventName::new("toyrefused", EventMeaning::ToolDenied, "PermissionDenied"),
    EventName::new("toypaused", EventMeaning::Stopped, "Stop"),
    EventName::new("toyclosed", EventMeaning::Ended, "SessionEnd"),
];

static FIELDS: FieldNames = FieldNames {
    event: &["toy"],
    session: &["toy_session"],
    transcript: &["toy_log"],
    cwd: &["folder"],
    time: &["time"],
    prompt: &["text"],
    prompt_id: &["id"],
    reply: &["last"],
    reason: &["why"],
    tool: &["tool"],
    tool_id: &["call"],
    tool_input: &["input"],
    tool_response: &["result"],
    tool_error: &["why"],
    ..COMMON_FIELDS
};

impl HookDialect for ToyHooks {
    fn registration(&self) -> &'static HookRegistration {
        &REGISTRATION
    }

    fn events(&self) -> &'static [EventName] {
        EVENTS
    }

    fn fields(&self) -> &'static FieldNames {
        &FIELDS
    }

    fn recognize(&self, _event: Option<&str>, input: &Object<'_>) -> Certainty {
        match input.has("toy_session") {
            true => Certainty::Certain,
            false => Certainty::Unknown,
        }
    }

    fn tool_effects(&self, tool: &str, input: &str) -> ToolEffects {
        tools::effects(tool, input)
    }
}
