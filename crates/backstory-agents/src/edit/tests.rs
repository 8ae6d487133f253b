//! Each test is a record of a log and what it did to files, in a short form: `path < text before > change`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{LogAgent, reader};

fn edits_of(agent: &str, record: &Value, part: u16) -> Vec<FileEdit> {
    let bodies = reader(agent).unwrap().reread(record.to_string().as_bytes());
    let found = bodies.into_iter().find(|(at, _)| *at == part);
    found.map(|(_, body)| body.edits).unwrap_or_default()
}

#[track_caller]
fn check(agent: &str, record: &Value, part: u16, expect: &[&str]) {
    let edits = edits_of(agent, record, part);
    let found: Vec<String> = edits.iter().map(render).collect();
    assert_eq!(found, expect, "{record}");
}

fn render(edit: &FileEdit) -> String {
    let mut text = edit.path.clone();
    text.extend(edit.moved_to.iter().map(|to| format!(" to {to}")));
    text.extend(edit.before.iter().map(|before| format!(" < {before:?}")));
    text.push_str(" > ");
    match &edit.change {
        Change::Written(whole) => text.push_str(&format!("{whole:?}")),
        Change::Deleted => text.push_str("nothing"),
        Change::Strings(strings) => {
            for string in strings {
                let all = if string.all { " everywhere" } else { "" };
                text.push_str(&format!("{:?} for {:?}{all}; ", string.new, string.old));
            }
        }
        Change::Hunks(hunks) => {
            for hunk in hunks {
                let line = hunk.line.map_or(String::new(), |line| line.to_string());
                text.push_str(&format!("@{line}{}", hunk.after.join("/")));
                for line in &hunk.lines {
                    text.push_str(&match line {
                        HunkLine::Kept(line) => format!("| {line}"),
                        HunkLine::Removed(line) => format!("|-{line}"),
                        HunkLine::Added(line) => format!("|+{line}"),
                    });
                }
            }
        }
    }
    text
}

fn claude_call(tool: &str, input: &Value) -> Value {
    let block = json!({"type": "tool_use", "id": "t1", "name": tool, "input": input});
    json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "Now."}, block]}})
}

fn claude_result(twin: &Value) -> Value {
    let block = json!({"type": "tool_result", "tool_use_id": "t1", "content": "ok"});
    json!({"type": "user", "message": {"content": [block]}, "toolUseResult": twin})
}

