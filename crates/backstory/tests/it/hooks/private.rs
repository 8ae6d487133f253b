//! What must not be kept: secrets, and what was forgotten.

use backstory_redact::{RULES, planted};
use rusqlite::Connection;
use serde_json::{Value, json};

use super::{Home, assert_harmless, claude_hook, count, items, prompted, spooled, told, tool_used};
use crate::environment::{Environment, claude_id, claude_path, prompt};

/// So many rules are tried in one call.
const AT_ONCE: usize = 60;

/// Every file of the store, what it holds packed included: bodies of items are compressed.
fn everything(environment: &Environment) -> String {
    let mut all = String::new();
    for (path, bytes) in environment.stored_files() {
        all.push_str(&format!("\n{}\n", path.display()));
        all.push_str(&String::from_utf8_lossy(&bytes));
    }
    let database = Connection::open(environment.store().join("backstory.db")).unwrap();
    let bodies = "SELECT body FROM queue WHERE body IS NOT NULL";
    let mut statement = database.prepare(bodies).unwrap();
    let rows = statement.query_map([], |row| row.get::<_, Vec<u8>>(0));
    for body in rows.unwrap() {
        let body = zstd::decode_all(&body.unwrap()[..]).unwrap();
        all.push_str(&String::from_utf8_lossy(&body));
    }
    all
}

/// Plants a secret of every rule in everything that hooks are told of, and gives the secrets back.
fn tell_secrets(environment: &Environment) -> Vec<(&'static str, String)> {
    let mut secrets = Vec::new();
    for (call, rules) in RULES.chunks(AT_ONCE).enumerate() {
        let mut plant = |place: u64| {
            let mut text = String::new();
            for (number, rule) in rules.iter().enumerate() {
                let planted = planted(rule, place * 1000 + number as u64);
                text.push_str(&format!("see this\n{}\nand go on\n", planted.text));
                let found = planted.secrets.into_iter();
                secrets.extend(found.map(|secret| (rule.id, secret)));
            }
            text
        };
        let (call, id) = (call as u64, format!("id-{call}"));
        claude_hook(
            environment,
            &prompted(environment, 1, &id, &plant(call * 4)),
        );
        let mut used = tool_used(environment, 1, &id, &plant(call * 4 + 1));
        used["tool_response"]["stdout"] = plant(call * 4 + 2).into();
        claude_hook(environment, &used);
        let end = json!({"last_assistant_message": plant(call * 4 + 3)});
        claude_hook(environment, &told(environment, 1, "Stop", &end));
    }
    secrets
}

#[track_caller]
fn assert_gone(environment: &Home, secrets: &[(&str, String)]) {
    items(environment);
    let all = everything(environment);
    let shown = environment.run(&["show", &claude_id(1), "--json"]).stdout;
    for (rule, secret) in secrets {
        assert!(!all.contains(secret), "{rule}: {secret} is in the store");
        assert!(!shown.contains(secret), "{rule}: {secret} is shown");
    }
    assert!(shown.contains("and go on"), "{shown}");
}

#[test]
fn no_secret_reaches_the_store() {
    let environment = Home::new();
    let secrets = tell_secrets(&environment);
    assert!(secrets.len() > RULES.len());
    assert_gone(&environment, &secrets);
    assert_eq!(
        count(&environment, "tool_use"),
        RULES.len().div_ceil(AT_ONCE)
    );
}

