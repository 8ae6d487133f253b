//! Secrets in columnar files.

use std::path::{Path, PathBuf};

use backstory_columnar::{AttributeValue, SessionFile};

use super::{output, turn};
use crate::environment::{Environment, claude_id, claude_path};

#[test]
fn secrets_stay_out_of_files() {
    let environment = Environment::new();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let log = environment.write(&claude_path(1), turn(1).replace("question", &secret));
    let (on, off) = (
        output(&environment, "on.h5"),
        output(&environment, "off.h5"),
    );
    environment.json(&["convert", log.to_str().unwrap(), "-o", &on]);
    environment.json(&[
        "convert",
        log.to_str().unwrap(),
        "-o",
        &off,
        "--redact",
        "off",
    ]);
    let shows_secret = |file: &str| {
        environment
            .run(&["tail", file, "--full"])
            .stdout
            .contains(&secret)
    };
    assert!(!shows_secret(&on));
    assert!(shows_secret(&off));
    environment.json(&["convert", log.to_str().unwrap(), "-o", &off]);
    assert!(!shows_secret(&off), "written again without it");
    let other = Environment::new();
    other.write(".config/backstory/config.toml", "redact = \"off\"\n");
    other.json(&["sweep", &off]);
    assert!(
        !other
            .run(&["show", &claude_id(1), "--full"])
            .stdout
            .contains(&secret)
    );
}

