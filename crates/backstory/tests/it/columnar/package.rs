//! The Python package writes to files of ours.

use std::path::Path;

use backstory_columnar::SessionFile;
use serde_json::{Value, json};

use super::{output, turn};
use crate::environment::{Environment, claude_id, claude_path};

/// Has the package append a log to a session of a file. Returns false when there is no Python that has it.
fn append_by_package(way: &str, file: &str, log: &Path) -> bool {
    let Some(python) = std::env::var_os("BACKSTORY_TEST_PYTHON") else {
        return false;
    };
    let program = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../backstory-columnar/tests/package_same_session.py");
    let run = std::process::Command::new(python)
        .args([program.as_path(), Path::new(way), Path::new(file), log])
        .arg(claude_id(1))
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{error}");
    true
}

/// Has the package's API add a message, a call with its result, an answer and two artifacts to the session. Returns false when there is no
/// Python that has the package.
fn add_by_package(file: &str, secret: &str) -> bool {
    let Some(python) = std::env::var_os("BACKSTORY_TEST_PYTHON") else {
        return false;
    };
    let program =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../backstory-columnar/tests/package_api.py");
    let run = std::process::Command::new(python)
        .arg(program)
        .args([file, &claude_id(1), secret])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{error}");
    true
}

#[test]
fn what_the_package_adds_to_an_unchanged_session_is_redacted() {
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    for way in ["hook", "convert", "api"] {
        let environment = Environment::new();
        let file = output(&environment, "all.h5");
        let said = format!("question with {secret}");
        let log = environment.write(&claude_path(1), turn(1).replace("question", &said));
        let convert = [
            "convert",
            log.to_str().unwrap(),
            "-o",
            &file,
            "--redact",
            "on",
        ];
        environment.json(&convert);
        let is_added = match way {
            "api" => add_by_package(&file, &secret),
            way => append_by_package(way, &file, &log),
        };
        if !is_added {
            return;
        }
        let has_secret = || {
            let session = SessionFile::open(file.as_ref()).unwrap();
            let session = session.session(&claude_id(1)).unwrap().read().unwrap();
            format!("{session:?}").contains(&secret)
        };
        assert!(has_secret(), "{way}");
        assert_eq!(environment.json(&convert)["written"], 1, "{way}");
        assert!(!has_secret(), "{way}");
        assert_eq!(environment.json(&convert)["unchanged"], 1, "{way}");
    }
}

/// Number of events of a session whose text has this one.
fn events_with(shown: &Value, text: &str) -> usize {
    let events = shown["events"].as_array().unwrap().iter();
    let has_text = |event: &&Value| event["text"].as_str().unwrap().contains(text);
    events.filter(has_text).count()
}

#[test]
fn what_the_package_adds_is_redacted_and_comes_back() {
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let environment = Environment::new();
    let file = output(&environment, "all.h5");
    let log = environment.write(&claude_path(1), turn(1));
    let convert = ["convert", log.to_str().unwrap(), "-o", &file];
    environment.json(&convert);
    if !add_by_package(&file, &secret) {
        return;
    }
    let comes_back = |what: &str, turns: usize| {
        let store = Environment::new();
        for _ in 0..2 {
            store.json(&["sweep", &file]);
            let shown = store.json(&["show", &claude_id(1)]);
            for text in [
                "added turn",
                "echo added call",
                "added result",
                "added answer",
            ] {
                assert_eq!(events_with(&shown, text), 1, "{what}, {text}: {shown}");
            }
            assert_eq!(events_with(&shown, "I look."), turns, "{what}");
        }
    };
    comes_back("appended", 1);
    environment.write(&claude_path(1), [turn(1), turn(2)].concat());
    environment.json(&convert);
    comes_back("rewritten", 2);
    let session = SessionFile::open(file.as_ref()).unwrap();
    let session = session.session(&claude_id(1)).unwrap().read().unwrap();
    assert_eq!(session.messages.len(), 8);
    assert_eq!(session.tool_calls.len(), 3);
    let artifacts = session
        .artifacts
        .iter()
        .filter(|artifact| artifact.origin.is_empty());
    let artifacts: Vec<&str> = artifacts.map(|artifact| artifact.name.as_str()).collect();
    assert!(
        artifacts.contains(&"harmless") && !artifacts.contains(&"added"),
        "{artifacts:?}"
    );
    let bytes = std::fs::read(&file).unwrap();
    let has_secret = |bytes: &[u8]| {
        bytes
            .windows(secret.len())
            .any(|text| text == secret.as_bytes())
    };
    assert!(!has_secret(&bytes));
    assert!(!format!("{session:?}").contains(&secret));

    // A file by the API alone.
    let file = output(&environment, "package.h5");
    add_by_package(&file, &secret);
    let store = Environment::new();
    store.json(&["sweep", &file]);
    let shown = store.json(&["show", &claude_id(1)]);
    for text in [
        "added turn",
        "echo added call",
        "added result",
        "added answer",
    ] {
        assert_eq!(events_with(&shown, text), 1, "{text}: {shown}");
    }
}

