//! `docs/json.md` names every key that the commands print.

use std::collections::BTreeSet;
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
    let mut keys = BTreeSet::new();
    add_keys(&sessions, &mut keys);
    for session in sessions["sessions"].as_array().unwrap() {
        let id = session["session"].as_str().unwrap();
        add_keys(&environment.json(&["show", id]), &mut keys);
        let mut turns = environment.json(&["show", id, "--turns"]);
        for turn in turns["turns"].as_array_mut().unwrap() {
            // Items have further keys by their kind.
            for list in turn["telemetry"].as_object_mut().unwrap().values_mut() {
                *list = Value::Null;
            }
        }
        add_keys(&turns, &mut keys);
        add_keys(&environment.json(&["observations", id]), &mut keys);
    }
    let path = environment.home().join("shop/till.py");
    let path = path.to_str().unwrap();
    add_keys(&environment.json(&["map", path]), &mut keys);
    add_keys(&environment.json(&["calls", "--file", path]), &mut keys);
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let is_missing = |key: &&String| !docs.contains(&format!("`{key}`"));
    let missing: Vec<&String> = keys.iter().filter(is_missing).collect();
    assert!(keys.contains("collaboration_mode") && keys.contains("confidence"));
    // Keys of the document itself stand in its shape.
    let shapes = ["sessions", "observations", "files", "skipped", "edges"];
    let missing: Vec<_> = missing
        .into_iter()
        .filter(|key| !shapes.contains(&key.as_str()))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