#[test]
fn no_secret_reaches_the_spool() {
    let environment = Home::new();
    claude_hook(&environment, &prompted(&environment, 1, "p", "begin"));
    items(&environment);
    let other = Connection::open(environment.store().join("backstory.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let secrets = tell_secrets(&environment);
    assert!(spooled(&environment).len() >= 3 * RULES.len() / AT_ONCE);
    let all = everything(&environment);
    assert!(all.contains("and go on"));
    for (rule, secret) in &secrets {
        assert!(!all.contains(secret), "{rule}: {secret} is in the spool");
    }
    drop(other);
    assert_eq!(
        count(&environment, "tool_use"),
        RULES.len().div_ceil(AT_ONCE)
    );
    assert_gone(&environment, &secrets);
}

/// A secret that a long text is cut in is one whose half nobody would know any more.
#[test]
fn no_half_of_a_secret_is_left_where_text_is_cut() {
    let environment = Home::new();
    let rule = RULES
        .iter()
        .find(|rule| rule.id.contains("github"))
        .unwrap();
    let mut halves = Vec::new();
    // Text is cut somewhere in here, wherever that is.
    for kilobytes in 1..=20 {
        let mut text = String::new();
        let mut number = 0;
        while text.len() < 1024 {
            let planted = planted(rule, kilobytes * 100 + number);
            text.push_str(&format!("{} ", planted.text));
            let secret = &planted.secrets[0];
            halves.push(secret[..secret.len() / 2].to_string());
            halves.push(secret[secret.len() / 2..].to_string());
            number += 1;
        }
        let text = format!(
            "{}{text}{}",
            "some words ".repeat(93 * (kilobytes as usize - 1)),
            "more words ".repeat(93 * (21 - kilobytes as usize))
        );
        let mut used = tool_used(&environment, 1, &format!("toolu_{kilobytes}"), &text);
        used["tool_response"]["stdout"] = text.into();
        claude_hook(&environment, &used);
    }
    let all = everything(&environment);
    assert!(all.contains("bytes left out"), "nothing was cut");
    // What every such secret begins with is no secret.
    halves.retain(|half| half.len() >= 12);
    assert!(halves.len() > 100);
    for half in halves {
        assert!(!all.contains(&half), "{half} is in the store");
    }
}

#[test]
fn no_secret_reaches_the_log_of_events() {
    let environment = Home::new();
    let rule = RULES
        .iter()
        .find(|rule| rule.id.contains("github"))
        .unwrap();
    let planted = planted(rule, 7);
    let odd = [
        json!(planted.text).to_string(),
        json!([planted.text]).to_string(),
        format!("{{\"prompt\": {}", json!(planted.text)),
        format!("{} = {}", planted.text, planted.text),
        json!({"hook_event_name": planted.text, "session_id": [planted.text]}).to_string(),
    ];
    for input in odd {
        assert_harmless(&environment.feed(&["hook", "Stop"], input.as_bytes()));
        assert_harmless(&environment.feed(&["hook"], input.as_bytes()));
    }
    assert_eq!(super::logged(&environment).len(), 10);
    let all = everything(&environment);
    for secret in planted.secrets {
        assert!(!all.contains(&secret), "{all}");
    }
}

#[track_caller]
fn forget(environment: &Environment, session: u32) -> Value {
    let report = environment.json(&["forget", &claude_id(session), "--yes"]);
    assert_eq!(report["proof"]["found"], 0, "{report:#}");
    report
}

#[track_caller]
fn assert_forgotten(environment: &Environment, session: u32, words: &str) {
    let all = everything(environment);
    assert!(!all.contains(words), "its words are there");
    assert!(!all.contains(&claude_id(session)), "its name is there");
    let shown = environment.run(&["show", &claude_id(session)]);
    assert_eq!(shown.code, 1, "{}", shown.stdout);
}

#[test]
fn a_session_that_was_only_captured_is_forgotten_without_a_trace() {
    let environment = Home::new();
    let words = "platypus confidential";
    claude_hook(&environment, &prompted(&environment, 1, "p1", words));
    claude_hook(&environment, &tool_used(&environment, 1, "toolu_1", words));
    let end = json!({"last_assistant_message": words});
    claude_hook(&environment, &told(&environment, 1, "Stop", &end));
    claude_hook(&environment, &prompted(&environment, 2, "p1", "another"));
    assert!(everything(&environment).contains(words));
    forget(&environment, 1);
    assert_forgotten(&environment, 1, words);
    assert_eq!(environment.events(&claude_id(2)), ["prompt: another"]);
    assert_eq!(items(&environment).len(), 1);
    assert_eq!(environment.run(&["doctor"]).code, 0);
}

#[test]
fn what_is_forgotten_is_not_captured_again() {
    let environment = Home::new();
    let words = "platypus confidential";
    environment.claude(1, &[prompt(1, 0, words)]);
    environment.sweep();
    claude_hook(&environment, &tool_used(&environment, 1, "toolu_1", words));
    forget(&environment, 1);
    claude_hook(&environment, &prompted(&environment, 1, "p2", words));
    claude_hook(&environment, &tool_used(&environment, 1, "toolu_2", words));
    let end = json!({"last_assistant_message": words});
    claude_hook(&environment, &told(&environment, 1, "Stop", &end));
    environment.json(&["queue", "run"]);
    environment.sweep();
    assert_forgotten(&environment, 1, words);
    assert_eq!(items(&environment).len(), 0);
    assert!(environment.home().join(claude_path(1)).exists());
}

#[test]
fn what_waits_in_the_spool_is_forgotten_too() {
    let environment = Home::new();
    let words = "platypus confidential";
    claude_hook(&environment, &prompted(&environment, 1, "p1", words));
    claude_hook(&environment, &prompted(&environment, 2, "p1", "another"));
    assert_eq!(items(&environment).len(), 2);
    let other = Connection::open(environment.store().join("backstory.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    claude_hook(&environment, &prompted(&environment, 1, "p2", words));
    claude_hook(&environment, &prompted(&environment, 2, "p2", "once more"));
    drop(other);
    assert_eq!(spooled(&environment).len(), 2);
    forget(&environment, 1);
    assert_forgotten(&environment, 1, words);
    assert_eq!(count(&environment, "prompt"), 2);
    // What is put there afterwards by a hook that could not look does not come back either.
    let other = Connection::open(environment.store().join("backstory.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    claude_hook(&environment, &prompted(&environment, 1, "p3", words));
    drop(other);
    assert_eq!(count(&environment, "prompt"), 2);
    assert_forgotten(&environment, 1, words);
}

#[test]
fn what_the_log_of_events_says_of_it_is_forgotten_too() {
    let environment = Home::new();
    claude_hook(
        &environment,
        &prompted(&environment, 1, "p1", "a secret plan"),
    );
    let log = environment.store().join("logs/events.jsonl");
    let line = json!({"at": "2026-11-16T12:00:00Z", "name": "hook.capture", "error": format!("{}.jsonl cannot be read", claude_id(1))});
    let other = json!({"at": "2026-11-16T12:00:00Z", "name": "hook.capture", "event": "Stop"});
    let before = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, format!("{before}{line}\n{other}\n")).unwrap();
    std::fs::write(
        log.with_file_name("events-2026-11-15.jsonl"),
        format!("{line}\n"),
    )
    .unwrap();
    forget(&environment, 1);
    assert_forgotten(&environment, 1, "a secret plan");
    // The others stay.
    assert!(
        std::fs::read_to_string(&log)
            .unwrap()
            .contains(&other.to_string())
    );
}
