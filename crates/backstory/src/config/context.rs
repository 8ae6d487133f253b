//! What new sessions are told.

use backstory_memory::Shares;
use serde::{Deserialize, Serialize};

/// Claude Code replaces what has more than 10,000 characters by a stub.
const CLAUDE_CHARACTERS: usize = 9_500;
/// Codex puts what has more tokens than this into a file.
const CODEX_TOKENS: usize = 2_500;

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

/// How many tokens an agent takes.
pub(crate) fn most_tokens(agent: Option<&str>) -> usize {
    match agent {
        Some("codex") => CODEX_TOKENS,
        _ => usize::MAX,
    }
}

/// How many characters an agent takes. Others than Codex are taken to cut as Claude Code does.
pub(crate) fn most_characters(agent: Option<&str>) -> usize {
    match agent {
        Some("codex") => usize::MAX,
        _ => CLAUDE_CHARACTERS,
    }
}
