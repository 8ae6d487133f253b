//! What follows the model's answer: results of tools, and what happens to the conversation.

use serde_json::{Value, json};

use super::Writer;
use crate::nothing_lost::dice::with;

impl Writer<'_> {
    /// Writes the results of calls, most in a record each.
    pub(super) fn write_results(&mut self, mut calls: Vec<(String, &'static str)>) {
        while !calls.is_empty() {
            let count = if self.dice.percent(80) { 1 } else { 2 };
            let answered: Vec<_> = calls.drain(..count.min(calls.len())).collect();
            // Some calls are never answered.
            if self.dice.percent(90) {
                self.write_result(&answered);
            }
        }
    }

    fn write_result(&mut self, answered: &[(String, &'static str)]) {
        let mut more = json!({});
        let denial = match self.dice.below(6) {
            0 => json!("user-rejected"),
            1 => json!(self.dice.name("denial")),
            _ => Value::Null,
        };
        if !denial.is_null() {
            more["toolDenialKind"] = denial.clone();
            more["userFeedback"] = self.dice.maybe("feedback");
        }
        let todos = json!([{"content": self.dice.text("todo"), "status": "completed"}]);
        let mut twin = json!({"status": self.dice.name("status"), "durationMs": self.dice.count(), "newTodos": todos});
        self.dice
            .thin_out(&mut twin, &["status", "durationMs", "newTodos"]);
        let has_twin = self.dice.percent(70);
        if has_twin {
            more["toolUseResult"] = twin.clone();
        }
        let mut blocks = Vec::new();
        let mut events = Vec::new();
        for (id, tool) in answered {
            let text = self.dice.text("output");
            let is_error = !denial.is_null() || self.dice.percent(30);
            let content = match self.dice.percent(50) {
                true => json!(text),
                false => json!([{"type": "text", "text": text}]),
            };
            let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
            if is_error || self.dice.percent(50) {
                block["is_error"] = json!(is_error);
            }
            blocks.push(block);
            let is_denied = !denial.is_null();
            let outcome = match (is_denied, is_error) {
                (true, _) => "denied",
                (_, true) => "error",
                _ => "success",
            };
            let marks = if is_denied {
                json!(["denied"])
            } else {
                json!([])
            };
            let mut event = json!({
                "kind": "tool_result", "text": text, "tool_use_id": id, "tool": tool, "error": is_error, "marks": marks,
                "outcome": outcome, "status": denial,
            });
            let has_own_twin = has_twin && answered.len() == 1;
            if has_own_twin && twin["status"].is_string() {
                event["status"] = twin["status"].clone();
            }
            if has_twin && twin["durationMs"].is_number() {
                event["duration_ms"] = twin["durationMs"].clone();
            }
            events.push(event);
        }
        let common = self.write(
            "user",
            with(
                json!({"message": {"role": "user", "content": blocks}}),
                more.clone(),
            ),
        );
        for event in events {
            self.expect_event(&common, event);
        }
        if has_twin && twin["newTodos"].is_array() {
            self.expect_telemetry("plan_updates", json!({"value": todos}));
        }
        if !denial.is_null() {
            let value = json!({"toolDenialKind": denial, "userFeedback": more["userFeedback"]});
            let item = json!({"tool_use_id": answered[0].0, "value": value, "timestamp": common["timestamp"]});
            self.expect_telemetry("approvals", item);
        }
    }

    pub(super) fn write_compaction(&mut self) {
        let metadata = json!({"trigger": "auto", "preTokens": self.dice.count()});
        let boundary = self.write(
            "system",
            json!({"subtype": "compact_boundary", "content": "Conversation compacted", "compactMetadata": metadata}),
        );
        let item =
            json!({"value": {"compactMetadata": metadata}, "timestamp": boundary["timestamp"]});
        self.expect_telemetry("compactions", item);
        let text = self.dice.text("summary");
        let message = json!({"role": "user", "content": text});
        let common = self.write(
            "user",
            json!({"isCompactSummary": true, "message": message}),
        );
        self.expect_event(
            &common,
            json!({"kind": "summary", "text": text, "marks": ["compacted"]}),
        );
    }

    pub(super) fn write_interruption(&mut self) {
        let text = "[Request interrupted by user]";
        let content = json!([{"type": "text", "text": text}]);
        let common = self.write(
            "user",
            json!({"message": {"role": "user", "content": content}}),
        );
        self.expect_event(
            &common,
            json!({"kind": "system", "text": text, "marks": ["interrupted"]}),
        );
    }

    pub(super) fn write_api_error(&mut self) {
        let text = self.dice.text("refused");
        let message = json!({
            "id": self.dice.name("msg"), "role": "assistant", "model": "<synthetic>", "stop_reason": "stop_sequence",
            "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 0, "output_tokens": 0},
        });
        let more = json!({"isApiErrorMessage": true, "error": self.dice.name("error"), "message": message});
        let common = self.write("assistant", more.clone());
        let event =
            json!({"kind": "system", "text": text, "error": true, "stop_reason": "stop_sequence"});
        self.expect_event(&common, event);
        let item = json!({"name": "api_error", "value": {"error": more["error"]}});
        self.expect_telemetry("other", item);
    }

    pub(super) fn write_hook_summary(&mut self) {
        let infos = json!([{"command": self.dice.text("hook"), "durationMs": self.dice.count()}]);
        let common = self.write(
            "system",
            json!({"subtype": "stop_hook_summary", "hookInfos": infos}),
        );
        let item = json!({"name": "stop_hook_summary", "value": {"hookInfos": infos}, "timestamp": common["timestamp"]});
        self.expect_telemetry("other", item);
    }
}
