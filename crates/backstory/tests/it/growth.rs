//! Files that grow, shrink, are replaced, copied and compressed.

use std::io::Write;

use crate::environment::{Environment, claude_id, claude_path, prompt, reply};

fn append(environment: &Environment, session: u32, text: &str) {
    let path = environment.home().join(claude_path(session));
    std::fs::OpenOptions::new()
        .append(true)
        .open(path)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

#[test]
fn a_second_sweep_takes_only_what_is_new() {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "first"), reply(1, 1, "one", 5)]);
    let report = environment.sweep();
    assert_eq!(
        (report["ingested"].as_u64(), report["events"].as_u64()),
        (Some(1), Some(2))
    );
    let report = environment.sweep();
    assert_eq!(
        (
            report["ingested"].as_u64(),
            report["skipped_unchanged"].as_u64()
        ),
        (Some(0), Some(1))
    );
    append(&environment, 1, &prompt(1, 2, "second"));
    let report = environment.sweep();
    assert_eq!(
        (report["ingested"].as_u64(), report["events"].as_u64()),
        (Some(1), Some(1))
    );
    assert_eq!(
        environment.events(&claude_id(1)),
        ["prompt: first", "reply: one", "prompt: second"]
    );
}

#[test]
fn every_way_to_cut_a_growing_file_gives_the_same_memory() {
    let whole: String = (0..6)
        .flat_map(|turn| {
            [
                prompt(1, 2 * turn, &format!("prompt {turn} – ünïcödé")),
                reply(1, 2 * turn + 1, "done", 7),
            ]
        })
        .collect();
    let reference = Environment::new();
    reference.claude(1, std::slice::from_ref(&whole));
    reference.sweep();
    let expected = reference.everything();
    let environment = Environment::new();
    environment.claude(1, &[]);
    // Steps of a prime number of bytes cut records at ever other places, characters included.
    for piece in whole.as_bytes().chunks(211) {
        let path = environment.home().join(claude_path(1));
        std::fs::OpenOptions::new()
            .append(true)
            .open(path)
            .unwrap()
            .write_all(piece)
            .unwrap();
        environment.sweep();
    }
    assert_eq!(environment.everything(), expected);
    assert_eq!(
        environment
            .run(&["show", &claude_id(1), "--format", "original"])
            .stdout,
        whole
    );
}

#[test]
fn half_a_record_waits_and_a_whole_one_without_newline_does_not() {
    let environment = Environment::new();
    let second = prompt(1, 1, "second");
    let (half, rest) = second.split_at(second.len() / 2);
    environment.claude(1, &[prompt(1, 0, "first"), half.to_string()]);
    let report = environment.sweep();
    assert_eq!(
        (
            report["events"].as_u64(),
            report["skipped_records"].as_u64()
        ),
        (Some(1), Some(0))
    );
    append(&environment, 1, rest.trim_end());
    assert_eq!(environment.sweep()["events"], 1);
    append(&environment, 1, "\n");
    assert_eq!(environment.sweep()["events"], 0);
    assert_eq!(
        environment.events(&claude_id(1)),
        ["prompt: first", "prompt: second"]
    );
}

#[test]
fn a_file_that_was_cut_or_replaced_loses_and_doubles_nothing() {
    let environment = Environment::new();
    let lines = [
        prompt(1, 0, "first"),
        reply(1, 1, "one", 5),
        prompt(1, 2, "second"),
    ];
    environment.claude(1, &lines);
    environment.sweep();
    // Cut behind the first record, then gone on with another one.
    environment.claude(1, &[lines[0].clone(), prompt(1, 3, "other")]);
    environment.sweep();
    let all = [
        "prompt: first",
        "reply: one",
        "prompt: second",
        "prompt: other",
    ];
    assert_eq!(environment.events(&claude_id(1)), all);
    // Replaced by rename, as editors and sync tools do, with the same bytes.
    let path = environment.home().join(claude_path(1));
    let copy = path.with_extension("copy");
    std::fs::copy(&path, &copy).unwrap();
    std::fs::rename(&copy, &path).unwrap();
    assert_eq!(environment.sweep()["events"], 0);
    assert_eq!(environment.events(&claude_id(1)), all);
    assert_eq!(environment.json(&["usage", "model"])["totals"]["output"], 5);
    assert_eq!(environment.run(&["doctor"]).code, 0);
}

#[test]
fn usage_counts_the_largest_snapshot_of_a_response_once() {
    let environment = Environment::new();
    let snapshot = |number, output| {
        reply(1, number, "part", output)
            .replace(&format!("msg_{number}"), "msg_1")
            .replace(&format!("req_{number}"), "req_1")
    };
    environment.claude(1, &[prompt(1, 0, "go"), snapshot(1, 2), snapshot(2, 2)]);
    environment.sweep();
    assert_eq!(environment.json(&["usage"])["totals"]["output"], 2);
    append(&environment, 1, &snapshot(3, 213));
    environment.sweep();
    let totals = &environment.json(&["usage"])["totals"];
    assert_eq!(
        (totals["output"].as_u64(), totals["input"].as_u64()),
        (Some(213), Some(10))
    );
}

