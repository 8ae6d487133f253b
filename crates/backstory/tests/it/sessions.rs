//! What sessions look like once they are in.

use backstory_agents::sample;

use crate::environment::{Environment, STORY_END, claude_id, prompt, record, reply};
use serde_json::json;

#[test]
fn the_sample_has_sessions_of_all_agents_and_says_what_to_do_next() {
    let environment = Environment::new();
    let outcome = environment.run(&["sweep", "--sample"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(
        outcome.stdout.contains("Now try") && outcome.stdout.contains("export BACKSTORY_HOME="),
        "{}",
        outcome.stdout
    );
    let store = environment.store().join("sample").join("store");
    let output = environment
        .command(&["sessions", "--limit", "0", "--json"])
        .env("BACKSTORY_HOME", store)
        .output()
        .unwrap();
    let sessions: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for agent in ["claude-code", "codex", "grok"] {
        assert!(
            sessions["sessions"]
                .as_array()
                .unwrap()
                .iter()
                .any(|session| session["agent"] == agent),
            "{agent}"
        );
    }
    // The user's own store is not touched by it.
    assert_eq!(environment.run(&["sessions"]).code, 1);
    assert_eq!(environment.run(&["sweep", "--sample"]).code, 0);
}

/// Sizes and times of the store's files.
#[cfg(unix)]
fn looks(environment: &Environment) -> Vec<(std::path::PathBuf, u64, i64, i64)> {
    use std::os::unix::fs::MetadataExt;
    let files = crate::environment::files_below(&environment.store()).into_iter();
    let mut looks: Vec<_> = files
        .map(|path| {
            let metadata = path.metadata().unwrap();
            (
                path,
                metadata.len(),
                metadata.ctime(),
                metadata.ctime_nsec(),
            )
        })
        .collect();
    looks.sort();
    looks
}

#[cfg(unix)]
#[test]
fn a_dry_run_leaves_even_the_times_of_files_alone() {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "first")]);
    environment.sweep();
    // As root, SQLite gives a journal that it reads the owner of the database, which changes its time.
    let is_root = nix::unistd::geteuid().is_root();
    for has_journal in [true, false] {
        if !has_journal {
            let database = environment.store().join("backstory.db");
            drop(
                rusqlite::Connection::open(&database)
                    .unwrap()
                    .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)"),
            );
            std::fs::write(database.with_extension("db-wal"), "").unwrap();
        } else if is_root {
            continue;
        }
        let before = looks(&environment);
        for arguments in [
            &["sweep", "--dry-run"][..],
            &["retain", "--dry-run"],
            &["forget", &claude_id(1), "--dry-run"],
            &["forget", "--query", "first", "--dry-run"],
            &["forget", "--project", "/home/ada/shop", "--dry-run"],
        ] {
            environment.json(arguments);
            assert_eq!(looks(&environment), before, "{arguments:?} {has_journal}");
        }
    }
}

#[test]
fn a_project_may_have_any_name() {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "first")]);
    environment.sweep();
    let count = |project: &str| {
        let outcome = environment.run(&["sessions", "--json", "--project", project]);
        assert!(outcome.code < 2, "{}", outcome.stderr);
        let answer: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        answer["sessions"].as_array().unwrap().len()
    };
    assert_eq!(count(&"x".repeat(100_000)), 0);
    assert_eq!(count(&"%".repeat(60_000)), 0);
    let root = environment.json(&["sessions"])["sessions"][0]["project"].clone();
    let name = root
        .as_str()
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap()
        .to_string();
    assert_eq!((count(&name), count(&name.to_uppercase())), (1, 1));
    // Letters that are patterns to SQL are letters.
    assert_eq!((count(&"_".repeat(name.len())), count("%")), (0, 0));
}

#[test]
fn a_dry_run_writes_nothing_at_all() {
    let environment = Environment::new();
    environment.write_all(sample::story(STORY_END));
    let report = environment.json(&["sweep", "--dry-run"]);
    assert!(report["events"].as_u64().unwrap() > 100, "{report}");
    assert!(!environment.store().exists());
    environment.sweep();
    let before = environment.stored_files();
    environment.claude(1, &[prompt(1, 0, "new")]);
    assert_eq!(environment.json(&["sweep", "--dry-run"])["events"], 1);
    assert!(
        environment.stored_files() == before,
        "a dry run changed the store"
    );
}

