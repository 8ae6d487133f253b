//! The event log: what each command leaves in it, in files and in the database.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::environment::{Environment, claude_id, prompt, record, reply};

/// A session in which a cart is fixed, and its file.
fn shop() -> Environment {
    let environment = Environment::new();
    let write = json!({"file_path": "/home/ada/shop/cart.py", "content": "def total(items):\n    return sum(items)\n\n\ndef clear():\n    pass\n"});
    let call = json!([{"type": "tool_use", "id": "call-1", "name": "Write", "input": write}]);
    let result =
        json!([{"type": "tool_result", "tool_use_id": "call-1", "content": "File created"}]);
    environment.claude(
        1,
        &[
            prompt(1, 0, "write a zebra cart"),
            record(
                1,
                1,
                "assistant",
                &json!({"role": "assistant", "content": call}),
            ),
            record(1, 2, "user", &json!({"role": "user", "content": result})),
            reply(1, 3, "The zebra cart is there.", 5),
        ],
    );
    environment.claude(2, &[prompt(2, 10, "is the zebra striped?")]);
    environment.sweep();
    environment
}

/// Events of a type.
fn events(environment: &Environment, event_type: &str) -> Vec<Value> {
    let mut events = environment.logged_events();
    events.retain(|event| event["event_type"] == event_type);
    events
}

/// The last event of a type, whose columns and status must be there.
#[track_caller]
fn last(environment: &Environment, event_type: &str) -> Value {
    let event = events(environment, event_type).pop().unwrap();
    let names: Vec<&String> = event.as_object().unwrap().keys().collect();
    let columns = [
        "data",
        "duration_ms",
        "event_type",
        "session_id",
        "timestamp",
        "tokens_in",
        "tokens_out",
    ];
    assert_eq!(names, columns);
    assert!(["success", "error"].contains(&event["data"]["status"].as_str().unwrap()));
    assert!(event["data"].get("error").is_some(), "{event}");
    event
}

/// Fields of the data of an event.
fn fields(event: &Value, names: &[&str]) -> Vec<Value> {
    names
        .iter()
        .map(|name| event["data"][name].clone())
        .collect()
}

