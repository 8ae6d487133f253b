//! Agents at work on files, and what is remembered of it.

use std::collections::BTreeMap;

use backstory_event::{TimeMs, TurnNo};
use serde_json::{Value, json};

use crate::code::{ChangeFilter, CodeRowFilter};
use crate::trial::{DAY, NOW, Trial, id};

/// Where the agents work. It is not there.
pub(crate) const ROOT: &str = "/home/ada/shop";

/// Agents at work. Session 1 to 9 are Claude Code's, higher ones are Codex'.
pub(crate) struct Bench {
    pub(crate) trial: Trial,
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) moment: TimeMs,
    calls: u32,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Bench {
            trial: Trial::new(),
            files: BTreeMap::new(),
            moment: NOW.minus_ms(10 * DAY),
            calls: 0,
        }
    }

    pub(crate) fn time(&mut self) -> String {
        self.moment = self.moment.plus_ms(1000);
        let time = jiff::Timestamp::from_millisecond(self.moment.get());
        time.unwrap().to_string()
    }

    pub(crate) fn claude(&mut self, session: u32, kind: &str, message: &Value, twin: &Value) {
        let mut line = json!({
            "type": kind, "uuid": format!("u{}", self.moment), "sessionId": id(session), "timestamp": self.time(), "cwd": ROOT,
            "message": message,
        });
        if !twin.is_null() {
            line["toolUseResult"] = twin.clone();
        }
        self.trial
            .append(&format!("{session}"), &[format!("{line}\n")]);
    }

    pub(crate) fn codex(&mut self, session: u32, kind: &str, payload: &Value) {
        let line = json!({"timestamp": self.time(), "type": kind, "payload": payload});
        let name = format!("rollout-2026-05-01T00-00-00-{}", id(session));
        self.trial.append(&name, &[format!("{line}\n")]);
    }

    /// Begins a turn.
    pub(crate) fn ask(&mut self, session: u32, words: &str) {
        if session < 10 {
            let message = json!({"role": "user", "content": words});
            self.claude(session, "user", &message, &Value::Null);
            return;
        }
        let begins = !self
            .trial
            .log(&format!("rollout-2026-05-01T00-00-00-{}", id(session)))
            .exists();
        if begins {
            let meta =
                json!({"id": id(session), "cwd": ROOT, "cli_version": "0.99.0", "source": "cli"});
            self.codex(session, "session_meta", &meta);
        }
        let content = json!([{"type": "input_text", "text": words}]);
        let message = json!({"type": "message", "role": "user", "content": content});
        self.codex(session, "response_item", &message);
    }

    /// Claude Code calls a tool.
    pub(crate) fn call(
        &mut self,
        session: u32,
        tool: &str,
        input: &Value,
        said: &str,
        twin: &Value,
    ) {
        self.calls += 1;
        let call_id = format!("toolu_{}", self.calls);
        let call = json!({"type": "tool_use", "id": call_id, "name": tool, "input": input});
        let message =
            json!({"role": "assistant", "id": call_id, "model": "claude-test", "content": [call]});
        self.claude(session, "assistant", &message, &Value::Null);
        let result = json!({"type": "tool_result", "tool_use_id": call_id, "content": said, "is_error": said.starts_with('<')});
        let message = json!({"role": "user", "content": [result]});
        self.claude(session, "user", &message, twin);
    }

    /// Claude Code writes a whole file.
    pub(crate) fn write(&mut self, session: u32, name: &str, text: &str) {
        let path = format!("{ROOT}/{name}");
        let before = self.files.insert(name.to_string(), text.to_string());
        let kind = if before.is_some() { "update" } else { "create" };
        let input = json!({"file_path": path, "content": text});
        let twin = json!({"type": kind, "filePath": path, "content": text, "originalFile": before});
        self.call(session, "Write", &input, "done", &twin);
    }

    /// Claude Code replaces a string.
    pub(crate) fn edit(&mut self, session: u32, name: &str, old: &str, new: &str) {
        let path = format!("{ROOT}/{name}");
        let before = self.files[name].clone();
        assert!(before.contains(old), "{before:?} has no {old:?}");
        self.files
            .insert(name.to_string(), before.replacen(old, new, 1));
        let input = json!({"file_path": path, "old_string": old, "new_string": new});
        let twin =
            json!({"filePath": path, "oldString": old, "newString": new, "originalFile": before});
        self.call(session, "Edit", &input, "done", &twin);
    }

    /// Codex applies a patch, given without its first and last line.
    pub(crate) fn patch(&mut self, session: u32, patch: &str) {
        self.calls += 1;
        let call_id = format!("call_{}", self.calls);
        let input = format!("*** Begin Patch\n{patch}\n*** End Patch");
        let call = json!({"type": "custom_tool_call", "name": "apply_patch", "input": input, "call_id": call_id, "status": "completed"});
        self.codex(session, "response_item", &call);
        let output = json!({"type": "custom_tool_call_output", "call_id": call_id, "output": "Success. Updated the following files:"});
        self.codex(session, "response_item", &output);
    }

    pub(crate) fn sweep(&mut self) {
        self.trial.sweep();
    }

    /// All symbols of all snapshots: `1#2 shop.py m:Shop.pay 3-4`.
    pub(crate) fn snapshots(&self) -> Vec<String> {
        let memory = &self.trial.memory;
        let mut rows = memory
            .code()
            .function_map(&CodeRowFilter::default())
            .unwrap();
        rows.sort_by_key(|row| row.snapshot_at);
        let line = |row: &crate::code::FunctionRow| {
            let (turn, file) = (
                turn_text(&row.session, row.turn),
                short_path(&row.file_path),
            );
            let name = &row.qualified_name;
            let change = &row.change_type[..1];
            let is_consistent = match row.change_type.as_str() {
                "new" => row.prev_hash.is_none() && row.body_hash.is_some(),
                "deleted" => row.prev_hash.is_some() && row.body_hash.is_none(),
                "unchanged" => row.prev_hash == row.body_hash,
                _ => row.prev_hash.is_some() && row.prev_hash != row.body_hash,
            };
            assert!(is_consistent, "{row:?}");
            format!(
                "{turn} {file} {change}:{name} {}-{}",
                row.line_start, row.line_end
            )
        };
        rows.iter().map(line).collect()
    }

    /// All calls of all snapshots: `shop.py 5 pay > self.check = Shop.check (self_method)`.
    pub(crate) fn calls(&self) -> Vec<String> {
        let memory = &self.trial.memory;
        let rows = memory.code().call_rows(&CodeRowFilter::default()).unwrap();
        let line = |row: &crate::code::CallRow| {
            format!(
                "{} {} {} > {} = {} ({})",
                short_path(&row.caller_file),
                row.line_number.unwrap_or_default(),
                row.caller_name,
                row.callee_name,
                row.callee_resolved.as_deref().unwrap_or("?"),
                row.reason.as_ref().unwrap_or(&row.resolution)
            )
        };
        rows.iter().map(line).collect()
    }

    /// All changes, the oldest first: `1#2 ~shop.py +pay ~Shop.sum →new(old)`.
    pub(crate) fn told(&self) -> Vec<String> {
        let turns = self.trial.memory.code().changes(&ChangeFilter::default());
        let mut told = Vec::new();
        for turn in turns.unwrap().iter().rev() {
            let session = u32::from_str_radix(&turn.session.session[..8], 16).unwrap();
            for file in &turn.files {
                let number = turn
                    .turn
                    .map_or("live".to_string(), |turn| turn.to_string());
                let mut line = format!(
                    "{session}#{number} {}{}",
                    &file.change.name()[..1],
                    file.name
                );
                for symbol in &file.symbols {
                    let earlier = symbol.earlier.as_ref().map(|name| format!("({name})"));
                    line.push_str(&format!(
                        " {}:{}{}",
                        &symbol.change.name()[..1],
                        symbol.name,
                        earlier.unwrap_or_default()
                    ));
                }
                told.push(line);
            }
        }
        told
    }
}

fn turn_text(session: &str, turn: Option<TurnNo>) -> String {
    let session = u32::from_str_radix(&session[..8], 16).unwrap();
    let turn = turn.map_or("live".to_string(), |turn| turn.to_string());
    format!("{session}#{turn}")
}

fn short_path(path: &str) -> &str {
    path.strip_prefix(ROOT).map_or(path, |path| &path[1..])
}
