//! A repository in which agents work, their logs, and the truth about who wrote what.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::environment::Environment;

/// The first moment of all logs, in seconds.
const BEGINNING: i64 = 1_770_000_000;
/// Who wrote the lines that no agent did.
pub(super) const HAND: &str = "by hand";

/// Random numbers that are the same in every run.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % sides.max(1) as u64) as usize
    }
}

/// A line, and the turn that wrote it.
pub(super) type Owned = (String, String);

/// A repository in which agents work, and their logs.
pub(super) struct Workshop {
    pub(super) environment: Environment,
    pub(super) root: PathBuf,
    pub(super) file: String,
    pub(super) lines: Vec<Owned>,
    logs: BTreeMap<String, Vec<Value>>,
    turns: BTreeMap<String, u64>,
    moment: i64,
    written: usize,
}

impl Workshop {
    pub(super) fn new(file: &str) -> Self {
        let environment = Environment::new();
        std::fs::create_dir_all(environment.home()).unwrap();
        let root = environment.home().canonicalize().unwrap().join("shop");
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::create_dir_all(root.join("lib")).unwrap();
        Workshop {
            environment,
            root,
            file: file.to_string(),
            lines: Vec::new(),
            logs: BTreeMap::new(),
            turns: BTreeMap::new(),
            moment: BEGINNING,
            written: 0,
        }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.root.join(&self.file)
    }

    pub(super) fn text(&self) -> String {
        self.lines
            .iter()
            .map(|(text, _)| format!("{text}\n"))
            .collect()
    }

    /// A new line that no other equals, but for some that every file is full of.
    pub(super) fn fresh(&mut self, dice: &mut Dice) -> String {
        self.written += 1;
        match dice.roll(12) {
            0 => "    }".to_string(),
            1 => String::new(),
            _ => format!(
                "    let value_{} = compute({});",
                self.written,
                dice.roll(1000)
            ),
        }
    }

    fn time(&mut self) -> String {
        self.moment += 7;
        time_of(self.moment)
    }

    /// A record of Claude Code's log.
    fn claude(&mut self, session: &str, kind: &str, message: &Value, twin: &Value) {
        let log = self.logs.get(session).map_or(0, Vec::len);
        let mut record = json!({
            "type": kind, "uuid": format!("{session}-{log}"), "sessionId": session, "cwd": self.root,
            "timestamp": self.time(), "message": message,
        });
        if let Some(before) = log.checked_sub(1) {
            record["parentUuid"] = json!(format!("{session}-{before}"));
        }
        if !twin.is_null() {
            record["toolUseResult"] = twin.clone();
        }
        self.logs
            .entry(session.to_string())
            .or_default()
            .push(record);
    }

    /// A record of Codex's log.
    fn codex(&mut self, session: &str, kind: &str, payload: &Value) {
        let record = json!({"timestamp": self.time(), "type": kind, "payload": payload});
        self.logs
            .entry(session.to_string())
            .or_default()
            .push(record);
    }

