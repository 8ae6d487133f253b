//! Answers of the model: thoughts, replies and calls, with what they used.

use serde_json::{Value, json};

use super::Writer;
use crate::nothing_lost::dice::with;

const TOOLS: [(&str, &str); 9] = [
    ("Bash", "run"),
    ("Read", "read"),
    ("Edit", "write"),
    ("Grep", "search"),
    ("WebFetch", "web"),
    ("Task", "agent"),
    ("TodoWrite", "plan"),
    ("mcp__till__count", "mcp"),
    ("CoinSorter", "other"),
];

impl Writer<'_> {
    /// An answer of the model: several records of one message, then what the tools gave back.
    pub(super) fn write_message(&mut self) {
        let (id, request, model) = (
            self.dice.name("msg"),
            self.dice.name("req"),
            self.dice.name("model"),
        );
        let (usage, shown) = self.make_usage();
        let mut first = None;
        let mut calls = Vec::new();
        let blocks = 1 + self.dice.below(4);
        for block in 0..blocks {
            let stop = self.dice.maybe("stop");
            let (content, event) = self.make_block(&mut calls);
            // Counts grow while it streams; the last ones count.
            let mut usage = usage.clone();
            if block + 1 < blocks && usage.is_object() {
                usage["output_tokens"] = json!(
                    self.dice
                        .below(1 + usage["output_tokens"].as_u64().unwrap())
                );
            }
            let message = json!({"id": id, "role": "assistant", "model": model, "stop_reason": stop, "content": [content], "usage": usage});
            let common = self.write(
                "assistant",
                json!({"requestId": request, "message": message}),
            );
            let event = with(event, json!({"model": model, "stop_reason": stop}));
            let event = self.expect_event(&common, event);
            first.get_or_insert(event);
        }
        if let (Some(first), Some(shown)) = (first, shown) {
            self.session.push_usage(first, &shown);
        }
        self.write_results(calls);
    }

    fn make_usage(&mut self) -> (Value, Option<Value>) {
        if self.dice.percent(10) {
            return (Value::Null, None);
        }
        let (minutes, hour) = (self.dice.count(), self.dice.count());
        let mut usage = json!({
            "input_tokens": self.dice.count(), "output_tokens": 1 + self.dice.count(),
            "cache_read_input_tokens": self.dice.count(), "cache_creation_input_tokens": minutes + hour,
            "cache_creation": {"ephemeral_5m_input_tokens": minutes, "ephemeral_1h_input_tokens": hour},
            "output_tokens_details": {"thinking_tokens": self.dice.count()},
            "server_tool_use": {"web_search_requests": self.dice.below(9), "web_fetch_requests": self.dice.below(9)},
            "service_tier": self.dice.pick(&["standard", "priority", "batch"]), "speed": "standard",
        });
        let optional = [
            "cache_read_input_tokens",
            "cache_creation",
            "output_tokens_details",
            "server_tool_use",
            "service_tier",
            "speed",
        ];
        self.dice.thin_out(&mut usage, &optional);
        let count = |value: &Value| json!(value.as_u64().unwrap_or(0));
        let hour = count(&usage["cache_creation"]["ephemeral_1h_input_tokens"]);
        let shown = json!({
            "input": usage["input_tokens"], "output": usage["output_tokens"], "cache_read": count(&usage["cache_read_input_tokens"]),
            "cache_write_5m": minutes + usage["cache_creation_input_tokens"].as_u64().unwrap() - minutes - hour.as_u64().unwrap(),
            "cache_write_1h": hour, "reasoning": count(&usage["output_tokens_details"]["thinking_tokens"]),
            "server_tools": {
                "web_search_requests": count(&usage["server_tool_use"]["web_search_requests"]),
                "web_fetch_requests": count(&usage["server_tool_use"]["web_fetch_requests"]),
            },
            "service_tier": usage["service_tier"],
        });
        (usage, Some(shown))
    }

    /// A block of an answer, and the event that it is.
    fn make_block(&mut self, calls: &mut Vec<(String, &'static str)>) -> (Value, Value) {
        let text = self.dice.text("said");
        match self.dice.below(5) {
            0 => (
                json!({"type": "thinking", "thinking": text, "signature": "c2ln"}),
                json!({"kind": "reasoning", "text": text}),
            ),
            1 | 2 => (
                json!({"type": "text", "text": text}),
                json!({"kind": "reply", "text": text}),
            ),
            _ => {
                let (id, (tool, class)) = (self.dice.name("toolu"), self.dice.pick(&TOOLS));
                let path = format!("/home/ada/{}", self.dice.name("file"));
                let (input, files) = match tool {
                    "Bash" => (
                        json!({"command": text, "timeout": self.dice.count()}),
                        json!([]),
                    ),
                    "Read" => (
                        json!({"file_path": path, "limit": self.dice.count()}),
                        json!([path]),
                    ),
                    "Edit" => (
                        json!({"file_path": path, "old_string": "a", "new_string": text}),
                        json!([path]),
                    ),
                    _ => (
                        json!({"query": text, "deep": [{"more": self.dice.count()}]}),
                        json!([]),
                    ),
                };
                let (said, arguments) = match tool {
                    "Bash" => (text, json!(input.to_string())),
                    _ => (input.to_string(), Value::Null),
                };
                calls.push((id.clone(), tool));
                (
                    json!({"type": "tool_use", "id": id, "name": tool, "input": input}),
                    json!({"kind": "tool_call", "text": said, "arguments": arguments, "tool_use_id": id, "tool": tool,
                        "tool_class": class, "files": files}),
                )
            }
        }
    }
}
