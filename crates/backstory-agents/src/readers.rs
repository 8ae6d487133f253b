//! The list of readers.

use crate::reader::Reader;
use crate::{claude_code, codex, grok};

/// Every agent whose logs can be read. To add one, write a folder beside this file and name it here.
pub static READERS: &[&dyn Reader] = &[&claude_code::ClaudeCode, &codex::Codex, &grok::Grok];
