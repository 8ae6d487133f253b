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
    let outcome = environment.run(&["export", "--agent", "codex", "-o", &all]);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("another session"),
        "{}",
        outcome.stderr
    );
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
