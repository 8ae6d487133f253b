//! Sessions are read record by record as they are read as a whole.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod messages;
mod round_trip;

use std::collections::HashSet;
use std::path::Path;

use backstory_agents::sample;
use backstory_event::{Seq, TurnNo};
use serde_json::{Value, json};

use crate::trial::{DAY, NOW, Trial, id, prompt, record};
use crate::{EventRange, EventRecord, LogMemory, Memory, SessionFilter, SessionRow};
use crate::{ImportOptions, Sources, read_logs};

/// Reads the logs in a folder without redaction.
fn read_folder(logs: &Path) -> LogMemory {
    let mut options = ImportOptions::new(Sources::paths([logs]));
    options.redact = false;
    read_logs(logs.parent().unwrap(), None, &options, &mut |_| {}).unwrap()
}

fn write_samples(folder: &Path, bytes: u64) {
    for file in sample::logs(5, bytes) {
        let path = folder.join(file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, file.bytes).unwrap();
    }
}

/// The events of a session, all read at once.
fn events_at_once(memory: &Memory, row: &SessionRow, range: EventRange) -> Vec<EventRecord> {
    let events = memory
        .sessions()
        .open(row.clone())
        .event_views(range)
        .unwrap();
    memory
        .sessions()
        .open(row.clone())
        .event_records(&events)
        .unwrap()
}

fn events_in_pieces(memory: &Memory, row: &SessionRow, range: EventRange) -> Vec<EventRecord> {
    let session = memory.sessions().open(row.clone());
    let events = session.events(range).unwrap();
    events.map(Result::unwrap).collect()
}

#[test]
fn messages_have_all_events_of_logs_of_every_agent() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    write_samples(&logs, 6_000_000);
    let memory = read_folder(&logs);
    assert_eq!(memory.report().problems, []);
    let mut agents = HashSet::new();
    let mut images = 0;
    for row in memory.sessions().list(&SessionFilter::default()).unwrap() {
        let expected = events_at_once(&memory, &row, EventRange::All);
        assert_eq!(events_in_pieces(&memory, &row, EventRange::All), expected);
        let session = memory.sessions().open(row.clone());
        assert_eq!(
            session.usage().unwrap(),
            memory.sessions().open(row.clone()).usage().unwrap()
        );
        assert_eq!(
            session.meta().unwrap(),
            memory.sessions().open(row.clone()).meta().unwrap()
        );
        let mut copies = Vec::new();
        for log in session.logs().unwrap() {
            assert!(log.is_whole && log.agent == row.agent);
            let mut copy = Vec::new();
            session.copy_log(&log, &mut copy).unwrap();
            assert_eq!(copy, std::fs::read(&log.path).unwrap());
            copies.push((log.path, copy));
        }
        let mut events = Vec::new();
        let mut names = HashSet::new();
        for message in session.messages(EventRange::All).unwrap() {
            let message = message.unwrap();
            let content: Value = serde_json::from_str(&message.content).unwrap();
            assert!(content.is_array() || content.is_string());
            for artifact in &message.artifacts {
                assert!(names.insert(artifact.name.clone()), "{}", artifact.name);
                assert_eq!(artifact.media_type, "image/png");
                assert!(artifact.bytes.starts_with(b"\x89PNG"));
                let mark = format!("artifact:{}\"", artifact.name);
                assert_eq!(message.content.matches(&mark).count(), 1);
            }
            assert!(!message.content.contains("iVBORw0KGgo"));
            let place = message.log.unwrap();
            let (path, bytes) = &copies[place.log];
            assert_eq!(message.events[0].source_path.as_ref(), Some(path));
            let start = place.offset as usize;
            assert_eq!(bytes[start], b'{');
            let lines = bytes[..start].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(message.events[0].source_line, Some(lines as u64 + 1));
            events.extend(message.events);
        }
        assert_eq!(events, expected);
        images += names.len();
        agents.insert(row.agent);
    }
    assert!(agents.len() >= 3 && images >= 3, "{agents:?} {images}");
}

