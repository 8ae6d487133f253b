//! What is written is read again.

use std::collections::HashSet;

use backstory_columnar::{
    AttributeValue, Error, LogFile, Message, SessionAttributes, SessionColumns, SessionFile,
    TokenUsage, ToolCall, WriteOptions, unpack_logs, write_sessions,
};
use proptest::prelude::*;

use crate::support::{Place, message, session, without_log_rows};

#[test]
fn a_session_is_read_as_it_was_written() {
    let place = Place::new();
    let mut written = session("s1", 150);
    for (number, row) in written.messages.iter_mut().enumerate().step_by(2) {
        row.embedding = Some(vec![number as f32, -0.5, 0.25]);
    }
    written.attributes.embedding_model = Some("minilm".into());
    written.attributes.other = vec![
        ("cursor".into(), AttributeValue::Integer(-7)),
        (
            "tags".into(),
            AttributeValue::Texts(vec!["a".into(), String::new()]),
        ),
    ];
    let report = place.write(vec![written.clone()]);
    assert_eq!(
        (report.sessions, report.messages, report.tool_calls),
        (1, 150, 75)
    );
    assert_eq!(
        report.file_bytes,
        std::fs::metadata(place.file()).unwrap().len()
    );
    let read = place.read("s1");
    assert_eq!(without_log_rows(read.clone()), without_log_rows(written));
    assert_eq!(
        read.logs[0]
            .rows
            .iter()
            .map(|(_, row)| *row)
            .collect::<Vec<_>>(),
        (0..150).collect::<Vec<u32>>()
    );
}

#[test]
fn parts_of_a_session_are_read_alone() {
    let place = Place::new();
    place.write(vec![session("s1", 1000)]);
    let file = place.open();
    let session = file.session("s1").unwrap();
    assert_eq!(session.tail(2).unwrap(), [message(998), message(999)]);
    assert_eq!(session.tail(5000).unwrap().len(), 1000);
    assert_eq!(
        session.messages(63..65).unwrap(),
        [message(63), message(64)]
    );
    assert_eq!(session.messages(990..2000).unwrap().len(), 10);
    assert_eq!(
        session.tool_calls(400..401).unwrap()[0].tool_use_id,
        "call-400"
    );
    let sum = session.sum_usage().unwrap();
    assert_eq!(
        sum,
        TokenUsage {
            input_tokens: 499_500,
            output_tokens: 2000,
            cache_creation_input_tokens: -3000,
            cache_read_input_tokens: 1000 << 40
        }
    );
    let summary = &file.sessions().unwrap()[0];
    assert_eq!(
        (
            summary.messages,
            summary.tool_calls,
            summary.artifacts,
            summary.logs,
            summary.usage
        ),
        (1000, 500, 1, 1, sum)
    );
    assert!(matches!(file.session("s2"), Err(Error::NoSession { .. })));
    assert!(matches!(
        file.session("s1/messages"),
        Err(Error::NoSession { .. })
    ));
}

#[test]
fn many_rows_and_chunks_are_read() {
    let place = Place::new();
    let mut many = SessionColumns {
        id: "many".into(),
        ..SessionColumns::default()
    };
    many.messages = (0..200_000)
        .map(|number| Message {
            seq: number,
            timestamp: f64::from(number),
            uuid: format!("{number:x}"),
            text: "x".repeat(30),
            ..Message::default()
        })
        .collect();
    place.write(vec![many.clone()]);
    let file = place.open();
    let session = file.session("many").unwrap();
    assert_eq!(session.message_count().unwrap(), 200_000);
    assert_eq!(session.tail(3).unwrap(), many.messages[199_997..]);
    assert_eq!(
        session.messages(131_000..131_100).unwrap(),
        many.messages[131_000..131_100]
    );
}

#[test]
fn thousands_of_sessions_are_found_by_name() {
    let place = Place::new();
    place.write(
        (0..2000)
            .map(|number| SessionColumns {
                id: format!("session-{number}"),
                ..session("x", 1)
            })
            .collect(),
    );
    let file = place.open();
    assert_eq!(file.session_ids().unwrap().len(), 2000);
    assert_eq!(
        file.session("session-1234")
            .unwrap()
            .message_count()
            .unwrap(),
        1
    );
    assert_eq!(file.sessions().unwrap().len(), 2000);
}