#[test]
fn answers_with_the_same_input_all_count_in_a_longer_copy() {
    for way in ["hook", "convert"] {
        let environment = Environment::new();
        let log = environment.write(&claude_path(1), turn(1));
        let file = output(&environment, "all.h5");
        environment.json(&["convert", log.to_str().unwrap(), "-o", &file]);
        let log = environment.write(&claude_path(1), (1..=4).map(turn).collect::<String>());
        if !append_by_package(way, &file, &log) {
            return;
        }
        let shown = environment.json(&["inspect", &file]);
        assert_eq!(shown["totals"]["tokens"]["input_tokens"], 12, "{way}");
        assert_eq!(shown["totals"]["tokens"]["output_tokens"], 20, "{way}");
        let store = Environment::new();
        store.json(&["sweep", &file]);
        let totals = &store.json(&["usage", "session"])["totals"];
        assert_eq!(
            (&totals["input"], &totals["output"]),
            (&json!(12), &json!(20))
        );
        // Our own reading of the whole log takes their place.
        environment.json(&["convert", log.to_str().unwrap(), "-o", &file]);
        let shown = environment.json(&["inspect", &file]);
        assert_eq!(shown["totals"]["tokens"]["input_tokens"], 12, "{way}");
        assert_eq!(shown["totals"]["messages"], 12, "{way}");
    }
}

/// The second record of each answer, which has the same usage in agents' logs.
fn with_second_records(turns: std::ops::RangeInclusive<u32>) -> String {
    let turns = turns.map(|number| {
        let turn = turn(number);
        let answer = turn.lines().nth(1).unwrap();
        let second = answer
            .replace(&format!("\"a{number}\""), &format!("\"b{number}\""))
            .replace(&format!("\"t{number}\""), &format!("\"s{number}\""));
        // Each answer has read more than the one before.
        let lines = format!("{turn}{second}\n");
        lines.replace("\"input_tokens\":3", &format!("\"input_tokens\":{number}"))
    });
    turns.collect()
}

