//! Ids as people read and type them: whatever a command prints names one session, also where ids begin alike.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::environment::{Environment, Outcome};

const IDS: [&str; 3] = [
    "0198c2d4-1b2a-7c3d-8e4f-000000000001",
    // Thirteen characters in common, and eight.
    "0198c2d4-1b2a-7d00-8e4f-000000000002",
    "0198c2d4-ffff-7000-8000-000000000003",
];
const CHILD: &str = "agent-a0bf4fa63b63d32d6";

/// Three sessions of the same minute and a subagent of the first. Each wrote a function and ran the same test in vain.
fn begun_alike() -> Environment {
    let environment = Environment::new();
    environment.write("shop/.git/config", "[core]\n");
    for (number, id) in IDS.iter().enumerate() {
        let log = format!(".claude/projects/-shop/{id}.jsonl");
        environment.write(&log, log_of(&environment, id, number, None));
    }
    let log = format!(".claude/projects/-shop/{}/subagents/{CHILD}.jsonl", IDS[0]);
    environment.write(&log, log_of(&environment, IDS[0], 3, Some(&CHILD[6..])));
    environment.sweep();
    environment
}

fn log_of(environment: &Environment, id: &str, number: usize, subagent: Option<&str>) -> String {
    let root = environment.home().canonicalize().unwrap().join("shop");
    let path = root.join(format!("file_{number}.py"));
    let text = format!("def make_{number}():\n    return {number}\n");
    std::fs::write(&path, &text).unwrap();
    let call = |call: &str, tool: &str, input: Value| {
        let part = json!({"type": "tool_use", "id": call, "name": tool, "input": input});
        json!({"role": "assistant", "id": call, "model": "claude-test", "content": [part]})
    };
    let result = |call: &str, text: &str, failed: bool| {
        let part = json!({"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed});
        json!({"role": "user", "content": [part]})
    };
    let messages = [
        json!({"role": "user", "content": format!("write the function make_{number} for the walrus")}),
        call(
            "write",
            "Write",
            json!({"file_path": path, "content": text}),
        ),
        result("write", "done", false),
        call("test", "Bash", json!({"command": "make test"})),
        result(
            "test",
            "Exit code 2\nmake: *** No rule to make target 'test'.  Stop.",
            true,
        ),
    ];
    let line = |(at, message): (usize, &Value)| {
        let mut line = json!({
            "type": message["role"], "uuid": format!("{number}-{at}"), "sessionId": id, "cwd": root, "message": message,
            "timestamp": format!("2026-01-02T03:0{number}:0{at}.000Z"),
        });
        if message["content"][0]["tool_use_id"] == "write" {
            line["toolUseResult"] = json!({"type": "create", "filePath": path, "content": text});
        }
        if let Some(subagent) = subagent {
            line["agentId"] = subagent.into();
            line["isSidechain"] = true.into();
        }
        format!("{line}\n")
    };
    messages.iter().enumerate().map(line).collect()
}

/// The ids in a text that begin like those of [`begun_alike`].
fn ids_in(text: &str) -> BTreeSet<String> {
    let is_id = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '/';
    text.match_indices("0198c2d4")
        .map(|(start, _)| text[start..].split(|letter| !is_id(letter)).next().unwrap())
        .map(str::to_string)
        .collect()
}

/// Checks that a text names these sessions (3 is the subagent), each by a short id that `show` takes.
fn check(environment: &Environment, text: &str, expected: &[usize]) {
    let mut named = BTreeSet::new();
    for id in ids_in(text) {
        assert!(id.len() < 36, "{id} in {text}");
        let session = environment.json(&["show", &id])["session"].clone();
        let child = format!("{}/{CHILD}", IDS[0]);
        let position = IDS.iter().position(|id| *id == session);
        named.insert(position.unwrap_or_else(|| {
            assert_eq!(session, child.as_str());
            3
        }));
    }
    let expected: BTreeSet<usize> = expected.iter().copied().collect();
    assert_eq!(named, expected, "{text}");
}

#[test]
fn commands_print_ids_that_name_one_session() {
    let environment = begun_alike();
    let root = environment.home().join("shop");
    let run = |arguments: &[&str]| {
        let mut command = environment.command(arguments);
        Outcome::of(&command.current_dir(&root).output().unwrap()).stdout
    };
    check(&environment, &run(&["changes"]), &[0, 1, 2, 3]);
    for number in 0..4 {
        check(
            &environment,
            &run(&["why", &format!("make_{number}")]),
            &[number],
        );
        check(
            &environment,
            &run(&["blame", &format!("file_{number}.py")]),
            &[number],
        );
    }
    for (number, id) in IDS.iter().enumerate() {
        check(&environment, &run(&["digest", id]), &[number]);
    }
    check(&environment, &run(&["context"]), &[1, 2]);
    check(
        &environment,
        &run(&["eval", "context", "--each"]),
        &[0, 1, 2],
    );
    let patterns = environment.json(&["patterns", "--min-frequency", "2"]);
    let pattern = patterns["patterns"][0]["id"].as_str().unwrap();
    let sessions = patterns["patterns"][0]["sessions"]
        .as_array()
        .unwrap()
        .len();
    let shown = run(&["patterns", "show", pattern]);
    assert_eq!((sessions, ids_in(&shown).len()), (4, 4), "{shown}");
    check(&environment, &shown, &[0, 1, 2, 3]);
    environment.write(
        ".config/backstory/config.toml",
        "[retention]\nraw_soft_cap_bytes = 1\n",
    );
    check(&environment, &run(&["retain", "--dry-run"]), &[0, 1, 2, 3]);
}

#[cfg(target_os = "linux")]
#[test]
fn ids_are_short_on_a_terminal_and_whole_in_a_pipe() {
    let environment = begun_alike();
    for arguments in [vec!["sessions"], vec!["search", "walrus"]] {
        let shown = crate::streams::on_terminal(&mut environment.command(&arguments));
        check(&environment, &shown, &[0, 1, 2, 3]);
        let piped = ids_in(&environment.run(&arguments).stdout);
        assert_eq!(piped.iter().map(String::len).min(), Some(36), "{piped:?}");
    }
}

#[test]
fn an_id_that_could_be_several_is_refused() {
    let environment = begun_alike();
    let outcome = environment.run(&["show", "0198c2d4-1b2a"]);
    assert_eq!(outcome.code, 2);
    for (id, is_named) in IDS.iter().zip([true, true, false]) {
        // As much of it as names one session.
        let shown = outcome.stderr.contains(&id[..16]);
        assert_eq!(shown, is_named, "{}", outcome.stderr);
    }
    let outcome = environment.run(&["show", "0198c2d4-1b2a-7c/agent-x"]);
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
}
