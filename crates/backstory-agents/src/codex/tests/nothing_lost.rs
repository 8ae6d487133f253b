//! Random records: every value that they hold is found again, verbatim, where it belongs.

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Codex;
use crate::reader::{Reader, SourceName};
use crate::record::read_lines;
use backstory_event::{Event, Output, Telemetry, TelemetryItem, TurnContext};

/// A word that no other field has.
fn word(field: &'static str) -> impl Strategy<Value = Option<String>> {
    let word = "[a-zA-Z0-9é\"\\\\ -]{1,20}".prop_map(move |word| format!("{field}:{word}x"));
    prop::option::weighted(0.8, word)
}

fn number() -> impl Strategy<Value = Option<u64>> {
    prop::option::weighted(0.8, 1..1_000_000_u64)
}

/// An object of the fields that are there.
fn object(fields: &[(&str, Value)]) -> Value {
    let given = fields.iter().filter(|(_, value)| !value.is_null());
    given
        .map(|(name, value)| (name.to_string(), value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn line(kind: &str, payload: &Value) -> String {
    json!({"timestamp": "2026-01-02T03:04:05.678Z", "type": kind, "payload": payload}).to_string()
}

/// Reads a log and returns its events as they are read again, and its telemetry.
fn read(lines: &[String]) -> (Output, Vec<Telemetry>) {
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut out = Output::default();
    let path = Path::new("rollout-x.jsonl");
    let mut reading = Codex.begin(&SourceName { path }, None);
    read_lines(&mut *reading, log.as_bytes(), 0, 1, &mut out);
    let span = |offset: u64, length: u64| &log.as_bytes()[offset as usize..][..length as usize];
    for Event { span: at, body, .. } in &mut out.events {
        let bodies = Codex.reread(span(at.offset, at.length));
        let found = bodies.into_iter().find(|(part, _)| *part == at.part);
        let (_, found) = found.unwrap();
        assert_eq!(found, *body);
    }
    let records = out.telemetry.iter();
    let telemetry = records.flat_map(|at| Codex.telemetry(span(at.span.offset, at.span.length)));
    let telemetry = telemetry.collect();
    (out, telemetry)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ids_and_status_of_items(
        (id, turn, call, status, client) in (word("id"), word("turn"), word("call"), word("status"), word("client")),
        kind in prop::sample::select(vec![
            "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
            "local_shell_call", "web_search_call", "tool_search_call", "tool_search_output", "image_generation_call", "agent_message",
        ]),
    ) {
        let metadata = turn.as_ref().map(|turn| json!({"turn_id": turn}));
        let item = object(&[
            ("type", json!(kind)), ("id", json!(id)), ("call_id", json!(call)), ("status", json!(status)), ("role", json!("assistant")),
            ("name", json!("x")), ("arguments", json!("{}")), ("input", json!("x")), ("output", json!("x")), ("action", json!({"x": 1})),
            ("summary", json!([{"type": "summary_text", "text": "Hm"}])), ("content", json!([{"type": "output_text", "text": "Hi"}])),
            ("internal_chat_message_metadata_passthrough", json!(metadata)),
        ]);
        let shown = object(&[("type", json!("user_message")), ("message", json!("Hello")), ("client_id", json!(client))]);
        let (out, _) = read(&[line("response_item", &item), line("event_msg", &shown)]);
        let body = &out.events[0].body;
        prop_assert_eq!(&body.identity.uuid, &id);
        prop_assert_eq!(&body.identity.parent_uuid, &turn);
        let is_tool = kind.contains("_call") || kind.contains("_output");
        let is_answer = kind.contains("_output");
        let named = if is_answer { call } else { call.or(id) };
        prop_assert_eq!(&body.identity.tool_use_id, &named.filter(|_| is_tool));
        prop_assert_eq!(&body.status, &status.filter(|_| is_tool));
        prop_assert_eq!(&out.events[1].body.identity.uuid, &client);
    }

    #[test]
    fn settings_and_facts(
        (cwd, model, effort, policy, sandbox, mode) in (word("cwd"), word("model"), word("effort"), word("policy"), word("sandbox"), word("mode")),
        (version, branch, provider, tier) in (word("version"), word("branch"), word("provider"), word("tier")),
        (network, window, duration, first) in (any::<Option<bool>>(), number(), number(), number()),
    ) {
        let meta = object(&[
            ("id", json!("s")), ("cli_version", json!(version)), ("git", json!({"branch": branch})), ("model_provider", json!(provider)),
        ]);
        let sandbox_policy = object(&[("type", json!(sandbox)), ("network_access", json!(network))]);
        let context = object(&[
            ("cwd", json!(cwd)), ("model", json!(model)), ("effort", json!(effort)), ("approval_policy", json!(policy)),
            ("sandbox_policy", sandbox.as_ref().map_or(Value::Null, |_| sandbox_policy)), ("collaboration_mode", json!({"mode": mode})),
        ]);
        let settings = object(&[("type", json!("thread_settings_applied")), ("thread_settings", object(&[("service_tier", json!(tier))]))]);
        let started = object(&[("type", json!("task_started")), ("model_context_window", json!(window))]);
        let ended = object(&[("type", json!("task_complete")), ("duration_ms", json!(duration)), ("time_to_first_token_ms", json!(first))]);
        let counted = json!({"type": "token_count", "info": {"last_token_usage": {"input_tokens": 1}}});
        let (out, telemetry) = read(&[
            line("session_meta", &meta), line("turn_context", &context), line("event_msg", &settings), line("event_msg", &started),
            line("event_msg", &ended), line("event_msg", &counted),
        ]);
        let fact = |get: fn(&backstory_event::SessionFacts) -> Option<String>| out.facts.iter().find_map(get);
        prop_assert_eq!(&fact(|facts| facts.agent_version.clone()), &version);
        prop_assert_eq!(&fact(|facts| facts.permission_mode.clone()), &policy);
        prop_assert_eq!(fact(|facts| facts.context_window.map(|window| window.to_string())), window.map(|window| window.to_string()));
        prop_assert_eq!(fact(|facts| facts.meta.clone()), Some(meta.to_string()));
        let response = &out.responses[0];
        prop_assert_eq!(response.branch.as_deref(), branch.as_deref());
        prop_assert_eq!(response.billing.service_tier.as_deref(), tier.as_deref());
        let expected = TurnContext {
            cwd, model, effort, approval_policy: policy.clone(), network_access: network.filter(|_| sandbox.is_some()), sandbox_mode: sandbox,
            permission_mode: policy, collaboration_mode: mode, ..TurnContext::default()
        };
        let session = TurnContext { branch, agent_version: version, ..TurnContext::default() };
        prop_assert_eq!(&telemetry[0].item, &TelemetryItem::Context(session));
        prop_assert_eq!(&telemetry[1].item, &TelemetryItem::Context(expected));
        let end = TelemetryItem::TurnEnd {
            duration_ms: duration.map(|duration| duration as i64), first_answer_ms: first.map(|first| first as i64),
        };
        prop_assert!(telemetry.iter().any(|telemetry| telemetry.item == end));
    }

    #[test]
    fn tokens_and_limits(
        (input, cached, written) in (0..1_000_000_u64, 0..500_000_u64, 0..500_000_u64),
        (output, reasoning, total) in (1..1_000_000_u64, number(), number()),
        (window, percent, searches) in (number(), number(), 0..4_usize),
    ) {
        let input = input + cached + written;
        let usage = object(&[
            ("input_tokens", json!(input)), ("cached_input_tokens", json!(cached)), ("cache_write_input_tokens", json!(written)),
            ("output_tokens", json!(output)), ("reasoning_output_tokens", json!(reasoning)), ("total_tokens", json!(total)),
        ]);
        let info = object(&[("total_token_usage", usage.clone()), ("last_token_usage", usage), ("model_context_window", json!(window))]);
        let limits = percent.map(|percent| json!({"primary": {"used_percent": percent}}));
        let counted = object(&[("type", json!("token_count")), ("info", info.clone()), ("rate_limits", json!(limits))]);
        let search = |number: usize| line("response_item", &json!({"type": "web_search_call", "id": number.to_string(), "action": {"type": "search"}}));
        let said = line("response_item", &json!({"type": "message", "role": "assistant", "content": "Hi"}));
        let mut lines = vec![said];
        lines.extend((0..searches).map(search));
        lines.push(line("event_msg", &counted));
        let (out, telemetry) = read(&lines);
        let response = &out.responses[0];
        prop_assert_eq!(response.event, Some(out.events[0].key));
        let usage = response.usage;
        let found = [usage.input + cached + written, usage.cache_read, usage.cache_write, usage.output, usage.reasoning, usage.web_searches];
        prop_assert_eq!(found, [input, cached, written, output, reasoning.unwrap_or(0), searches as u64]);
        let count = TelemetryItem::TokenCount { context_tokens: total, context_window: window, value: info };
        let limits = limits.map(|value| TelemetryItem::RateLimits { value });
        let found: Vec<TelemetryItem> = telemetry.into_iter().map(|telemetry| telemetry.item).collect();
        prop_assert_eq!(found, [Some(count), limits].into_iter().flatten().collect::<Vec<_>>());
    }
}
