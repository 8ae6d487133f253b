//! Secrets that stand in several fragments of a stream.

use std::collections::HashSet;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use backstory_redact::{RULES, planted};
use serde_json::{Value, json};

use crate::environment::{Environment, prompt};

const SESSION: &str = "019f0000-0000-7000-8000-00000000000a";

/// So many bytes of a secret in a row must not be found anywhere.
const PART: usize = 12;

/// A log of Grok that grows.
struct Log<'a> {
    environment: &'a Environment,
    number: u32,
    secrets: Vec<String>,
}

impl<'a> Log<'a> {
    fn new(environment: &'a Environment) -> Self {
        let mut log = Log {
            environment,
            number: 0,
            secrets: Vec::new(),
        };
        environment.write(&Self::path(), "");
        log.append(&[("user_message_chunk", "which key is it?")]);
        log
    }

    fn path() -> String {
        format!(".grok/sessions/%2Fwork%2Fshop/{SESSION}/updates.jsonl")
    }

    /// Makes up a secret that must not be seen anywhere later.
    fn secret(&mut self, rule: &str, seed: u64) -> String {
        let rule = RULES.iter().find(|known| known.id == rule).unwrap();
        let planted = planted(rule, seed);
        self.secrets.extend(planted.secrets);
        planted.text
    }

    fn line(&mut self, update: &Value) -> String {
        self.number += 1;
        let line = json!({"timestamp": 1_770_000_000 + self.number, "method": "session/update", "params": {
            "sessionId": SESSION, "update": update,
            "_meta": {"eventId": format!("{SESSION}-{}", self.number), "agentTimestampMs": 1_770_000_000_000_u64 + u64::from(self.number)},
        }});
        format!("{line}\n")
    }

    fn append(&mut self, fragments: &[(&str, &str)]) {
        let updates = fragments.iter().map(|(kind, text)| {
            self.line(&json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}}))
        });
        let lines: String = updates.collect();
        self.write(&lines);
    }

    fn write(&self, lines: &str) {
        let path = self.environment.home().join(Self::path());
        let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(lines.as_bytes()).unwrap();
    }

    fn says(&mut self, pieces: &[&str]) {
        let fragments: Vec<_> = pieces
            .iter()
            .map(|piece| ("agent_message_chunk", *piece))
            .collect();
        self.append(&fragments);
    }

    /// Looks for every part of the secrets, in all that is shown and in every file of the store.
    fn check(&self) {
        let environment = self.environment;
        let mut places: Vec<(String, Vec<u8>)> = Vec::new();
        for command in [
            &["show", SESSION, "--format", "original"][..],
            &["show", SESSION, "--json"],
            &["digest", SESSION, "--json"],
            &["sessions", "--json"],
            &["search", "key", "--json"],
        ] {
            let outcome = environment.run(command);
            assert!(outcome.code < 2, "{command:?}: {}", outcome.stderr);
            places.push((command.join(" "), outcome.stdout.into_bytes()));
        }
        let original = String::from_utf8(places[0].1.clone()).unwrap();
        for line in original.lines() {
            let record: serde_json::Result<Value> = serde_json::from_str(line);
            assert!(record.is_ok(), "no JSON any more: {line}");
        }
        // As a reader would put replies together that something else stands between.
        let events = environment.events(SESSION);
        let replies: String = events
            .iter()
            .filter_map(|event| event.strip_prefix("reply: "))
            .collect();
        places.push(("all replies".to_string(), replies.into_bytes()));
        let files = environment.stored_files().into_iter();
        places.extend(files.map(|(path, bytes)| (path.display().to_string(), bytes)));
        let secrets = self.secrets.iter().map(String::as_bytes);
        let parts: HashSet<&[u8]> = secrets.flat_map(|secret| secret.windows(PART)).collect();
        for (place, bytes) in &places {
            let part = bytes.windows(PART).find(|part| parts.contains(part));
            let part = part.map(String::from_utf8_lossy);
            assert_eq!(part, None, "in {place}");
        }
        assert_eq!(environment.run(&["doctor"]).code, 0);
    }
}

