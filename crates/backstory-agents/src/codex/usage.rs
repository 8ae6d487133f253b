//! Token counts: which of them are a response of their own, and what it used.

use serde::{Deserialize, Serialize};

use crate::object::Object;
use backstory_event::Usage;

/// The counts of one `TokenUsage`, as Codex writes them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counts {
    input: u64,
    cached: u64,
    cache_write: u64,
    output: u64,
    reasoning: u64,
    total: u64,
}

/// Returns what the response used that the `info` of a `token_count` tells of, if it is not one that was told already.
///
/// `totals` is the sum over the thread so far. Codex writes a count again whenever the rate limits change, and again when a
/// thread is resumed: a count with the same totals is no new response. ccusage 20.0.24 goes by the same rule.
pub(super) fn counted(info: &Object<'_>, totals: &mut Option<Counts>) -> Option<Counts> {
    let last = info
        .object("last_token_usage")
        .map(|usage| Counts::of(&usage));
    let used = match info
        .object("total_token_usage")
        .map(|usage| Counts::of(&usage))
    {
        Some(total) => {
            let before = totals.replace(total);
            if before == Some(total) {
                return None;
            }
            last.unwrap_or_else(|| total.since(before.unwrap_or_default()))
        }
        None => {
            // No log is known to lack the sums; made here, they still tell one response from the next.
            let last = last?;
            let sum = totals.unwrap_or_default().plus(last);
            *totals = Some(sum);
            last
        }
    };
    (used.usage().total() > 0).then_some(used)
}

impl Counts {
    fn of(fields: &Object<'_>) -> Self {
        Counts {
            input: fields.count("input_tokens"),
            cached: fields.count("cached_input_tokens"),
            cache_write: fields.count("cache_write_input_tokens"),
            output: fields.count("output_tokens"),
            reasoning: fields.count("reasoning_output_tokens"),
            total: fields.count("total_tokens"),
        }
    }

    fn plus(self, more: Counts) -> Counts {
        Counts {
            input: self.input.saturating_add(more.input),
            cached: self.cached.saturating_add(more.cached),
            cache_write: self.cache_write.saturating_add(more.cache_write),
            output: self.output.saturating_add(more.output),
            reasoning: self.reasoning.saturating_add(more.reasoning),
            total: self.total.saturating_add(more.total),
        }
    }

    /// What was used since `before`; a sum that went down began anew.
    fn since(self, before: Counts) -> Counts {
        if self.input < before.input || self.output < before.output {
            return self;
        }
        Counts {
            input: self.input.saturating_sub(before.input),
            cached: self.cached.saturating_sub(before.cached),
            cache_write: self.cache_write.saturating_sub(before.cache_write),
            output: self.output.saturating_sub(before.output),
            reasoning: self.reasoning.saturating_sub(before.reasoning),
            total: self.total.saturating_sub(before.total),
        }
    }

    /// The counts with every token in one column: Codex's input holds what the caches gave and took.
    pub(super) fn usage(self) -> Usage {
        let cache_read = self.cached.min(self.input);
        let cache_write = self.cache_write.min(self.input - cache_read);
        Usage {
            input: self.input - cache_read - cache_write,
            output: self.output,
            cache_read,
            cache_write,
            reasoning: self.reasoning,
            ..Usage::default()
        }
    }

    /// What a count says in full; of the sums of a thread, that by which copies of a response are known.
    pub(super) fn bytes(self) -> [u8; 48] {
        let mut bytes = [0; 48];
        let counts = [
            self.input,
            self.cached,
            self.cache_write,
            self.output,
            self.reasoning,
            self.total,
        ];
        for (place, count) in bytes.chunks_exact_mut(8).zip(counts) {
            place.copy_from_slice(&count.to_le_bytes());
        }
        bytes
    }
}
