//! Long texts are cut, and reading takes no time.

use std::time::Instant;

use serde_json::{Value, json};

use super::*;

#[test]
fn long_strings_lose_their_middle() {
    let long = format!("{}middle{}", "ab".repeat(60), "yz".repeat(60));
    let input = json!({"tool_name": "Write", "tool_input": {"file_path": "a.rs", "content": long, "list": [1, long]},
        "tool_response": long});
    let read = read(
        Some("claude-code"),
        Some("PostToolUse"),
        input.to_string().as_bytes(),
    )
    .unwrap();
    let mut short = tool(read.clone());
    short.shorten(40);
    let expect = format!(
        "{}[… 206 bytes left out …]{}",
        "ab".repeat(15),
        "yz".repeat(5)
    );
    assert_eq!(short.output.as_deref(), Some(&*expect));
    let asked: Value = serde_json::from_str(&short.input).unwrap();
    assert_eq!(
        asked,
        json!({"file_path": "a.rs", "content": expect, "list": [1, expect]})
    );
    let mut whole = read.clone();
    whole.shorten(1000);
    assert_eq!(whole, read);
}

#[test]
fn cuts_are_between_characters_and_make_shorter() {
    for most in 0..60 {
        let mut tool = tool(named("claude-code/PostToolUse-Bash").read());
        tool.output = Some("é🎈".repeat(30));
        tool.input = json!({"quotes": "\"\\\n".repeat(50)}).to_string();
        let before = (tool.output.clone(), tool.input.clone());
        tool.shorten(most);
        let asked: Value = serde_json::from_str(&tool.input).unwrap();
        assert!(asked.is_object(), "{most}");
        assert!(
            tool.output.unwrap().len() <= before.0.unwrap().len(),
            "{most}"
        );
        assert!(tool.input.len() < before.1.len(), "{most}");
    }
}

#[test]
fn replies_are_cut_and_prompts_are_not() {
    let mut stopped = named("codex/Stop").read();
    stopped.happening = Happening::Stopped {
        reply: Some("x".repeat(500)),
        subagent: false,
    };
    stopped.shorten(100);
    assert!(
        matches!(stopped.happening, Happening::Stopped { reply: Some(reply), .. } if reply.len() < 200)
    );
    let mut prompted = named("codex/UserPromptSubmit").read();
    let before = prompted.clone();
    prompted.shorten(4);
    assert_eq!(prompted, before);
}

#[test]
fn input_is_kept_without_white_space() {
    let input = "{\"tool_input\" : { \"a b\" : [ 1 ,\n 2 ] , \"c\\\" \" : \" d \\ud83d\" } }";
    let read = read(Some("claude-code"), Some("PostToolUse"), input.as_bytes()).unwrap();
    assert_eq!(
        tool(read).input,
        "{\"a b\":[1,2],\"c\\\" \":\" d \\ufffd\"}"
    );
}

/// Measured in November 2026, built for release: 26 µs. The bound holds without optimisation and on a busy machine.
#[test]
fn reading_takes_no_time() {
    let mut input: Value = serde_json::from_slice(&named("claude-code/PostToolUse").bytes).unwrap();
    input["tool_response"]["originalFile"] = json!("let price = 1;\n".repeat(600));
    let bytes = input.to_string().into_bytes();
    assert!(bytes.len() > 10_000);
    let fastest = (0..20).map(|_| {
        let start = Instant::now();
        let read = read(Some("claude-code"), Some("PostToolUse"), &bytes);
        assert!(read.is_ok());
        start.elapsed()
    });
    let fastest = fastest.min().unwrap();
    assert!(fastest.as_millis() < 5, "{fastest:?}");
}