    /// Begins a turn, and gives its name.
    pub(super) fn ask(&mut self, session: &str, codex: bool) -> String {
        let turn = self.turns.entry(session.to_string()).or_insert(0);
        *turn += 1;
        let name = format!("{session}#{turn}");
        let words = format!("please do {name}");
        if codex {
            if !self.logs.contains_key(session) {
                let cwd = self.root.clone();
                self.codex(
                    session,
                    "session_meta",
                    &json!({"id": session, "cwd": cwd, "cli_version": "0.99.0", "source": "cli"}),
                );
            }
            self.codex(session, "response_item", &json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}));
        } else {
            self.claude(
                session,
                "user",
                &json!({"role": "user", "content": words}),
                &Value::Null,
            );
        }
        name
    }

    /// Claude Code changes the file: a tool's input and its structured result.
    pub(super) fn claude_edit(
        &mut self,
        session: &str,
        tool: &str,
        input: &Value,
        twin: &Value,
        error: bool,
    ) {
        self.written += 1;
        let id = format!("toolu_{}", self.written);
        let call = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
        self.claude(
            session,
            "assistant",
            &json!({"role": "assistant", "id": id, "model": "claude-test", "content": [call]}),
            &Value::Null,
        );
        let result = &json!({"type": "tool_result", "tool_use_id": id, "content": "done", "is_error": error});
        self.claude(
            session,
            "user",
            &json!({"role": "user", "content": [result]}),
            twin,
        );
    }

    pub(super) fn codex_patch(&mut self, session: &str, patch: &str, form: usize, error: bool) {
        self.written += 1;
        let id = format!("call_{}", self.written);
        let output = if error {
            "apply_patch verification failed: no such lines"
        } else {
            "Success. Updated the following files:"
        };
        if form == 0 {
            self.codex(session, "response_item", &json!({"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": id, "status": "completed"}));
            self.codex(
                session,
                "response_item",
                &json!({"type": "custom_tool_call_output", "call_id": id, "output": output}),
            );
        } else {
            let script = format!("apply_patch <<'EOF'\n{patch}\nEOF");
            let arguments =
                &json!({"command": ["bash", "-lc", script], "workdir": self.root}).to_string();
            self.codex(session, "response_item", &json!({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": id}));
            let output = json!({"output": output, "metadata": {"exit_code": i32::from(error), "duration_seconds": 0.1}}).to_string();
            self.codex(
                session,
                "response_item",
                &json!({"type": "function_call_output", "call_id": id, "output": output}),
            );
        }
    }

    /// Puts lines in the place of others. A line that is there before and after was not written: nothing could tell.
    pub(super) fn replace(&mut self, start: usize, removed: usize, added: &[String], by: &str) {
        let old = self.lines[start..start + removed].to_vec();
        // The longest sequence that both have, from the end on.
        let mut longest = vec![vec![0; added.len() + 1]; old.len() + 1];
        for (i, (text, _)) in old.iter().enumerate().rev() {
            for (j, new) in added.iter().enumerate().rev() {
                longest[i][j] = if text == new {
                    longest[i + 1][j + 1] + 1
                } else {
                    longest[i + 1][j].max(longest[i][j + 1])
                };
            }
        }
        let (mut i, mut j) = (0, 0);
        let mut lines = Vec::new();
        while j < added.len() {
            if i < old.len() && old[i].0 == added[j] {
                lines.push(old[i].clone());
                (i, j) = (i + 1, j + 1);
            } else if i < old.len() && longest[i + 1][j] >= longest[i][j + 1] {
                i += 1;
            } else {
                lines.push((added[j].clone(), by.to_string()));
                j += 1;
            }
        }
        self.lines.splice(start..start + removed, lines);
    }

    /// Compares what blame says with the truth: the lines that it tells wrongly.
    pub(super) fn wrong(&self) -> Vec<String> {
        self.write();
        let blame = self.blame(&self.path());
        let lines = blame["lines"].as_array().unwrap();
        assert_eq!(lines.len(), self.lines.len());
        let mut wrong = Vec::new();
        for (line, (text, by)) in lines.iter().zip(&self.lines) {
            assert_eq!(line["text"], json!(text));
            let found = found(line);
            if found != *by {
                wrong.push(format!("{}: {found} for {by}: {text}", line["line"]));
            }
        }
        wrong
    }

    /// Writes the logs and the file, and sweeps.
    pub(super) fn write(&self) {
        for (session, records) in &self.logs {
            let text: String = records.iter().map(|record| format!("{record}\n")).collect();
            let path = if session.starts_with('c') {
                format!(".claude/projects/-shop/{session}.jsonl")
            } else {
                format!(".codex/sessions/2026/02/02/rollout-2026-02-02T00-00-00-{session}.jsonl")
            };
            self.environment.write(&path, text);
        }
        std::fs::create_dir_all(self.path().parent().unwrap()).unwrap();
        std::fs::write(self.path(), self.text()).unwrap();
        self.environment.sweep();
    }

    /// Claude Code writes the file anew.
    pub(super) fn create(&mut self, session: &str) {
        let (path, content) = (self.path(), self.text());
        let twin = json!({"type": "create", "filePath": path, "content": content, "structuredPatch": [], "originalFile": null});
        self.claude_edit(
            session,
            "Write",
            &json!({"file_path": path, "content": content}),
            &twin,
            false,
        );
    }

    pub(super) fn blame(&self, file: &Path) -> Value {
        self.environment.json(&["blame", file.to_str().unwrap()])
    }
}

/// Who wrote a line, as blame says.
fn found(line: &Value) -> String {
    match line["session"].as_str() {
        Some(session) => {
            let name = format!("{session}#{}", line["turn"]);
            assert_eq!(line["prompt"], json!(format!("please do {name}")));
            name
        }
        None => HAND.to_string(),
    }
}

fn time_of(seconds: i64) -> String {
    let day = seconds.rem_euclid(86_400);
    // The first moment lies on the second of February.
    let date = 2 + (seconds - BEGINNING + BEGINNING.rem_euclid(86_400)) / 86_400;
    format!(
        "2026-02-{date:02}T{:02}:{:02}:{:02}.000Z",
        day / 3600,
        day / 60 % 60,
        day % 60
    )
}

pub(super) const CLAUDE: [&str; 2] = [
    "c1a00000-0000-4000-8000-000000000001",
    "c1a00000-0000-4000-8000-000000000002",
];
pub(super) const CODEX: [&str; 2] = [
    "0de00000-0000-4000-8000-000000000001",
    "0de00000-0000-4000-8000-000000000002",
];

impl Workshop {
    /// One change by one of the two agents, in one of the forms that it has.
    pub(super) fn agent_step(&mut self, dice: &mut Dice, history: &[Vec<String>]) {
        let codex = dice.roll(2) == 0;
        let session = if codex {
            CODEX[dice.roll(2)]
        } else {
            CLAUDE[dice.roll(2)]
        };
        let by = self.ask(session, codex);
        let before = self.text();
        let old: Vec<String> = self.lines.iter().map(|(text, _)| text.clone()).collect();
        let mut hunks: Vec<(usize, usize, Vec<String>)> = Vec::new();
        let start = dice.roll(old.len());
        match dice.roll(10) {
            // Moves a block far enough that it is clear which one was moved.
            0 if old.len() > 30 => {
                let from = dice.roll(old.len() - 25);
                let block = old[from..from + 4].to_vec();
                hunks.push((from, 4, Vec::new()));
                hunks.push((from + 20, 0, block));
            }
            // Reverts lines to what they were some time ago.
            1 if !history.is_empty() => {
                let past = &history[dice.roll(history.len())];
                let back = past
                    .iter()
                    .filter(|line| line.len() > 8 && !old.contains(line));
                let back: Vec<String> = back.take(3).cloned().collect();
                hunks.push((start, back.len().min(old.len() - start), back));
            }
            2..=4 => {
                let added = (0..1 + dice.roll(6)).map(|_| self.fresh(dice)).collect();
                hunks.push((start, 0, added));
            }
            5 if old.len() > 40 => {
                hunks.push((start, dice.roll(4).min(old.len() - start), Vec::new()));
            }
            _ => {
                let removed = (1 + dice.roll(4)).min(old.len() - start);
                let added = (0..1 + dice.roll(4)).map(|_| self.fresh(dice)).collect();
                hunks.push((start, removed, added));
            }
        }
        hunks.retain(|(at, removed, added)| old[*at..*at + removed] != added[..]);
        for (at, removed, added) in hunks.iter().rev() {
            self.replace(*at, *removed, added, &by);
        }
        let failed = dice.roll(15) == 0;
        let after = self.text();
        if codex {
            let patch = patch(&self.file, &old, &hunks, None);
            if failed {
                let nonsense = "*** Begin Patch\n*** Update File: src/pay.rs\n@@\n-nothing like it\n+neither\n*** End Patch";
                self.codex_patch(session, nonsense, 0, true);
            }
            self.codex_patch(session, &patch, dice.roll(2), false);
            return;
        }
        let path = self.path();
        if failed {
            let input = json!({"file_path": path, "old_string": "nothing like it", "new_string": "neither"});
            self.claude_edit(
                session,
                "Edit",
                &input,
                &json!("Error: String to replace not found"),
                true,
            );
        }
        match &hunks[..] {
            [(at, removed, added)] if dice.roll(3) > 0 && old.len() > 4 => {
                // With enough around it that it is there once.
                let (first, last) = (at.saturating_sub(3), (at + removed + 3).min(old.len()));
                let join = |lines: &[String]| {
                    lines
                        .iter()
                        .map(|line| format!("{line}\n"))
                        .collect::<String>()
                };
                let old_string = join(&old[first..last]);
                let new_string =
                    join(&[&old[first..*at], added, &old[at + removed..last]].concat());
                let twin = json!({"filePath": path, "oldString": old_string, "newString": new_string, "originalFile": before,
                    "structuredPatch": [], "userModified": false, "replaceAll": false});
                let input =
                    &json!({"file_path": path, "old_string": old_string, "new_string": new_string});
                self.claude_edit(session, "Edit", input, &twin, false);
            }
            _ => {
                let twin = json!({"type": "update", "filePath": path, "content": after, "originalFile": before, "structuredPatch": []});
                self.claude_edit(
                    session,
                    "Write",
                    &json!({"file_path": path, "content": after}),
                    &twin,
                    false,
                );
            }
        }
    }

    /// A change that no log tells of.
    pub(super) fn hand_step(&mut self, dice: &mut Dice) {
        let start = dice.roll(self.lines.len());
        let removed = dice.roll(3).min(self.lines.len() - start);
        let added: Vec<String> = (0..dice.roll(3)).map(|_| self.fresh(dice)).collect();
        self.replace(start, removed, &added, HAND);
    }
}

/// A patch as Codex writes them, with three lines around each change.
pub(super) fn patch(
    file: &str,
    old: &[String],
    hunks: &[(usize, usize, Vec<String>)],
    to: Option<&str>,
) -> String {
    let mut text = format!("*** Begin Patch\n*** Update File: {file}\n");
    text.extend(to.map(|to| format!("*** Move to: {to}\n")));
    let mut line = |sign: char, line: &str| text.push_str(&format!("{sign}{line}\n"));
    for (at, removed, added) in hunks {
        let (first, last) = (at.saturating_sub(3), (at + removed + 3).min(old.len()));
        line('@', "@");
        old[first..*at].iter().for_each(|kept| line(' ', kept));
        old[*at..at + removed]
            .iter()
            .for_each(|gone| line('-', gone));
        added.iter().for_each(|new| line('+', new));
        old[at + removed..last]
            .iter()
            .for_each(|kept| line(' ', kept));
    }
    text + "*** End Patch"
}
