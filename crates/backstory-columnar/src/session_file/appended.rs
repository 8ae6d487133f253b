//! Rows that others appended to a session of ours. The package's hook does not know what a file has already: it appends the whole log once
//! more, with an answer's tokens in each of its rows.

use std::collections::HashSet;
use std::ops::Range;

use backstory_memory::WrittenRecord;

use super::columns::Columns;
use super::read::{Session, read_messages};
use super::schema::MESSAGES;
use crate::error::Result;
use crate::rows::{Message, TokenUsage};

/// Rows that are read together.
const ROWS_AT_ONCE: u64 = 1024;

/// Recognizes the rows of one answer of the model: rows of the model that took the same input, with nothing but results of tools, and rows
/// without tokens, between them.
#[derive(Default)]
pub(crate) struct AnswerTracker {
    input: Option<[i64; 3]>,
}

/// Part of a row in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerStep {
    /// First row of an answer.
    New,
    /// Further row of an answer.
    Continued,
    /// Row without tokens.
    Other,
}

impl AnswerTracker {
    /// Advances to the next row.
    pub(crate) fn advance_to(&mut self, row: &Message) -> AnswerStep {
        if row.kind == "user" && WrittenRecord::has_tool_result(&row.json) {
            return AnswerStep::Other;
        }
        if row.kind != "assistant" {
            self.input = None;
        }
        let usage = &row.usage;
        let input = [
            usage.input_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
        ];
        if input == [0; 3] {
            return AnswerStep::Other;
        }
        match self.input.replace(input) == Some(input) {
            true => AnswerStep::Continued,
            false => AnswerStep::New,
        }
    }
}

/// Counter of the tokens of answers, row by row: the package repeats those of an answer in each of its rows.
#[derive(Default)]
pub(super) struct AnswerCounter {
    answers: AnswerTracker,
    /// Output tokens of the current answer that were counted.
    counted: i64,
    /// Input and output of the last answer of ours, which can go on behind our rows.
    last_own: Option<([i64; 3], i64)>,
}

impl AnswerCounter {
    /// Adds a row whose answer is counted already.
    pub(super) fn add_known(&mut self, row: &Message) {
        let step = self.answers.advance_to(row);
        let input = self.answers.input.filter(|_| step != AnswerStep::Other);
        if let Some(input) = input.filter(|_| row.seq > 0) {
            self.counted = row.usage.output_tokens;
            self.last_own = Some((input, self.counted));
        } else if step == AnswerStep::New {
            let own = self.last_own.filter(|(own, _)| input == Some(*own));
            self.counted = own.map_or(i64::MAX, |(_, output)| output);
        }
    }

    /// Returns the tokens of a row of others that were not counted before.
    pub(super) fn count_row(&mut self, row: &Message) -> TokenUsage {
        let output = row.usage.output_tokens;
        match self.answers.advance_to(row) {
            AnswerStep::Other => row.usage,
            AnswerStep::New => {
                self.counted = output;
                row.usage
            }
            AnswerStep::Continued => {
                let output_tokens = output.saturating_sub(self.counted).max(0);
                self.counted = self.counted.max(output);
                TokenUsage {
                    output_tokens,
                    ..TokenUsage::default()
                }
            }
        }
    }
}

/// Rows appended by other programs to a Backstory session.
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
        let ids = self.read_texts("uuid", 0..start)?;
        let mut known: HashSet<String> = ids.into_iter().collect();
        let mut answers = AnswerCounter::default();
        let mut usage = Vec::new();
        let mut logged = HashSet::new();
        // An answer of the last rows of ours can go on.
        let mut from = start.saturating_sub(ROWS_AT_ONCE);
        while from < end {
            let to = end.min(from + ROWS_AT_ONCE);
            for (row, message) in (from..).zip(read_messages(self, from..to)?) {
                if row < start {
                    answers.add_known(&message);
                    continue;
                }
                let id = &message.uuid;
                let is_empty = message.text.is_empty() && message.json.is_empty();
                let is_known = !known.insert(id.clone()) && !id.is_empty();
                let counted = if is_known {
                    None
                } else if is_blank(&message.kind, id, &message.usage, is_empty) {
                    usage.push(None);
                    continue;
                } else if self.file().logged_records()?.contains(id) {
                    logged.insert(id.clone());
                    None
                } else {
                    Some(answers.count_row(&message))
                };
                if counted.is_none() {
                    answers.add_known(&message);
                }
                usage.push(counted);
            }
            from = to;
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

    /// Returns whether a log of the file has the record with this id.
    pub(crate) fn is_logged(&self, id: &str) -> Result<bool> {
        Ok(!id.is_empty() && self.file().logged_records()?.contains(id))
    }

    /// Returns whether others added messages to those of ours: theirs have no number of an event.
    pub(crate) fn has_rows_of_others(&self) -> Result<bool> {
        let Some(columns) = Columns::open(self, MESSAGES)? else {
            return Ok(false);
        };
        let numbers = columns.read_numbers("seq", 0..columns.message_rows()?)?;
        Ok(numbers.contains(&0.0))
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
