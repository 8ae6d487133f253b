//! Reading one session.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ops::Range;

use hdf5_pure::Group;

use super::attributes::{carried_attribute, set_known_text, text_attribute};
use super::columns::Columns;
use super::open::SessionFile;
use super::schema::{
    ARTIFACTS, CALL_FIELDS, CALL_TEXTS, CONTENT_FIELDS, LOG, MESSAGE_TEXTS, MESSAGES, SESSIONS,
    TOOL_CALLS, USAGE_FIELDS,
};
use crate::error::Result;
use crate::rows::{Artifact, Message, SessionAttributes, SessionColumns, TokenUsage, ToolCall};
use crate::session_columns::STATE_ATTRIBUTE;

/// Rows that are read together: bounds what is held besides the result.
const WINDOW_ROWS: u64 = 1024;
/// Rows of `usage` that are summed together.
const SUM_ROWS: u64 = 65_536;

/// Session of a file. Its parts are read when they are asked for.
pub struct Session<'a> {
    file: &'a SessionFile,
    id: String,
    group: Group,
    logs: OnceCell<Option<Columns<'a>>>,
}

/// Numbers of rows and artifacts of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowCounts {
    pub(super) messages: u64,
    pub(super) tool_calls: u64,
    pub(super) artifacts: u64,
}

/// Word before the counts in a state.
const COUNTS_WORD: &str = " rows ";

impl RowCounts {
    /// Returns a state that has these counts.
    pub(super) fn state_with(self, state: &str) -> String {
        let (messages, calls, artifacts) = (self.messages, self.tool_calls, self.artifacts);
        format!("{state}{COUNTS_WORD}{messages} {calls} {artifacts}")
    }
}

impl<'a> Session<'a> {
    /// Returns the state with which the session was written; `None` when others have added anything since.
    pub(crate) fn written_state(&self, attributes: &SessionAttributes) -> Result<Option<String>> {
        let stored = attributes.other_text(STATE_ATTRIBUTE);
        let Some((stored, (state, _))) =
            stored.and_then(|stored| Some((stored, stored.rsplit_once(COUNTS_WORD)?)))
        else {
            return Ok(None);
        };
        let counts = RowCounts {
            messages: self.message_count()?,
            tool_calls: self.tool_call_count()?,
            artifacts: self.artifact_count()?,
        };
        Ok((counts.state_with(state) == stored).then(|| state.to_string()))
    }

    pub(super) fn new(file: &'a SessionFile, id: String, group: Group) -> Self {
        Self {
            file,
            id,
            group,
            logs: OnceCell::new(),
        }
    }

