//! Search by words, as a person or an agent would ask.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use backstory_agents::sample;
use serde_json::{Value, json};

use crate::environment::{
    Environment, Outcome, STORY_END, claude_id, claude_path, files_below, found, prompt, record,
    reply,
};

/// A session of prompts and replies by turns. Numbers are a session's own: equal ones would be copies of each other.
fn talk(session: u32, texts: &[&str]) -> Vec<String> {
    let line = |(at, text): (usize, &&str)| {
        let number = session * 100 + at as u32;
        match at % 2 {
            0 => prompt(session, number, text),
            _ => reply(session, number, text, 5),
        }
    };
    texts.iter().enumerate().map(line).collect()
}

/// A home with these conversations, the first of them number 1, swept.
fn swept(sessions: &[&[&str]]) -> Environment {
    let environment = Environment::new();
    for (at, texts) in sessions.iter().enumerate() {
        let session = at as u32 + 1;
        environment.claude(session, &talk(session, texts));
    }
    environment.sweep();
    environment
}

fn calls(session: u32, number: u32, calls: &[(&str, &str, Value)]) -> String {
    let call = |(id, tool, input): &(&str, &str, Value)| json!({"type": "tool_use", "id": id, "name": tool, "input": input});
    let content: Vec<Value> = calls.iter().map(call).collect();
    let message = json!({"role": "assistant", "model": "claude-test", "content": content});
    record(session, number, "assistant", &message)
}

fn result(session: u32, number: u32, call: &str, text: &str) -> String {
    let content = json!([{"type": "tool_result", "tool_use_id": call, "content": text}]);
    record(
        session,
        number,
        "user",
        &json!({"role": "user", "content": content}),
    )
}

/// A session of Codex.
fn codex(environment: &Environment, id: &str, source: &str, cwd: &str, texts: &[&str]) {
    let line = |at: usize, kind: &str, payload: Value| {
        let timestamp = format!("2026-01-05T03:00:{at:02}.000Z");
        format!(
            "{}\n",
            json!({"timestamp": timestamp, "type": kind, "payload": payload})
        )
    };
    let mut log = line(
        0,
        "session_meta",
        json!({"id": id, "cwd": cwd, "source": source, "git": {"branch": "release"}}),
    );
    for (at, text) in texts.iter().enumerate() {
        let (role, kind) = [("user", "input_text"), ("assistant", "output_text")][at % 2];
        let content = json!([{"type": kind, "text": text}]);
        let message = json!({"type": "message", "role": role, "content": content});
        log.push_str(&line(at + 1, "response_item", message));
    }
    let path = format!(".codex/sessions/2026/01/05/rollout-2026-01-05T03-00-00-{id}.jsonl");
    environment.write(&path, log);
}

/// Two sessions, one with a word of its own in everything that a session can hold.
fn zoo() -> Environment {
    let environment = Environment::new();
    let edit = json!({"file_path": "/home/ada/shop/src/wombat/checkout.rs", "old_string": "a", "new_string": "b"});
    environment.claude(
        1,
        &[
            prompt(1, 100, "why does the login form forget the password"),
            reply(1, 101, "because the cookie expires too early", 5),
            prompt(1, 102, "then mend the exporter"),
            calls(
                1,
                103,
                &[
                    ("t1", "Bash", json!({"command": "quokka --hidden src"})),
                    ("t2", "Edit", edit),
                ],
            ),
            result(1, 104, "t1", "thread main panicked: numbat overflow"),
            reply(1, 105, "the invoices are complete again", 5),
        ],
    );
    environment.claude(2, &talk(2, &["write the release notes", "written"]));
    environment.sweep();
    environment
}

#[test]
fn every_kind_of_word_finds_its_turn() {
    let environment = zoo();
    let check = |query: &str, turn: u64, event: u64, kind: &str, role: &str, marked: &str| {
        let answer = environment.search(&[query]);
        let hits = answer["hits"].as_array().unwrap();
        assert_eq!(hits.len(), 1, "{query}: {answer:#}");
        let hit = &hits[0];
        assert_eq!(hit["session"], claude_id(1), "{query}");
        assert_eq!(
            (hit["turn"].as_u64(), hit["event"].as_u64()),
            (Some(turn), Some(event)),
            "{query}"
        );
        assert_eq!(
            (&hit["kind"], &hit["role"]),
            (&json!(kind), &json!(role)),
            "{query}"
        );
        let snippet = hit["snippet"].as_str().unwrap();
        assert!(snippet.contains(marked), "{query}: {snippet}");
    };
    check(
        "password",
        1,
        1,
        "prompt",
        "user",
        "forget the **password**",
    );
    check(
        "cookie",
        1,
        2,
        "reply",
        "assistant",
        "the **cookie** expires",
    );
    check(
        "quokka",
        2,
        4,
        "tool_call",
        "assistant",
        "**quokka** --hidden",
    );
    check(
        "wombat",
        2,
        5,
        "tool_call",
        "assistant",
        "src/**wombat**/checkout.rs",
    );
    check("numbat", 2, 6, "tool_result", "tool", "**numbat** overflow");
    check(
        "invoices",
        2,
        7,
        "reply",
        "assistant",
        "the **invoices** are",
    );
}

