//! What the model says and does in a turn, and how the turn ends.

use serde_json::{Value, json};

use super::{Writer, complete_ids};
use crate::nothing_lost::dice::with;

const TOOLS: [(&str, &str); 6] = [
    ("exec_command", "run"),
    ("shell", "run"),
    ("spawn_agent", "agent"),
    ("mcp__till__count", "mcp"),
    ("update_plan", "plan"),
    ("coin_sorter", "other"),
];

impl Writer<'_> {
    pub(super) fn write_step(&mut self) {
        match self.dice.below(6) {
            0 => self.write_thoughts(),
            1 | 2 => self.write_reply(),
            3 => self.write_search(),
            4 => self.write_patch(),
            _ => self.write_call(),
        }
    }

    /// Thoughts are told to the screen one by one, and then stand in one item.
    fn write_thoughts(&mut self) {
        let count = 1 + self.dice.below(3);
        let thoughts: Vec<String> = (0..count).map(|_| self.dice.text("thought")).collect();
        let summary: Vec<Value> = thoughts
            .iter()
            .map(|text| json!({"type": "summary_text", "text": text}))
            .collect();
        let item = json!({"summary": summary, "encrypted_content": "gAAAAAB"});
        if self.dice.percent(30) {
            let common = self.write_item("reasoning", item);
            let text = thoughts.join("\n\n");
            self.expect_event(common, json!({"kind": "reasoning", "text": text}));
            return;
        }
        let places: Vec<Value> = thoughts
            .iter()
            .map(|text| self.write_event("agent_reasoning", json!({"text": text})))
            .collect();
        let second = self.write_item("reasoning", item);
        for (mut common, text) in places.into_iter().zip(&thoughts) {
            complete_ids(&mut common, &second);
            self.expect_event(common, json!({"kind": "reasoning", "text": text}));
        }
    }

    /// A reply is told to the screen first, and then is an item.
    fn write_reply(&mut self) {
        let text = self.dice.text("reply");
        let event = json!({"message": text, "phase": self.dice.maybe("phase")});
        let item = json!({"role": "assistant", "content": [{"type": "output_text", "text": text}]});
        let common = match self.dice.below(6) {
            0 => self.write_event("agent_message", event),
            1 => self.write_item("message", item),
            _ => {
                let mut common = self.write_event("agent_message", event);
                let second = self.write_item("message", item);
                complete_ids(&mut common, &second);
                common
            }
        };
        self.expect_event(common, json!({"kind": "reply", "text": text}));
    }

    fn write_search(&mut self) {
        let action = json!({"type": "search", "query": self.dice.text("query")});
        let status = self.dice.name("status");
        let mut item = json!({"id": self.dice.name("ws"), "status": status, "action": action});
        let id = item["id"].take();
        let common = self.write(
            "response_item",
            &with(item, json!({"id": id, "type": "web_search_call"})),
        );
        let event = json!({
            "kind": "tool_call", "text": action.to_string(), "uuid": id, "tool_use_id": id, "tool": "web_search",
            "tool_class": "web", "status": status,
        });
        self.expect_event(common, event);
        self.web_searches += 1;
    }

    fn write_patch(&mut self) {
        let (call, path, status) = (
            self.dice.name("call"),
            self.dice.name("file"),
            self.dice.name("status"),
        );
        let text = self.dice.name("line");
        let patch = format!("*** Begin Patch\n*** Add File: {path}\n+{text}\n*** End Patch");
        let item =
            json!({"call_id": call, "name": "apply_patch", "input": patch, "status": status});
        let common = self.write_item("custom_tool_call", item);
        let event = json!({
            "kind": "tool_call", "text": patch, "tool_use_id": call, "tool": "apply_patch", "tool_class": "write",
            "status": status, "files": [path],
        });
        self.expect_event(common, event);
        let text = self.dice.text("output");
        let (code, tenths) = (self.dice.below(2), self.dice.below(600));
        let seconds = tenths as f64 / 10.0;
        let output =
            json!({"output": text, "metadata": {"exit_code": code, "duration_seconds": seconds}});
        let item = json!({"call_id": call, "output": output.to_string()});
        let common = self.write_item("custom_tool_call_output", item);
        let event = json!({
            "kind": "tool_result", "text": text, "tool_use_id": call, "tool": "apply_patch", "exit_code": code,
            "duration_ms": tenths * 100, "outcome": if code == 0 { "success" } else { "error" },
        });
        self.expect_event(common, event);
    }

    fn write_call(&mut self) {
        let (call, (tool, class)) = (self.dice.name("call"), self.dice.pick(&TOOLS));
        let text = self.dice.text("asked");
        let (arguments, command) = match tool {
            "exec_command" => (json!({"cmd": text, "workdir": "/home/ada"}), json!(text)),
            "shell" => (json!({"command": ["bash", "-lc", text]}), json!(text)),
            "update_plan" => (
                json!({"plan": [{"step": text, "status": "pending"}]}),
                Value::Null,
            ),
            _ => (
                json!({"about": text, "deep": [{"more": self.dice.count()}]}),
                Value::Null,
            ),
        };
        let item = json!({"call_id": call, "name": tool, "arguments": arguments.to_string()});
        let common = self.write_item("function_call", item);
        let event = json!({
            "kind": "tool_call", "text": arguments.to_string(), "tool_use_id": call, "tool": tool, "tool_class": class,
            "command": command,
        });
        self.expect_event(common, event);
        if tool == "update_plan" {
            self.expect_telemetry("plan_updates", json!({"value": arguments}));
        }
        if self.dice.percent(20) {
            let request = json!({"call_id": call, "turn_id": self.turn, "command": [text], "reason": self.dice.maybe("reason")});
            let asked = self.write_event("exec_approval_request", request.clone());
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
        let code = self.dice.below(3);
        let mut event = json!({"kind": "tool_result", "text": text, "tool_use_id": call, "tool": tool, "outcome": "success"});
        let output = match self.dice.below(3) {
            0 => json!(text),
            1 => json!([{"type": "input_text", "text": text}]),
            _ => {
                event["exit_code"] = json!(code);
                event["duration_ms"] = json!(1_250);
                event["outcome"] = json!(if code == 0 { "success" } else { "error" });
                json!(format!(
                    "Exit code: {code}\nWall time: 1.25 seconds\nOutput:\n{text}"
                ))
            }
        };
        if self.dice.percent(10) {
            event["text"] = json!("exec command rejected by user");
            event["marks"] = json!(["denied"]);
            event["outcome"] = json!("denied");
            for told in ["exit_code", "duration_ms"] {
                event.as_object_mut().unwrap().remove(told);
            }
            let common = self.write_item(
                "function_call_output",
                json!({"call_id": call, "output": event["text"]}),
            );
            self.expect_event(common, event);
            return;
        }
        let common = self.write_item(
            "function_call_output",
            json!({"call_id": call, "output": output}),
        );
        self.expect_event(common, event);
    }

    /// Writes what the answer used, mostly twice.
    pub(super) fn write_tokens(&mut self) {
        let (fresh, cached, cache_write) =
            (self.dice.count(), self.dice.count(), self.dice.count());
        let (output, reasoning) = (1 + self.dice.count(), self.dice.count());
        let input = fresh + cached + cache_write;
        let last = [
            input,
            cached,
            cache_write,
            output,
            reasoning,
            input + output,
        ];
        for (sum, count) in self.totals.iter_mut().zip(last) {
            *sum += count;
        }
        let counts = |counts: [u64; 6]| {
            json!({"input_tokens": counts[0], "cached_input_tokens": counts[1], "cache_write_input_tokens": counts[2],
                "output_tokens": counts[3], "reasoning_output_tokens": counts[4], "total_tokens": counts[5]})
        };
        let mut info = json!({
            "total_token_usage": counts(self.totals), "last_token_usage": counts(last), "model_context_window": 1 + self.dice.count(),
        });
        self.dice.thin_out(&mut info, &["model_context_window"]);
        self.session
            .expect_if("context_window", info.get("model_context_window"));
        let limits = json!({"primary": {"used_percent": self.dice.below(100), "window_minutes": 300}, "plan_type": self.dice.maybe("plan")});
        let payload = json!({"info": info, "rate_limits": limits});
        let told = self.write_event("token_count", payload.clone());
        if self.dice.percent(50) {
            self.write_event("token_count", payload);
        }
        let window = info
            .get("model_context_window")
            .cloned()
            .unwrap_or_default();
        let item = json!({"value": info, "context_tokens": last[5], "context_window": window, "timestamp": told["timestamp"]});
        self.expect_telemetry("token_counts", item);
        self.expect_telemetry("rate_limits", json!({"value": limits}));
        let usage = json!({
            "input": fresh, "output": output, "cache_read": cached, "cache_write_5m": cache_write, "cache_write_1h": 0,
            "reasoning": reasoning, "service_tier": self.service_tier,
            "server_tools": {"web_search_requests": std::mem::take(&mut self.web_searches), "web_fetch_requests": 0},
        });
        let answer = self.answer.take();
        self.session.push_usage(answer.unwrap(), &usage);
    }

    /// The end of a turn: done, stopped, or the history cut.
    pub(super) fn write_end(&mut self) {
        if self.dice.percent(20) {
            let text = self.dice.text("summary");
            let compacted = json!({"message": text, "replacement_history": [], "window_id": self.dice.name("window")});
            let common = self.write("compacted", &compacted);
            let item = json!({"value": {"window_id": compacted["window_id"]}, "timestamp": common["timestamp"]});
            self.expect_event(
                common,
                json!({"kind": "summary", "text": text, "marks": ["compacted"]}),
            );
            self.expect_telemetry("compactions", item);
        }
        let (duration, first) = (self.dice.count(), self.dice.count());
        if self.dice.percent(20) {
            let aborted =
                json!({"turn_id": self.turn, "reason": "interrupted", "duration_ms": duration});
            self.expect_telemetry("other", json!({"name": "turn_aborted", "value": aborted}));
            let common = self.write_event("turn_aborted", aborted);
            let event = json!({"kind": "system", "text": "Interrupted by user", "marks": ["interrupted"], "stop_reason": "interrupted"});
            self.expect_event(common, event);
            self.session.turns.last_mut().unwrap()["duration_ms"] = json!(duration);
            return;
        }
        let mut done =
            json!({"turn_id": self.turn, "duration_ms": duration, "time_to_first_token_ms": first});
        self.dice
            .thin_out(&mut done, &["duration_ms", "time_to_first_token_ms"]);
        for (field, name) in [
            ("duration_ms", "duration_ms"),
            ("first_answer_ms", "time_to_first_token_ms"),
        ] {
            if let Some(value) = done.get(name).filter(|value| value.is_number()) {
                self.session.turns.last_mut().unwrap()[field] = value.clone();
            }
        }
        self.expect_telemetry("other", json!({"name": "task_complete", "value": done}));
        self.write_event("task_complete", done);
    }
}
