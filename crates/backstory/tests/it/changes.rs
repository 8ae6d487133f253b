//! `changes`, `why`, `report`, and what `map` and `calls` know from logs.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::environment::{Environment, Outcome, claude_id};

const SHOP: &str = "import till\n\n\nclass Shop:\n    def pay(self, total):\n        return till.count(total)\n\n    def close(self):\n        self.pay(0)\n";
const TILL: &str =
    "def count(coins):\n    return sum(coins)\n\n\ndef spare():\n    return count([])\n";
const TRACE: &str = "Traceback (most recent call last):\n  File \"shop.py\", line 9, in close\n    self.pay(0)\n  File \"shop.py\", line 6, in pay\n    return till.count(total)\n  File \"till.py\", line 2, in count\n    return sum(coins)\nTypeError: no\n";

/// A repository, and a session that worked there.
struct Shop {
    environment: Environment,
    root: PathBuf,
    lines: Vec<String>,
}

impl Shop {
    fn new() -> Self {
        let environment = Environment::new();
        environment.write(
            "shop/.git/config",
            "[remote \"origin\"]\n\turl = https://example.com/ada/shop.git\n",
        );
        let root = environment.home().canonicalize().unwrap().join("shop");
        Shop {
            environment,
            root,
            lines: Vec::new(),
        }
    }

    /// A shop that three turns made, the last of them after a while.
    fn open() -> Self {
        let mut shop = Shop::new();
        shop.ask("make a shop");
        shop.write("shop.py", SHOP);
        shop.ask("make a till");
        shop.write("till.py", &TILL.replace("spare", "rest"));
        shop.write("till.py", TILL);
        shop.run("python -c 'import shop'", TRACE);
        shop.ask("close it well");
        shop.write(
            "shop.py",
            &SHOP.replace("self.pay(0)", "return self.pay(0)"),
        );
        shop.save();
        shop
    }

    fn line(&mut self, kind: &str, message: &Value, twin: &Value) {
        let number = self.lines.len();
        let mut line = json!({
            "type": kind, "uuid": format!("u{number}"), "sessionId": claude_id(1), "cwd": self.root, "message": message,
            "timestamp": format!("2026-05-0{}T00:00:{:02}Z", 1 + number / 8, number % 8),
        });
        if !twin.is_null() {
            line["toolUseResult"] = twin.clone();
        }
        self.lines.push(format!("{line}\n"));
    }

    fn ask(&mut self, words: &str) {
        self.line(
            "user",
            &json!({"role": "user", "content": words}),
            &Value::Null,
        );
    }

    fn call(&mut self, tool: &str, input: &Value, said: &str, twin: &Value) {
        let id = format!("toolu_{}", self.lines.len());
        let call = json!({"type": "tool_use", "id": id, "name": tool, "input": input});
        let message =
            json!({"role": "assistant", "id": id, "model": "claude-test", "content": [call]});
        self.line("assistant", &message, &Value::Null);
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": said});
        self.line("user", &json!({"role": "user", "content": [result]}), twin);
    }

    /// Writes a file, and says so in the log.
    fn write(&mut self, name: &str, text: &str) {
        let path = self.root.join(name);
        let before = std::fs::read_to_string(&path).ok();
        std::fs::write(&path, text).unwrap();
        let kind = if before.is_some() { "update" } else { "create" };
        let twin = json!({"type": kind, "filePath": path, "content": text, "originalFile": before});
        let input = json!({"file_path": path, "content": text});
        self.call("Write", &input, "done", &twin);
    }

    fn run(&mut self, command: &str, said: &str) {
        self.call("Bash", &json!({"command": command}), said, &Value::Null);
    }

    fn save(&self) {
        self.environment.claude(1, &self.lines);
        self.environment.sweep();
    }

    /// Runs a command in the repository.
    fn outcome(&self, arguments: &[&str]) -> Outcome {
        let mut command = self.environment.command(arguments);
        Outcome::of(&command.current_dir(&self.root).output().unwrap())
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let outcome = self.outcome(&[arguments, &["--json"]].concat());
        serde_json::from_str(&outcome.stdout).unwrap()
    }

    /// What `changes` tells, as `turn file: change symbol, …`.
    fn changes(&self, arguments: &[&str]) -> Vec<String> {
        let told = self.json(&[&["changes"], arguments].concat());
        let entry = |entry: &Value| {
            let symbols = entry["symbols"].as_array().unwrap().iter();
            let symbols = symbols.map(|symbol| {
                let text = |key: &str| symbol[key].as_str().unwrap_or_default().to_string();
                format!("{} {}", text("change"), text("name"))
            });
            let symbols: Vec<String> = symbols.collect();
            let file = entry["file"].as_str().unwrap();
            format!("{} {file}: {}", entry["turn"], symbols.join(", "))
        };
        told["changes"]
            .as_array()
            .unwrap()
            .iter()
            .map(entry)
            .collect()
    }
}