#[test]
fn an_answer_says_all_that_a_reader_needs() {
    let environment = zoo();
    let answer = environment.search(&["cookie", "invoices"]);
    assert_eq!(answer["mode"], "keyword");
    assert!(answer["took_ms"].as_f64().unwrap() > 0.0, "{answer}");
    let hit = &answer["hits"][0];
    assert_eq!(hit["agent"], "claude-code");
    assert_eq!(hit["project"], "/home/ada/shop");
    assert_eq!(hit["title"], "why does the login form forget the password");
    assert!(hit["score"].as_f64().unwrap() > 0.0, "{hit}");
    assert!(hit["confident"].is_boolean(), "{hit}");
    // Both turns fit; the one that is not shown is named.
    let turns = [hit["turn"].as_u64(), hit["more_turns"][0].as_u64()];
    assert!(
        turns == [Some(1), Some(2)] || turns == [Some(2), Some(1)],
        "{hit}"
    );
    let shown = environment.json(&["show", &format!("{}#{}", claude_id(1), hit["turn"])]);
    let event = shown["events"].as_array().unwrap();
    assert!(
        event
            .iter()
            .any(|event| event["seq"] == hit["event"] && event["timestamp"] == hit["timestamp"])
    );
    let text = environment.run(&["search", "cookie"]);
    assert_eq!(text.code, 0, "{}", text.stderr);
    assert!(
        text.stdout.contains(&format!("{}#1", claude_id(1))),
        "{}",
        text.stdout
    );
    assert!(
        text.stdout.contains("because the cookie expires"),
        "{}",
        text.stdout
    );
    let nothing = environment.run(&["search", "xylophone"]);
    assert_eq!((nothing.code, nothing.stdout.trim()), (1, "nothing found"));
    let nothing = environment.run(&["search", "xylophone", "--json"]);
    let answer: Value = serde_json::from_str(&nothing.stdout).unwrap();
    assert_eq!((nothing.code, &answer["hits"]), (1, &json!([])));
}

#[test]
fn a_title_is_found_also_when_it_comes_late() {
    let environment = swept(&[&["fix it", "fixed"], &["tidy up", "tidied"]]);
    assert_eq!(environment.found(&["capybara"]), [""; 0]);
    append(
        &environment,
        1,
        &format!(
            "{}\n",
            json!({"type": "custom-title", "customTitle": "The capybara release", "sessionId": claude_id(1)})
        ),
    );
    environment.sweep();
    let answer = environment.search(&["capybara"]);
    assert_eq!(found(&answer), ["1#1"]);
    let snippet = answer["hits"][0]["snippet"].as_str().unwrap();
    assert_eq!(snippet, "The **capybara** release");
}

#[test]
fn nothing_swept_yet_is_said() {
    let environment = Environment::new();
    let outcome = environment.run(&["search", "anything"]);
    assert_eq!(outcome.code, 1);
    assert!(
        outcome.stderr.contains("hint: `backstory sweep`"),
        "{}",
        outcome.stderr
    );
    assert!(!environment.store().exists(), "a search made a store");
}

#[test]
fn phrases_and_operators() {
    let environment = swept(&[
        &["the rate limit of redis", "raised"],
        &["limit the rate of valkey", "limited"],
        &["a redis cache", "made"],
        &["a plain cache for the lint", "made"],
    ]);
    let check = |query: &str, expect: &[&str]| {
        let mut found = environment.found(&[query]);
        found.sort();
        assert_eq!(found, expect, "{query}");
    };
    check("rate limit", &["1#1", "2#1"]);
    check("\"rate limit\"", &["1#1"]);
    check("\"limit the rate\"", &["2#1"]);
    check("redis", &["1#1", "3#1"]);
    check("redis AND cache", &["3#1"]);
    check("redis && cache", &["3#1"]);
    check("+redis +cache", &["3#1"]);
    check("redis OR valkey", &["1#1", "2#1", "3#1"]);
    check("rate AND redis OR valkey", &["1#1", "2#1"]);
    check("cache AND redis OR lint", &["3#1", "4#1"]);
    check("redis -cache", &["1#1"]);
    check("redis NOT cache", &["1#1"]);
    check("cache -\"redis cache\"", &["4#1"]);
    check("redis -redis", &[]);
    check("\"redis limit\"", &[]);
}

#[test]
fn operators_look_at_turns_not_at_sessions() {
    let environment = swept(&[&["about otters", "yes", "about beavers", "no"]]);
    assert_eq!(environment.found(&["otters", "AND", "beavers"]), [""; 0]);
    assert_eq!(environment.found(&["about -otters"]), ["1#2"]);
}

#[test]
fn words_are_found_in_other_forms_and_spellings() {
    let environment = swept(&[
        &["rename parseHttpHeader please", "done"],
        &["what does parse_http_header do", "it parses"],
        &["plan the migration of tables", "planned"],
        &["the deployment is stuck", "freed"],
        &["connect the WebSocket2 gateway", "connected"],
    ]);
    let check = |query: &str, expect: &[&str]| {
        let mut found = environment.found(&[query]);
        found.sort();
        assert_eq!(found, expect, "{query}");
    };
    for query in [
        "parseHttpHeader",
        "parse_http_header",
        "ParseHTTPHeader",
        "parse-http-header",
        "\"http header\"",
        "httpHeader",
    ] {
        check(query, &["1#1", "2#1"]);
    }
    check("migrations", &["3#1"]);
    check("migrating table", &["3#1"]);
    check("deplo*", &["4#1"]);
    check("DEPLO*", &["4#1"]);
    check("deployments", &["4#1"]);
    check("web socket", &["5#1"]);
    check("gateway*", &["5#1"]);
}

#[test]
fn a_typo_is_forgiven_only_when_nothing_fits() {
    let environment = swept(&[
        &["open the websocket", "opened"],
        &["fix the login", "fixed"],
    ]);
    assert_eq!(environment.found(&["webscoket"]), ["1#1"]);
    assert_eq!(environment.found(&["websockte"]), ["1#1"]);
    // With a word that is there, the other is just not there.
    assert_eq!(environment.found(&["webscoket", "login"]), ["2#1"]);
    environment.claude(3, &talk(3, &["the webscoket typo", "kept"]));
    environment.sweep();
    assert_eq!(environment.found(&["webscoket"]), ["3#1"]);
}

