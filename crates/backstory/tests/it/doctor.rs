//! `doctor` names what is wrong, with the reason and a remedy, wherever another command would refuse; and paths that people type.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::environment::{Environment, Outcome, claude_id, claude_path, prompt};

fn set_mode(path: &Path, mode: u32) {
    set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn swept() -> Environment {
    let environment = Environment::new();
    environment.claude(1, &[prompt(1, 0, "a common story")]);
    environment.claude(2, &[prompt(2, 5, "another story")]);
    environment.sweep();
    environment
}

/// Runs `doctor`, which must find something wrong and say all this.
#[track_caller]
fn assert_wrong(environment: &Environment, parts: &[&str]) -> Outcome {
    let outcome = environment.run(&["doctor"]);
    assert_eq!(outcome.code, 1, "{}", outcome.stdout);
    for part in parts {
        assert!(
            outcome.stdout.contains(part),
            "{part}: {}{}",
            outcome.stdout,
            outcome.stderr
        );
    }
    outcome
}

#[test]
fn a_database_that_cannot_be_read_is_named_with_a_remedy() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 6] = [
        ("is a FIFO", |path| {
            nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        }),
        ("is a folder", |path| std::fs::create_dir(path).unwrap()),
        ("is damaged: ", |path| {
            std::fs::write(path, "words\n".repeat(5000)).unwrap();
        }),
        ("is empty", |path| std::fs::write(path, "").unwrap()),
        ("is missing", |_| {}),
        ("is damaged: ", |path| {
            let mut bytes = std::fs::read(path.with_extension("copy")).unwrap();
            bytes[100..].fill(0xa5);
            std::fs::write(path, bytes).unwrap();
        }),
    ];
    for (what, change) in changes {
        let environment = swept();
        let database = environment.store().join("backstory.db");
        let copy = database.with_extension("copy");
        let connection = rusqlite::Connection::open(&database).unwrap();
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        connection.query_row(checkpoint, [], |_| Ok(())).unwrap();
        drop(connection);
        std::fs::copy(&database, &copy).unwrap();
        for ending in ["db", "db-wal", "db-shm"] {
            let _ = std::fs::remove_file(database.with_extension(ending));
        }
        change(&database);
        std::fs::remove_file(&copy).unwrap();
        let named = format!("wrong: {} {what}", database.display());
        let outcome = assert_wrong(
            &environment,
            &[
                &named,
                "nothing of it can be read",
                "copy the folder of the store first",
                "sessions whose logs the agent deleted exist only here",
                "Live capture",
            ],
        );
        assert!(
            !outcome.stdout.contains("not there yet") && !outcome.stdout.contains("doctor` says"),
            "{}",
            outcome.stdout
        );
    }
}

#[test]
fn what_can_still_be_read_of_a_damaged_database_is_told() {
    let environment = swept();
    let database = environment.store().join("backstory.db");
    let connection = rusqlite::Connection::open(&database).unwrap();
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    connection.query_row(checkpoint, [], |_| Ok(())).unwrap();
    let page = "SELECT rootpage FROM sqlite_schema WHERE name = 'attachments'";
    let page: usize = connection.query_row(page, [], |row| row.get(0)).unwrap();
    drop(connection);
    let mut bytes = std::fs::read(&database).unwrap();
    bytes[(page - 1) * 8192..page * 8192].fill(0xa5);
    std::fs::write(&database, bytes).unwrap();
    let outcome = assert_wrong(
        &environment,
        &[
            &format!("{} is damaged", database.display()),
            "2 sessions can still be listed",
            "copy the folder of the store first",
        ],
    );
    assert!(!outcome.stdout.contains("not there yet"));
}

#[test]
fn a_journal_that_was_removed_is_missed() {
    let environment = swept();
    let database = environment.store().join("backstory.db");
    for ending in ["db-wal", "db-shm"] {
        std::fs::remove_file(database.with_extension(ending)).unwrap();
    }
    let named = format!("wrong: {} has no tables", database.display());
    assert_wrong(
        &environment,
        &[&named, "copy the folder of the store first"],
    );
}

#[test]
fn only_files_whose_text_is_stored_count_as_stored() {
    let environment = Environment::new();
    for session in 1..=3 {
        let words = "a long story ".repeat(9000);
        environment.claude(session, &[prompt(session, session, &words)]);
    }
    environment.sweep();
    let counts = || {
        let agent = environment.json(&["doctor"])["agents"][0].clone();
        ["files", "kept", "evicted", "forgotten"].map(|key| agent[key].as_u64().unwrap())
    };
    assert_eq!(counts(), [3, 3, 0, 0]);
    let forgotten = environment.run(&["forget", &claude_id(1), "--yes"]);
    assert_eq!(forgotten.code, 0, "{}", forgotten.stderr);
    assert_eq!(counts(), [3, 2, 0, 1]);
    let pinned = environment.run(&["retain", "--pin", &claude_id(2)]);
    assert_eq!(pinned.code, 0, "{}", pinned.stderr);
    let set = environment.run(&["config", "set", "retention.raw_soft_cap_bytes", "1"]);
    assert_eq!(set.code, 0, "{}", set.stderr);
    environment.sweep();
    assert_eq!(counts(), [3, 1, 1, 1]);
    let shown = environment.run(&["doctor"]).stdout;
    assert!(
        shown.contains("3 files, ") && shown.contains("; 1 stored as it is now; 1 evicted"),
        "{shown}"
    );
}

