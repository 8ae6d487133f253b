//! What an answer says: which fields were written, and what it took.

use serde_json::{Map, Value};

/// An answer, as far as it can be understood.
pub(super) struct Answer {
    /// Tokens in and out, if the answer tells.
    pub(super) usage: Option<(u64, u64)>,
    /// What the tool was called with, or why that cannot be used.
    pub(super) fields: Result<Map<String, Value>, &'static str>,
}

/// Reads an answer that must call this tool and do nothing else.
pub(super) fn read(bytes: &[u8], tool: &str) -> Answer {
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(mut answer)) => Answer {
            usage: usage(answer.get("usage")),
            fields: fields(&mut answer, tool),
        },
        _ => Answer {
            usage: None,
            fields: Err("not JSON"),
        },
    }
}

fn fields(answer: &mut Map<String, Value>, tool: &str) -> Result<Map<String, Value>, &'static str> {
    match answer.get("stop_reason").and_then(Value::as_str) {
        Some("tool_use") => {}
        Some("max_tokens") => return Err("truncated"),
        Some("refusal") => return Err("refused"),
        _ => return Err("wrong end"),
    }
    let Some(Value::Array(content)) = answer.remove("content") else {
        return Err("wrong fields");
    };
    let is_called = |block: &Value| block["type"] == "tool_use";
    let mut calls = content.into_iter().filter(is_called);
    let (Some(call), None) = (calls.next(), calls.next()) else {
        return Err("wrong fields");
    };
    match call {
        Value::Object(mut call) if call.get("name").and_then(Value::as_str) == Some(tool) => {
            match call.remove("input") {
                Some(Value::Object(input)) => Ok(input),
                _ => Err("wrong fields"),
            }
        }
        _ => Err("wrong fields"),
    }
}

/// All tokens that count, however they were read. `None` when a number is no number.
fn usage(usage: Option<&Value>) -> Option<(u64, u64)> {
    let usage = usage?.as_object()?;
    let number = |name: &str| usage.get(name)?.as_u64();
    let mut input = number("input_tokens")?;
    for name in ["cache_creation_input_tokens", "cache_read_input_tokens"] {
        if usage.get(name).is_some_and(|value| !value.is_null()) {
            input = input.saturating_add(number(name)?);
        }
    }
    Some((input, number("output_tokens")?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::summarize::anthropic::written::{observation_written, summary_written};

    fn check(answer: &Value, usage: Option<(u64, u64)>, fields: Result<usize, &str>) {
        let read = read(answer.to_string().as_bytes(), "record");
        assert_eq!(read.usage, usage, "{answer}");
        assert_eq!(read.fields.map(|fields| fields.len()), fields, "{answer}");
    }

    fn good() -> Value {
        json!({
            "stop_reason": "tool_use",
            "content": [{"type": "text", "text": "Here."}, {"type": "tool_use", "name": "record", "input": {"title": "a"}}],
            "usage": {"input_tokens": 5, "output_tokens": 7},
        })
    }

    #[test]
    fn only_what_looks_as_it_must_is_an_answer() {
        let with = |key: &str, value: Value| {
            let mut answer = good();
            answer[key] = value;
            answer
        };
        check(&good(), Some((5, 7)), Ok(1));
        check(
            &with("stop_reason", json!("max_tokens")),
            Some((5, 7)),
            Err("truncated"),
        );
        check(
            &with("stop_reason", json!("refusal")),
            Some((5, 7)),
            Err("refused"),
        );
        check(
            &with("stop_reason", json!(null)),
            Some((5, 7)),
            Err("wrong end"),
        );
        for content in [
            json!("record"),
            json!([]),
            json!([{"type": "tool_use", "name": "other", "input": {}}]),
            json!([{"type": "tool_use", "name": "record", "input": "title"}]),
            json!([{"type": "tool_use", "name": "record", "input": {}}, {"type": "tool_use", "name": "record", "input": {}}]),
        ] {
            check(&with("content", content), Some((5, 7)), Err("wrong fields"));
        }
        check(&json!([]), None, Err("not JSON"));
    }

    #[test]
    fn all_tokens_count() {
        let check = |usage: Value, expect: Option<(u64, u64)>| {
            let mut answer = good();
            answer["usage"] = usage;
            check(&answer, expect, Ok(1));
        };
        check(
            json!({"input_tokens": 1, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300, "output_tokens": 4}),
            Some((321, 4)),
        );
        check(
            json!({"input_tokens": 1, "cache_read_input_tokens": null, "output_tokens": 4}),
            Some((1, 4)),
        );
        check(
            json!({"input_tokens": u64::MAX, "cache_read_input_tokens": 5, "output_tokens": 4}),
            Some((u64::MAX, 4)),
        );
        check(json!({"input_tokens": -1, "output_tokens": 4}), None);
        check(json!({"input_tokens": 1.5, "output_tokens": 4}), None);
        check(
            json!({"input_tokens": 1, "cache_read_input_tokens": "5", "output_tokens": 4}),
            None,
        );
        check(json!({"input_tokens": 1}), None);
        check(json!(null), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            read(&bytes, "record");
        }

        #[test]
        fn any_change_of_a_good_answer_is_read_without_a_panic(at in 0usize..400, with in any::<Vec<u8>>()) {
            let mut answer = good().to_string().into_bytes();
            let at = at.min(answer.len());
            answer.splice(at..(at + with.len()).min(answer.len()), with);
            read(&answer, "record");
        }

        #[test]
        fn any_fields_are_read_without_a_panic(title in ".{0,200}", summary in ".{0,700}", detail in any::<String>()) {
            let fields = json!({"title": title, "summary": summary, "detail": detail});
            let fields = fields.as_object().unwrap();
            let _ = summary_written(fields, "fence");
            if let Ok(sizes) = observation_written(fields, "fence") {
                prop_assert!(!sizes.title.chars().any(char::is_control));
                prop_assert!(!sizes.title.is_empty() && sizes.title.len() <= 400);
            }
        }
    }
}
