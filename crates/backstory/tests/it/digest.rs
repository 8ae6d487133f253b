//! Digests: what a session was about.

use backstory_agents::sample;
use serde_json::{Value, json};

use crate::environment::{Environment, STORY_END, claude_id, prompt, record, reply};

fn texts(statements: &Value) -> Vec<&str> {
    let statements = statements.as_array().unwrap().iter();
    statements
        .map(|statement| statement["text"].as_str().unwrap())
        .collect()
}

#[test]
fn changed_functions_are_among_the_things_done() {
    let environment = Environment::new();
    environment.write_all(sample::story(STORY_END));
    environment.sweep();
    let changes = environment.json(&["changes", "--limit", "0"]);
    let changes = changes["changes"].as_array().unwrap();
    let (session, name) = changes
        .iter()
        .find_map(|change| {
            let symbol = change["symbols"].get(0)?;
            Some((change["session"].as_str()?, symbol["name"].as_str()?))
        })
        .unwrap();
    let digest = environment.json(&["digest", session]);
    let done = texts(&digest["done"]);
    let place = |words: &str| done.iter().rposition(|text| text.contains(words));
    assert_eq!(
        place(&format!("`{name}`")),
        place("edited ").map(|at| at + 1),
        "{done:?}"
    );
}

#[test]
fn a_session_is_told_in_short() {
    let environment = Environment::new();
    environment.write_all(sample::story(STORY_END));
    let report = environment.sweep();
    let sessions = environment.json(&["sessions", "--limit", "0"]);
    let sessions = sessions["sessions"].as_array().unwrap();
    assert_eq!(report["analyzed"], json!(sessions.len()));
    let docker = sessions
        .iter()
        .find(|session| session["title"] == "Docker build fails on missing libssl")
        .unwrap();
    let digest = environment.json(&["digest", docker["session"].as_str().unwrap()]);
    assert_eq!(
        (&digest["outcome"], &docker["outcome"]),
        (&json!("success"), &json!("success"))
    );
    assert!(
        digest["goal"]
            .as_str()
            .unwrap()
            .starts_with("The image does not build"),
        "{digest}"
    );
    assert_eq!(
        texts(&digest["done"]),
        [
            "edited 1 file: Dockerfile",
            "ran `docker build` 2 times, at last passed"
        ]
    );
    assert!(
        texts(&digest["errors"])[0].contains("openssl-sys"),
        "{digest}"
    );
    assert!(
        digest["files"][0]["path"]
            .as_str()
            .unwrap()
            .ends_with("Dockerfile")
    );
    // Every statement names events that are there.
    let last = docker["events"].as_u64().unwrap();
    for part in [
        "reasons",
        "done",
        "errors",
        "decisions",
        "next_steps",
        "files",
    ] {
        for statement in digest[part].as_array().unwrap() {
            let events = statement["events"].as_array().unwrap();
            assert!(!events.is_empty(), "{part}: {statement}");
            assert!(
                events
                    .iter()
                    .all(|event| (1..=last).contains(&event.as_u64().unwrap())),
                "{part}: {statement}"
            );
        }
    }
    let text = environment.run(&["digest", docker["session"].as_str().unwrap()]);
    assert!(
        text.stdout.contains("Outcome") && text.stdout.contains("Dockerfile"),
        "{}",
        text.stdout
    );
    assert!(text.stdout.lines().count() <= 25, "{}", text.stdout);
    let full = environment.run(&["digest", docker["session"].as_str().unwrap(), "--full"]);
    assert!(
        full.stdout.contains("Goal") && full.stdout.contains("Errors"),
        "{}",
        full.stdout
    );
    assert_eq!(environment.run(&["digest", "no-such-session"]).code, 1);
}

#[test]
fn a_plan_and_the_session_that_carries_it_out_are_linked() {
    let environment = Environment::new();
    let plan = json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "call-1", "name": "ExitPlanMode", "input": {"plan": "# Track tokens\n\n1. Count them."}},
    ]});
    environment.claude(
        1,
        &[
            prompt(1, 100, "plan how to track tokens"),
            record(1, 101, "assistant", &plan),
        ],
    );
    let handed = "Implement the following plan:\n\n# Track tokens\n\n1. Count them.";
    environment.claude(2, &[prompt(2, 200, handed), reply(2, 201, "Done.", 5)]);
    environment.claude(
        3,
        &[
            prompt(3, 300, "# Track tokens"),
            reply(3, 301, "What of it?", 5),
        ],
    );
    environment.sweep();
    let digest = |session| environment.json(&["digest", &claude_id(session)]);
    assert_eq!(digest(1)["carried_out_by"], claude_id(2));
    assert_eq!(digest(2)["plan_of"], claude_id(1));
    assert_eq!(digest(2)["title"], "Track tokens");
    let unrelated = digest(3);
    assert_eq!(
        (&unrelated["plan_of"], &unrelated["carried_out_by"]),
        (&Value::Null, &Value::Null)
    );
    let text = environment.run(&["digest", &claude_id(2)]).stdout;
    assert!(text.contains("carries out the plan of 00000001"), "{text}");
}

#[test]
fn a_digest_grows_with_its_session() {
    let lines = |upto: usize| -> Vec<String> {
        let all = vec![
            prompt(1, 101, "continue"),
            reply(1, 102, "With what?", 5),
            prompt(1, 103, "write the report about otters"),
            reply(1, 104, "Half of it is written; waiting for the rest.", 5),
            prompt(1, 105, "thanks, perfect"),
        ];
        all.into_iter().take(upto).collect()
    };
    let grown = Environment::new();
    let outcome =
        |environment: &Environment| environment.json(&["digest", &claude_id(1)])["outcome"].clone();
    let mut outcomes = Vec::new();
    for upto in 1..=5 {
        grown.claude(1, &lines(upto));
        grown.sweep();
        outcomes.push(outcome(&grown));
    }
    assert_eq!(
        outcomes,
        ["abandoned", "success", "abandoned", "running", "success"]
    );
    let at_once = Environment::new();
    at_once.claude(1, &lines(5));
    at_once.sweep();
    assert_eq!(grown.everything(), at_once.everything());
    // The first prompt says nothing, so it is no title.
    assert_eq!(
        grown.json(&["sessions"])["sessions"][0]["title"],
        "write the report about otters"
    );
    assert_eq!(grown.found(&["report", "otters"]), ["1#2"]);
}

#[test]
fn digests_that_are_gone_are_made_anew() {
    let environment = Environment::new();
    environment.write_all(sample::story(STORY_END));
    environment.sweep();
    let before = environment.everything();
    let database = rusqlite::Connection::open(environment.store().join("backstory.db")).unwrap();
    database
        .execute_batch(
            "DELETE FROM digests; DELETE FROM notes; DELETE FROM checksums; UPDATE consumers SET version = 0 WHERE name = 'notes'",
        )
        .unwrap();
    // Asked for before the next sweep, they are made for the answer.
    let without_outcome = |text: &str| {
        text.lines()
            .filter(|line| !line.contains("\"outcome\""))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(
        without_outcome(&environment.everything()),
        without_outcome(&before)
    );
    environment.sweep();
    assert_eq!(environment.everything(), before);
}
