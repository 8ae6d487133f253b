//! Each thing once, however often and by whomever it is told: by hooks, by many at a time, and by the agent's log.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::{Home, claude_hook, count, hook, is_stored, items, prompted, told, tool_used};
use crate::environment::{Environment, claude_id, claude_path};

const CODEX: &str = "019a7c3e-51d2-7f60-b7a4-2d5f90c1e8aa";

#[test]
fn what_is_told_twice_is_one_item() {
    let environment = Home::new();
    for _ in 0..2 {
        claude_hook(&environment, &tool_used(&environment, 1, "toolu_1", "ls"));
        claude_hook(&environment, &prompted(&environment, 1, "p1", "go on"));
    }
    assert_eq!(count(&environment, "tool_use"), 1);
    assert_eq!(count(&environment, "prompt"), 1);
    claude_hook(&environment, &prompted(&environment, 1, "p2", "go on"));
    assert_eq!(count(&environment, "prompt"), 2);
    // The same id in another session is something else.
    claude_hook(&environment, &tool_used(&environment, 2, "toolu_1", "ls"));
    assert_eq!(count(&environment, "tool_use"), 2);
    let shown = environment.events(&claude_id(1));
    let prompts = shown.iter().filter(|line| *line == "prompt: go on");
    assert_eq!(prompts.count(), 2, "{shown:?}");
}

#[test]
fn a_crowd_is_stored_exactly_once() {
    const THREADS: u32 = 16;
    const EACH: u32 = 40;
    let environment = Home::new();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let environment = &environment;
            scope.spawn(move || {
                for number in 0..EACH {
                    let id = format!("toolu_{thread}_{number}");
                    // Half of them in one session, the others each in their own.
                    let session = if thread % 2 == 0 { 1 } else { thread + 1 };
                    claude_hook(environment, &tool_used(environment, session, &id, &id));
                }
            });
        }
    });
    let items = items(&environment);
    assert_eq!(items.len(), (THREADS * EACH) as usize);
    let mut commands = Vec::new();
    let session_of = |item: &Value| item["session"].as_str().unwrap().to_string();
    let sessions: BTreeSet<String> = items.iter().map(session_of).collect();
    for session in &sessions {
        let shown = environment.events(session);
        commands.extend(
            shown
                .into_iter()
                .filter(|line| line.starts_with("tool_call: ")),
        );
    }
    commands.sort();
    let mut expected: Vec<String> = (0..THREADS)
        .flat_map(|thread| (0..EACH).map(move |number| format!("toolu_{thread}_{number}")))
        .map(|id| format!("tool_call: {}", json!({"command": id})))
        .collect();
    expected.sort();
    assert_eq!(commands, expected);
}

/// A log of one turn, as long as its agent has written it, and what its hooks are told meanwhile.
struct Turn {
    agent: &'static str,
    session: String,
    /// Below the home folder.
    path: String,
    lines: Vec<Value>,
    /// Of the prompt, the tool use and the end.
    hooks: [Value; 3],
}

impl Turn {
    fn claude(environment: &Environment) -> Self {
        let line = |number: u32, kind: &str, content: Value| {
            json!({
                "type": kind, "uuid": format!("uuid-{number}"), "sessionId": claude_id(1), "timestamp": time(), "cwd": "/home/ada/shop",
                "message": {"role": kind, "id": format!("msg_{number}"), "content": content},
            })
        };
        let call = json!([{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls src"}}]);
        let answer =
            json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "lib.rs"}]);
        let end = json!({"last_assistant_message": "There is one file."});
        Turn {
            agent: "claude-code",
            session: claude_id(1),
            path: claude_path(1),
            lines: vec![
                line(0, "user", "which files are there?".into()),
                line(1, "assistant", call),
                line(2, "user", answer),
                line(
                    3,
                    "assistant",
                    json!([{"type": "text", "text": "There is one file."}]),
                ),
            ],
            hooks: [
                prompted(environment, 1, "p1", "which files are there?"),
                tool_used(environment, 1, "toolu_1", "ls src"),
                told(environment, 1, "Stop", &end),
            ],
        }
    }

