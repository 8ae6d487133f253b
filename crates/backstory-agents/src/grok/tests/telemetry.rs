//! What the records say of how the agent worked.

use serde_json::Value;

use super::*;

/// Telemetry as JSON, a line each: place of the record's event, then what it says.
fn render_telemetry(out: &Output, input: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for record in &out.telemetry {
        let after = record
            .after
            .map_or("-".to_string(), |key| position(out, key));
        for found in Grok.telemetry(span_bytes(input, record.span)) {
            let mut shown = serde_json::to_value(&found).unwrap();
            // The whole record, of which other tests see that it is there.
            if shown["kind"] != "token_count"
                && let Some(value) = shown.get_mut("value")
            {
                *value = Value::Null;
            }
            let fields: Vec<String> = shown
                .as_object()
                .unwrap()
                .iter()
                .filter(|(name, value)| *name != "kind" && !value.is_null())
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            let kind = shown["kind"].as_str().unwrap();
            lines.push(
                format!("{after} {kind} {}", fields.join(" "))
                    .trim_end()
                    .to_string(),
            );
        }
    }
    lines
}

#[track_caller]
fn check_telemetry(name: &str, input: &str, expect: &str, expect_facts: &str) {
    let path = source(name);
    let out = read(&path, input);
    check_invariants(&path, input, &out);
    let expect: Vec<&str> = expect.lines().map(str::trim).collect();
    assert_eq!(render_telemetry(&out, input), expect);
    let facts: Vec<String> = render(&out)
        .lines()
        .filter(|line| line.starts_with("facts"))
        .map(|line| line.trim_end().to_string())
        .collect();
    assert_eq!(
        facts,
        expect_facts.lines().map(str::trim).collect::<Vec<_>>()
    );
}