/// Four sessions that all speak of a walrus, and differ in all that can be asked for.
fn walruses() -> Environment {
    let environment = Environment::new();
    let shop = |line: String| line.replace("\"cwd\"", "\"gitBranch\":\"main\",\"cwd\"");
    let garden = |line: String| {
        let line = line.replace("/home/ada/shop", "/home/ada/garden");
        line.replace("2026-01-02", "2026-03-04")
            .replace("\"cwd\"", "\"gitBranch\":\"fix\",\"cwd\"")
    };
    environment.claude(
        1,
        &[
            shop(prompt(1, 100, "feed the walrus")),
            shop(calls(
                1,
                101,
                &[("t1", "Bash", json!({"command": "feed walrus"}))],
            )),
            shop(result(1, 102, "t1", "the walrus ate")),
            shop(prompt(1, 103, "again, but slowly")),
            shop(reply(1, 104, "a slow walrus now", 5)),
        ],
    );
    let edit = json!({"file_path": "/home/ada/garden/src/pond.rs", "old_string": "a", "new_string": "walrus"});
    environment.claude(
        2,
        &[
            garden(prompt(2, 200, "dig a pond for the walrus")),
            garden(calls(2, 201, &[("t1", "Edit", edit)])),
            garden(reply(2, 202, "the walrus has a pond", 5)),
        ],
    );
    codex(
        &environment,
        CODEX,
        "cli",
        "/home/ada/shop",
        &["wash the walrus", "washed"],
    );
    environment.sweep();
    environment
}

const CODEX: &str = "019f0000-0000-7000-8000-000000000001";

#[test]
fn filters_are_the_same_in_the_query_and_as_options() {
    let environment = walruses();
    let all = format!("{CODEX}#1");
    let check = |field: &str, value: &str, expect: &[&str]| {
        let option = format!("--{field}");
        let mut by_option = environment.found(&["walrus", &option, value]);
        let in_query = format!("walrus {field}:{value}");
        let mut by_query = environment.found(&[&in_query]);
        assert_eq!(by_option, by_query, "{in_query}");
        let quoted = format!("{field}:\"{value}\" walrus");
        assert_eq!(environment.found(&[&quoted]), by_option, "{quoted}");
        by_option.sort();
        by_query.sort();
        assert_eq!(by_option, expect, "{in_query}");
    };
    let mut every = environment.found(&["walrus"]);
    every.sort();
    assert_eq!(every, [all.as_str(), "1#1", "2#1"]);
    check("agent", "codex", &[&all]);
    check("agent", "claude-code", &["1#1", "2#1"]);
    check("project", "garden", &["2#1"]);
    check("project", "/home/ada/shop", &[&all, "1#1"]);
    check("branch", "fix", &["2#1"]);
    check("branch", "release", &[&all]);
    check("since", "2026-02-01", &["2#1"]);
    check("until", "2026-01-03", &["1#1"]);
    check("since", "2026-01-04T00:00:00Z", &[&all, "2#1"]);
    check("role", "user", &[&all, "1#1", "2#1"]);
    check("role", "assistant", &["1#2", "2#1"]);
    check("role", "tool_result", &["1#1"]);
    check("role", "reply", &["1#2", "2#1"]);
    check("tool", "Bash", &["1#1"]);
    check("tool", "edit", &["2#1"]);
    check("file", "src/pond.rs", &["2#1"]);
    check("file", "garden", &["2#1"]);
    check("file", "ond.rs", &[]);
    check("session", &claude_id(2), &["2#1"]);
    check("session", "019f", &[&all]);
    assert_eq!(
        environment.found(&["walrus", "agent:codex", "--project", "garden"]),
        [""; 0]
    );
    assert_eq!(environment.found(&["walrus", "--limit", "1"]).len(), 1);
    let role = environment.search(&["walrus", "--role", "tool_result"]);
    assert_eq!(role["hits"][0]["kind"], "tool_result");
}

#[test]
fn times_are_those_of_turns() {
    let environment = Environment::new();
    let on = |day: &str, line: String| line.replace("2026-01-02", day);
    environment.claude(
        1,
        &[
            prompt(1, 100, "feed the walrus"),
            reply(1, 101, "the walrus was fed", 5),
            on("2026-03-04", prompt(1, 102, "feed the walrus more")),
        ],
    );
    environment.sweep();
    append(
        &environment,
        1,
        &on("2026-05-06", prompt(1, 103, "has the walrus grown")),
    );
    environment.sweep();
    let check = |arguments: &[&str], turn: u64| {
        for how in [&["walrus"][..], &["--regex", "walrus"]] {
            let answer = environment.search(&[how, arguments].concat());
            assert_eq!(found(&answer), [format!("1#{turn}")], "{arguments:?}");
            assert_eq!(answer["hits"][0]["more_turns"], json!([]), "{arguments:?}");
        }
    };
    check(&["--until", "2026-02-01"], 1);
    check(&["--since", "2026-02-01", "--until", "2026-04-01"], 2);
    check(&["--since", "2026-05-06"], 3);
}

#[test]
fn all_sessions_are_found_when_all_are_asked_for() {
    let environment = Environment::new();
    for session in 1..200 {
        let line = |at| prompt(session, session * 100 + at, "a zebra crosses");
        environment.claude(session, &[(0..40).map(line).collect()]);
    }
    environment.sweep();
    assert_eq!(environment.found(&["zebra", "--limit", "0"]).len(), 199);
    assert_eq!(environment.found(&["zebra"]).len(), 10);
}

