//! A look at the text of a source file.

use backstory_code::{Outline, Symbol};
use twox_hash::XxHash3_64;

use super::scanned::count_calls;

/// What a text defines.
#[derive(Debug, Clone, Default)]
pub(super) struct Look {
    /// Tells whether another text is the same.
    pub(super) text_hash: i64,
    pub(super) symbols: Vec<Symbol>,
    /// Number of calls, and of those that are unresolved, if they were looked for.
    pub(super) calls: Option<(u64, u64)>,
    pub(super) has_errors: bool,
}

impl Look {
    /// What was found in a text.
    pub(super) fn new(text: &str, outline: Outline) -> Self {
        Look {
            text_hash: text_hash(text),
            symbols: outline.symbols,
            calls: None,
            has_errors: outline.has_errors,
        }
    }

    /// What was found in a text whose calls were looked for.
    pub(super) fn with_calls(text: &str, outline: Outline) -> Self {
        Look {
            calls: Some(count_calls(&outline.calls)),
            ..Look::new(text, outline)
        }
    }
}

/// Tells texts apart.
pub(super) fn text_hash(text: &str) -> i64 {
    XxHash3_64::oneshot(text.as_bytes()) as i64
}

/// A name without what it is in.
pub fn last_name(name: &str) -> &str {
    let name = name.strip_suffix("()").unwrap_or(name);
    name.rsplit(['.', ':', '>']).next().unwrap_or(name)
}
