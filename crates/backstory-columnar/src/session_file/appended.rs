//! Rows that others appended to a session of ours. The package's hook does not know what a file has already: it appends the whole log once
//! more, with an answer's tokens in each of its rows.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::columns::Columns;
use super::read::{Session, usage_from};
use super::schema::{CONTENT_FIELDS, MESSAGES, USAGE_FIELDS};
use crate::error::Result;
use crate::rows::TokenUsage;

/// Tokens of the inputs that answers took. A conversation only grows: answers that took the same input are one answer.
#[derive(Default)]
pub(super) struct AnswerCounter {
    /// Output tokens that were counted for an input.
    outputs: HashMap<[i64; 3], i64>,
}

impl AnswerCounter {
    fn input_of(usage: &TokenUsage) -> [i64; 3] {
        [
            usage.input_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
        ]
    }

    /// Adds a row of ours, which has all tokens of its answer.
    pub(super) fn add_answer(&mut self, usage: &TokenUsage) {
        let input = Self::input_of(usage);
        if input != [0; 3] {
            self.outputs.insert(input, i64::MAX);
        }
    }

    /// Returns the tokens of a row of others that were not counted before.
    pub(super) fn count_row(&mut self, usage: &TokenUsage) -> TokenUsage {
        let input = Self::input_of(usage);
        if input == [0; 3] {
            return *usage;
        }
        let Some(counted) = self.outputs.get_mut(&input) else {
            self.outputs.insert(input, usage.output_tokens);
            return *usage;
        };
        let output_tokens = usage.output_tokens.saturating_sub(*counted).max(0);
        *counted = (*counted).max(usage.output_tokens);
        TokenUsage {
            output_tokens,
            ..TokenUsage::default()
        }
    }
}

/// Rows that others appended to a session of ours.
pub(crate) struct AppendedRows {
    start: u64,
    /// Tokens of each row that were not counted before; `None` for a row that the file had already.
    usage: Vec<Option<TokenUsage>>,
    /// Ids of rows that are in a log of the file, and are no rows of ours: records without an event, and those of other sessions.
    logged: HashSet<String>,
}

impl AppendedRows {
    /// Returns whether the file had a row already, in this session or in a log.
    pub(crate) fn is_repeated(&self, row: u64) -> bool {
        self.usage_of(row).is_some_and(|usage| usage.is_none())
    }

    fn usage_of(&self, row: u64) -> Option<Option<TokenUsage>> {
        let place = usize::try_from(row.checked_sub(self.start)?).ok()?;
        self.usage.get(place).copied()
    }

    /// Returns the tokens of an appended row that were not counted before; `None` for a row of ours.
    pub(super) fn counted_usage(&self, row: u64) -> Option<TokenUsage> {
        self.usage_of(row).flatten()
    }

    /// Returns whether a call belongs to a row that is in a log, and is no row of ours.
    pub(super) fn is_logged_call(&self, message_uuid: &str, result_uuid: &str) -> bool {
        is_call_of(&self.logged, message_uuid, result_uuid)
    }

    /// Number of rows that the file had already.
    pub(super) fn repeated_count(&self) -> u64 {
        self.usage.iter().filter(|usage| usage.is_none()).count() as u64
    }

    /// Rows of ours.
    pub(super) fn own_rows(&self) -> Range<u64> {
        0..self.start
    }

    /// Tokens of all appended rows that were not counted before.
    pub(super) fn counted_total(&self) -> TokenUsage {
        let mut total = TokenUsage::default();
        self.usage
            .iter()
            .flatten()
            .for_each(|usage| total.add_usage(usage));
        total
    }

    /// Returns the last `count` rows without those that the session had already, as ranges.
    pub(super) fn last_rows(&self, count: u64) -> Vec<Range<u64>> {
        let end = self.start + self.usage.len() as u64;
        let rows = (0..end).rev().filter(|row| !self.is_repeated(*row));
        let mut rows: Vec<u64> = rows
            .take(usize::try_from(count).unwrap_or(usize::MAX))
            .collect();
        rows.reverse();
        let runs = rows.chunk_by(|before, after| before + 1 == *after);
        let range = |run: &[u64]| Some(*run.first()?..run.last()? + 1);
        runs.filter_map(range).collect()
    }
}

/// Returns whether a row of others says nothing: the package makes one of each summary of a log, without its text.
pub(super) fn is_blank(kind: &str, id: &str, usage: &TokenUsage, is_empty: bool) -> bool {
    kind == "summary" && id.is_empty() && *usage == TokenUsage::default() && is_empty
}

/// Returns whether a call belongs to one of these messages. One without a message is known by that of its result.
pub(super) fn is_call_of(
    messages: &HashSet<String>,
    message_uuid: &str,
    result_uuid: &str,
) -> bool {
    match message_uuid.is_empty() {
        true => messages.contains(result_uuid),
        false => messages.contains(message_uuid),
    }
}

impl Columns<'_> {
    /// Finds the rows that others appended to rows of ours: those that have no number of an event.
    pub(super) fn appended_rows(&self) -> Result<Option<AppendedRows>> {
        let start = self.dataset_rows("seq")?;
        let end = self.message_rows()?;
        if start == 0 || start >= end {
            return Ok(None);
        }
        let ids = self.read_texts("uuid", 0..end)?;
        let usages = self.read_fields("usage", 0..end, USAGE_FIELDS)?;
        let contents = self.read_fields("content_index", 0..end, CONTENT_FIELDS)?;
        let kinds = self.read_texts("type", 0..end)?;
        let contents = contents.into_iter().zip(kinds);
        let mut known = HashSet::new();
        let mut answers = AnswerCounter::default();
        let mut usage = Vec::new();
        let mut logged = HashSet::new();
        for (((row, id), values), content) in (0..).zip(&ids).zip(usages).zip(contents) {
            let ([_, text_length, _, json_length], kind) = content;
            let is_empty = text_length == 0 && json_length == 0;
            let is_known = !known.insert(id) && !id.is_empty();
            let values = usage_from(values);
            if row < start {
                answers.add_answer(&values);
            } else if is_known || is_blank(&kind, id, &values, is_empty) {
                usage.push(None);
            } else if self.file().logged_records()?.contains(id) {
                logged.insert(id.clone());
                usage.push(None);
            } else {
                usage.push(Some(answers.count_row(&values)));
            }
        }
        Ok(Some(AppendedRows {
            start,
            usage,
            logged,
        }))
    }
}

impl Session<'_> {
    /// Finds the messages that others appended to messages of ours.
    pub(crate) fn appended_rows(&self) -> Result<Option<AppendedRows>> {
        match Columns::open(self, MESSAGES)? {
            Some(columns) => columns.appended_rows(),
            None => Ok(None),
        }
    }

    /// Returns whether all messages are records of logs in the file: the package gives the log of a session a group of another name.
    pub(crate) fn has_only_logged_rows(&self) -> Result<bool> {
        let Some(columns) = Columns::open(self, MESSAGES)? else {
            return Ok(false);
        };
        let ids = columns.read_texts("uuid", 0..columns.message_rows()?)?;
        let logged = self.file().logged_records()?;
        Ok(!ids.is_empty() && ids.iter().all(|id| logged.contains(id)))
    }
}