#[test]
fn changes_are_told_and_filtered() {
    let shop = Shop::open();
    let all = [
        "3 shop.py: modified Shop.close",
        "2 till.py: new count, new spare",
        "1 shop.py: new Shop, new Shop.close, new Shop.pay",
    ];
    assert_eq!(shop.changes(&[]), all);
    assert_eq!(shop.changes(&["--limit", "1"]), all[..1]);
    assert_eq!(shop.changes(&["--file", "till.py"]), all[1..2]);
    assert_eq!(shop.changes(&["--file", "."]), all);
    assert_eq!(shop.changes(&["--session", &claude_id(1)]), all);
    assert_eq!(shop.changes(&["--since", "2026-05-02"]), all[..1]);
    assert_eq!(shop.changes(&["--since", &claude_id(1)]), all);
    let first = &shop.json(&["changes"])["changes"][0];
    let expected = json!({
        "session": claude_id(1), "agent": "claude-code", "turn": 3, "timestamp": "2026-05-02T00:00:04.000Z", "prompt": "close it well",
        "project": shop.root, "file": "shop.py", "change": "modified",
        "symbols": [{"name": "Shop.close", "kind": "method", "change": "modified", "earlier": null}],
    });
    assert_eq!(*first, expected);
    let text = shop.outcome(&["changes"]).stdout;
    assert!(
        text.starts_with("00000001#3  claude-code  2026-05-02 00:00  close it well\n  ~ shop.py\n      ~ Shop.close  method\n"),
        "{text}"
    );
    let none = shop.outcome(&["changes", "--since", "2027-01-01"]);
    assert_eq!(none.code, 1);
    assert!(none.stderr.contains("hint:"), "{}", none.stderr);
    assert_eq!(shop.outcome(&["changes", "--since", "whenever"]).code, 2);
}

#[test]
fn why_tells_the_life_of_a_function() {
    let shop = Shop::open();
    let told = shop.json(&["why", "close"]);
    let life = &told["symbols"][0];
    assert_eq!(
        (&life["name"], &life["file"]),
        (&json!("Shop.close"), &json!("shop.py"))
    );
    let changes = life["changes"].as_array().unwrap().iter();
    let changes: Vec<(&Value, &Value)> = changes
        .map(|told| (&told["change"], &told["prompt"]))
        .collect();
    assert_eq!(
        changes,
        [
            (&json!("modified"), &json!("close it well")),
            (&json!("new"), &json!("make a shop"))
        ]
    );
    let text = shop.outcome(&["why", "Shop.close"]).stdout;
    assert!(text.starts_with("Shop.close  method in shop.py\n  2026-05-02 00:00  modified  00000001#3  claude-code  close it well\n"), "{text}");
    assert_eq!(shop.outcome(&["why", "nothing"]).code, 1);
    assert_eq!(shop.outcome(&["why", "close", "--file", "till.py"]).code, 1);
}

#[test]
fn a_map_marks_what_changed_by_anybody() {
    let mut shop = Shop::open();
    let states = |shop: &Shop, since: &str, file: &str| {
        let told = shop.json(&["map", file, "--since", since]);
        let symbols = told["files"][0]["symbols"].as_array().unwrap().iter();
        let symbols = symbols.map(|symbol| format!("{} {}", symbol["name"], symbol["change"]));
        symbols.collect::<Vec<_>>().join(", ").replace('"', "")
    };
    assert_eq!(
        states(&shop, "2026-05-01", "shop.py"),
        "Shop new, Shop.pay new, Shop.close new"
    );
    assert_eq!(
        states(&shop, "2026-05-02", "shop.py"),
        "Shop unchanged, Shop.pay unchanged, Shop.close modified"
    );
    // A person goes on where the agent stopped.
    std::fs::write(
        shop.root.join("till.py"),
        format!("{}\ndef more():\n    pass\n", TILL.replace("[]", "[1]")),
    )
    .unwrap();
    assert_eq!(
        states(&shop, "2026-05-02", "till.py"),
        "count unchanged, spare modified, more new"
    );
    assert_eq!(
        states(&shop, "2099-05-02", "till.py"),
        "count unchanged, spare unchanged, more unchanged"
    );
    // A file that no agent touched: nobody can tell.
    std::fs::write(shop.root.join("other.py"), "def f(): pass\n").unwrap();
    assert_eq!(states(&shop, "2026-05-02", "other.py"), "f null");
    let text = shop
        .outcome(&["map", "shop.py", "--since", &claude_id(1)])
        .stdout;
    assert!(text.contains("def close(self)  8-9  NEW"), "{text}");
    // In another clone it is the same file.
    let clone = shop.root.parent().unwrap().join("clone");
    std::fs::create_dir_all(clone.join(".git")).unwrap();
    std::fs::copy(shop.root.join(".git/config"), clone.join(".git/config")).unwrap();
    std::fs::copy(shop.root.join("shop.py"), clone.join("shop.py")).unwrap();
    shop.root = clone;
    assert_eq!(
        states(&shop, "2026-05-02", "shop.py"),
        "Shop unchanged, Shop.pay unchanged, Shop.close modified"
    );
    assert_eq!(
        shop.changes(&["--file", "shop.py", "--limit", "1"]),
        ["3 shop.py: modified Shop.close"]
    );
}

