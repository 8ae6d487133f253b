//! What new sessions are told.

use backstory_memory::context::Shares;
use backstory_memory::{Agent, ContextLimits};
use serde::{Deserialize, Serialize};

/// What new sessions are told.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Context {
    /// Whether hooks tell it.
    pub(crate) enabled: bool,
    /// At most so many tokens.
    pub(crate) tokens: usize,
    /// Whether prompts are answered with what is known about them.
    pub(crate) on_prompt: bool,
    /// How the tokens are shared.
    pub(crate) shares: Shares,
}

impl Default for Context {
    fn default() -> Self {
        Context {
            enabled: true,
            tokens: 2_000,
            on_prompt: false,
            shares: Shares::default(),
        }
    }
}

/// How much context an agent accepts.
pub(crate) fn limits_of(agent: Option<&str>) -> ContextLimits {
    let agent = agent.and_then(Agent::find);
    agent.map_or(ContextLimits::DEFAULT, |agent| agent.limits)
}