#[test]
fn a_sweep_logs_its_passes_and_what_it_parsed() {
    let environment = shop();
    let sweep = last(&environment, "sweep.done");
    assert_eq!(fields(&sweep, &["files", "events"]), [json!(2), json!(5)]);
    assert!(sweep["data"]["bytes"].as_u64() > Some(100));
    assert!(sweep["data"]["seconds"].as_f64() > Some(0.0));
    let passes: Vec<&str> = sweep["data"]["passes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pass| pass["pass"].as_str().unwrap())
        .collect();
    let expected = [
        "discover",
        "import",
        "digest",
        "index",
        "code",
        "checksums",
        "retain",
    ];
    assert_eq!(passes, expected);
    let scan = last(&environment, "ast.scan");
    let counts = ["file", "functions_found", "new", "modified", "deleted"];
    assert_eq!(
        fields(&scan, &counts),
        [json!("cart.py"), json!(2), json!(2), json!(0), json!(0)]
    );
    assert_eq!(scan["session_id"], claude_id(1));
    let retain = last(&environment, "retain.done");
    assert_eq!(retain["data"]["data_loss"], false);
    assert_eq!(retain["data"]["evicted"]["soft_cap"], 0);
    assert!(retain["data"]["final_usage_bytes"].as_u64() > Some(1000));
    environment.json(&["retain"]);
    assert_eq!(events(&environment, "retain.done").len(), 2);
}

#[test]
fn a_search_is_logged_by_what_was_used_and_without_its_words() {
    let environment = shop();
    environment.json(&["search", "zebra"]);
    let query = last(&environment, "search.query");
    // There is no model, so a hybrid search goes by words.
    assert_eq!(
        fields(&query, &["type", "result_count"]),
        [json!("keyword"), json!(2)]
    );
    assert!(query["data"]["top_score"].as_f64() > Some(0.0), "{query}");
    environment.json(&["search", "zebra", "--regex"]);
    assert_eq!(last(&environment, "search.query")["data"]["type"], "regex");
    assert_eq!(environment.run(&["search", "ze[bra", "--regex"]).code, 2);
    let failed = last(&environment, "search.query");
    assert_eq!(
        fields(&failed, &["status", "error"]),
        [json!("error"), json!("wrong usage")]
    );
    let log = std::fs::read_to_string(environment.store().join("logs/events.jsonl")).unwrap();
    assert!(!log.contains("zebra") && !log.contains("bra"), "{log}");
}

#[test]
fn the_hit_that_is_opened_next_is_logged_once() {
    let environment = shop();
    let found = environment.json(&["search", "zebra"]);
    let second = found["hits"][1].clone();
    let turn = format!("{}#{}", second["session"].as_str().unwrap(), second["turn"]);
    environment.json(&["show", &turn]);
    environment.json(&["show", &turn]);
    let opened = events(&environment, "search.result");
    assert_eq!(opened.len(), 1);
    assert_eq!(
        fields(&opened[0], &["session", "turn", "rank"]),
        [second["session"].clone(), second["turn"].clone(), json!(2)]
    );
    assert_eq!(opened[0]["session_id"], second["session"]);
    environment.json(&["show", &claude_id(1)]);
    environment.json(&["show", &claude_id(2)]);
    assert_eq!(events(&environment, "search.result").len(), 3);
}

#[test]
fn contexts_and_sizes_of_observations_are_logged() {
    let environment = shop();
    environment.json(&["context", "--project", "/home/ada/shop"]);
    let budget = last(&environment, "context.token_budget");
    assert_eq!(budget["data"]["budget"], 2000);
    assert_eq!(budget["data"]["total_tokens"], budget["tokens_out"]);
    assert!(budget["tokens_out"].as_u64() > Some(20), "{budget}");
    let layers = budget["data"]["layers_included"].as_array().unwrap();
    assert!(layers.contains(&json!("sessions")), "{budget}");
    environment.json(&["observations", "00000001", "--size", "detail"]);
    let size = last(&environment, "context.progressive");
    assert_eq!(size["data"]["size"], "detail");
    assert_eq!(size["session_id"], claude_id(1));
}

/// Rows of the documented view.
pub(crate) fn rows(environment: &Environment) -> Vec<Value> {
    let database = Connection::open(environment.store().join("backstory.db")).unwrap();
    let query = "SELECT timestamp, session_id, event_type, data, duration_ms, tokens_in, tokens_out FROM event_log ORDER BY timestamp";
    let mut statement = database.prepare(query).unwrap();
    let rows = statement.query_map([], |row| {
        let data: String = row.get(3)?;
        Ok(json!({
            "timestamp": row.get::<_, String>(0)?,
            "session_id": row.get::<_, Option<String>>(1)?,
            "event_type": row.get::<_, String>(2)?,
            "data": serde_json::from_str::<Value>(&data).unwrap(),
            "duration_ms": row.get::<_, Option<f64>>(4)?,
            "tokens_in": row.get::<_, Option<u64>>(5)?,
            "tokens_out": row.get::<_, Option<u64>>(6)?,
        }))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn the_database_has_what_the_files_say() {
    let environment = shop();
    environment.json(&["search", "zebra"]);
    environment.json(&["context", "--project", "/home/ada/shop"]);
    let mut logged = environment.logged_events();
    environment.sweep();
    let rows = rows(&environment);
    logged.sort_by_key(|event| event["timestamp"].as_str().unwrap().to_string());
    assert!(logged.len() >= 5);
    for event in &logged {
        assert!(rows.contains(event), "{event}\n{rows:#?}");
    }
    assert_eq!(environment.run(&["doctor", "--deep"]).code, 0);
}

#[test]
fn nothing_of_a_forgotten_session_is_left() {
    let environment = shop();
    environment.json(&["search", "zebra"]);
    environment.json(&["show", &claude_id(1)]);
    environment.json(&["observations", &claude_id(1)]);
    environment.sweep();
    assert!(
        rows(&environment)
            .iter()
            .any(|row| row["session_id"] == claude_id(1))
    );
    environment.json(&["forget", &claude_id(1), "--yes"]);
    let left = |text: &str| text.contains(&claude_id(1));
    assert!(!rows(&environment).iter().any(|row| left(&row.to_string())));
    let lines = environment.logged_events();
    assert!(!lines.iter().any(|line| left(&line.to_string())));
    assert!(!lines.is_empty());
}
