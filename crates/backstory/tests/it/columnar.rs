//! Columnar files: out of logs and stores, and the way back.

mod damaged_stores;
mod embeddings;
mod kept_sessions;
#[cfg(target_os = "linux")]
mod outputs;
mod package;
mod redaction;
mod refusals;

use std::path::Path;

use backstory_agents::sample;
use backstory_columnar::{SessionFile, WriteOptions, write_sessions};
use serde_json::{Value, json};

use crate::environment::{Environment, STORY_END, claude_id, claude_path};

/// A prompt of Claude Code, an answer that calls a tool, and its result.
fn turn(number: u32) -> String {
    let line = |kind: &str, id: String, parent: String, message: Value| {
        let record = json!({"type": kind, "uuid": id, "parentUuid": parent, "sessionId": claude_id(1), "cwd": "/work/shop", "version": "2.1.9",
            "gitBranch": "main", "timestamp": format!("2026-02-03T04:{number:02}:06.789Z"), "message": message});
        format!("{record}\n")
    };
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png()}});
    let ask = json!([{"type": "text", "text": format!("question {number} ü")}, image]);
    let call = json!({"type": "tool_use", "id": format!("t{number}"), "name": "Bash", "input": {"command": "ls"}});
    let answer = json!([{"type": "text", "text": "I look."}, call]);
    let usage = json!({"input_tokens": 3, "output_tokens": 5, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 11});
    let result = json!([{"type": "tool_result", "tool_use_id": format!("t{number}"), "content": "a.rs", "is_error": false}]);
    [
        line("user", format!("u{number}"), String::new(), json!({"role": "user", "content": ask})),
        line("assistant", format!("a{number}"), format!("u{number}"),
            json!({"id": format!("m{number}"), "role": "assistant", "model": "claude-test", "content": answer, "usage": usage})),
        line("user", format!("r{number}"), format!("a{number}"), json!({"role": "user", "content": result})),
    ]
    .concat()
}