#[test]
fn values_that_nothing_has_are_told() {
    let environment = walruses();
    let check = |arguments: &[&str], code: i32, hint: &str| {
        let outcome = environment.run(&[&["search", "walrus"], arguments].concat());
        assert_eq!(outcome.code, code, "{arguments:?}");
        let stderr = &outcome.stderr;
        assert!(
            stderr.contains("error: ") && stderr.contains(hint),
            "{stderr}"
        );
        assert!(
            stderr.contains("hint: ") || stderr.contains("[possible values: "),
            "{stderr}"
        );
        assert!(outcome.stdout.is_empty(), "{}", outcome.stdout);
    };
    check(&["--agent", "copilot"], 2, "claude-code");
    check(&["agent:copilot"], 2, "claude-code");
    check(&["--role", "queen"], 2, "assistant");
    check(&["role:queen"], 2, "assistant");
    check(&["--since", "someday"], 2, "3d");
    check(&["until:someday"], 2, "3d");
    check(&["session:ffff"], 1, "sessions");
    check(&["--session", "0000000"], 2, "00000001");
}

#[test]
fn regular_expressions_see_what_no_index_holds() {
    let environment = Environment::new();
    let deep = format!(
        "{}\nneedle_7041 is here\n{}",
        "hay ".repeat(40_000),
        "hay ".repeat(1000)
    );
    environment.claude(
        1,
        &[
            prompt(1, 100, "look into the log"),
            calls(1, 101, &[("t1", "Bash", json!({"command": "cat log"}))]),
            result(1, 102, "t1", &deep),
            prompt(1, 103, "needle_1 was typed"),
        ],
    );
    environment.claude(2, &talk(2, &["needle_22 or none", "none"]));
    environment.sweep();
    assert_eq!(environment.found(&["7041"]), [""; 0]);
    let answer = environment.search(&["--regex", r"needle_\d{4} is"]);
    assert_eq!(found(&answer), ["1#1"]);
    assert_eq!(
        (&answer["hits"][0]["event"], &answer["hits"][0]["kind"]),
        (&json!(3), &json!("tool_result"))
    );
    let snippet = answer["hits"][0]["snippet"].as_str().unwrap();
    assert!(snippet.contains("**needle_7041 is** here"), "{snippet}");
    // The session that was active last comes first, and all its turns are named.
    let answer = environment.search(&["--regex", r"needle_\d+"]);
    assert_eq!(found(&answer), ["2#1", "1#1"]);
    assert_eq!(answer["hits"][1]["more_turns"], json!([2]));
    assert_eq!(
        environment.found(&["--regex", r"needle_\d+", "--role", "user"]),
        ["2#1", "1#2"]
    );
    assert_eq!(
        environment.found(&["--regex", r"needle_\d+", "--tool", "Bash"]),
        ["1#1"]
    );
    assert_eq!(
        environment.found(&["--regex", r"needle_\d+", "--session", "00000002"]),
        ["2#1"]
    );
    assert_eq!(
        environment.found(&["--regex", "(?i)NEEDLE_22", "--limit", "1"]),
        ["2#1"]
    );
    // No filter hides in a pattern.
    assert_eq!(environment.found(&["--regex", "role:user"]), [""; 0]);
    for wrong in ["(", "[z-a]", "a{99999999}"] {
        let outcome = environment.run(&["search", "--regex", wrong]);
        assert_eq!(outcome.code, 2, "{wrong}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("hint: "), "{}", outcome.stderr);
    }
}

fn append(environment: &Environment, session: u32, text: &str) {
    let path = environment.home().join(claude_path(session));
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// The files of the index and when each was changed.
fn index_files(environment: &Environment) -> BTreeMap<PathBuf, SystemTime> {
    files_below(&environment.store().join("index"))
        .into_iter()
        .map(|path| (path.clone(), path.metadata().unwrap().modified().unwrap()))
        .collect()
}

#[test]
fn a_few_new_events_are_found_without_touching_the_index() {
    let environment = swept(&[&["the old words", "stay"], &["about otters", "yes"]]);
    let before = index_files(&environment);
    append(&environment, 1, &prompt(1, 110, "the fresh pangolin"));
    append(&environment, 1, &reply(1, 111, "a pangolin with scales", 5));
    environment.claude(3, &talk(3, &["a pangolin of its own", "walks by"]));
    environment.sweep();
    let mut fresh = environment.found(&["pangolin"]);
    fresh.sort();
    assert_eq!(fresh, ["1#2", "3#1"]);
    // What the index has and what it has not yet are one answer.
    assert_eq!(environment.found(&["\"old words\""]), ["1#1"]);
    assert_eq!(environment.found(&["pangolin -own"]), ["1#2"]);
    assert_eq!(environment.found(&["\"pangolin with scales\""]), ["1#2"]);
    assert_eq!(
        environment.found(&["pango*", "--role", "assistant"]),
        ["1#2"]
    );
    assert_eq!(environment.found(&["otters"]), ["2#1"]);
    assert_eq!(index_files(&environment), before);
}

#[test]
fn the_answer_does_not_depend_on_how_it_was_indexed() {
    let environment = Environment::new();
    environment.write_all(sample::story(STORY_END));
    // So much that the sweep indexes it while it stores it.
    environment.write_all(sample::logs(3, 5_000_000));
    environment.sweep();
    let queries: [&[&str]; 8] = [
        &["tests fail"],
        &["\"the test\""],
        &["read file -cargo"],
        &["fix* bug"],
        &["git commit", "--role", "tool_call"],
        &["error", "--role", "tool_result"],
        &["test", "--tool", "Bash"],
        &["parser", "--file", "src"],
    ];
    let ask = |query: &[&str]| found(&environment.search(&[query, &["--limit", "30"]].concat()));
    let at_once: Vec<Vec<String>> = queries.iter().map(|query| ask(query)).collect();
    for (query, found) in queries.iter().zip(&at_once) {
        assert!(!found.is_empty(), "{query:?}");
    }
    std::fs::remove_dir_all(environment.store().join("index")).unwrap();
    // First without any index, then with one made from the store. An index knows about how long a long text is, no more, so
    // neighbours may change places.
    let sorted = |mut found: Vec<String>| {
        found.sort();
        found
    };
    let outcome = environment.run(&["search", "--json", "tests fail", "--limit", "30"]);
    assert_eq!(sorted(found(&outcome.answer())), sorted(at_once[0].clone()));
    let anew: Vec<Vec<String>> = queries.iter().map(|query| ask(query)).collect();
    assert_eq!(anew, at_once);
}

#[test]
fn sessions_of_people_come_before_those_of_machines() {
    let texts = ["where do the lemurs sleep", "lemurs sleep in trees"];
    let environment = Environment::new();
    environment.claude(1, &talk(1, &texts));
    let sidechain =
        |line: String| line.replace("\"cwd\"", "\"isSidechain\":true,\"agentId\":\"a1\",\"cwd\"");
    let lines: Vec<String> = talk(2, &texts)
        .into_iter()
        .map(|line| sidechain(line.replace(&claude_id(2), &claude_id(1))))
        .collect();
    let subagent = format!(
        ".claude/projects/-work-shop/{}/subagents/agent-a1.jsonl",
        claude_id(1)
    );
    environment.write(&subagent, lines.concat());
    let headless: Vec<String> = talk(3, &texts)
        .into_iter()
        .map(|line| line.replace("\"cwd\"", "\"entrypoint\":\"sdk-cli\",\"cwd\""))
        .collect();
    environment.claude(3, &headless);
    codex(&environment, CODEX, "exec", "/home/ada/shop", &texts);
    environment.sweep();
    let scores = |arguments: &[&str]| -> BTreeMap<String, f64> {
        let answer = environment.search(&[&["lemurs", "sleep"], arguments].concat());
        let hits = answer["hits"].as_array().unwrap();
        hits.iter()
            .map(|hit| {
                (
                    hit["session"].as_str().unwrap().to_string(),
                    hit["score"].as_f64().unwrap(),
                )
            })
            .collect()
    };
    assert_eq!(environment.found(&["lemurs", "sleep"])[0], "1#1");
    let by_default = scores(&[]);
    assert_eq!(by_default.len(), 4, "{by_default:?}");
    let person = by_default[&claude_id(1)];
    for (session, score) in by_default
        .iter()
        .filter(|(session, _)| **session != claude_id(1))
    {
        assert!(*score < person, "{session}: {score}, {person}");
    }
    assert_eq!(environment.found(&["lemurs", "--people"]), ["1#1"]);
    let equal = scores(&["--all"]);
    assert_eq!(equal.len(), 4);
    for (session, score) in &equal {
        assert!(
            (score / person - 1.0).abs() < 0.01,
            "{session}: {score}, {person}"
        );
    }
    let outcome = environment.run(&["search", "lemurs", "--all", "--people"]);
    assert_eq!(outcome.code, 2);
}

#[test]
fn the_project_one_is_in_comes_first() {
    let environment = Environment::new();
    let folder = |name: &str| {
        let folder = environment.home().join(name);
        std::fs::create_dir_all(folder.join(".git")).unwrap();
        std::fs::create_dir_all(folder.join("src/deep")).unwrap();
        folder.canonicalize().unwrap()
    };
    let folders = [folder("shop"), folder("garden")];
    for (session, folder) in [1, 2].into_iter().zip(&folders) {
        let lines: Vec<String> = talk(session, &["where do the ibises nest", "in the reeds"])
            .into_iter()
            .map(|line| line.replace("/home/ada/shop", folder.to_str().unwrap()))
            .collect();
        environment.claude(session, &lines);
    }
    environment.sweep();
    let inside = |folder: &Path| {
        let mut command = environment.command(&["search", "ibises", "--json"]);
        let output = command.current_dir(folder).output().unwrap();
        found(&Outcome::of(&output).answer())
    };
    assert_eq!(inside(&folders[0]), ["1#1", "2#1"]);
    assert_eq!(inside(&folders[1]), ["2#1", "1#1"]);
    assert_eq!(inside(&folders[0].join("src/deep")), ["1#1", "2#1"]);
    assert_eq!(inside(&folders[1].join("src/deep")), ["2#1", "1#1"]);
    let mut command = environment.command(&["search", "ibises", "--project", ".", "--json"]);
    let output = command.current_dir(&folders[0]).output().unwrap();
    assert_eq!(found(&Outcome::of(&output).answer()), ["1#1"]);
}

/// Some sessions, in an index of several parts with removed documents in them.
fn environment_with_index() -> Environment {
    let environment = Environment::new();
    let many = |from: u32, to: u32| -> String {
        (from..to)
            .map(|number| prompt(1, 1000 + number, &format!("ferret number {number}")))
            .collect()
    };
    environment.write_all(sample::story(STORY_END));
    environment.claude(1, &[many(0, 20)]);
    environment.sweep();
    // More than is left beside the index, of a session that is in it already.
    append(&environment, 1, &many(20, 440));
    environment.sweep();
    environment
}

/// Searches after damage: the answer must be what it was, with one warning at most, and without any the time after.
fn check_damage(environment: &Environment, sound: &[String], what: &str) {
    let query = ["search", "--json", "fix", "ferret", "tests"];
    let outcome = environment.run(&query);
    assert_eq!(found(&outcome.answer()), sound, "{what}");
    assert!(outcome.warnings() <= 1, "{what}: {}", outcome.stderr);
    assert!(
        !outcome.stderr.contains("panicked"),
        "{what}: {}",
        outcome.stderr
    );
    let after = environment.run(&query);
    assert_eq!(found(&after.answer()), sound, "{what}, after");
    assert_eq!(after.warnings(), 0, "{what}, after: {}", after.stderr);
}

#[test]
fn a_damaged_index_changes_no_answer() {
    let environment = swept(&[
        &["fix the tests of the ferret", "fixed"],
        &["the ferret sleeps", "let it"],
        &["tests are slow", "fix the clock"],
    ]);
    let sound = environment.found(&["fix", "ferret", "tests"]);
    assert_eq!(sound.len(), 3, "{sound:?}");
    let index = environment.store().join("index");
    // Made anew it has the same files, but segments have other names.
    let kind = |path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_segment = name.len() > 32;
        if is_segment {
            name[32..].to_string()
        } else {
            name
        }
    };
    let kinds: BTreeSet<String> = files_below(&index).iter().map(|path| kind(path)).collect();
    assert!(kinds.len() > 7, "{kinds:?}");
    let mut hurts = 0;
    for wanted in &kinds {
        for damage in 0..4 {
            let files = files_below(&index);
            // What nobody missed does not come back.
            let Some(path) = files.iter().find(|path| kind(path) == *wanted) else {
                continue;
            };
            hurt(path, damage);
            check_damage(&environment, &sound, &format!("{damage} to {wanted}"));
            hurts += 1;
        }
    }
    assert!(hurts >= 4 * 6, "{hurts}");
}

/// Removes a file, cuts it, or changes a byte of it.
fn hurt(path: &Path, damage: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    match damage {
        0 => std::fs::remove_file(path).unwrap(),
        1 => std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap(),
        _ => {
            let at = bytes.len() * (damage - 2) * 2 / 3;
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 0x10;
            }
            std::fs::write(path, bytes).unwrap();
        }
    }
}

