//! No secret that a rule knows reaches our disk.

use backstory_redact::{RULES, planted};
use serde_json::json;

use crate::environment::{Environment, claude_id, claude_path, prompt, record};

#[test]
fn one_secret_per_rule_in_every_place_leaves_no_byte_behind() {
    let environment = Environment::new();
    let mut secrets = Vec::new();
    let mut lines = Vec::new();
    for (index, rule) in RULES.iter().enumerate() {
        let number = index as u32 * 10;
        let plant = |place: u64| planted(rule, index as u64 * 7 + place);
        let plants: Vec<_> = (0..5).map(plant).collect();
        let text = |place: usize| format!("see this\n{}\nand go on", plants[place].text);
        lines.push(prompt(1, number, &text(0)));
        let input = json!({"command": text(1), "nested": json!({"again": text(1)}).to_string()});
        let call = json!([{"type": "thinking", "thinking": text(2)}, {"type": "tool_use", "id": number, "name": "Bash", "input": input}]);
        lines.push(record(
            1,
            number + 1,
            "assistant",
            &json!({"role": "assistant", "content": call}),
        ));
        let result = json!([{"type": "tool_result", "tool_use_id": number, "content": format!("\u{1b}[32m{}\u{1b}[0m", text(3))}]);
        lines.push(record(
            1,
            number + 2,
            "user",
            &json!({"role": "user", "content": result}),
        ));
        lines.push(format!(
            "not json {}\n",
            plants[4].text.replace(['\n', '\r'], " ")
        ));
        secrets.extend(
            plants
                .into_iter()
                .flat_map(|plant| plant.secrets)
                .map(|secret| (rule.id, secret)),
        );
    }
    environment.write(&claude_path(1), lines.concat());
    let report = environment.sweep();
    assert!(report["redactions"].as_u64().unwrap() >= RULES.len() as u64);
    // Compressed pages hide nothing from whoever unpacks them, so the bytes are looked for unpacked, too.
    let original = environment
        .run(&["show", "00000001", "--format", "original"])
        .stdout;
    let shown = environment.run(&["show", "00000001", "--json"]).stdout;
    let files: Vec<_> = environment
        .stored_files()
        .into_iter()
        .map(|(path, bytes)| (path, String::from_utf8_lossy(&bytes).into_owned()))
        .collect();
    for (rule, secret) in secrets {
        assert!(
            !original.contains(&secret),
            "{rule}: {secret} in the stored log"
        );
        assert!(!shown.contains(&secret), "{rule}: {secret} in the events");
        for (path, text) in &files {
            assert!(
                !text.contains(&secret),
                "{rule}: {secret} in {}",
                path.display()
            );
        }
    }
    for line in original.lines().filter(|line| line.starts_with('{')) {
        assert!(
            serde_json::from_str::<serde_json::Value>(line).is_ok(),
            "redaction broke a record: {line}"
        );
    }
}

#[test]
fn a_password_in_an_array_of_arguments_is_stored_nowhere() {
    let environment = Environment::new();
    let secret = "Zq8kTn4vWx2LmPa7Rs9D";
    let commands = [
        vec!["sshpass", "-p", secret, "ssh", "h"],
        vec!["docker", "login", "-u", "me", "-p", secret],
        vec!["gh", "secret", "set", "X", "--body", secret],
    ];
    let id = "019f0000-0000-7000-8000-00000000000a";
    let time = "2026-02-01T10:00:00.000Z";
    let line = |kind: &str, payload: serde_json::Value| {
        json!({"timestamp": time, "type": kind, "payload": payload}).to_string() + "\n"
    };
    let mut log = line(
        "session_meta",
        json!({"id": id, "cwd": "/x", "timestamp": time}),
    );
    for (number, command) in commands.iter().enumerate() {
        let arguments = json!({ "command": command }).to_string();
        log += &line(
            "response_item",
            json!({"type": "function_call", "name": "shell", "call_id": number.to_string(), "arguments": arguments}),
        );
    }
    environment.write(
        &format!(".codex/sessions/2026/02/01/rollout-2026-02-01T10-00-00-{id}.jsonl"),
        log,
    );
    for command in &commands {
        let input = json!({"session_id": "s1", "cwd": "/x", "hook_event_name": "PreToolUse", "tool_name": "shell", "tool_use_id": "t1",
            "tool_input": {"command": command}});
        environment.feed(&["hook", "--agent", "codex"], input.to_string().as_bytes());
    }
    assert_eq!(environment.sweep()["redactions"], 3);
    let shown = environment.run(&["show", id, "--json"]).stdout;
    assert!(shown.contains("[REDACTED:sshpass-password:"), "{shown}");
    assert!(!environment.everything().contains(secret));
    assert!(!shown.contains(secret));
    for (path, bytes) in environment.stored_files() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(secret), "{}", path.display());
    }
}

