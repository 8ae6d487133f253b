//! One file an agent.

mod claude_code;
mod codex;
mod grok;
mod shared;

pub(crate) use claude_code::ClaudeCode;
pub(crate) use codex::Codex;
pub(crate) use grok::Grok;