#[test]
fn an_index_that_is_gone_or_not_one_changes_no_answer() {
    let environment = environment_with_index();
    let sound = environment.found(&["fix", "ferret", "tests"]);
    let index = environment.store().join("index");
    let generation = || {
        let mut entries = std::fs::read_dir(&index).unwrap();
        entries.next().unwrap().unwrap().path()
    };
    let files = files_below(&index);
    let removed = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "del");
    let removed = files.iter().find(removed).unwrap();
    hurt(removed, 3);
    check_damage(&environment, &sound, "what was removed");
    std::fs::remove_dir_all(generation()).unwrap();
    check_damage(&environment, &sound, "no generation");
    std::fs::remove_dir_all(&index).unwrap();
    check_damage(&environment, &sound, "no folder");
    std::fs::write(generation().join("garbage"), "garbage").unwrap();
    check_damage(&environment, &sound, "garbage beside the files");
    std::fs::write(index.join("garbage"), "garbage").unwrap();
    check_damage(&environment, &sound, "garbage beside the generation");
    std::fs::remove_file(index.join("garbage")).unwrap();
    let folder = generation();
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "a file").unwrap();
    check_damage(&environment, &sound, "a file as generation");
    // A sweep mends it too, without being asked.
    std::fs::remove_dir_all(&index).unwrap();
    environment.sweep();
    assert_eq!(environment.found(&["fix", "ferret", "tests"]), sound);
}