    /// Name of the session's group.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn file(&self) -> &'a SessionFile {
        self.file
    }

    pub(super) fn group(&self) -> &Group {
        &self.group
    }

    /// Datasets of the logs, which are found once for all of them.
    pub(super) fn log_columns(&self) -> Result<Option<&Columns<'a>>> {
        if let Some(columns) = self.logs.get() {
            return Ok(columns.as_ref());
        }
        let columns = Columns::open_all(self, LOG)?;
        Ok(self.logs.get_or_init(|| columns).as_ref())
    }

    pub(super) fn place(&self) -> String {
        format!("{SESSIONS}/{}", self.id)
    }

    /// Returns the session's attributes.
    pub fn attributes(&self) -> Result<SessionAttributes> {
        let place = self.place();
        let values = self.file.group_attributes(&self.group, &place)?;
        let mut attributes = SessionAttributes::default();
        let mut others = Vec::new();
        for (name, value) in values {
            match value.as_str() {
                Some(text) if set_known_text(&mut attributes, &name, text) => {}
                _ if name == "created_at" && value.as_f64().is_some() => {
                    attributes.created_at = value.as_f64().unwrap_or_default();
                }
                _ => others.push((name, value)),
            }
        }
        if !others.is_empty() {
            self.file.start_operation();
            let types = self
                .group
                .attr_datatypes()
                .map_err(|error| self.file.format_error(&place, error))?;
            attributes.other = others
                .into_iter()
                .filter_map(|(name, value)| {
                    let value = carried_attribute(&value, types.get(&name))?;
                    Some((name, value))
                })
                .collect();
            attributes.other.sort_by(|a, b| a.0.cmp(&b.0));
        }
        Ok(attributes)
    }

    /// Number of messages.
    pub fn message_count(&self) -> Result<u64> {
        Columns::open(self, MESSAGES)?.map_or(Ok(0), |columns| columns.message_rows())
    }

    /// Number of tool calls.
    pub fn tool_call_count(&self) -> Result<u64> {
        Columns::open(self, TOOL_CALLS)?.map_or(Ok(0), |columns| columns.call_rows())
    }

    /// Returns the last `count` messages, oldest first, without those that others appended although they are there already. Tokens of an
    /// answer are in one of its messages only.
    pub fn tail(&self, count: u64) -> Result<Vec<Message>> {
        let Some(columns) = Columns::open(self, MESSAGES)? else {
            return Ok(Vec::new());
        };
        let Some(appended) = columns.appended_rows()? else {
            let end = columns.message_rows()?;
            return read_messages(&columns, end.saturating_sub(count)..end);
        };
        let mut messages = Vec::new();
        for rows in appended.last_rows(count) {
            for (row, mut message) in rows.clone().zip(read_messages(&columns, rows)?) {
                message.usage = appended.counted_usage(row).unwrap_or(message.usage);
                messages.push(message);
            }
        }
        Ok(messages)
    }

    /// Returns the messages of these rows, as far as they exist.
    pub fn messages(&self, rows: Range<u64>) -> Result<Vec<Message>> {
        let Some(columns) = Columns::open(self, MESSAGES)? else {
            return Ok(Vec::new());
        };
        let end = columns.message_rows()?.min(rows.end);
        read_messages(&columns, rows.start.min(end)..end)
    }

    /// Returns the ids of messages of ours, which have a number of an event.
    pub(crate) fn own_message_ids(&self) -> Result<HashSet<String>> {
        let mut ids = HashSet::new();
        let Some(columns) = Columns::open(self, MESSAGES)? else {
            return Ok(ids);
        };
        // Others append without a number.
        let rows = columns.message_rows()?.min(columns.dataset_rows("seq")?);
        for window in windows_of(0..rows) {
            let numbers = columns.read_numbers("seq", window.clone())?;
            let texts = columns.read_texts("uuid", window)?;
            let own = texts.into_iter().zip(numbers);
            let own = own.filter(|(id, number)| *number > 0.0 && !id.is_empty());
            ids.extend(own.map(|(id, _)| id));
        }
        Ok(ids)
    }

    /// Calls `visit` with the JSON of every message, in windows of rows.
    pub(crate) fn visit_message_json(&self, mut visit: impl FnMut(&str)) -> Result<()> {
        let Some(columns) = Columns::open(self, MESSAGES)? else {
            return Ok(());
        };
        for window in windows_of(0..columns.message_rows()?) {
            let mut ranges = columns.read_fields("content_index", window, CONTENT_FIELDS)?;
            for range in &mut ranges {
                // Without the text.
                range[1] = 0;
            }
            for [_, json] in columns.read_text_pairs("content_bytes", &ranges)? {
                visit(&json);
            }
        }
        Ok(())
    }

    /// Returns the ids of the messages of each tool call: of the call and of the result.
    pub(crate) fn call_message_ids(&self) -> Result<Vec<[String; 2]>> {
        let mut ids = Vec::new();
        let Some(columns) = Columns::open(self, TOOL_CALLS)? else {
            return Ok(ids);
        };
        for window in windows_of(0..columns.call_rows()?) {
            let calls = columns.read_texts("message_uuid", window.clone())?;
            let results = columns.read_texts("result_uuid", window)?;
            ids.extend(calls.into_iter().zip(results).map(<[String; 2]>::from));
        }
        Ok(ids)
    }

    /// Returns the sum of the tokens of all messages, those of rows that others appended to ours counted once.
    pub fn sum_usage(&self) -> Result<TokenUsage> {
        match Columns::open(self, MESSAGES)? {
            Some(columns) => columns.sum_usage(),
            None => Ok(TokenUsage::default()),
        }
    }

    /// Returns the tool calls of these rows, as far as they exist.
    pub fn tool_calls(&self, rows: Range<u64>) -> Result<Vec<ToolCall>> {
        let Some(columns) = Columns::open(self, TOOL_CALLS)? else {
            return Ok(Vec::new());
        };
        let end = columns.call_rows()?.min(rows.end);
        let mut calls = Vec::new();
        for window in windows_of(rows.start.min(end)..end) {
            let [ids, messages, names, results] =
                CALL_TEXTS.map(|name| columns.read_texts(name, window.clone()));
            let texts = ids?.into_iter().zip(messages?).zip(names?).zip(results?);
            let times = columns.read_numbers("timestamp", window.clone())?;
            let errors = columns.read_numbers("is_error", window.clone())?;
            let contents = columns.read_text_pairs(
                "call_bytes",
                &columns.read_fields("call_index", window, CALL_FIELDS)?,
            )?;
            for (
                (((((tool_use_id, message_uuid), name), result_uuid), timestamp), is_error),
                [args, result],
            ) in texts.zip(times).zip(errors).zip(contents)
            {
                calls.push(ToolCall {
                    tool_use_id,
                    message_uuid,
                    name,
                    result_uuid,
                    timestamp,
                    is_error: is_error != 0.0,
                    args,
                    result,
                });
            }
        }
        Ok(calls)
    }

    /// Number of artifacts.
    pub(super) fn artifact_count(&self) -> Result<u64> {
        let place = format!("{}/{ARTIFACTS}", self.place());
        match self.file.child_group(&self.group, ARTIFACTS, &place)? {
            Some(group) => Ok(self.file.child_datasets(&group, &place)?.len() as u64),
            None => Ok(0),
        }
    }

    /// Returns all artifacts, sorted by name.
    pub fn artifacts(&self) -> Result<Vec<Artifact>> {
        self.artifacts_named(|_| true)
    }

    /// Returns the artifacts with these names, sorted by name.
    pub(super) fn artifacts_named(&self, is_read: impl Fn(&str) -> bool) -> Result<Vec<Artifact>> {
        let place = format!("{}/{ARTIFACTS}", self.place());
        let Some(group) = self.file.child_group(&self.group, ARTIFACTS, &place)? else {
            return Ok(Vec::new());
        };
        let mut artifacts = Vec::new();
        for (name, dataset) in self.file.child_datasets(&group, &place)? {
            if !is_read(&name) {
                continue;
            }
            let place = format!("{place}/{name}");
            let shape = self.file.check_shape(&dataset, &place)?;
            self.file.check_fits_memory(&shape, &place)?;
            self.file.start_operation();
            let attributes = dataset
                .attrs()
                .map_err(|error| self.file.format_error(&place, error))?;
            self.file.start_operation();
            let bytes = dataset
                .read_raw()
                .map_err(|error| self.file.format_error(&place, error))?;
            artifacts.push(Artifact {
                media_type: text_attribute(&attributes, "media_type"),
                origin: text_attribute(&attributes, "origin"),
                bytes,
                name,
            });
        }
        artifacts.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(artifacts)
    }

    /// Returns the whole session, with its artifacts and logs.
    pub fn read(&self) -> Result<SessionColumns> {
        Ok(SessionColumns {
            id: self.id.clone(),
            attributes: self.attributes()?,
            messages: self.messages(0..u64::MAX)?,
            tool_calls: self.tool_calls(0..u64::MAX)?,
            artifacts: self.artifacts()?,
            logs: self.read_logs()?,
            ..SessionColumns::default()
        })
    }
}

