//! Everything that is stored has a checksum soon after it was written, and whoever reads it compares.

use rusqlite::Connection;
use serde_json::Value;

use crate::environment::{
    Environment, Outcome, claude_id, claude_path, found, prompt, remove_checksums, reply,
};

fn database(environment: &Environment) -> Connection {
    Connection::open(environment.store().join("backstory.db")).unwrap()
}

fn doctor(environment: &Environment) -> (i32, Value) {
    let outcome = environment.run(&["doctor", "--deep", "--json"]);
    let found = serde_json::from_str(&outcome.stdout).unwrap();
    (outcome.code, found)
}

fn unchecked(environment: &Environment) -> u64 {
    doctor(environment).1["checksums"]["unchecked"]
        .as_u64()
        .unwrap()
}

/// Has a hook capture a prompt of a session that has no log.
fn capture(environment: &Environment, session: u32, text: &str) {
    let told = serde_json::json!({"session_id": claude_id(session), "hook_event_name": "UserPromptSubmit", "prompt": text});
    let hook = ["hook", "UserPromptSubmit", "--agent", "claude-code"];
    let outcome = environment.feed(&hook, told.to_string().as_bytes());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
}

/// Two captured sessions and one from a log.
fn with_captures() -> Environment {
    let environment = Environment::new();
    environment.claude(
        1,
        &[prompt(1, 1, "paint the gazebo"), reply(1, 2, "painted", 5)],
    );
    environment.sweep();
    capture(&environment, 2, "mow the lawn behind the walrus pond");
    capture(&environment, 3, "trim the hedge beside the walrus pond");
    environment
}

#[test]
fn a_damaged_capture_costs_itself_and_is_named() {
    let first = "(SELECT MIN(id) FROM queue WHERE body IS NOT NULL)";
    let middle = "CAST(substr(body, 1, 20) || x'00' || substr(body, 22) AS BLOB)";
    let damage = [
        // Text, the header of zstd, and every other value that is shown or that decides what is shown.
        format!("UPDATE queue SET body = {middle} WHERE id = {first}"),
        format!(
            "UPDATE queue SET body = CAST(x'28b52ffe' || substr(body, 5) AS BLOB) WHERE id = {first}"
        ),
        format!("UPDATE queue SET at = at + 1 WHERE id = {first}"),
        format!("UPDATE queue SET kind = 2 WHERE id = {first}"),
        format!("UPDATE queue SET seq = 1 WHERE id = {first}"),
        format!("UPDATE queue SET name = 1 WHERE id = {first}"),
        format!("UPDATE queue SET last_error = CAST(x'ff41' AS TEXT) WHERE id = {first}"),
        format!("UPDATE queue SET sum = sum + 1 WHERE id = {first}"),
    ];
    for swept in [false, true] {
        for change in &damage {
            let environment = with_captures();
            if swept {
                environment.sweep();
            }
            assert_eq!(database(&environment).execute(change, []).unwrap(), 1);
            let named = |outcome: &Outcome| {
                let said = format!("{}{}", outcome.stdout, outcome.stderr);
                assert!(said.contains("captured event"), "{change}: {said}");
            };
            let shown = environment.run(&["show", &claude_id(2)]);
            assert_eq!(shown.code, 1, "{change}: {}{}", shown.stdout, shown.stderr);
            assert!(shown.stderr.contains(&claude_id(2)), "{}", shown.stderr);
            named(&shown);
            for session in [1, 3] {
                let other = environment.run(&["show", &claude_id(session)]);
                assert_eq!(other.code, 0, "{change}: {}", other.stderr);
            }
            let searched = environment.run(&["search", "walrus", "--json"]);
            assert_eq!(searched.code, 0, "{change}: {}", searched.stderr);
            assert!(searched.stdout.contains("hedge"), "{}", searched.stdout);
            named(&searched);
            named(&environment.run(&["doctor"]));
            let (code, found) = doctor(&environment);
            assert_eq!(code, 1, "{change}: {found}");
            assert!(
                found["wrong"].to_string().contains("captured event"),
                "{found}"
            );
            let listed = environment.run(&["queue"]);
            assert_eq!(listed.code, 1, "{change}: {}", listed.stderr);
            named(&listed);
            let taken = environment.run(&["sweep"]);
            assert_eq!(taken.code, 0, "{change}: {}", taken.stderr);
            if !change.contains("last_error") {
                named(&taken);
                // Nor does a sweep make it good by summing it again.
                assert_eq!(
                    environment.run(&["show", &claude_id(2)]).code,
                    1,
                    "{change}"
                );
            }
        }
    }
}

