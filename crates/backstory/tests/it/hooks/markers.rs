//! What takes too long to redact, or can be written nowhere, leaves a trace, and the agent's log fills it in.

use serde_json::{Value, json};

use super::{Home, assert_harmless, claude_hook, items, logged, tool_used};
use crate::environment::{Outcome, claude_id, claude_path, feed, record};

/// A hook is given two megabytes of what takes long to redact.
fn hostile(home: &Home) -> Value {
    let mut input = tool_used(home, 1, "toolu_1", "cat dump");
    input["tool_response"]["stdout"] = "fm1a_=".repeat(350_000).into();
    input
}

fn item(home: &Home, kind: &str) -> Value {
    let items = items(home);
    let found = items.iter().find(|item| item["kind"] == kind);
    assert!(found.is_some(), "{items:#?}");
    found.unwrap().clone()
}

fn texts_of(home: &Home) -> String {
    home.events(&claude_id(1)).join("\n")
}

#[test]
fn text_that_cannot_be_redacted_in_time_leaves_a_marker_that_the_log_fills_in() {
    let home = Home::new();
    claude_hook(&home, &hostile(&home));
    let marker = item(&home, "tool_use");
    if marker["omitted_bytes"].is_null() {
        // A machine that is fast enough: then it must be there as it is.
        assert!(texts_of(&home).contains("bytes left out"));
    } else {
        assert!(marker["omitted_bytes"].as_u64().unwrap() > 2_000_000);
        assert_eq!(marker["session"], claude_id(1));
        let shown = texts_of(&home);
        assert!(shown.contains("bytes not kept"), "{shown}");
        assert!(!shown.contains("fm1a_"), "{shown}");
        assert!(home.run(&["queue"]).stdout.contains("not kept"));
        let last = logged(&home).pop().unwrap();
        assert_eq!(
            (&last["kept"], &last["late"]),
            (&json!("marker"), &json!(true))
        );
    }
    // The log cannot be read: the marker stays.
    home.sweep();
    assert_eq!(item(&home, "tool_use")["state"], "raw");
    let call = json!([{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "cat dump"}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "the dump"}]);
    let lines = [
        record(
            1,
            1,
            "assistant",
            &json!({"role": "assistant", "content": call}),
        ),
        record(1, 2, "user", &json!({"role": "user", "content": result})),
    ];
    home.write(&claude_path(1), lines.concat());
    home.sweep();
    assert_eq!(item(&home, "tool_use")["state"], "done");
    let shown = home.events(&claude_id(1));
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert_eq!(shown[1], "tool_result: the dump");
}

#[test]
fn an_agent_that_is_cut_off_leaves_a_marker_without_a_session() {
    use std::io::Write;
    let home = Home::new();
    let mut child = home
        .command(&["hook", "UserPromptSubmit", "--agent", "claude-code"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"prompt\": \"half a prompt").unwrap();
    let code = child.wait().unwrap().code();
    drop(stdin);
    assert_eq!(code, Some(0));
    let marker = item(&home, "prompt");
    assert_eq!(marker["omitted_bytes"], 25);
    assert_eq!(marker["session"], Value::Null);
}

/// More than is read, so that nobody knows which session it is of.
#[test]
fn input_without_an_end_leaves_a_marker() {
    let home = Home::new();
    let mut input = b"{\"prompt\": \"".to_vec();
    input.resize(33 << 20, b'x');
    let arguments = ["hook", "UserPromptSubmit", "--agent", "claude-code"];
    assert_harmless(&home.feed(&arguments, &input));
    let marker = item(&home, "prompt");
    assert!(marker["omitted_bytes"].as_u64() > Some(0), "{marker}");
}

/// No id and no path of a marker is cut, for half a secret is a secret that no rule knows; a long one is left out.
#[test]
fn a_marker_has_no_long_fields() {
    let home = Home::new();
    let mut input = hostile(&home);
    input["session_id"] = "s".repeat(5000).into();
    input["transcript_path"] = format!("/{}.jsonl", "t".repeat(5000)).into();
    claude_hook(&home, &input);
    let marker = item(&home, "tool_use");
    let session = marker["session"].as_str().unwrap_or_default();
    assert!(
        marker["omitted_bytes"].is_null() || session.is_empty(),
        "{marker}"
    );
}

#[cfg(unix)]
#[test]
fn a_limit_on_the_size_of_files_ends_no_hook_and_leaves_a_trace() {
    let home = Home::new();
    let shell = |limited: &str, arguments: &[&str], input: &str| {
        let template = home.command(arguments);
        let mut command = std::process::Command::new("/bin/sh");
        command
            .args(["-c", &format!("{limited} exec \"$0\" \"$@\"")])
            .arg(template.get_program())
            .args(template.get_args())
            .env_clear()
            .env("HOME", home.home())
            .env("TMPDIR", home.home())
            .env("BACKSTORY_HOME", home.store());
        feed(&mut command, input.as_bytes())
    };
    let input = tool_used(&home, 1, "toolu_1", "ls").to_string();
    let arguments = ["hook", "PostToolUse", "--agent", "claude-code"];
    assert_harmless(&shell("ulimit -f 0;", &arguments, &input));
    let doctor: Value = serde_json::from_str(&shell("", &["doctor", "--json"], "").stdout).unwrap();
    let refused = doctor["capture"]["refused"].as_array().unwrap();
    assert_eq!(refused.len(), 1, "{refused:#?}");
    let path = refused[0]["path"].as_str().unwrap();
    assert!(path.ends_with("-claude-code-PostToolUse.lost"), "{path}");
    // A sweep tells of it once.
    for expected in [1, 0] {
        let swept: Value =
            serde_json::from_str(&shell("", &["sweep", "--json"], "").stdout).unwrap();
        assert_eq!(swept["problems"].as_array().unwrap().len(), expected);
    }
    let outcome = shell("ulimit -f 0;", &["sweep"], "");
    assert!(outcome.code >= 0, "it was ended by a signal");
}

#[cfg(unix)]
#[test]
fn without_a_home_nothing_is_stored_anywhere() {
    let home = Home::new();
    let command = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command.env_remove("HOME").env_remove("BACKSTORY_HOME");
        command
    };
    let passwd = nix::unistd::User::from_uid(nix::unistd::geteuid());
    let passwd_store = passwd
        .unwrap()
        .map(|user| user.dir.join(".local/share/backstory"));
    let existed = passwd_store.as_ref().is_some_and(|store| store.exists());
    let input = tool_used(&home, 1, "toolu_1", "ls").to_string();
    let mut hook = command(&["hook", "PostToolUse", "--agent", "claude-code"]);
    assert_harmless(&feed(&mut hook, input.as_bytes()));
    let exists = passwd_store.as_ref().is_some_and(|store| store.exists());
    assert_eq!(exists, existed, "{passwd_store:?}");
    let outcome = Outcome::of(&command(&["sessions"]).output().unwrap());
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("HOME is not set"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("BACKSTORY_HOME"),
        "{}",
        outcome.stderr
    );
    // Where data are kept was told, and that is enough.
    let data = home.home().join("data");
    let mut hook = command(&["hook", "PostToolUse", "--agent", "claude-code"]);
    hook.env("XDG_DATA_HOME", &data);
    assert_harmless(&feed(&mut hook, input.as_bytes()));
    assert!(data.join("backstory").exists());
}
