//! Stores with flipped bits, missing files and wrong rows: nothing wrong is given back as if it were right.

use std::path::PathBuf;

use backstory_agents::sample;
use rusqlite::Connection;
use serde_json::Value;

use crate::environment::{
    Environment, Outcome, STORY_END, claude_id, prompt, record, remove_checksums, reply,
};

/// How many bits are flipped. `BACKSTORY_FLIPS=300` for a thorough run.
fn flips() -> u64 {
    std::env::var("BACKSTORY_FLIPS")
        .ok()
        .and_then(|flips| flips.parse().ok())
        .unwrap_or(30)
}

fn database(environment: &Environment) -> Connection {
    Connection::open(environment.store().join("backstory.db")).unwrap()
}

/// Two sessions, swept; the text of the first is long enough for several blocks.
pub(crate) fn two_sessions() -> Environment {
    let environment = Environment::new();
    let mut lines: Vec<String> = (0..40)
        .map(|number| {
            // Text that does not compress to nothing, so that blocks are several.
            let words: Vec<String> = (0..9_000_u64)
                .map(|at| {
                    let mixed =
                        (at + u64::from(number) * 9_000).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    format!("{:06x}", mixed >> 40)
                })
                .collect();
            prompt(1, number, &format!("walrus{number} {}", words.join(" ")))
        })
        .collect();
    lines.push(reply(1, 40, "the harpsichord is tuned", 7));
    environment.claude(1, &lines);
    environment.claude(
        2,
        &[
            prompt(2, 100, "paint the gazebo"),
            reply(2, 101, "painted", 5),
        ],
    );
    environment.sweep();
    environment
}

/// Flips one bit of a blob in the database file, behind the program's back: found by its bytes, for SQLite must not notice.
pub(crate) fn flip_in_block(environment: &Environment, stream_of: u32) -> PathBuf {
    let path = environment.store().join("backstory.db");
    let piece: Vec<u8> = {
        let database = database(environment);
        database
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .unwrap();
        let block: Vec<u8> = database
            .query_row(
                "SELECT data FROM blocks JOIN session_streams USING (stream) JOIN sessions ON sessions.id = session_streams.session \
                 WHERE sessions.session = ?1 ORDER BY start LIMIT 1",
                [claude_id(stream_of)],
                |row| row.get(0),
            )
            .unwrap();
        let middle = block.len() / 2;
        block[middle..middle + 16].to_vec()
    };
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes
        .windows(piece.len())
        .position(|window| window == piece)
        .unwrap();
    bytes[at] ^= 4;
    std::fs::write(&path, bytes).unwrap();
    path
}

fn doctor(environment: &Environment) -> Outcome {
    environment.run(&["doctor", "--deep", "--json"])
}

fn wrong(outcome: &Outcome) -> String {
    let found: Value = serde_json::from_str(&outcome.stdout).unwrap();
    found["wrong"].to_string()
}

#[test]
fn a_flipped_bit_is_never_given_back_as_if_it_were_right() {
    let environment = Environment::new();
    environment.write_all(sample::story(STORY_END));
    environment.claude(
        1,
        &[prompt(1, 1, "paint the gazebo"), reply(1, 2, "painted", 5)],
    );
    environment.sweep();
    let path = environment.store().join("backstory.db");
    database(&environment)
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    let listed = environment.json(&["sessions", "--limit", "0"]);
    let sessions: Vec<String> = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["session"].as_str().unwrap().to_string())
        .collect();
    let answers = || -> Vec<(i32, String)> {
        let mut asked: Vec<Vec<&str>> = vec![
            vec!["sessions", "--limit", "0", "--json"],
            vec!["usage", "session", "--json"],
        ];
        for session in &sessions {
            asked.push(vec!["show", session, "--json"]);
            asked.push(vec!["show", session, "--format", "original"]);
            asked.push(vec!["digest", session, "--json"]);
        }
        asked
            .iter()
            .map(|arguments| environment.run(arguments))
            .map(|outcome| (outcome.code, outcome.stdout))
            .collect()
    };
    let good = answers();
    assert_eq!(
        doctor(&environment).code,
        0,
        "{}",
        wrong(&doctor(&environment))
    );
    let whole = std::fs::read(&path).unwrap();
    let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut told = 0;
    for _ in 0..flips() {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let at = (random >> 20) as usize % whole.len();
        let bit = (random >> 10) % 8;
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << bit;
        for name in ["backstory.db-wal", "backstory.db-shm"] {
            let _ = std::fs::remove_file(environment.store().join(name));
        }
        std::fs::write(&path, bytes).unwrap();
        if doctor(&environment).code != 0 {
            told += 1;
            continue;
        }
        for (now, good) in answers().iter().zip(&good) {
            assert!(now.0 != 0 || now == good, "bit {bit} of byte {at}");
        }
    }
    assert!(told > 0);
}

