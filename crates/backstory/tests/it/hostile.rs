//! Logs are written by programs that crash, and by whoever can write a file.

use serde_json::{Value, json};

use crate::environment::{Environment, claude_id, claude_path, prompt, record};

#[test]
fn bad_files_are_counted_and_nothing_else_is_lost() {
    let environment = Environment::new();
    let good = prompt(1, 0, "good");
    environment.claude(1, std::slice::from_ref(&good));
    let deep = format!(
        "{{\"type\":\"user\",\"message\":{{\"content\":{}1{}}}}}\n",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let files: [(&str, Vec<u8>); 9] = [
        ("empty", Vec::new()),
        ("binary", (0..50_000u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect()),
        ("deep", deep.into_bytes()),
        ("invalid-utf8", b"{\"type\":\"user\",\"sessionId\":\"u\",\"message\":{\"content\":\"\xff\xfe\"}}\n".to_vec()),
        ("lone-surrogate", br#"{"type":"user","sessionId":"l","uuid":"l1","message":{"content":"cut \ud83d here"}}"#.to_vec()),
        ("nul", b"{\"type\":\"user\",\"sessionId\":\"n\",\"uuid\":\"n1\",\"message\":{\"content\":\"a\\u0000b\"}}\n\0\0\0\n".to_vec()),
        ("crlf", good.replace('\n', "\r\n").replace("uuid-0", "uuid-crlf").into_bytes()),
        ("bom", [b"\xef\xbb\xbf".to_vec(), good.replace("uuid-0", "uuid-bom").into_bytes()].concat()),
        ("numbers", br#"{"type":"assistant","sessionId":"x","uuid":"x1","timestamp":"99999-01-01","message":{"id":"m","model":"m","content":[],"usage":{"input_tokens":1e400,"output_tokens":-5}}}"#.to_vec()),
    ];
    for (name, bytes) in &files {
        environment.write(&format!(".claude/projects/-bad/{name}.jsonl"), bytes);
    }
    let report = environment.sweep();
    assert_eq!(report["discovered"], 10);
    assert_eq!(environment.events(&claude_id(1))[0], "prompt: good");
    assert_eq!(environment.events("l"), ["prompt: cut \u{fffd} here"]);
    assert_eq!(environment.events("n"), ["prompt: a\0b"]);
    let doctor = environment.json(&["doctor"]);
    assert_eq!(doctor["ok"], true);
    for row in doctor["skipped"].as_array().unwrap() {
        let path = row["path"].as_str().unwrap();
        assert!(
            ["binary", "deep", "nul"]
                .iter()
                .any(|name| path.ends_with(&format!("{name}.jsonl"))),
            "{row}"
        );
    }
    assert_eq!(environment.sweep()["ingested"], 0);
}

#[test]
fn a_record_too_long_to_keep_is_counted_and_passed_over() {
    let environment = Environment::new();
    let long = format!("{{\"long\":\"{}\"}}\n", "x".repeat(40 << 20));
    environment.claude(1, &[prompt(1, 0, "before"), long, prompt(1, 1, "after")]);
    let report = environment.sweep();
    assert_eq!(report["skipped_records"], 1);
    assert_eq!(
        environment.events(&claude_id(1)),
        ["prompt: before", "prompt: after"]
    );
    let doctor = environment.json(&["doctor"]);
    assert_eq!(doctor["skipped"][0]["line"], 2);
    assert_eq!(doctor["ok"], true);
}

#[test]
fn a_long_record_that_can_be_kept_is_kept() {
    let environment = Environment::new();
    let text = "word ".repeat(1_500_000);
    environment.claude(
        1,
        &[
            prompt(1, 0, "before"),
            prompt(1, 1, &text),
            prompt(1, 2, "after"),
        ],
    );
    environment.sweep();
    assert_eq!(
        environment.events(&claude_id(1))[1],
        format!("prompt: {}", text.trim_end())
    );
    assert_eq!(environment.events(&claude_id(1)).len(), 3);
}

#[test]
fn a_line_of_thousands_of_blocks_is_parsed_once() {
    // Parsed for each of its blocks, it took minutes.
    let environment = Environment::new();
    let blocks: Vec<Value> = (0..8_000)
        .map(|number| json!({"type": "tool_use", "id": format!("t{number}"), "name": "Edit", "input": {"file_path": "/home/ada/shop/a.py", "old_string": "a", "new_string": "b"}}))
        .collect();
    let results: Vec<Value> = (0..8_000)
        .map(|number| json!({"type": "tool_result", "tool_use_id": format!("t{number}"), "content": "done"}))
        .collect();
    environment.claude(
        1,
        &[
            prompt(1, 0, "edit"),
            record(
                1,
                1,
                "assistant",
                &json!({"role": "assistant", "content": blocks}),
            ),
            record(1, 2, "user", &json!({"role": "user", "content": results})),
        ],
    );
    environment.sweep();
    assert_eq!(environment.events(&claude_id(1)).len(), 16_001);
}

#[cfg(unix)]
#[test]
fn loops_pipes_and_unreadable_folders_do_no_harm() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "good")]);
    let projects = environment.home().join(".claude/projects");
    symlink(&projects, projects.join("loop")).unwrap();
    symlink(environment.home(), projects.join("around")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(projects.join("pipe.jsonl"))
        .status();
    assert!(made.unwrap().success());
    let closed = projects.join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    let readable = std::fs::read_dir(&closed).is_ok();
    let report = environment.sweep();
    assert_eq!(report["discovered"], 1, "{report}");
    // Root reads everything; others are told.
    assert_eq!(
        report["problems"].as_array().unwrap().len(),
        usize::from(!readable)
    );
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(environment.events(&claude_id(1)), ["prompt: good"]);
}

#[cfg(unix)]
#[test]
fn linked_logs_are_read_once() {
    use std::os::unix::fs::{chown, symlink};
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 10, "plain")]);
    let projects = environment.home().join(".claude/projects");
    let elsewhere = environment.write("elsewhere/file", prompt(2, 20, "linked file") + "\n");
    environment.write(
        "moved/project/3.jsonl",
        prompt(3, 30, "linked folder") + "\n",
    );
    symlink(&elsewhere, projects.join("a.jsonl")).unwrap();
    symlink("a.jsonl", projects.join("b.jsonl")).unwrap();
    symlink("../../moved", projects.join("moved")).unwrap();
    symlink("../../moved/project", projects.join("again")).unwrap();
    symlink(
        environment.home().join("moved"),
        environment.home().join("moved/up"),
    )
    .unwrap();
    // One that is there under its own name.
    let own = format!("-work-shop/{}.jsonl", claude_id(1));
    symlink(&own, projects.join("1.jsonl")).unwrap();
    let report = environment.sweep();
    assert_eq!(report["discovered"], 3, "{report}");
    assert_eq!(report["replayed"], 0);
    assert_eq!(report["problems"], serde_json::json!([]));
    for (number, text) in [(1, "plain"), (2, "linked file"), (3, "linked folder")] {
        let events = environment.events(&claude_id(number));
        assert_eq!(events, [format!("prompt: {text}")]);
    }
    let again = environment.sweep();
    assert_eq!(again["skipped_unchanged"], 3, "{again}");
    std::fs::write(
        &elsewhere,
        prompt(2, 20, "linked file") + "\n" + &prompt(2, 21, "grown"),
    )
    .unwrap();
    assert_eq!(environment.sweep()["events"], 1);

    // What is not followed is named, by sweep and doctor.
    let key = environment.write("key", "-----BEGIN NOTHING-----\n");
    let others = environment.write("others", prompt(4, 40, "of another user"));
    symlink(&key, projects.join("key.jsonl")).unwrap();
    symlink("nowhere", projects.join("nowhere.jsonl")).unwrap();
    let mut expected = vec![
        ("key.jsonl", "it is no log of claude-code"),
        ("nowhere.jsonl", "leads nowhere"),
    ];
    if nix::unistd::geteuid().is_root() && chown(&others, Some(65534), Some(65534)).is_ok() {
        symlink(&others, projects.join("others.jsonl")).unwrap();
        expected.push(("others.jsonl", "of another user"));
    }
    let report = environment.sweep();
    let doctor = environment.run(&["doctor"]);
    assert_eq!(doctor.code, 1);
    let problems = report["problems"].as_array().unwrap();
    assert_eq!(problems.len(), expected.len(), "{report}");
    for (name, reason) in expected {
        let is_it =
            |problem: &&serde_json::Value| problem["path"].as_str().unwrap().ends_with(name);
        let problem = problems.iter().find(is_it).unwrap();
        assert!(
            problem["reason"].as_str().unwrap().contains(reason),
            "{problem}"
        );
        let is_named = |line: &str| line.contains(name) && line.contains(reason);
        assert_eq!(
            doctor.stdout.lines().filter(|line| is_named(line)).count(),
            1,
            "{}",
            doctor.stdout
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_utf8_are_read_and_stay_apart() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 10, "plain")]);
    let projects = environment.home().join(".claude/projects");
    let folder = projects.join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&folder).unwrap();
    let paths = [
        projects.join(OsStr::from_bytes(b"\xff.jsonl")),
        projects.join(OsStr::from_bytes(b"\xfe.jsonl")),
        folder.join("in-folder.jsonl"),
    ];
    for (path, number) in paths.iter().zip(2..) {
        std::fs::write(path, prompt(number, number * 10, "odd name") + "\n").unwrap();
    }
    let report = environment.sweep();
    assert_eq!(report["discovered"], 4, "{report}");
    for number in 2..5 {
        assert_eq!(environment.events(&claude_id(number)), ["prompt: odd name"]);
    }
    assert_eq!(environment.sweep()["skipped_unchanged"], 4);
    std::fs::write(
        &paths[0],
        prompt(2, 20, "odd name") + "\n" + &prompt(2, 21, "grown"),
    )
    .unwrap();
    assert_eq!(environment.sweep()["events"], 1);
    // One whose name is what another is called is not taken for it.
    let twin = projects.join("caf\\xE9/in-folder.jsonl");
    std::fs::create_dir(twin.parent().unwrap()).unwrap();
    std::fs::write(&twin, prompt(5, 50, "twin") + "\n").unwrap();
    let report = environment.sweep();
    assert_eq!(report["problems"].as_array().unwrap().len(), 1, "{report}");
    assert!(environment.run(&["sweep"]).stdout.contains("not read:"));
}

