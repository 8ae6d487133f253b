//! One file an agent.

pub(crate) mod claude_code;
pub(crate) mod codex;
pub(crate) mod grok;
pub(crate) mod shared;

use crate::reader::Reader;

/// Every agent whose logs can be read. To add one, write a file beside this one and name it here.
pub static READERS: &[&dyn Reader] = &[&claude_code::ClaudeCode, &codex::Codex, &grok::Grok];