#[test]
fn logs_of_several_frames_are_unpacked() {
    let place = Place::new();
    let mut large = session("s1", 40);
    for row in &mut large.messages {
        row.text = format!("{}-", row.seq).repeat(100_000);
        row.json = String::new();
    }
    let mut log = LogFile {
        path: "large".into(),
        agent: "toy".into(),
        ..LogFile::default()
    };
    for (number, row) in large.messages.iter().enumerate() {
        log.rows.push((log.bytes.len() as u64, number as u32));
        log.bytes.extend_from_slice(row.text.as_bytes());
        log.bytes.push(b'\n');
    }
    large.logs = vec![
        log.clone(),
        LogFile {
            path: "empty".into(),
            ..LogFile::default()
        },
    ];
    place.write(vec![large]);
    let file = place.open();
    let session = file.session("s1").unwrap();
    let infos = session.logs().unwrap();
    assert_eq!(
        infos
            .iter()
            .map(|info| (info.path.as_str(), info.length))
            .collect::<Vec<_>>(),
        [("large", log.bytes.len() as u64), ("empty", 0)]
    );
    let mut bytes = Vec::new();
    session.unpack_log(&infos[0], &mut bytes).unwrap();
    assert!(bytes == log.bytes);
}

#[test]
fn columns_that_cannot_be_stored_are_refused() {
    let refuse = |change: fn(&mut SessionColumns), says: &str| {
        let place = Place::new();
        let mut bad = session("s1", 2);
        change(&mut bad);
        let error =
            write_sessions(&place.file(), "test", [Ok(bad)], &WriteOptions::default()).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(
            std::fs::read_dir(place.folder()).unwrap().count(),
            0,
            "nothing is left"
        );
    };
    refuse(
        |session| session.id = "a/b".into(),
        "must not be empty or contain",
    );
    refuse(|session| session.id.clear(), "must not be empty or contain");
    refuse(
        |session| session.artifacts[0].name = "a/b".into(),
        "not the name of one artifact",
    );
    refuse(
        |session| session.messages[0].embedding = Some(Vec::new()),
        "same length",
    );
    refuse(|session| session.logs[0].rows.reverse(), "order of offsets");
}

#[test]
fn files_that_are_not_session_files_are_refused() {
    let place = Place::new();
    let check = |bytes: &[u8], says: &str| {
        std::fs::write(place.file(), bytes).unwrap();
        let error = SessionFile::open(&place.file()).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        let error = write_sessions(
            &place.file(),
            "test",
            [Ok(session("s1", 1))],
            &WriteOptions::default(),
        )
        .unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(
            std::fs::read(place.file()).unwrap(),
            bytes,
            "and not overwritten"
        );
    };
    check(b"", "the file is empty");
    check(b"hello", "sessions.h5: not an HDF5 file");
    check(&[0; 4096], "sessions.h5: not an HDF5 file");
    assert!(
        SessionFile::open(place.folder())
            .unwrap_err()
            .to_string()
            .contains("not a regular file")
    );
}

prop_compose! {
    fn any_message()(
        texts in prop::array::uniform7("\\PC{0,12}"), seq in 1_u32.., timestamp in prop::num::f64::NORMAL, usage in any::<[i64; 4]>(),
        embedding in prop::option::of(prop::array::uniform4(prop::num::f32::NORMAL)),
    ) -> Message {
        let [uuid, parent_uuid, kind, role, model, text, json] = texts;
        let [input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens] = usage;
        let usage = TokenUsage { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens };
        Message { seq, uuid, parent_uuid, kind, role, model, timestamp, usage, text, json, embedding: embedding.map(Vec::from) }
    }
}