#[test]
fn searches_while_a_sweep_writes_are_whole() {
    let environment = swept(&[&["the known dormouse", "sleeps"]]);
    let done = AtomicBool::new(false);
    let search = || {
        let mut searches = 0;
        while !done.load(Ordering::Relaxed) || searches == 0 {
            let outcome = environment.run(&["search", "--json", "dormouse"]);
            assert!(!outcome.stderr.contains("error:"), "{}", outcome.stderr);
            assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
            let found = found(&outcome.answer());
            assert!(found.contains(&"1#1".to_string()), "{found:?}");
            searches += 1;
        }
        searches
    };
    std::thread::scope(|scope| {
        let searchers: Vec<_> = (0..8).map(|_| scope.spawn(search)).collect();
        for round in 0..4 {
            // More than is left beside the index, so that each sweep writes to it.
            let texts = (0..450).map(|at| {
                prompt(
                    2,
                    10_000 + round * 450 + at,
                    &format!("dormouse {round} {at}"),
                )
            });
            let texts: String = texts.collect();
            if round == 0 {
                environment.claude(2, &[texts]);
            } else {
                append(&environment, 2, &texts);
            }
            let report = environment.json(&["sweep"]);
            assert_eq!(
                (&report["events"], &report["index_problem"]),
                (&json!(450), &Value::Null)
            );
            append(
                &environment,
                1,
                &prompt(1, 110 + round, "and the dormouse again"),
            );
            environment.sweep();
        }
        done.store(true, Ordering::Relaxed);
        for searcher in searchers {
            assert!(searcher.join().unwrap() > 0);
        }
    });
    let mut all = environment.found(&["dormouse"]);
    all.sort();
    assert_eq!(all.len(), 2, "{all:?}");
}

