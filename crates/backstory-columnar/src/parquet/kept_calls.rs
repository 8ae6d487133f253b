//! Tool calls that are copied out of an old file because their text is evicted, and what the memory still knows of them.

use std::collections::HashSet;

use super::column_buffer::Value;
use super::schema::Table;
use super::tool_calls::ToolCallRow;

/// Columns that the result knows better than the call.
const RESULT_COLUMNS: [&str; 3] = ["status", "exit_code", "duration_ms"];

/// Copied tool calls of a session.
#[derive(Default)]
pub(super) struct KeptCalls {
    /// Events of rows with results, which were copied.
    copied: HashSet<i64>,
    /// Rows without a result, which the memory may have.
    unanswered: Vec<ToolCallRow>,
}

impl KeptCalls {
    /// Takes a row of an old file, and returns it if nothing can be added to it.
    pub(super) fn collect_row(&mut self, row: Vec<Value>) -> Option<Vec<Value>> {
        if row[column_index("result_seq")] != Value::Null {
            self.copied.extend(call_and_result_seqs(&row));
            return Some(row);
        }
        let row = ToolCallRow::try_from(row);
        row.map(|row| self.unanswered.push(row)).err()
    }

    /// Returns the row to write for one of the memory: with the call that an old file has, or none if all of it is copied already.
    pub(super) fn merge_call(&mut self, row: ToolCallRow) -> Option<ToolCallRow> {
        // A call can have several results.
        if (call_and_result_seqs(&row).last()).is_some_and(|seq| self.copied.contains(&seq)) {
            return None;
        }
        let is_same = |old: &ToolCallRow, name: &str| {
            let column = column_index(name);
            old[column] != Value::Null && old[column] == row[column]
        };
        let is_call = |old: &ToolCallRow| is_same(old, "call_seq") || is_same(old, "tool_use_id");
        let Some(found) = self.unanswered.iter().position(is_call) else {
            return Some(row);
        };
        let mut merged = self.unanswered.swap_remove(found);
        let columns = Table::ToolCalls.columns().iter();
        for ((old, new), column) in merged.iter_mut().zip(row).zip(columns) {
            let is_of_result = RESULT_COLUMNS.contains(&column.name) && new != Value::Null;
            if *old == Value::Null || is_of_result {
                *old = new;
            }
        }
        Some(merged)
    }

    /// Returns the rows whose results are not known.
    pub(super) fn into_unanswered(self) -> Vec<ToolCallRow> {
        self.unanswered
    }
}

/// Returns the events of the call and of its result.
fn call_and_result_seqs(row: &[Value]) -> impl Iterator<Item = i64> + '_ {
    let columns = ["call_seq", "result_seq"].into_iter();
    columns.filter_map(|column| match row.get(column_index(column)) {
        Some(Value::Integer(seq)) => Some(*seq),
        _ => None,
    })
}

fn column_index(name: &str) -> usize {
    let mut columns = Table::ToolCalls.columns().iter();
    columns
        .position(|column| column.name == name)
        .unwrap_or_default()
}
