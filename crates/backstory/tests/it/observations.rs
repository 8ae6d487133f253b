//! What prompts asked for, and what tools changed and showed.

use backstory_agents::sample;
use serde_json::{Value, json};

use crate::environment::{Environment, STORY_END, claude_id, prompt, record};

fn environment() -> Environment {
    let environment = Environment::new();
    let call = |number: u32, name: &str, input: Value| {
        let content = json!([{"type": "tool_use", "id": format!("call-{number}"), "name": name, "input": input}]);
        record(
            1,
            number,
            "assistant",
            &json!({"role": "assistant", "content": content}),
        )
    };
    let result = |number: u32, output: &str| {
        let content = json!([{"type": "tool_result", "tool_use_id": format!("call-{}", number - 1), "content": output}]);
        record(
            1,
            number,
            "user",
            &json!({"role": "user", "content": content}),
        )
    };
    environment.claude(
        1,
        &[
            prompt(1, 0, "fix the cart"),
            call(1, "Bash", json!({"command": "cargo test -p shop"})),
            result(2, "running 3 tests\ntest result: FAILED. 2 passed; 1 failed\n"),
            call(3, "Edit", json!({"file_path": "/home/ada/shop/src/cart.rs", "old_string": "x", "new_string": "fn total(&self) -> Money {\n    self.sum()\n}"})),
            result(4, "The file has been updated."),
            call(5, "TodoWrite", json!({"todos": []})),
            result(6, "Todos have been modified"),
            prompt(1, 7, "and show me the log"),
            call(8, "Bash", json!({"command": "backstory search cart"})),
            result(9, "something that we said ourselves"),
            call(10, "Bash", json!({"command": "git log -1"})),
            result(11, "commit 1a2b3c4\nAuthor: Ada"),
        ],
    );
    environment.sweep();
    environment
}

fn titles(answer: &Value) -> Vec<&str> {
    let observations = answer["observations"].as_array().unwrap().iter();
    observations
        .map(|observation| observation["title"].as_str().unwrap())
        .collect()
}

#[test]
fn each_tool_use_that_tells_something_is_observed() {
    let environment = environment();
    let answer = environment.json(&["observations", "00000001"]);
    assert_eq!(answer["session"], json!(claude_id(1)));
    assert_eq!(
        titles(&answer),
        [
            "asked: fix the cart",
            "ran `cargo test -p shop`",
            "edited cart.rs",
            "asked: and show me the log",
            "ran `git log -1`"
        ]
    );
    let asked = &answer["observations"][0];
    assert_eq!(
        (&asked["kind"], &asked["tool"], &asked["turn"]),
        (&json!("prompt"), &Value::Null, &json!(1))
    );
    assert_eq!(asked["raw_size_bytes"], json!("fix the cart".len()));
    let edit = &answer["observations"][2];
    assert_eq!(edit["kind"], "tool_use");
    assert_eq!(edit["files_touched"], edit["files"]);
    assert_eq!(edit["raw_size_bytes"], edit["raw_bytes"]);
    assert_eq!(edit["compressed_tokens"], edit["tokens"]["summary"]);
    assert!(edit["compression_time_ms"].as_f64().unwrap() >= 0.0);
    assert_eq!(
        edit["summary"],
        "edited shop/src/cart.rs: fn total(&self) -> Money; self.sum()"
    );
    assert_eq!(edit["files"], json!(["/home/ada/shop/src/cart.rs"]));
    assert_eq!(
        (&edit["turn"], &edit["compressor"]),
        (&json!(1), &json!("built-in"))
    );
    assert!(
        edit["raw_bytes"].as_u64().unwrap() > 100
            && edit["tokens"]["summary"].as_u64().unwrap() > 5,
        "{edit}"
    );
    let turn = environment.json(&["observations", "00000001#2"]);
    let of_turn = ["asked: and show me the log", "ran `git log -1`"];
    assert_eq!(titles(&turn), of_turn);
    let of_file = environment.json(&["observations", "00000001", "--file", "cart.rs"]);
    assert_eq!(titles(&of_file), ["edited cart.rs"]);
    let last = environment.json(&["observations", "00000001", "--limit", "1"]);
    assert_eq!(titles(&last), ["ran `git log -1`"]);
    let shown = environment
        .run(&["observations", "00000001", "--size", "detail"])
        .stdout;
    assert!(
        shown.contains("turn 1\n") && shown.contains("test result: FAILED. 2 passed; 1 failed"),
        "{shown}"
    );
    let none = environment.run(&["observations", "00000001", "--file", "none.rs"]);
    assert_eq!(none.code, 1);
}