#[test]
fn a_damaged_block_costs_what_is_in_it_and_is_read_again_from_the_log() {
    let environment = two_sessions();
    let original = environment
        .run(&["show", &claude_id(1), "--format", "original"])
        .stdout;
    flip_in_block(&environment, 1);

    let shown = environment.run(&["show", &claude_id(1), "--json"]);
    assert_eq!(shown.code, 1);
    assert!(shown.stderr.contains("are damaged"), "{}", shown.stderr);
    assert!(shown.stderr.contains(&claude_id(1)), "{}", shown.stderr);
    let value: Value = serde_json::from_str(&shown.stdout).unwrap();
    let events = value["events"].as_array().unwrap();
    let damaged = events
        .iter()
        .filter(|event| event["damaged"] == true)
        .count();
    assert!(damaged > 0 && damaged < events.len(), "{damaged}");
    assert_eq!(value["damage"].as_array().unwrap().len(), 1);
    assert_eq!(events.last().unwrap()["text"], "the harpsichord is tuned");
    let given = environment.run(&["show", &claude_id(1), "--format", "original"]);
    assert_eq!(given.code, 1);
    assert!(original.starts_with(&given.stdout) && given.stdout.len() < original.len());

    // Others are not touched by it.
    assert_eq!(environment.run(&["show", &claude_id(2)]).code, 0);
    assert_eq!(environment.found(&["gazebo"]), ["2#1"]);
    let searched = environment.run(&["search", "walrus0", "--json"]);
    assert!(
        searched.stderr.contains("are damaged"),
        "{}",
        searched.stderr
    );
    let regex = environment.run(&["search", "--regex", "walrus1 ", "--json"]);
    assert!(regex.stdout.contains("are damaged"), "{}", regex.stdout);

    let found = doctor(&environment);
    assert_eq!(found.code, 1);
    assert!(
        wrong(&found).contains("the next `backstory sweep` reads it again"),
        "{}",
        wrong(&found)
    );

    environment.sweep();
    let found = doctor(&environment);
    assert_eq!(found.code, 0, "{}", wrong(&found));
    let mended = environment.run(&["show", &claude_id(1), "--format", "original"]);
    assert_eq!((mended.code, mended.stdout), (0, original));
    assert_eq!(environment.found(&["walrus0"]), ["1#1"]);
}

#[test]
fn a_damaged_block_whose_log_is_gone_is_named_and_everything_else_goes_on() {
    let environment = two_sessions();
    std::fs::remove_file(environment.home().join(crate::environment::claude_path(1))).unwrap();
    flip_in_block(&environment, 1);
    let found = doctor(&environment);
    assert_eq!(found.code, 1);
    assert!(
        wrong(&found).contains("restore backstory.db from a backup"),
        "{}",
        wrong(&found)
    );
    environment.claude(3, &[prompt(3, 300, "mow the lawn")]);
    environment.sweep();
    assert_eq!(environment.found(&["lawn"]), ["3#1"]);
    assert_eq!(doctor(&environment).code, 1);
    assert!(
        environment
            .run(&["show", &claude_id(1)])
            .stdout
            .contains("harpsichord")
    );
}

