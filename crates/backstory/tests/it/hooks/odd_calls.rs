//! Calls that nobody should make, from places where nobody should be.

use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Home, assert_harmless, claude_hook, count, items, prompted, told, tool_used};
use crate::environment::{Outcome, claude_id, feed};

const EVENTS: [&str; 4] = ["UserPromptSubmit", "PostToolUse", "Stop", "SessionStart"];

#[test]
fn input_that_is_no_object_is_passed_over() {
    let environment = Home::new();
    let deep = "[".repeat(200_000);
    let inputs: [&[u8]; 10] = [
        b"",
        b"\n",
        b"garbage",
        b"null",
        b"[1, 2]",
        b"\"text\"",
        b"{\"prompt\": \"never closed",
        b"\xff\xfe\x00{",
        deep.as_bytes(),
        &[0; 4096],
    ];
    for event in EVENTS {
        for input in inputs {
            let outcome = environment.feed(&["hook", event, "--agent", "claude-code"], input);
            assert_harmless(&outcome);
        }
    }
    claude_hook(
        &environment,
        &prompted(&environment, 1, "p1", "and then this"),
    );
    assert_eq!(environment.events(&claude_id(1)), ["prompt: and then this"]);
}

#[test]
fn fields_of_any_type_are_as_good_as_none() {
    let environment = Home::new();
    let nested = "[".repeat(100_000) + &"]".repeat(100_000);
    for odd in ["7", "null", "[]", "{}", "true", "1e999", "\"\"", &nested] {
        for event in EVENTS {
            let input = format!(
                "{{\"session_id\": {odd}, \"transcript_path\": {odd}, \"cwd\": {odd}, \"prompt\": {odd}, \"tool_name\": {odd}, \
                 \"tool_input\": {odd}, \"tool_response\": {odd}, \"last_assistant_message\": {odd}, \"source\": {odd}}}"
            );
            let outcome = environment.feed(&["hook", event], input.as_bytes());
            assert_harmless(&outcome);
        }
    }
}

#[test]
fn what_is_readable_of_damaged_text_is_kept() {
    let environment = Home::new();
    let input = prompted(&environment, 1, "p1", "before HERE after").to_string();
    let (before, after) = input.split_once("HERE").unwrap();
    let damaged = [before.as_bytes(), b"\xff\xfe", after.as_bytes()].concat();
    assert_harmless(&environment.feed(&["hook", "UserPromptSubmit"], &damaged));
    let surrogate = input.replace("HERE", "\\ud83d").replace("p1", "p2");
    assert_harmless(&environment.feed(&["hook", "UserPromptSubmit"], surrogate.as_bytes()));
    // What comes behind the object is nothing to us.
    let followed = format!("{}garbage", prompted(&environment, 1, "p3", "a third"));
    assert_harmless(&environment.feed(&["hook", "UserPromptSubmit"], followed.as_bytes()));
    let shown = environment.events(&claude_id(1));
    assert_eq!(shown.len(), 3, "{shown:?}");
    for text in &shown[..2] {
        assert!(text.starts_with("prompt: before "), "{text}");
        assert!(text.ends_with(" after"), "{text}");
    }
}

