//! Two models side by side.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Desk;
use super::server::{Reply, Request, Server};

const TWO: &str =
    "summaries = []\nobservations = [\"claude-haiku-4-5\", \"claude-3-haiku-20240307\"]";

/// What tool uses were shown to which model.
fn halves(desk: &Desk) -> BTreeMap<String, String> {
    let requests = desk.server.requests();
    let half = |request: &Request| {
        let till = request.shown().split("till ").nth(1).unwrap();
        (till[..3].to_string(), request.model().to_string())
    };
    requests.iter().map(half).collect()
}

fn desk(uses: u32, server: Server) -> Desk {
    let desk = Desk::new(uses, server);
    desk.configure(TWO);
    desk.compressed();
    desk
}

#[test]
fn two_models_take_half_each_and_the_same_half_in_another_store() {
    let first = halves(&desk(24, Server::good()));
    assert_eq!(first.len(), 24);
    for model in ["claude-haiku-4-5", "claude-3-haiku-20240307"] {
        let items = first.values().filter(|known| *known == model).count();
        assert!((6..=18).contains(&items), "{model} {items}");
    }
    assert_eq!(halves(&desk(24, Server::good())), first);
}

#[test]
fn nothing_to_compare_says_so() {
    let desk = Desk::new(1, Server::good());
    let outcome = desk.run(&["report", "--eval"]);
    assert_eq!(outcome.code, 1);
    assert!(
        outcome.stderr.contains("hint: `backstory compress --help`"),
        "{}",
        outcome.stderr
    );
}

/// One model says what it sees, the other makes numbers up and fails at times.
fn teller(request: &Request) -> Reply {
    let fields = |said: &str| json!({"title": "Counted the till", "summary": said, "detail": "Nothing else."});
    if request.model() == "claude-haiku-4-5" {
        return Reply::call(request, &fields("It has 12 coins."));
    }
    if request.shown().contains("till 000") || request.shown().contains("till 001") {
        return Reply::error(200).with("Content-Type", "application/json");
    }
    Reply::call(
        request,
        &fields("It has 99 coins and 7 notes, or so it says."),
    )
}

#[test]
fn models_are_compared_by_what_they_wrote() {
    let desk = desk(64, Server::new(|request, _| teller(request)));
    let report = desk.json(&["report", "--eval"]);
    let tier = &report["tiers"][0];
    assert_eq!(tier["tier"], "observations");
    let model = |name: &str| {
        let models = tier["models"].as_array().unwrap().iter();
        models
            .clone()
            .find(|model| model["model"] == name)
            .unwrap()
            .clone()
    };
    let (good, bad, ours) = (
        model("claude-haiku-4-5"),
        model("claude-3-haiku-20240307"),
        model("built-in"),
    );
    assert_eq!(good["faithfulness"], 1.0);
    assert_eq!(bad["faithfulness"], 0.0);
    assert_eq!(good["usd_per_1000"], 1.0);
    let items = |model: &Value| model["items"].as_u64().unwrap();
    assert!(items(&good) >= 20 && items(&bad) >= 20, "{tier:#}");
    assert_eq!(items(&ours), items(&good) + items(&bad));
    assert!(good["latency_ms"]["p95"].as_u64() >= good["latency_ms"]["p50"].as_u64());
    let better = |dimension: &str| {
        let all = tier["better"].as_array().unwrap().iter();
        all.clone()
            .find(|better| better["dimension"] == dimension)
            .unwrap()["model"]
            .clone()
    };
    assert_eq!(better("faithfulness"), "claude-haiku-4-5");
    assert_eq!(better("compression"), "claude-haiku-4-5");
    assert_eq!(better("cost"), "claude-3-haiku-20240307");
    assert_eq!(better("coverage"), Value::Null);
    let text = desk.run(&["report", "--eval"]).stdout;
    assert!(
        text.contains("faithfulness: claude-haiku-4-5 is better"),
        "{text}"
    );
}

#[test]
fn nobody_is_better_by_a_few_items() {
    let desk = desk(12, Server::new(|request, _| teller(request)));
    let report = desk.json(&["report", "--eval"]);
    let better = report["tiers"][0]["better"].as_array().unwrap();
    assert!(
        better.iter().all(|better| better["model"].is_null()),
        "{better:?}"
    );
}
