//! Turns of `updates.jsonl`, with what `events.jsonl` says of them.

use serde_json::{Value, json};

use super::Writer;
use crate::nothing_lost::dice::with;

const TOOLS: [(&str, &str); 7] = [
    ("run_terminal_cmd", "run"),
    ("read_file", "read"),
    ("search_replace", "write"),
    ("grep", "search"),
    ("web_fetch", "web"),
    ("task", "agent"),
    ("coin_sorter", "other"),
];

impl Writer<'_> {
    pub(super) fn write_turn(&mut self, number: u64) {
        self.answer = None;
        self.prompt = self.dice.maybe("prompt");
        let model = self.dice.name("model");
        let is_unasked = self.dice.percent(50);
        if self.is_unasked.is_some_and(|before| before != is_unasked) {
            self.write_event("yolo_toggled", json!({"enabled": is_unasked}));
        }
        let was_unasked = self.is_unasked.replace(is_unasked).is_some_and(|was| was);
        let started = json!({"session_id": self.id, "turn_number": number, "model_id": model, "yolo_mode": is_unasked});
        let began = self.write_event("turn_started", started.clone());
        self.write_prompt(number, &model);
        let first = self.write_event("first_token", json!({}));
        for _ in 0..1 + self.dice.below(4) {
            match self.dice.below(3) {
                0 => self.write_text("agent_thought_chunk", "reasoning"),
                1 => self.write_text("agent_message_chunk", "reply"),
                _ => self.write_call(),
            }
        }
        self.write_notice();
        self.write_usage(began);
        let outcome = self.dice.name("outcome");
        let ended = self.write_event("turn_ended", json!({"outcome": outcome}));
        self.expect_times(json!({"duration_ms": ended - began, "first_answer_ms": first - began}));
        if self.events.is_some() {
            self.expect_telemetry("other", json!({"name": "turn_started", "value": started}));
            self.expect_telemetry(
                "other",
                json!({"name": "turn_ended", "value": {"outcome": outcome}}),
            );
            let mode = if is_unasked {
                "bypassPermissions"
            } else {
                "default"
            };
            if is_unasked || was_unasked {
                self.session.expect("permission_mode", mode);
                self.session
                    .set_context("permission_mode", Some(&json!(mode)));
            }
        }
    }

    fn write_prompt(&mut self, number: u64, model: &str) {
        let effort = self.dice.name("effort");
        let is_changed = self.dice.percent(40);
        if is_changed {
            let changed = json!({"model_id": model, "reasoning_effort": effort});
            self.write("model_changed", changed);
        }
        let text = self.dice.text("prompt");
        let meta = json!({"modelId": model, "promptIndex": number});
        self.model = json!(model);
        let content = json!({"type": "text", "text": text});
        let common = self.write(
            "user_message_chunk",
            json!({"content": content, "_meta": meta}),
        );
        self.expect_event(
            common,
            json!({"kind": "prompt", "text": text, "images": []}),
        );
        self.session.set_context("model", Some(&json!(model)));
        if is_changed {
            self.session.set_context("effort", Some(&json!(effort)));
        }
    }

    /// Text comes in fragments; what its first record says counts.
    fn write_text(&mut self, update: &str, kind: &str) {
        let text = self.dice.text("said");
        let letters: Vec<char> = text.chars().collect();
        let length = 1 + self.dice.below(letters.len() as u64) as usize;
        let mut place = None;
        for fragment in letters.chunks(length) {
            let fragment: String = fragment.iter().collect();
            let content = json!({"type": "text", "text": fragment});
            let common = self.write(update, json!({"content": content}));
            place.get_or_insert(common);
        }
        let common = place.unwrap();
        self.expect_event(common, json!({"kind": kind, "text": text}));
        let entries = json!([{"content": self.dice.text("todo"), "status": "pending"}]);
        let plan = self.write("plan", json!({"entries": entries}));
        self.expect_telemetry(
            "plan_updates",
            json!({"value": {"entries": entries}, "timestamp": plan["timestamp"]}),
        );
        // It would go on with more of the same speaker.
        self.write_call();
    }

    fn write_call(&mut self) {
        let (call, (tool, class)) = (self.dice.name("call"), self.dice.pick(&TOOLS));
        let text = self.dice.text("asked");
        let (input, command) = match tool {
            "run_terminal_cmd" => (
                json!({"command": text, "timeout": self.dice.count()}),
                json!(text),
            ),
            _ => (
                json!({"about": text, "deep": [self.dice.count()]}),
                Value::Null,
            ),
        };
        let status = self.dice.pick(&["pending", "in_progress"]);
        let update = json!({
            "toolCallId": call, "title": tool, "kind": "other", "status": status, "rawInput": input,
        });
        let common = self.write("tool_call", update);
        let (said, arguments) = match command.is_null() {
            true => (json!(input.to_string()), Value::Null),
            false => (command.clone(), json!(input.to_string())),
        };
        let event = json!({
            "kind": "tool_call", "text": said, "arguments": arguments, "command": command, "tool_use_id": call, "tool": tool,
            "tool_class": class, "status": status,
        });
        self.expect_event(common, event);
        if self.dice.percent(20) {
            let request = json!({"tool_call_id": call, "kind": self.dice.name("kind")});
            let asked = self.write("pending_interaction", request.clone());
            let item =
                json!({"tool_use_id": call, "value": request, "timestamp": asked["timestamp"]});
            self.expect_telemetry("approvals", item);
        }
        // Some calls are never answered.
        if self.dice.percent(90) {
            self.write_result(&call, tool);
        }
    }

    fn write_result(&mut self, call: &str, tool: &str) {
        let text = self.dice.text("output");
        let status = self.dice.pick(&["completed", "failed", "cancelled"]);
        let (outcome, marks) = match status {
            "completed" => ("success", json!([])),
            "failed" => ("error", json!([])),
            _ => ("interrupted", json!(["interrupted"])),
        };
        let update = json!({"toolCallId": call, "status": status, "rawOutput": text});
        let common = self.write("tool_call_update", update);
        let event = json!({
            "kind": "tool_result", "text": text, "tool_use_id": call, "tool": tool, "status": status, "outcome": outcome,
            "marks": marks,
        });
        self.expect_event(common, event);
        let duration = self.dice.count();
        let done = json!({"tool_name": tool, "tool_call_id": call, "duration_ms": duration, "outcome": self.dice.name("outcome")});
        self.write_event("tool_completed", done.clone());
        if self.events.is_some() {
            let item = json!({"tool_use_id": call, "tool": tool, "duration_ms": duration, "outcome": done["outcome"]});
            self.expect_telemetry("other", item);
            let turn = self.session.turns.last_mut().unwrap();
            let action = turn["actions"].as_array_mut().unwrap().last_mut();
            action.unwrap()["duration_ms"] = json!(duration);
        }
    }

    fn write_notice(&mut self) {
        match self.dice.below(5) {
            0 => {
                let (used, window) = (self.dice.count(), self.window);
                let update = json!({"tokens_used": used, "context_window": window});
                let told = self.write("auto_compact_started", update.clone());
                let item = json!({"context_tokens": used, "context_window": window, "value": update, "timestamp": told["timestamp"]});
                self.expect_telemetry("token_counts", item);
                let text = self.dice.text("summary");
                let update = json!({"summary_preview": text, "tokens_after": self.dice.count()});
                let common = self.write("auto_compact_completed", update.clone());
                self.expect_event(
                    common,
                    json!({"kind": "summary", "text": text, "marks": ["compacted"]}),
                );
                self.expect_telemetry("compactions", json!({"value": update}));
            }
            1 => {
                let update = json!({"is_rate_limited": true, "attempt": self.dice.count(), "reason": self.dice.name("reason")});
                self.write("retry_state", update.clone());
                self.expect_telemetry("rate_limits", json!({"value": update}));
            }
            2 if self.events.is_none() => {
                let mode = self.dice.name("mode");
                self.write("current_mode_update", json!({"currentModeId": mode}));
                self.session.expect("permission_mode", mode);
            }
            3 => {
                let update = json!({"odd": self.dice.name("odd"), "many": [self.dice.count()]});
                self.write("coins_sorted", update.clone());
                self.expect_telemetry("other", json!({"name": "coins_sorted", "value": update}));
            }
            _ => {}
        }
    }

    /// Writes what the turn used, by model or as a whole.
    fn write_usage(&mut self, began: i64) {
        let mut usage = json!({"modelCalls": self.dice.count(), "costUsdTicks": self.dice.count()});
        let mut shown = Vec::new();
        let models = self.dice.below(3);
        let mut by_model = json!({});
        for _ in 0..models.max(1) {
            let (counts, counted) = self.make_counts();
            match models {
                0 => usage = with(usage, counts),
                _ => by_model[self.dice.name("model")] = counts,
            }
            shown.push(counted);
        }
        if models > 0 {
            usage["modelUsage"] = by_model;
        }
        let update = json!({"prompt_id": self.dice.name("prompt"), "usage": usage, "stop_reason": self.dice.name("stop")});
        let meta = match &self.events {
            Some(_) => json!({}),
            None => json!({"turnStartMs": began}),
        };
        let told = self.write_with("turn_completed", update.clone(), meta);
        // The text that ends the turn says why the model stopped.
        let last = self.session.events.last_mut().unwrap();
        if ["reply", "reasoning"].contains(&last["kind"].as_str().unwrap()) {
            last["stop_reason"] = update["stop_reason"].clone();
        }
        let item =
            json!({"name": "turn_completed", "value": update, "timestamp": told["timestamp"]});
        self.expect_telemetry("other", item);
        let answer = self.answer.take().unwrap();
        for usage in shown {
            self.session.push_usage(answer, &usage);
        }
    }

    fn make_counts(&mut self) -> (Value, Value) {
        let (fresh, read, write) = (self.dice.count(), self.dice.count(), self.dice.count());
        let (output, reasoning) = (1 + self.dice.count(), self.dice.count());
        let mut counts = json!({
            "inputTokens": fresh + read + write, "outputTokens": output, "cachedReadTokens": read, "cacheCreationTokens": write,
            "reasoningTokens": reasoning, "totalTokens": fresh + read + write + output,
        });
        self.dice
            .thin_out(&mut counts, &["reasoningTokens", "totalTokens"]);
        let shown = json!({
            "input": fresh, "output": output, "cache_read": read, "cache_write_5m": write, "cache_write_1h": 0,
            "reasoning": counts["reasoningTokens"].as_u64().unwrap_or(0),
            "server_tools": {"web_search_requests": 0, "web_fetch_requests": 0},
        });
        (counts, shown)
    }
}
