//! Files and sessions that are refused.

use serde_json::{Value, json};

use super::{output, turn};
use crate::environment::{Environment, claude_id, claude_path};

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
    let report = environment.json(&["export", "--agent", "codex", "-o", &all]);
    assert_eq!(report["unchanged"], 1, "{report}");
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

#[test]
fn names_of_outputs_are_taken_as_they_are_meant() {
    let environment = Environment::new();
    environment.write(&claude_path(1), turn(1));
    environment.sweep();
    let path = |name: &str| output(&environment, name);
    std::fs::create_dir(path("tables.parquet")).unwrap();
    for (name, made) in [
        ("dir.with.dot/", format!("dir.with.dot/{}.h5", claude_id(1))),
        ("Y.H5", "Y.H5".to_string()),
        ("Y.Hdf5", "Y.Hdf5".to_string()),
        ("Y.PARQUET", "Y.PARQUET".to_string()),
        // A folder with such a name gets tables.
        ("tables.parquet", "tables.parquet/events".to_string()),
        ("new.parquet/", "new.parquet/events".to_string()),
    ] {
        let outcome = environment.run(&["export", "-o", &path(name)]);
        assert_eq!(outcome.code, 0, "{name}: {}", outcome.stderr);
        assert!(std::path::Path::new(&path(&made)).exists(), "{name}");
        let outcome = environment.run(&["inspect", &path(name)]);
        assert_eq!(outcome.code, 0, "{name}: {}", outcome.stderr);
    }
    let other = Environment::new();
    other.json(&["sweep", &path("Y.H5")]);
    let listed = other.json(&["sessions"]);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    for (name, format) in [("a.h5", "parquet"), ("Y.H5", "parquet"), ("Y.H5/", "h5")] {
        let outcome = environment.run(&["export", "-o", &path(name), "--format", format]);
        assert_eq!(outcome.code, 2, "{name}: {}", outcome.stderr);
    }
}

