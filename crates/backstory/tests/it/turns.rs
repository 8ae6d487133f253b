//! Turns say what their own records say: settings, status of calls, durations.

use serde_json::{Value, json};

use crate::environment::{Environment, claude_id, claude_path};

const CODEX: &str = "0199aaaa-0000-7000-8000-000000000001";
const GROK: &str = "019f0000-0000-7000-8000-00000000000c";

fn turns(environment: &Environment, session: &str) -> Vec<Value> {
    let shown = environment.json(&["show", session, "--turns"]);
    shown["turns"].as_array().unwrap().clone()
}

/// One key of every turn.
fn each(turns: &[Value], pointer: &str) -> Vec<Value> {
    let found = turns
        .iter()
        .map(|turn| turn.pointer(pointer).unwrap().clone());
    found.collect()
}

/// A record of Claude Code, so many seconds after four o'clock.
fn claude(second: u32, branch: &str, fields: &Value) -> String {
    let mut record = json!({"uuid": format!("u-{second}"), "sessionId": claude_id(1), "cwd": "/work/shop", "version": "2.1.9",
        "gitBranch": branch, "timestamp": format!("2026-02-03T04:00:{second:02}.500Z")});
    let more = fields.as_object().unwrap().clone();
    record.as_object_mut().unwrap().extend(more);
    format!("{record}\n")
}

fn ask(second: u32, branch: &str, text: &str) -> String {
    let message = json!({"role": "user", "content": text});
    claude(second, branch, &json!({"type": "user", "message": message}))
}

#[test]
fn the_branch_of_a_turn_is_the_one_said_then() {
    let environment = Environment::new();
    let start = json!({"type": "system", "subtype": "informational", "content": "Welcome"});
    let log = [
        claude(0, "", &start),
        ask(1, "first", "one"),
        ask(2, "HEAD", "two"),
        ask(3, "last", "three"),
    ];
    environment.write(&claude_path(1), log.concat());
    environment.sweep();
    let session = environment.json(&["sessions"])["sessions"][0].clone();
    assert_eq!(session["branch"], "last");
    let found = turns(&environment, &claude_id(1));
    let branches = each(&found, "/context/branch");
    assert_eq!(json!(branches), json!(["first", "first", "HEAD", "last"]));
    check_turns_alone(&environment, &claude_id(1), &found);
}

/// Asserts that each turn alone is the same as among all of them.
fn check_turns_alone(environment: &Environment, session: &str, all: &[Value]) {
    for turn in all {
        let name = format!("{session}#{}", turn["turn"]);
        assert_eq!(json!(turns(environment, &name)), json!([turn]), "{name}");
    }
}

#[test]
fn a_turn_alone_has_the_settings_that_other_turns_say() {
    let environment = Environment::new();
    let set = |second: u32, mode: &str, effort: &str| {
        let message = json!({"role": "user", "content": "go on"});
        let fields =
            json!({"type": "user", "message": message, "permissionMode": mode, "effort": effort});
        claude(second, "main", &fields)
    };
    let reply = |second: u32, model: &str| {
        let message = json!({"id": format!("m-{second}"), "role": "assistant", "model": model,
            "content": [{"type": "text", "text": "done"}]});
        claude(
            second,
            "main",
            &json!({"type": "assistant", "message": message}),
        )
    };
    let log = [
        ask(1, "", "nobody said anything yet"),
        ask(2, "", "still nobody"),
        set(3, "plan", "high"),
        reply(4, "opus"),
        ask(5, "", "as before"),
        set(6, "bypassPermissions", "low"),
        reply(7, "sonnet"),
        ask(8, "", "as before"),
    ];
    environment.write(&claude_path(1), log.concat());
    environment.sweep();
    let found = turns(&environment, &claude_id(1));
    let context = |key: &str| json!(each(&found, &format!("/context/{key}")));
    assert_eq!(
        context("permission_mode"),
        json!([
            "plan",
            "plan",
            "plan",
            "plan",
            "bypassPermissions",
            "bypassPermissions"
        ])
    );
    assert_eq!(
        context("effort"),
        json!([null, null, "high", "high", "low", "low"])
    );
    assert_eq!(
        context("model"),
        json!([null, null, "opus", "opus", "sonnet", "sonnet"])
    );
    check_turns_alone(&environment, &claude_id(1), &found);
}