#[test]
fn a_document_that_is_text_is_not_stored_decoded() {
    let environment = Environment::new();
    let text = "# .env\nA=1\n".repeat(1000) + "NOTE=the-needle-of-this-document\n";
    let data = data_encoding::BASE64.encode(text.as_bytes());
    let source = json!({"type": "base64", "media_type": "image/png", "data": data});
    let content = json!([{"type": "document", "source": source}]);
    let message = json!({"role": "user", "content": content});
    environment.claude(1, &[record(1, 0, "user", &message)]);
    environment.sweep();
    for (path, bytes) in environment.stored_files() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("needle"), "{}", path.display());
    }
    let original = environment
        .run(&["show", "00000001", "--format", "original"])
        .stdout;
    assert!(original.contains(&data));
}

#[test]
fn redaction_can_be_switched_off_and_says_so_nowhere_else() {
    let environment = Environment::new();
    let plant = planted(&RULES[0], 1);
    environment.claude(1, &[prompt(1, 0, &plant.text)]);
    assert_eq!(environment.run(&["config", "set", "redact", "off"]).code, 0);
    assert_eq!(environment.sweep()["redactions"], 0);
    assert!(
        environment
            .run(&["show", "00000001", "--format", "original"])
            .stdout
            .contains(&plant.secrets[0])
    );
}

#[test]
fn our_own_context_is_never_memory() {
    let environment = Environment::new();
    let ours = "<backstory-context id=\"1\">remember the needle</backstory-context>";
    environment.claude(
        1,
        &[
            prompt(1, 0, ours),
            prompt(1, 1, &format!("{ours}\nfix the bug")),
        ],
    );
    environment.sweep();
    assert_eq!(environment.events("00000001"), ["prompt: fix the bug"]);
    assert!(!environment.everything().contains("needle"));
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_the_store() {
    use std::os::unix::fs::PermissionsExt;
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "private")]);
    environment.sweep();
    assert_eq!(
        std::fs::metadata(environment.store())
            .unwrap()
            .permissions()
            .mode()
            & 0o077,
        0
    );
    for (path, _) in environment.stored_files() {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
    }
}

/// A secret that is a folder, as each agent writes it into the path of a log, and a name made of one.
fn secret_paths(secret: &str) -> [(String, Vec<u8>); 3] {
    let grok = "019f0000-0000-7000-8000-00000000000a";
    let update = json!({"timestamp": 1_770_000_000, "params": {"sessionId": grok, "update":
        {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "hello grok"}}}});
    [
        (
            format!(".claude/projects/-work-{secret}/{}.jsonl", claude_id(1)),
            prompt(1, 0, "hello claude").into_bytes(),
        ),
        (
            format!(
                ".claude/projects/-work-shop/{}/subagents/agent-{secret}.jsonl",
                claude_id(2)
            ),
            prompt(2, 0, "hello agent")
                .replace("\"cwd\"", "\"isSidechain\":true,\"cwd\"")
                .into_bytes(),
        ),
        (
            format!(".grok/sessions/%2Fwork%2F{secret}/{grok}/updates.jsonl"),
            format!("{update}\n").into_bytes(),
        ),
    ]
}