#[test]
fn claude_code_as_it_was_asked() {
    let call = |tool, input: Value, expect: &[&str]| {
        check("claude-code", &claude_call(tool, &input), 2, expect);
    };
    call(
        "Write",
        json!({"file_path": "/s/a.rs", "content": "x\n"}),
        &[r#"/s/a.rs > "x\n""#],
    );
    call(
        "Edit",
        json!({"file_path": "/s/a.rs", "old_string": "x", "new_string": "y", "replace_all": true}),
        &[r#"/s/a.rs > "y" for "x" everywhere; "#],
    );
    call(
        "Edit",
        json!({"file_path": "/s/a.rs", "old_string": "", "new_string": "y"}),
        &[r#"/s/a.rs > "y""#],
    );
    call(
        "MultiEdit",
        json!({"file_path": "/s/a.rs", "edits": [
            {"old_string": "x", "new_string": "y"}, {"old_string": "z", "new_string": ""}, 7]}),
        &[r#"/s/a.rs > "y" for "x"; "" for "z"; "#],
    );
    call("Read", json!({"file_path": "/s/a.rs"}), &[]);
    call(
        "NotebookEdit",
        json!({"notebook_path": "/s/a.ipynb", "new_source": "1"}),
        &[],
    );
    call(
        "Bash",
        json!({"command": "git mv a.rs b.rs"}),
        &["a.rs to b.rs > "],
    );
    call("Edit", json!("odd"), &[]);
    check(
        "claude-code",
        &claude_call("Write", &json!({"file_path": "a", "content": ""})),
        1,
        &[],
    );
    check(
        "claude-code",
        &claude_call("Write", &json!({"file_path": "a", "content": ""})),
        0,
        &[],
    );
}

#[test]
fn claude_code_as_it_was_done() {
    let result =
        |twin: Value, expect: &[&str]| check("claude-code", &claude_result(&twin), 1, expect);
    result(
        json!({"type": "create", "filePath": "/s/a.rs", "content": "x\n", "structuredPatch": [], "originalFile": null}),
        &[r#"/s/a.rs < "" > "x\n""#],
    );
    result(
        json!({"type": "update", "filePath": "/s/a.rs", "content": "y\n", "originalFile": "x\n"}),
        &[r#"/s/a.rs < "x\n" > "y\n""#],
    );
    let patch = json!([{"oldStart": 4, "oldLines": 2, "newStart": 4, "newLines": 2, "lines": [" a", "-b", "+c", "\\ No newline at end of file"]}]);
    let edit = |old: &str, changed: bool| {
        json!({"filePath": "/s/a.rs", "oldString": old, "newString": "c", "originalFile": "a\nb",
               "structuredPatch": patch, "userModified": changed, "replaceAll": false})
    };
    result(edit("b", false), &[r#"/s/a.rs < "a\nb" > "c" for "b"; "#]);
    // Changed by a person before it was applied, or found in another spelling: the patch tells what came of it.
    let hunk = r#"/s/a.rs < "a\nb" > @4| a|-b|+c"#;
    result(edit("b", true), &[hunk]);
    result(edit("B", false), &[hunk]);
    result(
        json!({"notebook_path": "/s/n.ipynb", "original_file": "{}", "updated_file": "{1}", "cell_id": "c"}),
        &[r#"/s/n.ipynb < "{}" > "{1}""#],
    );
    result(json!("Error: String to replace not found"), &[]);
    result(
        json!({"type": "text", "file": {"filePath": "/s/a.rs", "content": "x"}}),
        &[],
    );
    let mut two = claude_result(&edit("b", false));
    let blocks = two["message"]["content"].as_array_mut().unwrap();
    blocks.push(json!({"type": "tool_result", "tool_use_id": "t2"}));
    check("claude-code", &two, 1, &[]);
}

#[test]
fn codex_in_every_form() {
    const PATCH: &str = "*** Begin Patch\n*** Update File: a.rs\n@@ fn a\n-b\n+c\n*** Add File: /n.rs\n+n\n*** End Patch";
    let item = |payload: Value| json!({"type": "response_item", "payload": payload});
    let function = |name: &str, arguments: Value| {
        item(
            json!({"type": "function_call", "name": name, "arguments": arguments.to_string(), "call_id": "c"}),
        )
    };
    let both = ["a.rs > @fn a|-b|+c", r#"/n.rs > "n\n""#];
    let below = ["sub/a.rs > @fn a|-b|+c", r#"/n.rs > "n\n""#];
    let custom = |name, input: &str| {
        item(json!({"type": "custom_tool_call", "name": name, "input": input, "call_id": "c"}))
    };
    check("codex", &custom("apply_patch", PATCH), 0, &both);
    check(
        "codex",
        &function("apply_patch", json!({"input": PATCH})),
        0,
        &both,
    );
    check(
        "codex",
        &function("apply_patch", json!({"patch": PATCH})),
        0,
        &both,
    );
    let heredoc = format!("apply_patch <<'EOF'\n{PATCH}\nEOF\n");
    check(
        "codex",
        &function("shell", json!({"command": ["bash", "-lc", heredoc]})),
        0,
        &both,
    );
    check(
        "codex",
        &function(
            "shell",
            json!({"command": ["apply_patch", PATCH], "workdir": "sub"}),
        ),
        0,
        &below,
    );
    check(
        "codex",
        &function(
            "exec_command",
            json!({"cmd": format!("cd sub && {heredoc}")}),
        ),
        0,
        &below,
    );
    let script = format!("await tools.apply_patch({});", json!(PATCH));
    check("codex", &custom("exec", &script), 0, &both);
    check(
        "codex",
        &item(
            json!({"type": "local_shell_call", "action": {"command": ["sh", "-c", heredoc], "working_directory": "sub"}}),
        ),
        0,
        &below,
    );
    // Without the envelope, as the first versions wrote it.
    check(
        "codex",
        &json!({"type": "custom_tool_call", "name": "apply_patch", "input": PATCH}),
        0,
        &both,
    );
    let changes = json!({
        "a.rs": {"type": "update", "unified_diff": "@@ -3,1 +3,1 @@\n-b\n+c\n", "move_path": "m.rs"},
        "d.rs": {"type": "delete", "content": "x"},
        "n.rs": {"type": "add", "content": "n\n"},
    });
    let done = json!({"type": "event_msg", "payload": {"type": "item_completed", "item": {"type": "FileChange", "changes": changes}}});
    check(
        "codex",
        &done,
        0,
        &[
            "a.rs to m.rs > @3|-b|+c",
            "d.rs > nothing",
            r#"n.rs < "" > "n\n""#,
        ],
    );
    check("codex", &done, 1, &[]);
    check(
        "codex",
        &function("shell", json!({"command": ["ls"]})),
        0,
        &[],
    );
}

#[test]
fn grok_in_every_form() {
    let update = |update: Value| json!({"timestamp": 1, "method": "session/update", "params": {"sessionId": "s", "update": update}});
    let call = |title: &str, input: Value| {
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": title, "kind": "edit", "rawInput": input}),
        )
    };
    check(
        "grok",
        &call(
            "search_replace",
            json!({"file_path": "a.rs", "old_string": "x", "new_string": "y"}),
        ),
        0,
        &[r#"a.rs > "y" for "x"; "#],
    );
    check(
        "grok",
        &call("write", json!({"path": "a.rs", "contents": "x"})),
        0,
        &[r#"a.rs > "x""#],
    );
    check(
        "grok",
        &call("delete_file", json!({"target_file": "a.rs"})),
        0,
        &["a.rs > nothing"],
    );
    check(
        "grok",
        &call(
            "move",
            json!({"source_path": "a.rs", "destination_path": "b.rs"}),
        ),
        0,
        &["a.rs to b.rs > "],
    );
    let diff = json!([{"type": "diff", "path": "/w/a.rs", "oldText": "x", "newText": "y"}, {"type": "diff", "path": "/w/b.rs", "newText": "b"}]);
    check(
        "grok",
        &update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "content": diff}),
        ),
        1,
        &[r#"/w/a.rs > "y" for "x"; "#, r#"/w/b.rs > "b""#],
    );
    let arguments = json!({"file_path": "a.rs", "old_string": "x", "new_string": "y"}).to_string();
    let message = json!({"type": "assistant", "content": "", "tool_calls": [{"id": "c", "name": "search_replace", "arguments": arguments}]});
    check("grok", &message, 1, &[r#"a.rs > "y" for "x"; "#]);
    check("grok", &message, 0, &[]);
}

proptest! {
    #[test]
    fn any_bytes_are_fine(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for agent in LogAgent::all() {
            agent.reader.reread(&bytes);
        }
    }

    #[test]
    fn any_command_is_fine(script in "(git |mv |cd |[a-c/]{1,3} |['\"$\\\\;&|é])*") {
        crate::shell::moves(&script);
    }

    #[test]
    fn any_patch_is_fine(patch in "(\\*\\*\\* (Begin Patch|End Patch|Add File: a|Update File: é|Move to: b|End of File)|@@( -9,9 \\+1 @@| é)?|[-+ é].{0,5}|\\r|\n){0,20}") {
        for text in [patch.clone(), patch.replace("\\r", "\r\n"), format!("*** Begin Patch\n*** Update File: a\n{patch}")] {
            let item = json!({"type": "custom_tool_call", "name": "apply_patch", "input": text});
            edits_of("codex", &item, 0);
            let item = json!({"type": "custom_tool_call", "name": "exec", "input": format!("run('{text}")});
            edits_of("codex", &item, 0);
        }
    }
}
