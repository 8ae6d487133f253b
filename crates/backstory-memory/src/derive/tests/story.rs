//! What agents write into their logs while they work side by side on the same files.

use serde_json::{Value, json};

use crate::code::tests::bench::{Bench, ROOT};
use crate::trial::{Dice, id};

/// Words to search for.
pub(super) const WORDS: [&str; 6] = ["car", "sea", "hut", "checkout", "refund", "harbour"];

/// Claude Code's sessions, Codex' and Grok's.
pub(super) const SESSIONS: [u32; 4] = [1, 2, 11, 21];

const FILES: [&str; 2] = ["shop.py", "cart.py"];

/// Lines of logs in the order in which they are written: the log's name, and the line.
pub(super) type Lines = Vec<(String, String)>;

/// Agents at work; `shares` says whether Codex patches files that Claude Code wrote.
struct Author<'d> {
    bench: Bench,
    dice: &'d mut Dice,
    shares: bool,
    calls: u32,
    prompted: Vec<u32>,
}

/// Tells so many things that sessions do, in the order of time.
pub(super) fn tell_story(dice: &mut Dice, length: u64, shares: bool) -> Lines {
    let mut author = Author {
        bench: Bench::new(),
        dice,
        shares,
        calls: 0,
        prompted: Vec::new(),
    };
    for _ in 0..length {
        let session = SESSIONS[author.dice.roll(4) as usize];
        author.act(session);
    }
    let mut timed = Vec::new();
    let folder = author.bench.trial.log("x");
    let folder = folder.parent().unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            timed.push((moment_of(line), name.clone(), format!("{line}\n")));
        }
    }
    timed.sort();
    let lines = timed.into_iter();
    lines.map(|(_, name, line)| (name, line)).collect()
}

fn moment_of(line: &str) -> i64 {
    let line: Value = serde_json::from_str(line).unwrap();
    match &line["timestamp"] {
        Value::Number(seconds) => seconds.as_i64().unwrap() * 1000,
        time => {
            let time: jiff::Timestamp = time.as_str().unwrap().parse().unwrap();
            time.as_millisecond()
        }
    }
}