#[test]
fn exit_codes_tell_missing_from_bad_input() {
    let environment = Environment::new();
    let write = |name: &str, text: &str| environment.write(name, text).display().to_string();
    let (empty_h5, empty_parquet) = (write("empty.h5", ""), write("empty.parquet", ""));
    let empty_log = write("empty.jsonl", "");
    let (bad_h5, bad_parquet) = (
        write("bad.h5", "no columns"),
        write("bad.parquet", "nor here"),
    );
    let output = output(&environment, "all.h5");
    let no_file = |name: &str| environment.home().join(name).display().to_string();
    let (no_h5, no_parquet, no_log) =
        (no_file("no.h5"), no_file("no.parquet"), no_file("no.jsonl"));
    std::fs::create_dir(environment.home().join("folder")).unwrap();
    let folder = no_file("folder");
    let log = environment.write(&claude_path(1), turn(1));
    let good_h5 = no_file("good.h5");
    environment.json(&["convert", log.to_str().unwrap(), "-o", &good_h5]);
    for (arguments, code) in [
        // What was asked for is not there.
        (&["inspect", &no_h5][..], 1),
        (&["inspect", &no_parquet], 1),
        (&["inspect", &folder], 1),
        (&["tail", &no_h5], 1),
        (&["sweep", &no_h5], 1),
        (&["convert", &no_h5, "-o", &output], 1),
        (&["convert", &no_log, "-o", &output], 1),
        (&["inspect", &empty_h5], 1),
        (&["inspect", &empty_parquet], 1),
        (&["tail", &empty_h5], 1),
        (&["sweep", &empty_h5], 1),
        (&["sweep", &empty_log], 1),
        (&["convert", &empty_log, "-o", &output], 1),
        (&["convert", &empty_h5, "-o", &output], 1),
        (&["inspect", &good_h5, "beef"], 1),
        (&["tail", &good_h5, "beef"], 1),
        // Wrong usage or bad input.
        (&["inspect", &bad_h5], 2),
        (&["inspect", &bad_parquet], 2),
        (&["tail", &bad_h5], 2),
        (&["tail", &bad_parquet], 2),
        (&["sweep", &bad_h5], 2),
        (&["convert", log.to_str().unwrap(), "-o", &bad_h5], 2),
        (&["inspect", &folder, "beef"], 2),
        (&["inspect", &good_h5], 0),
        (&["tail", &good_h5], 0),
        (&["sweep", &good_h5], 0),
        // Who made an empty file may want to keep it.
        (
            &["convert", log.to_str().unwrap(), "-o", &empty_h5, "--json"],
            1,
        ),
        (&["convert", log.to_str().unwrap(), "-o", &empty_parquet], 1),
    ] {
        let outcome = environment.run(arguments);
        let told = [outcome.stderr.as_str(), outcome.stdout.as_str()].concat();
        assert_eq!(outcome.code, code, "{arguments:?}: {told}");
        assert!(code == 0 || !told.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_folder_of_files_and_tables_shows_both() {
    let environment = Environment::new();
    let log = environment.write(&claude_path(1), turn(1));
    let folder = output(&environment, "columns");
    for format in ["parquet", "h5"] {
        environment.json(&[
            "convert",
            log.to_str().unwrap(),
            "-o",
            &folder,
            "--format",
            format,
        ]);
        let shown = environment.json(&["inspect", &folder]);
        assert_eq!(shown["tables"].as_array().unwrap().len(), 4, "{shown}");
    }
    let shown = environment.json(&["inspect", &folder]);
    assert_eq!(shown["totals"]["sessions"], 1);
    let text = environment.run(&["inspect", &folder]).stdout;
    assert!(text.contains(&claude_id(1)), "{text}");
    assert!(text.contains("tool_calls"), "{text}");
    let other = Environment::new();
    other.json(&["sweep", &folder]);
    assert_eq!(
        other.json(&["sessions"])["sessions"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn paths_that_are_not_converted_are_problems() {
    let environment = Environment::new();
    let log = environment.write(&claude_path(1), turn(1));
    let log = log.to_str().unwrap();
    let text = environment
        .write("notes.txt", "no log")
        .display()
        .to_string();
    let columns = output(&environment, "columns.h5");
    assert_eq!(
        environment.json(&["convert", log, "-o", &columns])["problems"],
        json!([])
    );
    let folder = output(&environment, "empty");
    std::fs::create_dir(&folder).unwrap();
    for bad in [&text, &columns, &folder] {
        let target = output(&environment, "all.h5");
        let outcome = environment.run(&["convert", log, bad, "-o", &target, "--json"]);
        assert_eq!(outcome.code, 1, "{bad}: {}", outcome.stderr);
        let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(report["problems"].as_array().unwrap().len(), 1, "{report}");
        assert_eq!(report["problems"][0]["path"], json!(bad), "{report}");
        assert_ne!(report["problems"][0]["reason"], "", "{report}");
        assert!(outcome.stderr.contains(bad.as_str()), "{}", outcome.stderr);
        let shown = environment.json(&["inspect", &target]);
        assert_eq!(shown["totals"]["messages"], 3, "the log is written");
    }
}

#[test]
fn tail_and_sweep_say_what_they_want() {
    let environment = Environment::new();
    let log = environment
        .write(&claude_path(1), turn(1))
        .display()
        .to_string();
    let columns = output(&environment, "columns.h5");
    environment.json(&["convert", &log, "-o", &columns]);
    let folder = environment.home().display().to_string();
    for path in [&log, &folder] {
        let outcome = environment.run(&["tail", path]);
        assert_eq!(outcome.code, 2, "{path}");
        let told = &outcome.stderr;
        assert!(told.contains("tail reads one HDF5 file"), "{told}");
    }
    let parquet = output(&environment, "events.parquet");
    environment.json(&["convert", &log, "-o", &parquet]);
    let outcome = environment.run(&["sweep", &parquet]);
    let told = [outcome.stdout, outcome.stderr].concat();
    assert!(told.contains("Parquet files cannot be imported"), "{told}");
    let plain = output(&environment, "noext");
    std::fs::copy(&columns, &plain).unwrap();
    assert_eq!(
        environment.json(&["tail", &plain])["messages"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    environment.json(&["sweep", &plain]);
    assert_eq!(
        environment.json(&["sessions"])["sessions"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn bad_files_do_not_keep_good_ones_from_being_read() {
    let environment = Environment::new();
    let log = environment.write(&claude_path(1), turn(1));
    let folder = output(&environment, "columns");
    let good = output(&environment, "columns/good.h5");
    std::fs::create_dir(&folder).unwrap();
    environment.json(&["convert", log.to_str().unwrap(), "-o", &good]);
    let bytes = std::fs::read(&good).unwrap();
    let cut = output(&environment, "columns/cut.h5");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let text = output(&environment, "columns/text.h5");
    std::fs::write(&text, "no columns").unwrap();
    let store = Environment::new();
    for command in [
        &["inspect", &folder, "--json"][..],
        &["sweep", &folder, "--json", "--dry-run"],
        &["sweep", &folder, "--json"],
        &["sweep", &good, &cut, &text, "--json"],
    ] {
        let outcome = store.run(command);
        assert_eq!(outcome.code, 1, "{command:?}: {}", outcome.stderr);
        let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let problems = report["problems"].as_array().unwrap();
        assert_eq!(problems.len(), 2, "{command:?}: {report}");
        for (problem, path) in problems.iter().zip([&cut, &text]) {
            assert_eq!(problem["path"], json!(path));
            assert!(outcome.stderr.contains(path.as_str()), "{}", outcome.stderr);
            let reason = problem["reason"].as_str().unwrap();
            assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
        }
    }
    assert!(
        store
            .run(&["show", &claude_id(1)])
            .stdout
            .contains("I look")
    );
    let outcome = store.run(&["inspect", &folder]);
    assert!(outcome.stdout.contains(&claude_id(1)), "{}", outcome.stdout);
    std::fs::remove_file(&good).unwrap();
    for command in ["inspect", "sweep"] {
        let outcome = store.run(&[command, &folder]);
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(&text), "{}", outcome.stderr);
    }
}

#[test]
fn bad_tables_do_not_keep_good_ones_from_being_shown() {
    let environment = Environment::new();
    let log = environment.write(&claude_path(1), turn(1));
    let folder = output(&environment, "tables");
    let convert = ["convert", log.to_str().unwrap(), "-o", &folder, "--format"];
    environment.json(&[&convert[..], &["parquet"]].concat());
    let bad = format!("{folder}/usage/month=2026-02/part-2026-02-03.parquet");
    std::fs::write(&bad, "no table").unwrap();
    for has_sessions in [false, true] {
        if has_sessions {
            environment.json(&[&convert[..], &["h5"]].concat());
        }
        let outcome = environment.run(&["inspect", &folder, "--json"]);
        assert_eq!(outcome.code, 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(&bad), "{}", outcome.stderr);
        let shown: Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(shown["tables"].as_array().unwrap().len(), 3, "{shown}");
        assert_eq!(shown["problems"][0]["path"], json!(bad), "{shown}");
        assert_eq!(shown["totals"]["sessions"] == 1, has_sessions, "{shown}");
    }
}

#[test]
fn a_session_that_cannot_be_imported_is_a_problem() {
    use backstory_columnar::{Message, SessionColumns, WriteOptions, write_sessions};
    let environment = Environment::new();
    let log = environment.write(&claude_path(1), turn(1));
    let file = output(&environment, "all.h5");
    environment.json(&["convert", log.to_str().unwrap(), "-o", &file]);
    let mut session = SessionColumns {
        id: "rows-only".to_string(),
        messages: vec![Message {
            seq: 1,
            ..Message::default()
        }],
        ..SessionColumns::default()
    };
    session.attributes.agent = "codex".to_string();
    let options = WriteOptions::default();
    write_sessions(file.as_ref(), "test", [Ok(session)], &options).unwrap();
    let outcome = environment.run(&["sweep", &file, "--json"]);
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(report["problems"][0]["path"], json!(file), "{report}");
    let reason = report["problems"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("rows-only"), "{reason}");
    assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
}

#[test]
fn a_message_with_thousands_of_calls_is_parsed_once() {
    let environment = Environment::new();
    let log = turn(1);
    let mut lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let call = |number: u32| json!({"type": "tool_use", "id": format!("c{number}"), "name": "Bash", "input": {"command": "ls"}});
    lines[1]["message"]["content"] = (0..3_000).map(call).collect();
    // No title: that is looked for in all events.
    lines[0]["message"]["content"] = "hi".into();
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let log = environment.write(&claude_path(1), lines);
    let started = std::time::Instant::now();
    let file = output(&environment, "all.h5");
    let report = environment.json(&["convert", log.to_str().unwrap(), "-o", &file]);
    assert_eq!(report["tool_calls"], 3_001);
    // Parsed for each of its calls, it takes 80 s.
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn messages_say_what_is_there() {
    let environment = Environment::new();
    let log = environment.write(&claude_path(1), turn(1));
    let log = log.to_str().unwrap();
    let file = output(&environment, "all.h5");
    environment.json(&["convert", log, "-o", &file]);
    let notes = environment
        .write("notes", "no columns")
        .display()
        .to_string();
    let text = environment
        .write("notes.h5", "no columns")
        .display()
        .to_string();
    for (arguments, code, words) in [
        (
            &["sweep", "--agent", "codex", &file][..],
            1,
            "no session of codex",
        ),
        (&["convert", log, "-o", &notes], 2, "notes exists"),
        (&["inspect", &text], 2, "write such files"),
    ] {
        let outcome = environment.run(arguments);
        assert_eq!(outcome.code, code, "{arguments:?}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains(words),
            "{arguments:?}: {}",
            outcome.stderr
        );
    }
}