#[test]
fn durations_of_one_turn_are_added_up() {
    let environment = Environment::new();
    let ended = |second: u32, duration: u64| {
        claude(
            second,
            "",
            &json!({"type": "system", "subtype": "turn_duration", "durationMs": duration}),
        )
    };
    let log = [
        ask(1, "", "one"),
        ended(2, 700),
        ended(9, 40),
        ask(10, "", "two"),
        ended(11, 5),
    ];
    environment.write(&claude_path(1), log.concat());
    environment.sweep();
    let durations = each(&turns(&environment, &claude_id(1)), "/duration_ms");
    assert_eq!(json!(durations), json!([740, 5]));
}

#[test]
fn times_have_milliseconds_and_sort_as_text() {
    let environment = Environment::new();
    environment.write(
        &claude_path(1),
        [
            ask(1, "", "one"),
            ask(2, "", "two").replace(".500Z", ".000Z"),
        ]
        .concat(),
    );
    environment.sweep();
    let shown = environment.json(&["show", &claude_id(1)]);
    let times = each(shown["events"].as_array().unwrap(), "/timestamp");
    let expected = ["2026-02-03T04:00:01.500Z", "2026-02-03T04:00:02.000Z"];
    assert_eq!(json!(times), json!(expected));
    assert_eq!(
        json!([shown["started_at"], shown["ended_at"]]),
        json!(expected)
    );
}

fn codex(kind: &str, payload: &Value) -> String {
    let line = json!({"timestamp": "2026-02-03T04:05:06.000Z", "type": kind, "payload": payload});
    format!("{line}\n")
}

fn codex_prompt(text: &str) -> String {
    let content = json!([{"type": "input_text", "text": text}]);
    codex(
        "response_item",
        &json!({"type": "message", "role": "user", "content": content}),
    )
}

fn codex_meta(branch: &str) -> String {
    let git = json!({"branch": branch});
    codex(
        "session_meta",
        &json!({"id": CODEX, "timestamp": "2026-02-03T04:05:06.000Z", "cwd": "/work/shop", "git": git}),
    )
}

fn write_codex(environment: &Environment, lines: &[String]) {
    let path = format!(".codex/sessions/2026/02/03/rollout-2026-02-03T04-05-06-{CODEX}.jsonl");
    environment.write(&path, lines.concat());
}

#[test]
fn codex_has_the_branch_and_modes_of_each_turn() {
    let environment = Environment::new();
    let context = |policy: &str, mode: &str| {
        codex(
            "turn_context",
            &json!({"cwd": "/work/shop", "approval_policy": policy, "collaboration_mode": {"mode": mode}, "effort": "high"}),
        )
    };
    let lines = [
        codex_meta("main"),
        context("on-request", "plan"),
        codex_prompt("one"),
        codex_meta("topic"),
        context("never", "default"),
        codex_prompt("two"),
    ];
    write_codex(&environment, &lines);
    environment.sweep();
    let found = turns(&environment, CODEX);
    for (pointer, expected) in [
        ("/context/branch", json!(["main", "topic"])),
        ("/context/permission_mode", json!(["on-request", "never"])),
        ("/context/approval_policy", json!(["on-request", "never"])),
        ("/context/collaboration_mode", json!(["plan", "default"])),
        ("/context/effort", json!(["high", "high"])),
    ] {
        assert_eq!(json!(each(&found, pointer)), expected, "{pointer}");
    }
    let session = environment.json(&["sessions"])["sessions"][0].clone();
    assert_eq!(session["branch"], "topic");
    assert_eq!(session["permission_mode"], "never");
}

#[test]
fn what_codex_logs_before_a_prompt_is_of_its_turn() {
    let environment = Environment::new();
    let start = |turn: &str| {
        codex(
            "event_msg",
            &json!({"type": "task_started", "turn_id": turn}),
        )
    };
    let context = |effort: &str| {
        codex(
            "turn_context",
            &json!({"cwd": "/work/shop", "effort": effort}),
        )
    };
    let text = json!([{"type": "input_text", "text": "Be brief."}]);
    let instructions = codex(
        "response_item",
        &json!({"type": "message", "role": "developer", "content": text}),
    );
    let aborted = json!({"type": "turn_aborted", "turn_id": "t1", "reason": "interrupted"});
    let lines = [
        codex_meta("main"),
        start("t1"),
        context("low"),
        instructions.clone(),
        codex_prompt("one"),
        codex("event_msg", &aborted),
        start("t2"),
        context("high"),
        instructions,
        codex_prompt("two"),
    ];
    write_codex(&environment, &lines);
    environment.sweep();
    let found = turns(&environment, CODEX);
    let ids = found.iter().map(|turn| {
        let other = turn["telemetry"]["other"].as_array().unwrap().iter();
        let ids = other.filter_map(|item| item.pointer("/value/turn_id").cloned());
        json!(ids.collect::<Vec<_>>())
    });
    assert_eq!(
        json!(ids.collect::<Vec<_>>()),
        json!([[], ["t1", "t1"], ["t2"]])
    );
    assert_eq!(
        json!(each(&found, "/marks")),
        json!([[], ["interrupted"], []])
    );
    let efforts = each(&found, "/context/effort");
    assert_eq!(json!(efforts[1..]), json!(["low", "high"]));
}

