//! Nothing that a record names is lost: random values are written into records, and looked up in what was read.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Everything that is kept of a file, as text in which values can be looked up.
fn kept_text(path: &Path, input: &str) -> String {
    let out = read(path, input);
    let mut text = everything(&out);
    for record in &out.telemetry {
        let found = Grok.telemetry(span_bytes(input, record.span));
        text.push_str(&serde_json::to_string(&found).unwrap());
    }
    for event in &out.events {
        let (event, _) = whole(event, &out);
        let body = reread_body(span_bytes(input, event.span), event.span.part);
        assert_eq!(body, event.body);
    }
    text
}

fn check_kept(name: &str, input: &str, values: &[&str]) {
    let text = kept_text(&source(name), input);
    for value in values {
        assert!(text.contains(value), "{value} of {input} is not in {text}");
    }
}

/// A word that stands nowhere by chance.
fn word() -> impl Strategy<Value = String> {
    "[a-z]{3}[0-9]{9}"
}

fn words(count: usize) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(word(), count)
}

fn line(update: &Value, ids: &[String]) -> String {
    json!({
        "timestamp": 1,
        "method": "session/update",
        "params": {
            "sessionId": SESSION,
            "update": update,
            "_meta": {"eventId": ids[0], "promptId": ids[1], "agentTimestampMs": 1_700_000_000_000_u64},
        },
    })
    .to_string()
}

proptest! {
    #[test]
    fn of_updates(
        (words, numbers) in (words(16), prop::collection::vec(100_000_000_u64..999_999_999, 9)),
    ) {
        let w = |at: usize| words[at].clone();
        let prompt = json!({
            "sessionUpdate": "user_message_chunk",
            "content": [{"type": "text", "text": w(2)}, {"type": "image", "data": "AAAA", "mimeType": format!("image/{}", w(3)), "uri": w(4)}],
            "_meta": {"modelId": w(5), "promptIndex": 0},
        });
        let call = json!({
            "sessionUpdate": "tool_call", "toolCallId": w(6), "title": "run", "status": w(7),
            "rawInput": {"command": w(8), "why": w(9)},
        });
        let result = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": w(6), "status": "completed",
            "rawOutput": {"output": w(10), "exit_code": numbers[0], "durationMs": numbers[1]},
            "content": [{"type": "diff", "path": w(11), "oldText": "x", "newText": w(12)}],
        });
        let turn = json!({
            "sessionUpdate": "turn_completed", "prompt_id": w(1), "stop_reason": w(13),
            "usage": {
                "inputTokens": numbers[2] + numbers[3] + numbers[4], "cachedReadTokens": numbers[3], "cacheCreationTokens": numbers[4],
                "outputTokens": numbers[5], "reasoningTokens": numbers[6], "costUsdTicks": numbers[7],
            },
        });
        let changed = json!({"sessionUpdate": "model_changed", "model_id": w(14), "reasoning_effort": w(15)});
        let lines = [&prompt, &call, &result, &turn, &changed].map(|update| line(update, &words));
        let figures: Vec<String> = numbers[..8].iter().map(u64::to_string).collect();
        let mut values: Vec<&str> = words.iter().map(String::as_str).collect();
        values.extend(figures.iter().map(String::as_str));
        check_kept("updates.jsonl", &lines.join("\n"), &values);
    }

    #[test]
    fn of_settings_and_plans(words in words(8), number in 100_000_000_u64..999_999_999) {
        let w = |at: usize| words[at].clone();
        let updates = [
            json!({"sessionUpdate": "current_mode_update", "currentModeId": w(2)}),
            json!({"sessionUpdate": "plan", "entries": [{"content": w(3), "status": w(4)}]}),
            json!({"sessionUpdate": "auto_compact_started", "tokens_used": 5, "context_window": number, "reason": w(5)}),
            json!({"sessionUpdate": "anything_else", "said": w(6), "of": {"deep": [w(7)]}}),
        ];
        let lines: Vec<String> = updates.iter().map(|update| line(update, &words)).collect();
        let figure = number.to_string();
        let mut values: Vec<&str> = words[2..].iter().map(String::as_str).collect();
        values.push(&figure);
        check_kept("updates.jsonl", &lines.join("\n"), &values);
    }

    #[test]
    fn of_messages(words in words(14)) {
        let w = |at: usize| words[at].clone();
        let lines = [
            json!({"type": "user", "content": [{"type": "text", "text": w(0)}, {"type": "image", "url": format!("https://{}", w(1))}]}),
            json!({"type": "reasoning", "id": w(2), "summary": [{"type": "summary_text", "text": w(3)}]}),
            json!({"type": "assistant", "content": w(4), "model_id": w(5), "reasoning_effort": w(6), "tool_calls": [
                {"id": w(7), "name": w(8), "arguments": json!({"command": w(9), "why": w(10)}).to_string()},
            ]}),
            json!({"type": "tool_result", "tool_call_id": w(7), "content": w(11)}),
            json!({"type": "backend_tool_call", "kind": {"tool_type": "web_search", "id": w(12), "status": w(13)}}),
        ];
        let values: Vec<&str> = words.iter().map(String::as_str).collect();
        check_kept("chat_history.jsonl", &lines.map(|line| line.to_string()).join("\n"), &values);
    }

    #[test]
    fn of_events_and_counters(words in words(9), numbers in prop::collection::vec(100_000_000_u64..999_999_999, 4)) {
        let w = |at: usize| words[at].clone();
        let lines = [
            json!({"ts": "2026-08-01T10:00:00Z", "type": "turn_started", "session_id": SESSION, "model_id": w(0), "yolo_mode": true}),
            json!({"ts": "2026-08-01T10:00:01Z", "type": "permission_resolved", "tool_name": w(1), "decision": w(2), "wait_ms": numbers[0]}),
            json!({"ts": "2026-08-01T10:00:02Z", "type": "tool_completed", "tool_name": w(3), "duration_ms": numbers[1], "outcome": w(4), "tool_call_id": w(5)}),
            json!({"ts": "2026-08-01T10:00:03Z", "type": w(6), "anything": w(7)}),
            json!({"ts": "2026-08-01T10:00:04Z", "type": "turn_ended", "outcome": w(8)}),
        ];
        let values: Vec<&str> = words.iter().map(String::as_str).collect();
        let input = lines.map(|line| line.to_string()).join("\n");
        check_kept("events.jsonl", &input, &values);
        let figures: Vec<String> = numbers.iter().map(u64::to_string).collect();
        check_kept("events.jsonl", &input, &[&figures[0], &figures[1], "bypassPermissions", "4000"]);
        let signals = json!({"turnCount": 1, "contextTokensUsed": numbers[2], "contextWindowTokens": numbers[3], "primaryModelId": w(0)});
        check_kept("signals.json", &signals.to_string(), &[&figures[2], &figures[3], &words[0]]);
    }

    #[test]
    fn of_the_summary(words in words(6)) {
        let w = |at: usize| words[at].clone();
        let summary = json!({
            "info": {"id": SESSION, "cwd": format!("/{}", w(0))}, "session_summary": w(1), "head_branch": w(2),
            "current_model_id": w(3), "reasoning_effort": w(4), "sandbox_profile": w(5),
        });
        let values: Vec<&str> = words.iter().map(String::as_str).collect();
        check_kept("summary.json", &summary.to_string(), &values);
    }
}
