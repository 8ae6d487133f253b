//! Stores of older versions are completed from their own bytes, whatever has happened to them.

use backstory_agents::sample::{self, SampleFile};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::complete_events::till;
use crate::environment::{
    Environment, STORY_END, claude_id, claude_path, prompt, record, remove_checksums, reply,
};

/// Takes out of a store what versions before schema 11 did not keep.
const AS_BEFORE: &str = "UPDATE streams SET read_version = 0; DELETE FROM telemetry; DELETE FROM session_meta; DELETE FROM block_lines; \
    UPDATE responses SET seq = 0, cache_write_1h = 0, web_searches = 0, web_fetches = 0, branch = 0, billing = 0; \
    CREATE TEMP TABLE summed AS SELECT session, slot, model, SUM(input), SUM(output), SUM(cache_read), SUM(cache_write), SUM(reasoning) \
      FROM usage GROUP BY session, slot, model; DELETE FROM usage; \
    INSERT INTO usage SELECT session, slot, model, 0, 0, \"SUM(input)\", \"SUM(output)\", \"SUM(cache_read)\", \"SUM(cache_write)\", \
      \"SUM(reasoning)\", 0, 0, 0 FROM summed; \
    UPDATE sessions SET agent_version = NULL, permission_mode = NULL, context_window = NULL; \
    UPDATE source_files SET state = '{}'; UPDATE digests SET outcome = 'unknown';";

fn database(environment: &Environment) -> Connection {
    Connection::open(environment.store().join("backstory.db")).unwrap()
}

/// Makes the store look as an older version would have left it.
fn make_older(environment: &Environment) -> Connection {
    let database = database(environment);
    database.execute_batch(AS_BEFORE).unwrap();
    remove_checksums(&database);
    database
}

/// Removes the agents' own files.
fn remove_logs(environment: &Environment) {
    std::fs::remove_dir_all(environment.home()).unwrap();
    std::fs::create_dir_all(environment.home()).unwrap();
}

/// Sweeps until nothing is left to complete; damage that is met is no failure.
fn complete(environment: &Environment) {
    let outcome = environment.run(&["sweep", "--json"]);
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(report["backfill_bytes_left"], 0, "{}", outcome.stderr);
}

fn numbers(database: &Connection, query: &str) -> i64 {
    database.query_row(query, [], |row| row.get(0)).unwrap()
}

/// Every row of the tables that a backfill completes.
fn completed_rows(database: &Connection) -> String {
    let mut text = String::new();
    for (table, columns) in [
        (
            "responses",
            "key, session, seq, cache_write_1h, web_searches, web_fetches, branch, billing",
        ),
        ("usage", "*"),
        ("telemetry", "*"),
        ("session_meta", "*"),
        ("block_lines", "*"),
        (
            "sessions",
            "id, agent_version, permission_mode, context_window",
        ),
        ("source_files", "id, path, state"),
        ("digests", "*"),
    ] {
        let query = format!("SELECT {columns} FROM {table} ORDER BY 1, 2");
        let mut statement = database.prepare(&query).unwrap();
        let count = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values = (0..count).map(|column| format!("{:?}", row.get_ref(column).unwrap()));
            text.push_str(&format!(
                "{table}: {}\n",
                values.collect::<Vec<_>>().join(" ")
            ));
        }
    }
    text
}

/// A log of several blocks: prompts that do not compress to nothing, and a reply at the end.
fn long_log(session: u32) -> Vec<String> {
    let mut lines: Vec<String> = (0..40)
        .map(|number| {
            let words: Vec<String> = (0..9_000_u64)
                .map(|at| {
                    let mixed =
                        (at + u64::from(number) * 9_000).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    format!("{:06x}", mixed >> 40)
                })
                .collect();
            prompt(
                session,
                number,
                &format!("walrus{number} {}", words.join(" ")),
            )
        })
        .collect();
    lines.push(reply(session, 40, "the harpsichord is tuned", 7));
    lines
}

