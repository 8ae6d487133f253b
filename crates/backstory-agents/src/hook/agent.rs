//! Which agent speaks.

use serde::{Deserialize, Serialize};

use super::event;
use super::fields::name;
use crate::object::Object;

/// An agent that runs hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agent {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Grok Build.
    Grok,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
}

impl Agent {
    /// All of them.
    pub const ALL: [Agent; 5] = [
        Agent::ClaudeCode,
        Agent::Codex,
        Agent::Grok,
        Agent::Gemini,
        Agent::Cursor,
    ];

    /// The name used in the store, in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "claude-code",
            Agent::Codex => "codex",
            Agent::Grok => "grok",
            Agent::Gemini => "gemini",
            Agent::Cursor => "cursor",
        }
    }

    /// The agent of that name.
    pub fn named(name: &str) -> Option<Self> {
        Agent::ALL.into_iter().find(|agent| agent.name() == name)
    }

    /// Who says this, to a hook that was registered with `registered`.
    pub(super) fn of(registered: Option<&str>, event: Option<&str>, input: &Object<'_>) -> Self {
        // Grok runs the hooks of Claude Code and Cursor too, and Cursor those of Claude Code. Nobody else writes these.
        if input.has("sessionId") || input.has("hookEventName") {
            return Agent::Grok;
        }
        if input.has("cursor_version") {
            return Agent::Cursor;
        }
        registered
            .and_then(Agent::named)
            .unwrap_or_else(|| Agent::by_shape(event, input))
    }

    fn by_shape(event: Option<&str>, input: &Object<'_>) -> Self {
        let transcript = name(input, &["transcript_path"]).unwrap_or_default();
        let lies_in = |folder: &str| transcript.split(['/', '\\']).any(|part| part == folder);
        let log = transcript.rsplit(['/', '\\']).next().unwrap_or_default();
        if input.has("conversation_id") {
            Agent::Cursor
        } else if lies_in(".gemini") || event.is_some_and(event::is_gemini) {
            Agent::Gemini
        } else if input.has("turn_id") || lies_in(".codex") || log.starts_with("rollout-") {
            Agent::Codex
        } else {
            Agent::ClaudeCode
        }
    }
}