#[test]
fn odd_queries_are_answered_or_refused() {
    let environment = swept(&[
        &["修复登录页面", "好的"],
        &["исправь вход в систему", "готово"],
        &["ship it 🎉 before the café closes", "shipped"],
    ]);
    let refused = |query: &[&str]| {
        let outcome = environment.run(&[&["search", "--"], query].concat());
        assert_eq!(outcome.code, 2, "{query:?}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains("hint: "),
            "{query:?}: {}",
            outcome.stderr
        );
    };
    refused(&[""]);
    refused(&["   "]);
    refused(&["AND", "OR", "NOT"]);
    refused(&["- + ( ) \"\" * \"*\""]);
    refused(&["-login"]);
    refused(&["🎉"]);
    refused(&["role:user"]);
    let outcome = environment.run(&["search"]);
    assert_eq!(outcome.code, 2);
    assert_eq!(environment.found(&["登录"]), ["1#1"]);
    assert_eq!(environment.found(&["\"登录页\""]), ["1#1"]);
    assert_eq!(environment.found(&["систему"]), ["2#1"]);
    assert_eq!(environment.found(&["СИСТЕМУ"]), ["2#1"]);
    assert_eq!(environment.found(&["🎉 ship"]), ["3#1"]);
    assert_eq!(environment.found(&["CAFÉ"]), ["3#1"]);
    assert_eq!(environment.found(&["\"ship it"]), ["3#1"]);
    assert_eq!(environment.found(&["ship (it"]), ["3#1"]);
    assert_eq!(environment.found(&["ship\u{1}\u{1b}[31m\tit"]), ["3#1"]);
    assert_eq!(environment.found(&["foo:bar ship OR"]), ["3#1"]);
    assert_eq!(environment.found(&["agent: ship"]), ["3#1"]);
    // A megabyte, in pieces that the system lets through.
    let piece = format!("ship {}", "zebra_word ".repeat(5_900));
    let long: Vec<&str> = std::iter::repeat_n(piece.as_str(), 16).collect();
    assert_eq!(environment.found(&long), ["3#1"]);
    let piece = "\"( -x:".repeat(10_900);
    let long: Vec<&str> = std::iter::repeat_n(piece.as_str(), 16).collect();
    let outcome = environment.run(&[&["search", "--"], &long[..]].concat());
    assert!([0, 1, 2].contains(&outcome.code), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
}

#[test]
fn what_is_not_there_is_not_claimed() {
    let environment = Environment::new();
    environment.write_all(sample::story(STORY_END));
    environment.write_all(sample::logs(5, 1_000_000));
    environment.claude(
        1,
        &talk(
            1,
            &[
                "why do the axolotls in the aquarium regrow their gills",
                "because axolotls stay young",
            ],
        ),
    );
    environment.sweep();
    for absent in [
        "kubernetes autoscaler thrashing on arm nodes",
        "mongodb replica lag in frankfurt",
        "swiftui navigation stack pops twice",
        "graphql federation gateway schema stitching",
        "terraform state lock in dynamodb",
        "haskell monad transformer stack",
        "unity shader compiles to purple",
        "excel pivot macro for payroll",
        "bluetooth pairing on the thermostat",
        "sourdough hydration ratio",
    ] {
        let outcome = environment.run(&["search", "--json", absent]);
        let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
        for hit in answer["hits"].as_array().unwrap() {
            assert_eq!(hit["confident"], false, "{absent}: {hit:#}");
        }
        let text = environment.run(&["search", absent]).stdout;
        assert!(
            text.starts_with("no session seems to be about this")
                || text.starts_with("nothing found"),
            "{text}"
        );
    }
    let real = environment.search(&["how do axolotls regrow gills"]);
    let first = &real["hits"][0];
    assert_eq!(
        (&first["session"], &first["confident"]),
        (&json!(claude_id(1)), &json!(true))
    );
    let text = environment.run(&["search", "axolotls gills"]).stdout;
    assert!(text.starts_with(&claude_id(1)), "{text}");
}

#[test]
fn searching_leaves_the_logs_alone_and_the_store_private() {
    let environment = zoo();
    let home = |environment: &Environment| -> Vec<(PathBuf, SystemTime, Vec<u8>)> {
        let state = |path: PathBuf| {
            let modified = path.metadata().unwrap().modified().unwrap();
            let bytes = std::fs::read(&path).unwrap();
            (path, modified, bytes)
        };
        files_below(&environment.home())
            .into_iter()
            .map(state)
            .collect()
    };
    let before = home(&environment);
    environment.search(&["cookie"]);
    environment.search(&["--regex", "cookie"]);
    std::fs::remove_dir_all(environment.store().join("index")).unwrap();
    environment.run(&["search", "cookie"]);
    assert!(home(&environment) == before, "a search wrote into the home");
    assert_private(&environment.store());
    assert!(environment.store().join("index").is_dir());
}

/// Nobody but the user may look into a folder and what is below it.
#[cfg(unix)]
pub(crate) fn assert_private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = path.metadata().unwrap().permissions().mode() & 0o777;
    let expected = if path.is_dir() { 0o700 } else { 0o600 };
    assert_eq!(mode, expected, "{}: {mode:o}", path.display());
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            assert_private(&entry.unwrap().path());
        }
    }
}

#[cfg(not(unix))]
pub(crate) fn assert_private(_: &Path) {}