#[test]
fn calls_that_were_seen_to_happen_are_surer() {
    let shop = Shop::open();
    let edge = |name: &str, line: u64| {
        let told = shop.json(&["calls", name, "--callees"]);
        let edges = told["edges"].as_array().unwrap().clone();
        edges.into_iter().find(|edge| edge["line"] == line).unwrap()
    };
    let seen = edge("pay", 6);
    assert_eq!(
        (&seen["resolved"], &seen["target_file"]),
        (&json!("till.count"), &json!("till.py"))
    );
    assert_eq!(
        (&seen["seen"], &seen["contradicted"]),
        (&json!(1), &json!(false))
    );
    let unseen = edge("spare", 6);
    assert_eq!(unseen["seen"], 0);
    let text = shop.outcome(&["calls", "pay", "--callees"]).stdout;
    assert!(text.contains("till.count  import  seen once"), "{text}");
    // What the file it leads to does not have any more is not believed.
    std::fs::write(shop.root.join("till.py"), "def other():\n    pass\n").unwrap();
    std::fs::write(
        shop.root.join("kiosk.py"),
        "from till import spare\n\n\ndef sell():\n    spare()\n",
    )
    .unwrap();
    let gone = edge("sell", 5);
    assert_eq!(gone["contradicted"], true);
    assert!(gone["confidence"].as_f64() < Some(0.5), "{gone}");
    assert!(gone["confidence"].as_f64() < seen["confidence"].as_f64());
}

