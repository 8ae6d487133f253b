//! A look at the text of a source file.

use std::collections::HashSet;

use backstory_code::{Outline, Symbol};
use twox_hash::XxHash3_64;

/// What a text defines and calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Look {
    /// Tells whether another text is the same.
    pub(super) text_hash: i64,
    pub(super) symbols: Vec<Symbol>,
    pub(super) has_errors: bool,
    /// Hashes of who calls whom, by the last part of their names.
    calls: HashSet<u64>,
}

impl Look {
    /// What was found in a text.
    pub(super) fn new(text: &str, outline: Outline) -> Self {
        let mut calls = HashSet::new();
        for call in &outline.calls {
            let caller = last_name(call.caller.as_deref().unwrap_or_default());
            for callee in [Some(&call.callee), call.resolved.as_ref()] {
                calls.extend(callee.map(|callee| pair_hash(caller, last_name(callee))));
            }
        }
        Look {
            calls,
            ..Look::kept(text_hash(text), outline.symbols, outline.has_errors)
        }
    }

    /// What was stored of a look: its calls are not.
    pub(super) fn kept(text_hash: i64, symbols: Vec<Symbol>, has_errors: bool) -> Self {
        Look {
            text_hash,
            symbols,
            has_errors,
            calls: HashSet::new(),
        }
    }

    /// Whether a function of this name calls one of that name, neither with what it is in.
    pub(super) fn has_call(&self, caller: &str, callee: &str) -> bool {
        self.calls.contains(&pair_hash(caller, callee))
    }
}

fn pair_hash(caller: &str, callee: &str) -> u64 {
    XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(caller.as_bytes()), callee.as_bytes())
}

/// Tells texts apart.
pub(super) fn text_hash(text: &str) -> i64 {
    XxHash3_64::oneshot(text.as_bytes()) as i64
}

/// A name without what it is in.
pub(crate) fn last_name(name: &str) -> &str {
    let name = name.strip_suffix("()").unwrap_or(name);
    name.rsplit(['.', ':', '>']).next().unwrap_or(name)
}