#[test]
fn captures_from_before_there_were_checksums_get_one_by_sweeping() {
    let environment = with_captures();
    remove_checksums(&database(&environment));
    assert_eq!(environment.run(&["show", &claude_id(2)]).code, 0);
    let count = |condition: &str| -> u64 {
        let query = format!("SELECT COUNT(*) FROM queue WHERE body IS NOT NULL AND {condition}");
        database(&environment)
            .query_row(&query, [], |row| row.get(0))
            .unwrap()
    };
    assert_eq!((count("sum IS NULL"), count("sum IS NOT NULL")), (2, 0));
    environment.sweep();
    assert_eq!((count("sum IS NULL"), count("sum IS NOT NULL")), (0, 2));
    assert_eq!(unchecked(&environment), 0);
}

#[test]
fn whoever_changes_rows_leaves_them_covered() {
    let environment = Environment::new();
    for session in 1..=4 {
        let noise: String = (0..3_000_u64)
            .map(|at| {
                format!(
                    "{:x} ",
                    (at + u64::from(session) * 7_919).wrapping_mul(0x9e37_79b9_7f4a_7c15)
                )
            })
            .collect();
        environment.claude(
            session,
            &[
                prompt(session, session * 100, &format!("count the till {noise}")),
                reply(session, session * 100 + 1, "counted", 5),
            ],
        );
    }
    environment.sweep();
    assert_eq!(unchecked(&environment), 0, "sweep");
    capture(&environment, 9, "mow the lawn");
    assert!(unchecked(&environment) > 0);
    let told = environment.run(&["doctor", "--deep"]);
    assert_eq!(told.code, 0, "{}", told.stderr);
    assert!(
        told.stdout.contains("not yet covered")
            && told.stdout.contains("`backstory sweep` adds them"),
        "{}",
        told.stdout
    );
    assert!(!told.stdout.contains("all is well"), "{}", told.stdout);
    let (one, two, pinned) = (claude_id(1), claude_id(2), claude_id(4));
    for arguments in [
        &["queue", "run"][..],
        &["queue", "retry"],
        &["retain", "--pin", &pinned],
        &["config", "set", "retention.raw_soft_cap_bytes", "1"],
        &["retain"],
        &["forget", &one, "--yes"],
        &["retain", "--restore", &two],
        &["sweep"],
    ] {
        let outcome = environment.run(arguments);
        assert_eq!(outcome.code, 0, "{arguments:?}: {}", outcome.stderr);
        assert_eq!(unchecked(&environment), 0, "{arguments:?}");
        assert_eq!(doctor(&environment).0, 0, "{arguments:?}");
    }
    // What was evicted is the only copy.
    for change in [
        "UPDATE sessions SET title = 'other' WHERE evicted > 0",
        "UPDATE usage SET output = output + 1",
        "UPDATE digests SET outcome = 1 - outcome",
        "UPDATE kept_observations SET observations = zeroblob(9)",
    ] {
        let database = database(&environment);
        if database.execute(change, []).unwrap() > 0 {
            assert_eq!(doctor(&environment).0, 1, "{change}");
        }
    }
}

