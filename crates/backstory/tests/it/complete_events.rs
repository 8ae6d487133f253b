//! Everything that an event says reaches `show --json`, `sessions --json` and filters.

use serde_json::{Value, json};

use crate::environment::{Environment, claude_id, claude_path};

/// A prompt, a message of two records with a tool call, and the result of the call.
fn log() -> String {
    let session = claude_id(1);
    let common = |uuid: &str, parent: Option<&str>, second: u32| {
        json!({"uuid": uuid, "parentUuid": parent, "sessionId": session, "cwd": "/home/ada/shop", "version": "2.1.9",
            "gitBranch": "till", "timestamp": format!("2026-02-03T04:05:{second:02}.000Z"), "isSidechain": false})
    };
    let with = |mut record: Value, more: Value| {
        let fields = more.as_object().unwrap().clone();
        record.as_object_mut().unwrap().extend(fields);
        record.to_string()
    };
    let message = |content: Value, output: u64| {
        json!({"type": "assistant", "requestId": "req_1", "message": {"id": "msg_1", "role": "assistant", "model": "claude-test",
            "stop_reason": "tool_use", "content": [content], "usage": {"input_tokens": 3, "output_tokens": output,
            "cache_read_input_tokens": 50, "cache_creation_input_tokens": 30, "service_tier": "standard",
            "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
            "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 1}}}})
    };
    let records = [
        with(
            common("u-1", None, 0),
            json!({"type": "user", "permissionMode": "plan", "message": {"role": "user", "content": "count the coins"}}),
        ),
        with(
            common("u-2", Some("u-1"), 2),
            message(json!({"type": "text", "text": "I look."}), 5),
        ),
        with(
            common("u-3", Some("u-2"), 3),
            message(
                json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls till", "timeout": 9}}),
                40,
            ),
        ),
        with(
            common("u-4", Some("u-3"), 7),
            json!({"type": "user", "message": {"role": "user", "content":
                [{"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true, "content": "Exit code 2\nno such file"}]}}),
        ),
    ];
    records.map(|record| record + "\n").concat()
}

pub(crate) fn till() -> Environment {
    let environment = Environment::new();
    environment.write(&claude_path(1), log());
    environment.sweep();
    environment
}

#[test]
fn events_have_ids_source_and_usage() {
    let environment = till();
    let shown = environment.json(&["show", &claude_id(1)]);
    let events = shown["events"].as_array().unwrap();
    let of = |key: &str| events.iter().map(|event| event[key].clone()).collect();
    let uuids: Vec<Value> = of("uuid");
    assert_eq!(json!(uuids), json!(["u-1", "u-2", "u-3", "u-4"]));
    let parents: Vec<Value> = of("parent_uuid");
    assert_eq!(json!(parents), json!([null, "u-1", "u-2", "u-3"]));
    let calls: Vec<Value> = of("tool_use_id");
    assert_eq!(json!(calls), json!([null, null, "toolu_1", "toolu_1"]));
    let lines: Vec<Value> = of("source_line");
    assert_eq!(json!(lines), json!([1, 2, 3, 4]));
    let path = environment.home().join(claude_path(1));
    assert_eq!(events[3]["source_path"], path.display().to_string());
    assert_eq!(events[2]["tool_class"], "run");
    assert_eq!(events[2]["command"], "ls till");
    assert_eq!(
        events[2]["arguments"],
        r#"{"command":"ls till","timeout":9}"#
    );
    assert_eq!(events[2]["stop_reason"], "tool_use");
    // The largest count of the message, on its first event only.
    let usage = json!({"input": 3, "output": 40, "cache_read": 50, "cache_write": 30, "cache_write_5m": 10, "cache_write_1h": 20,
        "reasoning": 0, "total": 123, "server_tools": {"web_search_requests": 2, "web_fetch_requests": 1}, "service_tier": "standard"});
    assert_eq!(events[1]["usage"], usage);
    assert_eq!(events[2]["usage"], Value::Null);
    for (key, value) in [
        ("agent_version", json!("2.1.9")),
        ("permission_mode", json!("plan")),
        ("status", json!("ended")),
        ("tokens_injected", json!(0)),
    ] {
        assert_eq!(shown[key], value, "{key}");
    }
    assert_eq!(shown["meta"]["gitBranch"], "till");
}

#[test]
fn turns_have_settings_actions_and_usage() {
    let environment = till();
    let shown = environment.json(&["show", &claude_id(1), "--turns"]);
    let turn = &shown["turns"][0];
    assert_eq!(turn["inputs"]["text"], "count the coins");
    assert_eq!(turn["replies"]["messages"], json!(["I look."]));
    assert_eq!(turn["context"]["branch"], "till");
    assert_eq!(turn["context"]["permission_mode"], "plan");
    assert_eq!(turn["usage"]["output"], 40);
    assert_eq!(turn["first_answer_ms"], 2000);
    let action = &turn["actions"][0];
    assert_eq!(action["call_id"], "toolu_1");
    assert_eq!(action["status"], "error");
    assert_eq!(action["started_at"], "2026-02-03T04:05:03.000Z");
    assert_eq!(environment.run(&["show", &claude_id(1), "--turns"]).code, 2);
}

#[test]
fn sessions_and_searches_are_filtered_by_metadata() {
    let environment = till();
    environment.claude(
        2,
        &[log()
            .replace(&claude_id(1), &claude_id(2))
            .replace("2.1.9", "2.2.0")
            .replace("u-", "v-")],
    );
    environment.sweep();
    let listed = |filter: &str| {
        let found = environment.json(&["sessions", "--meta", filter]);
        found["sessions"].as_array().unwrap().len()
    };
    assert_eq!(listed("version=2.1.9"), 1);
    assert_eq!(listed("gitBranch=till"), 2);
    assert_eq!(listed("isSidechain=false"), 2);
    assert_eq!(listed("version=2"), 0);
    assert_eq!(environment.found(&["coins", "meta.version:2.2.0"]), ["2#1"]);
    assert_eq!(
        environment.found(&["coins", "--meta", "version=2.1.9"]),
        ["1#1"]
    );
    assert_eq!(
        environment
            .run(&["search", "coins meta.version:9 meta.gitBranch:till"])
            .code,
        1
    );
    for query in [
        "coins meta.a..b:1",
        "coins -meta.version:2.1.9",
        "coins meta.a'b:1",
    ] {
        assert_eq!(environment.run(&["search", query]).code, 2, "{query}");
    }
    assert_eq!(environment.run(&["sessions", "--meta", "version"]).code, 2);
}