#[test]
fn a_secret_that_a_later_sweep_completes_is_wiped_from_the_fragment_stored_before() {
    let environment = Environment::new();
    let mut log = Log::new(&environment);
    let secret = log.secret("anthropic-api-key", 1);
    let (first, second) = secret.split_at(23);
    log.says(&["Use it with care: the key is ", first]);
    // So many that they are indexed at once, with half the secret among them.
    let prompts: Vec<String> = (0..500).map(|number| prompt(1, number, "more")).collect();
    environment.claude(1, &prompts);
    environment.sweep();
    // It is no secret yet.
    assert!(environment.events(SESSION)[1].ends_with(first));
    log.says(&[second, " and nothing else."]);
    let report = environment.sweep();
    assert_eq!(report["redactions"], 1);
    log.check();
    let reply = &environment.events(SESSION)[1];
    let (start, end) = (
        "reply: Use it with care: the key is [REDACTED:anthropic-api-key:",
        "* and nothing else.",
    );
    assert!(reply.starts_with(start) && reply.ends_with(end), "{reply}");
    assert_eq!(environment.found(&["nothing else"]).len(), 1);
    // Nothing is redacted twice, and the next sweep has nothing to do.
    let before = environment.everything();
    assert_eq!(environment.sweep()["ingested"], 0);
    assert_eq!(environment.everything(), before);
}

#[test]
fn a_secret_in_many_fragments_is_wiped_whatever_stands_between_them() {
    for sweeps in [false, true] {
        let environment = Environment::new();
        let mut log = Log::new(&environment);
        let texts = [
            log.secret("anthropic-api-key", 2),
            log.secret("private-key", 3),
            log.secret("github-fine-grained-token", 4),
        ];
        for text in &texts {
            let characters: Vec<String> = text.chars().map(String::from).collect();
            for (index, some) in characters.chunks(5).enumerate() {
                let some: Vec<&str> = some.iter().map(String::as_str).collect();
                log.says(&some);
                match index % 3 {
                    0 => log.append(&[("agent_thought_chunk", "hm")]),
                    1 => {
                        let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": format!("call-{index}-{}", log.number),
                            "status": "completed", "rawOutput": {"output_for_prompt": "ran"}});
                        let line = log.line(&update);
                        log.write(&line);
                    }
                    _ => {}
                }
                if sweeps && index % 5 == 4 {
                    environment.sweep();
                }
            }
            log.says(&["\n\n"]);
        }
        environment.sweep();
        log.check();
    }
}

#[test]
fn secrets_across_chunks_of_a_long_log_are_wiped() {
    let environment = Environment::new();
    let mut log = Log::new(&environment);
    // In fragments of a few bytes all over three megabytes, so that borders of chunks fall into some.
    let mut lines = String::new();
    for number in 0..200 {
        let secret = log.secret("anthropic-api-key", number);
        let text = format!("number {number} is {secret}, then ");
        for piece in text.as_bytes().chunks(3) {
            let piece = std::str::from_utf8(piece).unwrap();
            let update = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": piece}});
            lines.push_str(&log.line(&update));
        }
    }
    assert!(lines.len() > 1 << 21, "{}", lines.len());
    log.write(&lines);
    let report = environment.sweep();
    assert_eq!(report["redactions"], 200);
    log.check();
}

#[test]
fn the_title_made_of_half_a_secret_goes_with_it() {
    let environment = Environment::new();
    let mut log = Log::new(&environment);
    log.says(&["which?"]);
    environment.write(&Log::path(), "");
    let secret = log.secret("anthropic-api-key", 5);
    let (first, second) = secret.split_at(23);
    log.append(&[("user_message_chunk", &format!("my key {first}"))]);
    environment.sweep();
    let sessions = environment.json(&["sessions"]);
    assert!(sessions.to_string().contains(first), "{sessions}");
    log.append(&[("user_message_chunk", &format!("{second} fails"))]);
    environment.sweep();
    log.check();
    let sessions = environment.json(&["sessions"]);
    assert!(
        sessions.to_string().contains("my key [REDACTED"),
        "{sessions}"
    );
}

#[test]
fn blocks_of_one_message_are_read_as_one() {
    let environment = Environment::new();
    let mut log = Log::new(&environment);
    let secret = log.secret("anthropic-api-key", 6);
    let (first, second) = secret.split_at(30);
    let update = json!({"sessionUpdate": "agent_message_chunk", "content": [{"type": "text", "text": first}, {"type": "text", "text": second}]});
    let line = log.line(&update);
    log.write(&line);
    let history = format!(
        ".grok/sessions/%2Fwork%2Fshop/{}/chat_history.jsonl",
        SESSION.replace('a', "b")
    );
    let message = json!({"type": "assistant", "content": [{"type": "text", "text": first}, {"type": "text", "text": second}]});
    environment.write(&history, format!("{message}\n"));
    environment.sweep();
    log.check();
    let other = environment
        .run(&["show", &SESSION.replace('a', "b"), "--json"])
        .stdout;
    assert!(
        other.contains("[REDACTED:") && !other.contains(&secret[..20]),
        "{other}"
    );
}

