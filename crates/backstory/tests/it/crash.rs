//! Sweeps that are killed, crowded, or met by a damaged store.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use backstory_agents::sample;

use crate::environment::{Environment, STORY_END, prompt};

/// How often a sweep is killed. `BACKSTORY_KILLS=300` for a thorough run.
fn kills() -> u32 {
    std::env::var("BACKSTORY_KILLS")
        .ok()
        .and_then(|kills| kills.parse().ok())
        .unwrap_or(20)
}

fn environment_with_logs() -> Environment {
    let environment = Environment::new();
    environment.write_all(sample::logs(3, 2_000_000));
    environment.write_all(sample::story(STORY_END));
    // A file of many chunks, so that a sweep can be stopped within it.
    let long: Vec<String> = (0..3000)
        .map(|number| prompt(1, number, &format!("{number} ").repeat(1000)))
        .collect();
    environment.claude(1, &long);
    environment
}

#[test]
fn killed_at_any_moment_nothing_is_lost_or_doubled() {
    let reference = environment_with_logs();
    reference.sweep();
    let expected = reference.everything();
    let environment = environment_with_logs();
    let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
    for kill in 0..kills() {
        // A new store now and then, so that kills hit all of its life; the last ones hit a store that is complete.
        if kill % 4 == 0 && kill < kills() - 4 {
            let _ = std::fs::remove_dir_all(environment.store());
        }
        let mut child = environment
            .command(&["sweep"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(
            Duration::from_micros(random >> 33)
                .min(Duration::from_micros((random >> 40) % 150_000)),
        );
        child.kill().unwrap();
        child.wait().unwrap();
    }
    environment.sweep();
    assert_eq!(environment.run(&["doctor"]).code, 0);
    assert!(
        environment.everything() == expected,
        "the store differs from that of an undisturbed run"
    );
}

#[test]
fn many_sweeps_at_once_store_everything_once() {
    let reference = environment_with_logs();
    reference.sweep();
    let environment = environment_with_logs();
    let spawn = |_| {
        environment
            .command(&["sweep"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..16).map(spawn).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert!(
        environment.everything() == reference.everything(),
        "the store differs from that of one sweep"
    );
}

/// A store with enough in it that it lies in the database and not in its journal.
fn environment_with_database() -> (Environment, PathBuf) {
    let environment = Environment::new();
    environment.write_all(sample::logs(3, 12_000_000));
    environment.sweep();
    let path = environment.store().join("backstory.db");
    // All of it in the one file: what a sweep logs comes last.
    let database = rusqlite::Connection::open(&path).unwrap();
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    database.query_row(checkpoint, [], |_| Ok(())).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() > 1_000_000);
    (environment, path)
}

#[test]
fn a_damaged_store_is_noticed() {
    let (environment, path) = environment_with_database();
    let mut bytes = std::fs::read(&path).unwrap();
    for byte in &mut bytes[20_000..60_000] {
        *byte ^= 0x5a;
    }
    std::fs::write(&path, bytes).unwrap();
    let outcome = environment.run(&["doctor"]);
    assert_eq!(outcome.code, 1, "{}", outcome.stdout);
    assert!(outcome.stdout.contains("wrong:"), "{}", outcome.stdout);
    std::fs::write(
        &path,
        "this is no database at all, but long enough to look at".repeat(100),
    )
    .unwrap();
    let outcome = environment.run(&["sweep"]);
    assert_eq!(outcome.code, 70);
    assert!(
        outcome.stderr.contains("error: ") && outcome.stderr.contains("hint: "),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_newer_store_is_left_alone() {
    let (environment, path) = environment_with_database();
    let mut bytes = std::fs::read(&path).unwrap();
    // The schema's number lies at byte 60 of the file, big-endian.
    bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let outcome = environment.run(&["sweep"]);
    assert!(outcome.stderr.contains("schema 99"), "{}", outcome.stderr);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}