#[test]
fn a_report_counts_and_draws() {
    let shop = Shop::open();
    let report = shop.json(&["report", "--since", "2026-05-01"]);
    assert_eq!(
        (&report["files"], &report["symbols"]),
        (&json!(2), &json!(5))
    );
    let calls = &report["calls"];
    assert_eq!(
        (&calls["total"], &calls["seen"], &calls["gone"]),
        (&json!(3), &json!(2), &json!(0))
    );
    assert_eq!(calls["confirmed_share"], 1.0);
    let changes = &report["changes"];
    assert_eq!(
        (&changes["turns"], &changes["sessions"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(changes["symbols"], json!({"new": 5, "modified": 1}));
    assert_eq!(
        changes["functions"][0],
        json!({"file": "shop.py", "name": "Shop.close", "turns": 2})
    );
    let text = shop.outcome(&["report", "--since", "2026-05-01"]).stdout;
    assert!(text.contains("2 (66.7 %) seen in stack traces"), "{text}");
    let drawn = shop
        .outcome(&["report", "--mermaid", "--since", "2026-05-02"])
        .stdout;
    let expected = "flowchart LR
  %% 2 functions are left out
  subgraph f0[\"shop.py\"]
    n0[\"Shop.pay\"]
    n1[\"Shop.close\"]
  end
  n1 ==> n0
  classDef modified fill:#fff3bf,stroke:#e67700,color:#1b1b1b
  class n1 modified
";
    assert_eq!(drawn, expected);
    // A call that was seen, and is not in the code any more.
    std::fs::write(
        shop.root.join("shop.py"),
        SHOP.replace("till.count(total)", "total"),
    )
    .unwrap();
    let report = shop.json(&["report", "--since", "2026-05-01"]);
    assert_eq!(
        (&report["calls"]["seen"], &report["calls"]["gone"]),
        (&json!(1), &json!(1))
    );
}

/// What `map` and `calls` show of a file, in the order of its lines.
fn shown(shop: &Shop, arguments: &[&str]) -> Vec<String> {
    let found = shop.json(arguments);
    let text = |value: &Value| value.as_str().unwrap_or("-").to_string();
    if arguments[0] == "map" {
        let symbols = found["files"][0]["symbols"].as_array().unwrap().iter();
        return symbols
            .map(|symbol| {
                format!(
                    "{} {} {}",
                    symbol["line_start"],
                    text(&symbol["name"]),
                    text(&symbol["change"])
                )
            })
            .collect();
    }
    let edges = found["edges"].as_array().unwrap().iter();
    edges
        .map(|edge| {
            format!(
                "{} {} > {} {}",
                edge["line"],
                text(&edge["caller"]),
                text(&edge["resolved"]),
                text(&edge["resolution"])
            )
        })
        .collect()
}

#[test]
fn files_are_shown_as_they_were() {
    let mut shop = Shop::open();
    let first = ["--at", "2026-05-01T12:00:00Z"];
    shop.ask("say what it is");
    shop.write(
        "shop.py",
        &format!("# A shop.\n{SHOP}def late():\n    db.go()\n"),
    );
    shop.save();
    for is_there in [true, false] {
        if !is_there {
            std::fs::remove_file(shop.root.join("shop.py")).unwrap();
        }
        assert_eq!(
            shown(&shop, &[&["map", "shop.py"], &first[..]].concat()),
            ["4 Shop new", "5 Shop.pay new", "8 Shop.close new"]
        );
        assert_eq!(
            shown(
                &shop,
                &[&["calls", "--file", "shop.py"], &first[..]].concat()
            ),
            [
                "6 Shop.pay > till.count import",
                "9 Shop.close > Shop.pay self_method"
            ]
        );
    }
    assert_eq!(
        shown(&shop, &["map", "shop.py"]),
        [
            "5 Shop unchanged",
            "6 Shop.pay unchanged",
            "9 Shop.close modified",
            "11 late new"
        ]
    );
    let calls = shop.json(&["calls", "--file", "shop.py"]);
    let last = &calls["edges"][2];
    assert_eq!(
        (
            &last["caller"],
            &last["reason"],
            &last["session"],
            &last["turn"]
        ),
        (
            &json!("late"),
            &json!("external"),
            &json!(claude_id(1)),
            &json!(4)
        )
    );
    assert!(
        last["snapshot_at"]
            .as_str()
            .unwrap()
            .starts_with("2026-05-0")
    );
    let file = &shop.json(&["map", "shop.py"])["files"][0];
    assert_eq!(
        (&file["turn"], &file["language"]),
        (&json!(4), &json!("python"))
    );
    // By name, in a file that is not there; from anywhere, by the end of its path.
    assert_eq!(shown(&shop, &["calls", "late"]), ["12 late > - unresolved"]);
    let elsewhere = shop.environment.run(&["map", "shop/shop.py"]);
    assert_eq!(elsewhere.code, 0, "{}", elsewhere.stderr);
    assert!(
        elsewhere.stdout.contains("def late()"),
        "{}",
        elsewhere.stdout
    );
    assert!(
        elsewhere.stderr.contains("snapshot of 2026-05-0"),
        "{}",
        elsewhere.stderr
    );
    // From anywhere: a folder by the end of its path, a function in a project by its name.
    for arguments in [
        &["map", "shop", "--at", "2026-05-03"][..],
        &["map", "shop.py", "--project", "shop", "--at", "2026-05-03"],
        &["calls", "late", "--project", "shop"],
    ] {
        let elsewhere = shop.environment.run(arguments);
        assert_eq!(elsewhere.code, 0, "{}", elsewhere.stderr);
        assert!(elsewhere.stdout.contains("late"), "{}", elsewhere.stdout);
    }
    // A folder, and what changed since.
    let folder = shop.json(&["map", ".", "--at", "2026-05-03"]);
    assert_eq!(folder["files"].as_array().unwrap().len(), 2);
    let since = [
        "map",
        "shop.py",
        "--at",
        "3000-01-01",
        "--since",
        "2026-05-02T00:00:00Z",
    ];
    assert_eq!(
        shown(&shop, &since),
        [
            "5 Shop unchanged",
            "6 Shop.pay unchanged",
            "9 Shop.close modified",
            "11 late new"
        ]
    );
    for (arguments, told) in [
        (&["map", "nothing.py"][..], "no file nothing.py"),
        (&["calls", "--file", "nothing.py"], "no file nothing.py"),
        (
            &["calls", "late", "--project", "nowhere"],
            "no session of a project \"nowhere\"",
        ),
        (
            &["map", "shop.py", "--at", "2026-04-01"],
            "no snapshot of shop.py at or before",
        ),
        (&["map", "shop.py", "--at", "soon"], "is no time"),
    ] {
        let outcome = shop.outcome(arguments);
        assert_eq!(
            outcome.code,
            if told == "is no time" { 2 } else { 1 },
            "{arguments:?}"
        );
        assert!(
            outcome.stderr.contains(told) && outcome.stderr.contains("hint:"),
            "{}",
            outcome.stderr
        );
    }
}