/// Divides rows into those that are read together.
fn windows_of(rows: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let starts = rows.clone().step_by(WINDOW_ROWS as usize);
    starts.map(move |start| start..rows.end.min(start + WINDOW_ROWS))
}

impl Columns<'_> {
    /// Sums the column `usage`. Rows that are only allocated are zero.
    pub(super) fn sum_usage(&self) -> Result<TokenUsage> {
        let appended = self.appended_rows()?;
        let mut sum = TokenUsage::default();
        let mut rows = 0..self.dataset_rows("usage")?;
        if let Some(appended) = appended {
            sum = appended.counted_total();
            rows = appended.own_rows();
        }
        for start in rows.clone().step_by(SUM_ROWS as usize) {
            let window = start..rows.end.min(start + SUM_ROWS);
            for values in self.read_fields("usage", window, USAGE_FIELDS)? {
                sum.add_usage(&usage_from(values));
            }
        }
        Ok(sum)
    }
}

pub(super) fn usage_from(
    [
        input_tokens,
        output_tokens,
        cache_creation_input_tokens,
        cache_read_input_tokens,
    ]: [i64; 4],
) -> TokenUsage {
    TokenUsage {
        input_tokens,
        output_tokens,
        cache_creation_input_tokens,
        cache_read_input_tokens,
    }
}

pub(super) fn read_messages(columns: &Columns<'_>, rows: Range<u64>) -> Result<Vec<Message>> {
    let mut messages = Vec::new();
    for window in windows_of(rows) {
        let [uuids, parents, kinds, roles, models] =
            MESSAGE_TEXTS.map(|name| columns.read_texts(name, window.clone()));
        let texts = uuids?
            .into_iter()
            .zip(parents?)
            .zip(kinds?)
            .zip(roles?)
            .zip(models?);
        let times = columns.read_numbers("timestamp", window.clone())?;
        let seqs = columns.read_numbers("seq", window.clone())?;
        let usages = columns.read_fields("usage", window.clone(), USAGE_FIELDS)?;
        let contents = columns.read_text_pairs(
            "content_bytes",
            &columns.read_fields("content_index", window.clone(), CONTENT_FIELDS)?,
        )?;
        let marks = columns.read_numbers("has_embedding", window.clone())?;
        let (numbers, length) = if marks.contains(&1.0) {
            columns.read_embeddings(window)?
        } else {
            Default::default()
        };
        let rows = texts
            .zip(times)
            .zip(seqs)
            .zip(usages)
            .zip(contents)
            .enumerate();
        for (
            row,
            (
                (((((((uuid, parent_uuid), kind), role), model), timestamp), seq), usage),
                [text, json],
            ),
        ) in rows
        {
            let embedding = if marks[row] == 1.0 {
                numbers
                    .get(row * length..(row + 1) * length)
                    .map(<[f32]>::to_vec)
            } else {
                None
            };
            messages.push(Message {
                seq: seq as u32,
                uuid,
                parent_uuid,
                kind,
                role,
                model,
                timestamp,
                usage: usage_from(usage),
                text,
                json,
                embedding,
            });
        }
    }
    Ok(messages)
}
