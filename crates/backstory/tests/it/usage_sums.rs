//! What events used adds up to what their turns and their session used.

use backstory_agents::sample;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::environment::{Environment, STORY_END, remove_checksums};

const SESSION: &str = "0199aaaa-0000-7000-8000-000000000034";

/// Counts of a list of events, turns or sessions.
fn summed(parts: &[Value]) -> Vec<(String, u64)> {
    let mut sums: Vec<(String, u64)> = Vec::new();
    let mut add = |name: &str, count: &Value| {
        let Some(count) = count.as_u64() else { return };
        match sums.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += count,
            None => sums.push((name.to_string(), count)),
        }
    };
    for usage in parts.iter().filter_map(|part| part["usage"].as_object()) {
        for (name, count) in usage {
            add(name, count);
        }
        for (name, count) in usage["server_tools"].as_object().unwrap() {
            add(name, count);
        }
    }
    sums.retain(|(_, sum)| *sum > 0);
    sums
}

/// Compares the sums of every session; returns how many sessions used anything.
fn assert_sums(environment: &Environment) -> usize {
    let mut with_usage = 0;
    let sessions = environment.json(&["sessions", "--limit", "0"]);
    for session in sessions["sessions"].as_array().unwrap() {
        let id = session["session"].as_str().unwrap();
        let whole = summed(std::slice::from_ref(session));
        let shown = environment.json(&["show", id]);
        assert_eq!(summed(shown["events"].as_array().unwrap()), whole, "{id}");
        let turns = environment.json(&["show", id, "--turns"]);
        assert_eq!(summed(turns["turns"].as_array().unwrap()), whole, "{id}");
        with_usage += usize::from(!whole.is_empty());
    }
    with_usage
}

#[test]
fn samples_add_up() {
    let environment = Environment::new();
    environment.write_all(sample::story(STORY_END));
    environment.write_all(sample::logs(3, 400_000));
    environment.sweep();
    assert!(assert_sums(&environment) >= 8);
}

/// Two turns as Codex 0.34 logged them: a count stands before the items that it counts.
fn counts_first() -> Vec<String> {
    let record = |kind: &str, payload: Value| {
        let line =
            json!({"timestamp": "2025-11-01T11:34:37.000Z", "type": kind, "payload": payload});
        format!("{line}\n")
    };
    let meta = record(
        "session_meta",
        json!({"id": SESSION, "timestamp": "2025-11-01T11:34:37.000Z", "cwd": "/work/shop"}),
    );
    let mut lines = vec![meta];
    let message = |role: &str, kind: &str, text: &str| {
        let content = json!([{"type": kind, "text": text}]);
        record(
            "response_item",
            json!({"type": "message", "role": role, "content": content}),
        )
    };
    let (mut total, mut calls) = (0, 0);
    for (turn, steps) in ["ca ca sc", "sc ca", "c"].into_iter().enumerate() {
        let ask = format!("ask {turn}");
        lines.push(message("user", "input_text", &ask));
        lines.push(record(
            "event_msg",
            json!({"type": "user_message", "message": ask}),
        ));
        for step in steps.split(' ') {
            let reply = format!("reply {total}");
            let is_reply = step.starts_with('s');
            if is_reply {
                lines.push(record(
                    "event_msg",
                    json!({"type": "agent_message", "message": reply}),
                ));
            }
            total += 1;
            let usage = |count: u64| json!({"input_tokens": 100 * count, "output_tokens": count, "total_tokens": 101 * count});
            let info = json!({"total_token_usage": usage(total), "last_token_usage": usage(1)});
            lines.push(record(
                "event_msg",
                json!({"type": "token_count", "info": info}),
            ));
            if is_reply {
                lines.push(message("assistant", "output_text", &reply));
            }
            if step.ends_with('a') {
                calls += 1;
                let id = format!("call_{calls}");
                let call = json!({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": id});
                lines.push(record("response_item", call));
                let output =
                    json!({"type": "function_call_output", "call_id": id, "output": "done"});
                lines.push(record("response_item", output));
            }
        }
    }
    lines
}

fn path() -> String {
    format!(".codex/sessions/2025/11/01/rollout-2025-11-01T11-34-37-{SESSION}.jsonl")
}

/// Kind, text or call of each event that has usage, with its output tokens.
fn counted_events(environment: &Environment) -> Vec<String> {
    let shown = environment.json(&["show", SESSION]);
    let events = shown["events"].as_array().unwrap().iter();
    let counted = events.filter(|event| !event["usage"].is_null());
    counted
        .map(|event| {
            let what = match event["tool_use_id"].as_str() {
                Some(id) => id,
                None => event["text"].as_str().unwrap(),
            };
            format!("{}: {what} {}", event["turn"], event["usage"]["output"])
        })
        .collect()
}

#[test]
fn counts_before_their_items_are_put_down_to_them() {
    // The last count has no item any more: it is put down to what the turn has.
    let expected = [
        "1: call_1 1",
        "1: call_2 1",
        "1: reply 2 1",
        "2: reply 3 1",
        "2: call_3 1",
        "3: ask 2 1",
    ];
    let lines = counts_first();
    let at_once = Environment::new();
    at_once.write(&path(), lines.concat());
    at_once.sweep();
    assert_eq!(counted_events(&at_once), expected);
    assert_eq!(assert_sums(&at_once), 1);

    let by_line = Environment::new();
    for end in 1..=lines.len() {
        by_line.write(&path(), lines[..end].concat());
        by_line.sweep();
        // While it grows, too.
        assert_sums(&by_line);
    }
    assert!(by_line.everything() == at_once.everything());

    // A store of the version before: it put counts down to what stood before them, or nowhere.
    let expected_rows = at_once.everything();
    let database = Connection::open(at_once.store().join("backstory.db")).unwrap();
    let as_before = "UPDATE streams SET read_version = 1; \
         UPDATE responses SET seq = CASE seq WHEN 4 THEN 2 WHEN 6 THEN 4 WHEN 8 THEN 8 ELSE 0 END;";
    database.execute_batch(as_before).unwrap();
    remove_checksums(&database);
    assert_ne!(counted_events(&at_once), expected);
    std::fs::remove_dir_all(at_once.home()).unwrap();
    std::fs::create_dir_all(at_once.home()).unwrap();
    assert_eq!(at_once.sweep()["backfill_bytes_left"], 0);
    assert_eq!(counted_events(&at_once), expected);
    assert!(at_once.everything() == expected_rows);
    assert_eq!(at_once.run(&["doctor", "--deep"]).code, 0);
}
