//! Names of agents in arguments. Aliases are accepted and replaced by the name.

use backstory_memory::{AGENTS, Agent, HookAgent, LogAgent};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// What stands for all agents.
pub(crate) const ALL: &str = "all";

/// Accepts every agent.
pub(crate) fn any_agent() -> impl TypedValueParser<Value = String> {
    names_of(AGENTS.iter())
}

/// Accepts agents whose logs are read.
pub(crate) fn log_agent() -> impl TypedValueParser<Value = String> {
    names_of(LogAgent::all().map(|known| known.agent))
}

/// Accepts agents that call hooks.
pub(crate) fn hook_agent() -> impl TypedValueParser<Value = String> {
    names_of(HookAgent::all().map(|known| known.agent))
}

/// Accepts agents that call hooks, and `all`.
pub(crate) fn hook_agent_or_all() -> impl TypedValueParser<Value = String> {
    let agents = HookAgent::all().map(|known| value_of(known.agent));
    parser(agents.chain([PossibleValue::new(ALL)]))
}

fn names_of(agents: impl Iterator<Item = &'static Agent>) -> impl TypedValueParser<Value = String> {
    parser(agents.map(value_of))
}

fn value_of(agent: &'static Agent) -> PossibleValue {
    PossibleValue::new(agent.name).aliases(agent.aliases.iter().copied())
}

fn parser(values: impl Iterator<Item = PossibleValue>) -> impl TypedValueParser<Value = String> {
    let values: Vec<PossibleValue> = values.collect();
    PossibleValuesParser::new(values).map(|typed: String| match Agent::find(&typed) {
        Some(agent) => agent.name.to_string(),
        None => typed,
    })
}

/// Names of products in a sentence: `A, B and C`.
pub(crate) fn titles(agents: impl Iterator<Item = &'static Agent>) -> String {
    let titles: Vec<&str> = agents.map(|agent| agent.title).collect();
    match titles.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => titles.join(""),
    }
}
