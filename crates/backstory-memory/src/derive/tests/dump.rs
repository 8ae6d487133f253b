//! Everything that is derived from events, by names.

use rusqlite::Connection;

use super::story::WORDS;
use crate::code::tests::bench::Bench;
use crate::{Mode, Query, SearchOptions};

/// Name of the model of the tests.
pub(super) const MODEL: &str = "tiny";

const QUERIES: [(&str, &str); 7] = [
    (
        "session",
        "SELECT sessions.session, events, turns, title, title_rank, evicted, started_at, ended_at FROM sessions",
    ),
    (
        "digest",
        "SELECT sessions.session, outcome FROM digests JOIN sessions ON sessions.id = digests.session",
    ),
    (
        "change",
        "SELECT sessions.session, turn, code_files.name, symbol_changes.name, kind, change, earlier, at FROM symbol_changes \
         JOIN sessions ON sessions.id = symbol_changes.session JOIN code_files ON code_files.id = file",
    ),
    (
        "snapshot",
        "SELECT sessions.session, turn, code_files.name, at, gone, broken_at FROM snapshots \
         JOIN sessions ON sessions.id = snapshots.session JOIN code_files ON code_files.id = file",
    ),
    (
        "run",
        "SELECT code_files.name, caller, callee, sessions.session, seq, seen, at FROM run_edges \
         JOIN sessions ON sessions.id = run_edges.session JOIN code_files ON code_files.id = file",
    ),
    ("file", "SELECT name, moved_from FROM code_files"),
    (
        "lag",
        "SELECT consumers.name, sessions.session, from_seq FROM lag JOIN consumers ON consumers.id = consumer \
         JOIN sessions ON sessions.id = lag.session WHERE events > 0",
    ),
];

/// Returns what a memory has derived, and what it finds.
pub(super) fn dump_derived(bench: &mut Bench) -> Vec<String> {
    let mut lines = Vec::new();
    let connection = Connection::open(bench.trial.store().join("backstory.db")).unwrap();
    for (name, query) in QUERIES {
        dump_query(&connection, name, query, &mut lines);
    }
    let sessions = bench
        .trial
        .memory
        .store
        .sessions(&crate::SessionFilter::default());
    for session in sessions.unwrap() {
        let digest = bench.trial.memory.store.digest(session.id).unwrap();
        let notes = digest.map(|digest| String::from_utf8(digest.notes).unwrap());
        lines.push(format!("notes {} {notes:?}", session.session));
        let keys = bench.trial.memory.models().vector_keys(MODEL).unwrap();
        for key in keys.iter().filter(|key| key.session == session.id) {
            lines.push(format!(
                "vector {} {} {}",
                session.session, key.seq, key.chunk
            ));
        }
    }
    lines.extend(
        bench
            .snapshots()
            .into_iter()
            .map(|line| format!("symbol {line}")),
    );
    lines.extend(bench.calls().into_iter().map(|line| format!("call {line}")));
    lines.extend(found(bench));
    lines.sort();
    lines
}

/// Returns what searches find, in the order of places.
pub(super) fn found(bench: &mut Bench) -> Vec<String> {
    let mut lines = Vec::new();
    for word in WORDS.iter().chain(&["quickly", "about", "f1", "passed"]) {
        let options = SearchOptions {
            each_turn: true,
            mode: Mode::Keyword,
            limit: 0,
            ..SearchOptions::default()
        };
        let answer = bench
            .trial
            .memory
            .search()
            .run(&Query::parse(word), &options);
        for hit in answer.unwrap().hits {
            lines.push(format!("found {word} {} {}", hit.session.session, hit.turn));
        }
    }
    lines.sort();
    lines
}

fn dump_query(connection: &Connection, name: &str, query: &str, lines: &mut Vec<String>) {
    let mut statement = connection.prepare(query).unwrap();
    let columns = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let mut line = name.to_string();
        for column in 0..columns {
            let value: rusqlite::types::Value = row.get(column).unwrap();
            line.push_str(&match value {
                rusqlite::types::Value::Null => " -".to_string(),
                rusqlite::types::Value::Integer(number) => format!(" {number}"),
                rusqlite::types::Value::Text(text) => format!(" {text:?}"),
                other => format!(" {other:?}"),
            });
        }
        lines.push(line);
    }
}
