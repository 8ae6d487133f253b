//! Files that say how the agent worked and hold no event: they are read, placed by time, and go with their session.

use serde_json::{Value, json};

use crate::environment::Environment;

const FOLDER: &str = ".grok/sessions/%2Fwork%2Fshop";
const SESSION: &str = "019f0000-0000-7000-8000-00000000000a";
const OTHER: &str = "019f0000-0000-7000-8000-00000000000b";
/// Ten o'clock.
const TEN: i64 = 1_785_578_400_000;

fn write(environment: &Environment, session: &str, name: &str, text: &str) {
    environment.write(&format!("{FOLDER}/{session}/{name}"), text);
}

/// A line of `updates.jsonl`, so many seconds after ten.
fn update(session: &str, seconds: i64, update: &Value) -> String {
    let at = TEN + seconds * 1_000;
    let meta = json!({"eventId": format!("{session}-{seconds}"), "agentTimestampMs": at});
    let params = json!({"sessionId": session, "update": update, "_meta": meta});
    format!("{}\n", json!({"timestamp": at / 1_000, "params": params}))
}

fn chunk(session: &str, seconds: i64, speaker: &str, text: &str) -> String {
    let content = json!({"type": "text", "text": text});
    let kind = format!("{speaker}_message_chunk");
    update(
        session,
        seconds,
        &json!({"sessionUpdate": kind, "content": content}),
    )
}

fn call(session: &str, seconds: i64) -> String {
    let call = json!({
        "sessionUpdate": "tool_call", "toolCallId": "c1", "title": "bash", "status": "completed",
        "rawInput": {"command": "ls"}, "rawOutput": "a.rs",
    });
    update(session, seconds, &call)
}

/// A line of `events.jsonl`, so many seconds after ten.
fn event(seconds: i64, kind: &str, fields: &Value) -> String {
    let mut line = json!({"ts": format!("2026-08-01T10:00:{seconds:02}.500Z"), "type": kind});
    let more = fields.as_object().unwrap().clone();
    line.as_object_mut().unwrap().extend(more);
    format!("{line}\n")
}

/// The first turn of a session, all its files.
fn first_turn(environment: &Environment, session: &str) {
    let updates = [
        chunk(session, 1, "user", "list the files"),
        call(session, 3),
        chunk(session, 5, "agent", "There is one."),
    ];
    write(environment, session, "updates.jsonl", &updates.concat());
    let summary = json!({"info": {"id": session, "cwd": "/work/shop"}, "session_summary": "Files", "sandbox_profile": "strict"});
    write(environment, session, "summary.json", &summary.to_string());
    write(environment, session, "events.jsonl", &first_events(session));
    write(environment, session, "signals.json", &signals(12_000));
}

fn first_events(session: &str) -> String {
    [
        event(0, "turn_started", &json!({"session_id": session, "model_id": "grok-9", "yolo_mode": true})),
        event(2, "first_token", &json!({})),
        event(2, "permission_resolved", &json!({"tool_name": "bash", "decision": "allow", "wait_ms": 4})),
        event(3, "tool_completed", &json!({"tool_name": "bash", "duration_ms": 777, "outcome": "success", "tool_call_id": "c1"})),
        event(6, "turn_ended", &json!({"outcome": "completed"})),
    ]
    .concat()
}

fn signals(tokens: u64) -> String {
    json!({"turnCount": 1, "userMessageCount": 1, "toolCallCount": 1, "contextTokensUsed": tokens, "contextWindowTokens": 200_000}).to_string()
}

fn turns(environment: &Environment, session: &str) -> Vec<Value> {
    let shown = environment.json(&["show", session, "--turns"]);
    shown["turns"].as_array().unwrap().clone()
}

/// Number of rows that tell of files.
fn rows(environment: &Environment, query: &str) -> i64 {
    let path = environment.store().join("backstory.db");
    let database = rusqlite::Connection::open(path).unwrap();
    database.query_row(query, [], |row| row.get(0)).unwrap()
}

