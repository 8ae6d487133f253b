//! Stores that cannot be had: what is told then waits in the spool, and nobody waits for it.

use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::{Value, json};

use super::{
    Home, assert_harmless, claude_hook, claude_hook_in_time, count, items, logged, prompted,
    spooled, tool_used,
};
use crate::environment::{Environment, claude_id, feed};

/// A store with one item, and its database.
fn store() -> (Home, PathBuf) {
    let environment = Home::new();
    claude_hook(&environment, &tool_used(&environment, 1, "toolu_0", "ls"));
    assert_eq!(count(&environment, "tool_use"), 1);
    let database = environment.store().join("backstory.db");
    (environment, database)
}

/// Tells of more tool uses.
fn tell(environment: &Environment, ids: std::ops::Range<u32>) {
    for id in ids {
        let id = format!("toolu_{id}");
        claude_hook(environment, &tool_used(environment, 1, &id, &id));
    }
}

/// Every tool use is there once, and nothing waits any more.
#[track_caller]
fn assert_all(environment: &Home, number: usize) {
    let items = items(environment);
    assert_eq!(items.len(), number, "{items:#?}");
    assert_eq!(spooled(environment), Vec::<PathBuf>::new());
    let shown = environment.events(&claude_id(1));
    for id in 1..number {
        let line = format!("tool_call: {}", json!({"command": format!("toolu_{id}")}));
        let found = shown.iter().filter(|shown| **shown == line).count();
        assert_eq!(found, 1, "{line}");
    }
}

#[test]
fn a_locked_store_is_not_waited_for() {
    let (environment, database) = store();
    let other = Connection::open(&database).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    tell(&environment, 1..6);
    assert_eq!(spooled(&environment).len(), 5);
    let last = logged(&environment).pop().unwrap();
    assert_eq!(last["kept"], "spool", "{last}");
    other.execute_batch("ROLLBACK").unwrap();
    // The next one takes along what waits.
    let next = tool_used(&environment, 1, "toolu_6", "toolu_6");
    claude_hook_in_time(&environment, &next);
    assert_eq!(spooled(&environment), Vec::<PathBuf>::new());
    assert_all(&environment, 7);

    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    tell(&environment, 7..9);
    // Told again while it waits, and again when it is stored.
    tell(&environment, 7..8);
    assert_eq!(spooled(&environment).len(), 3);
    other.execute_batch("COMMIT").unwrap();
    drop(other);
    // So does `queue`.
    assert_all(&environment, 9);
    tell(&environment, 7..9);
    assert_all(&environment, 9);
}

#[test]
fn a_locked_store_holds_no_prompt_up_and_shows_it_later() {
    let (environment, database) = store();
    let other = Connection::open(&database).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    claude_hook(&environment, &prompted(&environment, 2, "p1", "first"));
    claude_hook(&environment, &prompted(&environment, 2, "p2", "second"));
    drop(other);
    assert_eq!(count(&environment, "prompt"), 2);
    let expected = ["prompt: first", "prompt: second"];
    assert_eq!(environment.events(&claude_id(2)), expected);
}

#[test]
fn many_hooks_drain_a_full_spool_once() {
    let (environment, database) = store();
    let other = Connection::open(&database).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let environment = &environment;
            scope.spawn(move || tell(environment, 1 + thread * 20..21 + thread * 20));
        }
    });
    assert_eq!(spooled(&environment).len(), 80);
    drop(other);
    std::thread::scope(|scope| {
        for id in 81..97 {
            let environment = &environment;
            scope.spawn(move || tell(environment, id..id + 1));
        }
    });
    assert_all(&environment, 97);
}

/// Tells of two tool uses while the database is as `harm` leaves it, and says what waits then.
fn harmed(harm: impl Fn(&PathBuf)) -> usize {
    let (environment, database) = store();
    let copy = std::fs::read(&database).unwrap();
    let journal = |ending: &str| database.with_file_name(format!("backstory.db{ending}"));
    harm(&database);
    let before = std::fs::read(&database).ok();
    tell(&environment, 1..3);
    let waiting = spooled(&environment).len();
    assert_eq!(std::fs::read(&database).ok(), before, "it was written to");
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(journal(ending));
    }
    let _ = std::fs::remove_dir_all(&database);
    std::fs::write(&database, copy).unwrap();
    assert_all(&environment, 3);
    waiting
}

#[test]
fn a_database_that_is_none_is_left_alone() {
    let garbage = "this is no database at all, but long enough to look at".repeat(100);
    let waiting = harmed(|database| std::fs::write(database, &garbage).unwrap());
    assert_eq!(waiting, 2);
    let waiting = harmed(|database| {
        std::fs::remove_file(database).unwrap();
        std::fs::create_dir(database).unwrap();
    });
    assert_eq!(waiting, 2);
}

#[test]
fn a_newer_store_is_left_alone() {
    let waiting = harmed(|database| {
        let connection = Connection::open(database).unwrap();
        connection
            .execute_batch("PRAGMA user_version = 999")
            .unwrap();
        // Into the database, so that the file says it by itself.
        let mode = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        mode.unwrap();
    });
    assert_eq!(waiting, 2);
}

#[test]
fn a_spool_with_something_strange_in_it_goes_on() {
    let (environment, _) = store();
    let spool = environment.store().join("spool");
    std::fs::create_dir_all(spool.join("000000000000001-folder.json")).unwrap();
    std::fs::write(spool.join("000000000000002-bad.json"), "no capture").unwrap();
    std::fs::write(spool.join("000000000000003-half.json.part"), "{").unwrap();
    tell(&environment, 1..2);
    let next = tool_used(&environment, 1, "toolu_2", "toolu_2");
    claude_hook_in_time(&environment, &next);
    assert_eq!(items(&environment).len(), 3);
}

#[test]
fn a_store_that_cannot_be_made_is_waited_for_elsewhere() {
    let home = Home::new();
    let elsewhere = home.write("elsewhere/file", "");
    let elsewhere = elsewhere.parent().unwrap();
    for below in ["store", "deep/er/store"] {
        let file = home.write("file", "");
        let run = |arguments: &[&str], input: &str| {
            let mut command = home.command(arguments);
            command
                .env("BACKSTORY_HOME", file.join(below))
                .env("TMPDIR", elsewhere);
            feed(&mut command, input.as_bytes())
        };
        let tell = |id: &str| {
            let input = prompted(&home, 1, id, "do it").to_string();
            assert_harmless(&run(&["hook", "UserPromptSubmit"], &input));
        };
        tell("p1");
        tell("p2");
        assert_eq!(std::fs::read(&file).unwrap(), b"");
        // Once it can be made, it has all.
        std::fs::remove_file(&file).unwrap();
        tell("p3");
        let told = run(&["queue", "--json"], "").stdout;
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["items"].as_array().unwrap().len(), 3, "{told:#}");
        std::fs::remove_dir_all(&file).unwrap();
    }
}
