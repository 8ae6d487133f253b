//! Random logs of each agent, through the whole program: every field that a record names comes out of `show --json`,
//! `show --turns --json` and `sessions --json` as it was written.
//!
//! What is expected is put down while a log is made up, by what the agents' formats mean, and by no code of the program.
//! `NOTHING_LOST_SEED=7 cargo test nothing_lost` tries other logs.

mod claude;
mod codex;
mod dice;
mod grok;

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::environment::{Environment, files_below};
use dice::Dice;

/// Number of logs of each agent: fewer miss orders of records that are rare.
const LOGS: u64 = 60;

/// A session as it is made up: what is expected of it.
#[derive(Default)]
struct Session {
    id: String,
    /// Fields of the session; those that are not named here may be anything.
    fields: Map<String, Value>,
    /// Fields of each event, in their order.
    events: Vec<Map<String, Value>>,
    /// Fields of each turn that has a number, in their order.
    turns: Vec<Value>,
    /// Telemetry: number of the turn, name of the list, and fields of an item that must be in it.
    telemetry: Vec<(usize, &'static str, Value)>,
}

impl Session {
    fn new(id: &str) -> Self {
        Session {
            id: id.to_string(),
            ..Session::default()
        }
    }

    fn expect(&mut self, field: &str, value: impl Into<Value>) {
        self.fields.insert(field.to_string(), value.into());
    }

    /// Expects what a record says, if it says it; the last one counts.
    fn expect_if(&mut self, field: &str, value: Option<&Value>) {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            self.expect(field, value.clone());
        }
    }

    /// Number of the turn that is going on; 0 before the first.
    fn turn(&self) -> usize {
        self.turns.len()
    }

    /// Expects an event, with what its kind does to the turn.
    fn push_event(&mut self, event: &Value) {
        let mut event = event.as_object().unwrap().clone();
        let kind = event["kind"].as_str().unwrap().to_string();
        if kind == "prompt" {
            self.turns.push(json!({
                "turn": self.turns.len() + 1, "started_at": event["timestamp"],
                "inputs": {"text": event["text"], "images": event.get("images").cloned().unwrap_or_else(|| json!([]))},
                "replies": {"messages": [], "reasoning": []}, "actions": [], "context": {},
            }));
        }
        event.insert("turn".to_string(), json!(self.turns.len()));
        let text = event["text"].clone();
        if let Some(turn) = self.turns.last_mut() {
            let list = |turn: &mut Value, name: &str| {
                let list = turn["replies"][name].as_array_mut();
                list.unwrap().push(text.clone());
            };
            match kind.as_str() {
                "reply" => list(turn, "messages"),
                "reasoning" => list(turn, "reasoning"),
                "tool_call" => {
                    let arguments = event.get("arguments").filter(|value| !value.is_null());
                    let arguments = arguments.unwrap_or(&text).clone();
                    turn["actions"].as_array_mut().unwrap().push(json!({
                        "call_id": event["tool_use_id"], "tool": event["tool"], "tool_class": event["tool_class"],
                        "arguments": arguments, "started_at": event["timestamp"], "status": "unknown",
                    }));
                    let is_json =
                        |text: &str| serde_json::from_str::<Map<String, Value>>(text).is_ok();
                    if arguments.as_str().is_some_and(is_json) {
                        event.insert("arguments".to_string(), arguments);
                    }
                }
                "tool_result" => {
                    let call = event["tool_use_id"].clone();
                    let mut actions = turn["actions"].as_array_mut().unwrap().iter_mut();
                    let action = actions.find(|action| action["call_id"] == call).unwrap();
                    action["output"] = text;
                    action["status"] = event.remove("outcome").unwrap();
                    if let Some(duration) = event.get("duration_ms") {
                        action["duration_ms"] = duration.clone();
                    }
                }
                _ => {}
            }
        }
        event.insert("role".to_string(), json!(role_of(&kind)));
        self.events.push(event);
    }

    /// Expects usage of the message that begins with an event, and adds it to turn and session.
    fn push_usage(&mut self, event: usize, usage: &Value) {
        let shown = self.events[event].entry("usage").or_insert(Value::Null);
        add_usage(shown, usage);
        let turn = self.events[event]["turn"].as_u64().unwrap() as usize;
        if let Some(turn) = turn
            .checked_sub(1)
            .and_then(|turn| self.turns.get_mut(turn))
        {
            add_usage(&mut turn["usage"], usage);
        }
        add_usage(self.fields.entry("usage").or_insert(Value::Null), usage);
    }

    /// Expects a setting of the turn.
    fn set_context(&mut self, field: &str, value: Option<&Value>) {
        if let (Some(turn), Some(value)) = (
            self.turns.last_mut(),
            value.filter(|value| !value.is_null()),
        ) {
            turn["context"][field] = value.clone();
        }
    }