#[test]
fn tokens_count_once_when_the_package_appends_the_same_session() {
    for way in ["hook", "convert"] {
        let environment = Environment::new();
        let log = environment.write(&claude_path(1), with_second_records(1..=3));
        let file = output(&environment, "all.h5");
        let convert = ["convert", log.to_str().unwrap(), "-o", &file];
        environment.json(&convert);
        let inspected = || environment.json(&["inspect", &file])["sessions"][claude_id(1)].clone();
        let before = inspected();
        assert_eq!(before["messages"], 12);
        assert_eq!(before["tokens"]["input_tokens"], 6);
        if !append_by_package(way, &file, &log) {
            return;
        }
        let same = |what: &str| {
            let after = inspected();
            for field in ["messages", "tool_calls", "tokens", "artifacts"] {
                assert_eq!(after[field], before[field], "{way}, {what}: {field}");
            }
        };
        same("appended");
        let tail = environment.json(&["tail", &file, "-n", "100"]);
        let messages = tail["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 12, "{way}");
        let tokens = messages
            .iter()
            .map(|message| message["usage"]["input_tokens"].as_i64().unwrap());
        assert_eq!(tokens.sum::<i64>(), 6, "{way}");

        // The same in a store, whichever came first.
        environment.sweep();
        let expected = environment.json(&["usage", "session"]);
        environment.json(&["sweep", &file]);
        assert_eq!(environment.json(&["usage", "session"]), expected, "{way}");
        let other = Environment::new();
        other.json(&["sweep", &file]);
        assert_eq!(
            other.json(&["usage", "session"])["totals"],
            expected["totals"],
            "{way}"
        );

        // The log grows, and the package sees it before us.
        let log = environment.write(&claude_path(1), with_second_records(1..=4));
        append_by_package(way, &file, &log);
        let grown = inspected();
        assert_eq!(grown["messages"], 16, "{way}");
        // The hook waits for the result of a call.
        let calls = if way == "hook" { 7 } else { 8 };
        assert_eq!(grown["tool_calls"], calls, "{way}");
        assert_eq!(grown["tokens"]["input_tokens"], 10, "{way}");
        assert_eq!(grown["tokens"]["output_tokens"], 20, "{way}");
        let other = Environment::new();
        other.json(&["sweep", &file]);
        let totals = &other.json(&["usage", "session"])["totals"];
        assert_eq!(totals["input"], json!(10), "{way}: {totals}");
        assert_eq!(totals["output"], json!(20), "{way}: {totals}");

        // And so do we.
        environment.json(&convert);
        let again = inspected();
        for field in ["messages", "tokens"] {
            assert_eq!(again[field], grown[field], "{way}: {field}");
        }
        assert_eq!(again["tool_calls"], 8, "{way}");
        let tail = environment.json(&["tail", &file, "-n", "100"]);
        assert_eq!(tail["messages"].as_array().unwrap().len(), 16, "{way}");
    }
}

#[test]
fn an_answer_that_was_half_written_counts_once() {
    for way in ["hook", "convert"] {
        let environment = Environment::new();
        let whole = with_second_records(1..=3);
        // The last answer has used fewer tokens when its first record is written.
        let partial = whole.lines().map(|line| {
            let is_first = line.contains("\"uuid\":\"a3\"");
            let output = if is_first { "2" } else { "5" };
            line.replace(
                "\"output_tokens\":5",
                &format!("\"output_tokens\":{output}"),
            ) + "\n"
        });
        let whole: String = partial.collect();
        let (cut, _) = whole.split_at(whole.find("\"uuid\":\"b3\"").unwrap());
        let cut = &cut[..cut.rfind('\n').unwrap() + 1];
        let file = output(&environment, "all.h5");
        let log = environment.write(&claude_path(1), cut);
        environment.json(&["convert", log.to_str().unwrap(), "-o", &file]);
        environment.write(&claude_path(1), &whole);
        if !append_by_package(way, &file, &log) {
            return;
        }
        let shown = environment.json(&["inspect", &file]);
        let tokens = &shown["totals"]["tokens"];
        assert_eq!(tokens["output_tokens"], 15, "{way}: {tokens}");
        assert_eq!(tokens["input_tokens"], 6, "{way}: {tokens}");
        let store = Environment::new();
        let used = |path: &str| {
            store.json(&["sweep", path]);
            let totals = store.json(&["usage", "session"])["totals"].clone();
            (totals["input"].clone(), totals["output"].clone())
        };
        assert_eq!(used(&file), (json!(6), json!(15)), "{way}");
        let log = log.to_str().unwrap();
        assert_eq!(used(log), (json!(6), json!(15)), "{way}, the log");
    }
}

/// A record of the test's session that uses tokens.
fn answer(id: u32, message: &str, content: &Value, is_sidechain: bool) -> String {
    let usage = json!({"input_tokens": 10 * id, "output_tokens": 5, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 7});
    let record = json!({"type": "assistant", "uuid": format!("{message}-{id}"), "parentUuid": null, "sessionId": claude_id(1),
        "cwd": "/work/shop", "version": "2.1.9", "timestamp": format!("2026-02-03T05:{id:02}:06.789Z"), "isSidechain": is_sidechain,
        "message": {"id": message, "role": "assistant", "model": "claude-test", "content": content, "usage": usage}});
    format!("{record}\n")
}

#[test]
fn records_of_a_log_that_have_no_row_are_not_imported_beside_it() {
    let thought = json!([{"type": "thinking", "thinking": "", "signature": "abc"}]);
    let call =
        json!([{"type": "tool_use", "id": "side", "name": "Bash", "input": {"command": "ls"}}]);
    let summary = json!({"type": "summary", "summary": "Look", "leafUuid": "r1"});
    let records = [
        format!("{summary}\n"),
        turn(1),
        answer(1, "m-thought", &thought, false),
        answer(
            1,
            "m-answer",
            &json!([{"type": "text", "text": "hello"}]),
            false,
        )
        .replace("\"m-answer\"", "\"m-thought\""),
        // Another answer, of which nothing but the thought is there.
        answer(2, "m-other", &thought, false),
        answer(3, "m-side", &call, true),
    ];
    for way in ["hook", "convert"] {
        let environment = Environment::new();
        let log = environment.write(&claude_path(1), records.concat());
        let file = output(&environment, "all.h5");
        let convert = ["convert", log.to_str().unwrap(), "-o", &file];
        environment.json(&convert);
        let before = environment.json(&["inspect", &file]);
        let alone = Environment::new();
        alone.json(&["sweep", &file]);
        let expected = alone.json(&["usage", "session"])["totals"].clone();
        if !append_by_package(way, &file, &log) {
            return;
        }
        let same = |what: &str| {
            let after = environment.json(&["inspect", &file]);
            for (id, before) in before["sessions"].as_object().unwrap() {
                for field in ["messages", "tool_calls", "tokens"] {
                    let after = &after["sessions"][id][field];
                    assert_eq!(after, &before[field], "{way}, {what}: {id}, {field}");
                }
            }
            let other = Environment::new();
            other.json(&["sweep", &file]);
            let totals = &other.json(&["usage", "session"])["totals"];
            assert_eq!(totals, &expected, "{way}, {what}");
            alone.json(&["sweep", &file]);
            let totals = &alone.json(&["usage", "session"])["totals"];
            assert_eq!(totals, &expected, "{way}, {what}: into the same store");
            let text = environment.run(&["tail", &file, claude_id(1).as_str(), "-n", "100"]);
            assert!(!text.stdout.contains("signature"), "{}", text.stdout);
        };
        same("appended");
        // The log grows by a record without tokens, and the file is rebuilt.
        let last = turn(2).lines().next().unwrap().to_string();
        environment.write(&claude_path(1), format!("{}{last}\n", records.concat()));
        environment.json(&convert);
        let rebuilt = environment.json(&["inspect", &file]);
        let id = claude_id(1);
        let (before, after) = (&before["sessions"][&id], &rebuilt["sessions"][&id]);
        assert_eq!(after["tokens"], before["tokens"], "{way}");
        assert_eq!(after["tool_calls"], before["tool_calls"], "{way}");
        let messages = |session: &Value| session["messages"].as_u64().unwrap();
        assert_eq!(messages(after), messages(before) + 1, "{way}");
    }
}

#[test]
fn tail_shows_messages_that_say_something() {
    let thought = json!([{"type": "thinking", "thinking": "", "signature": "abc"}]);
    let environment = Environment::new();
    let records = [
        turn(1),
        answer(1, "m-1", &thought, false),
        answer(2, "m-2", &thought, false),
    ];
    let log = environment.write(&claude_path(1), records.concat());
    let file = output(&environment, "package.h5");
    if !append_by_package("convert", &file, &log) {
        return;
    }
    let tail = environment.json(&["tail", &file, "-n", "2"]);
    assert_eq!(tail["messages"][0]["text"], "I look.", "{tail}");
    assert_eq!(tail["messages"][1]["text"], "a.rs", "{tail}");
    let text = environment.run(&["tail", &file, "-n", "2"]).stdout;
    assert!(
        text.contains("I look.") && !text.contains("signature"),
        "{text}"
    );
}
