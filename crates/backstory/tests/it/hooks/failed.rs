//! Calls that fail or are denied, and sessions in which nothing is asked.

use serde_json::{Value, json};

use super::{Home, claude_hook, hook, items, prompted, told};
use crate::environment::{Environment, claude_id, claude_path};

/// What is shown of the results of tools in a session.
fn results(environment: &Home, session: &str) -> Vec<Value> {
    items(environment);
    let shown = environment.json(&["show", session]);
    let events = shown["events"].as_array().unwrap().iter();
    let results = events.filter(|event| event["kind"] == "tool_result");
    results.cloned().collect()
}

fn failed(environment: &Environment, event: &str, more: &Value) -> Value {
    let mut fields = json!({"tool_name": "Bash", "tool_use_id": "toolu_1",
        "tool_input": {"command": "python3 -c 'import nosuchmodule_xyz'"}});
    let more = more.as_object().unwrap().clone();
    fields.as_object_mut().unwrap().extend(more);
    told(environment, 1, event, &fields)
}

#[test]
fn a_call_that_fails_is_there_before_any_sweep() {
    let environment = Home::new();
    claude_hook(&environment, &prompted(&environment, 1, "p1", "try it"));
    let error = json!({"error": "Exit code 1\nModuleNotFoundError: No module named 'nosuchmodule_xyz'", "duration_ms": 30});
    let input = failed(&environment, "PostToolUseFailure", &error);
    claude_hook(&environment, &input);
    let results = results(&environment, &claude_id(1));
    assert_eq!(results.len(), 1);
    let text = results[0]["text"].as_str().unwrap();
    assert!(text.contains("No module named"), "{text}");
    assert_eq!(results[0]["error"], true);
    assert_eq!(results[0]["live"], true);
    assert_eq!(results[0]["marks"], json!([]));
    assert_eq!(results[0]["duration_ms"], 30);
}

#[test]
fn a_call_that_is_denied_is_there_until_the_log_has_it() {
    let environment = Home::new();
    claude_hook(&environment, &prompted(&environment, 1, "p1", "try it"));
    let denial = json!({"reason": "not while others work"});
    let input = failed(&environment, "PermissionDenied", &denial);
    claude_hook(&environment, &input);
    let before = results(&environment, &claude_id(1));
    assert_eq!(before.len(), 1);
    assert_eq!(before[0]["text"], "not while others work");
    assert_eq!(before[0]["error"], true);
    assert_eq!(before[0]["status"], "denied");
    assert_eq!(before[0]["marks"], json!(["denied"]));
    // The agent tells of it as of a failure, too: it is the same call.
    claude_hook(
        &environment,
        &failed(
            &environment,
            "PostToolUseFailure",
            &json!({"error": "denied"}),
        ),
    );
    assert_eq!(results(&environment, &claude_id(1)).len(), 1);
    let call = json!({"type": "assistant", "uuid": "u1", "sessionId": claude_id(1), "message": {"role": "assistant", "id": "m", "content":
        [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "python3 -c 'import nosuchmodule_xyz'"}}]}});
    let result = json!({"type": "user", "uuid": "u2", "sessionId": claude_id(1), "message": {"role": "user", "content":
        [{"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true, "content": "denied by the user"}]}});
    environment.write(&claude_path(1), format!("{call}\n{result}\n"));
    environment.sweep();
    let after = results(&environment, &claude_id(1));
    assert_eq!(after.len(), 1, "{after:?}");
    assert_eq!(after[0]["text"], "denied by the user");
    assert_eq!(after[0]["live"], false);
}

#[test]
fn a_session_is_listed_once_something_is_asked() {
    let environment = Home::new();
    let listed = || {
        items(&environment);
        let sessions = environment.json(&["sessions", "--limit", "0"]);
        let sessions = sessions["sessions"].as_array().unwrap().iter();
        let names = sessions.map(|row| row["session"].as_str().unwrap().to_string());
        names.collect::<Vec<_>>()
    };
    claude_hook(
        &environment,
        &told(
            &environment,
            1,
            "SessionStart",
            &json!({"source": "startup"}),
        ),
    );
    claude_hook(
        &environment,
        &failed(&environment, "PostToolUseFailure", &json!({"error": "no"})),
    );
    let gemini =
        json!({"session_id": "g1", "cwd": "/home/ada/shop", "hook_event_name": "SessionStart"});
    hook(&environment, "gemini", "SessionStart", &gemini);
    assert!(listed().is_empty());
    // It is kept nevertheless.
    assert_eq!(results(&environment, &claude_id(1)).len(), 1);
    let gemini = json!({"session_id": "g1", "cwd": "/home/ada/shop", "hook_event_name": "BeforeAgent", "prompt": "what is this?"});
    hook(&environment, "gemini", "BeforeAgent", &gemini);
    assert_eq!(listed(), ["g1"]);
    environment.claude(1, &[crate::environment::prompt(1, 0, "from the log")]);
    environment.sweep();
    let mut all = listed();
    all.sort();
    assert_eq!(all, [claude_id(1), "g1".to_string()]);
}