#[test]
fn a_search_cut_off_by_its_reader_is_no_error() {
    let environment = swept(&[&["about otters", "yes"]]);
    let mut command = environment.command(&["search", "otters"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        !stderr.contains("error:") && !stderr.contains("panicked"),
        "{stderr}"
    );
}

#[test]
fn retrieval_is_scored_as_one_would_by_hand() {
    let environment = swept(&[
        &["feed the walrus", "fed"],
        &["dig a pond for the heron", "dug"],
        &["heron heron heron", "many herons"],
    ]);
    let line = |query: &str, gold: &[u32]| {
        let gold: Vec<String> = gold.iter().map(|session| claude_id(*session)).collect();
        format!("{}\n", json!({"query": query, "gold": gold}))
    };
    // The first right place: 1, 2, none, and none because nothing is right.
    let first = environment.found(&["heron"]);
    assert_eq!(first.len(), 2);
    let second: u32 = first[1].split('#').next().unwrap().parse().unwrap();
    let queries = [
        line("walrus", &[1]),
        line("heron", &[second]),
        "\n".to_string(),
        line("heron pond", &[1]),
        line("xylophone", &[]),
    ];
    let path = environment.write("queries.jsonl", queries.concat());
    let scored = environment.json(&["eval", "retrieval", path.to_str().unwrap(), "--each"]);
    let modes = scored["modes"].as_array().unwrap();
    assert_eq!(modes.len(), 1, "{scored:#}");
    let mode = &modes[0];
    assert_eq!(
        (&mode["mode"], &mode["queries"]),
        (&json!("keyword"), &json!(4))
    );
    let places: Vec<&Value> = mode["each"]
        .as_array()
        .unwrap()
        .iter()
        .map(|each| &each["place"])
        .collect();
    assert_eq!(places, [&json!(1), &json!(2), &Value::Null, &Value::Null]);
    for (key, expected) in [
        ("any_at_1", 25.0),
        ("any_at_5", 50.0),
        ("any_at_10", 50.0),
        ("mrr", 0.375),
    ] {
        assert_eq!(mode[key].as_f64(), Some(expected), "{key}");
    }
    let text = environment
        .run(&["eval", "retrieval", path.to_str().unwrap()])
        .stdout;
    assert!(text.contains("0.375"), "{text}");
    let path = environment.write("wrong.jsonl", format!("{}{{\"query\": 7}}\n", queries[0]));
    let outcome = environment.run(&["eval", "retrieval", path.to_str().unwrap()]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.stderr.contains(&format!("{}:2: ", path.display()))
            && outcome.stderr.contains("hint: "),
        "{}",
        outcome.stderr
    );
    assert_eq!(
        environment.run(&["eval", "retrieval", "absent.jsonl"]).code,
        2
    );
}

#[test]
fn a_word_that_only_a_tool_gave_back_is_no_typo() {
    let environment = Environment::new();
    environment.claude(
        1,
        &[
            prompt(1, 100, "look around"),
            calls(
                1,
                101,
                &[("t1", "Bash", json!({"command": "kubectl get pods"}))],
            ),
            result(1, 102, "t1", "the marlin swims"),
        ],
    );
    environment.claude(2, &talk(2, &["merlin the wizard", "yes"]));
    environment.sweep();
    assert_eq!(environment.found(&["marlin"]), ["1#1"]);
    assert_eq!(
        environment.search(&["kubectl"])["hits"][0]["confident"],
        true
    );
}

#[test]
fn long_runs_without_spaces_are_found() {
    let environment = swept(&[
        &["修复登录页面的问题并且添加测试用例以及更新文档说明", "好的"],
        &[
            "test_that_the_session_index_is_rebuilt_when_a_file_was_deleted_and_more",
            "ok",
        ],
    ]);
    assert_eq!(environment.found(&["登录"]), ["1#1"]);
    assert_eq!(environment.found(&["rebuilt"]), ["2#1"]);
}

#[test]
fn patterns_that_end_with_space_or_control_characters() {
    let environment = swept(&[
        &["merlin the wizard\u{7}", "yes"],
        &[
            "start needle                                                                                                                                                                                                                                                                                tail",
            "x",
        ],
    ]);
    assert_eq!(environment.found(&["--regex", "wizard."]), ["1#1"]);
    assert_eq!(environment.found(&["--regex", r"\s{50}"]), ["2#1"]);
}

#[test]
fn limits_of_any_size() {
    let environment = swept(&[&["about otters", "yes"]]);
    assert_eq!(
        environment.found(&["otters", "--limit", "18446744073709551615"]),
        ["1#1"]
    );
    let most = "18446744073709551615";
    let sessions = environment.json(&["sessions", "--limit", most]);
    assert_eq!(sessions["sessions"].as_array().map(Vec::len), Some(1));
    let end = environment.json(&["tail", &claude_id(1), "-n", most]);
    assert_eq!(end["events"].as_array().map(Vec::len), Some(2));
}

#[test]
fn an_old_title_meets_no_condition() {
    let environment = swept(&[&["fix it", "fixed"]]);
    let title = |title: &str| {
        format!(
            "{}\n",
            json!({"type": "custom-title", "customTitle": title, "sessionId": claude_id(1)})
        )
    };
    append(&environment, 1, &title("Oldname"));
    environment.sweep();
    std::fs::remove_dir_all(environment.store().join("index")).unwrap();
    environment.sweep();
    append(&environment, 1, &title("Newname"));
    environment.sweep();
    assert_eq!(environment.found(&["oldname AND fix"]), [""; 0]);
}

#[test]
fn the_turn_of_a_title_exists() {
    let environment = Environment::new();
    let title =
        json!({"type": "custom-title", "customTitle": "The capybara", "sessionId": claude_id(1)});
    environment.claude(1, &[reply(1, 100, "only a reply", 5), format!("{title}\n")]);
    environment.sweep();
    let found = environment.search(&["capybara"]);
    let turn = format!("{}#{}", claude_id(1), found["hits"][0]["turn"]);
    assert_eq!(environment.run(&["show", &turn]).code, 0, "{turn}");
}

#[test]
fn snippets_are_safe_for_terminals() {
    let environment = swept(&[&["evil \u{202e}txt\u{202c} narwhal", "yes"]]);
    let text = environment.run(&["search", "narwhal"]).stdout;
    assert!(!text.contains('\u{202e}'), "{text:?}");
}

#[test]
fn a_word_is_found_in_camel_case() {
    let environment = swept(&[&["open the WebSocket on GitHub", "yes"]]);
    assert_eq!(environment.found(&["websocket"]), ["1#1"]);
    assert_eq!(environment.found(&["github"]), ["1#1"]);
}