#[test]
fn a_session_grows_on_behind_a_damaged_block() {
    let environment = Environment::new();
    let path = environment.claude(
        1,
        &[prompt(1, 1, "paint the gazebo"), reply(1, 2, "painted", 5)],
    );
    environment.sweep();
    flip_in_block(&environment, 1);
    let mut log = std::fs::read(&path).unwrap();
    log.extend_from_slice(prompt(1, 3, "mow the lawn").as_bytes());
    std::fs::write(&path, log).unwrap();
    environment.sweep();
    let shown = environment.run(&["show", &claude_id(1)]);
    assert_eq!(shown.code, 1);
    assert!(shown.stdout.contains("mow the lawn"), "{}", shown.stdout);
    // Now that it was met, it is mended.
    environment.sweep();
    assert_eq!(environment.run(&["show", &claude_id(1)]).code, 0);
}

#[test]
fn wrong_rows_of_a_session_are_named_and_made_again_from_the_log() {
    let environment = two_sessions();
    let good = environment.everything();
    {
        let database = database(&environment);
        database
            .execute_batch(
                "UPDATE events SET turn = turn + 1 WHERE seq = 2; UPDATE sessions SET title = 'Paint the gazebo' WHERE title LIKE 'paint%';",
            )
            .unwrap();
    }
    for session in [1, 2] {
        let shown = environment.run(&["show", &claude_id(session)]);
        assert_eq!(shown.code, 1, "{session}");
        assert!(
            shown.stderr.contains(&claude_id(session)),
            "{}",
            shown.stderr
        );
    }
    assert_eq!(doctor(&environment).code, 1);
    environment.sweep();
    let found = doctor(&environment);
    assert_eq!(found.code, 0, "{}", wrong(&found));
    assert_eq!(environment.everything(), good);
}

#[test]
fn a_lost_database_beside_an_index_is_an_error_with_a_remedy() {
    let environment = two_sessions();
    let path = environment.store().join("backstory.db");
    for name in ["backstory.db-wal", "backstory.db-shm"] {
        let _ = std::fs::remove_file(environment.store().join(name));
    }
    for empty in [true, false] {
        if empty {
            std::fs::write(&path, b"").unwrap();
        } else {
            std::fs::remove_file(&path).unwrap();
        }
        for arguments in [
            &["doctor"][..],
            &["doctor", "--deep"],
            &["sessions"],
            &["sweep"],
            &["search", "gazebo"],
        ] {
            let outcome = environment.run(arguments);
            assert_ne!(outcome.code, 0, "{arguments:?}");
            let said = format!("{}{}", outcome.stdout, outcome.stderr);
            let state = if empty { "is empty" } else { "is missing" };
            assert!(
                said.contains(state) && said.contains("backup"),
                "{arguments:?}: {said}"
            );
        }
        assert_eq!(path.exists(), empty);
    }
    // As it says: without the index it begins anew.
    std::fs::remove_dir_all(environment.store().join("index")).unwrap();
    assert_eq!(environment.run(&["sweep"]).code, 0);
    assert_eq!(environment.found(&["gazebo"]), ["2#1"]);
}

#[test]
fn an_older_store_gets_checksums_by_sweeping_and_not_before() {
    let environment = two_sessions();
    remove_checksums(&database(&environment));
    let told = format!(
        r#"{{"session_id":"{}","hook_event_name":"UserPromptSubmit","prompt":"mow the lawn"}}"#,
        claude_id(2)
    );
    let hook = ["hook", "UserPromptSubmit", "--agent", "claude-code"];
    assert_eq!(environment.feed(&hook, told.as_bytes()).code, 0);
    let count = || -> u64 {
        let query = "SELECT COUNT(*) FROM checksums";
        database(&environment)
            .query_row(query, [], |row| row.get(0))
            .unwrap()
    };
    assert_eq!(count(), 0);
    assert_eq!(environment.run(&["show", &claude_id(1)]).code, 0);
    let unchecked = || -> u64 {
        let found: Value = serde_json::from_str(&doctor(&environment).stdout).unwrap();
        found["checksums"]["unchecked"].as_u64().unwrap()
    };
    assert!(unchecked() > 0);
    environment.run(&["worker", "stop"]);
    for delay in [0, 5, 10, 20] {
        let mut child = environment
            .command(&["sweep"])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(delay));
        let _ = child.kill();
        child.wait().unwrap();
        assert_eq!(environment.run(&["show", &claude_id(1)]).code, 0);
    }
    environment.sweep();
    assert_eq!(
        doctor(&environment).code,
        0,
        "{}",
        wrong(&doctor(&environment))
    );
    // The sweep's own line in the log waits for the next one.
    let lacking = "SELECT (SELECT COUNT(*) FROM blocks WHERE id NOT IN (SELECT unit FROM checksums WHERE scope = 3)) + \
         (SELECT COUNT(*) FROM sessions WHERE id NOT IN (SELECT unit FROM checksums WHERE scope = 2))";
    let lacking = database(&environment).query_row(lacking, [], |row| row.get::<_, u64>(0));
    assert_eq!(lacking.unwrap(), 0);
    flip_in_block(&environment, 1);
    assert_eq!(environment.run(&["show", &claude_id(1)]).code, 1);
}

