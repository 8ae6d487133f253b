//! Files that tools wrote: their function maps are renewed while the session goes on.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Home, claude_hook_in_time, told};
use crate::environment::{Environment, Outcome};

const BEFORE: &str = "def count(coins):\n    return sum(coins)\n";
const AFTER: &str =
    "def count(coins):\n    return sum(coins, 0)\n\n\ndef spare():\n    return count([])\n";

/// A repository with a file of this text.
fn repository(environment: &Environment, text: &str) -> PathBuf {
    environment.write("shop/.git/config", "");
    let file = environment.write("shop/till.py", text);
    file.parent().unwrap().canonicalize().unwrap()
}

/// Tells of a tool that wrote a file, of whose earlier text it tells as Claude Code does.
fn tell_written(environment: &Environment, root: &Path, tool: &str, failed: bool) {
    let file = root.join("till.py");
    let after = std::fs::read_to_string(&file).unwrap();
    let response = json!({"filePath": file, "originalFile": BEFORE, "structuredPatch": []});
    let input = if tool == "Write" {
        json!({"file_path": file, "content": after})
    } else {
        json!({"file_path": file, "old_string": BEFORE, "new_string": after})
    };
    let event = if failed {
        "PostToolUseFailure"
    } else {
        "PostToolUse"
    };
    let more = json!({"cwd": root, "tool_name": tool, "tool_use_id": "toolu_1", "tool_input": input, "tool_response": response});
    claude_hook_in_time(environment, &told(environment, 1, event, &more));
}

/// What `changes` tells, as `change symbol`.
fn changes(environment: &Environment, root: &Path) -> Vec<String> {
    let mut command = environment.command(&["changes", "--json"]);
    let outcome = Outcome::of(&command.current_dir(root).output().unwrap());
    let told: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let mut changes = Vec::new();
    for entry in told["changes"].as_array().unwrap() {
        for symbol in entry["symbols"].as_array().unwrap() {
            let text = |name: &str| symbol[name].as_str().unwrap().to_string();
            changes.push(format!("{} {}", text("change"), text("name")));
        }
    }
    changes
}

fn map(environment: &Environment, root: &Path) -> String {
    let mut command = environment.command(&["map", "till.py", "--since", "1d", "--json"]);
    let outcome = Outcome::of(&command.current_dir(root).output().unwrap());
    let told: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let symbols = told["files"][0]["symbols"].as_array().unwrap().iter();
    let symbols = symbols.map(|symbol| format!("{} {}", symbol["name"], symbol["change"]));
    symbols.collect::<Vec<_>>().join(", ").replace('"', "")
}

#[test]
fn a_written_file_is_looked_at_when_it_is_written() {
    for tool in ["Edit", "Write"] {
        let environment = Home::new();
        let root = repository(&environment, AFTER);
        tell_written(&environment, &root, tool, false);
        let expected = ["modified count", "new spare"];
        assert_eq!(changes(&environment, &root), expected, "{tool}");
        assert_eq!(map(&environment, &root), "count modified, spare new");
    }
}

#[test]
fn what_failed_changed_nothing() {
    let environment = Home::new();
    let root = repository(&environment, AFTER);
    tell_written(&environment, &root, "Edit", true);
    assert_eq!(changes(&environment, &root), Vec::<String>::new());
}

#[test]
fn a_file_that_is_gone_or_no_code_harms_nobody() {
    let environment = Home::new();
    let root = repository(&environment, AFTER);
    for name in ["gone.py", "folder", "notes.txt", "damaged.py"] {
        std::fs::create_dir_all(root.join("folder")).unwrap();
        std::fs::write(root.join("notes.txt"), "words").unwrap();
        std::fs::write(root.join("damaged.py"), b"def \xff(((\0").unwrap();
        let input = json!({"file_path": root.join(name), "content": "words"});
        let more = json!({"cwd": root, "tool_name": "Write", "tool_use_id": name, "tool_input": input, "tool_response": {}});
        let input = told(&environment, 1, "PostToolUse", &more);
        claude_hook_in_time(&environment, &input);
    }
}
