//! What a worker answers: the same as the program without it.

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{Worker, get, post, wait_for};
use crate::environment::{Environment, Outcome, claude_id, found, prompt, reply};
use crate::meaning::with_model;

fn environment_with_turns() -> Environment {
    let environment = Environment::new();
    environment.claude(
        1,
        &[
            prompt(1, 1, "why does the websocket close after login"),
            reply(1, 2, "the token **expires** after a minute", 7),
            prompt(1, 3, "then renew the token"),
        ],
    );
    environment.claude(
        2,
        &[prompt(2, 10, "paint the garden fence, and websocket too")],
    );
    environment.sweep();
    // The hint about models is given once.
    environment.run(&["search", "websocket"]);
    environment
}

/// Runs a command twice, with the worker and without: both must say the same. Gives whether the worker was asked.
fn same(environment: &Environment, worker: &Worker, arguments: &[&str]) -> bool {
    let run = |arguments: &[&str]| {
        let mut command = environment.command(arguments);
        // In a folder of its own, where the worker is not.
        command.current_dir(environment.home().join(".claude"));
        Outcome::of(&command.output().unwrap())
    };
    let before = worker.health()["requests"].as_u64().unwrap();
    let with = run(arguments);
    let asked = worker.health()["requests"].as_u64().unwrap() > before + 1;
    let info = environment.store().join("worker.info");
    let hidden = environment.store().join("hidden.info");
    std::fs::rename(&info, &hidden).unwrap();
    let without = run(arguments);
    std::fs::rename(&hidden, &info).unwrap();
    let timeless = |outcome: &Outcome| {
        let mut document: Value = serde_json::from_str(&outcome.stdout).unwrap_or_default();
        if document.is_null() {
            return outcome.stdout.clone();
        }
        document["took_ms"] = Value::Null;
        format!("{document:#}")
    };
    assert_eq!(timeless(&with), timeless(&without), "{arguments:?}");
    assert_eq!(
        (with.code, &with.stderr),
        (without.code, &without.stderr),
        "{arguments:?}"
    );
    asked
}

#[test]
fn searches_are_the_same_with_a_worker() {
    let environment = environment_with_turns();
    let worker = Worker::start(&environment);
    let asked = [
        vec!["websocket"],
        vec!["websocket", "--json"],
        vec!["token", "expires"],
        vec!["\"token expires\"", "--json"],
        vec!["nothing-has-this"],
        vec!["nothing-has-this", "--json"],
        vec!["websocket", "--limit", "1", "--all", "--json"],
        vec!["token", "--session", "00000001", "--json"],
        vec!["token", "--role", "user", "--json"],
        vec!["token", "--agent", "claude-code", "--mode", "keyword"],
        vec!["websocket", "--project", "shop", "--json"],
        vec!["websocket", "--project", ".", "--json"],
        vec!["websocket project:. since:9y", "--json"],
        vec!["websocket", "--since", "2026-01-01", "--json"],
        vec!["websocket", "--until", "2026-01-01", "--people", "--json"],
        vec!["a & b = c % d + ä\u{1f980}"],
        // What is wrong is told by the program itself, after it has asked.
        vec!["token agent:nobody"],
        vec!["token agent:claude"],
        vec!["token", "--session", "nothing"],
        vec!["token", "--session", "0000000"],
        vec!["token", "--role", "nobody"],
        vec!["--", "-token"],
    ];
    for arguments in asked {
        let arguments = [&["search"], &arguments[..]].concat();
        assert!(same(&environment, &worker, &arguments), "{arguments:?}");
    }
    // These are no questions for a worker.
    for arguments in [
        vec!["search", "web.*close", "--regex"],
        vec!["search", "token", "--since", "soon"],
        vec!["search", "token", "--mode", "semantic"],
    ] {
        assert!(!same(&environment, &worker, &arguments), "{arguments:?}");
    }
}

#[test]
fn meanings_are_the_same_with_a_worker_and_whatever_the_model() {
    let environment = with_model();
    let worker = Worker::start(&environment);
    let search = ["search", "truck", "--json"];
    let modes = |mode: &str| environment.search(&["truck"])["mode"] == mode;
    assert!(same(&environment, &worker, &search) && modes("hybrid"));
    environment.run(&["model", "use", "none"]);
    // The hint about models is given once.
    environment.run(&search);
    assert!(same(&environment, &worker, &search) && modes("keyword"));
    environment.run(&["model", "use", "tiny"]);
    environment.claude(9, &[prompt(9, 900, "a vehicle without an equal")]);
    environment.sweep();
    assert!(same(&environment, &worker, &search) && modes("hybrid"));
    assert!(same(&environment, &worker, &["search", "truck"]));
    assert!(environment.found(&["truck"]).contains(&"9#1".to_string()));
    environment.run(&["model", "remove", "tiny"]);
    same(&environment, &worker, &search);
}

