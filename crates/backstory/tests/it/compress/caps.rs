//! What may be spent in a day, to the token.

use std::process::Stdio;

use serde_json::json;

use super::server::{INPUT_TOKENS, OUTPUT_TOKENS, Reply, Server, TOKENS, message};
use super::{Desk, EVER};

/// The most that a request about one of the tool uses can take: all are of the same length.
fn most(desk: &Desk) -> (u64, u64) {
    let dry = [&["compress", "--dry-run", "--limit", "1"][..], &EVER].concat();
    let most = &desk.json(&dry)["most"];
    let usd = most["usd"].as_f64().unwrap();
    (most["tokens"].as_u64().unwrap(), (usd * 1e6).round() as u64)
}

#[test]
fn the_last_request_that_fits_is_sent_and_none_after_it() {
    let check = |cap: &dyn Fn(u64, u64) -> String, requests: usize, capped: &str| {
        let desk = Desk::new(6, Server::good());
        let (tokens, micro_usd) = most(&desk);
        desk.configure(&format!("summaries = []\n{}", cap(tokens, micro_usd)));
        let report = desk.compressed();
        assert_eq!(desk.server.requests().len(), requests);
        assert_eq!(report["observed"], requests);
        assert_eq!(report["capped"], capped);
        // Nor is more sent the next time.
        assert_eq!(desk.compressed()["requests"], 0);
        assert_eq!(desk.server.requests().len(), requests);
        assert_eq!(
            desk.state()["pending"]["observations"],
            0,
            "only of what came since"
        );
        // And the prompt.
        assert_eq!(desk.state()["raw"], 6 - requests + 1);
    };
    let tokens = |more: u64, less: u64| {
        move |most: u64, _: u64| format!("daily_tokens = {}", more + most - less)
    };
    check(&tokens(3 * TOKENS, 0), 4, "daily_tokens");
    check(&tokens(3 * TOKENS, 1), 3, "daily_tokens");
    check(&tokens(0, 0), 1, "daily_tokens");
    check(&tokens(0, 1), 0, "daily_tokens");
    // A dollar a million in, five out.
    let each = INPUT_TOKENS + 5 * OUTPUT_TOKENS;
    let money = |less: u64| {
        move |_: u64, most: u64| format!("daily_usd = {}", (2 * each + most - less) as f64 / 1e6)
    };
    check(&money(0), 3, "daily_usd");
    check(&money(1), 2, "daily_usd");
    check(&|_, _| "daily_usd = 0".to_string(), 0, "daily_usd");
    check(&|_, _| "daily_tokens = 0".to_string(), 0, "daily_tokens");
}

#[test]
fn no_number_of_processes_passes_a_cap_or_asks_twice() {
    let desk = Desk::new(20, Server::good());
    let (most, _) = most(&desk);
    let cap = 11 * TOKENS + most;
    desk.configure(&format!("summaries = []\ndaily_tokens = {cap}"));
    let arguments = [&["compress", "--pending", "--json"][..], &EVER].concat();
    let start = || {
        desk.command(&arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let running: Vec<_> = (0..5).map(|_| start()).collect();
    for process in running {
        assert!(process.wait_with_output().unwrap().status.success());
    }
    let requests = desk.server.requests();
    // The last that fits was sent, and all that were sent keep within the cap.
    assert_eq!(requests.len(), 12);
    assert!(12 * TOKENS <= cap);
    let mut shown: Vec<&str> = requests
        .iter()
        .map(|request| request.shown().split_once('\n').unwrap().1)
        .collect();
    shown
        .iter_mut()
        .for_each(|text| *text = text.rsplit_once('\n').unwrap().0);
    shown.sort_unstable();
    shown.dedup();
    assert_eq!(shown.len(), 12, "each was asked about once");
    assert_eq!(desk.count("SELECT COUNT(*) FROM observations"), 12);
    assert_eq!(desk.state()["today"]["tokens"], 12 * TOKENS);
}

#[test]
fn an_answer_that_does_not_tell_what_it_took_counts_as_the_most() {
    let desk = Desk::new(
        3,
        Server::new(|request, _| {
            let mut answer = message(
                request,
                &json!({"title": "a", "summary": "b", "detail": "c"}),
            );
            answer.as_object_mut().unwrap().remove("usage");
            Reply::json(200, &answer)
        }),
    );
    let (most, _) = most(&desk);
    desk.configure(&format!("summaries = []\ndaily_tokens = {}", 3 * most - 1));
    assert_eq!(desk.compressed()["observed"], 2);
    assert_eq!(desk.state()["today"]["tokens"], 2 * most);
}

#[test]
fn an_answer_that_claims_too_much_ends_the_day() {
    let desk = Desk::new(
        3,
        Server::new(|request, _| {
            let mut answer = message(
                request,
                &json!({"title": "a", "summary": "b", "detail": "c"}),
            );
            answer["usage"]["input_tokens"] = json!(u64::MAX);
            Reply::json(200, &answer)
        }),
    );
    let report = desk.compressed();
    assert_eq!(
        (&report["observed"], &report["capped"]),
        (&json!(1), &json!("daily_tokens"))
    );
}

#[test]
fn a_price_that_nobody_knows_is_asked_for() {
    let desk = Desk::new(1, Server::good());
    desk.configure("summaries = []\nobservations = \"claude-next-9\"");
    let outcome = desk.compress();
    assert_eq!(outcome.code, 2);
    assert!(
        outcome
            .stderr
            .contains("hint: set compress.prices.\"claude-next-9\""),
        "{}",
        outcome.stderr
    );
    assert_eq!(desk.server.connections(), 0);
    desk.configure("summaries = []\nobservations = \"claude-next-9\"\n[compress.prices.\"claude-next-9\"]\ninput = 2\noutput = 10");
    assert_eq!(desk.compressed()["took"]["usd"], 0.002);
    let desk = Desk::new(1, Server::good());
    desk.configure("summaries = []\nobservations = \"claude-next-9\"\ndaily_usd = \"none\"");
    assert_eq!(desk.compressed()["observed"], 1);
}