#[test]
fn exports_of_an_unredacted_store_say_so() {
    let environment = Environment::new();
    environment.write(&claude_path(1), turn(1).replace("question", &secret()));
    let config = ".config/backstory/config.toml";
    environment.write(config, "redact = \"off\"\n");
    environment.sweep();
    environment.write(config, "redact = \"on\"\n");
    let file = output(&environment, "all.h5");
    let outcome = environment.run(&["export", "-o", &file]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(outcome.warnings(), 1, "{}", outcome.stderr);
    let exported = SessionFile::open(file.as_ref()).unwrap();
    let session = exported.session(&claude_id(1)).unwrap().read().unwrap();
    let redaction = ("redaction".to_string(), AttributeValue::Text("off".into()));
    assert!(session.attributes.other.contains(&redaction));
}

/// A log whose title, record id and tool id are secrets.
fn log_with_secret(secret: &str, turns: u32) -> String {
    let log: String = (1..=turns).map(turn).collect();
    log.replace("question 1", &format!("use {secret}"))
        .replace("\"u1\"", &format!("\"{secret}\""))
        .replace("\"t1\"", &format!("\"{secret}\""))
}

fn secret() -> String {
    format!("ghp_{}", "a1B2c3D4e5F6".repeat(3))
}

#[test]
fn rows_whose_ids_are_secrets_are_replaced() {
    let environment = Environment::new();
    let log = environment.write(&claude_path(1), log_with_secret(&secret(), 1));
    let file = output(&environment, "all.h5");
    let read = || {
        let file = SessionFile::open(file.as_ref()).unwrap();
        file.session(&claude_id(1)).unwrap().read().unwrap()
    };
    for (redact, has_secret) in [("off", true), ("on", false), ("off", true), ("on", false)] {
        let convert = [
            "convert",
            log.to_str().unwrap(),
            "-o",
            &file,
            "--redact",
            redact,
        ];
        assert_eq!(environment.json(&convert)["written"], 1);
        let session = read();
        assert_eq!(session.messages.len(), 3, "{redact}");
        assert_eq!(session.tool_calls.len(), 1, "{redact}");
        assert_eq!(session.artifacts.len(), 1, "{redact}");
        assert_eq!(session.logs.len(), 1, "{redact}");
        let text = format!("{session:?}");
        assert_eq!(text.contains(&secret()), has_secret, "{redact}");
        let logs: Vec<u8> = session.logs.into_iter().flat_map(|log| log.bytes).collect();
        let logs = String::from_utf8(logs).unwrap();
        assert_eq!(logs.contains(&secret()), has_secret, "{redact}");
    }
}

#[test]
fn a_secret_in_a_title_or_an_id_does_not_make_a_session_new() {
    let environment = Environment::new();
    let log = environment.write(&claude_path(1), log_with_secret(&secret(), 1));
    let file = output(&environment, "all.h5");
    let convert = ["convert", log.to_str().unwrap(), "-o", &file];
    environment.json(&convert);
    assert_eq!(
        environment.json(&convert)["unchanged"],
        1,
        "without a store"
    );
    environment.write(&claude_path(1), log_with_secret(&secret(), 2));
    assert_eq!(environment.json(&convert)["messages"], 6);
    let shown = environment.json(&["inspect", &file]);
    assert_eq!(
        shown["sessions"][claude_id(1)]["messages"],
        6,
        "no row twice"
    );
    assert_eq!(shown["sessions"][claude_id(1)]["tool_calls"], 2);
    assert_eq!(shown["sessions"][claude_id(1)]["artifacts"], 2);
    assert!(!environment.store().exists());
}

#[test]
fn a_secret_has_the_marker_of_the_store() {
    let environment = Environment::new();
    let log = environment.write(&claude_path(1), log_with_secret(&secret(), 1));
    environment.sweep();
    let (convert, export) = (
        output(&environment, "convert.h5"),
        output(&environment, "export.h5"),
    );
    environment.json(&["convert", log.to_str().unwrap(), "-o", &convert]);
    environment.json(&["export", "-o", &export]);
    let titles = [convert, export].map(|file| {
        let shown = environment.json(&["inspect", &file]);
        shown["sessions"][claude_id(1)]["summary"].clone()
    });
    assert!(titles[0].to_string().contains("[REDACTED:"), "{titles:?}");
    assert_eq!(titles[0], titles[1]);
}

/// All text in an HDF5 file, and the names of its sessions.
fn text_of(file: &Path) -> (String, Vec<String>) {
    let opened = SessionFile::open(file).unwrap();
    let sessions = opened.all_sessions().unwrap();
    let names = sessions.iter().map(|session| session.id().to_string());
    let names = names.collect();
    let columns: Vec<_> = sessions
        .iter()
        .map(|session| session.read().unwrap())
        .collect();
    let mut text = format!("{columns:?}");
    for log in columns.iter().flat_map(|columns| &columns.logs) {
        text.push_str(&String::from_utf8_lossy(&log.bytes));
    }
    (text, names)
}

#[test]
fn a_session_whose_id_is_a_secret_is_replaced() {
    for in_folder in [false, true] {
        let environment = Environment::new();
        let id = format!("shop-{}", secret());
        let path = format!(".claude/projects/-work-shop/{id}.jsonl");
        let log = |turns: u32| log_with_secret(&secret(), turns).replace(&claude_id(1), &id);
        let output = match in_folder {
            true => output(&environment, "columns"),
            false => output(&environment, "all.h5"),
        };
        let files = || match in_folder {
            false => vec![PathBuf::from(&output)],
            true => {
                let entries = std::fs::read_dir(&output).unwrap();
                entries.map(|entry| entry.unwrap().path()).collect()
            }
        };
        for (redact, turns, written) in [
            ("off", 1, 1),
            ("on", 1, 1),
            ("on", 1, 0),
            ("on", 2, 1),
            ("off", 2, 1),
            ("on", 2, 1),
        ] {
            let log = environment.write(&path, log(turns));
            let convert = [
                "convert",
                log.to_str().unwrap(),
                "-o",
                &output,
                "--redact",
                redact,
            ];
            let report = environment.json(&convert);
            assert_eq!(report["written"], written, "{redact} {turns}");
            let files = files();
            assert_eq!(files.len(), 1, "{files:?}");
            let (text, names) = text_of(&files[0]);
            assert_eq!(names.len(), 1, "{redact} {turns}: {names:?}");
            let has_secret = redact == "off";
            for text in [&text, &names[0], files[0].to_str().unwrap()] {
                let may_have = in_folder || text != files[0].to_str().unwrap();
                assert_eq!(
                    text.contains(&secret()),
                    has_secret && may_have,
                    "{redact}: {text}"
                );
            }
            let shown = environment.json(&["inspect", files[0].to_str().unwrap()]);
            assert_eq!(shown["totals"]["messages"], 3 * turns, "{redact} {turns}");
            let session = &shown["sessions"][&names[0]];
            assert_eq!(session["artifacts"], turns, "{redact} {turns}");
            assert_eq!(session["logs"], 1, "{redact} {turns}");
        }
    }
}

#[test]
fn tables_of_a_session_whose_id_is_a_secret_are_replaced() {
    let environment = Environment::new();
    let id = format!("shop-{}", secret());
    let path = format!(".claude/projects/-work-shop/{id}.jsonl");
    let log = |turns: u32| log_with_secret(&secret(), turns).replace(&claude_id(1), &id);
    let folder = output(&environment, "tables");
    for (redact, turns, written) in [
        ("off", 1, 4),
        ("on", 1, 4),
        ("on", 1, 0),
        ("on", 2, 4),
        ("off", 2, 4),
        ("on", 2, 4),
    ] {
        let log = environment.write(&path, log(turns));
        let mut convert = vec!["convert", log.to_str().unwrap(), "-o", &folder];
        convert.extend(["--format", "parquet", "--redact", redact]);
        let report = environment.json(&convert);
        assert_eq!(report["files_written"], written, "{redact} {turns}");
        let shown = environment.json(&["inspect", &folder]);
        for table in shown["tables"].as_array().unwrap() {
            assert_eq!(table["files"], 1, "{redact} {turns}: {table}");
            assert_eq!(table["sessions"], 1, "{redact} {turns}: {table}");
        }
        let events = &shown["tables"][1]["rows"];
        assert_eq!(*events, 4 * turns, "{redact} {turns}");
        // Footers have ids as they are.
        let part = format!("{folder}/sessions/month=2026-02/part-2026-02-03.parquet");
        let bytes = std::fs::read(part).unwrap();
        let secret = secret();
        let has_secret = bytes
            .windows(secret.len())
            .any(|text| text == secret.as_bytes());
        assert_eq!(has_secret, redact == "off", "{redact} {turns}");
    }
}

#[test]
fn a_log_whose_name_is_an_assignment_of_a_key_comes_back() {
    let environment = Environment::new();
    let name = format!("API_KEY={}", "a1B2c3D4e5".repeat(4));
    let path = format!(".claude/projects/-work-shop/{name}.jsonl");
    let log = environment.write(&path, turn(1));
    let file = output(&environment, "all.h5");
    environment.json(&["convert", log.to_str().unwrap(), "-o", &file]);
    let (text, _) = text_of(file.as_ref());
    assert!(!text.contains("a1B2c3D4e5"), "{text}");
    let other = Environment::new();
    other.json(&["sweep", &file]);
    let shown = other.run(&["show", &claude_id(1), "--full"]);
    assert!(shown.stdout.contains("I look."), "{}", shown.stderr);
}

#[test]
fn tables_that_stay_unredacted_are_named() {
    let environment = Environment::new();
    let file = output(&environment, "all.parquet");
    let folder = output(&environment, "tables");
    for target in [&["-o", &*file][..], &["-o", &folder, "--format", "parquet"]] {
        let log = environment.write(&claude_path(1), [turn(1), turn(2)].concat());
        let convert = ["convert", log.to_str().unwrap()];
        let with =
            |redact: &str| environment.run(&[&convert[..], target, &["--redact", redact]].concat());
        assert_eq!(with("off").code, 0);
        environment.write(&claude_path(1), turn(1));
        let outcome = with("on");
        assert_eq!(outcome.code, 1, "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("still have the secrets"),
            "{}",
            outcome.stderr
        );
        assert!(!with("off").stderr.contains("still have the secrets"));
    }
}
