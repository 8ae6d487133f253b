//! `map` and `calls`: source files on disk.

use serde_json::{Value, json};

use crate::environment::Environment;

const ENGINE: &str = "import os\n\n\nclass Engine:\n    \"\"\"Turns.\"\"\"\n\n    def start(self):\n        self.check()\n        return os.getcwd()\n\n    @property\n    def ready(self):\n        return True\n\n    def check(self):\n        helper(1)\n\n\ndef helper(x):\n    return x\n";

fn repository() -> Environment {
    let environment = Environment::new();
    environment.write("repo/engine.py", ENGINE);
    environment.write(
        "repo/src/lib.rs",
        "/// Adds.\npub fn add(a: u32) -> u32 {\n    a\n}\n",
    );
    environment.write("repo/node_modules/other.js", "function hidden() {}\n");
    environment.write("repo/.hidden/other.py", "def hidden(): pass\n");
    environment.write("repo/built/made.py", "def made(): pass\n");
    environment.write("repo/.gitignore", "built/\n");
    environment.write("repo/notes.txt", "no code\n");
    environment
}

fn map(environment: &Environment, path: &str) -> Value {
    let path = environment.home().join(path);
    environment.json(&["map", path.to_str().unwrap()])
}

#[test]
fn a_file_is_mapped() {
    let environment = repository();
    let found = map(&environment, "repo/engine.py");
    let file = &found["files"][0];
    assert_eq!(
        (&file["language"], &file["has_errors"]),
        (&json!("python"), &json!(false))
    );
    let ready = &file["symbols"][2];
    let expected = json!({
        "name": "Engine.ready", "kind": "method", "parent": "Engine", "signature": "def ready(self)", "decorators": ["@property"],
        "doc": null, "line_start": 12, "line_end": 13, "change": null,
    });
    assert_eq!(*ready, expected);
    assert_eq!(file["symbols"][0]["doc"], "Turns.");
}

#[test]
fn a_folder_is_mapped_as_git_sees_it() {
    let environment = repository();
    let found = map(&environment, "repo");
    let files = found["files"].as_array().unwrap();
    let names: Vec<&str> = files
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(
        names[0].ends_with("engine.py") && names[1].ends_with("lib.rs"),
        "{names:?}"
    );
    let path = environment.home().join("repo");
    let shown = environment.run(&["map", path.to_str().unwrap()]).stdout;
    assert!(
        shown.contains("\n  class Engine  4-16\n    def start(self)  7-9\n"),
        "{shown}"
    );
}

#[test]
fn what_has_no_symbols_is_told() {
    let environment = repository();
    let run =
        |path: &str| environment.run(&["map", environment.home().join(path).to_str().unwrap()]);
    let text = run("repo/notes.txt");
    assert_eq!(text.code, 1);
    assert!(
        text.stderr.contains("hint:") && text.stderr.contains("python"),
        "{}",
        text.stderr
    );
    let nowhere = run("repo/nowhere.py");
    assert_eq!(nowhere.code, 1);
    assert!(
        nowhere.stderr.contains("not on this disk") && nowhere.stderr.contains("hint:"),
        "{}",
        nowhere.stderr
    );
    environment.write("repo/binary.py", b"def f():\0");
    let binary = run("repo/binary.py");
    assert!(
        binary.code == 1 && binary.stderr.contains("not text"),
        "{}",
        binary.stderr
    );
    environment.write("repo/empty.py", "");
    assert_eq!(run("repo/empty.py").code, 1);
}

fn calls(environment: &Environment, arguments: &[&str]) -> Vec<String> {
    let output = environment
        .command(&[&["calls", "--json"], arguments].concat())
        .current_dir(environment.home().join("repo"))
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let edge = |edge: &Value| {
        let text = |key: &str| edge[key].as_str().unwrap_or("-").to_string();
        format!(
            "{} > {} {} :{}",
            text("caller"),
            text("resolved"),
            text("resolution"),
            edge["line"]
        )
    };
    found["edges"]
        .as_array()
        .unwrap()
        .iter()
        .map(edge)
        .collect()
}

#[test]
fn calls_are_found_by_file_and_by_name() {
    let environment = repository();
    std::fs::create_dir(environment.home().join("repo/.git")).unwrap();
    let start = "Engine.start > Engine.check self_method :8";
    let check = "Engine.check > helper direct :16";
    let getcwd = "Engine.start > os.getcwd import :9";
    assert_eq!(
        calls(&environment, &["--file", "engine.py"]),
        [start, getcwd, check]
    );
    assert_eq!(calls(&environment, &["helper", "--callers"]), [check]);
    assert_eq!(
        calls(&environment, &["helper", "--callers", "--depth", "2"]),
        [check, start]
    );
    assert_eq!(
        calls(&environment, &["Engine.start", "--callees"]),
        [start, getcwd]
    );
    assert_eq!(
        calls(&environment, &["start", "--depth", "3"]),
        [start, getcwd, check]
    );
    assert!(calls(&environment, &["nobody"]).is_empty());
    assert_eq!(environment.run(&["calls", "nobody"]).code, 1);
}