    fn codex(environment: &Environment) -> Self {
        let path = format!(".codex/sessions/2026/11/09/rollout-2026-11-09T10-15-30-{CODEX}.jsonl");
        let line = |kind: &str, payload: Value| json!({"timestamp": time(), "type": kind, "payload": payload});
        let message = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
        let call = json!({"type": "function_call", "name": "shell", "call_id": "call_1", "arguments": r#"{"command":["ls","src"]}"#});
        let answer = json!({"type": "function_call_output", "call_id": "call_1", "output": r#"{"output":"lib.rs","metadata":{"exit_code":0}}"#});
        let transcript = environment.home().join(&path);
        let told = |event: &str, more: Value| {
            let mut input = json!({"session_id": CODEX, "turn_id": "turn-1", "transcript_path": transcript, "cwd": "/home/ada/shop", "hook_event_name": event});
            let fields = more.as_object().unwrap().clone();
            input.as_object_mut().unwrap().extend(fields);
            input
        };
        Turn {
            agent: "codex",
            session: CODEX.to_string(),
            path,
            lines: vec![
                line(
                    "session_meta",
                    json!({"id": CODEX, "cwd": "/home/ada/shop", "source": "cli"}),
                ),
                line(
                    "response_item",
                    message("user", "input_text", "which files are there?"),
                ),
                line("response_item", call),
                line("response_item", answer),
                line(
                    "response_item",
                    message("assistant", "output_text", "There is one file."),
                ),
            ],
            hooks: [
                told(
                    "UserPromptSubmit",
                    json!({"prompt": "which files are there?"}),
                ),
                told(
                    "PostToolUse",
                    json!({"tool_name": "Bash", "tool_input": {"command": "ls src"}, "tool_response": "lib.rs", "tool_use_id": "call_1"}),
                ),
                told(
                    "Stop",
                    json!({"last_assistant_message": "There is one file."}),
                ),
            ],
        }
    }

    fn write(&self, environment: &Environment) {
        let lines: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        environment.write(&self.path, lines);
    }

    fn hook(&self, environment: &Environment, number: usize) {
        let input = &self.hooks[number];
        let event = input["hook_event_name"].as_str().unwrap();
        hook(environment, self.agent, event, input);
    }

    /// Everything is there once, and nothing is left to do.
    #[track_caller]
    fn assert_once(&self, environment: &Home) {
        let shown = environment.events(&self.session);
        let kinds: Vec<&str> = shown
            .iter()
            .filter_map(|line| line.split(':').next())
            .collect();
        let expected = ["prompt", "tool_call", "tool_result", "reply"];
        assert_eq!(kinds, expected, "{shown:?}");
        let counts = &environment.json(&["queue"])["counts"];
        let total = 4;
        assert_eq!(counts["done"], total, "{:#?}", items(environment));
        let sessions = environment.json(&["sessions", "--limit", "0"]);
        assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    }
}

/// Now, as logs write it: what is captured late is recognised by when it was.
fn time() -> String {
    jiff::Timestamp::now().to_string()
}

fn turns() -> [(Home, Turn); 2] {
    [Turn::claude, Turn::codex].map(|make| {
        let environment = Home::new();
        let turn = make(&environment);
        (environment, turn)
    })
}

#[test]
fn hooks_then_the_log_at_the_end_of_the_turn() {
    for (environment, turn) in turns() {
        turn.hook(&environment, 0);
        turn.hook(&environment, 1);
        let shown = environment.events(&turn.session);
        assert_eq!(shown[0], "prompt: which files are there?");
        assert_eq!(shown.len(), 3, "{shown:?}");
        turn.write(&environment);
        turn.hook(&environment, 2);
        if is_stored(&environment) {
            // The end itself swept the log: nothing waits for others but the summary.
            let shown = environment.events(&turn.session);
            assert_eq!(shown.len(), 4, "{shown:?}");
            let waiting = |kind: &str| {
                let is_open = |item: &&Value| item["kind"] == kind && item["state"] != "done";
                items(&environment).iter().filter(is_open).count()
            };
            assert_eq!((waiting("prompt"), waiting("tool_use")), (0, 0));
        }
        environment.json(&["queue", "run"]);
        turn.assert_once(&environment);
    }
}

#[test]
fn the_log_before_the_hooks() {
    for (environment, turn) in turns() {
        turn.write(&environment);
        environment.sweep();
        for number in 0..3 {
            turn.hook(&environment, number);
        }
        environment.json(&["queue", "run"]);
        turn.assert_once(&environment);
        // Again, as a log that is read twice or a hook that is run twice would have it.
        environment.sweep();
        environment.json(&["queue", "run"]);
        turn.assert_once(&environment);
    }
}

#[test]
fn the_log_long_after_the_hooks() {
    for (environment, turn) in turns() {
        for number in 0..3 {
            turn.hook(&environment, number);
        }
        let live = environment.events(&turn.session);
        assert_eq!(live.len(), 4, "{live:?}");
        turn.write(&environment);
        environment.sweep();
        environment.json(&["queue", "run"]);
        turn.assert_once(&environment);
    }
}

#[test]
fn a_log_that_grows_between_hooks() {
    for (environment, turn) in turns() {
        let lines: Vec<String> = turn.lines.iter().map(|line| format!("{line}\n")).collect();
        let head = lines.len() - 3;
        turn.hook(&environment, 0);
        environment.write(&turn.path, lines[..head].concat());
        environment.sweep();
        assert_eq!(environment.events(&turn.session).len(), 1);
        // The call is in the log before its hook is told, the answer after.
        environment.write(&turn.path, lines[..=head].concat());
        environment.sweep();
        turn.hook(&environment, 1);
        environment.write(&turn.path, lines.concat());
        turn.hook(&environment, 2);
        environment.json(&["queue", "run"]);
        turn.assert_once(&environment);
    }
}

#[test]
fn what_no_log_tells_stays_as_it_was_captured() {
    let environment = Home::new();
    claude_hook(&environment, &prompted(&environment, 1, "p1", "only said"));
    let end = json!({"last_assistant_message": "only answered"});
    claude_hook(&environment, &told(&environment, 1, "Stop", &end));
    assert!(!Path::new(&environment.home().join(claude_path(1))).exists());
    environment.json(&["queue", "run"]);
    let states: Vec<Value> = items(&environment)
        .iter()
        .map(|item| item["state"].clone())
        .collect();
    assert_eq!(states, ["raw", "raw", "raw"]);
    let expected = ["prompt: only said", "reply: only answered"];
    assert_eq!(environment.events(&claude_id(1)), expected);
}
