//! What one scan has learned about a text, so that no rule looks at the same bytes again and again.
//!
//! Each rule is tried at each of its keywords, and a hostile text has a keyword every few bytes. Three things bound the work:
//! the end of a run of bytes is remembered, whatever begins within an accepted secret is skipped, and a rule that has rejected
//! [`MAX_OVERLAPPING_TRIES`] overlapping candidates redacts the next one unseen.

use std::ops::Range;

use super::examined::{count_leading, examined};

/// Number of overlapping candidates that a rule judges. Ordinary text has one or two.
pub(super) const MAX_OVERLAPPING_TRIES: u8 = 3;

/// A text and what a scan knows about it.
#[derive(Debug)]
pub(super) struct Search<'s> {
    pub(super) text: &'s [u8],
    pub(super) values: &'s mut ValueMemo,
    /// Progress of the rule that is tried.
    pub(super) progress: &'s mut RuleProgress,
}

/// A value, and whether it stands in quotes.
pub(super) type Value = (Range<usize>, bool);

/// Ends of values, remembered over the names that share them.
#[derive(Debug, Default)]
pub(super) struct ValueMemo {
    /// Bytes that are known not to end a value without quotes.
    pub(super) bare: Run,
    /// The last value that was read: where it begins, and what was found there.
    pub(super) last: Option<(usize, Option<Value>)>,
    /// The last value that was judged to be a random key or not, for several rules ask that of the same value.
    random: Option<(Range<usize>, bool)>,
    /// Number of values judged before it that end where it ends.
    random_tries: u8,
}

impl ValueMemo {
    /// Returns what `judge` says of the value at `range`. Like a rule, it judges few values that overlap.
    pub(super) fn is_random(&mut self, range: &Range<usize>, judge: impl FnOnce() -> bool) -> bool {
        match &self.random {
            Some((last, random)) if last == range => return *random,
            Some((last, _)) if last.end == range.end => self.random_tries += 1,
            _ => self.random_tries = 0,
        }
        let random = self.random_tries >= MAX_OVERLAPPING_TRIES || judge();
        self.random_tries = self.random_tries.min(MAX_OVERLAPPING_TRIES);
        self.random = Some((range.clone(), random));
        random
    }
}

/// Progress of one rule through a text.
#[derive(Debug, Clone, Default)]
pub(super) struct RuleProgress {
    /// Whether the rule was tried in this text.
    tried_once: bool,
    /// Bytes that are known to be in the pattern's alphabet.
    pub(super) run: Run,
    /// What begins before this was decided.
    decided: usize,
    /// End of the last candidate, and the number of candidates before it that it overlaps.
    tried: usize,
    tries: u8,
}

/// Verdict on whether a candidate is worth judging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Not seen before.
    New,
    /// Decided already.
    Known,
    /// Too many before it overlap it: it counts as a secret.
    Exhausted,
}

impl RuleProgress {
    /// Returns whether the rule was not tried before in this text, and notes that it was now.
    pub(super) fn is_new(&mut self) -> bool {
        !std::mem::replace(&mut self.tried_once, true)
    }

    /// Returns whether what begins at `start` was decided.
    pub(super) fn is_decided(&self, start: usize) -> bool {
        start < self.decided
    }

    /// Marks everything that begins before `end` as decided.
    pub(super) fn decide(&mut self, end: usize) {
        self.decided = self.decided.max(end);
    }

    /// Counts a candidate and returns whether it is to be judged. Each is asked about once.
    pub(super) fn look(&mut self, candidate: &Range<usize>) -> Look {
        if self.is_decided(candidate.start) {
            return Look::Known;
        }
        self.tries = if candidate.start < self.tried {
            self.tries + 1
        } else {
            0
        };
        self.tried = self.tried.max(candidate.end);
        if self.tries < MAX_OVERLAPPING_TRIES {
            // Another keyword in the same name leads to the same value.
            self.decide(candidate.start + 1);
            return Look::New;
        }
        self.decide(candidate.end);
        Look::Exhausted
    }
}

impl Search<'_> {
    /// Judges the value at `range` with `is_secret`, unless it is known already.
    pub(super) fn judge_value(
        &mut self,
        range: &Range<usize>,
        is_secret: impl FnOnce(&mut ValueMemo, &[u8]) -> bool,
    ) -> bool {
        let value = self.text.get(range.clone()).unwrap_or_default();
        match self.progress.look(range) {
            Look::New => is_secret(self.values, value),
            Look::Known => false,
            // What stands before a marker was judged when there was none.
            Look::Exhausted => self.text.get(range.end) != Some(&b'['),
        }
    }
}

/// A stretch of bytes that have a property in common.
#[derive(Debug, Clone, Default)]
pub(super) struct Run {
    bytes: Range<usize>,
}

impl Run {
    /// Returns the end of the run of places from `start` on that satisfy `test`, at most `limit`.
    ///
    /// Asked for ascending places, it examines each place once. A place a little before the last one is added to the run.
    pub(super) fn end(
        &mut self,
        start: usize,
        limit: usize,
        test: impl Fn(usize) -> bool,
    ) -> usize {
        if start < self.bytes.start {
            let end = run_end(start, limit.min(self.bytes.start), &test);
            if end < self.bytes.start {
                return end;
            }
            self.bytes.start = start;
        } else if start > self.bytes.end {
            self.bytes = start..start;
        }
        if self.bytes.end < limit {
            self.bytes.end = run_end(self.bytes.end, limit, &test);
        }
        self.bytes.end.min(limit)
    }
}

fn run_end(start: usize, limit: usize, test: impl Fn(usize) -> bool) -> usize {
    let end = (start..limit).find(|at| !test(*at)).unwrap_or(limit);
    examined(end + 1 - start.min(end));
    end
}

/// Returns the end of the bytes from `start` to `end` that can be replaced without changing what stands around them: no quotes,
/// no blanks, no escapes, no pieces of characters.
pub(super) fn plain_end(text: &[u8], start: usize, end: usize) -> usize {
    let bytes = text.get(start..end).unwrap_or_default();
    let is_plain =
        |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\');
    start + count_leading(bytes.iter(), is_plain)
}
