//! Letting models write: what is sent, what is kept, what it may take, and that nothing else ever happens.

mod answers;
mod caps;
mod compare;
mod lasting;
mod private;
mod server;

use std::process::Command;

use serde_json::{Value, json};

use self::server::Server;
use crate::environment::{Environment, Outcome, claude_id, prompt, record, reply};

/// What no file and no output may show.
pub(super) const KEY: &str = "sk-ant-quite-secret-0123456789";

const CONFIG: &str = ".config/backstory/config.toml";

/// Tool uses in a log.
const EVER: [&str; 2] = ["--since", "2020-01-01"];

/// A home whose configuration lets a server write, and a store with sessions.
struct Desk {
    environment: Environment,
    server: Server,
}

impl Desk {
    /// One session with so many tool uses, and a model that writes of those.
    fn new(uses: u32, server: Server) -> Self {
        let desk = Desk {
            environment: Environment::new(),
            server,
        };
        desk.configure("summaries = []");
        desk.session(1, uses);
        desk.environment.sweep();
        desk
    }

    fn configure(&self, more: &str) {
        let config = format!(
            "[compress]\nwith = \"anthropic\"\nbase_url = \"{}\"\n{more}\n",
            self.server.url
        );
        self.environment.write(CONFIG, config);
    }

    /// Writes the log of a session in which a till is counted. Its prompt is none that tells anything.
    fn session(&self, session: u32, uses: u32) {
        self.session_about(session, uses, "carry on");
    }

    fn session_about(&self, session: u32, uses: u32, asked: &str) {
        let first = session * 1000;
        let mut lines = vec![prompt(session, first, asked)];
        for number in 0..uses {
            let said = format!("till {number:03} has 12 coins");
            lines.extend(tool_use(session, first + 1 + 2 * number, "count.sh", &said));
        }
        lines.push(reply(session, first + 900, "All is counted.", 5));
        self.environment.claude(session, &lines);
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.environment.command(arguments);
        command.env("ANTHROPIC_API_KEY", KEY);
        command
    }

    /// Runs a command with the key; neither must show it.
    fn run(&self, arguments: &[&str]) -> Outcome {
        let outcome = Outcome::of(&self.command(arguments).output().unwrap());
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(!said.contains(KEY), "{said}");
        outcome
    }

    /// What is pending, offered.
    fn compress(&self) -> Outcome {
        self.run(&[&["compress", "--pending", "--json"][..], &EVER].concat())
    }

    /// The same, which must succeed.
    fn compressed(&self) -> Value {
        let outcome = self.compress();
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        serde_json::from_str(&outcome.stdout).unwrap()
    }

    fn state(&self) -> Value {
        self.json(&["compress"])
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let outcome = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        serde_json::from_str(&outcome.stdout).unwrap()
    }

    fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.environment.store().join("backstory.db")).unwrap()
    }

    fn count(&self, query: &str) -> u64 {
        let count = self.database().query_row(query, [], |row| row.get(0));
        count.unwrap()
    }

    /// As if a model had been let write since ever.
    fn backdate(&self) {
        let insert =
            "INSERT OR REPLACE INTO settings (name, value) VALUES ('compress-since', zeroblob(8))";
        self.database().execute(insert, []).unwrap();
    }
}

/// A command with its output, as Claude Code writes both.
fn tool_use(session: u32, number: u32, command: &str, said: &str) -> [String; 2] {
    let id = format!("toolu_{number}");
    let call = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}});
    let call = json!({"role": "assistant", "id": id, "model": "claude-test", "content": [call]});
    let result = json!({"type": "tool_result", "tool_use_id": id, "content": said});
    let result = json!({"role": "user", "content": [result]});
    [
        record(session, number, "assistant", &call),
        record(session, number + 1, "user", &result),
    ]
}