#[test]
fn a_worker_sees_what_others_sweep() {
    let environment = environment_with_turns();
    let worker = Worker::start(&environment);
    assert!(environment.found(&["submarine"]).is_empty());
    for session in 3..6 {
        let text = format!("the submarine number {session}");
        environment.claude(session, &[prompt(session, 100 + session, &text)]);
        environment.sweep();
        let newest = environment.found(&["submarine", "--limit", "0"]);
        assert_eq!(newest.len() as u32, session - 2, "{newest:?}");
    }
    // A store that is made anew under its feet is seen as well.
    for name in ["backstory.db", "backstory.db-wal", "backstory.db-shm"] {
        let _ = std::fs::remove_file(environment.store().join(name));
    }
    // An index without its database would be taken for a database that was lost.
    std::fs::remove_dir_all(environment.store().join("index")).unwrap();
    environment.sweep();
    let (status, answer) = get(&worker.socket(), "/api/search?q=submarine&limit=0");
    assert_eq!((status, found(&answer).len()), (200, 3));
}

#[test]
fn a_worker_sweeps_on_its_own() {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 1, "a lonely lighthouse")]);
    let worker = Worker::start(&environment);
    wait_for("the first sweep", || {
        let (status, answer) = get(&worker.socket(), "/api/search?q=lighthouse");
        (status == 200 && found(&answer) == ["1#1"]).then_some(())
    });
}

#[test]
fn an_index_that_is_lost_is_made_anew_by_who_asks() {
    let environment = environment_with_turns();
    let worker = Worker::start(&environment);
    assert_eq!(environment.found(&["fence"]), ["2#1"]);
    std::fs::remove_dir_all(environment.store().join("index")).unwrap();
    environment.claude(3, &[prompt(3, 40, "another lighthouse")]);
    let before = worker.health()["requests"].as_u64().unwrap();
    let outcome = environment.run(&["search", "fence", "--json"]);
    assert_eq!(found(&outcome.answer()), ["2#1"]);
    assert_eq!(environment.found(&["fence"]), ["2#1"]);
    assert!(worker.health()["requests"].as_u64().unwrap() >= before + 3);
}

#[test]
fn paths_and_what_they_answer() {
    let environment = environment_with_turns();
    let worker = Worker::start(&environment);
    let socket = worker.socket();
    let health = worker.health();
    assert_eq!(health["ok"], true);
    for name in ["uptime_seconds", "requests", "connections"] {
        assert!(health[name].is_u64(), "{name} in {health}");
    }
    let (status, context) = get(&socket, "/api/context?cwd=/home/ada/shop&budget=500");
    assert_eq!((status, &context["budget"]), (200, &json!(500)));
    let text = context["text"].as_str().unwrap();
    assert!(text.contains("websocket too"), "{text}");
    let (_, much) = get(
        &socket,
        "/api/context?cwd=/home/ada/shop&budget=9000&agent=codex",
    );
    assert_eq!(much["budget"], 2500);
    let (status, document) = get(
        &socket,
        "/api/search?q=websocket&limit=1&cwd=/home/ada/shop",
    );
    assert_eq!(status, 200);
    let keys: Vec<&String> = document.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["hits", "mode", "took_ms", "warnings"]);
    let body = json!({"query": "websocket", "limit": 1, "cwd": "/home/ada/shop"}).to_string();
    let (status, same) = post(&socket, "/api/search", &body);
    assert_eq!((status, &same["hits"]), (200, &document["hits"]));
    environment.claude(3, &[prompt(3, 50, "not swept yet")]);
    let session = claude_id(3);
    let body = json!({"session": session}).to_string();
    let (status, digest) = post(&socket, "/api/summarize", &body);
    assert_eq!((status, &digest["session"]), (200, &session.into()));
    assert_eq!(digest, environment.json(&["digest", "00000003"]));
    for (method, target, body, expected) in [
        ("GET", "/", "", 404),
        ("POST", "/health", "", 405),
        ("GET", "/api/leave", "", 405),
        ("GET", "/api/search", "", 400),
        ("GET", "/api/search?q=a&limit=many", "", 400),
        ("GET", "/api/search?q=a&color=red", "", 400),
        ("GET", "/api/search?q=a&agent=nobody", "", 400),
        ("GET", "/api/search?q=a&session=nothing", "", 404),
        ("POST", "/api/search", "", 400),
        (
            "POST",
            "/api/search",
            "{\"query\":\"a\",\"limit\":\"many\"}",
            400,
        ),
        ("GET", "/api/context", "", 400),
        ("GET", "/api/context?cwd=/&budget=-1", "", 400),
        ("POST", "/api/summarize", "", 400),
        ("POST", "/api/summarize", "{\"session\":7}", 400),
        ("POST", "/api/summarize", "{\"session\":\"nothing\"}", 404),
    ] {
        let (status, answer) = match method {
            "GET" => get(&socket, target),
            _ => post(&socket, target, body),
        };
        assert_eq!(status, expected, "{method} {target} {body}: {answer}");
        assert!(answer["error"].is_string(), "{answer}");
    }
    let mut worker = worker;
    assert_eq!(post(&socket, "/api/leave", "").0, 200);
    assert!(worker.ended().success());
}

#[test]
fn a_worker_that_is_stopped_keeps_nobody_from_searching() {
    let environment = environment_with_turns();
    let worker = Worker::start(&environment);
    worker.signal(Signal::SIGSTOP);
    assert_eq!(environment.found(&["fence"]), ["2#1"]);
    let status = environment.json(&["worker", "status"]);
    assert_eq!(
        (&status["running"], &status["answering"]),
        (&true.into(), &false.into())
    );
    worker.signal(Signal::SIGCONT);
    assert_eq!(worker.health()["ok"], true);
}