#[test]
fn calls_have_a_status() {
    let environment = Environment::new();
    let item = |item: Value| codex("response_item", &item);
    let lines = [
        codex_meta("main"),
        codex_prompt("one"),
        item(
            json!({"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}),
        ),
        item(
            json!({"type": "web_search_call", "status": "failed", "action": {"type": "search", "query": "r"}}),
        ),
        item(
            json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}", "call_id": "c1"}),
        ),
        item(
            json!({"type": "custom_tool_call", "name": "apply_patch", "status": "completed", "input": "*** Begin Patch", "call_id": "c2"}),
        ),
    ];
    write_codex(&environment, &lines);
    environment.sweep();
    let found = turns(&environment, CODEX);
    let statuses = each(found[0]["actions"].as_array().unwrap(), "/status");
    assert_eq!(
        json!(statuses),
        json!(["success", "error", "unknown", "unknown"])
    );
    let shown = environment.json(&["show", CODEX]);
    let arguments = each(shown["events"].as_array().unwrap(), "/arguments");
    let expected = json!([
        null,
        "{\"query\":\"q\",\"type\":\"search\"}",
        "{\"query\":\"r\",\"type\":\"search\"}",
        "{\"command\":[\"ls\"]}",
        null
    ]);
    assert_eq!(json!(arguments), expected);

    // In a session that goes on, the same calls run.
    let environment = Environment::new();
    let now = jiff::Timestamp::now().to_string();
    write_codex(
        &environment,
        &lines.map(|line| line.replace("2026-02-03T04:05:06.000Z", &now)),
    );
    environment.sweep();
    let found = turns(&environment, CODEX);
    let statuses = each(found[0]["actions"].as_array().unwrap(), "/status");
    assert_eq!(
        json!(statuses),
        json!(["success", "error", "running", "running"])
    );
}

#[test]
fn grok_says_model_reasoning_and_stop_reason_at_the_end_of_a_turn() {
    let environment = Environment::new();
    let update = |number: u64, update: Value| {
        let meta = json!({"eventId": format!("{GROK}-{number}"), "agentTimestampMs": 1_785_578_400_000_u64 + number});
        let params = json!({"sessionId": GROK, "update": update, "_meta": meta});
        format!(
            "{}\n",
            json!({"timestamp": 1_785_578_400, "params": params})
        )
    };
    let chunk = |number: u64, speaker: &str, text: &str| {
        let kind = format!("{speaker}_chunk");
        update(
            number,
            json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}}),
        )
    };
    let usage = json!({"inputTokens": 10, "outputTokens": 8, "reasoningTokens": 3, "modelUsage": {"grok-9": {"inputTokens": 10, "outputTokens": 8}}});
    let lines = [
        chunk(1, "user_message", "go"),
        chunk(2, "agent_thought", "hm"),
        chunk(3, "agent_message", "Gone."),
        update(
            4,
            json!({"sessionUpdate": "turn_completed", "prompt_id": "p", "stop_reason": "end_turn", "usage": usage}),
        ),
    ];
    environment.write(
        &format!(".grok/sessions/%2Fwork%2Fshop/{GROK}/updates.jsonl"),
        lines.concat(),
    );
    environment.sweep();
    let shown = environment.json(&["show", GROK]);
    let events = shown["events"].as_array().unwrap();
    assert_eq!(
        json!(each(events, "/stop_reason")),
        json!([null, null, "end_turn"])
    );
    assert_eq!(
        json!(each(events, "/model")),
        json!([null, "grok-9", "grok-9"])
    );
    assert_eq!(events[1]["usage"]["reasoning"], 3);
    assert_eq!(shown["usage"]["reasoning"], 3);
    let found = turns(&environment, GROK);
    assert_eq!(found[0]["context"]["model"], "grok-9");
    assert_eq!(found[0]["usage"]["reasoning"], 3);
}