#[test]
fn what_is_pending_is_written_of_once() {
    let desk = Desk::new(3, Server::good());
    desk.configure("");
    let report = desk.compressed();
    assert_eq!(
        (&report["observed"], &report["summarised"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(report["requests"], 4);
    assert_eq!(report["took"]["tokens"], 4 * server::TOKENS);
    // Haiku for tool uses, Sonnet for sessions.
    let usd = (3.0 * (500.0 + 5.0 * 100.0) + 3.0 * 500.0 + 15.0 * 100.0) / 1e6;
    assert_eq!(report["took"]["usd"], usd);
    let state = desk.state();
    assert_eq!(state["compressed"], 3);
    // The prompt.
    assert_eq!(state["raw"], 1);
    assert_eq!(state["today"]["tokens"], 4 * server::TOKENS);
    assert_eq!(
        desk.count("SELECT COUNT(DISTINCT seq) FROM observations"),
        3
    );
    assert_eq!(desk.compressed()["requests"], 0);

    let digest = desk.json(&["digest", &claude_id(1)]);
    assert_eq!(digest["summary"]["title"], "Counting the till");
    assert_eq!(digest["summary"]["next"], "Count it again.");
    let text = desk.run(&["digest", &claude_id(1)]).stdout;
    assert!(text.contains("The till was counted."), "{text}");

    // What comes after is pending again.
    desk.session(1, 5);
    desk.environment.sweep();
    let report = desk.compressed();
    assert_eq!(
        (&report["observed"], &report["summarised"]),
        (&json!(2), &json!(1))
    );
    let requests = desk.server.requests();
    assert_eq!(requests.len(), 7);
    for request in &requests {
        assert_eq!(request.path, "/v1/messages");
        assert_eq!(request.header("x-api-key"), Some(KEY));
        assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
        // A summary is of what was said and called, never of what tools answered.
        assert_eq!(request.shown().contains("12 coins"), !request.is_summary());
    }
    assert!(requests[0].shown().contains("prompt: carry on\n"));
    assert!(requests[0].shown().contains("reply: All is counted.\n"));
}

#[test]
fn a_run_keeps_to_what_was_asked_for() {
    let desk = Desk::new(4, Server::good());
    desk.session(2, 2);
    desk.environment.sweep();
    // Nothing of before a model was let write.
    let report = desk.json(&["compress", "--pending"]);
    assert_eq!(report["requests"], 0);
    let all = |more: &[&str]| desk.json(&[&["compress", "--pending"], more].concat());
    let report = all(&["--session", &claude_id(2), "--limit", "1"]);
    assert_eq!(report["observed"], 1);
    assert!(desk.server.requests()[0].shown().contains("till 000"));
    let dry = desk.json(&["compress", "--dry-run", "--since", "2020-01-01"]);
    assert_eq!(
        (&dry["observations"], &dry["summaries"]),
        (&json!(5), &json!(0))
    );
    assert_eq!(desk.server.requests().len(), 1);
    assert_eq!(all(&EVER)["observed"], 5);
    for arguments in [
        &["compress", "--limit", "3"][..],
        &["compress", "--session", "0"],
    ] {
        assert_eq!(desk.run(arguments).code, 2);
    }
}

#[test]
fn prompts_are_written_of_too() {
    let desk = Desk::new(1, Server::good());
    desk.session_about(2, 1, "count the till again, all 12 coins of it");
    desk.environment.sweep();
    let only = ["--session", &claude_id(2)];
    let dry = desk.json(&[&["compress", "--dry-run"][..], &only].concat());
    assert_eq!(dry["observations"], 2);
    let report = desk.json(&[&["compress", "--pending"][..], &only].concat());
    assert_eq!(
        (&report["observed"], &report["requests"]),
        (&json!(2), &json!(2))
    );
    let shown: Vec<String> = desk
        .server
        .requests()
        .iter()
        .map(|request| request.shown().to_string())
        .collect();
    assert!(
        shown[0].contains("count the till again") && !shown[0].contains("count.sh"),
        "{shown:?}"
    );
    assert!(shown[1].contains("count.sh"), "{shown:?}");
    let observed = desk.json(&["observations", &claude_id(2)]);
    let asked = &observed["observations"][0];
    assert_eq!(
        (&asked["kind"], &asked["title"]),
        (&json!("prompt"), &json!("Counted the till"))
    );
    assert_eq!(asked["compressor"], "claude-haiku-4-5");
    assert!(asked["compression_time_ms"].as_f64().is_some(), "{asked}");
    assert_eq!(
        desk.json(&[&["compress", "--pending"][..], &only].concat())["requests"],
        0
    );
}

#[test]
fn every_item_leaves_its_events() {
    let desk = Desk::new(1, Server::good());
    desk.configure("");
    desk.compressed();
    let events = desk.environment.logged_events();
    let mut told = Vec::new();
    for event in events.iter().filter(|event| {
        event["event_type"]
            .as_str()
            .unwrap()
            .starts_with("compress.")
    }) {
        let data = &event["data"];
        assert_eq!(event["session_id"], claude_id(1));
        assert!(
            data["raw_size"].as_u64() > Some(10) && data["model"].is_string(),
            "{event}"
        );
        told.push(format!(
            "{} {} {}",
            event["event_type"].as_str().unwrap(),
            data["kind"].as_str().unwrap(),
            data["status"].as_str().unwrap()
        ));
        if event["event_type"] == "compress.done" {
            assert!(
                data["compressed_tokens"].as_u64() > Some(2) && data["ratio"].as_f64() > Some(0.1),
                "{event}"
            );
            assert_eq!(
                (&event["tokens_in"], &event["tokens_out"]),
                (&json!(500), &json!(100))
            );
            assert!(event["duration_ms"].as_f64() > Some(0.0), "{event}");
        }
    }
    let expected = [
        "compress.start session success",
        "compress.done session success",
        "compress.start tool_use success",
        "compress.done tool_use success",
    ];
    assert_eq!(told, expected);
}

#[test]
fn an_item_that_fails_says_why() {
    let refused = Server::new(|_, _| server::Reply::json(413, &json!({"error": "no"})));
    let desk = Desk::new(1, refused);
    desk.compress();
    let events = desk.environment.logged_events();
    let failed = events
        .iter()
        .find(|event| event["event_type"] == "compress.error")
        .unwrap();
    assert_eq!(failed["data"]["status"], "error");
    assert_eq!(failed["data"]["error"], "request too large");
    assert_eq!(failed["data"]["kind"], "tool_use");
}