#[test]
fn what_a_file_without_events_says_is_in_its_turn() {
    let environment = Environment::new();
    first_turn(&environment, SESSION);
    environment.sweep();
    let found = turns(&environment, SESSION);
    let turn = &found[0];
    assert_eq!(turn["duration_ms"], 6_000);
    assert_eq!(turn["first_answer_ms"], 2_000);
    assert_eq!(turn["actions"][0]["duration_ms"], 777);
    assert_eq!(turn["context"]["permission_mode"], "bypassPermissions");
    let telemetry = &turn["telemetry"];
    assert_eq!(telemetry["approvals"][0]["value"]["decision"], "allow");
    assert_eq!(telemetry["token_counts"][0]["context_tokens"], 12_000);
    let sessions = environment.json(&["sessions"]);
    let session = &sessions["sessions"][0];
    assert_eq!(session["context_window"], 200_000);
    assert_eq!(session["permission_mode"], "bypassPermissions");
    assert_eq!(session["meta"]["sandbox_profile"], "strict");

    // The session goes on: lines are added, and counters written anew.
    let more = [
        chunk(SESSION, 20, "user", "and again"),
        chunk(SESSION, 25, "agent", "Still one."),
    ];
    let path = format!("{FOLDER}/{SESSION}/updates.jsonl");
    let before = std::fs::read_to_string(environment.home().join(&path)).unwrap();
    environment.write(&path, before + &more.concat());
    let events = [
        event(
            20,
            "turn_started",
            &json!({"session_id": SESSION, "model_id": "grok-8", "yolo_mode": false}),
        ),
        event(29, "turn_ended", &json!({"outcome": "cancelled"})),
    ];
    let events = first_events(SESSION) + &events.concat();
    write(&environment, SESSION, "events.jsonl", &events);
    write(&environment, SESSION, "signals.json", &signals(34_000));
    environment.sweep();
    let found = turns(&environment, SESSION);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0]["duration_ms"], 6_000);
    assert_eq!(found[0]["telemetry"]["token_counts"], json!([]));
    assert_eq!(found[1]["duration_ms"], 9_000);
    let counts = found[1]["telemetry"]["token_counts"].as_array().unwrap();
    assert_eq!(counts.len(), 1);
    assert_eq!(counts[0]["context_tokens"], 34_000);
    let other = found[1]["telemetry"]["other"].as_array().unwrap();
    let ended = other.iter().find(|item| item["name"] == "turn_ended");
    assert_eq!(ended.unwrap()["value"]["outcome"], "cancelled");
    // One turn alone says the same.
    let shown = environment.json(&["show", &format!("{SESSION}#2"), "--turns"]);
    assert_eq!(shown["turns"][0]["telemetry"], found[1]["telemetry"]);
    assert_eq!(environment.run(&["doctor", "--deep"]).code, 0);
}

#[test]
fn files_without_events_go_with_their_session() {
    let environment = Environment::new();
    first_turn(&environment, SESSION);
    first_turn(&environment, OTHER);
    environment.sweep();
    let telemetry = "SELECT COUNT(*) FROM telemetry";
    let files = "SELECT COUNT(*) FROM source_files";
    let blocks = "SELECT COUNT(DISTINCT stream) FROM blocks";
    let before = rows(&environment, telemetry);
    assert!(before > 0);
    assert_eq!(
        (rows(&environment, files), rows(&environment, blocks)),
        (8, 8)
    );
    let forgotten = environment.run(&["forget", SESSION, "--yes"]);
    assert_eq!(forgotten.code, 0, "{}", forgotten.stderr);
    assert_eq!(rows(&environment, telemetry), before / 2);
    assert_eq!(
        (rows(&environment, files), rows(&environment, blocks)),
        (4, 4)
    );
    // They do not come back, though they grow.
    let grown = first_events(SESSION) + &first_events(SESSION);
    write(&environment, SESSION, "events.jsonl", &grown);
    write(&environment, SESSION, "signals.json", &signals(1));
    environment.sweep();
    let sessions = environment.json(&["sessions"]);
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(rows(&environment, telemetry), before / 2);
    assert_eq!(rows(&environment, blocks), 4);

    let set = environment.run(&["config", "set", "raw_soft_cap_bytes", "1"]);
    assert_eq!(set.code, 0, "{}", set.stderr);
    environment.sweep();
    assert_eq!(
        (rows(&environment, telemetry), rows(&environment, blocks)),
        (0, 0)
    );
    let restored = environment.json(&["retain", "--restore", OTHER]);
    assert_eq!(restored["files"].as_array().unwrap().len(), 4);
    environment.sweep();
    assert_eq!(
        turns(&environment, OTHER)[0]["actions"][0]["duration_ms"],
        777
    );
}