#[test]
fn a_path_that_was_stored_with_its_secret_is_redacted_by_the_next_sweep() {
    let environment = Environment::new();
    let rule = RULES
        .iter()
        .find(|rule| rule.id == "anthropic-api-key")
        .unwrap();
    let secret = planted(rule, 12).secrets.remove(0);
    let [(path, bytes), ..] = secret_paths(&secret);
    let path = environment.write(&path, bytes);
    environment.sweep();
    // As an older program left it.
    let database = rusqlite::Connection::open(environment.store().join("backstory.db")).unwrap();
    database
        .execute_batch("DELETE FROM settings WHERE name = 'paths-redacted-by'")
        .unwrap();
    for column in [
        "source_files SET path",
        "sessions SET cwd",
        "projects SET root",
    ] {
        let update = format!("UPDATE {column} = ?1");
        database.execute(&update, [path.to_string_lossy()]).unwrap();
    }
    drop(database);
    let report = environment.sweep();
    assert_eq!(
        (&report["ingested"], &report["skipped_unchanged"]),
        (&json!(0), &json!(1))
    );
    for (path, bytes) in environment.stored_files() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(&secret[..20]), "{}", path.display());
    }
    assert_eq!(environment.events("00000001"), ["prompt: hello claude"]);
}

#[test]
fn a_secret_in_the_path_of_a_log_is_neither_stored_nor_shown() {
    let environment = Environment::new();
    let rule = RULES
        .iter()
        .find(|rule| rule.id == "anthropic-api-key")
        .unwrap();
    let secret = planted(rule, 11).secrets.remove(0);
    for (path, bytes) in secret_paths(&secret) {
        environment.write(&path, bytes);
    }
    // Something that cannot be read is shown by its path.
    environment.write(
        &format!(".claude/projects/-work-{secret}/{}.jsonl", claude_id(3)),
        "no json at all\n",
    );
    environment.write(
        &format!(
            ".codex/sessions/2026/{secret}/rollout-2026-01-02T03-04-05-{}.jsonl.zst",
            claude_id(4)
        ),
        "no archive at all\n",
    );
    let mut shown = Vec::new();
    for arguments in [
        &["sweep", "--dry-run", "--json"][..],
        &["sweep", "--json"],
        &["sweep"],
        &["doctor"],
        &["doctor", "--json"],
        &["sessions", "--json"],
        &["show", "00000001", "--json"],
        &["show", "00000001", "--format", "original"],
        &["show", "019f0000", "--json"],
        &["search", "hello", "--json"],
        &["usage", "session", "--json"],
    ] {
        let outcome = environment.run(arguments);
        shown.push((format!("{arguments:?}"), outcome.stdout + &outcome.stderr));
    }
    for (path, bytes) in environment.stored_files() {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        shown.push((path.display().to_string(), text));
    }
    for part in secret.as_bytes().windows(12) {
        let part = std::str::from_utf8(part).unwrap();
        for (place, text) in &shown {
            assert!(!text.contains(part), "{part} is in {place}: {text}");
        }
    }
    // The files are known again by what is stored of their paths.
    let report = environment.sweep();
    assert_eq!(report["skipped_unchanged"], 4, "{report}");
    assert_eq!(environment.events("00000001"), ["prompt: hello claude"]);
    environment.write(
        &secret_paths(&secret)[0].0,
        prompt(1, 0, "hello claude") + &prompt(1, 1, "again"),
    );
    assert_eq!(environment.sweep()["events"], 1);
    assert_eq!(
        environment.events("00000001"),
        ["prompt: hello claude", "prompt: again"]
    );
    // And are left alone when they were forgotten.
    assert_eq!(environment.run(&["forget", "00000001", "--yes"]).code, 0);
    assert_eq!(environment.sweep()["ingested"], 0);
}
