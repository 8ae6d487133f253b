//! Inputs with fields missing or of another type, bytes that are no text, and anything at all.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value, json};

use super::*;

/// What is understood, part by part.
fn parts(input: &HookInput) -> BTreeMap<String, Value> {
    let mut parts = BTreeMap::new();
    let Value::Object(fields) = serde_json::to_value(input).unwrap() else {
        panic!("no object");
    };
    for (name, value) in fields {
        match (name.as_str(), &value) {
            ("happening", Value::Object(happening)) => {
                let (kind, told) = happening.iter().next().unwrap();
                parts.insert(name, json!(kind));
                for (field, value) in told.as_object().unwrap() {
                    parts.insert(field.clone(), value.clone());
                }
            }
            _ => {
                parts.insert(name, value);
            }
        }
    }
    parts
}

/// What may be understood otherwise when a field of an agent's input is missing or odd.
fn depending(dialect: &dyn HookDialect, field: &str) -> Vec<&'static str> {
    let names = dialect.fields();
    let implied = dialect
        .events()
        .iter()
        .filter_map(|event| match event.meaning {
            EventMeaning::ToolUsed(Some(tool)) => Some(tool.fields),
            _ => None,
        });
    let implied: Vec<&str> = implied.flatten().copied().collect();
    // By these, agents name sessions and denied calls.
    let (own_ids, own_denials) = (&["conversation_id", "agent_id"], &["failure_type"]);
    let all: [(&[&str], &[&str]); 22] = [
        (names.session, &["session"]),
        (own_ids, &["session"]),
        (names.transcript, &["transcript", "session"]),
        (names.subagent_transcript, &["transcript", "session"]),
        (names.cwd, &["cwd"]),
        (names.folders, &["cwd"]),
        (names.time, &["at"]),
        (names.source, &["source"]),
        (names.trigger, &["trigger"]),
        // Of a call that was denied it is all there is.
        (names.reason, &["reason", "output"]),
        // Without a text there is no prompt and no reply.
        (names.prompt, &["happening", "text", "id"]),
        (names.message, &["happening", "text"]),
        (names.prompt_id, &["id"]),
        (names.reply, &["reply"]),
        (names.tool, &["name", "command", "touches"]),
        (names.tool_input, &["name", "input", "command", "touches"]),
        (&implied, &["name", "input", "command", "touches"]),
        (names.tool_id, &["id"]),
        (
            names.tool_response,
            &["output", "before", "error", "duration_ms"],
        ),
        (names.tool_error, &["output"]),
        (own_denials, &["denied"]),
        (names.duration, &["duration_ms"]),
    ];
    let of_field = all.iter().filter(|(names, _)| names.contains(&field));
    of_field.flat_map(|(_, parts)| *parts).copied().collect()
}

/// The object in every way that one of its fields can be missing or odd.
fn damaged(object: &Map<String, Value>) -> Vec<(String, Map<String, Value>)> {
    let odd = [
        json!(null),
        json!(7),
        json!([]),
        json!([1, "a"]),
        json!({}),
        json!(true),
    ];
    let mut all = Vec::new();
    for name in object.keys() {
        let mut without = object.clone();
        without.remove(name);
        all.push((name.clone(), without));
        for value in &odd {
            let mut with = object.clone();
            with.insert(name.clone(), value.clone());
            all.push((name.clone(), with));
        }
    }
    all
}

#[test]
fn a_field_that_is_missing_or_odd_costs_what_it_tells() {
    for recorded in recorded() {
        let dialect = Agent::find(recorded.agent).unwrap().hooks.unwrap();
        let object: Map<String, Value> = serde_json::from_slice(&recorded.bytes).unwrap();
        let told = |object: &Map<String, Value>| {
            let bytes = serde_json::to_vec(object).unwrap();
            assert!(read(None, None, &bytes).is_ok());
            parts(&read(Some(recorded.agent), Some(&recorded.event), &bytes).unwrap())
        };
        let whole = told(&object);
        let mut all = damaged(&object);
        for (name, value) in &object {
            let nested = value.as_object().map(damaged).unwrap_or_default();
            for (_, value) in nested {
                let mut with = object.clone();
                with.insert(name.clone(), Value::Object(value));
                all.push((name.clone(), with));
            }
        }
        for (field, object) in all {
            let may_differ = depending(dialect, &field);
            let mut expected = whole.clone();
            let mut found = told(&object);
            for part in may_differ {
                expected.remove(part);
                found.remove(part);
            }
            assert_eq!(
                found,
                expected,
                "{} without {field}: {}",
                recorded.name,
                Value::Object(object)
            );
        }
    }
}