impl Author<'_> {
    fn word(&mut self) -> &'static str {
        WORDS[self.dice.roll(WORDS.len() as u64) as usize]
    }

    fn act(&mut self, session: u32) {
        let is_new = !self.prompted.contains(&session);
        let words = format!("{} and {}", self.word(), self.word());
        match (session, self.dice.roll(10)) {
            _ if is_new => {
                self.prompted.push(session);
                self.ask(session, &words);
            }
            (_, 0 | 1) => self.ask(session, &words),
            (_, 2) => self.reply(session, &words),
            (1 | 2, 3) if self.dice.roll(2) == 0 => self.think(session, &words),
            (21, _) => self.reply(21, &words),
            (_, 3) => self.run(session, &words),
            (_, 4) => self.print_trace(session),
            (1 | 2, 5) => self.entitle(session, &words),
            (1 | 2, 6) => self.write(session),
            (1 | 2, _) => self.edit(session),
            (_, _) => self.patch(session),
        }
    }

    fn ask(&mut self, session: u32, words: &str) {
        match session {
            21 => self.stream("user_message", words),
            _ => self.bench.ask(session, words),
        }
    }

    fn reply(&mut self, session: u32, words: &str) {
        match session {
            1 | 2 => {
                let content = json!([{"type": "text", "text": words}]);
                let message =
                    json!({"role": "assistant", "model": "claude-test", "content": content});
                self.bench
                    .claude(session, "assistant", &message, &Value::Null);
            }
            21 => self.stream("agent_message", words),
            _ => {
                let content = json!([{"type": "output_text", "text": words}]);
                let message = json!({"type": "message", "role": "assistant", "content": content});
                self.bench.codex(session, "response_item", &message);
            }
        }
    }

    /// Claude Code says something that no note is taken of.
    fn think(&mut self, session: u32, words: &str) {
        let content = json!([{"type": "thinking", "thinking": words, "signature": ""}]);
        let message = json!({"role": "assistant", "model": "claude-test", "content": content});
        self.bench
            .claude(session, "assistant", &message, &Value::Null);
    }

    /// Grok says something, in pieces that make one event.
    fn stream(&mut self, speaker: &str, words: &str) {
        for piece in words.split_inclusive(' ') {
            self.bench.time();
            let seconds = self.bench.moment.get() / 1000;
            let update = json!({"sessionUpdate": format!("{speaker}_chunk"), "content": {"type": "text", "text": piece}});
            let line = json!({"timestamp": seconds, "method": "session/update", "params": {"sessionId": id(21), "update": update}});
            self.bench.trial.append("grok", &[format!("{line}\n")]);
        }
    }

    fn entitle(&mut self, session: u32, words: &str) {
        let time = self.bench.time();
        let line = json!({"type": "ai-title", "aiTitle": format!("All about {words}"), "sessionId": id(session), "timestamp": time});
        self.bench
            .trial
            .append(&session.to_string(), &[format!("{line}\n")]);
    }

    /// Runs a command; in some cases somebody says something before it ends.
    fn run(&mut self, session: u32, words: &str) {
        let (command, output, code) = match self.dice.roll(5) {
            0 => ("pytest", "3 passed in 0.1s".to_string(), 0),
            1 => (
                "pytest",
                format!("FAILED test_{words}\n1 failed, 2 passed in 0.1s"),
                1,
            ),
            2 => (
                "git commit -m 'fix'",
                "[main 1234abc] fix\n 1 file changed".to_string(),
                0,
            ),
            3 => ("ls", format!("{words}.txt"), 0),
            _ => ("make", format!("error: no {words}"), 2),
        };
        self.call_shell(session, command, &output, code);
    }

    fn print_trace(&mut self, session: u32) {
        let file = FILES[self.dice.roll(2) as usize];
        let callee = format!("f{}", self.dice.roll(4));
        let trace = format!(
            "Traceback (most recent call last):\n  File \"{ROOT}/{file}\", line 3, in <module>\n    main()\n  \
             File \"{ROOT}/{file}\", line 9, in main\n    {callee}(1)\n  File \"{ROOT}/shop.py\", line 4, in {callee}\n    raise\nValueError: no\n"
        );
        self.call_shell(session, "python3 shop.py", &trace, 1);
    }

    fn call_shell(&mut self, session: u32, command: &str, output: &str, code: i64) {
        self.calls += 1;
        let call_id = format!("shell_{}", self.calls);
        let interrupts = self.dice.roll(4) == 0;
        let tool = ["Bash", "Grep"][usize::from(self.dice.roll(4) == 0)];
        if session < 10 {
            let call = json!({"type": "tool_use", "id": call_id, "name": tool, "input": {"command": command, "pattern": command}});
            let message = json!({"role": "assistant", "id": call_id, "model": "claude-test", "content": [call]});
            self.bench
                .claude(session, "assistant", &message, &Value::Null);
            if interrupts {
                self.bench.ask(session, "and quickly");
            }
            let result = json!({"type": "tool_result", "tool_use_id": call_id, "content": output, "is_error": code != 0});
            let message = json!({"role": "user", "content": [result]});
            self.bench.claude(session, "user", &message, &Value::Null);
            return;
        }
        let arguments = json!({"command": ["bash", "-lc", command]}).to_string();
        let call = json!({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": call_id});
        self.bench.codex(session, "response_item", &call);
        if interrupts {
            self.bench.ask(session, "and quickly");
        }
        let output =
            json!({"output": output, "metadata": {"exit_code": code, "duration_seconds": 0.1}})
                .to_string();
        let output = json!({"type": "function_call_output", "call_id": call_id, "output": output});
        self.bench.codex(session, "response_item", &output);
    }

    fn function(&mut self) -> String {
        let (name, body) = (self.dice.roll(4), self.dice.roll(3));
        format!(
            "def f{name}(x):\n    return f{}(x) + {body}\n",
            self.dice.roll(4)
        )
    }

    fn write(&mut self, session: u32) {
        let name = FILES[self.dice.roll(2) as usize];
        let functions: Vec<String> = (0..1 + self.dice.roll(3))
            .map(|_| self.function())
            .collect();
        self.bench.write(session, name, &functions.join("\n\n"));
    }

    fn edit(&mut self, session: u32) {
        let name = FILES[self.dice.roll(2) as usize];
        let Some(text) = self.bench.files.get(name).filter(|text| !text.is_empty()) else {
            return self.write(session);
        };
        let functions: Vec<String> = text.split("\n\n").map(String::from).collect();
        let old = functions[self.dice.roll(functions.len() as u64) as usize].clone();
        let new = match self.dice.roll(6) {
            0 => format!("{old}\n\n{}", self.function()),
            1 => "# nothing\n".to_string(),
            2 => format!("def broken(:\n    {old}"),
            3 => old.replacen("def f", "def g", 1),
            _ => self.function(),
        };
        if new != old {
            self.bench.edit(session, name, &old, &new);
        }
    }

    fn patch(&mut self, session: u32) {
        let name = match self.shares {
            true => FILES[self.dice.roll(2) as usize].to_string(),
            false => format!("tool{session}.py"),
        };
        let lines = |sign: &str, text: &str| {
            let lines = text.lines().map(|line| format!("{sign}{line}"));
            lines.collect::<Vec<_>>().join("\n")
        };
        let new = self.function();
        let patch = match self.bench.files.get(&name).filter(|text| !text.is_empty()) {
            Some(text) => {
                let functions: Vec<&str> = text.split("\n\n").collect();
                let old = functions[self.dice.roll(functions.len() as u64) as usize];
                let patch = format!(
                    "*** Update File: {name}\n@@\n{}\n{}",
                    lines("-", old.trim_end()),
                    lines("+", new.trim_end())
                );
                let changed = text.replacen(old.trim_end(), new.trim_end(), 1);
                self.bench.files.insert(name, changed);
                patch
            }
            None => {
                let patch = format!("*** Add File: {name}\n{}", lines("+", &new));
                self.bench.files.insert(name, new);
                patch
            }
        };
        self.bench.patch(session, &patch);
    }
}