#[test]
fn what_other_commands_refuse_is_named() {
    let environment = swept();
    assert_eq!(environment.run(&["doctor"]).code, 0);
    // A store that others can enter, with something else in it.
    let store = environment.store();
    std::fs::write(store.join("notes.txt"), "mine").unwrap();
    set_mode(&store, 0o755);
    assert_ne!(environment.run(&["sweep"]).code, 0);
    assert_wrong(
        &environment,
        &[store.to_str().unwrap(), "notes.txt", "`chmod 700` it"],
    );
    std::fs::remove_file(store.join("notes.txt")).unwrap();
    assert_eq!(environment.run(&["doctor"]).code, 0);
    // A pattern catalogue that others can write, or that is no TOML.
    let entry = environment.write(".config/backstory/patterns/p-1.toml", "id = \"p-1\"\n");
    set_mode(&entry, 0o666);
    let remedy = format!("chmod go-w {}", entry.display());
    assert_wrong(&environment, &["others can write it (mode 666)", &remedy]);
    let entry = environment.write(".config/backstory/patterns/p-1.toml", "no toml");
    assert_wrong(
        &environment,
        &[entry.to_str().unwrap(), "TOML", "mend or remove the file"],
    );
    std::fs::remove_file(&entry).unwrap();
    // Settings of an agent.
    let settings = environment.write(".claude/settings.json", "{\"hooks\": ");
    let named = format!("{}, which has the hooks of claude-code", settings.display());
    assert_wrong(&environment, &[&named, "line 1", "mend the file by hand"]);
    std::fs::write(&settings, "{}").unwrap();
    set_mode(&settings, 0o666);
    let remedy = format!("chmod go-w {}", settings.display());
    assert_wrong(&environment, &[&named, "others can write it", &remedy]);
}

#[test]
fn a_log_that_a_hook_named_is_told_with_agent_and_session() {
    let environment = swept();
    let named = environment.write("named.jsonl", "");
    set_mode(&named, 0o666);
    let input = serde_json::json!({
        "hook_event_name": "Stop",
        "session_id": claude_id(7),
        "transcript_path": named,
        "cwd": "/home/ada/shop",
    });
    let arguments = ["hook", "Stop", "--agent", "claude-code"];
    environment.feed(&arguments, input.to_string().as_bytes());
    let line = format!(
        "wrong: {}: a hook of claude-code named it as the log of session {}; it was not read: others can write it",
        named.display(),
        claude_id(7)
    );
    assert_wrong(&environment, &[&line]);
}

#[test]
fn records_that_could_not_be_read_stand_below_their_count() {
    let environment = Environment::new();
    environment.claude(
        1,
        &[prompt(1, 0, "a story"), "{\"broken\": }\n".to_string()],
    );
    environment.sweep();
    let log = environment.home().join(claude_path(1));
    let shown = environment.run(&["doctor"]).stdout;
    let record = format!("  1 record could not be read\n    {}:2: ", log.display());
    assert!(
        shown.contains(&record) && !shown.contains(" column "),
        "{shown}"
    );
    std::fs::remove_file(&log).unwrap();
    let shown = environment.run(&["doctor"]).stdout;
    assert!(
        shown.contains("could not be read\n    1 of them in a log that is gone\n"),
        "{shown}"
    );
}

#[test]
fn a_configuration_that_was_named_must_be_there() {
    let environment = swept();
    let outcome = environment.run(&["sessions", "--config", "/nowhere.toml"]);
    assert_eq!(outcome.code, 2, "{}", outcome.stdout);
    assert!(
        outcome
            .stderr
            .contains("/nowhere.toml, which --config names"),
        "{}",
        outcome.stderr
    );
    let mut command = environment.command(&["sessions"]);
    let output = command.env("BACKSTORY_CONFIG", "/nowhere.toml").output();
    let outcome = Outcome::of(&output.unwrap());
    assert_eq!(outcome.code, 2, "{}", outcome.stdout);
    // It can be made.
    let path = environment.home().join("new.toml");
    let path = path.to_str().unwrap();
    let set = ["config", "set", "cadence", "1h", "--config", path];
    environment.run(&set);
    assert!(Path::new(path).exists());
    let outcome = environment.run(&["sessions", "--config", path]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
}

#[test]
fn a_typed_path_without_a_log_is_named() {
    let environment = swept();
    let plain = environment.write("plain.txt", "words");
    let plain = plain.to_str().unwrap();
    let named = format!("not read: {plain}: no agent's log");
    for arguments in [&["sweep", plain][..], &["sweep", "--dry-run", plain]] {
        let outcome = environment.run(arguments);
        assert_eq!(outcome.code, 1, "{}", outcome.stdout);
        assert!(
            outcome.stdout.contains(&named) && !outcome.stdout.contains("--sample"),
            "{}",
            outcome.stdout
        );
    }
    // One of two is enough, and the other one is named.
    let log = environment.home().join(claude_path(1));
    let outcome = environment.run(&["sweep", plain, log.to_str().unwrap()]);
    assert_eq!(outcome.code, 0, "{}", outcome.stdout);
    assert!(outcome.stdout.contains(&named), "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("1 log found: "),
        "{}",
        outcome.stdout
    );
}
