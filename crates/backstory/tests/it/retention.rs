//! Caps, pins, eviction and forgetting, as a user meets them.

use std::io::Write;

use crate::environment::{Environment, claude_id, claude_path, prompt, reply};
use crate::meaning::with_model;

/// Text that does not compress.
fn noise(seed: u32, words: u32) -> String {
    let mut state = u64::from(seed) + 1;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        format!("{:x} ", state >> 20)
    };
    (0..words).map(|_| next()).collect()
}

/// A word that each session alone says.
const TOPICS: [&str; 6] = ["", "anchor", "beacon", "candle", "dagger", "ember"];

/// Five swept sessions; the higher the number, the newer.
fn five() -> Environment {
    let environment = Environment::new();
    for session in 1..=5 {
        let text = format!("{} {}", TOPICS[session as usize], noise(session, 3_000));
        environment.claude(
            session,
            &[
                prompt(session, session * 100, &text),
                reply(session, session * 100 + 1, "noted", 5),
            ],
        );
    }
    environment.sweep();
    environment
}

fn set(environment: &Environment, key: &str, value: &str) {
    let outcome = environment.run(&["config", "set", &format!("retention.{key}"), value]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
}

#[test]
fn without_caps_nothing_goes() {
    let environment = five();
    let retention = &environment.sweep()["retention"];
    assert_eq!(
        retention["evicted"],
        serde_json::json!({"max_age": 0, "soft_cap": 0, "hard_cap": 0})
    );
    assert_eq!(
        (
            retention["freed_bytes"].as_u64(),
            retention["data_loss"].as_bool()
        ),
        (Some(0), Some(false))
    );
    assert!(retention["final_usage_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn a_soft_cap_evicts_the_oldest_and_keeps_what_is_pinned() {
    let environment = five();
    let pinned = environment.json(&["retain", "--pin", &claude_id(1)]);
    assert_eq!(
        (pinned["session"].as_str(), pinned["pinned"].as_bool()),
        (Some(&*claude_id(1)), Some(true))
    );
    set(&environment, "raw_soft_cap_bytes", "0.1 MB");
    let plan = environment.json(&["retain", "--dry-run"]);
    let of_plan: Vec<&str> = plan["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|gone| gone["session"].as_str().unwrap())
        .collect();
    assert_eq!(of_plan[0], claude_id(2));
    assert_eq!(plan["sessions"][0]["pass"], "soft_cap");
    assert_eq!(environment.json(&["show", &claude_id(2)])["evicted"], false);
    let retention = environment.sweep()["retention"].clone();
    assert!(retention["evicted"]["soft_cap"].as_u64().unwrap() >= 1);
    assert!(retention["freed_bytes"].as_u64().unwrap() > 0);
    assert_eq!(retention["data_loss"], false);
    let evicted = environment.json(&["show", &claude_id(2)]);
    assert_eq!(
        (
            evicted["evicted"].as_bool(),
            evicted["events"].as_array().map(Vec::len)
        ),
        (Some(true), Some(0))
    );
    assert!(evicted["evicted_at"].is_string());
    assert_eq!(environment.json(&["show", &claude_id(1)])["evicted"], false);
    // What is left of it: its tokens, its title, and an honest word.
    assert_eq!(environment.json(&["usage"])["totals"]["output"], 25);
    assert_eq!(environment.found(&["beacon"]), ["2#1"]);
    let shown = environment.run(&["show", &claude_id(2)]);
    assert!(
        shown.code == 0 && shown.stderr.contains("was evicted on"),
        "{}",
        shown.stderr
    );
    let original = environment.run(&["show", &claude_id(2), "--format", "original"]);
    assert!(
        original.code == 1 && original.stderr.contains("retain --restore"),
        "{}",
        original.stderr
    );
    assert_eq!(environment.run(&["doctor"]).code, 0);
}

#[test]
fn an_evicted_session_is_restored_from_its_log() {
    let environment = five();
    let before = environment.json(&["show", &claude_id(1)]);
    set(&environment, "raw_soft_cap_bytes", "1");
    environment.sweep();
    assert_eq!(environment.json(&["show", &claude_id(1)])["evicted"], true);
    let restored = environment.json(&["retain", "--restore", &claude_id(1)]);
    assert_eq!(restored["files"].as_array().unwrap().len(), 1);
    environment.sweep();
    let after = environment.json(&["show", &claude_id(1)]);
    assert_eq!(
        (&after["events"], &after["usage"]),
        (&before["events"], &before["usage"])
    );
    assert_eq!(after["pinned"], true);
    std::fs::remove_file(environment.home().join(claude_path(2))).unwrap();
    let gone = environment.run(&["retain", "--restore", &claude_id(2)]);
    assert!(
        gone.code == 1 && gone.stderr.contains("not there any more"),
        "{}",
        gone.stderr
    );
}

#[test]
fn caps_are_read_as_people_write_them() {
    let environment = Environment::new();
    for good in ["1000", "\"10 GB\"", "1.5MiB"] {
        set(&environment, "raw_hard_cap_bytes", good);
    }
    let config = environment.json(&["config"]);
    assert_eq!(
        config["config"]["retention"]["raw_hard_cap_bytes"],
        1_572_864
    );
    // The table need not be named.
    let outcome = environment.run(&["config", "set", "raw_soft_cap_bytes", "5 MB"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let config = environment.json(&["config"]);
    let retention = &config["config"]["retention"];
    assert_eq!(
        (
            &retention["raw_soft_cap_bytes"],
            &retention["raw_hard_cap_bytes"]
        ),
        (&5_000_000.into(), &1_572_864.into())
    );
    for bad in ["much", "-5", "10 parsecs"] {
        let outcome = environment.run(&["config", "set", "retention.raw_hard_cap_bytes", bad]);
        assert_eq!(outcome.code, 2, "{bad}");
    }
}

#[test]
fn forgetting_asks_first_and_leaves_nothing_behind() {
    let environment = five();
    let marker = "krakatoaobservatory";
    environment.claude(7, &[prompt(7, 900, &format!("about {marker}"))]);
    environment.sweep();
    let refused = environment.run(&["forget", &claude_id(7)]);
    assert!(
        refused.code == 2 && refused.stderr.contains("--yes"),
        "{}",
        refused.stderr
    );
    let plan = environment.json(&["forget", "--query", marker, "--dry-run"]);
    assert_eq!(plan["sessions"][0]["session"], claude_id(7));
    assert_eq!(environment.found(&[marker]), ["7#1"]);
    let report = environment.json(&["forget", "--query", marker, "--yes"]);
    assert_eq!(report["proof"]["found"], 0);
    assert!(report["proof"]["files_searched"].as_u64().unwrap() > 0);
    for _ in 0..2 {
        for (path, bytes) in environment.stored_files() {
            for trace in [marker, &claude_id(7)] {
                let found = bytes
                    .windows(trace.len())
                    .any(|window| window == trace.as_bytes());
                assert!(!found, "{trace} in {}", path.display());
            }
        }
        let swept = environment.sweep();
        assert_eq!(
            (swept["events"].as_u64(), swept["ingested"].as_u64()),
            (Some(0), Some(0))
        );
        assert_eq!(swept["skipped_unchanged"], 6);
    }
    assert_eq!(environment.run(&["show", &claude_id(7)]).code, 1);
    assert_eq!(
        environment
            .run(&["forget", "--query", marker, "--yes"])
            .code,
        1
    );
    assert_eq!(environment.run(&["doctor"]).code, 0);
    // All that is left of a project at once.
    let report = environment.json(&["forget", "--project", "/home/ada/shop", "--yes"]);
    assert_eq!(report["sessions"].as_array().unwrap().len(), 5);
    assert_eq!(
        environment.json(&["sessions"])["sessions"],
        serde_json::json!([])
    );
}

#[test]
fn vectors_go_with_what_they_are_of() {
    let environment = with_model();
    let meant = |environment: &Environment, query| {
        let found = environment.found(&[query, "--mode", "semantic"]);
        found.first().cloned()
    };
    let vectors = |environment: &Environment| {
        let files = environment.stored_files().into_iter();
        let vectors = files.filter(|(path, _)| {
            path.extension()
                .is_some_and(|extension| extension == "vectors")
        });
        vectors.map(|(_, bytes)| bytes.len()).sum::<usize>()
    };
    assert_eq!(meant(&environment, "car bug").as_deref(), Some("1#1"));
    for session in [2, 3] {
        environment.json(&["retain", "--pin", &claude_id(session)]);
    }
    set(&environment, "raw_soft_cap_bytes", "1");
    let before = vectors(&environment);
    assert_eq!(environment.sweep()["retention"]["evicted"]["soft_cap"], 1);
    assert_ne!(meant(&environment, "car bug").as_deref(), Some("1#1"));
    assert!(vectors(&environment) < before, "{before}");
    assert_eq!(environment.json(&["embed", "--status"])["pending"], 0);
    // What it says next has vectors again.
    let path = environment.home().join(claude_path(1));
    let mut log = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    log.write_all(prompt(1, 190, "another automobile").as_bytes())
        .unwrap();
    set(&environment, "raw_soft_cap_bytes", "1 GB");
    environment.sweep();
    assert_eq!(meant(&environment, "car").as_deref(), Some("1#2"));
    // And what is forgotten has none.
    assert_eq!(meant(&environment, "image sea").as_deref(), Some("2#1"));
    let before = vectors(&environment);
    assert_eq!(
        environment.json(&["forget", &claude_id(2), "--yes"])["proof"]["found"],
        0
    );
    assert_ne!(meant(&environment, "image sea").as_deref(), Some("2#1"));
    assert!(vectors(&environment) < before);
}