/// A session that wrote a file which is there, and corrected its agent as often as a pattern needs.
fn with_source_file() -> (Environment, String) {
    let environment = Environment::new();
    let file = environment.write("shop/cart.py", "def total():\n    return 1\n");
    environment.write("shop/.git/HEAD", "ref: refs/heads/main\n");
    let file = file.to_str().unwrap().to_string();
    let content = std::fs::read_to_string(&file).unwrap();
    let folder = environment.home().join("shop");
    let line = |number: u32, kind: &str, message: Value, result: Option<Value>| {
        let mut line: Value = serde_json::from_str(&record(1, number, kind, &message)).unwrap();
        line["cwd"] = folder.to_str().unwrap().into();
        if let Some(result) = result {
            line["toolUseResult"] = result;
        }
        format!("{line}\n")
    };
    let call = serde_json::json!({"role": "assistant", "id": "m1", "model": "claude-test",
        "usage": {"input_tokens": 10, "output_tokens": 5},
        "content": [{"type": "tool_use", "id": "call-1", "name": "Write", "input": {"file_path": file, "content": content}}]});
    let answer = serde_json::json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call-1", "content": "written"}]});
    let result = serde_json::json!({"type": "create", "filePath": file, "content": content, "structuredPatch": []});
    environment.claude(
        1,
        &[
            line(
                0,
                "user",
                serde_json::json!({"role": "user", "content": "write the cart"}),
                None,
            ),
            line(1, "assistant", call, None),
            line(2, "user", answer, Some(result)),
        ],
    );
    environment.sweep();
    (environment, file)
}

