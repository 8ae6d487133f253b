//! How the program behaves as a program: help, errors, exit codes, configuration, watching.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::environment::{Environment, claude_id, prompt, reply};

#[test]
fn errors_help_and_exit_codes_tell() {
    let environment = Environment::new();
    for (arguments, code, said) in [
        (vec!["sessions"], 1, "error: nothing has been swept"),
        (
            vec!["sweep", "--agent", "nobody"],
            2,
            "[possible values: claude-code, codex, grok",
        ),
        (
            vec!["sweep", "/no/such/folder"],
            1,
            "error: cannot read /no/such/folder",
        ),
        (vec!["frobnicate"], 2, "unrecognized subcommand"),
        (
            vec!["config", "set", "nonsense", "1"],
            2,
            "hint: `backstory config --help` tells the keys",
        ),
        (
            vec!["config", "set", "redact", "maybe"],
            2,
            "not a valid configuration",
        ),
    ] {
        let outcome = environment.run(&arguments);
        assert_eq!(outcome.code, code, "{arguments:?}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains(said),
            "{arguments:?}: {}",
            outcome.stderr
        );
        assert!(
            outcome.stdout.is_empty(),
            "{arguments:?}: {}",
            outcome.stdout
        );
    }
    assert!(
        environment
            .run(&["completions", "bash"])
            .stdout
            .contains("_backstory")
    );
}

#[test]
fn configuration_changes_one_key_and_keeps_the_rest() {
    let environment = Environment::new();
    let path = environment.write(
        ".config/backstory/config.toml",
        "# mine\nredact = \"on\" # always\n",
    );
    assert_eq!(
        environment
            .run(&["config", "set", "sources.codex.enabled", "false"])
            .code,
        0
    );
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text.starts_with("# mine\nredact = \"on\" # always\n"),
        "{text}"
    );
    assert_eq!(
        environment.json(&["config"])["config"]["sources"]["codex"]["enabled"],
        false
    );
    let roots = environment.json(&["doctor"])["roots"].to_string();
    assert!(
        roots.contains(".claude") && !roots.contains(".codex"),
        "{roots}"
    );
    let other = environment.write("other.toml", "store = \"/elsewhere\"\n");
    let output = environment
        .command(&["config", "--json", "--config", other.to_str().unwrap()])
        .env_remove("BACKSTORY_HOME")
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"store\": \"/elsewhere\""));
    std::fs::write(&path, "store = 3").unwrap();
    assert_eq!(environment.run(&["sessions"]).code, 2);
}

#[test]
fn extra_roots_and_paths_of_any_agent_are_swept() {
    let environment = Environment::new();
    environment.write("backup/one.jsonl", prompt(5, 0, "from a backup"));
    let folder = environment.home().join("backup");
    let value = format!("[{:?}]", folder.to_str().unwrap());
    assert_eq!(
        environment
            .run(&["config", "set", "sources.claude-code.roots", &value])
            .code,
        0
    );
    assert_eq!(environment.sweep()["events"], 1);
    environment.write("mixed/readme.json", "{\"no\": \"log\"}");
    environment.write("mixed/deep/two.jsonl", prompt(6, 1, "given by path"));
    let report = environment.json(&["sweep", environment.home().join("mixed").to_str().unwrap()]);
    assert_eq!(
        (report["discovered"].as_u64(), report["events"].as_u64()),
        (Some(1), Some(1))
    );
}

#[test]
fn doctor_counts_the_days_until_claude_code_deletes() {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "first")]);
    environment.write(".claude/settings.json", "{\"cleanupPeriodDays\": 10}");
    let doctor = environment.json(&["doctor"]);
    assert_eq!(
        (
            doctor["days_left"].as_i64(),
            doctor["claude_cleanup_days"].as_i64()
        ),
        (Some(10), Some(10))
    );
    environment.write(".claude/settings.json", "{\"cleanupPeriodDays\": 1}");
    assert_eq!(environment.run(&["doctor"]).code, 1);
    environment.sweep();
    assert_eq!(
        environment.json(&["doctor"])["days_left"],
        serde_json::Value::Null
    );
    assert_eq!(environment.run(&["doctor"]).code, 0);
}

#[test]
fn watch_takes_in_what_is_written() {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "first")]);
    let mut child = environment
        .command(&["watch", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next =
        || serde_json::from_str::<serde_json::Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(next()["events"], 1);
    environment.claude(2, &[prompt(2, 5, "second")]);
    assert_eq!(next()["events"], 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(environment.events(&claude_id(2)), ["prompt: second"]);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, &"long ".repeat(200_000))]);
    environment.sweep();
    let mut child = environment
        .command(&["show", "00000001"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
}

#[test]
fn numbers_beyond_63_bits_are_no_error_of_the_program() {
    let environment = Environment::new();
    environment.claude(
        1,
        &[
            prompt(1, 0, "count the otters"),
            reply(1, 1, "two otters", 5),
        ],
    );
    environment.sweep();
    let id = claude_id(1);
    for most in [
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
    ] {
        for arguments in [
            &["sessions", "--limit", most][..],
            &["search", "otters", "--limit", most],
            &["search", "--regex", "otters", "--limit", most],
            &["tail", &id, "-n", most],
            &["observations", &id, "--limit", most],
            &["changes", "--limit", most],
            &["usage", "daily", "--limit", most],
            &["queue", "--limit", most],
            &["patterns", "--limit", most],
            &["patterns", "--min-frequency", most],
            &["doctor", "--limit", most],
            &["compress", "--limit", most],
            &["context", "--budget", most],
            &["show", &format!("{id}#{most}")],
        ] {
            let outcome = environment.run(arguments);
            // Nothing found or wrong usage is an answer.
            assert!(
                (0..=2).contains(&outcome.code),
                "{arguments:?}: {}",
                outcome.stderr
            );
            assert!(
                !outcome.stderr.contains("database refused"),
                "{}",
                outcome.stderr
            );
        }
    }
    for (key, values) in [
        (
            "raw_max_age_days",
            &["9223372036854775807", "100000000000"][..],
        ),
        (
            "raw_soft_cap_bytes",
            &["9223372036854775807", "\"99999999999999 TB\""],
        ),
        (
            "raw_hard_cap_bytes",
            &["9223372036854775807", "\"99999999999999 TB\""],
        ),
        (
            "distilled_cap_bytes",
            &["9223372036854775807", "\"99999999999999 TB\""],
        ),
    ] {
        for value in values {
            environment.write(
                ".config/backstory/config.toml",
                format!("[retention]\n{key} = {value}\n"),
            );
            for arguments in [&["retain", "--dry-run"][..], &["retain"], &["sweep"]] {
                let outcome = environment.run(arguments);
                assert_eq!(
                    outcome.code, 0,
                    "{key} = {value}: {arguments:?}: {}",
                    outcome.stderr
                );
            }
            assert_eq!(environment.events(&id).len(), 2, "{key} = {value}");
        }
    }
}
