//! Made up logs of Claude Code.

mod after;
mod answer;

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Session;
use super::dice::{Dice, log_time, shown_time, with};
use crate::environment::Environment;

/// A file, and whose records are written into it.
struct Writer<'a> {
    dice: &'a mut Dice,
    path: PathBuf,
    lines: Vec<String>,
    main: String,
    /// The subagent whose records these are.
    agent: Option<String>,
    is_inline: bool,
    is_described: bool,
    last_uuid: Value,
    session: Session,
    /// Time of the turn's prompt, until there is an answer.
    asked_at: Option<i64>,
}

/// Writes the log of a session and its subagents.
pub(super) fn make_log(dice: &mut Dice, environment: &Environment) -> Vec<Session> {
    let id = dice.uuid();
    let path = format!(".claude/projects/-work-shop/{id}.jsonl");
    let mut sessions = Vec::new();
    let mut writer = Writer::new(dice, environment.home().join(&path), &id, None);
    for turn in 0..1 + writer.dice.below(3) {
        writer.write_turn();
        if turn == 0 && writer.dice.percent(30) {
            sessions.push(writer.write_sidechain());
        }
    }
    let lines = std::mem::take(&mut writer.lines);
    sessions.push(writer.session);
    environment.write(&path, lines.concat());
    if dice.percent(50) {
        let agent = dice.uuid()[..8].to_string();
        let path = format!(".claude/projects/-work-shop/{id}/subagents/agent-{agent}.jsonl");
        let mut writer = Writer::new(dice, environment.home().join(&path), &id, Some(agent));
        writer.write_turn();
        sessions.push(writer.session);
        environment.write(&path, writer.lines.concat());
    }
    sessions
}

impl<'a> Writer<'a> {
    fn new(dice: &'a mut Dice, path: PathBuf, main: &str, agent: Option<String>) -> Self {
        let id = match &agent {
            Some(agent) => format!("{main}/agent-{agent}"),
            None => main.to_string(),
        };
        let mut session = Session::new(&id);
        session.expect("agent", "claude-code");
        session.expect("status", "ended");
        if agent.is_some() {
            session.expect("parent", main);
            session.expect("parent_kind", "subagent");
        }
        Writer {
            dice,
            path,
            lines: Vec::new(),
            main: main.to_string(),
            agent,
            is_inline: false,
            is_described: false,
            last_uuid: Value::Null,
            session,
            asked_at: None,
        }
    }

    /// Writes a turn of a subagent between the lines of the session that started it.
    fn write_sidechain(&mut self) -> Session {
        let agent = self.dice.uuid()[..8].to_string();
        let mut writer = Writer {
            lines: std::mem::take(&mut self.lines),
            is_inline: true,
            ..Writer::new(self.dice, self.path.clone(), &self.main, Some(agent))
        };
        writer.write_turn();
        let session = writer.session;
        self.lines = writer.lines;
        session
    }

    /// Writes a record; returns what its events have in common.
    fn write(&mut self, kind: &str, more: Value) -> Value {
        let at = self.dice.tick();
        let uuid = self.dice.name("uuid");
        let parent = match self.dice.below(10) {
            0 => Value::Null,
            1 => json!(self.dice.name("other")),
            _ => self.last_uuid.clone(),
        };
        let mut record = json!({
            "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": self.main, "timestamp": log_time(at),
            "isSidechain": self.agent.is_some(), "agentId": self.agent, "userType": "external", "entrypoint": "cli",
            "cwd": format!("/home/ada/{}", self.dice.name("cwd")), "version": self.dice.name("version"),
            "gitBranch": self.dice.name("branch"), "slug": self.dice.name("slug"), "effort": self.dice.name("effort"),
        });
        let optional = ["cwd", "version", "gitBranch", "slug", "effort", "userType"];
        self.dice.thin_out(&mut record, &optional);
        let record = with(record, more);
        self.expect_facts(&record);
        self.lines.push(format!("{record}\n"));
        self.last_uuid = json!(uuid);
        json!({
            "uuid": uuid, "parent_uuid": parent, "effort": record["effort"], "timestamp": shown_time(at), "at": at,
            "source_path": self.path.display().to_string(), "source_line": self.lines.len(),
            "record": record,
        })
    }

