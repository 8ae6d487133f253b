//! Logs that were edited: what is new in them is found, and nothing is lost or doubled.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

use serde_json::json;

use crate::environment::{Environment, claude_id, claude_path, prompt, reply};

/// Three records of which the middle one is far from both ends of the file.
fn log(word: &str) -> [String; 3] {
    let padding = "lorem ipsum ".repeat(800);
    [
        prompt(1, 0, &format!("first {padding}")),
        reply(1, 1, &format!("the secret ingredient is {word}"), 5),
        prompt(1, 2, &format!("last {padding}")),
    ]
}

fn path(environment: &Environment) -> PathBuf {
    environment.home().join(claude_path(1))
}

/// The number of stored generations of all files.
fn generations(environment: &Environment) -> i64 {
    let database = environment.store().join("backstory.db");
    let connection = rusqlite::Connection::open(database).unwrap();
    let query = "SELECT COUNT(*) FROM streams";
    connection.query_row(query, [], |row| row.get(0)).unwrap()
}

fn check_found(environment: &Environment, word: &str, gone: &str) {
    assert_eq!(environment.found(&[word]).len(), 1, "{word}");
    assert!(environment.found(&[gone]).is_empty(), "{gone}");
    let events = environment.events(&claude_id(1));
    assert_eq!(events[1], format!("reply: the secret ingredient is {word}"));
    assert!(events[0].starts_with("prompt: first") && events[2].starts_with("prompt: last"));
    assert_eq!(environment.json(&["usage"])["totals"]["output"], 5);
    assert_eq!(environment.run(&["doctor"]).code, 0);
}

#[test]
fn an_edit_of_the_same_length_in_the_middle_is_found() {
    let environment = Environment::new();
    environment.claude(1, &log("marmalade"));
    environment.sweep();
    environment.claude(1, &log("porcupine"));
    environment.sweep();
    check_found(&environment, "porcupine", "marmalade");
    assert_eq!(environment.events(&claude_id(1)).len(), 3);
    assert_eq!(generations(&environment), 2);
    // And back again.
    environment.claude(1, &log("marmalade"));
    environment.sweep();
    check_found(&environment, "marmalade", "porcupine");
}

#[test]
fn an_edit_is_found_although_the_file_was_given_its_old_time_again() {
    let environment = Environment::new();
    environment.claude(1, &log("marmalade"));
    let modified = path(&environment).metadata().unwrap().modified().unwrap();
    environment.sweep();
    environment.claude(1, &log("porcupine"));
    let file = File::options()
        .append(true)
        .open(path(&environment))
        .unwrap();
    file.set_modified(modified).unwrap();
    environment.sweep();
    check_found(&environment, "porcupine", "marmalade");
}

#[test]
fn an_edit_is_found_in_a_file_that_grew_as_well() {
    let environment = Environment::new();
    environment.claude(1, &log("marmalade"));
    environment.sweep();
    let longer = [log("porcupine").concat(), prompt(1, 3, "one more")];
    environment.claude(1, &longer);
    environment.sweep();
    check_found(&environment, "porcupine", "marmalade");
    let events = environment.events(&claude_id(1));
    assert_eq!((events.len(), events[3].as_str()), (4, "prompt: one more"));
}

#[test]
fn a_file_that_was_only_touched_is_no_new_generation() {
    let environment = Environment::new();
    environment.claude(1, &log("marmalade"));
    environment.sweep();
    environment.claude(1, &log("marmalade"));
    assert_eq!(environment.sweep()["events"], 0);
    let copy = path(&environment).with_extension("copy");
    std::fs::copy(path(&environment), &copy).unwrap();
    std::fs::rename(&copy, path(&environment)).unwrap();
    assert_eq!(environment.sweep()["events"], 0);
    assert_eq!(generations(&environment), 1);
    assert_eq!(environment.sweep()["skipped_unchanged"], 1);
    check_found(&environment, "marmalade", "porcupine");
}

#[test]
fn a_store_of_an_older_version_learns_to_see_edits() {
    let environment = Environment::new();
    environment.claude(1, &log("marmalade"));
    environment.sweep();
    let database = environment.store().join("backstory.db");
    let connection = rusqlite::Connection::open(database).unwrap();
    let forget = "UPDATE source_files SET content_hash = NULL, changed_ns = 0";
    assert_eq!(connection.execute(forget, []).unwrap(), 1);
    drop(connection);
    let report = environment.sweep();
    assert_eq!(
        (&report["skipped_unchanged"], &report["ingested"]),
        (&json!(1), &json!(0))
    );
    environment.claude(1, &log("porcupine"));
    environment.sweep();
    check_found(&environment, "porcupine", "marmalade");
}

#[test]
fn an_edit_in_the_middle_of_a_streamed_reply_is_found() {
    let environment = Environment::new();
    let id = "019f0000-0000-7000-8000-000000000001";
    let line = |number: u32, kind: &str, text: &str| {
        let update = json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
        let stamp = json!({"eventId": format!("{id}-{number}"), "agentTimestampMs": 1_770_000_000_000u64 + u64::from(number)});
        let parameters = json!({"sessionId": id, "update": update, "_meta": stamp});
        let line =
            json!({"timestamp": 1_770_000_000, "method": "session/update", "params": parameters});
        format!("{line}\n")
    };
    let log = |word: &str| {
        let padding = "lorem ipsum ".repeat(800);
        [
            line(1, "user_message_chunk", &format!("ask {padding}")),
            line(2, "agent_message_chunk", "it is "),
            line(3, "agent_message_chunk", word),
            line(4, "agent_message_chunk", " of course"),
            line(5, "user_message_chunk", &format!("thanks {padding}")),
        ]
        .concat()
    };
    let path = format!(".grok/sessions/%2Fhome%2Fada%2Fshop/{id}/updates.jsonl");
    environment.write(&path, log("marmalade"));
    environment.sweep();
    environment.write(&path, log("porcupine"));
    environment.sweep();
    let events = environment.events(id);
    assert_eq!(
        (events.len(), events[1].as_str()),
        (3, "reply: it is porcupine of course")
    );
    assert_eq!(environment.found(&["porcupine"]).len(), 1);
}

/// Read byte by byte it would take minutes.
#[test]
fn a_log_with_a_hole_of_a_hundred_gigabytes_takes_no_time() {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "before the hole")]);
    let mut file = File::options()
        .append(true)
        .open(path(&environment))
        .unwrap();
    if file.set_len(100 << 30).is_err() {
        return;
    }
    let report = environment.sweep();
    assert_eq!(
        (&report["events"], &report["skipped_records"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(environment.sweep()["skipped_unchanged"], 1);
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(format!("\n{}", prompt(1, 1, "behind the hole")).as_bytes())
        .unwrap();
    assert_eq!(environment.sweep()["events"], 1);
    // Compared as a whole.
    let now = std::time::SystemTime::now();
    file.set_modified(now - std::time::Duration::from_secs(5))
        .unwrap();
    assert_eq!(environment.sweep()["events"], 0);
    let expected = ["prompt: before the hole", "prompt: behind the hole"];
    assert_eq!(environment.events(&claude_id(1)), expected);
    assert_eq!(generations(&environment), 1);
}
