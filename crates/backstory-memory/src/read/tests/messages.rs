//! Content and artifacts of messages.

use backstory_store::attachment;
use serde_json::{Value, json};

use super::read_folder;
use crate::trial::{NOW, id, record};
use crate::{EventRange, MessageRecord, SessionFilter};

/// Messages of the only session in a log of these lines.
fn messages_of(name: &str, lines: &[String]) -> Vec<MessageRecord> {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    std::fs::create_dir_all(&logs).unwrap();
    std::fs::write(logs.join(name), lines.concat()).unwrap();
    let memory = read_folder(&logs);
    let mut sessions = memory.sessions().list(&SessionFilter::default()).unwrap();
    let session = memory.sessions().open(sessions.remove(0));
    let messages = session.messages(EventRange::All).unwrap();
    messages.map(Result::unwrap).collect()
}

/// An image that is short, and one that the store keeps apart.
fn image(length: usize) -> (Vec<u8>, String) {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut noise = blake3::Hasher::new().finalize_xof();
    let mut rest = vec![0; length];
    noise.fill(&mut rest);
    bytes.extend(rest);
    let text = attachment::encode(&bytes);
    (bytes, text)
}

fn source(data: &str) -> Value {
    json!({"type": "base64", "media_type": "image/png", "data": data})
}

fn names(message: &MessageRecord) -> Vec<&str> {
    let artifacts = message.artifacts.iter();
    artifacts.map(|artifact| artifact.name.as_str()).collect()
}

#[test]
fn content_is_as_the_log_has_it_but_for_artifacts() {
    let (bytes, text) = image(300);
    let (long_bytes, long_text) = image(9_000);
    let secret_text = attachment::encode("TOKEN=abc\n".repeat(600).as_bytes());
    let asked = json!([
        {"type": "text", "text": "what is this?", "cache_control": null},
        {"type": "image", "source": source(&text)},
        {"type": "document", "source": {"type": "base64", "media_type": "text/plain", "data": secret_text}},
    ]);
    let answered = json!([{"type": "tool_result", "tool_use_id": "toolu_9", "content": [
        {"type": "text", "text": "here"}, {"type": "image", "source": source(&long_text)},
    ]}]);
    let uuid = "0d1f5d4e-0000-4000-8000-000000000001";
    let user = |uuid: &str, content: &Value| {
        record(
            1,
            uuid,
            Some(NOW),
            "user",
            &json!({"role": "user", "content": content}),
        )
    };
    let spoken = json!({"role": "assistant", "id": "m1", "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "A cat.\u{1f408}"},
    ]});
    let lines = [
        user(uuid, &asked),
        record(1, "second-one", Some(NOW), "assistant", &spoken),
        user("../third", &answered),
        user("fourth-one", &json!("plain")),
    ];
    let messages = messages_of("log.jsonl", &lines);
    let kinds: Vec<&str> = messages
        .iter()
        .map(|message| message.kind.as_str())
        .collect();
    assert_eq!(kinds, ["user", "assistant", "user", "user"]);

    let name = format!("{uuid}-1.png");
    assert_eq!(names(&messages[0]), [name.as_str()]);
    let artifact = &messages[0].artifacts[0];
    assert_eq!((&artifact.bytes, &*artifact.origin), (&bytes, "prompt"));
    let mut expected = asked;
    // Base64 of text stays.
    expected[1]["source"]["data"] = json!(format!("artifact:{name}"));
    assert_eq!(messages[0].content, expected.to_string());

    assert_eq!(messages[1].content, spoken["content"].to_string());
    assert_eq!(messages[1].events.len(), 2);

    // A name is never made of what could be a path.
    assert_eq!(names(&messages[2]), ["event-4-1.png"]);
    let artifact = &messages[2].artifacts[0];
    assert_eq!(artifact.bytes, long_bytes);
    assert_eq!(artifact.origin, "tool_result:toolu_9");
    let mut expected = answered;
    expected[0]["content"][1]["source"]["data"] = json!("artifact:event-4-1.png");
    assert_eq!(messages[2].content, expected.to_string());
    assert_eq!(messages[3].content, "\"plain\"");
}

#[test]
fn records_with_the_same_id_have_artifacts_of_their_own() {
    let (_, text) = image(300);
    let image = json!({"type": "image", "source": source(&text)});
    let answer = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": [image]});
    let user = |blocks: Value| {
        let message = json!({"role": "user", "content": blocks});
        record(1, "same-uuid", Some(NOW), "user", &message)
    };
    let lines = [
        user(json!([answer("a")])),
        user(json!([answer("a"), answer("b")])),
    ];
    let messages = messages_of("log.jsonl", &lines);
    assert_eq!(names(&messages[0]), ["same-uuid-1.png"]);
    assert_eq!(names(&messages[1]), ["event-2-1.png", "event-2-2.png"]);
}

#[test]
fn content_of_other_agents_is_made_of_events() {
    let (bytes, text) = image(9_000);
    let url = format!("data:image/png;base64,{text}");
    let line = |kind: &str, payload: &Value| {
        let line =
            json!({"timestamp": "2026-01-02T03:04:05.000Z", "type": kind, "payload": payload});
        format!("{line}\n")
    };
    let item = |payload: Value| line("response_item", &payload);
    let session = id(3);
    let lines = [
        line(
            "session_meta",
            &json!({"id": session, "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/shop", "cli_version": "0.50.0"}),
        ),
        item(json!({"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "what is this?"}, {"type": "input_image", "image_url": url}]})),
        item(json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]})),
        item(
            json!({"type": "function_call", "name": "shell", "call_id": "c1", "arguments": "{\"command\":[\"ls\"]}"}),
        ),
        item(
            json!({"type": "function_call_output", "call_id": "c1", "output": [
            {"type": "input_text", "text": "done"}, {"type": "input_image", "image_url": url}]}),
        ),
        item(
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A cat."}]}),
        ),
    ];
    let name = format!("rollout-2026-01-02T03-04-05-{session}.jsonl");
    let messages = messages_of(&name, &lines);
    let contents: Vec<(&str, Value)> = messages
        .iter()
        .map(|message| {
            let content = serde_json::from_str(&message.content).unwrap();
            (message.kind.as_str(), content)
        })
        .collect();
    let image =
        |name: &str| json!({"type": "image", "source": source(&format!("artifact:{name}"))});
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(
        contents,
        [
            (
                "user",
                json!([text("what is this?\n[image]"), image("event-1-1.png")])
            ),
            (
                "assistant",
                json!([{"type": "thinking", "thinking": "Hm."}])
            ),
            (
                "assistant",
                json!([{"type": "tool_use", "id": "c1", "name": "shell", "input": {"command": ["ls"]}}])
            ),
            (
                "user",
                json!([{"type": "tool_result", "tool_use_id": "c1", "is_error": false,
                "content": [text("done\n[image]"), image("event-4-1.png")]}])
            ),
            ("assistant", json!([text("A cat.")])),
        ]
    );
    assert!(messages[0].artifacts[0].bytes == bytes && messages[3].artifacts[0].bytes == bytes);
    assert_eq!(messages[3].artifacts[0].origin, "tool_result:c1");
}
