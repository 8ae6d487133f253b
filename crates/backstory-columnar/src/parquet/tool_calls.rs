//! Rows of the table of tool calls: a call and its result, which are two events.

use std::collections::BTreeMap;

use ::parquet::data_type::ByteArray;
use backstory_memory::{Kind, Seq, ToolClass, TurnNo};

use super::column_buffer::Value;
use super::row_values::{SessionNames, SharedEvent};
use super::schema::TOOL_CALL_COLUMNS;

/// Maximum memory of calls that wait for their results; beyond it, the oldest one is written without.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// Bytes that a call takes beside its texts.
const CALL_BYTES: usize = 400;

pub(super) type ToolCallRow = [Value; TOOL_CALL_COLUMNS.len()];

/// Calls of a session that wait for their results.
#[derive(Default)]
pub(super) struct ToolCalls {
    waiting: BTreeMap<Seq, Call>,
    bytes: usize,
}

#[derive(Default)]
struct Call {
    turn: TurnNo,
    tool_use_id: Option<String>,
    tool: Option<String>,
    tool_class: Option<&'static str>,
    arguments: Option<ByteArray>,
    input_text: Option<ByteArray>,
    command: Option<ByteArray>,
    files: Vec<String>,
    status: Option<String>,
    exit_code: Option<i64>,
    started_at: Option<i64>,
    duration_ms: Option<i64>,
    model: Option<String>,
}

impl Call {
    fn memory_bytes(&self) -> usize {
        let texts = [&self.arguments, &self.input_text, &self.command];
        let texts = texts
            .into_iter()
            .flatten()
            .map(ByteArray::len)
            .sum::<usize>();
        texts + self.files.iter().map(String::len).sum::<usize>() + CALL_BYTES
    }
}

impl ToolCalls {
    /// Takes an event, and returns the row that is complete with it.
    pub(super) fn add_event(
        &mut self,
        names: &SessionNames,
        event: &SharedEvent,
    ) -> Option<ToolCallRow> {
        let record = &event.record;
        if record.kind == Kind::ToolCall.name() {
            // Nothing is known of an empty text that is damaged.
            let has_text = !record.damaged || !event.text.is_empty();
            let is_text = event.arguments.is_none() && has_text;
            let call = Call {
                turn: record.turn,
                tool_use_id: record.tool_use_id.clone(),
                tool: record.tool.clone(),
                tool_class: record.tool_class.map(ToolClass::name),
                arguments: event.arguments.clone(),
                input_text: is_text.then(|| event.text.clone()),
                command: event.command.clone(),
                files: record.files.clone(),
                status: record.status.clone(),
                exit_code: record.exit_code,
                started_at: event.at,
                duration_ms: record.duration_ms,
                model: record.model.clone(),
            };
            self.bytes += call.memory_bytes();
            self.waiting.insert(record.seq, call);
            return (self.bytes > MAX_WAITING_BYTES)
                .then(|| self.next_unanswered(names))
                .flatten();
        }
        if record.kind != Kind::ToolResult.name() {
            return None;
        }
        let call = record.call.and_then(|seq| self.waiting.remove(&seq));
        if let Some(call) = &call {
            self.bytes = self.bytes.saturating_sub(call.memory_bytes());
        }
        Some(tool_call_row(names, record.call, call, Some(event)))
    }

    /// Returns the row of the oldest call that has no result.
    pub(super) fn next_unanswered(&mut self, names: &SessionNames) -> Option<ToolCallRow> {
        let (seq, call) = self.waiting.pop_first()?;
        self.bytes = self.bytes.saturating_sub(call.memory_bytes());
        Some(tool_call_row(names, Some(seq), Some(call), None))
    }
}

fn tool_call_row(
    names: &SessionNames,
    seq: Option<Seq>,
    call: Option<Call>,
    result: Option<&SharedEvent>,
) -> ToolCallRow {
    let record = result.map(|result| &result.record);
    // Of a call whose text is gone, its result may still know something.
    let call = call.unwrap_or_else(|| Call {
        turn: record.map_or(TurnNo::ZERO, |record| record.turn),
        ..Call::default()
    });
    let class_of_result = || record?.tool_class.map(ToolClass::name);
    [
        (&names.agent).into(),
        (&names.session).into(),
        call.turn.count().into(),
        seq.map(Seq::count).into(),
        record.map(|record| record.seq.count()).into(),
        call.tool_use_id
            .or_else(|| record?.tool_use_id.clone())
            .into(),
        call.tool.or_else(|| record?.tool.clone()).into(),
        call.tool_class.or_else(class_of_result).into(),
        call.arguments.as_ref().into(),
        call.input_text.as_ref().into(),
        call.command.as_ref().into(),
        call.files.as_slice().into(),
        result.map(|result| &result.text).into(),
        record
            .and_then(|record| record.status.clone())
            .or(call.status)
            .into(),
        record.map(|record| record.error).into(),
        record
            .and_then(|record| record.exit_code)
            .or(call.exit_code)
            .into(),
        call.started_at.into(),
        result.and_then(|result| result.at).into(),
        record
            .and_then(|record| record.duration_ms)
            .or(call.duration_ms)
            .into(),
        call.model.into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::schema::Table;
    use super::*;

    #[test]
    fn a_damaged_call_without_a_result_has_no_text() {
        let columns = Table::ToolCalls.columns();
        let column = columns
            .iter()
            .position(|column| column.name == "input_text");
        for (damaged, is_null) in [(true, true), (false, false)] {
            let record = serde_json::json!({"seq": 1, "turn": 1, "kind": "tool_call", "role": "assistant", "text": "", "files": [],
                "images": [], "error": false, "marks": [], "live": false, "damaged": damaged});
            let event = SharedEvent::new(serde_json::from_value(record).unwrap());
            let names = SessionNames::new("toy", "one");
            let mut calls = ToolCalls::default();
            assert_eq!(calls.add_event(&names, &event), None);
            let row = calls.next_unanswered(&names).unwrap();
            assert_eq!(row[column.unwrap()] == Value::Null, is_null, "{damaged}");
        }
    }
}
