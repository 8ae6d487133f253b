//! Adding to a file keeps everything that it holds.

use backstory_columnar::{Artifact, LogFile, Message, SessionColumns, ToolCall};

use crate::support::{Place, message, session, tool_call, without_log_rows};

#[test]
fn a_new_session_leaves_the_others_as_they_are() {
    let place = Place::new();
    place.write(vec![session("a", 100), session("b", 3)]);
    let report = place.write(vec![session("c", 5)]);
    assert_eq!((report.sessions, report.carried_over), (1, 2));
    assert_eq!(place.open().session_ids().unwrap(), ["a", "b", "c"]);
    for (id, rows) in [("a", 100), ("b", 3), ("c", 5)] {
        assert_eq!(
            without_log_rows(place.read(id)),
            without_log_rows(session(id, rows))
        );
    }
    let before = std::fs::read(place.file()).unwrap().len();
    place.write(Vec::new());
    assert!(
        std::fs::read(place.file()).unwrap().len().abs_diff(before) < 100,
        "and a rebuild adds nothing"
    );
}

#[test]
fn new_rows_are_added() {
    let place = Place::new();
    place.write(vec![session("a", 100)]);
    place.write(vec![session("a", 130)]);
    assert_eq!(
        without_log_rows(place.read("a")),
        without_log_rows(session("a", 130))
    );
}

#[test]
fn rows_that_the_new_data_lacks_are_kept_in_their_place() {
    let place = Place::new();
    let mut old = session("a", 6);
    old.messages[2].uuid.clear();
    place.write(vec![old.clone()]);
    let mut new = session("a", 0);
    new.messages = vec![message(1), message(4), message(6)];
    new.tool_calls = vec![tool_call(1), tool_call(5)];
    new.logs.clear();
    place.write(vec![new]);
    let read = place.read("a");
    assert_eq!(
        read.messages.iter().map(|row| row.seq).collect::<Vec<_>>(),
        [1, 2, 3, 4, 5, 6, 7]
    );
    assert_eq!(read.messages[2], old.messages[2], "known by its number");
    assert_eq!(
        read.tool_calls
            .iter()
            .map(|row| row.tool_use_id.as_str())
            .collect::<Vec<_>>(),
        ["call-0", "call-1", "call-2", "call-5"]
    );
    assert_eq!(
        without_log_rows(read).logs,
        without_log_rows(old).logs,
        "the log is unpacked with the rows where they are now"
    );
}

#[test]
fn contents_that_were_evicted_stay_in_the_file() {
    let place = Place::new();
    let mut old = session("a", 4);
    old.messages[1].embedding = Some(vec![1.0, 2.0]);
    place.write(vec![old.clone()]);
    let mut new = session("a", 4);
    for row in &mut new.messages {
        row.text.clear();
        row.json.clear();
    }
    new.tool_calls[1].result.clear();
    new.attributes.cwd.clear();
    new.attributes.permission_mode = None;
    new.messages[3].text = "changed".into();
    place.write(vec![new]);
    old.messages[3] = Message {
        text: "changed".into(),
        json: String::new(),
        ..old.messages[3].clone()
    };
    assert_eq!(without_log_rows(place.read("a")), without_log_rows(old));
}

#[test]
fn a_call_of_which_only_the_result_is_left_keeps_its_name() {
    let place = Place::new();
    place.write(vec![session("a", 4)]);
    let mut new = session("a", 4);
    let result = ToolCall {
        tool_use_id: "call-1".into(),
        result_uuid: "message-2".into(),
        timestamp: 9.0,
        result: tool_call(1).result,
        ..ToolCall::default()
    };
    new.tool_calls[1] = result;
    place.write(vec![new]);
    assert_eq!(place.read("a").tool_calls, session("a", 4).tool_calls);
}

#[test]
fn records_that_are_in_a_log_twice_stay_two_rows() {
    let place = Place::new();
    let mut twice = session("a", 2);
    twice.messages.push(Message {
        seq: 3,
        ..message(1)
    });
    twice.tool_calls = vec![
        ToolCall {
            args: "1".into(),
            ..tool_call(0)
        },
        ToolCall {
            args: "2".into(),
            ..tool_call(0)
        },
    ];
    place.write(vec![twice.clone()]);
    place.write(vec![twice.clone()]);
    assert_eq!(without_log_rows(place.read("a")), without_log_rows(twice));
}

#[test]
fn artifacts_and_logs_are_kept_or_replaced_by_name() {
    let place = Place::new();
    place.write(vec![session("a", 3)]);
    let artifact = |name: &str, bytes: &[u8]| Artifact {
        name: name.into(),
        bytes: bytes.to_vec(),
        ..Artifact::default()
    };
    let log = |path: &str, bytes: &[u8]| LogFile {
        path: path.into(),
        bytes: bytes.to_vec(),
        ..LogFile::default()
    };
    place.write(vec![SessionColumns {
        artifacts: vec![artifact("b", b"1")],
        logs: vec![log("other", b"1\n2\n")],
        ..session("a", 3)
    }]);
    place.write(vec![SessionColumns {
        artifacts: vec![artifact("b", b"2")],
        logs: vec![log("other", b"1\n")],
        ..session("a", 3)
    }]);
    let read = place.read("a");
    let artifacts: Vec<_> = read
        .artifacts
        .iter()
        .map(|artifact| (artifact.name.as_str(), &artifact.bytes[..]))
        .collect();
    assert_eq!(
        artifacts,
        [("b", &b"2"[..]), ("image-1.png", &[0, 1, 2, 255])]
    );
    assert_eq!(read.artifacts[1].media_type, "image/png");
    let logs: Vec<_> = read
        .logs
        .iter()
        .map(|log| (log.path.as_str(), log.bytes.len()))
        .collect();
    assert_eq!(
        logs,
        [
            ("other", 4),
            ("/logs/a.jsonl", session("a", 3).logs[0].bytes.len())
        ],
        "a shorter version does not replace a longer one"
    );
}

#[test]
fn contents_of_many_chunks_grow_and_change() {
    let place = Place::new();
    let large = |rows: u32| {
        let mut large = session("a", rows);
        for row in &mut large.messages {
            row.text = format!("{} {}", row.seq, "x".repeat(10_000 + row.seq as usize));
        }
        for call in &mut large.tool_calls {
            call.result = call.args.repeat(1000);
        }
        large.logs.clear();
        large
    };
    place.write(vec![large(60)]);
    let first = std::fs::metadata(place.file()).unwrap().len();
    place.write(vec![large(90)]);
    assert_eq!(place.read("a"), large(90));
    place.write(vec![large(90)]);
    assert!(std::fs::metadata(place.file()).unwrap().len() < 2 * first);
    // A change in the middle, and a row that is only in the file.
    let mut changed = large(100);
    changed.messages[40].text = "changed".into();
    changed.tool_calls[20].result = "changed".into();
    place.write(vec![changed.clone()]);
    assert_eq!(place.read("a"), changed);
    let mut shorter = changed.clone();
    shorter.messages.remove(30);
    shorter.messages[0].text.clear();
    shorter.messages[0].json.clear();
    place.write(vec![shorter]);
    assert_eq!(place.read("a"), changed);
}