#[test]
fn updates_that_are_no_events() {
    let answer = format!(
        r#"{{"timestamp":2,"params":{{"update":{},"_meta":{{"totalTokens":1234}}}}}}"#,
        chunk("agent_message", "ok")
    );
    let ended = r#"{"timestamp":9,"params":{"update":{"sessionUpdate":"turn_completed","prompt_id":"p","stop_reason":"cancelled"},"_meta":{"agentTimestampMs":1700000009000,"turnStartMs":1700000001000,"cancelTrigger":"esc"}}}"#;
    let lines = [
        asks("go"),
        answer.clone(),
        answer,
        at(
            3,
            r#"{"sessionUpdate":"plan","entries":[{"content":"x","status":"pending"}]}"#,
        ),
        at(
            3,
            r#"{"sessionUpdate":"current_mode_update","currentModeId":"plan"}"#,
        ),
        at(
            3,
            r#"{"sessionUpdate":"current_mode_update","currentModeId":"plan"}"#,
        ),
        at(
            3,
            r#"{"sessionUpdate":"model_changed","model_id":"grok-8","reasoning_effort":"high"}"#,
        ),
        at(
            3,
            r#"{"sessionUpdate":"model_auto_switched","new_model_id":"grok-7","reason":"gone"}"#,
        ),
        at(
            3,
            r#"{"sessionUpdate":"response_started","model":"m","input_tokens":5,"cache_read_input_tokens":7}"#,
        ),
        at(
            3,
            r#"{"sessionUpdate":"auto_compact_started","tokens_used":90,"context_window":100,"percentage":90,"reason":"full"}"#,
        ),
        at(
            3,
            r#"{"sessionUpdate":"auto_compact_completed","tokens_after":9,"summary_preview":"We sorted"}"#,
        ),
        at(
            3,
            r#"{"sessionUpdate":"compaction_checkpoint","checkpoint_id":"x"}"#,
        ),
        at(
            3,
            r#"{"sessionUpdate":"retry_state","state":"exhausted","is_rate_limited":true}"#,
        ),
        at(3, r#"{"sessionUpdate":"retry_state","state":"retrying"}"#),
        at(
            3,
            r#"{"sessionUpdate":"pending_interaction","tool_call_id":"c","kind":"permission"}"#,
        ),
        at(
            3,
            r#"{"sessionUpdate":"subagent_finished","child_session_id":"kid","status":"completed","duration_ms":5}"#,
        ),
        at(
            3,
            r#"{"sessionUpdate":"hook_execution","runs":[{"name":"h","status":{"status":"success"}}]}"#,
        ),
        at(
            3,
            r#"{"sessionUpdate":"hook_execution","runs":[{"name":"h","status":{"status":"failed"}}]}"#,
        ),
        at(3, r#"{"sessionUpdate":"subagent_progress","turn_count":1}"#),
        at(3, r#"{"sessionUpdate":"new_things_chunk"}"#),
        at(
            3,
            r#"{"sessionUpdate":"available_commands_update","availableCommands":[]}"#,
        ),
        ended.to_string(),
    ];
    check_telemetry(
        "updates.jsonl",
        &lines.join("\n"),
        r#"1 token_count at=2000 context_tokens=1234 value={"totalTokens":1234}
           1 plan_update at=3000
           1 context at=3000 permission_mode="plan"
           1 context at=3000 permission_mode="plan"
           1 context at=3000 effort="high" model="grok-8"
           1 context at=3000 model="grok-7"
           1 other at=3000 name="model_auto_switched"
           1 token_count at=3000 context_tokens=12 value={"cache_read_input_tokens":7,"input_tokens":5,"model":"m","sessionUpdate":"response_started"}
           1 token_count at=3000 context_tokens=90 context_window=100 value={"context_window":100,"percentage":90,"reason":"full","sessionUpdate":"auto_compact_started","tokens_used":90}
           2 compaction at=3000
           2 compaction at=3000
           2 rate_limits at=3000
           2 other at=3000 name="retry_state"
           2 approval at=3000 tool_use_id="c"
           2 other at=3000 name="subagent_finished"
           2 other at=3000 name="hook_execution"
           2 turn_end at=1700000009000 duration_ms=8000
           2 other at=1700000009000 name="turn_completed""#,
        &format!(
            r#"facts permission_mode: Some("plan")
               facts context_window: Some(100)
               facts of kid parent: Some(Parent {{ session: "{SESSION}", kind: Subagent }}), machine: Some(true)"#
        ),
    );
}

/// A line of `events.jsonl`, so many milliseconds after ten o'clock.
fn event(milliseconds: u64, kind: &str, rest: &str) -> String {
    let (seconds, milliseconds) = (milliseconds / 1_000, milliseconds % 1_000);
    format!(r#"{{"ts":"2026-08-01T10:00:{seconds:02}.{milliseconds:03}Z","type":"{kind}"{rest}}}"#)
}

const TEN: i64 = 1_785_578_400_000;

#[test]
fn events_are_timings_permissions_and_turns() {
    let started = |at: u64, yolo: bool| {
        let rest = format!(
            r#","session_id":"other","turn_number":1,"model_id":"grok-9","yolo_mode":{yolo},"schema_version":"1.0""#
        );
        event(at, "turn_started", &rest)
    };
    let tool = r#","tool_name":"bash","duration_ms":900,"outcome":"permission_rejected","tool_call_id":"c1""#;
    let lines = [
        event(0, "mcp_init_completed", r#","total_servers":1"#),
        // Never ends.
        started(500, false),
        started(1_000, true),
        event(1_001, "phase_changed", r#","phase":"waiting_for_model""#),
        event(2_500, "first_token", ""),
        event(2_600, "first_token", ""),
        "damaged".to_string(),
        event(3_000, "permission_requested", r#","tool_name":"bash""#),
        event(
            3_100,
            "permission_resolved",
            r#","tool_name":"bash","decision":"deny","wait_ms":100"#,
        ),
        event(3_200, "tool_started", r#","tool_name":"bash""#),
        event(4_000, "tool_completed", tool),
        event(
            4_000,
            "tool_completed",
            &format!(r#"{tool},"source":"workspace""#),
        ),
        event(
            4_100,
            "mcp_health_check",
            r#","server_name":"s","healthy":true"#,
        ),
        event(
            4_100,
            "mcp_health_check",
            r#","server_name":"s","healthy":false"#,
        ),
        event(
            9_000,
            "turn_ended",
            r#","outcome":"cancelled","cancellation_category":"mid_turn_abort""#,
        ),
        event(9_500, "turn_ended", r#","outcome":"completed""#),
        event(9_600, "yolo_toggled", r#","enabled":false"#),
        started(9_700, false),
        r#"{"type":"turn_ended"}"#.to_string(),
        r#"{"ts":7,"type":8}"#.to_string(),
    ];
    let expect = format!(
        r#"- other at={} name="mcp_init_completed"
           - context at={} model="grok-9"
           - other at={} name="turn_started"
           - approval at={}
           - approval at={}
           - tool_timing at={t4} duration_ms=900 outcome="permission_rejected" tool="bash" tool_use_id="c1"
           - other at={t4} name="tool_completed"
           - other at={} name="mcp_health_check"
           - context at={t1} model="grok-9" permission_mode="bypassPermissions"
           - other at={t1} name="turn_started"
           - turn_end at={t9} duration_ms=8000 first_answer_ms=1500
           - other at={t9} name="turn_ended"
           - turn_end at={t95}
           - other at={t95} name="turn_ended"
           - context at={} permission_mode="default""#,
        TEN,
        TEN + 500,
        TEN + 500,
        TEN + 3_000,
        TEN + 3_100,
        TEN + 4_100,
        TEN + 9_600,
        t4 = TEN + 4_000,
        t1 = TEN + 1_000,
        t9 = TEN + 9_000,
        t95 = TEN + 9_500,
    );
    check_telemetry(
        "events.jsonl",
        &lines.join("\n"),
        &expect,
        r#"facts
           facts permission_mode: Some("bypassPermissions")
           facts permission_mode: Some("default")"#,
    );
}

#[test]
fn events_name_their_session_where_the_folder_does_not() {
    let line = event(0, "turn_started", r#","session_id":"s","yolo_mode":false"#);
    let end = event(1, "turn_ended", "");
    let out = read(Path::new("/tmp/x/events.jsonl"), &format!("{line}\n{end}"));
    assert_eq!(out.facts[0].session.as_deref(), Some("s"));
    assert_eq!(&*out.telemetry[0].session, "s");
}

#[test]
fn signals_are_one_record_of_their_session() {
    let signals = "{\n  \"turnCount\": 2,\n  \"contextTokensUsed\": 12000,\n  \"contextWindowTokens\": 200000,\n  \"compactionCount\": 1\n}\n";
    let mut out = Output::default();
    let path = source("signals.json");
    let mut reading = Grok.begin(&SourceName { path: &path }, None);
    read_document(reading.as_mut(), signals.as_bytes(), &mut out);
    assert_eq!(
        render_telemetry(&out, signals),
        [
            r#"- token_count context_tokens=12000 context_window=200000 value={"compactionCount":1,"contextTokensUsed":12000,"contextWindowTokens":200000}"#,
            r#"- other name="signals""#
        ]
    );
    assert_eq!(render(&out), "facts context_window: Some(200000)\n");
    for other in ["{}", "[]", r#"{"turnCount":"many"}"#, "7", "{"] {
        let mut out = Output::default();
        let mut reading = Grok.begin(&SourceName { path: &path }, None);
        read_document(reading.as_mut(), other.as_bytes(), &mut out);
        assert!(out.telemetry.is_empty() && out.facts.is_empty(), "{other}");
    }
}

#[test]
fn only_own_events_and_signals_are_recognised() {
    let found = |name: &str, head: &str| Grok.recognises(Path::new(name), head.as_bytes());
    let lines = Some(Shape::Lines);
    let started = event(0, "turn_started", r#","session_id":"s""#);
    assert_eq!(found("events.jsonl", &started), lines);
    assert_eq!(found("events.jsonl", &started[..60]), lines);
    assert_eq!(found("x.jsonl", &started), None);
    let others = [
        // Copilot, Claude Code, others.
        r#"{"type":"session.start","data":{"sessionId":"s"},"id":"i","timestamp":"2026-08-01T10:00:00Z"}"#,
        r#"{"type":"tool.execution_start","data":{},"id":"i","timestamp":"2026-08-01T10:00:00Z"}"#,
        r#"{"type":"user","uuid":"u","message":{"content":"x"}}"#,
        r#"{"ts":"2026-08-01T10:00:00Z","type":"click"}"#,
        r#"{"ts":"2026-08-01T10:00:00Z","type":"turn_started","data":{}}"#,
        r#"{"ts":"soon","type":"turn_started"}"#,
        r#"{"ts":"2026-08-01T10:00:00Z","event":"turn_started"}"#,
        r#"{"ts":"2026-08-01T10:00:00Z","type":"clicked on somethi"#,
        "[]",
        "",
    ];
    for other in others {
        assert_eq!(found("events.jsonl", other), None, "{other}");
    }
    let signals = r#"{"turnCount":2,"userMessageCount":2,"toolCallCount":0,"#;
    assert_eq!(found("signals.json", signals), Some(Shape::Document));
    assert_eq!(found("signals.json", r#"{"turnCount":2}"#), None);
    assert_eq!(found("signals.jsonl", signals), None);
    assert_eq!(found("x.json", signals), None);
}

#[test]
fn many_turns_are_read_in_no_time() {
    let started = event(0, "turn_started", r#","yolo_mode":true"#);
    let ended = event(1, "turn_ended", "");
    let log = format!(
        "{started}\n{}",
        format!("{ended}\n{started}\n").repeat(20_000)
    );
    let out = read(&source("events.jsonl"), &log);
    assert_eq!(out.telemetry.len(), 20_000);
    assert_eq!(out.facts.len(), 2);
    let bytes: u64 = out.telemetry.iter().map(|record| record.span.length).sum();
    assert!(bytes <= log.len() as u64, "no byte is read twice");
}
