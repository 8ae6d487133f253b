//! What a new session is told, on the command line and by hooks.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::environment::{Environment, Outcome, claude_id, prompt, record};

/// A home with two sessions of the project in /home/ada/shop.
fn environment() -> Environment {
    let environment = Environment::new();
    environment.claude(1, &session(1, "fix the flaky cart test", "src/cart.rs"));
    environment.claude(
        2,
        &session(2, "add a discount to the checkout", "src/checkout.rs"),
    );
    environment.sweep();
    environment
}

fn session(session: u32, asked: &str, file: &str) -> Vec<String> {
    // Ids are of a session: the same one twice would be a copy.
    let first = session * 100;
    let input = json!({"file_path": format!("/home/ada/shop/{file}"), "old_string": "a", "new_string": "b"});
    vec![
        prompt(session, first, asked),
        record(
            session,
            first + 1,
            "assistant",
            &json!({"role": "assistant", "content": [{"type": "tool_use", "id": format!("call-{first}"), "name": "Edit", "input": input}]}),
        ),
        record(
            session,
            first + 2,
            "user",
            &json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("call-{first}"), "content": "The file has been updated."}]}),
        ),
        record(
            session,
            first + 3,
            "assistant",
            &json!({"role": "assistant", "content": [{"type": "text", "text": "Done."}]}),
        ),
    ]
}

fn start(environment: &Environment, agent: &str, event: &str, input: &Value) -> Outcome {
    let outcome = environment.feed(
        &["hook", event, "--agent", agent],
        input.to_string().as_bytes(),
    );
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    outcome
}

#[test]
fn the_command_tells_it_and_keeps_to_the_budget() {
    let environment = environment();
    let context = environment.json(&["context", "--project", "/home/ada/shop"]);
    let text = context["text"].as_str().unwrap();
    for part in [
        "\"fix the flaky cart test\"",
        "src/checkout.rs",
        "[00000002#1]",
        "backstory show ID#TURN",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(context["budget"], 2000);
    let names: Vec<&str> = context["layers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|layer| layer["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "lost",
            "learnings",
            "sessions",
            "files",
            "observations",
            "calls"
        ]
    );
    // By its name, too, and as it was before the second one began.
    let named = environment.json(&[
        "context",
        "--project",
        "shop",
        "--before",
        "00000002",
        "--agent",
        "codex",
    ]);
    let text = named["text"].as_str().unwrap();
    assert!(
        text.contains("cart") && !text.contains("checkout"),
        "{text}"
    );
    let short = environment.json(&["context", "--project", "shop", "--budget", "120"]);
    let tokens = short["tokens"].as_u64().unwrap();
    assert!(tokens > 0 && tokens <= 120, "{short}");
    // No agent is told more than it takes.
    let much = environment.json(&[
        "context",
        "--project",
        "shop",
        "--budget",
        "9000",
        "--agent",
        "codex",
    ]);
    assert_eq!(much["budget"], 2500);
    // For people: the text, and what it takes beside it.
    let shown = environment.run(&["context", "--project", "shop"]);
    assert!(
        shown.stdout.starts_with("<backstory-context nonce="),
        "{}",
        shown.stdout
    );
    assert!(
        shown.stderr.contains("of 2000 tokens: sessions "),
        "{}",
        shown.stderr
    );
}

#[test]
fn nothing_is_told_of_what_nobody_knows() {
    let environment = environment();
    let folder = environment.home().join("new");
    std::fs::create_dir_all(&folder).unwrap();
    let shown = environment.run(&["context", "--project", folder.to_str().unwrap()]);
    assert_eq!((shown.code, shown.stdout.as_str()), (0, ""));
    assert!(
        shown
            .stderr
            .contains("relevant enough for a new session here"),
        "{}",
        shown.stderr
    );
    let unknown = environment.run(&["context", "--project", "nowhere"]);
    assert_eq!(unknown.code, 1);
    assert!(
        unknown.stderr.contains("hint: `backstory sessions`"),
        "{}",
        unknown.stderr
    );
    let input = json!({"session_id": claude_id(3), "cwd": folder, "source": "startup"});
    assert_eq!(
        start(&environment, "claude-code", "SessionStart", &input).stdout,
        ""
    );
}

