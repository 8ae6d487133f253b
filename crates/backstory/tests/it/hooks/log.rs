//! The log of events: a line a hook, a file a day, for nobody else to read.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::{Home, claude_hook, logged, prompted, told, tool_used};

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