#[test]
fn replayed_history_belongs_to_the_first_session() {
    let environment = Environment::new();
    let shared = |session| [prompt(session, 0, "first"), reply(session, 1, "one", 5)].concat();
    // The fork's id sorts first: only the times in the files tell which one is older.
    environment.claude(9, &[shared(9), prompt(9, 2, "in the old one")]);
    environment.claude(1, &[shared(1), prompt(1, 5, "in the fork")]);
    let report = environment.sweep();
    assert_eq!(
        (report["events"].as_u64(), report["replayed"].as_u64()),
        (Some(4), Some(2))
    );
    assert_eq!(
        environment.events(&claude_id(9)),
        ["prompt: first", "reply: one", "prompt: in the old one"]
    );
    assert_eq!(environment.events(&claude_id(1)), ["prompt: in the fork"]);
    let fork = environment.json(&["show", &claude_id(1)]);
    assert_eq!(
        (fork["parent"].as_str(), fork["parent_seq"].as_u64()),
        (Some(&*claude_id(9)), Some(2))
    );
    assert_eq!(environment.json(&["usage"])["totals"]["output"], 5);
}

#[test]
fn another_record_with_a_known_id_is_no_copy() {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "first")]);
    environment.sweep();
    let other = prompt(2, 0, "second").replace("2026-01-02", "2026-01-03");
    environment.claude(2, std::slice::from_ref(&other));
    environment.claude(
        3,
        &[other
            .replace("uuid-0", "")
            .replace(&claude_id(2), &claude_id(3))],
    );
    environment.claude(4, &[prompt(4, 7, "fourth").replace("uuid-7", "")]);
    for _ in 0..2 {
        environment.sweep();
        assert_eq!(environment.events(&claude_id(1)), ["prompt: first"]);
        assert_eq!(environment.events(&claude_id(2)), ["prompt: second"]);
        assert_eq!(environment.events(&claude_id(3)), ["prompt: second"]);
        assert_eq!(environment.events(&claude_id(4)), ["prompt: fourth"]);
        // Read again as a whole, it is the same event.
        environment.claude(2, &[other.clone(), prompt(2, 9, "more")]);
        environment.claude(2, std::slice::from_ref(&other));
    }
}

#[test]
fn a_rollout_that_codex_compressed_is_the_same_rollout() {
    let environment = Environment::new();
    let id = "019f0000-0000-7000-8000-000000000001";
    let path = format!(".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{id}.jsonl");
    let line = |kind: &str, payload: serde_json::Value| {
        format!(
            "{}\n",
            serde_json::json!({"timestamp": "2026-01-02T03:04:05.000Z", "type": kind, "payload": payload})
        )
    };
    let message = |role: &str, kind: &str, text: &str| {
        line(
            "response_item",
            serde_json::json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}),
        )
    };
    let log = [
        line(
            "session_meta",
            serde_json::json!({"id": id, "cwd": "/home/ada/shop", "source": "cli"}),
        ),
        message("user", "input_text", "fix it"),
        message("assistant", "output_text", "fixed"),
    ]
    .concat();
    let plain = environment.write(&path, &log);
    environment.sweep();
    std::fs::remove_file(plain).unwrap();
    let longer = log + &message("user", "input_text", "and again");
    environment.write(
        &format!("{path}.zst"),
        zstd::encode_all(longer.as_bytes(), 3).unwrap(),
    );
    assert_eq!(environment.sweep()["events"], 1);
    assert_eq!(
        environment.events(id),
        ["prompt: fix it", "reply: fixed", "prompt: and again"]
    );
    assert_eq!(
        environment
            .run(&["show", id, "--format", "original"])
            .stdout,
        longer
    );
}

#[test]
fn a_fork_that_goes_on_leaves_its_parents_texts_alone() {
    let environment = Environment::new();
    let id = |session: u32| format!("019f0000-0000-7000-8000-{session:012}");
    let line = |session: u32, number: u32, kind: &str, text: &str, padding: usize| {
        let update =
            serde_json::json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
        let stamp = serde_json::json!({"eventId": format!("{}-{number}", id(1)), "agentTimestampMs": 1_770_000_000_000u64 + u64::from(number)});
        let parameters = serde_json::json!({"sessionId": id(session), "update": update, "_meta": stamp, "padding": " ".repeat(padding)});
        let line = serde_json::json!({"timestamp": 1_770_000_000, "method": "session/update", "params": parameters});
        format!("{line}\n")
    };
    let log = |session, padding| {
        [
            line(session, 1, "user_message_chunk", "ask", padding),
            line(session, 2, "agent_message_chunk", "first ", 0),
            line(session, 3, "agent_message_chunk", "answer", 0),
        ]
        .concat()
    };
    let more = line(1, 4, "user_message_chunk", "again", 0)
        + &line(1, 5, "agent_message_chunk", "second", 0);
    let path = |session| {
        format!(
            ".grok/sessions/%2Fhome%2Fada%2Fshop/{}/updates.jsonl",
            id(session)
        )
    };
    environment.write(&path(1), log(1, 0) + &more);
    environment.sweep();
    environment.write(&path(2), log(2, 800));
    environment.sweep();
    let expected = [
        "prompt: ask",
        "reply: first answer",
        "prompt: again",
        "reply: second",
    ];
    assert_eq!(environment.events(&id(1)), expected);
}