#[test]
fn each_agent_is_told_in_its_own_way() {
    let environment = environment();
    let told = |agent: &str, event: &str, input: Value| {
        let answer = start(&environment, agent, event, &input).stdout;
        serde_json::from_str::<Value>(&answer).unwrap_or_default()
    };
    let specific = |answer: &Value, event: &str| {
        assert_eq!(
            answer["hookSpecificOutput"]["hookEventName"], event,
            "{answer}"
        );
        let text = answer["hookSpecificOutput"]["additionalContext"]
            .as_str()
            .unwrap();
        assert!(text.contains("\"fix the flaky cart test\""), "{text}");
    };
    let cwd = "/home/ada/shop";
    for source in ["startup", "clear"] {
        let input = json!({"session_id": claude_id(3), "cwd": cwd, "hook_event_name": "SessionStart", "source": source});
        specific(
            &told("claude-code", "SessionStart", input.clone()),
            "SessionStart",
        );
        specific(
            &told("codex", "SessionStart", input.clone()),
            "SessionStart",
        );
        specific(&told("gemini", "SessionStart", input), "SessionStart");
    }
    let input = json!({"conversation_id": claude_id(3), "workspace_roots": [cwd], "hook_event_name": "sessionStart"});
    let answer = told("cursor", "sessionStart", input);
    assert!(
        answer["additional_context"]
            .as_str()
            .unwrap()
            .contains("cart"),
        "{answer}"
    );
    // Grok runs the hooks of Claude Code, and does not listen.
    let input = json!({"sessionId": claude_id(3), "cwd": cwd, "hookEventName": "session_start"});
    assert_eq!(told("claude-code", "SessionStart", input), Value::Null);
    // Who goes on knows what came before; who was compacted is told what it did.
    let of = |session: u32, source: &str| json!({"session_id": claude_id(session), "cwd": cwd, "source": source});
    assert_eq!(
        told("claude-code", "SessionStart", of(2, "resume")),
        Value::Null
    );
    let answer = told("claude-code", "SessionStart", of(1, "resume"));
    let text = answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    assert!(
        text.contains("\"add a discount to the checkout\"") && !text.contains("flaky"),
        "{text}"
    );
    let answer = told("claude-code", "SessionStart", of(1, "compact"));
    let text = answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    assert!(
        text.contains(
            "before its history was cut:\n- the user said \"fix the flaky cart test\" [00000001#1]"
        ),
        "{text}"
    );
}

#[test]
fn prompts_are_answered_when_that_is_wanted() {
    let environment = environment();
    let input = json!({"session_id": claude_id(3), "cwd": "/home/ada/shop", "prompt": "the flaky cart test fails again"});
    assert_eq!(
        start(&environment, "claude-code", "UserPromptSubmit", &input).stdout,
        ""
    );
    environment.write(
        ".config/backstory/config.toml",
        "[context]\non_prompt = true\n",
    );
    let answer = start(&environment, "claude-code", "UserPromptSubmit", &input).stdout;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(
        answer["hookSpecificOutput"]["hookEventName"],
        "UserPromptSubmit"
    );
    let text = answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap();
    assert!(
        text.contains("edited src/cart.rs for \"fix the flaky cart test\"")
            && !text.contains("discount"),
        "{text}"
    );
    let other = json!({"session_id": claude_id(3), "cwd": "/home/ada/shop", "prompt": "write a poem about spring in Norway"});
    assert_eq!(
        start(&environment, "claude-code", "UserPromptSubmit", &other).stdout,
        ""
    );
    environment.write(
        ".config/backstory/config.toml",
        "[context]\nenabled = false\non_prompt = true\n",
    );
    assert_eq!(
        start(&environment, "claude-code", "UserPromptSubmit", &input).stdout,
        ""
    );
}

#[test]
fn shares_and_tokens_come_from_the_configuration() {
    let environment = environment();
    // A file that nearly all sessions change is an item of its own.
    for number in 3..7 {
        let asked = format!("round the totals of part {number}");
        let source = format!("fn total() -> u32 {{ {number} }}\n");
        let input = json!({"file_path": "/home/ada/shop/src/cart.rs", "content": source});
        let mut lines = session(number, &asked, "src/cart.rs");
        lines[1] = record(
            number,
            number * 100 + 1,
            "assistant",
            &json!({"role": "assistant", "content": [{"type": "tool_use", "id": format!("call-{}", number * 100), "name": "Write", "input": input}]}),
        );
        environment.claude(number, &lines);
    }
    environment.sweep();
    let items = |context: &Value, name: &str| {
        let layers = context["layers"].as_array().unwrap().iter();
        let layer = layers.clone().find(|layer| layer["name"] == name).unwrap();
        layer["items"].as_u64().unwrap()
    };
    let context = |config: &str| {
        environment.write(".config/backstory/config.toml", config);
        environment.json(&["context", "--project", "shop"])
    };
    let all = context("[context]\ntokens = 500\n");
    assert_eq!(
        (
            items(&all, "sessions"),
            items(&all, "files"),
            &all["budget"]
        ),
        (2, 1, &json!(500))
    );
    // The frame, whose random number takes more or fewer tokens, and one item: whose turn it is, shares say.
    let sessions = context(
        "[context]\ntokens = 85\n[context.shares]\nsessions = 100\nfiles = 0\nobservations = 0\nlearnings = 0\n",
    );
    let files = context(
        "[context]\ntokens = 85\n[context.shares]\nsessions = 0\nfiles = 100\nobservations = 0\nlearnings = 0\n",
    );
    assert!(
        items(&sessions, "sessions") > items(&sessions, "files"),
        "{sessions}"
    );
    assert!(
        items(&files, "files") > items(&files, "sessions"),
        "{files}"
    );
    environment.write(".config/backstory/config.toml", "[context]\nshare = 1\n");
    assert_eq!(environment.run(&["context"]).code, 2);
}

