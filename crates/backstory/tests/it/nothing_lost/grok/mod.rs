//! Made up sessions of Grok.

mod history;
mod steps;

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Session;
use super::dice::{Dice, log_time, shown_time, with};
use crate::environment::Environment;

/// A session being written.
struct Writer<'a> {
    dice: &'a mut Dice,
    id: String,
    path: PathBuf,
    lines: Vec<String>,
    /// Lines of `events.jsonl`; none for a session without one.
    events: Option<Vec<String>>,
    session: Session,
    model: Value,
    prompt: Value,
    /// The first event of the answer that is going on.
    answer: Option<usize>,
    /// Size of the context window.
    window: u64,
    /// Whether the user is asked nothing, once a turn has begun.
    is_unasked: Option<bool>,
}

/// Writes the files of a session, and those of a subagent.
pub(super) fn make_log(dice: &mut Dice, environment: &Environment) -> Vec<Session> {
    let parent = dice.uuid();
    let mut sessions = vec![make_session(dice, environment, &parent, None)];
    if dice.percent(30) {
        let id = dice.uuid();
        sessions.push(make_session(dice, environment, &id, Some(&parent)));
    }
    sessions
}

fn make_session(
    dice: &mut Dice,
    environment: &Environment,
    id: &str,
    parent: Option<&str>,
) -> Session {
    let folder = format!(".grok/sessions/%2Fhome%2Fada%2Ftill/{id}");
    let mut session = Session::new(id);
    session.expect("agent", "grok");
    session.expect("status", "ended");
    let has_log = dice.percent(75);
    let name = if has_log {
        "updates.jsonl"
    } else {
        "chat_history.jsonl"
    };
    let path = format!("{folder}/{name}");
    let events = (has_log && dice.percent(50)).then(Vec::new);
    let window = 1 + dice.count();
    let mut writer = Writer {
        path: environment.home().join(&path),
        dice,
        id: id.to_string(),
        lines: Vec::new(),
        events,
        session,
        model: Value::Null,
        prompt: Value::Null,
        answer: None,
        window,
        is_unasked: None,
    };
    let began = writer.dice.tick();
    for turn in 0..1 + writer.dice.below(3) {
        match has_log {
            true => writer.write_turn(turn),
            false => writer.write_history_turn(),
        }
    }
    let summary = writer.make_summary(began, parent);
    let signals = writer.make_signals();
    environment.write(&path, writer.lines.concat());
    environment.write(&format!("{folder}/summary.json"), summary.to_string());
    environment.write(&format!("{folder}/signals.json"), signals.to_string());
    if let Some(events) = writer.events {
        environment.write(&format!("{folder}/events.jsonl"), events.concat());
    }
    writer.session
}

impl Writer<'_> {
    fn make_summary(&mut self, began: i64, parent: Option<&str>) -> Value {
        let mut summary = json!({
            "info": {"id": self.id, "cwd": "/home/ada/till"}, "session_summary": self.dice.name("title"),
            "created_at": log_time(began), "updated_at": log_time(began + 60_000), "current_model_id": self.dice.name("model"),
            "num_messages": self.dice.count(), "head_branch": self.dice.name("branch"), "head_commit": self.dice.uuid(),
            "agent_name": self.dice.name("agent"), "reasoning_effort": self.dice.name("effort"), "odd": {"deep": [self.dice.count()]},
        });
        let optional = [
            "head_branch",
            "head_commit",
            "agent_name",
            "reasoning_effort",
            "odd",
        ];
        self.dice.thin_out(&mut summary, &optional);
        if let Some(parent) = parent {
            summary = with(
                summary,
                json!({"parent_session_id": parent, "session_kind": "subagent"}),
            );
            self.session.expect("parent", parent);
            self.session.expect("parent_kind", "subagent");
        }
        self.session.expect_if("branch", summary.get("head_branch"));
        self.session.expect("cwd", "/home/ada/till");
        self.session.expect("meta", summary.clone());
        summary
    }

    /// Counters of the session: they stand with its last turn.
    fn make_signals(&mut self) -> Value {
        let window = self.window;
        let signals = json!({
            "turnCount": 1, "userMessageCount": 1, "toolCallCount": self.dice.count(), "odd": self.dice.name("odd"),
            "contextTokensUsed": self.dice.count(), "contextWindowTokens": window, "compactionCount": 0,
        });
        self.session.expect("context_window", window);
        let count =
            json!({"context_tokens": signals["contextTokensUsed"], "context_window": window});
        self.expect_telemetry("token_counts", count);
        self.expect_telemetry("other", json!({"name": "signals", "value": signals}));
        signals
    }

    /// Writes a notification; returns what its event has by its place.
    fn write(&mut self, kind: &str, update: Value) -> Value {
        self.write_with(kind, update, json!({}))
    }

    /// Writes a notification with more beside its update.
    fn write_with(&mut self, kind: &str, update: Value, more: Value) -> Value {
        let at = self.dice.tick();
        let id = format!("{}-{}", self.id, self.lines.len());
        let meta = json!({"eventId": id, "agentTimestampMs": at, "promptId": self.prompt});
        let update = with(update, json!({"sessionUpdate": kind}));
        let params = json!({"sessionId": self.id, "update": update, "_meta": with(meta, more)});
        let line = json!({"timestamp": at / 1_000, "method": "session/update", "params": params});
        self.lines.push(format!("{line}\n"));
        self.place(at, &id)
    }

    /// What an event has by the place of its record.
    fn place(&self, at: i64, id: &str) -> Value {
        json!({
            "uuid": id, "parent_uuid": self.prompt, "timestamp": shown_time(at), "effort": null,
            "source_path": self.path.display().to_string(), "source_line": self.lines.len(),
        })
    }

    /// Writes a line of `events.jsonl`, if there is one; returns its time.
    fn write_event(&mut self, kind: &str, fields: Value) -> i64 {
        let at = self.dice.tick();
        if let Some(events) = &mut self.events {
            let line = with(json!({"ts": log_time(at), "type": kind}), fields);
            events.push(format!("{line}\n"));
        }
        at
    }

    fn expect_event(&mut self, common: Value, more: Value) -> usize {
        let mut event = with(common, more);
        let kind = event["kind"].as_str().unwrap().to_string();
        let is_answer = matches!(kind.as_str(), "reply" | "reasoning" | "tool_call");
        let fields = event.as_object_mut().unwrap();
        if is_answer {
            fields.entry("model").or_insert(self.model.clone());
        }
        fields.entry("marks").or_insert(json!([]));
        fields.entry("stop_reason").or_insert(Value::Null);
        fields.entry("status").or_insert(Value::Null);
        self.session.push_event(&event);
        let index = self.session.events.len() - 1;
        if is_answer {
            self.answer.get_or_insert(index);
            self.session.set_context("model", Some(&self.model.clone()));
        }
        index
    }

    fn expect_telemetry(&mut self, list: &'static str, item: Value) {
        let turn = self.session.turn();
        self.session.telemetry.push((turn, list, item));
    }

    /// Expects of the turn what only the file of events says, if there is one.
    fn expect_times(&mut self, fields: Value) {
        if self.events.is_some()
            && let Some(turn) = self.session.turns.last_mut()
        {
            *turn = with(turn.take(), fields);
        }
    }
}
