//! Turns of `chat_history.jsonl`, which is read where there is no log: without times.

use serde_json::{Value, json};

use super::Writer;
use crate::nothing_lost::dice::with;

impl Writer<'_> {
    /// Writes a message; returns what its events have in common.
    fn write_message(&mut self, kind: &str, more: Value) -> Value {
        let mut message = json!({"type": kind, "id": self.dice.name("message")});
        self.dice.thin_out(&mut message, &["id"]);
        let message = with(message, more);
        self.lines.push(format!("{message}\n"));
        json!({
            "uuid": message["id"], "parent_uuid": null, "effort": message["reasoning_effort"], "model": message["model_id"],
            "source_path": self.path.display().to_string(), "source_line": self.lines.len(), "timestamp": null,
        })
    }

    fn expect_message(&mut self, common: &Value, more: Value) {
        let mut event = with(common.clone(), more);
        let fields = event.as_object_mut().unwrap();
        // Where it stands in time is only known of the session.
        fields.remove("timestamp");
        fields.insert("timestamp".to_string(), Value::Null);
        self.expect_event(event, json!({}));
    }

    pub(super) fn write_history_turn(&mut self) {
        let text = self.dice.text("prompt");
        let content = json!([{"type": "text", "text": text}]);
        let common = self.write_message("user", json!({"content": content}));
        self.expect_message(
            &common,
            json!({"kind": "prompt", "text": text, "images": []}),
        );
        for _ in 0..1 + self.dice.below(3) {
            self.write_answer();
        }
    }

    fn write_answer(&mut self) {
        if self.dice.percent(40) {
            let text = self.dice.text("thought");
            let summary = json!([{"type": "summary_text", "text": text}]);
            let common = self.write_message("reasoning", json!({"summary": summary}));
            self.expect_message(&common, json!({"kind": "reasoning", "text": text}));
        }
        let text = self.dice.text("reply");
        let call = self.dice.name("call");
        let arguments = json!({"about": self.dice.text("asked")}).to_string();
        let calls = match self.dice.percent(50) {
            true => json!([{"id": call, "name": "grep", "arguments": arguments}]),
            false => json!([]),
        };
        let mut answer = json!({
            "content": text, "tool_calls": calls, "model_id": self.dice.name("model"), "reasoning_effort": self.dice.name("effort"),
        });
        self.dice.thin_out(&mut answer, &["reasoning_effort"]);
        let common = self.write_message("assistant", answer);
        self.model = common["model"].clone();
        self.expect_message(&common, json!({"kind": "reply", "text": text}));
        self.session.set_context("effort", common.get("effort"));
        if calls == json!([]) {
            return;
        }
        let event = json!({"kind": "tool_call", "text": arguments, "tool_use_id": call, "tool": "grep", "tool_class": "search"});
        self.expect_message(&common, event);
        let text = self.dice.text("output");
        let common = self.write_message(
            "tool_result",
            json!({"tool_call_id": call, "content": text}),
        );
        let event = json!({"kind": "tool_result", "text": text, "tool_use_id": call, "tool": "grep", "outcome": "success"});
        self.expect_message(&common, event);
    }
}