/// Bytes that are no text, as base64.
fn png() -> String {
    let bytes: Vec<u8> = (0..6000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    data_encoding::BASE64.encode(&bytes)
}

fn output(environment: &Environment, name: &str) -> String {
    environment.home().join(name).display().to_string()
}

#[test]
fn a_log_becomes_a_file_that_can_be_looked_at() {
    let environment = Environment::new();
    let log = environment.write(&claude_path(1), [turn(1), turn(2)].concat());
    let file = output(&environment, "all.h5");
    let convert = ["convert", log.to_str().unwrap(), "-o", &file];
    let report = environment.json(&convert);
    assert_eq!(
        (
            &report["written"],
            &report["messages"],
            &report["tool_calls"]
        ),
        (&json!(1), &json!(6), &json!(2))
    );
    assert!(!environment.store().exists(), "no store is made");
    let shown = environment.json(&["inspect", &file]);
    let session = &shown["sessions"][claude_id(1)];
    assert_eq!(session["messages"], 6);
    assert_eq!(session["artifacts"], 2);
    assert_eq!(
        session["tokens"],
        json!({"input_tokens": 6, "output_tokens": 10, "cache_creation_input_tokens": 14, "cache_read_input_tokens": 22})
    );
    assert_eq!(session["git_branch"], "main");
    assert_eq!(shown["totals"]["tokens"], session["tokens"]);
    assert_eq!(shown["totals"]["sessions"], 1);
    let one = environment.json(&["inspect", &file, &claude_id(1)[..8]]);
    assert_eq!(one, shown);
    let tail = environment.json(&["tail", &file, "-n", "2"]);
    assert_eq!(tail["messages"][0]["uuid"], "a2");
    assert_eq!(tail["messages"][0]["text"], "I look.");
    assert_eq!(tail["messages"][1]["text"], "a.rs");
    let text = environment.run(&["tail", &file, &claude_id(1)[..8]]);
    assert!(text.stdout.contains("question 1 ü"), "{}", text.stdout);
}

#[test]
fn the_end_of_a_file_looks_like_that_of_a_session() {
    let environment = Environment::new();
    let thinking = json!({"type": "thinking", "thinking": "hidden thoughts", "signature": "x"});
    let log = turn(1).replace(
        "{\"text\":\"I look.\",\"type\":\"text\"}",
        &format!("{thinking},{{\"text\":\"I look.\",\"type\":\"text\"}}"),
    );
    environment.write(&claude_path(1), &log);
    environment.sweep();
    let file = output(&environment, "all.h5");
    environment.json(&["export", "-o", &file]);
    let body = |arguments: &[&str]| {
        let text = environment.run(arguments).stdout;
        let lines = text.lines().skip_while(|line| !line.contains("▌ you"));
        let lines = lines.filter(|line| !line.contains("[image]"));
        // Turns and durations are in the store only.
        let lines = lines.map(|line| line.replace("#1 ", "").replace("✓ 0.0 s", "✓"));
        let lines = lines.map(|line| line.trim_end().to_string());
        lines.collect::<Vec<String>>()
    };
    let of_file = body(&["tail", &file]);
    assert!(of_file.contains(&"◦ thinks".to_string()), "{of_file:?}");
    assert_eq!(of_file, body(&["tail", &claude_id(1)]));
}

#[test]
fn a_file_grows_with_its_log_and_is_left_alone_otherwise() {
    let environment = Environment::new();
    let log = environment.write(&claude_path(1), turn(1));
    let file = output(&environment, "all.h5");
    let convert = ["convert", log.to_str().unwrap(), "-o", &file];
    environment.json(&convert);
    let before = std::fs::read(&file).unwrap();
    assert_eq!(environment.json(&convert)["unchanged"], 1);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    environment.write(&claude_path(1), [turn(1), turn(2)].concat());
    assert_eq!(environment.json(&convert)["written"], 1);
    let shown = environment.json(&["inspect", &file]);
    assert_eq!(shown["sessions"][claude_id(1)]["messages"], 6);
}

#[test]
fn only_changed_sessions_of_a_folder_are_written() {
    let environment = Environment::new();
    environment.write(&claude_path(1), turn(1));
    let other = turn(1)
        .replace(&claude_id(1), &claude_id(2))
        .replace("\"u1\"", "\"v1\"");
    let other = other
        .replace("\"a1\"", "\"b1\"")
        .replace("\"r1\"", "\"s1\"")
        .replace("\"m1\"", "\"n1\"");
    environment.write(&claude_path(2), &other);
    environment.sweep();
    let folder = output(&environment, "columns");
    let export = ["export", "-o", &folder];
    assert_eq!(environment.json(&export)["written"], 2);
    let modified = |session: u32| {
        let path = format!("{folder}/{}.h5", claude_id(session));
        std::fs::metadata(path).unwrap().modified().unwrap()
    };
    let before = (modified(1), modified(2));
    environment.write(&claude_path(1), [turn(1), turn(2)].concat());
    environment.sweep();
    let report = environment.json(&export);
    assert_eq!(
        (&report["written"], &report["unchanged"]),
        (&json!(1), &json!(1))
    );
    assert_ne!(modified(1), before.0);
    assert_eq!(modified(2), before.1);
    let shown = environment.json(&["inspect", &folder]);
    assert_eq!(shown["sessions"].as_object().unwrap().len(), 2);
    let other = Environment::new();
    other.json(&["sweep", &folder]);
    assert_eq!(sessions_of(&other), sessions_of(&environment));
    let one = output(&environment, "one.h5");
    environment.json(&["export", &claude_id(2)[..8], "-o", &one]);
    let shown = environment.json(&["inspect", &one]);
    assert_eq!(shown["sessions"].as_object().unwrap().len(), 1);
}

#[test]
fn a_session_in_two_files_of_a_folder_is_listed_twice() {
    let environment = Environment::new();
    let log = environment.write(&claude_path(1), turn(1));
    let folder = output(&environment, "columns");
    std::fs::create_dir(&folder).unwrap();
    for name in ["a.h5", "b.h5"] {
        let file = format!("{folder}/{name}");
        environment.json(&["convert", log.to_str().unwrap(), "-o", &file]);
    }
    as_the_package_writes(Path::new(&format!("{folder}/a.h5")));
    let shown = environment.json(&["inspect", &folder]);
    let id = claude_id(1);
    let sessions = shown["sessions"].as_object().unwrap();
    assert_eq!(shown["totals"]["sessions"], sessions.len());
    assert_eq!(sessions[&id]["logs"], 0, "{shown}");
    assert_eq!(sessions[&format!("b.h5/{id}")]["logs"], 1, "{shown}");
    assert_eq!(shown["source"], "claude-code, backstory");
}

/// Everything that a store says of its sessions, but for where their logs lie.
fn sessions_of(environment: &Environment) -> Vec<Value> {
    let listed = environment.json(&["sessions", "--limit", "0"]);
    let mut shown = Vec::new();
    for session in listed["sessions"].as_array().unwrap() {
        let mut answer = environment.json(&["show", session["session"].as_str().unwrap()]);
        for event in answer["events"].as_array_mut().unwrap() {
            event["source_path"] = Value::Null;
        }
        shown.push(answer);
    }
    shown.sort_by_key(|session| session["session"].to_string());
    shown
}

#[test]
fn every_session_comes_back_from_a_file() {
    let environment = Environment::new();
    environment.write_all(sample::story(STORY_END));
    environment.write_all(sample::logs(3, 300_000));
    environment.sweep();
    let file = output(&environment, "all.h5");
    environment.json(&["export", "-o", &file]);
    let other = Environment::new();
    let report = other.json(&["import", &file]);
    assert_eq!(report["problems"], json!([]));
    let (mine, theirs) = (sessions_of(&environment), sessions_of(&other));
    assert_eq!(mine.len(), theirs.len());
    for (mine, theirs) in mine.iter().zip(&theirs) {
        assert_eq!(mine, theirs);
    }
    let again = other.json(&["import", &file]);
    assert_eq!(again["events"], 0);
    assert_eq!(again["ingested"], 0);
    assert_eq!(again["skipped_unchanged"], report["discovered"]);
    assert_eq!(environment.json(&["import", &file])["events"], 0);
}

/// Removes from a session file what the Python package does not write: logs and numbers of events.
fn as_the_package_writes(file: &Path) {
    let opened = SessionFile::open(file).unwrap();
    let mut sessions = Vec::new();
    for session in opened.all_sessions().unwrap() {
        let mut columns = session.read().unwrap();
        columns.logs.clear();
        columns.attributes.agent.clear();
        for message in &mut columns.messages {
            message.seq = 0;
        }
        sessions.push(Ok(columns));
    }
    drop(opened);
    std::fs::remove_file(file).unwrap();
    let options = WriteOptions {
        threads: 1,
        ..WriteOptions::default()
    };
    write_sessions(file, "claude-code", sessions, &options).unwrap();
}

#[test]
fn tokens_of_a_log_and_of_the_packages_file_count_once() {
    let environment = Environment::new();
    // The answer goes on after the tool's result, with the same usage.
    let whole = turn(1);
    let answer = whole.lines().nth(1).unwrap();
    let rest = answer
        .replace("\"a1\"", "\"b1\"")
        .replace("\"t1\"", "\"t2\"");
    // Its first record may have no event.
    let thinking = json!([{"type": "thinking", "thinking": "", "signature": "s"}]);
    let mut first: Value = serde_json::from_str(answer).unwrap();
    (first["uuid"], first["message"]["content"]) = ("c1".into(), thinking);
    let (prompt, others) = whole.split_once('\n').unwrap();
    let lines = format!("{prompt}\n{first}\n{others}{rest}\n{}", turn(2));
    let log = environment.write(&claude_path(1), lines);
    let file = output(&environment, "all.h5");
    environment.json(&["convert", log.to_str().unwrap(), "-o", &file]);
    as_the_package_writes(Path::new(&file));
    environment.sweep();
    let expected = environment.json(&["usage", "session"]);
    environment.json(&["sweep", &file]);
    assert_eq!(environment.json(&["usage", "session"]), expected);
    let other = Environment::new();
    other.json(&["sweep", &file]);
    assert_eq!(
        other.json(&["usage", "session"])["totals"],
        expected["totals"]
    );
    other.write(&claude_path(1), std::fs::read(&log).unwrap());
    other.sweep();
    assert_eq!(
        other.json(&["usage", "session"])["totals"],
        expected["totals"]
    );
}

#[test]
fn tables_have_the_tokens_that_usage_counts() {
    let environment = Environment::new();
    environment.write_all(sample::story(STORY_END));
    environment.sweep();
    let folder = output(&environment, "tables");
    let export = ["export", "-o", &folder, "--format", "parquet"];
    let report = environment.json(&export);
    assert!(report["files_written"].as_u64() > Some(0), "{report}");
    assert_eq!(environment.json(&export)["files_written"], 0);
    let shown = environment.json(&["inspect", &folder]);
    let rows = |name: &str| {
        let tables = shown["tables"].as_array().unwrap();
        let table = tables.iter().find(|table| table["table"] == name);
        table.unwrap()["rows"].clone()
    };
    let listed = environment.json(&["sessions", "--limit", "0"]);
    let listed = listed["sessions"].as_array().unwrap();
    assert_eq!(rows("sessions"), listed.len());
    let events: u64 = listed
        .iter()
        .map(|session| session["events"].as_u64().unwrap())
        .sum();
    assert_eq!(rows("events"), events);
    let file = output(&environment, "usage.parquet");
    environment.json(&["export", "-o", &file, "--table", "usage"]);
    assert_eq!(environment.json(&["inspect", &file])["rows"], rows("usage"));
    let outcome = environment.run(&["export", "-o", &folder, "--table", "usage"]);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
}

#[test]
fn logs_of_the_same_path_all_come_back() {
    let environment = Environment::new();
    let file = output(&environment, "all.h5");
    for number in 1..=3 {
        let ids = [
            (claude_id(1), claude_id(number)),
            ("\"u1\"".into(), format!("\"u-{number}\"")),
            ("\"a1\"".into(), format!("\"a-{number}\"")),
        ];
        let lines = ids
            .iter()
            .fold(turn(1), |lines, (from, to)| lines.replace(from, to));
        let log = environment.write("elsewhere/session.jsonl", lines);
        let outcome = environment.run(&["convert", log.to_str().unwrap(), "-o", &file]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    }
    environment.run(&["sweep", &file]);
    let sessions = environment.json(&["sessions"]);
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 3);
}

#[test]
fn convert_and_export_write_the_same_title() {
    let environment = Environment::new();
    let long = "Please look into the basket, which is empty whenever a customer comes back from the payment page of the shop";
    for (number, prompt) in [(1, long), (2, "## Paint the gazebo"), (3, "go on")] {
        let log = turn(1).replace("question 1", prompt);
        let log = log.replace(&claude_id(1), &claude_id(number));
        let ids = ["u1", "a1", "r1", "m1"];
        let log = ids.iter().fold(log, |log, id| {
            log.replace(&format!("\"{id}\""), &format!("\"{id}-{number}\""))
        });
        let again = log
            .replace("04:01", "04:02")
            .replace(prompt, "Then mow the lawn");
        let again = ids.iter().fold(again, |log, id| {
            log.replace(&format!("{id}-"), &format!("{id}-x"))
        });
        environment.write(&claude_path(number), log + &again);
    }
    environment.sweep();
    let file = output(&environment, "all.h5");
    let logs = environment
        .home()
        .join(".claude/projects")
        .display()
        .to_string();
    let table = output(&environment, "sessions.parquet");
    let folder = output(&environment, "tables");
    environment.json(&["export", "-o", &file]);
    environment.json(&["export", "-o", &table]);
    environment.json(&["export", "-o", &folder, "--format", "parquet"]);
    for command in [&["convert", &logs][..], &["export"]] {
        let report = environment.json(&[command, &["-o", &file]].concat());
        assert_eq!(report["unchanged"], 3, "{report}");
        for (target, files) in [(&table, 1), (&folder, 4)] {
            let options = ["-o", target, "--format", "parquet"];
            let report = environment.json(&[command, &options].concat());
            assert_eq!(report["files_unchanged"], files, "{report}");
        }
    }
}
