//! What hooks leave to do, the worker does, once, whatever happens to it.

use std::io::Write;
use std::process::Stdio;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{Background, Worker, info, wait_for};
use crate::environment::{Environment, claude_id, prompt};

const SESSION: u32 = 9;

/// Calls a hook as Claude Code does.
fn hook(environment: &Environment, event: &str, fields: &Value) {
    let mut told = json!({"session_id": claude_id(SESSION), "cwd": "/home/ada/shop"});
    let object = told.as_object_mut().unwrap();
    object.extend(fields.as_object().unwrap().clone());
    let mut command = environment.command(&["hook", event, "--agent", "claude-code"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(told.to_string().as_bytes()).unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
}

fn counts(environment: &Environment) -> Value {
    environment.json(&["queue"])["counts"].clone()
}

/// Adds copies of the first item, as if hooks had told as much.
fn multiply(environment: &Environment, copies: u32) {
    let database = rusqlite::Connection::open(environment.store().join("backstory.db")).unwrap();
    database.busy_timeout(super::PATIENCE).unwrap();
    let insert = "WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1) \
         INSERT INTO queue (key, kind, session, at, body) SELECT n, kind, session, at, body FROM numbers, queue WHERE id = 1";
    database.execute(insert, [copies]).unwrap();
}

#[test]
fn all_that_is_queued_is_done_once_however_often_it_is_killed() {
    let environment = Environment::new();
    let tool = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1"});
    hook(&environment, "PostToolUse", &tool);
    multiply(&environment, 9_999);
    for _ in 0..8 {
        let worker = Worker::start(&environment);
        let before = counts(&environment)["pending"].as_u64().unwrap();
        // In the midst of it, or when all is done.
        wait_for("some work", || {
            let left = counts(&environment)["pending"].as_u64().unwrap();
            (left < before || left == 0).then_some(())
        });
        worker.signal(Signal::SIGKILL);
    }
    let _worker = Worker::start(&environment);
    let raw = wait_for("all to be done", || {
        let counts = counts(&environment);
        (counts["pending"] == 0 && counts["processing"] == 0).then(|| counts["raw"].clone())
    });
    assert_eq!(raw, 10_000);
}

#[test]
fn a_stop_starts_a_worker_that_finishes_what_the_log_tells() {
    let environment = Environment::new();
    let _background = Background(&environment);
    let log = environment.claude(SESSION, &[prompt(SESSION, 1, "count the till")]);
    let transcript = json!({"transcript_path": log, "prompt": "count the till"});
    hook(&environment, "UserPromptSubmit", &transcript);
    assert!(info(&environment).is_none(), "a prompt needs no worker");
    hook(&environment, "Stop", &json!({"transcript_path": log}));
    wait_for("a worker", || info(&environment));
    wait_for("the account", || {
        let found = environment.run(&["digest", &claude_id(SESSION), "--json"]);
        (found.code == 0 && found.stdout.contains("count the till")).then_some(())
    });
    wait_for("the queue", || {
        (counts(&environment)["done"] == 2).then_some(())
    });
}