#[test]
fn calls_and_results_are_joined_with_what_they_did() {
    let environment = Environment::new();
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cargo test"}},
        {"type": "tool_use", "id": "t2", "name": "Edit", "input": {"file_path": "/home/ada/shop/a.rs", "old_string": "a", "new_string": "b"}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": "Exit code 101\nfailed"}]);
    environment.claude(
        1,
        &[
            prompt(1, 0, "run the tests"),
            record(
                1,
                1,
                "assistant",
                &json!({"model": "claude-test", "content": call}),
            ),
            record(1, 3, "user", &json!({"content": result})),
        ],
    );
    environment.sweep();
    let shown = environment.json(&["show", "00000001#1"]);
    let events = shown["events"].as_array().unwrap();
    assert_eq!(events.len(), 4);
    assert_eq!(
        (events[1]["tool"].as_str(), events[1]["command"].as_str()),
        (Some("Bash"), Some("cargo test"))
    );
    assert_eq!(events[2]["files"], json!(["/home/ada/shop/a.rs"]));
    let result = &events[3];
    assert_eq!(
        (result["tool"].as_str(), result["call"].as_u64()),
        (Some("Bash"), Some(2))
    );
    assert_eq!(
        (result["exit_code"].as_i64(), result["error"].as_bool()),
        (Some(101), Some(true))
    );
    assert_eq!(result["duration_ms"], 2000);
}

#[test]
fn sessions_are_listed_filtered_and_named() {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "fix the login"), reply(1, 1, "done", 5)]);
    environment.claude(2, &[prompt(2, 70, "write docs"), format!("{}\n", json!({"type": "custom-title", "customTitle": "The docs", "sessionId": claude_id(2)}))]);
    let subagent = prompt(1, 90, "look around").replace(
        "\"type\":\"user\"",
        "\"type\":\"user\",\"isSidechain\":true,\"agentId\":\"a1\"",
    );
    environment.write(
        &format!(
            ".claude/projects/-work-shop/{}/subagents/agent-a1.jsonl",
            claude_id(1)
        ),
        subagent,
    );
    environment.sweep();
    let titles = |arguments: &[&str]| -> Vec<String> {
        let listed = environment.json(&[&["sessions"], arguments].concat());
        listed["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|session| session["title"].as_str().unwrap().to_string())
            .collect()
    };
    assert_eq!(titles(&[]), ["look around", "The docs", "fix the login"]);
    assert_eq!(titles(&["--people"]), ["The docs", "fix the login"]);
    assert_eq!(titles(&["--limit", "1"]), ["look around"]);
    assert_eq!(titles(&["--parent", "00000001"]), ["look around"]);
    assert_eq!(
        titles(&[
            "--project",
            "shop",
            "--since",
            "2026-01-02T03:01:05Z",
            "--people"
        ]),
        ["The docs"]
    );
    assert_eq!(titles(&["--project", "/home/ada"]).len(), 3);
    assert!(titles(&["--project", "elsewhere"]).is_empty());
    assert!(titles(&["--agent", "codex"]).is_empty());
    // The beginning of an id names the session, not its subagents.
    assert_eq!(
        environment.json(&["show", "00000001"])["session"],
        claude_id(1)
    );
    let outcome = environment.run(&["show", "0000000"]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.stderr.contains("hint: give more of the id"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_title_in_another_file_finds_its_session() {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "fix the login")]);
    environment.claude(
        2,
        &[
            format!(
                "{}\n",
                json!({"type": "summary", "summary": "Login fixed", "leafUuid": "uuid-0"})
            ),
            prompt(2, 60, "next"),
        ],
    );
    environment.sweep();
    assert_eq!(
        environment.json(&["show", "00000001"])["title"],
        "Login fixed"
    );
    assert_eq!(environment.json(&["show", "00000002"])["title"], "next");
}

#[test]
fn tail_gives_the_end_and_show_a_turn() {
    let environment = Environment::new();
    let lines: Vec<String> = (0..5)
        .flat_map(|turn| {
            [
                prompt(1, 2 * turn, &format!("p{turn}")),
                reply(1, 2 * turn + 1, &format!("r{turn}"), 1),
            ]
        })
        .collect();
    environment.claude(1, &lines);
    environment.sweep();
    let texts = |value: serde_json::Value| -> Vec<String> {
        value["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["text"].as_str().unwrap().to_string())
            .collect()
    };
    assert_eq!(
        texts(environment.json(&["tail", "00000001", "-n", "3"])),
        ["r3", "p4", "r4"]
    );
    assert_eq!(
        texts(environment.json(&["show", "00000001#2"])),
        ["p1", "r1"]
    );
    assert_eq!(environment.run(&["show", "00000001#9"]).code, 1);
    assert_eq!(environment.run(&["show", "00000001#x"]).code, 2);
    let markdown = environment
        .run(&["show", "00000001", "--format", "markdown"])
        .stdout;
    assert!(markdown.contains("## 5 · you\n\np4\n\nr4"), "{markdown}");
}

#[test]
fn days_are_cut_where_the_user_lives() {
    let environment = Environment::new();
    environment.claude(1, &[reply(1, 0, "late", 5)]);
    environment.sweep();
    let day = |zone: &str, more: &[&str]| {
        let output = environment
            .command(&[&["usage", "daily", "--json"], more].concat())
            .env("TZ", zone)
            .output()
            .unwrap();
        let usage: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        usage["rows"][0]["key"].as_str().unwrap().to_string()
    };
    assert_eq!(day("UTC", &[]), "2026-01-02");
    assert_eq!(day("<-08>8", &[]), "2026-01-01");
    assert_eq!(day("<-08>8", &["--utc"]), "2026-01-02");
}