#[test]
fn numbers_and_times_may_be_in_quotes() {
    let input = br#"{"tool_name":"Bash","duration_ms":"12.7","timestamp":"1762936867512"}"#;
    let read = read(Some("claude-code"), Some("PostToolUse"), input).unwrap();
    assert_eq!(read.at, Some(TimeMs::new(1_762_936_867_512)));
    assert_eq!(tool(read).duration_ms, Some(12));
    for (written, at) in [
        ("1762936867", Some(1_762_936_867_000)),
        ("0", None),
        ("\"never\"", None),
        ("1e400", None),
        ("\"NaN\"", None),
    ] {
        let input = format!(r#"{{"timestamp":{written}}}"#);
        let read = super::read(None, None, input.as_bytes()).unwrap();
        assert_eq!(read.at, at.map(TimeMs::new), "{written}");
    }
}

#[test]
fn what_is_no_object_is_told() {
    for input in ["", "  ", "[]", "null", "\"text\"", "{\"a\":", "not json"] {
        let error = read(None, None, input.as_bytes()).unwrap_err();
        assert!(
            error.to_string().starts_with("not a JSON object: "),
            "{input}"
        );
    }
}

#[test]
fn damaged_text_is_repaired() {
    let prompt = |input: &[u8]| {
        let read = read(Some("claude-code"), Some("UserPromptSubmit"), input).unwrap();
        match read.happening {
            Happening::Prompted { text, .. } => text,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(prompt(b"\xef\xbb\xbf{\"prompt\":\"a\xff\"}\n"), "a\u{fffd}");
    assert_eq!(prompt(br#"{"prompt":"half \ud83d"}"#), "half \u{fffd}");
    assert_eq!(prompt(br#"{"\ud83d":1,"prompt":"key"}"#), "key");
    assert_eq!(prompt(br#"{"prompt":"one","prompt":"two"}"#), "two");
    assert_eq!(prompt(br#"{"prompt":"first"} and more"#), "first");
}

#[test]
fn depth_and_length_do_no_harm() {
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let check = |agent: &str, length: usize| {
        let long = "x".repeat(length);
        let asked = format!(r#"{{"file_path":"a","content":"{long}","deep":{deep}}}"#);
        let fields = Agent::find(agent).unwrap().hooks.unwrap().fields();
        let names = [fields.tool, fields.tool_input, fields.tool_response].map(|names| names[0]);
        let [tool_name, tool_input, tool_response] = names;
        let input =
            format!(r#"{{"{tool_name}":"Write","{tool_input}":{asked},"{tool_response}":{deep}}}"#);
        let mut tool = tool(read(Some(agent), Some("PostToolUse"), input.as_bytes()).unwrap());
        assert_eq!(tool.input, asked);
        tool.shorten(1000);
        assert!(tool.input.len() < deep.len() + 2000, "{agent}");
    };
    for agent in hook_agents() {
        check(agent.name, 100_000);
    }
    check("claude-code", 16 << 20);
}

/// Any JSON, with the names of fields that are looked at.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        Just(json!("<backstory-context>")),
        Just(json!("/home/ada/.codex/rollout-1.jsonl")),
        Just(json!("{\"stdout\":1}")),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any_name(), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn any_name() -> impl Strategy<Value = String> {
    const NAMES: &[&str] = &[
        "session_id",
        "sessionId",
        "hookEventName",
        "conversation_id",
        "transcript_path",
        "agent_id",
        "agent_transcript_path",
        "cwd",
        "workspace_roots",
        "timestamp",
        "prompt",
        "tool_name",
        "toolName",
        "tool_input",
        "toolInput",
        "tool_response",
        "toolResult",
        "tool_output",
        "file_path",
        "command",
        "edits",
        "stdout",
        "stderr",
        "content",
        "structuredPatch",
        "lines",
        "originalFile",
        "llmContent",
        "error",
        "duration_ms",
        "last_assistant_message",
        "type",
        "text",
        "patch",
        "input",
    ];
    prop_oneof![
        prop::sample::select(NAMES).prop_map(str::to_string),
        "\\PC{0,6}"
    ]
}

fn any_event() -> impl Strategy<Value = Option<String>> {
    let events: Vec<String> = recorded()
        .into_iter()
        .map(|recorded| recorded.event)
        .collect();
    prop::option::of(prop_oneof![prop::sample::select(events), "\\PC{0,9}"])
}

fn any_agent() -> impl Strategy<Value = Option<&'static str>> {
    prop::option::of(prop::sample::select(
        hook_agents().map(|agent| agent.name).collect::<Vec<_>>(),
    ))
}

/// The same cases every time, for a test must not fail over what nobody changed; `PROPTEST_RNG_SEED` tries others.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let rng_seed = match default.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        given => given,
    };
    ProptestConfig {
        cases: 500,
        rng_seed,
        failure_persistence: None,
        ..default
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_object_is_understood_and_kept(
        agent in any_agent(),
        event in any_event(),
        fields in prop::collection::btree_map(any_name(), any_json(), 0..12),
        most in 0_usize..40,
    ) {
        let object = Value::Object(fields.into_iter().collect());
        let mut understood = read(agent, event.as_deref(), object.to_string().as_bytes()).unwrap();
        let kept = serde_json::to_string(&understood).unwrap();
        prop_assert_eq!(&serde_json::from_str::<HookInput>(&kept).unwrap(), &understood);
        understood.shorten(most);
        if let Happening::ToolUsed(tool) = understood.happening {
            prop_assert!(serde_json::from_str::<Value>(&tool.input).is_ok(), "{}", tool.input);
        }
    }

    #[test]
    fn any_bytes_are_read(agent in any_agent(), event in any_event(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(agent, event.as_deref(), &bytes);
    }

    #[test]
    fn any_cut_of_an_input_is_read(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut all = recorded();
        let recorded = all.swap_remove(which.index(all.len()));
        let at = at.index(recorded.bytes.len());
        let _ = read(Some(recorded.agent), Some(&recorded.event), &recorded.bytes[..at]);
        let mut changed = recorded.bytes;
        changed[at] = byte;
        let _ = read(Some(recorded.agent), Some(&recorded.event), &changed);
    }
}