/// A repository with a branch and a file that is being changed.
fn repository(environment: &Environment) -> PathBuf {
    let root = environment.home().join("shop");
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::write(
        root.join("src/cart.rs"),
        "fn total() -> u32 { round(1) }\nfn round(x: u32) -> u32 { x }\n",
    )
    .unwrap();
    git(&root, &["init", "--quiet", "--initial-branch", "ada/fix"]);
    git(&root, &["add", "."]);
    git(
        &root,
        &[
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=ada@example.org",
            "commit",
            "--quiet",
            "-m",
            "one",
        ],
    );
    std::fs::write(root.join("src/new.rs"), "fn main() {}\n").unwrap();
    // As logs have it: without links.
    std::fs::canonicalize(root).unwrap()
}

fn git(root: &Path, arguments: &[&str]) {
    let run = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&run.stderr)
    );
}

#[test]
fn in_a_repository_it_is_about_its_branch_and_what_is_being_changed() {
    let environment = Environment::new();
    let root = repository(&environment);
    let root_text = root.to_str().unwrap();
    let here = |line: String, branch: &str| {
        let line = line.replace("/home/ada/shop", root_text);
        line.replace(
            "\"type\":",
            &format!("\"gitBranch\":\"{branch}\",\"type\":"),
        )
    };
    let lines = |number: u32, asked: &str, file: &str, branch: &str| -> Vec<String> {
        session(number, asked, file)
            .into_iter()
            .map(|line| here(line, branch))
            .collect()
    };
    environment.claude(1, &lines(1, "make a new start", "src/new.rs", "main"));
    environment.claude(2, &lines(2, "round the totals", "src/cart.rs", "ada/fix"));
    environment.claude(3, &lines(3, "tidy up the docs", "docs/a.md", "main"));
    environment.sweep();
    let context = environment.run(&["context", "--project", root_text]).stdout;
    let work = context.split("State of work:\n").nth(1).unwrap();
    let first = work.lines().next().unwrap();
    assert!(
        first.contains("this branch · \"round the totals\""),
        "this branch comes first: {context}"
    );
    assert!(
        work.contains("\"make a new start\" · success · src/new.rs"),
        "what is being changed is told of: {context}"
    );
    assert!(!work.contains("docs"), "{context}");
}

#[test]
fn calls_are_told_when_they_are_asked_for() {
    let environment = Environment::new();
    let root = repository(&environment);
    let root_text = root.to_str().unwrap();
    let path = format!("{root_text}/src/cart.rs");
    let source = std::fs::read_to_string(root.join("src/cart.rs")).unwrap();
    let input = json!({"file_path": path, "content": source});
    let lines = [
        prompt(1, 100, "round the totals"),
        record(
            1,
            101,
            "assistant",
            &json!({"role": "assistant", "content": [{"type": "tool_use", "id": "call-1", "name": "Write", "input": input}]}),
        ),
        record(
            1,
            102,
            "user",
            &json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call-1", "content": "File created successfully"}]}),
        ),
    ];
    environment.claude(
        1,
        &lines.map(|line| line.replace("/home/ada/shop", root_text)),
    );
    environment.sweep();
    let plain = environment.run(&["context", "--project", root_text]).stdout;
    assert!(!plain.contains("Calls of"), "{plain}");
    let context = environment
        .run(&["context", "--project", root_text, "--calls"])
        .stdout;
    assert!(context.contains("Calls of the functions that were changed:\n- src/cart.rs total calls round [00000001#1]"), "{context}");
}
