//! What stays when a process is killed, a session is forgotten, or the store is of an earlier version.

use std::time::{Duration, Instant};

use serde_json::json;

use super::server::{Reply, Server, TOKENS};
use super::{Desk, EVER};
use crate::environment::claude_id;

#[test]
fn a_run_that_is_killed_loses_nothing_and_doubles_nothing() {
    let desk = Desk::new(
        4,
        Server::new(|request, before| {
            if before == 2 {
                Reply::never()
            } else {
                Reply::good(request)
            }
        }),
    );
    let most = desk.json(&[&["compress", "--dry-run", "--limit", "1"][..], &EVER].concat());
    let most = most["most"]["tokens"].as_u64().unwrap();
    let mut command = desk.command(&[&["compress", "--pending"][..], &EVER].concat());
    let mut child = command.spawn().unwrap();
    let started = Instant::now();
    while desk.server.requests().len() < 3 {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let state = desk.state();
    assert_eq!(
        (&state["compressed"], &state["raw"]),
        // Two tool uses and the prompt.
        (&json!(2), &json!(3))
    );
    assert_eq!(state["today"]["tokens"], 2 * TOKENS + most);
    let report = desk.compressed();
    assert_eq!(
        (&report["observed"], &report["requests"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(desk.state()["today"]["tokens"], 4 * TOKENS + most);
    assert_eq!(
        desk.count("SELECT COUNT(DISTINCT seq) FROM observations"),
        4
    );
    assert_eq!(
        desk.count("SELECT COUNT(*) FROM compressions WHERE error = 'interrupted'"),
        1
    );
}

#[test]
fn a_session_that_is_forgotten_leaves_only_what_it_cost() {
    let desk = Desk::new(
        2,
        Server::new(|request, _| {
            let other = claude_id(1);
            let fields = if request.is_summary() {
                json!({"title": "Zanzibar", "summary": format!("Goes on from {other}.")})
            } else {
                json!({"title": "Zanzibar", "summary": "Zanzibar.", "detail": format!("Of {other}.")})
            };
            Reply::call(request, &fields)
        }),
    );
    desk.session(2, 2);
    desk.environment.sweep();
    desk.configure("");
    assert_eq!(desk.compressed()["requests"], 6);
    let forgotten = desk.json(&["forget", &claude_id(1), "--yes"]);
    assert_eq!(forgotten["proof"]["found"], 0, "{forgotten:#}");
    assert_eq!(desk.count("SELECT COUNT(*) FROM observations"), 2);
    assert_eq!(desk.count("SELECT COUNT(*) FROM summaries"), 1);
    assert_eq!(
        desk.count("SELECT COUNT(*) FROM compressions WHERE about IS NULL AND seq IS NULL"),
        3
    );
    assert_eq!(desk.state()["today"]["tokens"], 6 * TOKENS);
    // What others say of it is masked.
    let summary = desk.json(&["digest", &claude_id(2)])["summary"].to_string();
    assert!(
        summary.contains("Zanzibar") && !summary.contains(&claude_id(1)),
        "{summary}"
    );
}

#[test]
fn what_a_model_wrote_stays_when_the_text_goes() {
    let desk = Desk::new(2, Server::good());
    desk.configure("[retention]\nraw_soft_cap_bytes = 1");
    desk.compressed();
    let report = desk.environment.sweep();
    assert_eq!(report["retention"]["evicted"]["soft_cap"], 1);
    assert_eq!(desk.state()["compressed"], 2);
    assert_eq!(
        desk.json(&["digest", &claude_id(1)])["summary"]["title"],
        "Counting the till"
    );
    assert_eq!(desk.compressed()["requests"], 0);
    // The built-in compressor has nothing to be compared by any more.
    assert_eq!(
        desk.json(&["report", "--eval"])["tiers"][0]["models"][1]["items"],
        0
    );
}
