#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fs::File;
use std::io::Write;
use std::time::{Duration, SystemTime};

use super::files::{LINES_AT_ONCE, current_file, days, file_of_day, put_aside};
use super::line::read_line;
use super::*;
use crate::trial::{DAY, NOW, Trial};
use backstory_event::TurnNo;
use backstory_store::LoggedEvent;

fn log(trial: &Trial, event_type: EventType, at: TimeMs) {
    EventLog::of_store(&trial.store())
        .append(&[LogEvent::new(event_type, at).with("event", "Stop")]);
    // As if it had been written when it says.
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(at.get() as u64);
    let file = File::options()
        .append(true)
        .open(current_file(&trial.store()));
    file.unwrap().set_modified(time).unwrap();
}

/// When each thing was last done, in days before now.
fn runs(trial: &Trial) -> Vec<(String, i64, u64)> {
    let runs = trial.memory.upkeep().logged_runs().unwrap().into_iter();
    runs.map(|run| (run.event_type, NOW.since(run.last_at) / DAY, run.count))
        .collect()
}

/// In a folder that others can write, the log could be a link of theirs to any file of ours.
#[cfg(unix)]
#[test]
fn a_store_that_is_refused_gets_no_line() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (store, ours) = (folder.path().join("store"), folder.path().join("ours"));
    std::fs::create_dir_all(store.join("logs")).unwrap();
    std::fs::write(&ours, "ours").unwrap();
    symlink(&ours, current_file(&store)).unwrap();
    // It cannot be narrowed: it is no store.
    std::fs::write(store.join("letter.txt"), "").unwrap();
    let wide = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(&store, wide).unwrap();
    EventLog::of_store(&store).append(&[LogEvent::new(EventType::HookCapture, NOW)]);
    assert_eq!(std::fs::read_to_string(&ours).unwrap(), "ours");
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(&store, private).unwrap();
    EventLog::of_store(&store).append(&[LogEvent::new(EventType::HookCapture, NOW)]);
    assert!(std::fs::read_to_string(&ours).unwrap().len() > 4);
}

#[test]
fn a_file_a_day_is_put_aside_and_thirty_are_kept() {
    let trial = Trial::new();
    for day in (0..40).rev() {
        log(&trial, EventType::HookCapture, NOW.minus_ms(day * DAY));
    }
    let days = days(&trial.store());
    assert_eq!(days.len(), 30);
    assert_eq!(days.first().map(String::as_str), Some("2026-05-02"));
    let last = std::fs::read_to_string(current_file(&trial.store())).unwrap();
    assert_eq!(last.lines().count(), 1);
    assert!(
        last.starts_with(
            r#"{"timestamp":"2026-06-01T00:00:00.000Z","session_id":null,"event_type":"hook.capture","data":{"error":null,"event":"Stop","status":"success"},"duration_ms":null,"tokens_in":null,"tokens_out":null}"#
        )
    );
}

/// A process was killed between two steps of putting the file aside.
#[cfg(unix)]
#[test]
fn a_file_that_is_half_put_aside_is_put_aside() {
    let trial = Trial::new();
    log(&trial, EventType::HookCapture, NOW.minus_ms(DAY));
    let (current, aside) = (
        current_file(&trial.store()),
        file_of_day(&trial.store(), "2026-05-31"),
    );
    std::fs::hard_link(&current, &aside).unwrap();
    log(&trial, EventType::HookCapture, NOW);
    let lines = [aside, current].map(|path| std::fs::read_to_string(path).unwrap().lines().count());
    assert_eq!(lines, [1, 1]);
}

#[test]
fn a_file_is_put_aside_where_there_are_no_links() {
    let folder = tempfile::tempdir().unwrap();
    let (current, aside) = (folder.path().join("current"), folder.path().join("aside"));
    let refuse = |_: &Path, _: &Path| Err(std::io::ErrorKind::Unsupported.into());
    std::fs::write(&current, "old").unwrap();
    put_aside(&current, &aside, refuse).unwrap();
    assert!(!current.exists());
    std::fs::write(&current, "new").unwrap();
    put_aside(&current, &aside, refuse).unwrap_err();
    let texts = [current, aside].map(|path| std::fs::read_to_string(path).unwrap());
    assert_eq!(texts, ["new", "old"]);
}

