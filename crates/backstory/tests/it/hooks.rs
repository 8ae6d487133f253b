//! What agents call while they work: nothing they are told may harm an agent, and nothing that they are told is lost.

mod failed;
mod faults;
mod log;
mod markers;
mod odd_calls;
mod once;
mod private;
mod recorded;
#[cfg(unix)]
mod trust;
mod unwanted;
mod written;

use std::fs::File;
use std::ops::Deref;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::environment::{Environment, Outcome, claude_id, claude_path};

/// A home with a store. No worker starts there: it would be at the same things as the test, and outlive it.
///
/// Hooks give up early, so on a machine that is busy they spool what they are told when nothing is wrong at all. What is told here
/// holds for both: the queue is asked first, which takes along what waits.
struct Home {
    environment: Environment,
    _worker: File,
}

impl Home {
    fn new() -> Self {
        let environment = Environment::new();
        environment.sweep();
        let worker = File::create(environment.store().join("worker.lock")).unwrap();
        worker.lock().unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let private = std::fs::Permissions::from_mode(0o600);
            worker.set_permissions(private).unwrap();
        }
        Home {
            environment,
            _worker: worker,
        }
    }

    /// The events of a session as `kind: text`.
    fn events(&self, session: &str) -> Vec<String> {
        items(self);
        self.environment.events(session)
    }
}

impl Deref for Home {
    type Target = Environment;

    fn deref(&self) -> &Environment {
        &self.environment
    }
}

/// Checks what every call must be, whatever it is told.
#[track_caller]
fn assert_harmless(outcome: &Outcome) {
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(outcome.stderr, "");
    let answer: Result<Value, _> = serde_json::from_str(&outcome.stdout);
    assert!(
        outcome.stdout.is_empty() || answer.is_ok(),
        "no JSON: {}",
        outcome.stdout
    );
}

/// A call by an agent.
#[track_caller]
fn hook(environment: &Environment, agent: &str, event: &str, input: &Value) {
    let arguments = ["hook", event, "--agent", agent];
    assert_harmless(&environment.feed(&arguments, input.to_string().as_bytes()));
}

/// What Claude Code tells a hook of one of its sessions, with these fields besides.
fn told(environment: &Environment, session: u32, event: &str, more: &Value) -> Value {
    let mut input = json!({
        "session_id": claude_id(session),
        "transcript_path": environment.home().join(claude_path(session)),
        "cwd": "/home/ada/shop",
        "hook_event_name": event,
    });
    let fields = more.as_object().unwrap().clone();
    input.as_object_mut().unwrap().extend(fields);
    input
}

fn prompted(environment: &Environment, session: u32, id: &str, text: &str) -> Value {
    let more = json!({"prompt_id": id, "prompt": text});
    told(environment, session, "UserPromptSubmit", &more)
}

fn tool_used(environment: &Environment, session: u32, id: &str, command: &str) -> Value {
    let response =
        json!({"stdout": format!("output of {command}"), "stderr": "", "interrupted": false});
    let more = json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_response": response, "tool_use_id": id});
    told(environment, session, "PostToolUse", &more)
}

/// Claude Code calls, with the event that the input names.
#[track_caller]
fn claude_hook(environment: &Environment, input: &Value) {
    let event = input["hook_event_name"].as_str().unwrap();
    hook(environment, "claude-code", event, input);
}

/// All items of the queue; what waits in the spool is taken along.
fn items(environment: &Environment) -> Vec<Value> {
    let told = environment.json(&["queue", "--limit", "0"]);
    told["items"].as_array().unwrap().clone()
}

/// How many items of a kind there are.
fn count(environment: &Environment, kind: &str) -> usize {
    let items = items(environment);
    items.iter().filter(|item| item["kind"] == kind).count()
}

/// What waits in the spool.
fn spooled(environment: &Environment) -> Vec<PathBuf> {
    let folder = environment.store().join("spool");
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// The data of what each call of a hook left in today's event log.
fn logged(environment: &Environment) -> Vec<Value> {
    let calls = ["hook.capture", "hook.unreadable", "hook.late"];
    let lines = environment.logged_events().into_iter();
    lines
        .filter(|line| calls.contains(&line["event_type"].as_str().unwrap()))
        .map(|line| line["data"].clone())
        .collect()
}

/// A call that is told again until the store could be had in time, and everything that follows was done.
#[track_caller]
fn claude_hook_in_time(environment: &Environment, input: &Value) {
    let in_time = (0..100).any(|_| {
        claude_hook(environment, input);
        is_stored(environment)
    });
    assert!(in_time, "{:?}", logged(environment).pop());
}

/// Whether the last hook had all the time that it needed.
fn is_stored(environment: &Environment) -> bool {
    let last = logged(environment).pop().unwrap();
    last["kept"] == "store" && last.get("late").is_none() && last["status"] == "success"
}