#[test]
fn megabytes_are_taken_and_shortened() {
    let environment = Home::new();
    let told = |id: &str, lines: usize| {
        let mut input = tool_used(&environment, 1, id, "make world");
        input["tool_response"]["stdout"] = "compiling the world\n".repeat(lines).into();
        claude_hook(&environment, &input);
    };
    told("toolu_1", 50_000);
    let shown = environment.events(&claude_id(1));
    assert_eq!(shown[0], r#"tool_call: {"command":"make world"}"#);
    assert!(shown[1].starts_with("tool_result: compiling the world\n"));
    // A program that was built without haste may not get through so much in time.
    told("toolu_2", 1_000_000);
    items(&environment);
    let files = environment.stored_files();
    let kept: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(kept < 2_000_000, "{kept} bytes");
}

#[test]
fn a_call_may_be_spelled_in_any_way() {
    let environment = Home::new();
    let calls: [&[&str]; 9] = [
        &["hook"],
        &["hook", "UserPromptSubmit"],
        &["hook", "user_prompt_submit", "--agent", "claude-code"],
        &["hook", "--agent"],
        &["hook", "--agent=claude-code", "UserPromptSubmit"],
        &[
            "hook",
            "--from-the-future",
            "UserPromptSubmit",
            "-x",
            "more",
        ],
        &["hook", "UserPromptSubmit", "--agent", "nobody"],
        &["hook", "Whatever", "--agent", "claude-code"],
        &["--config", "/nowhere.toml", "hook", "UserPromptSubmit"],
    ];
    for (number, arguments) in calls.iter().enumerate() {
        let input = prompted(&environment, 1, &format!("p{number}"), "do it");
        let outcome = environment.feed(arguments, input.to_string().as_bytes());
        assert_harmless(&outcome);
    }
    // The input names the event where the call does not, or names one that nobody knows.
    assert_eq!(count(&environment, "prompt"), calls.len());
    let unknown = told(&environment, 2, "Whatever", &json!({"prompt": "do it"}));
    claude_hook(&environment, &unknown);
    assert_eq!(count(&environment, "prompt"), calls.len());
}

/// Waits for a process that must end by itself; one that does not is killed, which is no good end.
fn wait(child: &mut Child) -> i32 {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap_or(-1);
        }
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_agent_that_never_stops_talking_is_left() {
    let environment = Home::new();
    let whole = prompted(&environment, 1, "p1", "do it").to_string();
    for said in ["", "{\"prompt\": \"half", &whole] {
        let mut child = environment
            .command(&["hook", "UserPromptSubmit", "--agent", "claude-code"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(said.as_bytes()).unwrap();
        assert_eq!(wait(&mut child), 0, "{said}");
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert_harmless(&Outcome::of(&output));
    }
    // All was said, so it is known.
    assert_eq!(environment.events(&claude_id(1)), ["prompt: do it"]);
}

#[cfg(unix)]
#[test]
fn closed_streams_harm_nobody() {
    let environment = Home::new();
    let closings = [">&-", "2>&-", ">&- 2>&-"];
    for (number, closing) in closings.iter().enumerate() {
        let template = environment.command(&["hook", "UserPromptSubmit"]);
        let script = format!("exec \"$0\" \"$@\" {closing}");
        let mut command = std::process::Command::new("/bin/sh");
        command
            .args(["-c", &script])
            .arg(template.get_program())
            .args(template.get_args())
            .env_clear()
            .env("HOME", environment.home())
            .env("BACKSTORY_HOME", environment.store());
        let input = prompted(&environment, 1, &format!("p{number}"), "do it");
        assert_harmless(&feed(&mut command, input.to_string().as_bytes()));
        let deaf = format!("{script} <&-");
        let mut command = std::process::Command::new("/bin/sh");
        command
            .args(["-c", &deaf])
            .arg(template.get_program())
            .args(template.get_args())
            .env_clear()
            .env("HOME", environment.home())
            .env("BACKSTORY_HOME", environment.store());
        assert_harmless(&feed(&mut command, b""));
    }
    assert_eq!(count(&environment, "prompt"), closings.len());
    assert_eq!(environment.run(&["doctor"]).code, 0);
}

#[test]
fn a_home_that_is_not_there_harms_nobody() {
    let environment = Home::new();
    let file = environment.write("file", "");
    let input = |id: &str| prompted(&environment, 1, id, "do it").to_string();
    for (id, home) in [("p1", None), ("p2", Some("")), ("p3", Some("/nonexistent"))] {
        let mut command = environment.command(&["hook", "UserPromptSubmit"]);
        match home {
            None => command.env_remove("HOME"),
            Some(home) => command.env("HOME", home),
        };
        assert_harmless(&feed(&mut command, input(id).as_bytes()));
    }
    // Where the store is was told, and that is enough.
    assert_eq!(count(&environment, "prompt"), 3);
    let mut command = environment.command(&["hook", "UserPromptSubmit"]);
    command.env_remove("BACKSTORY_HOME").env("HOME", file);
    // Where what is told waits if there is nowhere else.
    command.env("TMPDIR", environment.home());
    assert_harmless(&feed(&mut command, input("p4").as_bytes()));
    let mut command = environment.command(&["hook", "UserPromptSubmit"]);
    let gone = tempfile::tempdir().unwrap();
    command.current_dir(gone.path());
    assert_harmless(&feed(&mut command, input("p5").as_bytes()));
    assert_eq!(count(&environment, "prompt"), 4);
}

#[test]
fn a_configuration_that_cannot_be_read_is_as_good_as_none() {
    for text in ["redact = 7", "[[[", "unknown = true", "\u{0}\u{1}"] {
        let environment = Home::new();
        environment.write(".config/backstory/config.toml", text);
        claude_hook(&environment, &prompted(&environment, 1, "p1", "do it"));
        environment.write(".config/backstory/config.toml", "");
        assert_eq!(count(&environment, "prompt"), 1, "{text}");
    }
    let environment = Home::new();
    // A folder, for whoever runs as root may read any file.
    environment.write(".config/backstory/config.toml/file", "");
    claude_hook(&environment, &prompted(&environment, 1, "p1", "do it"));
    std::fs::remove_dir_all(environment.home().join(".config")).unwrap();
    assert_eq!(count(&environment, "prompt"), 1);
}
