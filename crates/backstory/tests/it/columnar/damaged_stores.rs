//! HDF5 files out of stores with damaged blocks.

use std::io::Write;

use serde_json::{Value, json};

use super::output;
use crate::damage::{flip_in_block, two_sessions};
use crate::environment::{Environment, claude_id, claude_path, prompt};

/// Exports everything although blocks are damaged, and returns the report.
fn export_damaged(environment: &Environment, target: &str) -> Value {
    let outcome = environment.run(&["export", "-o", target, "--json"]);
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    let named = |text: &str| text.contains(&claude_id(1)) && text.contains("are damaged");
    assert!(outcome.stderr.lines().any(named), "{}", outcome.stderr);
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let failed = report["failed"].as_array().unwrap();
    assert_eq!(failed.len(), 1, "{report}");
    assert_eq!(failed[0]["session"], claude_id(1), "{report}");
    let reason = failed[0]["reason"].as_str().unwrap();
    assert!(reason.contains("are damaged"), "{report}");
    report
}

/// Returns the messages of the first session in a file.
fn messages(environment: &Environment, file: &str) -> Vec<Value> {
    let shown = environment.json(&["tail", file, &claude_id(1), "-n", "100"]);
    shown["messages"].as_array().unwrap().clone()
}

fn without_text(messages: &[Value]) -> usize {
    messages
        .iter()
        .filter(|message| message["text"] == "")
        .count()
}

#[test]
fn damaged_blocks_are_reported_and_everything_else_is_exported() {
    let environment = two_sessions();
    let whole = output(&environment, "whole.h5");
    environment.json(&["export", "-o", &whole]);
    let all_messages = messages(&environment, &whole);
    flip_in_block(&environment, 1);

    let file = output(&environment, "all.h5");
    let folder = output(&environment, "columns");
    for (target, of_session) in [
        (&file, file.clone()),
        (&folder, format!("{folder}/{}.h5", claude_id(1))),
    ] {
        let report = export_damaged(&environment, target);
        assert_eq!(report["written"], 2, "{report}");
        let shown = environment.json(&["inspect", target]);
        assert_eq!(shown["sessions"][claude_id(1)]["messages"], 41);
        assert_eq!(shown["sessions"][claude_id(1)]["missing"], "logs");
        assert_eq!(shown["sessions"][claude_id(2)]["missing"], Value::Null);
        let exported = messages(&environment, &of_session);
        let damaged = without_text(&exported);
        assert!(damaged > 0 && damaged < exported.len(), "{damaged}");
        assert_eq!(exported.last(), all_messages.last());
        // It is told again, until it is read again.
        let report = export_damaged(&environment, target);
        assert_eq!(
            (&report["written"], &report["unchanged"]),
            (&json!(1), &json!(1))
        );
    }
    let alone = output(&environment, "second.h5");
    environment.json(&["export", &claude_id(2), "-o", &alone]);

    // What a file has is kept.
    let log = environment.home().join(claude_path(1));
    let mut log = std::fs::File::options().append(true).open(log).unwrap();
    log.write_all(prompt(1, 41, "mow the lawn").as_bytes())
        .unwrap();
    environment.sweep();
    let report = export_damaged(&environment, &whole);
    assert_eq!(report["written"], 1, "{report}");
    let exported = messages(&environment, &whole);
    assert_eq!(exported[..41], all_messages);
    assert_eq!(exported[41]["text"], "mow the lawn");

    // Once it was read again, the files are as if nothing had happened.
    assert_eq!(environment.run(&["show", &claude_id(1)]).code, 1);
    environment.sweep();
    let new = output(&environment, "new.h5");
    environment.json(&["export", "-o", &new]);
    let expected = (
        messages(&environment, &new),
        environment.json(&["inspect", &new]),
    );
    assert_eq!(without_text(&expected.0), 0);
    for file in [&file, &whole] {
        environment.json(&["export", "-o", file]);
        let exported = (
            messages(&environment, file),
            environment.json(&["inspect", file]),
        );
        assert_eq!(exported, expected, "{file}");
    }
}
