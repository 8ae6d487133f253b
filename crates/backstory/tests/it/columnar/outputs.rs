//! Outputs that cannot be written, and terminals.

use std::process::Command;

use serde_json::json;

use super::{output, turn};
use crate::environment::{Environment, Outcome, claude_id, claude_path};
use crate::streams::on_terminal;

/// More than reading a store takes, and less than any file of the session.
const LIMIT_BLOCKS: u32 = 128;

/// Runs the program with a limit on the size of files, in blocks of 512 bytes.
fn run_limited(environment: &Environment, blocks: u32, arguments: &[&str]) -> Outcome {
    let template = environment.command(arguments);
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &format!("ulimit -f {blocks}; exec \"$0\" \"$@\"")])
        .arg(template.get_program())
        .args(template.get_args())
        .env_clear()
        .env("HOME", environment.home())
        .env("BACKSTORY_HOME", environment.store());
    Outcome::of(&command.output().unwrap())
}

#[test]
fn an_output_that_cannot_be_written_is_named_and_ends_with_70() {
    let environment = Environment::new();
    let noise =
        (0..60_000_u64).map(|at| format!("{:x} ", at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40));
    let noise: String = noise.collect();
    environment.write(&claude_path(1), turn(1).replace("question", &noise));
    environment.sweep();
    for (name, arguments) in [
        ("all.h5", &[][..]),
        ("folder", &[]),
        ("events.parquet", &[]),
        ("tables", &["--format", "parquet"]),
    ] {
        let path = output(&environment, name);
        let export = [&["export", "-o", &path], arguments].concat();
        let outcome = run_limited(&environment, LIMIT_BLOCKS, &export);
        assert_eq!(outcome.code, 70, "{name}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(&path), "{name}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains("hint:"),
            "{name}: {}",
            outcome.stderr
        );
        let outcome = environment.run(&export);
        assert_eq!(outcome.code, 0, "{name}: {}", outcome.stderr);
    }
    let log = environment.home();
    let path = output(&environment, "convert.h5");
    let outcome = run_limited(
        &environment,
        8,
        &["convert", log.to_str().unwrap(), "-o", &path],
    );
    assert_eq!(outcome.code, 70, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("TMPDIR"), "{}", outcome.stderr);
    assert!(!std::path::Path::new(&path).exists());
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let environment = Environment::new();
    environment.write(&claude_path(1), turn(1));
    environment.sweep();
    for name in ["none/all.h5", "none/events.parquet"] {
        let outcome = environment.run(&["export", "-o", &output(&environment, name)]);
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("create it first"),
            "{}",
            outcome.stderr
        );
    }
}

#[test]
fn a_table_of_sessions_has_totals_and_fits_a_terminal() {
    let environment = Environment::new();
    environment.write(&claude_path(1), turn(1));
    let mut other = turn(1).replace(&claude_id(1), &claude_id(2));
    for id in ["u1", "a1", "r1", "m1"] {
        other = other.replace(&format!("\"{id}\""), &format!("\"x{id}\""));
    }
    environment.write(&claude_path(2), other);
    environment.sweep();
    let file = output(&environment, "all.h5");
    environment.json(&["export", "-o", &file]);
    let piped = environment.run(&["inspect", &file]).stdout;
    assert!(piped.contains(&claude_id(2)), "{piped}");
    let total = piped.lines().last().unwrap().to_string();
    let total: Vec<&str> = total.split_whitespace().collect();
    assert_eq!(total, ["total", "6", "2", "6", "10", "14", "22"]);
    let one = environment.run(&["inspect", &file, &claude_id(2)]).stdout;
    assert_eq!(one.lines().count(), 2, "{one}");
    // A terminal that does not tell its width gets everything.
    let text = on_terminal(&mut environment.command(&["inspect", &file]));
    assert!(
        text.contains("CACHE READ") && text.contains("total"),
        "{text}"
    );
}

#[test]
fn an_output_whose_name_is_no_text_is_written() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let environment = Environment::new();
    environment.write(&claude_path(1), turn(1));
    environment.sweep();
    for name in [&b"\xff.h5"[..], b"\xff.parquet"] {
        let path = environment.home().join(OsStr::from_bytes(name));
        let mut export = environment.command(&["export", "--json", "-o"]);
        let outcome = Outcome::of(&export.arg(&path).output().unwrap());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(path.exists());
    }
}

#[test]
fn sessions_whose_ids_look_alike_have_files_of_their_own() {
    let environment = Environment::new();
    for (number, id) in ["a/b", "a\nb", "a%0Ab"].into_iter().enumerate() {
        let time = format!("2026-02-03T04:05:{number:02}.000Z");
        let content = json!([{"type": "input_text", "text": format!("question {number}")}]);
        let lines = [
            json!({"timestamp": time, "type": "session_meta", "payload": {"id": id, "timestamp": time, "cwd": "/work/shop"}}),
            json!({"timestamp": time, "type": "response_item", "payload": {"type": "message", "role": "user", "content": content}}),
        ];
        let path = format!(
            ".codex/sessions/2026/02/03/rollout-2026-02-03T04-05-{number:02}-{}.jsonl",
            claude_id(1)
        );
        environment.write(&path, format!("{}\n{}\n", lines[0], lines[1]));
    }
    environment.sweep();
    let folder = output(&environment, "columns");
    let report = environment.json(&["export", "-o", &folder]);
    assert_eq!(report["written"], 3, "{report}");
    let report = environment.json(&["export", "-o", &folder]);
    assert_eq!(report["unchanged"], 3, "{report}");
    let shown = environment.json(&["inspect", &folder]);
    let names: Vec<&String> = shown["sessions"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["a\nb", "a%0Ab", "a_b-codex-2"]);
    let files = ["a_b.h5", "a%250Ab.h5", "a_b-codex-2.h5"];
    let is_there = |file: &&str| environment.home().join("columns").join(file).is_file();
    assert!(files.iter().all(is_there));
}

#[test]
fn an_output_that_is_neither_a_file_nor_a_folder_is_refused() {
    let environment = Environment::new();
    environment.write(&claude_path(1), turn(1));
    environment.sweep();
    for path in ["/dev/null", "/dev/null/"] {
        for format in ["h5", "parquet"] {
            let outcome = environment.run(&["export", "-o", path, "--format", format]);
            assert_eq!(outcome.code, 2, "{path}: {}", outcome.stderr);
            let message = format!("{path} is not the name of a columnar file");
            assert!(outcome.stderr.contains(&message), "{}", outcome.stderr);
        }
    }
}

#[test]
fn a_file_has_the_table_that_was_asked_for() {
    let environment = Environment::new();
    environment.write(&claude_path(1), turn(1));
    environment.sweep();
    for (table, rows) in [
        ("sessions", 1),
        ("events", 4),
        ("tool_calls", 1),
        ("usage", 1),
    ] {
        let file = output(&environment, &format!("{table}.parquet"));
        let export = ["export", "-o", &file, "--table", table];
        assert_eq!(environment.json(&export)["rows_written"], rows, "{table}");
        let shown = environment.run(&["inspect", &file]).stdout;
        let summary = format!("{table}: 1 session, {rows} row");
        assert!(shown.starts_with(&summary), "{shown}");
    }
    let file = output(&environment, "none.parquet");
    let outcome = environment.run(&["export", "-o", &file, "--table", "calls"]);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert!(
        outcome
            .stderr
            .contains("sessions, events, tool_calls, usage"),
        "{}",
        outcome.stderr
    );
}
