//! What a person typed, as the log will have it.

use super::Agent;
use crate::injected::inside;
use crate::shared::kept;
use crate::{claude_code, codex, grok};

/// The text of a prompt that a hook was told, as the reader of the agent's log gives it: without our own context, without what
/// editors and agents put before it, trimmed. Empty when programs put all of it there.
pub fn prompt_text(agent: Agent, raw: &str) -> String {
    let text = match agent {
        Agent::ClaudeCode => claude_code::content::typed(raw).and_then(|text| kept(&text)),
        Agent::Codex => codex::message::request(raw).and_then(kept),
        Agent::Grok => {
            let (text, injected) = grok::stream::whole_prompt(raw);
            kept(&text).filter(|_| !injected)
        }
        Agent::Gemini => kept(raw),
        Agent::Cursor => kept(inside(raw, "user_query").unwrap_or(raw)),
    };
    text.unwrap_or_default()
}
