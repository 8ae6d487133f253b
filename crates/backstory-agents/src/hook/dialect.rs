//! What differs between agents that call hooks. An agent's folder has its [`HookDialect`].

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::event::EventName;
use super::fields::{COMMON_FIELDS, FieldNames, name};
use super::output::read_outcome;
use super::registration::HookRegistration;
use crate::agents::{AGENTS, Agent};
use crate::object::Object;
use crate::shared::kept;
use backstory_event::Touch;

/// How an agent speaks to hooks, and how it is told to call them. What is left out is as most agents have it.
pub trait HookDialect: Sync {
    /// Where and how hooks are registered.
    fn registration(&self) -> &'static HookRegistration;

    /// Names of events that this agent alone uses.
    fn events(&self) -> &'static [EventName] {
        &[]
    }

    /// Names of the fields of an input.
    fn fields(&self) -> &'static FieldNames {
        &COMMON_FIELDS
    }

    /// How surely this agent wrote an input, by its shape. `event` is what the hook was registered for.
    fn recognize(&self, _event: Option<&str>, _input: &Object<'_>) -> Certainty {
        Certainty::Unknown
    }

    /// Whether an input knows better what happened than the registration of the hook, as with an agent that runs the hooks of others.
    fn names_events_itself(&self) -> bool {
        false
    }

    /// The session, named as the reader of its log names it; `transcript` is where the log lies.
    fn session_id(&self, input: &Object<'_>, _transcript: Option<&str>) -> Option<String> {
        name(input, self.fields().session)
    }

    /// The text of a prompt, as the reader of the log gives it; `None` when programs put all of it there.
    fn prompt_text(&self, raw: &str) -> Option<String> {
        kept(raw)
    }

    /// What a call does, by its tool and its input, which is JSON.
    fn tool_effects(&self, tool: &str, input: &str) -> ToolEffects;

    /// Whether an input about a call that failed says that it was not allowed to run.
    fn is_denied(&self, _input: &Object<'_>) -> bool {
        false
    }

    /// What a tool answered.
    fn tool_outcome(&self, response: &RawValue) -> ToolOutcome {
        read_outcome(response)
    }

    /// The answer that gives a session context; `None` when the agent takes none at this moment.
    fn context_answer(&self, moment: ContextMoment, text: &str) -> Option<Value> {
        let event = match moment {
            ContextMoment::Start => "SessionStart",
            ContextMoment::Prompt => "UserPromptSubmit",
        };
        Some(context_for_event(event, text))
    }
}

/// Context in the answer to an event, as most agents read it.
pub(crate) fn context_for_event(event: &str, text: &str) -> Value {
    json!({
        "hookSpecificOutput": { "hookEventName": event, "additionalContext": text }
    })
}

/// When a session is given context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextMoment {
    /// A session starts or goes on.
    Start,
    /// A prompt was submitted.
    Prompt,
}

/// How surely an input is from an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// Nothing in it says so.
    Unknown,
    /// It looks like one; what the hook was registered for says more.
    Likely,
    /// Nobody else writes such an input, whatever the hook was registered for: some agents run the hooks of others.
    Certain,
}

/// What a call does, as far as its input tells.
#[derive(Debug, Default)]
pub struct ToolEffects {
    /// The tool's name, where the input tells it better.
    pub name: Option<String>,
    /// The shell command that it runs.
    pub command: Option<String>,
    /// The files that it names.
    pub touches: Vec<Touch>,
}

/// How a tool ended.
#[derive(Debug, Default)]
pub struct ToolOutcome {
    /// What it answered.
    pub text: Option<String>,
    /// Whether it failed.
    pub error: bool,
    /// How long it took.
    pub duration_ms: Option<i64>,
    /// The text of the file that was changed, before.
    pub before: Option<String>,
}

/// Agents that call hooks, in the order in which they are asked whether an input is theirs.
pub(super) fn dialects() -> impl Iterator<Item = (&'static Agent, &'static dyn HookDialect)> {
    let with_hooks = |agent: &'static Agent| Some((agent, agent.hooks?));
    AGENTS.iter().rev().filter_map(with_hooks)
}

/// The agent that wrote an input, for a hook that was registered by `registered` for `event`.
pub(super) fn recognize_agent(
    registered: Option<&str>,
    event: Option<&str>,
    input: &Object<'_>,
) -> &'static Agent {
    let recognized = |certainty: Certainty| {
        dialects()
            .find(|(_, dialect)| dialect.recognize(event, input) == certainty)
            .map(|(agent, _)| agent)
    };
    recognized(Certainty::Certain)
        .or_else(|| registered.and_then(Agent::find))
        .or_else(|| recognized(Certainty::Likely))
        .unwrap_or(&AGENTS[0])
}