#[test]
fn a_damaged_key_brings_nothing_back_that_was_forgotten() {
    let changes = [
        "UPDATE settings SET value = CAST(x'00' || substr(value, 2) AS BLOB) WHERE name = 'forget-key'",
        "UPDATE settings SET name = 'forget-kex' WHERE name = 'forget-key'",
        "UPDATE settings SET sum = sum + 1 WHERE name = 'forget-key'",
        "DELETE FROM settings WHERE name = 'forget-key'",
        "UPDATE forgotten SET hash = CAST(x'00' || substr(hash, 2) AS BLOB)",
        "UPDATE settings SET value = CAST(x'00' || substr(value, 2) AS BLOB) WHERE name = 'redaction-key'",
        "UPDATE settings SET name = 'redaction-kez' WHERE name = 'redaction-key'",
    ];
    for change in changes {
        let environment = Environment::new();
        environment.claude(1, &[prompt(1, 1, "paint the gazebo")]);
        environment.claude(2, &[prompt(2, 100, "mow the lawn")]);
        environment.sweep();
        assert_eq!(environment.run(&["forget", &claude_id(1), "--yes"]).code, 0);
        assert_eq!(doctor(&environment).0, 0);
        assert!(database(&environment).execute(change, []).unwrap() > 0);
        assert_eq!(doctor(&environment).0, 1, "{change}");
        let swept = environment.run(&["sweep"]);
        assert_eq!(swept.code, 1, "{change}: {}{}", swept.stdout, swept.stderr);
        assert!(
            swept.stderr.contains("damaged") || swept.stderr.contains("do not match"),
            "{change}: {}",
            swept.stderr
        );
        assert!(
            swept.stderr.contains("--renew-keys"),
            "{change}: {}",
            swept.stderr
        );
        assert!(environment.found(&["gazebo"]).is_empty(), "{change}");
        // Hooks lose nothing meanwhile.
        capture(&environment, 3, "trim the hedge");
        std::fs::remove_file(environment.home().join(claude_path(1))).unwrap();
        let renewed = environment.run(&["forget", "--renew-keys"]);
        assert_eq!(renewed.code, 0, "{change}: {}", renewed.stderr);
        let swept = environment.run(&["sweep"]);
        assert_eq!(swept.code, 0, "{change}: {}", swept.stderr);
        assert_eq!(
            doctor(&environment).0,
            0,
            "{change}: {}",
            doctor(&environment).1["wrong"]
        );
        assert_eq!(environment.found(&["hedge"]), ["3#1"], "{change}");
        assert!(environment.found(&["gazebo"]).is_empty(), "{change}");
    }
}

#[test]
fn a_damaged_setting_that_can_be_made_anew_is_named_and_made_anew() {
    for name in ["index-seal", "event-log-cursor", "paths-redacted-by"] {
        let environment = Environment::new();
        environment.claude(1, &[prompt(1, 1, "paint the gazebo")]);
        environment.sweep();
        capture(&environment, 2, "mow the lawn");
        environment.sweep();
        let change =
            "UPDATE settings SET value = CAST(x'00' || substr(value, 2) AS BLOB) WHERE name = ?1";
        assert_eq!(
            database(&environment).execute(change, [name]).unwrap(),
            1,
            "{name}"
        );
        let (code, examined) = doctor(&environment);
        assert_eq!(code, 1, "{name}");
        assert!(examined["wrong"].to_string().contains(name), "{examined}");
        let searched = environment.run(&["search", "gazebo", "--json"]);
        assert_eq!(searched.code, 0, "{name}: {}", searched.stderr);
        assert_eq!(found(&searched.answer()), ["1#1"], "{name}");
        let swept = environment.run(&["sweep"]);
        assert_eq!(swept.code, 0, "{name}: {}", swept.stderr);
        let (code, found) = doctor(&environment);
        assert_eq!(code, 0, "{name}: {found}");
    }
}

#[test]
fn text_that_is_no_utf8_any_more_costs_its_row_and_stops_nothing() {
    for change in [
        "UPDATE sessions SET title = CAST(x'ff41' AS TEXT) WHERE session = ?1",
        "UPDATE sessions SET cwd = CAST(x'ff41' AS TEXT) WHERE session = ?1",
        "UPDATE sessions SET branch = CAST(x'ff41' AS TEXT) WHERE session = ?1",
        "UPDATE names SET name = CAST(x'ff41' AS TEXT) WHERE ?1 IS NOT NULL",
        "UPDATE projects SET root = CAST(x'ff41' AS TEXT) WHERE ?1 IS NOT NULL",
    ] {
        let environment = Environment::new();
        environment.claude(
            1,
            &[prompt(1, 1, "paint the gazebo"), reply(1, 2, "painted", 5)],
        );
        environment.claude(2, &[prompt(2, 100, "mow the lawn")]);
        environment.sweep();
        let changed = database(&environment).execute(change, [claude_id(1)]);
        assert!(changed.unwrap() > 0, "{change}");
        assert_eq!(doctor(&environment).0, 1, "{change}");
        for arguments in [
            &["sessions"][..],
            &["usage", "daily"],
            &["show", &claude_id(1)],
            &["show", &claude_id(2)],
            &["search", "lawn"],
            &["digest", &claude_id(2)],
            &["sweep"],
        ] {
            let outcome = environment.run(arguments);
            assert!(
                outcome.code <= 1,
                "{change}: {arguments:?}: {}",
                outcome.stderr
            );
        }
    }
}