#[test]
fn they_stay_when_the_text_goes() {
    let environment = environment();
    let observed = || {
        let mut answer = environment.json(&["observations", "00000001"]);
        let observations = answer["observations"].as_array_mut().unwrap();
        for observation in observations {
            // It is made twice.
            observation["compression_time_ms"].take();
        }
        answer
    };
    let before = observed();
    environment.write(
        ".config/backstory/config.toml",
        "[retention]\nraw_hard_cap_bytes = 1\n",
    );
    environment.json(&["retain"]);
    let sessions = environment.json(&["show", "00000001"]);
    assert_eq!(sessions["events"], json!([]));
    assert_eq!(observed(), before);
    assert_eq!(
        titles(&environment.json(&["observations", "00000001#2"])),
        ["asked: and show me the log", "ran `git log -1`"]
    );
}

#[test]
fn they_say_only_what_their_source_says() {
    let environment = Environment::new();
    environment.write_all(sample::story(STORY_END));
    environment.write_all(sample::logs(3, 400_000));
    environment.sweep();
    let score = environment.json(&["eval", "observations"]);
    assert_eq!(score["unfounded"], json!([]));
    assert!(score["observations"].as_u64().unwrap() > 20, "{score}");
    assert!(score["named"].as_u64().unwrap() > 100, "{score}");
}

/// Records of calls that edit a file one after the other, each with the file as it was before.
fn edit_records(path: &str, text: &str, edits: &[(&str, &str)]) -> Vec<String> {
    let mut text = text.to_string();
    let mut lines = Vec::new();
    for (number, (old, new)) in (0u32..).zip(edits) {
        let call = json!([{"type": "tool_use", "id": format!("c{number}"), "name": "Edit",
            "input": {"file_path": path, "old_string": old, "new_string": new}}]);
        lines.push(record(
            1,
            2 * number + 1,
            "assistant",
            &json!({"role": "assistant", "content": call}),
        ));
        let content = json!([{"type": "tool_result", "tool_use_id": format!("c{number}"), "content": "updated"}]);
        let result = record(
            1,
            2 * number + 2,
            "user",
            &json!({"role": "user", "content": content}),
        );
        let mut result: Value = serde_json::from_str(&result).unwrap();
        result["toolUseResult"] =
            json!({"filePath": path, "oldString": old, "newString": new, "originalFile": text});
        lines.push(format!("{result}\n"));
        text = text.replacen(old, new, 1);
    }
    lines
}

/// The functions that each observation of tool uses names, in one line.
fn functions_changed(environment: &Environment, path: &str) -> Vec<String> {
    let answer = environment.json(&["observations", "00000001"]);
    let observations = answer["observations"].as_array().unwrap().iter();
    let changed = |observation: &Value| {
        let functions = observation["functions_changed"].as_array().unwrap().iter();
        let shown = functions.map(|function| {
            assert_eq!(function["file"], path);
            format!(
                "{} {}",
                function["name"].as_str().unwrap(),
                function["change"].as_str().unwrap()
            )
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    observations.skip(1).map(changed).collect()
}

#[test]
fn a_tool_use_names_the_functions_that_it_changed_itself() {
    let environment = Environment::new();
    let path = "/home/ada/shop/till.py";
    let text = "import os\n\ndef open_till():\n    return 1\n\ndef close_till():\n    return 2\n";
    let edits = [
        ("import os\n", "import os\nimport sys\n"),
        ("return 1", "return sys.argv"),
        (
            "    return 2\n",
            "    return 3\n\ndef count_coins():\n    return 4\n",
        ),
        ("return 4", "return 5"),
    ];
    let mut lines = vec![prompt(1, 0, "mend the till")];
    lines.extend(edit_records(path, text, &edits));
    environment.claude(1, &lines);
    environment.sweep();
    assert_eq!(
        functions_changed(&environment, path),
        [
            "",
            "open_till modified",
            "close_till modified, count_coins new",
            "count_coins modified"
        ]
    );
}

#[test]
fn an_edit_that_its_turn_undoes_names_its_functions() {
    let environment = Environment::new();
    let path = "/home/ada/shop/till.py";
    let text = "class Till:\n    def close(self):\n        return 0\n";
    let edits = [("return 0", "return 9"), ("return 9", "return 0")];
    let mut lines = vec![prompt(1, 0, "mend the till")];
    lines.extend(edit_records(path, text, &edits));
    environment.claude(1, &lines);
    environment.sweep();
    let changed = ["Till.close modified", "Till.close modified"];
    assert_eq!(functions_changed(&environment, path), changed);
}
