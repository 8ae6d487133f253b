//! Tool calls that others added to a session without a message that has them: the package's API writes such ones.

use std::collections::{HashSet, VecDeque};

use backstory_memory::WrittenRecord;
use serde_json::{Value, json};

use crate::error::Result;
use crate::rows::{SessionAttributes, ToolCall};
use crate::session_file::Session;

/// Number of rows that are read at once.
const ROWS_AT_ONCE: u64 = 1000;

/// Calls and results that no message of a session has, in their order.
#[derive(Default)]
pub(crate) struct AddedCalls {
    calls: VecDeque<AddedCall>,
}

struct AddedCall {
    id: String,
    row: ToolCall,
    has_call: bool,
    has_result: bool,
}

impl AddedCalls {
    /// Finds the calls of a session that no message and no log has. What messages have is read only if there may be such calls.
    pub(crate) fn find(session: &Session<'_>) -> Result<Self> {
        let mut found = AddedCalls::default();
        if session.tool_call_count()? == 0 {
            return Ok(found);
        }
        let own = session.own_message_ids()?;
        let mut others = Vec::new();
        for (number, [call, result]) in (0_u64..).zip(session.call_message_ids()?) {
            if !own.contains(&call)
                && !own.contains(&result)
                && !session.is_logged(&call)?
                && !session.is_logged(&result)?
            {
                others.push(number);
            }
        }
        if others.is_empty() {
            return Ok(found);
        }
        let mut known = KnownCalls::default();
        session.visit_message_json(|json| known.add_content(json))?;
        let mut seen = HashSet::new();
        for numbers in others.chunk_by(|a, b| a / ROWS_AT_ONCE == b / ROWS_AT_ONCE) {
            let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else {
                continue;
            };
            let calls = session.tool_calls(*first..last + 1)?;
            for (number, row) in (*first..).zip(calls) {
                if numbers.binary_search(&number).is_err() {
                    continue;
                }
                let id = match row.tool_use_id.is_empty() {
                    // Unlike those of other sessions: records of the same id are one.
                    true => format!("{}-call-{number}", session.id()),
                    false => row.tool_use_id.clone(),
                };
                let call = AddedCall {
                    has_call: !row.name.is_empty() && !known.calls.contains(&id),
                    has_result: !row.result.is_empty() && !known.results.contains(&id),
                    id,
                    row,
                };
                if (call.has_call || call.has_result) && seen.insert(call.id.clone()) {
                    found.calls.push_back(call);
                }
            }
        }
        Ok(found)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Takes the lines of a log of the next call, if it is from before a time.
    pub(crate) fn next_log_lines(
        &mut self,
        before: f64,
        session: &str,
        attributes: &SessionAttributes,
    ) -> Option<Vec<String>> {
        let next = self.calls.front()?;
        if next.row.timestamp > before {
            return None;
        }
        let call = self.calls.pop_front()?;
        Some(call.into_lines(session, attributes))
    }
}

/// Calls and results in messages.
#[derive(Default)]
struct KnownCalls {
    calls: HashSet<String>,
    results: HashSet<String>,
}

impl KnownCalls {
    fn add_content(&mut self, json: &str) {
        if !json.contains("\"tool_") {
            return;
        }
        let content = serde_json::from_str::<Value>(json).unwrap_or_default();
        for block in content.as_array().into_iter().flatten() {
            let (ids, id) = match block["type"].as_str() {
                Some("tool_use") => (&mut self.calls, &block["id"]),
                Some("tool_result") => (&mut self.results, &block["tool_use_id"]),
                _ => continue,
            };
            ids.extend(id.as_str().map(str::to_string));
        }
    }
}

impl AddedCall {
    fn into_lines(self, session: &str, attributes: &SessionAttributes) -> Vec<String> {
        let AddedCall { id, row, .. } = &self;
        let call_record = format!("{id}-call");
        let result_record = format!("{id}-result");
        let record = |kind, uuid, parent_uuid, content| WrittenRecord {
            kind,
            uuid,
            parent_uuid,
            session: attributes.session_id_original.as_deref().unwrap_or(session),
            seconds: row.timestamp,
            cwd: &attributes.cwd,
            git_branch: &attributes.git_branch,
            agent_version: &attributes.agent_version,
            role: kind,
            content,
            response: uuid,
            request: "",
            model: "",
            tokens: [0; 4],
        };
        let mut lines = Vec::new();
        if self.has_call {
            let parsed = serde_json::from_str(&row.args);
            let input: Value = parsed.unwrap_or_else(|_| row.args.clone().into());
            let block = json!([{"type": "tool_use", "id": id, "name": row.name, "input": input}]);
            lines.push(record("assistant", &call_record, &row.message_uuid, block).into_line());
        }
        if self.has_result {
            let block = json!([{"type": "tool_result", "tool_use_id": id, "content": row.result, "is_error": row.is_error}]);
            let parent = match self.has_call {
                true => &call_record,
                false => &row.message_uuid,
            };
            lines.push(record("user", &result_record, parent, block).into_line());
        }
        lines
    }
}