#[test]
fn every_answer_names_damage_of_what_it_is_made_of() {
    let (environment, file) = with_source_file();
    let id = claude_id(1);
    let project = environment.home().join("shop");
    let project = project.to_str().unwrap();
    let asked = |name: &str| -> Vec<String> {
        let arguments: Vec<&str> = match name {
            "usage" => vec!["usage", "daily"],
            "digest" => vec!["digest", &id],
            "observations" => vec!["observations", &id],
            "changes" => vec!["changes", "--session", &id],
            "why" => vec!["why", "total"],
            "report" => vec!["report", project],
            "blame" => vec!["blame", &file],
            "context" => vec!["context", "--project", project],
            "patterns" => vec!["patterns"],
            "map" => vec!["map", &file, "--at", "3000-01-01"],
            "calls" => vec!["calls", "--file", &file, "--at", "3000-01-01"],
            _ => vec!["sessions"],
        };
        arguments.into_iter().map(str::to_string).collect()
    };
    let run = |name: &str, json: bool| {
        let mut arguments = asked(name);
        if json {
            arguments.push("--json".to_string());
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        environment.run(&arguments)
    };
    let all = [
        "usage",
        "digest",
        "observations",
        "changes",
        "why",
        "report",
        "blame",
        "context",
        "patterns",
        "sessions",
        "map",
    ];
    for name in all {
        let outcome = run(name, true);
        assert_eq!(outcome.code, 0, "{name}: {}", outcome.stderr);
        let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(answer["damage"], serde_json::json!([]), "{name}");
    }
    let store = environment.store();
    database(&environment)
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    let whole = std::fs::read(store.join("backstory.db")).unwrap();
    // Without the triggers of the program, which would drop the checksums.
    for (change, names) in [
        ("UPDATE usage SET output = output + 1", &["sessions"][..]),
        (
            "UPDATE notes SET notes = CAST(notes || ' ' AS BLOB)",
            &["digest", "observations", "patterns", "context"],
        ),
        (
            "UPDATE symbol_changes SET change = 1 - change",
            &["changes"],
        ),
        (
            "UPDATE snapshot_states SET states = zeroblob(length(states))",
            &["map", "calls", "context"],
        ),
        (
            "UPDATE events SET duration_ms = 77",
            &["blame", "observations", "digest"],
        ),
        (
            "UPDATE sessions SET title = 'another'",
            &["sessions", "digest", "context"],
        ),
        (
            "UPDATE projects SET remote = 'elsewhere'",
            &["sessions", "changes", "context", "blame"],
        ),
        (
            "UPDATE blocks SET data = zeroblob(length(data))",
            &["blame", "observations"],
        ),
    ] {
        for ending in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(store.join(format!("backstory.db{ending}")));
        }
        std::fs::write(store.join("backstory.db"), &whole).unwrap();
        assert!(
            database(&environment).execute(change, []).unwrap() > 0,
            "{change}"
        );
        let doctor = environment.run(&["doctor", "--deep"]);
        assert_eq!(doctor.code, 1, "{change}: {}", doctor.stdout);
        for name in names {
            let outcome = run(name, true);
            assert_eq!(outcome.code, 1, "{name} after {change}: {}", outcome.stderr);
            // Without its notes there is no digest to show.
            if *name == "digest" && change.contains("notes") {
                assert!(
                    outcome.stderr.contains("the notes of session"),
                    "{}",
                    outcome.stderr
                );
                continue;
            }
            assert!(
                !outcome.stdout.is_empty(),
                "{name} after {change}: {}",
                outcome.stderr
            );
            let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
            let damage = answer["damage"].as_array().unwrap();
            assert!(!damage.is_empty(), "{name} after {change}: {answer}");
            let outcome = run(name, false);
            assert_eq!(outcome.code, 1, "{name} after {change}: {}", outcome.stderr);
            assert!(
                outcome.stderr.contains(damage[0].as_str().unwrap())
                    && outcome.stderr.contains("hint: "),
                "{name} after {change}: {}",
                outcome.stderr
            );
        }
    }
}

#[test]
fn damage_elsewhere_keeps_no_session_from_being_forgotten() {
    for log_is_there in [true, false] {
        let environment = two_sessions();
        flip_in_block(&environment, 1);
        // And rows that are rewritten when ids are masked.
        let damage = "UPDATE notes SET notes = CAST(notes || ' ' AS BLOB) WHERE session = (SELECT id FROM sessions WHERE session = ?1)";
        database(&environment)
            .execute(damage, [claude_id(1)])
            .unwrap();
        if !log_is_there {
            let log = environment.home().join(crate::environment::claude_path(1));
            std::fs::remove_file(log).unwrap();
        }
        let forgotten = environment.run(&["forget", &claude_id(2), "--yes"]);
        assert_eq!(forgotten.code, 1, "{}", forgotten.stderr);
        assert!(
            forgotten
                .stderr
                .contains("forgotten, but not all could be searched: stored bytes 0 to"),
            "{}",
            forgotten.stderr
        );
        assert!(
            forgotten.stdout.contains("Forgot 1 session"),
            "{}",
            forgotten.stdout
        );
        assert_eq!(environment.run(&["show", &claude_id(2)]).code, 1);
        // Nothing is left to be finished: sweeps go on.
        environment.claude(3, &[prompt(3, 300, "mow the lawn")]);
        environment.sweep();
        assert_eq!(environment.found(&["lawn"]), ["3#1"]);
        assert!(environment.found(&["gazebo"]).is_empty());
    }
}

