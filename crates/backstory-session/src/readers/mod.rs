//! One file an agent.

mod claude_code;
mod codex;
mod grok;
mod shared;

use crate::reader::Reader;

/// Every agent whose logs can be read. To add one, write a file beside this one and name it here.
pub static READERS: &[&dyn Reader] = &[&claude_code::ClaudeCode, &codex::Codex, &grok::Grok];