#[test]
fn lines_are_taken_over_once_whatever_is_put_aside_meanwhile() {
    let trial = Trial::new();
    log(&trial, EventType::HookCapture, NOW.minus_ms(2 * DAY));
    assert_eq!(runs(&trial), [("hook.capture".to_string(), 2, 1)]);
    assert_eq!(trial.memory.upkeep().take_over_log(NOW).unwrap(), 1);
    log(&trial, EventType::HookCapture, NOW.minus_ms(2 * DAY));
    log(&trial, EventType::SearchQuery, NOW.minus_ms(DAY));
    log(&trial, EventType::HookCapture, NOW);
    assert_eq!(trial.memory.upkeep().take_over_log(NOW).unwrap(), 3);
    assert_eq!(trial.memory.upkeep().take_over_log(NOW).unwrap(), 0);
    let expected = [
        ("hook.capture".to_string(), 0, 3),
        ("search.query".to_string(), 1, 1),
    ];
    assert_eq!(runs(&trial), expected);
}

#[test]
fn the_last_run_is_known_however_many_lines_were_not_taken_over() {
    let trial = Trial::new();
    log(&trial, EventType::HookCapture, NOW.minus_ms(DAY));
    log(&trial, EventType::SearchQuery, NOW);
    let path = current_file(&trial.store());
    let line = std::fs::read_to_string(&path).unwrap();
    let line = line.lines().last().unwrap().to_string() + "\n";
    let file = File::options().append(true).open(&path);
    let lines = line.repeat(2 * LINES_AT_ONCE);
    file.unwrap().write_all(lines.as_bytes()).unwrap();
    log(&trial, EventType::HookCapture, NOW);
    assert_eq!(runs(&trial)[0], ("hook.capture".to_string(), 0, 2));
}

#[test]
fn what_is_no_event_is_passed_over_and_half_a_line_waits() {
    let trial = Trial::new();
    log(&trial, EventType::HookCapture, NOW);
    let path = current_file(&trial.store());
    let append = |text: &str| {
        let file = File::options().append(true).open(&path);
        file.unwrap().write_all(text.as_bytes()).unwrap();
    };
    append("\0garbage\n{\"at\":3}\n{\"at\":\"2026-06-01T00:00:00Z\",");
    assert_eq!(trial.memory.upkeep().take_over_log(NOW).unwrap(), 1);
    append("\"name\":\"late\"}\n");
    assert_eq!(trial.memory.upkeep().take_over_log(NOW).unwrap(), 1);
}

#[test]
fn what_is_forgotten_is_gone_and_nothing_else_is_told_twice() {
    let trial = Trial::new();
    for (event_type, day) in [
        (EventType::SearchQuery, 1),
        (EventType::HookSummary, 1),
        (EventType::SearchQuery, 0),
        (EventType::HookSummary, 0),
    ] {
        log(&trial, event_type, NOW.minus_ms(day * DAY));
    }
    let is_about = |line: &[u8]| memchr::memmem::find(line, b".summary").is_some();
    trial.memory.upkeep().forget_lines(is_about).unwrap();
    assert_eq!(trial.memory.upkeep().take_over_log(NOW).unwrap(), 0);
    log(&trial, EventType::SearchQuery, NOW);
    assert_eq!(trial.memory.upkeep().take_over_log(NOW).unwrap(), 1);
    let files = [
        file_of_day(&trial.store(), "2026-05-31"),
        current_file(&trial.store()),
    ];
    let lines = files.map(|path| std::fs::read_to_string(path).unwrap().lines().count());
    assert_eq!(lines, [1, 2]);
}

#[test]
fn nothing_is_made_where_no_store_is() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("store");
    EventLog::of_store(&home).append(&[LogEvent::new(EventType::HookCapture, NOW)]);
    assert!(!home.exists());
}