#[test]
fn a_sweep_that_cannot_read_it_again_is_no_remedy() {
    let environment = two_sessions();
    let row: i64 = database(&environment)
        .query_row(
            "SELECT id FROM sessions WHERE session = ?1",
            [claude_id(2)],
            |row| row.get(0),
        )
        .unwrap();
    let body = zstd::bulk::compress(br#"{"title":"t","summary":"s"}"#, 3).unwrap();
    let insert =
        "INSERT INTO summaries (session, events, model, at, body) VALUES (?1, 2, 'm', 1, ?2)";
    database(&environment).execute(insert, (row, body)).unwrap();
    // Gives it a checksum.
    environment.sweep();
    let damage = [
        (
            "UPDATE summaries SET model = 'other'",
            "the summary of session",
            false,
        ),
        (
            "UPDATE sessions SET title = 'other' WHERE id = ?1",
            "the rows of session",
            true,
        ),
    ];
    for (change, named, can_be_read_again) in damage {
        let database = database(&environment);
        let changed = match change.contains("?1") {
            true => database.execute(change, [row]),
            false => database.execute(change, []),
        };
        assert_eq!(changed.unwrap(), 1);
        let found: Value = serde_json::from_str(&doctor(&environment).stdout).unwrap();
        let wrong = found["wrong"].as_array().unwrap().iter();
        let wrong: Vec<&str> = wrong.filter_map(Value::as_str).collect();
        let about = wrong.iter().find(|wrong| wrong.starts_with(named)).unwrap();
        assert_eq!(
            about.contains("the next `backstory sweep` reads it again"),
            can_be_read_again,
            "{about}"
        );
        assert_eq!(
            about.contains("restore backstory.db"),
            !can_be_read_again,
            "{about}"
        );
    }
}

/// Puts files of another index in the place of a store's own.
fn replace_index(environment: &Environment, with: &std::path::Path) {
    let index = environment.store().join("index");
    let generation = std::fs::read_dir(&index).unwrap().next().unwrap().unwrap();
    std::fs::remove_dir_all(generation.path()).unwrap();
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .arg(with)
        .arg(generation.path())
        .status();
    assert!(copied.unwrap().success());
}

#[test]
fn an_index_of_another_store_or_of_before_is_made_anew() {
    let environment = two_sessions();
    let other = Environment::new();
    other.claude(1, &[prompt(1, 1, "mow the lawn")]);
    other.sweep();
    replace_index(&environment, &other.store().join("index/1"));
    let found = doctor(&environment);
    assert_eq!(found.code, 1);
    assert!(
        wrong(&found).contains("not the index that was made from this database"),
        "{}",
        wrong(&found)
    );
    let searched = environment.run(&["search", "gazebo", "--json"]);
    assert_eq!(crate::environment::found(&searched.answer()), ["2#1"]);
    assert_eq!(doctor(&environment).code, 0);

    // An older one of our own lacks what was indexed since.
    let generation = || {
        let mut folders = std::fs::read_dir(environment.store().join("index")).unwrap();
        folders.next().unwrap().unwrap().path()
    };
    let before = environment.home().join("before");
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .arg(generation())
        .arg(&before)
        .status();
    assert!(copied.unwrap().success());
    let lines: Vec<String> = (0..500)
        .map(|number| prompt(3, 1_000 + number, &format!("trim hedge {number}")))
        .collect();
    environment.claude(3, &lines);
    environment.sweep();
    replace_index(&environment, &before);
    let searched = environment.run(&["search", "hedge", "--limit", "1", "--json"]);
    assert_eq!(searched.code, 0, "{}", searched.stderr);
    assert!(
        searched.stdout.contains("trim hedge"),
        "{}",
        searched.stdout
    );

    // Our own, copied, is ours.
    let copy = environment.home().join("copy");
    let _ = std::process::Command::new("cp")
        .arg("-r")
        .arg(generation())
        .arg(&copy)
        .status();
    let name = generation();
    replace_index(&environment, &copy);
    assert_eq!(doctor(&environment).code, 0);
    environment.sweep();
    assert_eq!(generation(), name);
}
