//! The log of events: a line a hook, a file a day, for nobody else to read.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::{Home, claude_hook, logged, prompted, told, tool_used};
use crate::environment::{claude_id, prompt, reply};

const DAY: Duration = Duration::from_secs(24 * 3600);

#[test]
fn every_hook_leaves_a_line() {
    let environment = Home::new();
    claude_hook(&environment, &prompted(&environment, 1, "p1", "do it"));
    claude_hook(&environment, &tool_used(&environment, 1, "toolu_1", "ls"));
    claude_hook(&environment, &told(&environment, 1, "Stop", &json!({})));
    environment.feed(&["hook", "Stop", "--agent", "codex"], b"garbage");
    let mut lines = environment.logged_events();
    let is_call = |line: &Value| line["data"]["raw_size"].is_number();
    lines.retain(is_call);
    let told = |line: &Value| {
        let text = |value: &Value| value.as_str().unwrap().to_string();
        let (data, event_type) = (&line["data"], text(&line["event_type"]));
        format!(
            "{event_type} {} {} {}",
            text(&data["agent"]),
            text(&data["event"]),
            data["tool"]
        )
    };
    let expected = [
        "hook.capture claude-code UserPromptSubmit null",
        r#"hook.capture claude-code PostToolUse "Bash""#,
        "hook.capture claude-code Stop null",
        "hook.unreadable codex Stop null",
    ];
    assert_eq!(lines.iter().map(told).collect::<Vec<_>>(), expected);
    for line in &lines {
        assert!(line["duration_ms"].as_f64() > Some(0.0), "{line}");
        assert!(line["data"]["raw_size"].as_u64() > Some(5), "{line}");
        let at: jiff::Timestamp = line["timestamp"].as_str().unwrap().parse().unwrap();
        let now = jiff::Timestamp::now();
        assert!(at <= now && now.as_second() - at.as_second() < 3600);
    }
}

/// The last event of a type.
#[track_caller]
fn last(environment: &Home, event_type: &str) -> Value {
    let mut events = environment.logged_events();
    events.retain(|event| event["event_type"] == event_type);
    events.pop().unwrap()
}

#[test]
fn a_file_that_is_written_leaves_its_functions_and_calls() {
    let environment = Home::new();
    let source = "def total(items):\n    return add(items)\n\n\ndef add(items):\n    return items.reduce(1)\n";
    let path = environment.write("shop/cart.py", source);
    let input = json!({"file_path": path, "content": source});
    let more = json!({"tool_name": "Write", "tool_use_id": "toolu_1", "tool_input": input, "tool_response": {"filePath": path}, "cwd": environment.home().join("shop")});
    let used = told(&environment, 1, "PostToolUse", &more);
    super::claude_hook_in_time(&environment, &used);
    let capture = last(&environment, "hook.capture");
    assert_eq!(capture["session_id"], claude_id(1));
    assert_eq!(capture["data"]["tool"], "Write");
    assert_eq!(capture["data"]["paths"], json!([path]));
    let scan = last(&environment, "ast.scan");
    assert_eq!(scan["session_id"], claude_id(1));
    let counts = json!({"agent": "claude-code", "file": "cart.py", "functions_found": 2, "call_edges": 2, "unresolved_calls": 1});
    for (name, value) in counts.as_object().unwrap() {
        assert_eq!(&scan["data"][name], value, "{name}: {scan}");
    }
    assert!(scan["duration_ms"].as_f64() > Some(0.0), "{scan}");
    let graph = last(&environment, "ast.call_graph");
    assert_eq!(graph["data"]["file"], "cart.py");
    assert_eq!(
        (&graph["data"]["edges"], &graph["data"]["unresolved"]),
        (&json!(2), &json!(1))
    );
}

#[test]
fn what_ends_a_turn_asks_for_a_summary() {
    let environment = Home::new();
    let more = json!({"last_assistant_message": "The cart is fixed, and all of its tests pass."});
    let stop = told(&environment, 1, "Stop", &more);
    super::claude_hook_in_time(&environment, &stop);
    let summary = last(&environment, "hook.summary");
    assert_eq!(summary["session_id"], claude_id(1));
    assert!(summary["data"]["tokens"].as_u64() > Some(5), "{summary}");
    assert_eq!(summary["data"]["status"], "success");
}

#[test]
fn context_is_logged_without_its_text() {
    let environment = Home::new();
    let folder = environment.home().join("shop");
    std::fs::create_dir_all(&folder).unwrap();
    let lines = [
        prompt(1, 0, "paint the walrus"),
        reply(1, 1, "It is painted.", 3),
    ];
    let lines = lines.map(|line| line.replace("/home/ada/shop", folder.to_str().unwrap()));
    environment.claude(1, &lines);
    environment.sweep();
    let more = json!({"cwd": folder, "source": "startup"});
    let start = told(&environment, 2, "SessionStart", &more);
    let arguments = ["hook", "SessionStart", "--agent", "claude-code"];
    let outcome = environment.feed(&arguments, start.to_string().as_bytes());
    assert!(
        outcome.stdout.contains("paint the walrus"),
        "{}",
        outcome.stdout
    );
    let inject = last(&environment, "hook.context_inject");
    let data = &inject["data"];
    assert_eq!(
        (&data["moment"], &data["budget"]),
        (&json!("start"), &json!(2000))
    );
    assert!(
        data["layers"]
            .as_array()
            .unwrap()
            .contains(&json!("sessions")),
        "{inject}"
    );
    assert_eq!(data["tokens"], inject["tokens_out"]);
    assert!(data["tokens"].as_u64() > Some(10), "{inject}");
    let budget = last(&environment, "context.token_budget");
    assert_eq!(budget["data"]["total_tokens"], data["tokens"]);
    assert_eq!(budget["data"]["layers_included"], data["layers"]);
    // The session that it was injected into says how much it was, once however often its log is swept.
    let lines = [prompt(2, 9, "and the tusks")];
    environment.claude(2, &lines);
    environment.sweep();
    environment.sweep();
    let session = &environment.json(&["show", &claude_id(2)]);
    assert_eq!(session["tokens_injected"], data["tokens"], "{session}");
    let log = std::fs::read_to_string(environment.store().join("logs/events.jsonl")).unwrap();
    assert!(!log.contains("walrus"), "{log}");
}