#[test]
fn lines_of_this_and_of_the_first_version_are_read() {
    let event = LogEvent::new(EventType::HookCapture, NOW.plus_ms(7))
        .with("event", "Stop")
        .in_session(Some("s-1"))
        .taking(Duration::from_micros(2_345))
        .failed(Some("no room"));
    let event = LogEvent {
        agent: Some("codex".to_string()),
        tokens_in: Some(3),
        tokens_out: Some(4),
        ..event
    };
    let trial = Trial::new();
    EventLog::of_store(&trial.store()).append(&[event]);
    let line = std::fs::read(current_file(&trial.store())).unwrap();
    let read = read_line(&line).unwrap();
    let expected = LoggedEvent {
        at: NOW.plus_ms(7),
        session_id: Some("s-1".to_string()),
        event_type: "hook.capture".to_string(),
        agent: Some("codex".to_string()),
        duration_us: Some(2_345),
        tokens_in: Some(3),
        tokens_out: Some(4),
        tokens_injected: 0,
        data: Some(
            r#"{"agent":"codex","error":"no room","event":"Stop","status":"error"}"#.to_string(),
        ),
    };
    assert_eq!(read, expected);
    let old = br#"{"at":"2026-06-01T00:00:00.007Z","name":"hook.capture","agent":"codex","duration_us":2345,"tokens":4,"event":"Stop","error":"no room"}"#;
    let expected = LoggedEvent {
        session_id: None,
        tokens_in: None,
        data: Some(r#"{"error":"no room","event":"Stop"}"#.to_string()),
        ..expected
    };
    assert_eq!(read_line(old).unwrap(), expected);
}

#[test]
fn no_line_has_a_secret() {
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let long = format!("{} {secret}", "word ".repeat(201));
    let event = LogEvent::new(EventType::HookCapture, NOW)
        .with("paths", vec![format!("/home/ada/{secret}/cart.rs")])
        .failed(Some(long));
    let trial = Trial::new();
    EventLog::of_store(&trial.store()).append(&[event]);
    let line = std::fs::read_to_string(current_file(&trial.store())).unwrap();
    assert!(!line.contains(&secret[..12]), "{line}");
    assert!(line.contains("[REDACTED:"), "{line}");
    let read = read_line(line.as_bytes()).unwrap();
    assert!(read.data.unwrap().len() < 2 * MAX_ERROR_BYTES);
}

#[test]
fn ids_that_agents_give_are_no_secrets() {
    let trial = Trial::new();
    for number in 0..2_000_u64 {
        let hash = blake3::hash(&number.to_le_bytes());
        let hex = hash.to_hex();
        let id = format!(
            "{}-{}-7{}-8{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[12..15],
            &hex[15..18],
            &hex[18..30]
        );
        let hits = vec![serde_json::json!({"session": id, "turn": 3})];
        let event = LogEvent::new(EventType::SearchQuery, NOW).with("hits", hits);
        EventLog::of_store(&trial.store()).append(&[event.in_session(Some(&id))]);
    }
    let lines = std::fs::read_to_string(current_file(&trial.store())).unwrap();
    assert_eq!(lines.lines().count(), 2_000);
    assert!(!lines.contains("REDACTED"));
}

#[test]
fn every_type_is_documented() {
    let docs = include_str!("../../../../docs/events.md");
    for event_type in EventType::ALL {
        let name = format!("`{}`", event_type.name());
        assert!(docs.contains(&name), "{name}");
    }
}

/// Logs a search that found these turns.
fn search(trial: &Trial, at: TimeMs, hits: &[(&str, u64)]) {
    let hits: Vec<Value> = hits
        .iter()
        .map(|(session, turn)| serde_json::json!({"session": session, "turn": turn}))
        .collect();
    let event = LogEvent::new(EventType::SearchQuery, at).with("hits", hits);
    EventLog::of_store(&trial.store()).append(&[event]);
}

#[test]
fn a_hit_that_is_opened_soon_after_a_search_has_its_rank() {
    let trial = Trial::new();
    let rank = |session: &str, turn: Option<u32>, at: TimeMs| {
        opened::rank_of_opened(&trial.store(), session, turn.map(TurnNo::new), at)
    };
    assert_eq!(rank("a", Some(1), NOW), None);
    search(&trial, NOW, &[("a", 1), ("b", 4), ("a", 2)]);
    search(&trial, NOW.plus_ms(1), &[("c", 1)]);
    log(&trial, EventType::HookCapture, NOW.plus_ms(2));
    assert_eq!(rank("b", Some(4), NOW.plus_ms(3)), Some(2));
    assert_eq!(rank("a", Some(2), NOW.plus_ms(3)), Some(3));
    // Another turn of the session, or all of it.
    assert_eq!(rank("a", Some(9), NOW.plus_ms(3)), Some(1));
    assert_eq!(rank("b", None, NOW.plus_ms(3)), Some(2));
    assert_eq!(rank("d", None, NOW.plus_ms(3)), None);
    assert_eq!(rank("b", Some(4), NOW.plus_ms(3_600_000)), None);
    let opened = LogEvent::new(EventType::SearchResult, NOW.plus_ms(4))
        .with("session", "b")
        .with("turn", 4)
        .with("rank", 2);
    EventLog::of_store(&trial.store()).append(&[opened]);
    assert_eq!(rank("b", Some(4), NOW.plus_ms(5)), None);
    assert_eq!(rank("a", Some(1), NOW.plus_ms(5)), Some(1));
    // A new search makes it news again.
    search(&trial, NOW.plus_ms(6), &[("b", 4)]);
    assert_eq!(rank("b", Some(4), NOW.plus_ms(7)), Some(1));
}