#[test]
fn an_older_store_is_completed_from_its_own_bytes() {
    let environment = till();
    environment.write_all(sample::story(STORY_END));
    // With forks and other copies.
    environment.write_all(sample::logs(3, 900_000));
    environment.sweep();
    let copies = "SELECT COUNT(*) FROM responses WHERE seq = 0 AND branch > 0";
    assert!(numbers(&database(&environment), copies) > 0);
    let expected = environment.everything();
    let rows = completed_rows(&database(&environment));
    assert!(rows.contains("telemetry: "), "{rows}");
    let database = make_older(&environment);
    assert_ne!(completed_rows(&database), rows);
    remove_logs(&environment);
    // Nothing but a sweep does it.
    for command in ["sessions", "doctor"] {
        environment.run(&[command]);
    }
    let older = "SELECT COUNT(*) FROM streams WHERE read_version = 0";
    let streams = numbers(&database, "SELECT COUNT(*) FROM streams");
    assert_eq!(numbers(&database, older), streams);
    complete(&environment);
    assert_eq!(completed_rows(&database), rows);
    assert_eq!(environment.everything(), expected);
    assert_eq!(environment.run(&["doctor", "--deep"]).code, 0);
}

/// Everything that is known, with turns.
fn all_turns(environment: &Environment) -> String {
    let mut text = environment.everything();
    let sessions = environment.json(&["sessions", "--limit", "0"]);
    let mut names: Vec<&str> = (sessions["sessions"].as_array().unwrap().iter())
        .map(|session| session["session"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    for name in names {
        let turns = environment.json(&["show", name, "--turns"])["turns"].clone();
        text.push_str(&format!("{name}: {turns:#}\n"));
    }
    text.replace(&environment.home().display().to_string(), "~")
}

#[test]
fn a_log_that_grew_is_read_on_as_if_this_version_had_read_all() {
    let whole: Vec<SampleFile> = sample::story(STORY_END).into_iter().collect();
    let beginnings = || {
        whole.iter().map(|file| {
            let mut bytes = file.bytes.clone();
            if file.path.ends_with(".jsonl") {
                let middle = bytes.len() / 2;
                let end = bytes[..middle].iter().rposition(|byte| *byte == b'\n');
                bytes.truncate(end.map_or(0, |end| end + 1));
            }
            (file.path.clone(), bytes)
        })
    };
    let grow = |environment: &Environment| {
        for file in &whole {
            environment.write(&file.path, &file.bytes);
        }
        environment.sweep();
        complete(environment);
        all_turns(environment)
    };
    let begin = || {
        let environment = Environment::new();
        for (path, bytes) in beginnings() {
            environment.write(&path, bytes);
        }
        environment.sweep();
        environment
    };
    let expected = grow(&begin());
    // Logs that grow before anything is completed, and after.
    let environment = begin();
    make_older(&environment);
    assert_eq!(grow(&environment), expected);
    let environment = begin();
    make_older(&environment);
    complete(&environment);
    assert_eq!(grow(&environment), expected);
}

#[test]
fn an_older_generation_of_a_log_adds_only_what_is_missing() {
    let environment = till();
    make_older(&environment);
    let log = std::fs::read_to_string(environment.home().join(claude_path(1))).unwrap();
    let rewritten = log
        .replace("2.1.9", "2.2.0")
        .replace(r#""permissionMode":"plan","#, "");
    environment.write(&claude_path(1), rewritten);
    complete(&environment);
    let shown = environment.json(&["show", &claude_id(1)]);
    assert_eq!(shown["agent_version"], "2.2.0");
    assert_eq!(shown["meta"]["version"], "2.2.0");
    assert_eq!(shown["permission_mode"], "plan");
}

/// A log of Codex whose counts stand before the items that they count, with a search behind the first.
fn codex_with_search() -> SampleFile {
    let id = "0199aaaa-0000-7000-8000-000000000001";
    let line = |kind: &str, payload: Value| {
        let record =
            json!({"timestamp": "2026-02-03T04:05:06.000Z", "type": kind, "payload": payload});
        format!("{record}\n")
    };
    let said = |role: &str, text: &str| {
        let content = json!([{"type": "input_text", "text": text}]);
        line(
            "response_item",
            json!({"type": "message", "role": role, "content": content}),
        )
    };
    let counted = |times: u64| {
        let used = |times: u64| json!({"input_tokens": 10 * times, "cached_input_tokens": 0, "output_tokens": times, "total_tokens": 11 * times});
        let info = json!({"total_token_usage": used(times), "last_token_usage": used(1)});
        line("event_msg", json!({"type": "token_count", "info": info}))
    };
    let meta = json!({"id": id, "timestamp": "2026-02-03T04:05:06.000Z", "cwd": "/work/shop"});
    let search = json!({"type": "web_search_call", "action": {"type": "search", "query": "q"}});
    let lines = [
        line("session_meta", meta),
        line(
            "turn_context",
            json!({"cwd": "/work/shop", "model": "gpt-5"}),
        ),
        said("user", "look it up"),
        counted(1),
        line("response_item", search),
        said("assistant", "found"),
        counted(2),
        said("assistant", "told"),
    ];
    SampleFile {
        path: format!(".codex/sessions/2026/02/03/rollout-2026-02-03T04-05-06-{id}.jsonl"),
        bytes: lines.concat().into_bytes(),
    }
}

#[test]
fn a_search_that_was_put_down_to_the_next_answer_moves() {
    let environment = Environment::new();
    environment.write_all(vec![codex_with_search()]);
    environment.sweep();
    let database = database(&environment);
    let searches =
        "SELECT GROUP_CONCAT(web_searches) FROM (SELECT web_searches FROM responses ORDER BY seq)";
    let found = || database.query_row(searches, [], |row| row.get::<_, String>(0));
    assert_eq!(found().unwrap(), "1,0");
    let (rows, expected) = (completed_rows(&database), environment.everything());
    let older =
        "UPDATE streams SET read_version = 1; UPDATE responses SET web_searches = 1 - web_searches";
    database.execute_batch(older).unwrap();
    remove_checksums(&database);
    complete(&environment);
    assert_eq!(found().unwrap(), "1,0");
    assert_eq!(completed_rows(&database), rows);
    assert_eq!(environment.everything(), expected);
}

#[test]
fn damaged_blocks_are_passed_over() {
    let environment = Environment::new();
    environment.claude(1, &long_log(1));
    environment.sweep();
    let digest = environment.json(&["digest", &claude_id(1)]);
    let database = make_older(&environment);
    assert!(numbers(&database, "SELECT COUNT(*) FROM blocks") >= 3);
    let damage = "UPDATE blocks SET data = substr(data, 1, 200) WHERE id = (SELECT id FROM blocks WHERE start > 0 ORDER BY start LIMIT 1)";
    assert_eq!(database.execute(damage, []).unwrap(), 1);
    let outcome = database.execute(
        "UPDATE digests SET outcome = ?1",
        [digest["outcome"].as_str().unwrap()],
    );
    assert_eq!(outcome.unwrap(), 1);
    remove_logs(&environment);
    complete(&environment);
    let shown = environment.run(&["show", &claude_id(1), "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    let events = shown["events"].as_array().unwrap();
    assert_eq!(events[0]["source_line"], 1);
    assert!(events.iter().any(|event| event["damaged"] == true));
    // What lies behind the damage is completed; its line is not known.
    let last = events.last().unwrap();
    assert_eq!(last["usage"]["output"], 7);
    assert_eq!(last["source_line"], Value::Null);
    // The digest has more than can be read.
    assert_eq!(environment.json(&["digest", &claude_id(1)]), digest);
    complete(&environment);
}

#[test]
fn what_was_evicted_stays_so_and_what_came_after_is_completed() {
    let environment = Environment::new();
    environment.claude(1, &long_log(1));
    environment.write_all(sample::story(STORY_END));
    environment.sweep();
    let outcome = environment.run(&["config", "set", "retention.raw_soft_cap_bytes", "1"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    environment.sweep();
    let outcome = environment.run(&["config", "set", "retention.raw_soft_cap_bytes", "1GB"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let mut lines = long_log(1);
    lines.push(prompt(1, 41, "play it"));
    lines.push(reply(1, 42, "it sounds", 9));
    environment.claude(1, &lines);
    environment.sweep();
    let mut digest = environment.json(&["digest", &claude_id(1)]);
    // The record is evicted that it was.
    digest["meta"] = Value::Null;
    let database = make_older(&environment);
    let outcome = "UPDATE digests SET outcome = ?1 WHERE session = (SELECT id FROM sessions WHERE session = ?2)";
    let known = (digest["outcome"].as_str().unwrap(), claude_id(1));
    database.execute(outcome, known).unwrap();
    remove_logs(&environment);
    complete(&environment);
    assert_eq!(
        environment.events(&claude_id(1)),
        ["prompt: play it", "reply: it sounds"]
    );
    let shown = environment.json(&["show", &claude_id(1)]);
    assert_eq!(shown["events"][1]["usage"]["output"], 9);
    assert_eq!(environment.json(&["digest", &claude_id(1)]), digest);
    let of_evicted = "SELECT COUNT(*) FROM telemetry JOIN sessions ON sessions.id = telemetry.session WHERE seq <= evicted AND evicted > 0";
    assert_eq!(numbers(&database, of_evicted), 0);
    assert_eq!(environment.run(&["doctor", "--deep"]).code, 0);
}

#[test]
fn what_was_forgotten_stays_so() {
    let environment = Environment::new();
    let secret = [
        prompt(1, 1, "the narwhal plan"),
        reply(1, 2, "narwhals it is", 5),
    ];
    environment.claude(1, &secret);
    // A copy of the session that goes on.
    let copied = secret.concat().replace(&claude_id(1), &claude_id(2));
    environment.claude(
        2,
        &[
            copied,
            prompt(2, 3, "paint the gazebo"),
            reply(2, 4, "painted", 6),
        ],
    );
    environment.sweep();
    let database = make_older(&environment);
    // As if a backfill had been stopped in the middle of the copy.
    let state = r#"{"title":"the narwhal plan"}"#;
    let begin = "INSERT INTO backfill (stream, offset, lines, state) SELECT MAX(id), 10, 0, ?1 FROM streams";
    database.execute(begin, [state]).unwrap();
    let forgotten = environment.run(&["forget", &claude_id(1), "--yes"]);
    assert_eq!(forgotten.code, 0, "{}", forgotten.stderr);
    assert_eq!(numbers(&database, "SELECT COUNT(*) FROM backfill"), 0);
    drop(database);
    make_older(&environment);
    remove_logs(&environment);
    complete(&environment);
    assert_eq!(
        environment.events(&claude_id(2)),
        ["prompt: paint the gazebo", "reply: painted"]
    );
    assert_eq!(environment.run(&["show", &claude_id(1)]).code, 1);
    let everything = environment.everything();
    assert!(!everything.contains("narwhal"), "{everything}");
    for (path, bytes) in environment.stored_files() {
        let found = bytes.windows(7).any(|window| window == b"narwhal");
        assert!(!found, "{}", path.display());
    }
}

#[test]
fn images_and_captures_stand_in_no_ones_way() {
    let environment = Environment::new();
    let pixels = "/9j/".repeat(20_000);
    let source = json!({"type": "base64", "media_type": "image/png", "data": pixels});
    let content = json!([{"type": "text", "text": "look"}, {"type": "image", "source": source}]);
    let image = record(1, 1, "user", &json!({"role": "user", "content": content}));
    environment.claude(1, &[image, reply(1, 2, "a cat", 5)]);
    environment.sweep();
    let hook = ["hook", "UserPromptSubmit", "--agent", "claude-code"];
    let told = json!({"session_id": claude_id(2), "hook_event_name": "UserPromptSubmit", "prompt": "mow the lawn"});
    assert_eq!(environment.feed(&hook, told.to_string().as_bytes()).code, 0);
    let expected = environment.everything();
    let database = make_older(&environment);
    assert_eq!(numbers(&database, "SELECT COUNT(*) FROM attachments"), 1);
    remove_logs(&environment);
    complete(&environment);
    assert_eq!(environment.everything(), expected);
    // A block whose image is damaged is passed over.
    make_older(&environment);
    let digests = "UPDATE digests SET outcome = 'success'";
    let damage = "UPDATE attachments SET data = zeroblob(LENGTH(data))";
    database
        .execute_batch(&format!("{digests}; {damage}"))
        .unwrap();
    complete(&environment);
    assert_eq!(numbers(&database, "SELECT COUNT(*) FROM telemetry"), 0);
}