    fn check(&self, environment: &Environment, listed: &HashMap<String, Value>, how: &str) {
        let how = format!("{how}, session {}", self.id);
        let listed = listed.get(&self.id);
        assert!(listed.is_some(), "{how} is not listed");
        let row = listed.unwrap();
        let fields = Value::Object(self.fields.clone());
        check_contains(row, &fields, &format!("{how}: sessions"));
        let shown = environment.json(&["show", &self.id]);
        let events = shown["events"].as_array().unwrap();
        let kinds = |events: &mut dyn Iterator<Item = &Value>| {
            let kind = |kind: &Value| kind.as_str().unwrap_or_default().to_string();
            events.map(kind).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            kinds(&mut events.iter().map(|event| &event["kind"])),
            kinds(&mut self.events.iter().map(|event| &event["kind"])),
            "{how}: events"
        );
        for (event, expected) in events.iter().zip(&self.events) {
            let mut expected = expected.clone();
            // On no other event of its message.
            expected.entry("usage").or_insert(Value::Null);
            let how = format!("{how}: event {}", event["seq"]);
            check_contains(event, &Value::Object(expected), &how);
        }
        self.check_turns(environment, &how);
    }

    fn check_turns(&self, environment: &Environment, how: &str) {
        let shown = environment.json(&["show", &self.id, "--turns"]);
        let shown = shown["turns"].as_array().unwrap();
        let find = |number: usize| {
            let found = shown.iter().find(|turn| turn["turn"] == number);
            assert!(found.is_some(), "{how}: no turn {number}");
            found.unwrap()
        };
        for (turn, number) in self.turns.iter().zip(1..) {
            check_contains(find(number), turn, &format!("{how}: turn {number}"));
        }
        for (number, list, expected) in &self.telemetry {
            let items = find(*number)["telemetry"][list].as_array().unwrap();
            assert!(
                items.iter().any(|item| contains(item, expected)),
                "{how}: turn {number}: {list} has no {expected}: {items:?}"
            );
        }
    }
}

fn role_of(kind: &str) -> &str {
    match kind {
        "prompt" => "user",
        "reply" | "reasoning" | "tool_call" => "assistant",
        "tool_result" => "tool",
        _ => "system",
    }
}

/// Adds counts; of the words, the first one stays.
fn add_usage(sum: &mut Value, more: &Value) {
    match (&mut *sum, more) {
        (Value::Object(sum), Value::Object(more)) => {
            for (name, more) in more {
                add_usage(sum.entry(name).or_insert(Value::Null), more);
            }
        }
        (Value::Null, _) => *sum = more.clone(),
        (Value::Number(_), Value::Number(_)) => {
            *sum = json!(sum.as_u64().unwrap() + more.as_u64().unwrap());
        }
        _ => {}
    }
}

/// Whether a value is the expected one; an object may have more fields.
fn contains(actual: &Value, expected: &Value) -> bool {
    differing(actual, expected, "").is_none()
}

fn check_contains(actual: &Value, expected: &Value, how: &str) {
    let difference = differing(actual, expected, "");
    assert!(
        difference.is_none(),
        "{how}{}",
        difference.unwrap_or_default()
    );
}

/// Where a value differs from the expected one.
fn differing(actual: &Value, expected: &Value, place: &str) -> Option<String> {
    match (actual, expected) {
        (Value::Object(actual), Value::Object(expected)) => {
            expected.iter().find_map(|(name, expected)| {
                let place = format!("{place}.{name}");
                match actual.get(name) {
                    Some(actual) => differing(actual, expected, &place),
                    None => Some(format!("{place} is missing, expected {expected}")),
                }
            })
        }
        (Value::Array(actual), Value::Array(expected)) if actual.len() == expected.len() => {
            let mut pairs = actual.iter().zip(expected).enumerate();
            pairs.find_map(|(at, (actual, expected))| {
                differing(actual, expected, &format!("{place}[{at}]"))
            })
        }
        _ if actual == expected => None,
        _ => Some(format!("{place} is {actual}, expected {expected}")),
    }
}

/// Reads every second log while it is half written, and then all of them as they are.
fn sweep_growing(environment: &Environment) {
    let files = files_below(&environment.home());
    let is_log = |path: &&PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    let growing: Vec<_> = files.iter().filter(is_log).step_by(2).collect();
    let whole: Vec<Vec<u8>> = growing
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    for (path, bytes) in growing.iter().zip(&whole) {
        std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    }
    environment.sweep();
    for (path, bytes) in growing.iter().zip(&whole) {
        std::fs::write(path, bytes).unwrap();
    }
    environment.sweep();
}

/// Makes up logs, reads them, and compares.
fn check_agent(make: fn(&mut Dice, &Environment) -> Vec<Session>) {
    let seed = std::env::var("NOTHING_LOST_SEED");
    let seed: u64 = seed.map_or(1, |seed| seed.parse().unwrap());
    let environment = Environment::new();
    let mut made = Vec::new();
    for log in 0..LOGS {
        let mut dice = Dice::new(seed, log);
        let how = format!("seed {seed}, log {log}");
        let sessions = make(&mut dice, &environment);
        made.extend(sessions.into_iter().map(|session| (how.clone(), session)));
    }
    sweep_growing(&environment);
    let listed = environment.json(&["sessions", "--limit", "0"]);
    let listed: HashMap<String, Value> = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| {
            (
                session["session"].as_str().unwrap().to_string(),
                session.clone(),
            )
        })
        .collect();
    assert_eq!(listed.len(), made.len(), "{:?}", listed.keys());
    for (how, session) in made {
        session.check(&environment, &listed, &how);
    }
}

#[test]
fn nothing_of_claude_code_is_lost() {
    check_agent(claude::make_log);
}

#[test]
fn nothing_of_codex_is_lost() {
    check_agent(codex::make_log);
}

#[test]
fn nothing_of_grok_is_lost() {
    check_agent(grok::make_log);
}