#[test]
fn what_is_spooled_is_logged_without_its_session() {
    let environment = Home::new();
    let other = rusqlite::Connection::open(environment.store().join("backstory.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    claude_hook(&environment, &prompted(&environment, 1, "p1", "do it"));
    let capture = last(&environment, "hook.capture");
    assert_eq!(capture["data"]["kept"], "spool", "{capture}");
    assert_eq!(capture["session_id"], Value::Null);
    let log = std::fs::read_to_string(environment.store().join("logs/events.jsonl")).unwrap();
    assert!(!log.contains(&claude_id(1)), "{log}");
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_what_hooks_write() {
    use std::os::unix::fs::PermissionsExt;
    let environment = Home::new();
    claude_hook(&environment, &prompted(&environment, 1, "p1", "do it"));
    let database = environment.store().join("backstory.db");
    let other = rusqlite::Connection::open(database).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    claude_hook(&environment, &prompted(&environment, 1, "p2", "do it"));
    let mode = |path: &std::path::Path| {
        let permissions = std::fs::metadata(path).unwrap().permissions();
        permissions.mode() & 0o777
    };
    for folder in ["", "logs", "spool"] {
        let path = environment.store().join(folder);
        assert_eq!(mode(&path), 0o700, "{folder}");
    }
    let files = environment.stored_files();
    assert!(files.len() > 3, "{files:?}");
    for (path, _) in files {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn every_day_has_its_file_and_thirty_are_kept() {
    let environment = Home::new();
    claude_hook(&environment, &prompted(&environment, 1, "p1", "yesterday"));
    let folder = environment.store().join("logs");
    let current = folder.join("events.jsonl");
    let first = std::fs::read(&current).unwrap();
    let yesterday = SystemTime::now() - DAY;
    let file = std::fs::File::options().write(true).open(&current).unwrap();
    file.set_modified(yesterday).unwrap();
    let name = |days: u32| {
        let at = jiff::Timestamp::try_from(yesterday - DAY * days).unwrap();
        format!("events-{}.jsonl", at.strftime("%Y-%m-%d"))
    };
    for days in 1..=40 {
        std::fs::write(folder.join(name(days)), "{}\n").unwrap();
    }
    std::fs::write(folder.join("notes.txt"), "of somebody else").unwrap();

    claude_hook(&environment, &prompted(&environment, 1, "p2", "today"));
    assert_eq!(std::fs::read(folder.join(name(0))).unwrap(), first);
    assert_eq!(logged(&environment).len(), 1);
    let mut kept: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("events-"))
        .collect();
    kept.sort();
    let mut expected: Vec<String> = (0..30).map(name).collect();
    expected.sort();
    assert_eq!(kept, expected);
    assert!(folder.join("notes.txt").exists());

    // The same day goes on in the same file.
    claude_hook(&environment, &prompted(&environment, 1, "p3", "today"));
    assert_eq!(logged(&environment).len(), 2);
}

#[test]
fn a_log_that_cannot_be_written_harms_nobody() {
    let environment = Home::new();
    claude_hook(&environment, &prompted(&environment, 1, "p1", "do it"));
    let folder = environment.store().join("logs");
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "a file").unwrap();
    claude_hook(&environment, &prompted(&environment, 1, "p2", "do it"));
    assert_eq!(super::count(&environment, "prompt"), 2);
}

#[test]
fn doctor_tells_which_agents_call_and_when_they_last_did() {
    let environment = Home::new();
    let capture = |agent: &str| {
        let found = environment.json(&["doctor"])["capture"]["agents"].clone();
        let agents = found.as_array().unwrap().clone();
        agents
            .into_iter()
            .find(|found| found["agent"] == agent)
            .unwrap()
    };
    let before = capture("claude-code");
    assert_eq!(
        (&before["status"], &before["last_ran_at"]),
        (&"absent".into(), &Value::Null)
    );
    environment.json(&["setup", "claude-code"]);
    claude_hook(&environment, &prompted(&environment, 1, "p1", "do it"));
    claude_hook(&environment, &prompted(&environment, 1, "p2", "go on"));
    let after = capture("claude-code");
    assert_eq!(after["status"], "set_up");
    let runs = &after["runs"];
    assert_eq!(
        (&runs[0]["event"], &runs[0]["count"]),
        (&"UserPromptSubmit".into(), &2.into())
    );
    assert_eq!(runs[0]["last_ran_at"], after["last_ran_at"]);
    // The same when the database has what the files say.
    environment.sweep();
    assert_eq!(capture("claude-code"), after);
    assert_eq!(capture("grok")["status"], "shared");
    assert_eq!(capture("codex")["status"], "absent");
    environment.json(&["teardown", "claude-code"]);
    assert_eq!(capture("claude-code")["status"], "absent");
}
