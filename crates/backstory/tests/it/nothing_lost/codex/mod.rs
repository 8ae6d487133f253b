//! Made up rollouts of Codex.

mod steps;

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Session;
use super::dice::{Dice, log_time, shown_time, with};
use crate::environment::Environment;

/// Where items of the conversation name their turn.
const METADATA: &str = "internal_chat_message_metadata_passthrough";

/// A rollout being written.
struct Writer<'a> {
    dice: &'a mut Dice,
    path: PathBuf,
    lines: Vec<String>,
    session: Session,
    turn: String,
    /// Whether items have ids and name their turn, as those of today.
    has_ids: bool,
    model: Value,
    service_tier: Value,
    /// Sum of all tokens.
    totals: [u64; 6],
    /// The first event of the answer that is going on, and searches in it.
    answer: Option<usize>,
    web_searches: u64,
}

/// Writes the log of a session, and that of a subagent.
pub(super) fn make_log(dice: &mut Dice, environment: &Environment) -> Vec<Session> {
    let parent = dice.uuid();
    let mut sessions = vec![make_rollout(dice, environment, &parent, &json!("cli"))];
    if dice.percent(30) {
        let spawned = json!({"parent_thread_id": parent, "depth": 1});
        let source = json!({"subagent": {"thread_spawn": spawned}});
        let id = dice.uuid();
        let mut session = make_rollout(dice, environment, &id, &source);
        session.expect("parent", parent);
        session.expect("parent_kind", "subagent");
        sessions.push(session);
    }
    sessions
}

fn make_rollout(dice: &mut Dice, environment: &Environment, id: &str, source: &Value) -> Session {
    let path = format!(".codex/sessions/2026/02/03/rollout-2026-02-03T04-05-00-{id}.jsonl");
    let mut session = Session::new(id);
    session.expect("agent", "codex");
    session.expect("status", "ended");
    let has_ids = dice.percent(75);
    let mut writer = Writer {
        path: environment.home().join(&path),
        dice,
        lines: Vec::new(),
        session,
        turn: String::new(),
        has_ids,
        model: Value::Null,
        service_tier: Value::Null,
        totals: [0; 6],
        answer: None,
        web_searches: 0,
    };
    writer.write_meta(id, source);
    for turn in 0..1 + writer.dice.below(3) {
        writer.write_turn(turn == 0);
    }
    environment.write(&path, writer.lines.concat());
    writer.session
}