/// A log of Codex, compressed, by the number in its id.
fn write_codex(environment: &Environment, number: u32, bytes: &[u8]) -> std::path::PathBuf {
    let id = format!("019f0000-0000-7000-8000-00000000000{number}");
    let name = format!("rollout-2026-01-02T03-04-05-{id}.jsonl.zst");
    environment.write(&format!(".codex/sessions/2026/01/02/{name}"), bytes)
}

/// A session of Codex with these outputs of tools.
fn codex_records(number: u32, outputs: &[String]) -> String {
    let record = |kind: &str, payload: serde_json::Value| {
        let line = serde_json::json!({"timestamp": "2026-01-02T03:04:05Z", "type": kind, "payload": payload});
        format!("{line}\n")
    };
    let id = format!("019f0000-0000-7000-8000-00000000000{number}");
    let mut text = record(
        "session_meta",
        serde_json::json!({"id": id, "cwd": "/work"}),
    );
    for (call, output) in outputs.iter().enumerate() {
        let call = format!("c{call}");
        text += &record(
            "response_item",
            serde_json::json!({"type": "function_call_output", "call_id": call, "output": output}),
        );
    }
    text
}

/// Outputs that have nothing in common, so that each takes room when they are compressed.
fn distinct_outputs() -> Vec<String> {
    let words = |output: u64| -> String {
        (output * 500..(output + 1) * 500)
            .map(|word| format!("{:x} ", word.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect()
    };
    (0..60).map(words).collect()
}

#[test]
fn logs_that_repeat_themselves_are_no_bombs() {
    let environment = Environment::new();
    let text = codex_records(
        1,
        &vec!["the same line of a file, again\n".repeat(3_000); 400],
    );
    let compressed = zstd::encode_all(text.as_bytes(), 3).unwrap();
    assert!(text.len() > 30 << 20 && text.len() / compressed.len() > 300);
    write_codex(&environment, 1, &compressed);
    let report = environment.sweep();
    assert_eq!(report["problems"], serde_json::json!([]));
    assert_eq!(report["events"], 400, "{report}");
}

#[test]
fn a_forgotten_log_is_not_named_as_unread() {
    let environment = Environment::new();
    let outputs = distinct_outputs();
    let whole = zstd::encode_all(codex_records(2, &outputs).as_bytes(), 3).unwrap();
    let path = write_codex(&environment, 2, &whole[..whole.len() / 2]);
    let id = "019f0000-0000-7000-8000-000000000002";
    environment.sweep();
    assert!(environment.run(&["doctor"]).stdout.contains(id));
    let forgotten = environment.run(&["forget", id, "--yes"]);
    assert_eq!(forgotten.code, 0, "{}", forgotten.stderr);
    for bytes in [&whole[..whole.len() / 2], b"damaged beyond recognition"] {
        std::fs::write(&path, bytes).unwrap();
        let report = environment.sweep();
        assert_eq!(report["problems"], serde_json::json!([]));
        let doctor = environment.run(&["doctor"]);
        assert!(!doctor.stdout.contains(id), "{}", doctor.stdout);
    }
    for (path, bytes) in environment.stored_files() {
        let is_there = memchr::memmem::find(&bytes, id.as_bytes()).is_some();
        assert!(!is_there, "{}", path.display());
    }
}

#[test]
fn what_was_not_read_is_named_until_it_is() {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "good")]);
    let mut noise = vec![0_u8; 10_000];
    let mut state = 1_u32;
    for byte in &mut noise {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (state >> 24) as u8;
    }
    let outputs = distinct_outputs();
    let whole = zstd::encode_all(codex_records(2, &outputs).as_bytes(), 3).unwrap();
    let bomb = zstd::encode_all(std::io::Read::take(std::io::repeat(b' '), 128 << 20), 3).unwrap();
    let random = write_codex(&environment, 1, &noise);
    let cut = write_codex(&environment, 2, &whole[..whole.len() / 2]);
    let bomb = write_codex(&environment, 3, &bomb);
    let expected = [
        (&random, "cannot be decompressed"),
        (&cut, "cannot be decompressed to its end"),
        (&bomb, "10000 times its size"),
    ];
    let mut since = Vec::new();
    for _ in 0..2 {
        let report = environment.sweep();
        assert_eq!(report["problems"].as_array().unwrap().len(), 3, "{report}");
        // What comes before the damage is there.
        assert!(
            environment
                .events("019f0000-0000-7000-8000-000000000002")
                .len()
                >= 2
        );
        let doctor = environment.run(&["doctor", "--json"]);
        assert_eq!(doctor.code, 1);
        let doctor: serde_json::Value = serde_json::from_str(&doctor.stdout).unwrap();
        let unread = doctor["unread"].as_array().unwrap();
        for ((path, reason), log) in expected.iter().zip(unread) {
            assert_eq!(log["path"], path.to_str().unwrap());
            assert!(log["reason"].as_str().unwrap().contains(reason), "{log}");
        }
        assert_eq!(doctor["wrong"].as_array().unwrap().len(), 3, "{doctor}");
        since.push(
            unread
                .iter()
                .map(|log| log["since"].clone())
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(since[0], since[1]);
    // A sweep of something else says nothing of them.
    let other = environment.write("other/1.jsonl", prompt(9, 90, "other"));
    environment.run(&["sweep", other.to_str().unwrap()]);
    let text = environment.run(&["doctor"]).stdout;
    assert!(
        text.contains("3 logs were not read") && !text.contains("all is well"),
        "{text}"
    );
    for (path, _) in expected {
        assert!(text.contains(path.to_str().unwrap()), "{text}");
    }
    std::fs::write(&cut, &whole).unwrap();
    std::fs::remove_file(&random).unwrap();
    std::fs::remove_file(&bomb).unwrap();
    assert_eq!(environment.sweep()["replayed"], 0);
    assert_eq!(
        environment
            .events("019f0000-0000-7000-8000-000000000002")
            .len(),
        60
    );
    let doctor = environment.run(&["doctor"]);
    assert_eq!(doctor.code, 0, "{}", doctor.stdout);
    // Of a folder that is named, too.
    let folder = environment.write("named/rollout-x.jsonl.zst", &noise);
    let folder = folder.parent().unwrap();
    let said = environment.run(&["sweep", folder.to_str().unwrap()]).stdout;
    assert!(
        said.contains("rollout-x.jsonl.zst: it cannot be decompressed"),
        "{said}"
    );
}

#[test]
fn ids_that_look_like_paths_are_only_ids() {
    let environment = Environment::new();
    let line = r#"{"type":"user","sessionId":"../../../etc/passwd","uuid":"u","message":{"content":"hello"}}"#;
    environment.write(".claude/projects/-bad/x.jsonl", line);
    environment.sweep();
    assert_eq!(environment.events("../../../etc/passwd"), ["prompt: hello"]);
    let names: Vec<_> = environment
        .stored_files()
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert!(
        names
            .iter()
            .all(|path| path.starts_with(environment.store()))
    );
    assert_eq!(environment.run(&["show", "%' OR 1=1 --"]).code, 1);
}

#[test]
fn ids_with_the_mark_of_turns_can_be_shown() {
    let environment = Environment::new();
    for (number, id) in ["#", "a", "a#2", "b#c", "d#1x"].iter().enumerate() {
        let lines: String = (0..2)
            .map(|turn| {
                let line = serde_json::json!({
                    "type": "user", "sessionId": id, "uuid": format!("u-{number}-{turn}"),
                    "timestamp": format!("2026-11-17T10:0{turn}:00Z"),
                    "message": {"content": format!("{id} says {turn}")},
                });
                format!("{line}\n")
            })
            .collect();
        environment.write(&format!(".claude/projects/-odd/{number}.jsonl"), lines);
    }
    environment.sweep();
    for (asked, said) in [
        ("#", "# says 1"),
        ("##2", "# says 1"),
        ("a", "a says 1"),
        ("a#1", "a says 0"),
        // The id wins over the turn.
        ("a#2", "a#2 says 1"),
        ("a#2#1", "a#2 says 0"),
        ("b#c", "b#c says 1"),
        ("b#c#1", "b#c says 0"),
        // The beginning of an id.
        ("d#1x", "d#1x says 1"),
        ("b#", "b#c says 1"),
    ] {
        let shown = environment.run(&["show", asked]);
        assert_eq!(shown.code, 0, "{asked}: {}", shown.stderr);
        assert!(shown.stdout.contains(said), "{asked}: {}", shown.stdout);
        let observed = environment.run(&["observations", asked]);
        assert!(
            observed.stdout.contains(said),
            "{asked}: {}",
            observed.stdout
        );
        if !asked.ends_with(['1', '2']) || asked == "a#2" {
            let original = environment.run(&["show", asked, "--format", "original"]);
            assert!(
                original.stdout.contains(said),
                "{asked}: {}",
                original.stderr
            );
        }
    }
    assert_eq!(environment.run(&["show", "a#9"]).code, 1);
    assert_eq!(environment.run(&["show", "a#x"]).code, 2);
}

#[test]
fn a_compression_bomb_is_refused() {
    let environment = Environment::new();
    let bomb = zstd::encode_all(std::io::Read::take(std::io::repeat(b' '), 1 << 30), 3).unwrap();
    let folder = ".codex/sessions/2026/01/02";
    environment.write(
        &format!(
            "{folder}/rollout-2026-01-02T03-04-05-019f0000-0000-7000-8000-000000000001.jsonl.zst"
        ),
        bomb,
    );
    environment.claude(1, &[prompt(1, 0, "good")]);
    let report = environment.sweep();
    assert_eq!(report["problems"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(environment.events(&claude_id(1)), ["prompt: good"]);
}

#[test]
fn terminals_get_no_control_characters_from_logs() {
    let environment = Environment::new();
    environment.write(&claude_path(1), prompt(1, 0, "red \u{1b}[31m alert \u{7}"));
    environment.sweep();
    for command in [
        vec!["sessions"],
        vec!["show", "00000001"],
        vec!["tail", "00000001"],
    ] {
        let stdout = environment.run(&command).stdout;
        assert!(
            stdout.contains("alert") && !stdout.contains(['\u{1b}', '\u{7}']),
            "{stdout:?}"
        );
    }
}

#[test]
fn very_long_names_are_shortened_and_stay_apart() {
    let environment = Environment::new();
    let long = "long-".repeat(20_000);
    let line = |id: &str, number: u32| {
        let call = serde_json::json!({"type": "tool_use", "id": format!("{long}{number}"), "name": long,
            "input": {"file_path": format!("/{long}"), "command": long}});
        let message = serde_json::json!({"role": "assistant", "model": long, "content": [call],
            "usage": {"input_tokens": 1, "output_tokens": 1}, "id": long});
        let answer = serde_json::json!({"role": "user", "content": [{"type": "tool_result",
            "tool_use_id": format!("{long}{number}"), "content": "done"}]});
        let fields = |kind: &str, uuid: String, message: &serde_json::Value| {
            let line = serde_json::json!({"type": kind, "uuid": uuid, "sessionId": id, "cwd": format!("/{long}"),
                "gitBranch": long, "timestamp": "2026-01-02T03:04:05Z", "message": message});
            format!("{line}\n")
        };
        let asked = serde_json::json!({"role": "user", "content": "hello"});
        [
            fields("user", format!("u{id}{number}"), &asked),
            fields("assistant", format!("a{id}{number}"), &message),
            fields("user", format!("r{id}{number}"), &answer),
        ]
        .concat()
    };
    let ids = [format!("{long}1"), format!("{long}2")];
    for (number, id) in ids.iter().enumerate() {
        environment.write(
            &format!(".claude/projects/-bad/{number}.jsonl"),
            line(id, 1) + &line(id, 2),
        );
    }
    environment.sweep();
    let sessions = environment.json(&["sessions", "--limit", "0"]);
    let names: Vec<&str> = sessions["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["session"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.iter().all(|name| name.len() <= 200) && names[0] != names[1]);
    // What a hook gives under the same id belongs to the same session.
    let input = serde_json::json!({"session_id": ids[0], "hook_event_name": "UserPromptSubmit", "prompt": "and then"});
    let arguments = ["hook", "UserPromptSubmit", "--agent", "claude-code"];
    environment.feed(&arguments, input.to_string().as_bytes());
    let sessions = environment.json(&["sessions", "--limit", "0"]);
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 2);
    for arguments in [
        &["sessions", "--limit", "0", "--json"][..],
        &["sessions"],
        &["usage", "session", "--json"],
        &["usage", "model"],
        &["context", "--json"],
    ] {
        let outcome = environment.run(arguments);
        assert!(
            outcome.stdout.len() < 100_000 && outcome.stderr.len() < 100_000,
            "{arguments:?}: {} bytes",
            outcome.stdout.len()
        );
    }
    // Call and result still find each other.
    let shown = environment.json(&["show", names[0]]);
    let events = shown["events"].as_array().unwrap();
    let results: Vec<_> = events
        .iter()
        .filter(|event| event["kind"] == "tool_result")
        .collect();
    assert_eq!(results.len(), 2);
    for event in events {
        for name in ["tool", "model", "call"] {
            let length = event[name].as_str().map_or(0, str::len);
            assert!(length <= 200, "{name}: {length}");
        }
    }
    let database = rusqlite::Connection::open(environment.store().join("backstory.db")).unwrap();
    for (query, most) in [
        // Branches are names, too.
        ("SELECT MAX(LENGTH(name)) FROM names", 1024),
        ("SELECT MAX(LENGTH(path)) FROM paths", 4096),
        ("SELECT MAX(LENGTH(cwd)) FROM sessions", 4096),
        ("SELECT MAX(LENGTH(branch)) FROM sessions", 1024),
        ("SELECT MAX(LENGTH(root)) FROM projects", 4096),
        ("SELECT COALESCE(MAX(LENGTH(call)), 0) FROM open_calls", 200),
        (
            "SELECT COUNT(*) FROM events WHERE kind = 4 AND call IS NULL",
            0,
        ),
    ] {
        let found: i64 = database.query_row(query, [], |row| row.get(0)).unwrap();
        assert!(found <= most, "{query}: {found}");
    }
}