#[test]
fn killed_between_a_secret_is_stored_by_halves_or_not_at_all() {
    let environment = Environment::new();
    let mut log = Log::new(&environment);
    let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
    for round in 0..6 {
        let secret = log.secret("anthropic-api-key", 100 + round);
        log.says(&[" and "]);
        for piece in secret.as_bytes().chunks(25) {
            log.says(&[std::str::from_utf8(piece).unwrap()]);
            let mut child = environment
                .command(&["sweep"])
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            std::thread::sleep(Duration::from_micros((random >> 40) % 120_000));
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
    environment.sweep();
    log.check();
}

#[test]
fn what_a_model_wrote_of_half_a_secret_goes_with_it() {
    // In one fragment, and in fragments that are too short to be recognized by themselves.
    for length in [23, 3] {
        let environment = Environment::new();
        let mut log = Log::new(&environment);
        let secret = log.secret("anthropic-api-key", 1);
        let (first, second) = secret.split_at(23);
        log.says(&["the key is "]);
        for piece in first.as_bytes().chunks(length) {
            log.says(&[std::str::from_utf8(piece).unwrap()]);
        }
        environment.sweep();
        let path = environment.store().join("backstory.db");
        let database = || rusqlite::Connection::open(&path).unwrap();
        let pack = |text: &str| zstd::bulk::compress(text.as_bytes(), 3).unwrap();
        // As models wrote it while the half was not known to be one; one of them shortens what it quotes.
        let quoting = format!(r#"{{"title":"t","summary":"it uses {first}","detail":"d"}}"#);
        let shortened = format!(
            r#"{{"title":"t","summary":"it uses {}…","detail":"d"}}"#,
            &first[..16]
        );
        let harmless = r#"{"title":"t","summary":"it uses a key","detail":"d"}"#;
        let row: i64 = database()
            .query_row(
                "SELECT id FROM sessions WHERE session = ?1",
                [SESSION],
                |row| row.get(0),
            )
            .unwrap();
        for (seq, text) in [
            (1, quoting.as_str()),
            (2, shortened.as_str()),
            (3, harmless),
        ] {
            let insert = "INSERT INTO observations (session, seq, model, at, body) VALUES (?1, ?2, 'm', 1, ?3)";
            database().execute(insert, (row, seq, pack(text))).unwrap();
        }
        let insert =
            "INSERT INTO summaries (session, events, model, at, body) VALUES (?1, 2, 'm', 1, ?2)";
        database().execute(insert, (row, pack(&quoting))).unwrap();
        let insert = "INSERT INTO kept_observations (session, observations) VALUES (?1, ?2)";
        database().execute(insert, (row, pack(&quoting))).unwrap();
        log.says(&[second, " and nothing else."]);
        assert_eq!(environment.sweep()["redactions"], 1);
        let count =
            |query: &str| -> i64 { database().query_row(query, [], |row| row.get(0)).unwrap() };
        assert_eq!(count("SELECT COUNT(*) FROM observations WHERE seq < 3"), 0);
        assert_eq!(count("SELECT COUNT(*) FROM observations WHERE seq = 3"), 1);
        assert_eq!(count("SELECT COUNT(*) FROM summaries"), 0);
        assert_eq!(count("SELECT COUNT(*) FROM kept_observations"), 0);
        log.check();
    }
}

/// Of a text only the end is kept to be searched with what follows, and that end may lie in the middle of a fragment.
#[test]
fn a_secret_that_begins_at_the_end_of_a_very_long_fragment_is_wiped() {
    for length in [15 << 10, 16 << 10, 17 << 10, 70 << 10] {
        let environment = Environment::new();
        let mut log = Log::new(&environment);
        let secret = log.secret("anthropic-api-key", 1);
        let (first, second) = secret.split_at(23);
        let long = format!("{} the key is {first}", "word ".repeat(length / 5));
        log.says(&["It is so: ", &long]);
        environment.sweep();
        assert!(environment.events(SESSION)[1].ends_with(first), "{length}");
        log.says(&[second, " and nothing else."]);
        assert_eq!(environment.sweep()["redactions"], 1, "{length}");
        log.check();
    }
}