impl Writer<'_> {
    /// Writes a record; returns what its event has by its place.
    fn write(&mut self, kind: &str, payload: &Value) -> Value {
        let at = self.dice.tick();
        let record = json!({"timestamp": log_time(at), "type": kind, "payload": payload});
        self.lines.push(format!("{record}\n"));
        json!({
            "timestamp": shown_time(at), "source_path": self.path.display().to_string(), "source_line": self.lines.len(),
            "parent_uuid": payload.get(METADATA).unwrap_or(payload)["turn_id"], "uuid": null, "effort": null,
        })
    }

    fn write_event(&mut self, kind: &str, payload: Value) -> Value {
        self.write("event_msg", &with(payload, json!({"type": kind})))
    }

    /// Writes an item of the conversation; most have an id and name their turn.
    fn write_item(&mut self, kind: &str, mut payload: Value) -> Value {
        if self.has_ids {
            payload = with(
                payload,
                json!({"id": self.dice.name("item"), METADATA: {"turn_id": self.turn}}),
            );
            self.dice.thin_out(&mut payload, &["id", METADATA]);
        }
        let id = payload["id"].clone();
        let common = self.write("response_item", &with(payload, json!({"type": kind})));
        with(common, json!({"uuid": id}))
    }

    fn expect_event(&mut self, common: Value, more: Value) -> usize {
        let mut event = with(common, more);
        let kind = event["kind"].as_str().unwrap().to_string();
        if matches!(kind.as_str(), "reply" | "reasoning" | "tool_call") {
            event["model"] = self.model.clone();
        }
        let fields = event.as_object_mut().unwrap();
        fields.entry("marks").or_insert(json!([]));
        fields.entry("stop_reason").or_insert(Value::Null);
        fields.entry("status").or_insert(Value::Null);
        self.session.push_event(&event);
        let index = self.session.events.len() - 1;
        match kind.as_str() {
            "prompt" => self.answer = None,
            "reply" | "reasoning" | "tool_call" => drop(self.answer.get_or_insert(index)),
            _ => {}
        }
        index
    }

    fn expect_telemetry(&mut self, list: &'static str, item: Value) {
        if self.session.turn() > 0 {
            self.session
                .telemetry
                .push((self.session.turn(), list, item));
        }
    }

    /// Expects telemetry that is logged before the prompt of its turn.
    fn expect_early_telemetry(&mut self, item: Value) {
        let turn = self.session.turn() + 1;
        self.session.telemetry.push((turn, "other", item));
    }

    fn write_meta(&mut self, id: &str, source: &Value) {
        let git = json!({
            "branch": self.dice.name("branch"), "commit_hash": self.dice.uuid(), "repository_url": "https://example.org/till.git",
        });
        let at = self.dice.tick();
        let mut meta = json!({
            "id": id, "timestamp": log_time(at), "cwd": "/home/ada/till", "originator": "codex_cli_rs", "source": source,
            "cli_version": self.dice.name("version"), "model_provider": self.dice.name("provider"), "git": git,
            "base_instructions": {"text": self.dice.text("instructions")}, "history_mode": "legacy", "odd": [self.dice.count()],
        });
        let optional = ["cli_version", "model_provider", "git", "base_instructions"];
        self.dice.thin_out(&mut meta, &optional);
        self.session
            .expect_if("agent_version", meta.get("cli_version"));
        self.session.expect_if("branch", meta["git"].get("branch"));
        self.session.expect("cwd", "/home/ada/till");
        self.session.expect("meta", meta.clone());
        self.write("session_meta", &meta);
    }

    fn write_turn(&mut self, is_first: bool) {
        self.turn = self.dice.uuid();
        let window = self.dice.count();
        let mut started = json!({"turn_id": self.turn, "model_context_window": window});
        self.dice.thin_out(&mut started, &["model_context_window"]);
        self.session
            .expect_if("context_window", started.get("model_context_window"));
        self.expect_early_telemetry(json!({"kind": "turn_start", "value": started}));
        self.write_event("task_started", started);
        if is_first && self.dice.percent(70) {
            let text = format!(
                "<environment_context>\n  <cwd>{}</cwd>\n</environment_context>",
                self.dice.name("cwd")
            );
            let content = json!([{"type": "input_text", "text": text}]);
            let common = self.write_item("message", json!({"role": "user", "content": content}));
            self.expect_event(common, json!({"kind": "system", "text": text}));
        }
        let context = self.write_settings();
        self.write_prompt();
        for (field, value) in &context {
            self.session.set_context(field, Some(value));
        }
        for _ in 0..1 + self.dice.below(3) {
            for _ in 0..1 + self.dice.below(3) {
                self.write_step();
            }
            self.write_tokens();
        }
        self.write_end();
    }

    /// Writes the settings of a turn; returns those that are expected of it.
    fn write_settings(&mut self) -> Vec<(&'static str, Value)> {
        if self.dice.percent(40) {
            let mut settings =
                json!({"service_tier": self.dice.name("tier"), "odd": self.dice.count()});
            self.dice.thin_out(&mut settings, &["service_tier"]);
            self.service_tier = settings.get("service_tier").cloned().unwrap_or_default();
            let applied = self.write_event(
                "thread_settings_applied",
                json!({"thread_settings": settings}),
            );
            let item = json!({"name": "thread_settings_applied", "value": settings, "timestamp": applied["timestamp"]});
            self.expect_early_telemetry(item);
        }
        let sandbox = match self.dice.below(3) {
            0 => json!({"type": "workspace-write", "network_access": self.dice.percent(50)}),
            1 => json!({"mode": "read-only"}),
            _ => json!("danger-full-access"),
        };
        let mut context = json!({
            "turn_id": self.turn, "cwd": format!("/home/ada/{}", self.dice.name("cwd")), "model": self.dice.name("model"),
            "approval_policy": self.dice.pick(&["never", "on-request", "untrusted"]), "sandbox_policy": sandbox,
            "effort": self.dice.name("effort"), "collaboration_mode": {"mode": self.dice.name("mode"), "settings": {}}, "summary": "auto",
        });
        let optional = [
            "model",
            "approval_policy",
            "sandbox_policy",
            "effort",
            "collaboration_mode",
        ];
        self.dice.thin_out(&mut context, &optional);
        self.write("turn_context", &context);
        self.session
            .expect_if("permission_mode", context.get("approval_policy"));
        if context["model"].is_string() {
            self.model = context["model"].clone();
        }
        let sandbox = &context["sandbox_policy"];
        let mode = [&sandbox["type"], &sandbox["mode"], sandbox];
        let mode = mode.into_iter().find(|mode| mode.is_string());
        vec![
            ("cwd", context["cwd"].clone()),
            ("model", context["model"].clone()),
            ("effort", context["effort"].clone()),
            ("approval_policy", context["approval_policy"].clone()),
            ("sandbox_mode", mode.cloned().unwrap_or_default()),
            ("network_access", sandbox["network_access"].clone()),
            ("permission_mode", context["approval_policy"].clone()),
            (
                "collaboration_mode",
                context["collaboration_mode"]["mode"].clone(),
            ),
        ]
    }

    /// A prompt stands in an item and in an event for the screen, or in one of them.
    fn write_prompt(&mut self) {
        let text = self.dice.text("prompt");
        let mut content = vec![json!({"type": "input_text", "text": text})];
        let mut shown = json!({"kind": "prompt", "text": text, "images": []});
        if self.dice.percent(30) {
            let data = "iVBORw0KGgo".repeat(1 + self.dice.below(90) as usize);
            content.push(json!({"type": "input_image", "image_url": format!("data:image/png;base64,{data}")}));
            shown["text"] = json!(format!("{text}\n[image]"));
            shown["images"] =
                json!([{"media_type": "image/png", "source": null, "encoded_bytes": data.len()}]);
        }
        let urls: Vec<Value> = content
            .iter()
            .filter_map(|part| part.get("image_url").cloned())
            .collect();
        let mut event =
            json!({"client_id": self.dice.name("client"), "message": text, "images": urls});
        self.dice.thin_out(&mut event, &["client_id"]);
        let item = json!({"role": "user", "content": content});
        let client = event.get("client_id").cloned().unwrap_or_default();
        let common = match self.dice.below(5) {
            0 => with(
                self.write_event("user_message", event),
                json!({"uuid": client}),
            ),
            1 => self.write_item("message", item),
            _ => {
                let mut common = self.write_item("message", item);
                let second = with(
                    self.write_event("user_message", event),
                    json!({"uuid": client}),
                );
                complete_ids(&mut common, &second);
                common
            }
        };
        self.expect_event(common, shown);
    }
}

/// What one of two records of the same words does not say, the other does.
fn complete_ids(first: &mut Value, second: &Value) {
    for id in ["uuid", "parent_uuid"] {
        if first[id].is_null() {
            first[id] = second[id].clone();
        }
    }
}
