//! Stores of past versions, from the copies that `backstory-store` keeps of every schema: they answer like one of today.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::Value;

use crate::environment::Environment;
use crate::event_log;

/// Sessions that all copies have.
const SESSIONS: [&str; 4] = [
    "0198c2d4-1b2a-4c3d-8e4f-0000000000a1",
    "0198c2d4-1b2a-4c3d-8e4f-0000000000a1/agent-a4c1f09d27be6358e",
    "0198c2d4-5555-7000-8000-0000000000c1",
    "0198c2d4-6666-7000-8000-0000000000d1",
];

fn copies() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../backstory-store/tests/stores");
    let mut copies: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    copies.sort();
    copies
}

/// A home whose store is a copy; no agent has its logs any more.
fn load_copy(copy: &Path) -> Environment {
    let environment = Environment::new();
    std::fs::create_dir_all(environment.store()).unwrap();
    std::fs::create_dir_all(environment.home()).unwrap();
    let database = open_database(&environment);
    let layout = "PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; BEGIN;";
    database.execute_batch(layout).unwrap();
    let sql = std::fs::read_to_string(copy).unwrap();
    database.execute_batch(&sql).unwrap();
    database.execute_batch("COMMIT").unwrap();
    environment
}

fn open_database(environment: &Environment) -> Connection {
    Connection::open(environment.store().join("backstory.db")).unwrap()
}

/// What a search finds in the sessions that all copies have.
fn search(environment: &Environment, query: &str) -> Vec<String> {
    let outcome = environment.run(&["search", "--json", query]);
    // That an index is made is all that it may say.
    assert!(outcome.warnings() <= 1, "{}", outcome.stderr);
    let answer = outcome.answer();
    let hits = answer["hits"].as_array().unwrap().iter();
    hits.filter(|hit| SESSIONS.iter().any(|id| hit["session"] == *id))
        .map(|hit| format!("{}#{}", hit["session"], hit["turn"]))
        .collect()
}

/// What is known of the sessions that all copies have, beside what models wrote of them.
fn answers(environment: &Environment) -> Vec<String> {
    let mut answers = Vec::new();
    for session in SESSIONS {
        let mut shown = environment.json(&["show", session]);
        let mut digest = environment.json(&["digest", session]);
        for answer in [&mut shown, &mut digest] {
            let answer = answer.as_object_mut().unwrap();
            for later in ["pinned", "status", "summary", "tokens_summarized"] {
                answer.remove(later);
            }
        }
        answers.push(format!("{shown:#}\n{digest:#}"));
    }
    let changes = environment.json(&["changes", "--limit", "0"])["changes"].clone();
    let changes = changes.as_array().unwrap().iter();
    answers.extend(
        changes
            .filter(|change| SESSIONS.iter().any(|id| change["session"] == *id))
            .map(Value::to_string),
    );
    for query in ["walrus", "till", "file:shop.py close", "Sundays"] {
        answers.push(format!("{query}: {:?}", search(environment, query)));
    }
    let runs = "SELECT group_concat(caller || ' ' || callee || ' ' || seen) FROM run_edges";
    let runs = open_database(environment).query_row(runs, [], |row| row.get::<_, String>(0));
    answers.push(runs.unwrap());
    answers
}

#[test]
fn past_stores_answer_like_one_of_today() {
    let copies = copies();
    assert!(copies.len() >= 10);
    let mut expected = None;
    for copy in copies.iter().rev() {
        let environment = load_copy(copy);
        // Before anything is made anew.
        let found = search(&environment, "walrus");
        assert_eq!(
            found,
            [format!("\"{}\"#1", SESSIONS[2])],
            "{}",
            copy.display()
        );
        let swept = environment.sweep();
        assert_eq!(
            (&swept["events"], &swept["backfill_bytes_left"]),
            (&0.into(), &0.into())
        );
        let answers = answers(&environment);
        match &expected {
            Some(expected) => assert_eq!(&answers, expected, "{}", copy.display()),
            None => expected = Some(answers),
        }
        let doctor = environment.run(&["doctor", "--deep"]);
        assert_eq!(doctor.code, 0, "{}: {}", copy.display(), doctor.stdout);
    }
}

#[test]
fn their_event_log_has_the_columns_of_today() {
    for copy in copies().iter().skip(4) {
        let environment = load_copy(copy);
        environment.json(&["sessions"]);
        let rows = event_log::rows(&environment);
        let hook = rows
            .iter()
            .find(|row| row["event_type"] == "hook.capture")
            .unwrap();
        assert_eq!(hook["data"]["agent"], "claude-code", "{hook}");
        assert_eq!(hook["data"]["event"], "UserPromptSubmit", "{hook}");
        assert_eq!(hook["data"]["status"], "success", "{hook}");
        assert!(
            hook["data"].get("error").is_some_and(Value::is_null),
            "{hook}"
        );
        assert!(hook["duration_ms"].as_f64() > Some(1.0), "{hook}");
        assert!(
            hook["timestamp"].as_str().unwrap().starts_with("2026-11-"),
            "{hook}"
        );
    }
}