prop_compose! {
    fn any_call()(texts in prop::array::uniform6("\\PC{0,12}"), timestamp in prop::num::f64::NORMAL, is_error: bool) -> ToolCall {
        let [tool_use_id, message_uuid, name, result_uuid, args, result] = texts;
        ToolCall { tool_use_id, message_uuid, name, result_uuid, timestamp, is_error, args, result }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_columns_are_read_as_they_were_written(
        messages in prop::collection::vec(any_message(), 0..200), tool_calls in prop::collection::vec(any_call(), 0..100),
        log in prop::collection::vec(any::<u8>(), 0..500), rows in prop::collection::vec((0_u64..500, 0_u32..300), 0..20), id in "[^/\0.]{1,20}",
    ) {
        let place = Place::new();
        let mut rows = rows;
        rows.sort();
        let logs = vec![LogFile { path: "log".into(), agent: "a".into(), bytes: log, rows }];
        let written = SessionColumns { id, messages, tool_calls, logs, ..SessionColumns::default() };
        place.write(vec![written.clone()]);
        let read = place.read(&written.id);
        prop_assert_eq!(without_log_rows(read), without_log_rows(written));
    }
}

#[test]
fn calls_without_ids_are_other_records_in_each_session() {
    let place = Place::new();
    let with_call = |id: &str| SessionColumns {
        id: id.into(),
        messages: vec![Message {
            seq: 0,
            ..message(0)
        }],
        tool_calls: vec![ToolCall {
            name: "Bash".into(),
            args: "{}".into(),
            result: format!("result of {id}"),
            ..ToolCall::default()
        }],
        ..SessionColumns::default()
    };
    place.write(vec![with_call("a"), with_call("b")]);
    let folder = tempfile::tempdir().unwrap();
    let unpacked = unpack_logs(&place.file(), folder.path()).unwrap();
    let mut ids = HashSet::new();
    for log in &unpacked.logs {
        let text = std::fs::read_to_string(&log.file).unwrap();
        let lines = text.lines().filter(|line| line.contains("\"tool_"));
        for line in lines {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            ids.insert(record["uuid"].as_str().unwrap().to_string());
        }
    }
    assert_eq!(ids.len(), 4, "{ids:?}");
}

#[test]
fn a_row_without_tokens_does_not_end_an_answer() {
    let place = Place::new();
    let row = |number: u32, input_tokens: i64| Message {
        seq: 0,
        kind: "assistant".into(),
        usage: TokenUsage {
            input_tokens,
            ..TokenUsage::default()
        },
        ..message(number)
    };
    place.write(vec![SessionColumns {
        id: "a".into(),
        messages: vec![row(0, 5), row(1, 0), row(2, 5), row(3, 6)],
        ..SessionColumns::default()
    }]);
    let folder = tempfile::tempdir().unwrap();
    let unpacked = unpack_logs(&place.file(), folder.path()).unwrap();
    let log = std::fs::read_to_string(&unpacked.logs[0].file).unwrap();
    let response = |line: &str| -> String {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        record["message"]["id"].as_str().unwrap().to_string()
    };
    let responses: Vec<String> = log.lines().map(response).collect();
    let expected = ["message-0", "message-1", "message-0", "message-3"];
    assert_eq!(responses, expected);
}

#[test]
fn logs_of_one_path_are_numbered_and_equal_ones_come_once() {
    let place = Place::new();
    let mut sessions = Vec::new();
    for (id, text) in [("a", "1"), ("b", "2"), ("c", "1"), ("d", "3")] {
        sessions.push(SessionColumns {
            id: id.into(),
            attributes: SessionAttributes {
                agent: "claude-code".into(),
                ..SessionAttributes::default()
            },
            logs: vec![LogFile {
                path: "/x.jsonl".into(),
                agent: "claude-code".into(),
                bytes: text.into(),
                rows: Vec::new(),
            }],
            ..SessionColumns::default()
        });
    }
    place.write(sessions);
    let folder = tempfile::tempdir().unwrap();
    let unpacked = unpack_logs(&place.file(), folder.path()).unwrap();
    let logs = unpacked.logs.iter();
    let logs = logs.map(|log| (&*log.path, std::fs::read_to_string(&log.file).unwrap()));
    let logs: Vec<(&str, String)> = logs.collect();
    let expected = [("/x.jsonl", "1"), ("/2/x.jsonl", "2"), ("/3/x.jsonl", "3")];
    assert_eq!(logs, expected.map(|(path, text)| (path, text.to_string())));
}
