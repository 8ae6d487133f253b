//! Columnar files: out of logs and stores, and the way back.

#[cfg(target_os = "linux")]
mod outputs;
mod redaction;

use std::path::Path;

use backstory_agents::sample;
use backstory_columnar::{SessionFile, WriteOptions, write_sessions};
use serde_json::{Value, json};

use crate::environment::{Environment, STORY_END, claude_id, claude_path};
use crate::meaning::{model_folder, with_model};

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
        wait: true,
    };
    write_sessions(file, "claude-code", sessions.into_iter(), &options).unwrap();
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
    let log = environment.write(&claude_path(1), format!("{whole}{rest}\n{}", turn(2)));
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
fn sessions_of_the_same_name_are_not_mixed() {
    let environment = Environment::new();
    environment.write(&claude_path(1), turn(1));
    let id = claude_id(1);
    let line = |kind: &str, payload: Value| {
        format!(
            "{}\n",
            json!({"timestamp": "2026-02-03T04:05:06.000Z", "type": kind, "payload": payload})
        )
    };
    let content = json!([{"type": "input_text", "text": "asked of Codex"}]);
    let rollout = [
        line(
            "session_meta",
            json!({"id": id, "timestamp": "2026-02-03T04:05:06.000Z", "cwd": "/work/shop"}),
        ),
        line(
            "response_item",
            json!({"type": "message", "role": "user", "content": content}),
        ),
    ];
    let path = format!(".codex/sessions/2026/02/03/rollout-2026-02-03T04-05-06-{id}.jsonl");
    environment.write(&path, rollout.concat());
    environment.sweep();
    let all = output(&environment, "all.h5");
    assert_eq!(environment.json(&["export", "-o", &all])["written"], 2);
    let shown = environment.json(&["inspect", &all]);
    assert_eq!(shown["sessions"][&id]["messages"], 3);
    assert_eq!(shown["sessions"][format!("{id}-codex-2")]["messages"], 1);
    let outcome = environment.run(&["export", "--agent", "codex", "-o", &all]);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("another session"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn messages_are_embedded_with_the_model_in_use_or_named() {
    let environment = with_model();
    let log = environment.home().join(claude_path(1));
    let log = log.to_str().unwrap();
    let model = |file: &str| {
        let file = backstory_columnar::SessionFile::open(file.as_ref()).unwrap();
        let session = file.session(&claude_id(1)).unwrap().read().unwrap();
        let embeddings = session.messages.into_iter().map(|row| row.embedding);
        let lengths: Vec<_> = embeddings.map(|row| row.map(|row| row.len())).collect();
        (session.attributes.embedding_model, lengths)
    };
    let with_vectors = (Some("tiny".to_string()), vec![Some(8); 2]);
    let without = (None, vec![None; 2]);
    let (export, convert) = (
        output(&environment, "export.h5"),
        output(&environment, "convert.h5"),
    );
    environment.json(&["export", "-o", &export]);
    assert_eq!(model(&export), with_vectors);
    environment.json(&["convert", log, "-o", &convert, "--no-embed"]);
    assert_eq!(model(&convert), without);
    environment.json(&["convert", log, "-o", &convert, "--embed", "tiny"]);
    assert_eq!(model(&convert), with_vectors, "written again with vectors");
    let other = Environment::new();
    let log = other.write(&claude_path(1), turn(1));
    let file = output(&other, "all.h5");
    let arguments = ["convert", log.to_str().unwrap(), "-o", &file];
    let outcome = other.run(&[&arguments[..], &["--embed", "nothing"]].concat());
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("nothing"), "{}", outcome.stderr);
    let folder = model_folder(&other);
    let added = other.run(&["model", "add", folder.to_str().unwrap()]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    other.json(&[&arguments[..], &["--embed", "tiny"]].concat());
    assert_eq!(model(&file).0.as_deref(), Some("tiny"));
}

#[test]
fn what_is_no_columnar_file_is_refused_clearly() {
    let environment = Environment::new();
    let text = environment.write("text.h5", "no columns here");
    let text = text.to_str().unwrap();
    for arguments in [
        &["inspect", text][..],
        &["tail", text],
        &["sweep", text],
        &["export", "-o", text],
    ] {
        let outcome = environment.run(arguments);
        assert_ne!(outcome.code, 0, "{arguments:?}");
        assert!(
            outcome.stderr.contains("error:"),
            "{arguments:?}: {}",
            outcome.stderr
        );
    }
    assert_eq!(std::fs::read(text).unwrap(), b"no columns here");
    for arguments in [&["inspect", "nothing.h5"][..], &["tail", "nothing.h5"]] {
        let outcome = environment.run(arguments);
        assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    }
    environment.claude(1, &[turn(1)]);
    environment.sweep();
    for output in [
        &["-o", "-"][..],
        &["-o", "a.h5", "--format", "parquet"],
        &["-o", "a.txt"],
    ] {
        let outcome = environment.run(&[&["export"], output].concat());
        assert_eq!(outcome.code, 2, "{output:?}: {}", outcome.stderr);
    }
}