#[test]
fn records_and_ranges_do_not_depend_on_pieces() {
    let mut trial = Trial::new();
    let mut lines = Vec::new();
    for number in 0..700 {
        lines.push(prompt(1, number, 1, &format!("prompt {number}")));
        // Replies of so many blocks that some lie across the end of a piece.
        let blocks: Vec<Value> = (0..number % 5)
            .map(|block| json!({"type": "text", "text": format!("reply {number} {block}")}))
            .collect();
        let message = json!({"role": "assistant", "id": format!("m{number}"), "model": "claude-x", "content": blocks,
            "usage": {"input_tokens": number, "output_tokens": 1}});
        let at = NOW.plus_ms(i64::from(number) * 1000 + 500 - DAY);
        lines.push(record(
            1,
            &format!("r{number}"),
            Some(at),
            "assistant",
            &message,
        ));
    }
    trial.append("log", &lines);
    trial.sweep();
    let row = trial.session(1);
    assert!(row.events > 2_000);
    let memory = &trial.memory;
    for range in [
        EventRange::All,
        EventRange::From(Seq::new(999)),
        EventRange::From(Seq::new(9_999)),
        EventRange::One(Seq::new(1_001)),
        EventRange::Turn(TurnNo::new(334)),
        EventRange::Last(1_003),
        EventRange::Last(0),
        EventRange::Last(99_999),
    ] {
        let expected = events_at_once(memory, &row, range);
        assert_eq!(events_in_pieces(memory, &row, range), expected, "{range:?}");
    }
    let session = memory.sessions().open(row);
    let no_turn = EventRange::Turn(TurnNo::new(9_999));
    assert!(session.events(no_turn).is_err() && session.messages(no_turn).is_err());
    let messages = session.messages(EventRange::All).unwrap();
    let counts: Vec<usize> = messages
        .map(|message| message.unwrap().events.len())
        .collect();
    let expected: Vec<usize> = (0..700)
        .flat_map(|number| [1, number % 5])
        .filter(|count| *count > 0)
        .collect();
    assert_eq!(counts, expected);
}

#[test]
fn a_log_of_an_evicted_session_is_not_whole() {
    let mut trial = Trial::new();
    trial.append("log", &[prompt(1, 0, 1, "hello")]);
    trial.sweep();
    let row = trial.session(1);
    let mut evictor = trial.memory.store.evictor().unwrap();
    evictor.evict(row.id, NOW, &[]).unwrap();
    let session = trial.memory.sessions().find(&id(1)).unwrap();
    assert_eq!(session.row().session, row.session);
    let logs = session.logs().unwrap();
    assert_eq!(logs.len(), 1);
    assert!(!logs[0].is_whole);
    assert!(session.copy_log(&logs[0], &mut Vec::new()).is_err());
    assert_eq!(session.messages(EventRange::All).unwrap().count(), 0);
}

#[test]
fn logs_are_read_into_a_folder_that_goes() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, temporary) = (folder.path().join("logs"), folder.path().join("tmp"));
    std::fs::create_dir_all(&logs).unwrap();
    std::fs::create_dir_all(&temporary).unwrap();
    let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let log = [
        prompt(1, 0, 1, &format!("use {secret}")),
        "{\"type\":\"user\",\n".to_string(),
    ];
    std::fs::write(logs.join("one.jsonl"), log.concat()).unwrap();
    std::fs::write(logs.join("two.jsonl.zst"), "no zstd").unwrap();
    for redact in [true, false] {
        let mut options = ImportOptions::new(Sources::paths([&logs]));
        options.redact = redact;
        let mut seen = 0;
        let mut progress = |progress: crate::Progress| seen = progress.bytes_read;
        let memory = read_logs(&temporary, None, &options, &mut progress).unwrap();
        let report = memory.report();
        assert_eq!((report.events, report.skipped_records), (1, 1));
        assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
        assert_eq!(memory.upkeep().skipped(0).unwrap().len(), 1);
        let session = memory.sessions().find(&id(1)).unwrap();
        let message = session.messages(EventRange::All).unwrap().next();
        assert_eq!(message.unwrap().unwrap().content.contains(&secret), !redact);
        let reader = memory.open_reader().unwrap().unwrap();
        assert_eq!(
            reader
                .sessions()
                .list(&SessionFilter::default())
                .unwrap()
                .len(),
            1
        );
        assert!(seen > 0 && memory.home().starts_with(&temporary));
        drop((reader, memory));
        assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    }
}
