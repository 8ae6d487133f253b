//! `docs/json.md` names every key that the commands print.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use backstory_agents::sample;
use serde_json::Value;

use crate::environment::{Environment, STORY_END};

/// Keys whose values are the agent's own JSON.
const VERBATIM: [&str; 2] = ["meta", "value"];

fn add_keys(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| add_keys(item, keys)),
        Value::Object(fields) => {
            for (key, value) in fields {
                keys.insert(key.clone());
                if !VERBATIM.contains(&key.as_str()) {
                    add_keys(value, keys);
                }
            }
        }
        _ => {}
    }
}

/// The sections of the document by their titles, each with the beginning, which is about all of them.
fn sections() -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let docs = std::fs::read_to_string(path).unwrap();
    let mut parts = docs.split("\n## ");
    let beginning = parts.next().unwrap();
    let titled = |part: &str| {
        let (title, text) = part.split_once('\n').unwrap();
        (title.to_string(), format!("{beginning}\n{text}"))
    };
    parts.map(titled).collect()
}

/// Whether a section names a key, as `key` or in the shape of a document, `{key, key: [item]}`.
fn is_named(section: &str, key: &str) -> bool {
    let is_in_shape = |span: &str| {
        let is_word = |part: &str| part == key;
        span.starts_with('{')
            && span
                .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                .any(is_word)
    };
    section
        .split('`')
        .skip(1)
        .step_by(2)
        .any(|span| span == key || is_in_shape(span))
}

/// Keys of a command's answers that none of its sections names.
fn missing_keys(answers: &[Value], titles: &[&str]) -> Vec<String> {
    let sections = sections();
    let mut keys = BTreeSet::new();
    answers
        .iter()
        .for_each(|answer| add_keys(answer, &mut keys));
    assert!(keys.len() > 3, "{titles:?}");
    let is_missing = |key: &String| !titles.iter().any(|title| is_named(&sections[*title], key));
    keys.into_iter().filter(is_missing).collect()
}

#[test]
fn every_key_is_documented() {
    let environment = Environment::new();
    environment.write_all(sample::story(STORY_END));
    environment.write(
        "shop/till.py",
        "class Till:\n    def close(self):\n        count(1)\n",
    );
    environment.sweep();
    let sessions = environment.json(&["sessions", "--limit", "0"]);
    let (mut events, mut turns, mut observations) = (Vec::new(), Vec::new(), Vec::new());
    for session in sessions["sessions"].as_array().unwrap() {
        let id = session["session"].as_str().unwrap();
        events.push(environment.json(&["show", id]));
        let mut shown = environment.json(&["show", id, "--turns"]);
        for turn in shown["turns"].as_array_mut().unwrap() {
            // Items have further keys by their kind.
            for list in turn["telemetry"].as_object_mut().unwrap().values_mut() {
                *list = Value::Null;
            }
        }
        turns.push(shown);
        observations.push(environment.json(&["observations", id]));
    }
    let path = environment.home().join("shop/till.py");
    let path = path.to_str().unwrap();
    let map = environment.json(&["map", path]);
    let calls = environment.json(&["calls", "--file", path]);
    let none: [String; 0] = [];
    for (answers, titles) in [
        (vec![sessions], &["Sessions"][..]),
        (events, &["Sessions", "Events"]),
        (turns, &["Sessions", "Turns"]),
        (observations, &["Observations"]),
        (vec![map], &["Map"]),
        (vec![calls], &["Calls"]),
    ] {
        assert_eq!(missing_keys(&answers, titles), none, "{titles:?}");
    }
}
