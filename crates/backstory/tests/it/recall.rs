//! What earlier sessions know of errors and commands.

use serde_json::{Value, json};

use crate::environment::{Environment, claude_id, feed, prompt, record};

/// Two sessions that ran into the same error; the first one tried something else before.
fn environment() -> Environment {
    let environment = Environment::new();
    for session in 1..=2_u32 {
        // Records with the same ids would be copies.
        let first = session * 100;
        let mut lines = vec![prompt(session, first, "start the shop")];
        let mut run = |command: &str, output: &str, failed: bool| {
            let number = first + lines.len() as u32;
            let call = json!([{"type": "tool_use", "id": format!("call-{number}"), "name": "Bash", "input": {"command": command}}]);
            let message = json!({"role": "assistant", "content": call});
            lines.push(record(session, number, "assistant", &message));
            let result = json!([{"type": "tool_result", "tool_use_id": format!("call-{number}"), "content": output, "is_error": failed}]);
            let message = json!({"role": "user", "content": result});
            lines.push(record(session, number + 1, "user", &message));
        };
        let error = format!("Error: Cannot find module '/srv/{session}/express'");
        run("npm start", &error, true);
        if session == 1 {
            run("npm config set registry http://localhost", "", false);
            run("npm start", &error, true);
        }
        run("npm install", "added 50 packages", false);
        run("npm start 2>&1 | tail -5", "listening on 8080", false);
        environment.claude(session, &lines);
    }
    environment.sweep();
    environment
}

#[test]
fn an_error_is_found_with_what_fixed_it() {
    let environment = environment();
    let text = "cannot find module '/home/bob/express'";
    let answer = environment.json(&["fix", text]);
    let fixes = answer["fixes"].as_array().unwrap();
    assert_eq!(fixes.len(), 1, "{answer}");
    let fix = &fixes[0];
    assert_eq!(fix["fixed_by"]["commands"], json!(["npm install"]));
    assert_eq!(fix["sessions"], 2);
    let nothing = environment.json(&["fix", "segmentation fault in the parser"]);
    assert_eq!(nothing["fixes"], json!([]));
    let shown = environment.run(&["fix", "segmentation fault in the parser"]);
    assert_eq!((shown.code, shown.stdout.as_str()), (0, ""));
    // A whole output, piped.
    let output =
        format!("> shop@1.0.0 start\n> node .\n\nError: {text}\n    at Function.x (a.js:1)\n");
    let piped = feed(&mut environment.command(&["fix"]), output.as_bytes());
    assert!(piped.stdout.contains("`npm install`"), "{}", piped.stdout);
    let empty = feed(&mut environment.command(&["fix"]), b" \n");
    assert_eq!(empty.code, 2, "{}", empty.stderr);
}

#[test]
fn what_did_not_help_is_said() {
    let environment = environment();
    environment.run(&["forget", &claude_id(2), "--yes"]);
    let answer = environment.json(&["fix", "Cannot find module", "--limit", "1"]);
    let fix: &Value = &answer["fixes"][0];
    let tried = "npm config set registry http://localhost";
    assert_eq!(fix["did_not_help"][0]["commands"], json!([tried]));
    assert_eq!(fix["session"], claude_id(1));
}

#[test]
fn commands_are_counted_by_sessions() {
    let environment = environment();
    let answer = environment.json(&["how", "NPM", "start"]);
    let known = &answer["commands"][0];
    assert_eq!(known["command"], "npm start");
    assert_eq!(
        (&known["sessions"], &known["worked"], &known["failed"]),
        (&json!(2), &json!(2), &json!(3))
    );
    let none = environment.run(&["how", "cargo"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, ""));
    assert!(none.stderr.contains("no command"), "{}", none.stderr);
}