    /// What a record says of its session. An inline subagent is described where it begins.
    fn expect_facts(&mut self, record: &Value) {
        if self.is_inline && self.is_described {
            return;
        }
        for (field, name) in [
            ("agent_version", "version"),
            ("branch", "gitBranch"),
            ("permission_mode", "permissionMode"),
        ] {
            if !(self.is_inline && field == "permission_mode") {
                self.session.expect_if(field, record.get(name));
            }
        }
        // Where it began.
        if !self.session.fields.contains_key("cwd") {
            self.session.expect_if("cwd", record.get("cwd"));
        }
        let names_any = |names: [&str; 2]| names.iter().any(|name| record[name].is_string());
        if names_any(["version", "cwd"]) && !self.session.fields.contains_key("meta") {
            let mut meta = record.clone();
            for content in ["message", "toolUseResult", "todos", "attachment", "error"] {
                meta.as_object_mut().unwrap().remove(content);
            }
            self.session.expect("meta", meta);
        }
        self.is_described = true;
    }

    /// Expects an event of a record.
    fn expect_event(&mut self, common: &Value, more: Value) -> usize {
        let mut event = with(common.clone(), more);
        let fields = event.as_object_mut().unwrap();
        let at = fields.remove("at").unwrap().as_i64().unwrap();
        let record = fields.remove("record").unwrap();
        let kind = fields["kind"].as_str().unwrap().to_string();
        let marks = fields.entry("marks").or_insert(json!([]));
        assert!(marks.is_array());
        let is_answer = matches!(kind.as_str(), "reply" | "reasoning" | "tool_call");
        let model = fields.get("model").cloned();
        self.session.push_event(&event);
        if kind == "prompt" {
            self.asked_at = Some(at);
            for (field, name) in [
                ("cwd", "cwd"),
                ("branch", "gitBranch"),
                ("agent_version", "version"),
                ("permission_mode", "permissionMode"),
            ] {
                self.session.set_context(field, record.get(name));
            }
            let level = &record["thinkingMetadata"]["level"];
            self.session.set_context("effort", Some(level));
        }
        if let Some(asked_at) = self.asked_at.take_if(|_| is_answer)
            && let Some(turn) = self.session.turns.last_mut()
        {
            turn["first_answer_ms"] = json!(at - asked_at);
        }
        self.session.set_context("effort", record.get("effort"));
        self.session.set_context("model", model.as_ref());
        self.session.events.len() - 1
    }

    fn write_turn(&mut self) {
        self.write_prompt();
        for _ in 0..1 + self.dice.below(3) {
            self.write_message();
        }
        match self.dice.below(8) {
            0 => self.write_compaction(),
            1 => self.write_interruption(),
            2 => self.write_api_error(),
            3 => self.write_hook_summary(),
            4 => {
                let mode = self.dice.name("mode");
                self.write("permission-mode", json!({"permissionMode": mode}));
            }
            _ => {}
        }
        if self.dice.percent(50) {
            let duration = self.dice.count();
            self.write(
                "system",
                json!({"subtype": "turn_duration", "durationMs": duration}),
            );
            if let Some(turn) = self.session.turns.last_mut() {
                turn["duration_ms"] = json!(duration);
            }
        }
    }

    fn write_prompt(&mut self) {
        let text = self.dice.text("prompt");
        let mut texts = vec![text.clone()];
        let mut blocks = vec![json!({"type": "text", "text": text})];
        let mut images = Vec::new();
        for _ in 0..self.dice.below(3) {
            let data = "iVBORw0KGgo".repeat(1 + self.dice.below(90) as usize);
            let source = json!({"type": "base64", "media_type": "image/png", "data": data});
            blocks.push(json!({"type": "image", "source": source}));
            images.push(
                json!({"media_type": "image/png", "source": null, "encoded_bytes": data.len()}),
            );
            texts.push("[image]".to_string());
        }
        let content = match images.is_empty() && self.dice.percent(50) {
            true => json!(text),
            false => json!(blocks),
        };
        let todos = json!([{"content": self.dice.text("todo"), "status": "pending"}]);
        let mut more = json!({
            "message": {"role": "user", "content": content}, "permissionMode": self.dice.name("mode"),
            "thinkingMetadata": {"level": self.dice.name("level"), "disabled": false}, "todos": todos,
        });
        let optional = ["permissionMode", "thinkingMetadata", "todos"];
        self.dice.thin_out(&mut more, &optional);
        let has_todos = more["todos"].is_array();
        let common = self.write("user", more);
        let text = texts.join("\n");
        self.expect_event(
            &common,
            json!({"kind": "prompt", "text": text, "images": images}),
        );
        if has_todos {
            self.expect_telemetry(
                "plan_updates",
                json!({"value": todos, "timestamp": common["timestamp"]}),
            );
        }
    }

    fn expect_telemetry(&mut self, list: &'static str, item: Value) {
        self.session
            .telemetry
            .push((self.session.turn(), list, item));
    }
}
