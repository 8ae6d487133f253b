//! Exporting again when the store has evicted the text of sessions.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use backstory_columnar::{Table, write_table, write_tables};
use backstory_memory::{Caps, ImportOptions, Memory, RetainOptions, Sources};
use parquet::record::Row;

use crate::support::{
    Logs, NOW, all_options, all_sessions, export_all, number, parts, rows_of, table_rows,
    table_texts, text,
};

const CLAUDE_FOLDER: &str = "home/.claude/projects/-home-ada-shop";

/// A store that lasts.
fn open_store(logs: &Logs) -> Memory {
    Memory::open(&logs.path("store")).unwrap()
}

fn import(logs: &Logs, memory: &Memory) {
    let options = ImportOptions::new(Sources::paths([logs.path("home")]));
    memory.import(&options, &mut |_| {}).unwrap();
}

fn evict_all(memory: &Memory) {
    let caps = Caps {
        raw_hard_cap_bytes: Some(1),
        ..Caps::default()
    };
    let options = RetainOptions { caps, now: NOW };
    memory.upkeep().retain(&options).unwrap();
    for session in all_sessions(memory) {
        assert_eq!(session.evicted.count(), session.events);
    }
}

fn texts_of(rows: &[Row]) -> Vec<String> {
    let mut texts: Vec<String> = rows.iter().map(|row| format!("{row}")).collect();
    texts.sort();
    texts
}

/// Adds records to the log of a session of Claude Code.
fn append(logs: &Logs, id: &str, records: &[&str]) {
    let path = logs.path(CLAUDE_FOLDER).join(format!("{id}.jsonl"));
    let mut log = std::fs::read_to_string(&path).unwrap();
    for record in records {
        let (kind, content) = record.split_once(' ').unwrap();
        let at = log.lines().count();
        log += &format!(
            r#"{{"type":"{kind}","uuid":"{id}-x{at}","sessionId":"{id}","cwd":"/home/ada/shop","timestamp":"2026-03-04T11:00:{at:02}.000Z","message":{{"role":"{kind}","model":"claude-opus-4-6","content":{content}}}}}"#
        );
        log.push('\n');
    }
    std::fs::write(path, log).unwrap();
}

#[test]
fn text_that_was_evicted_stays_in_a_folder() {
    let logs = Logs::generate(1_000_000);
    logs.add_session("one", "2026-03-04", 3);
    let memory = open_store(&logs);
    import(&logs, &memory);
    let folder = logs.path("tables");
    export_all(&memory, &folder);
    let before = table_texts(&folder);
    evict_all(&memory);
    assert!(export_all(&memory, &folder).files_written > 0);
    let after = table_texts(&folder);
    for table in [Table::Events, Table::ToolCalls] {
        assert!(after[table.name()] == before[table.name()], "{table:?}");
    }
    let sessions = table_rows(&folder, Table::Sessions);
    assert_eq!(sessions.len(), before["sessions"].len());
    assert!(
        sessions
            .iter()
            .all(|row| text(row, "status").as_deref() == Some("evicted"))
    );
    assert_eq!(export_all(&memory, &folder).files_written, 0);

    // New rows of a session come behind those that are kept.
    logs.add_session("one", "2026-03-04", 5);
    import(&logs, &memory);
    export_all(&memory, &folder);
    let rows = table_rows(&folder, Table::Events);
    assert_eq!(rows.len(), before["events"].len() + 2);
    let known: HashSet<_> = rows
        .iter()
        .map(|row| (text(row, "agent"), text(row, "session"), number(row, "seq")))
        .collect();
    assert_eq!(known.len(), rows.len(), "no row is there twice");
    let kept = texts_of(&rows);
    assert!(before["events"].iter().all(|row| kept.contains(row)));

    // A file that is not as it was written is not replaced.
    let part = folder.join("events/month=2026-03/part-2026-03-04.parquet");
    assert!(parts(&folder, Table::Events).contains(&part));
    let mut bytes = std::fs::read(&part).unwrap();
    bytes[40] ^= 1;
    std::fs::write(&part, &bytes).unwrap();
    logs.add_session("one", "2026-03-04", 6);
    import(&logs, &memory);
    let sessions = all_sessions(&memory);
    let error = write_tables(&memory, &sessions, &folder, &all_options(), &mut |_| {});
    let error = error.unwrap_err().to_string();
    assert!(error.contains("restore the file"), "{error}");
    assert_eq!(std::fs::read(&part).unwrap(), bytes);
}

#[test]
fn text_that_was_evicted_stays_in_a_file() {
    let logs = Logs::generate(1_000_000);
    logs.add_session("one", "2026-03-04", 3);
    let memory = open_store(&logs);
    import(&logs, &memory);
    let write = |table: Table, file: &Path| {
        let sessions = all_sessions(&memory);
        write_table(&memory, &sessions, table, file, &all_options(), &mut |_| {}).unwrap();
        texts_of(&rows_of(file))
    };
    let tables = [Table::Events, Table::ToolCalls];
    let files = tables.map(|table| (table, logs.path(&format!("{}.parquet", table.name()))));
    let before: BTreeMap<_, _> = files
        .iter()
        .map(|(table, file)| (table.name(), write(*table, file)))
        .collect();
    evict_all(&memory);
    for (table, file) in &files {
        assert!(write(*table, file) == before[table.name()], "{table:?}");
        // Another session leaves them as they are, too.
        logs.add_session("two", "2026-03-05", 1);
    }
    import(&logs, &memory);
    for (table, file) in &files {
        let rows = write(*table, file);
        let added = if *table == Table::Events { 2 } else { 0 };
        assert_eq!(rows.len(), before[table.name()].len() + added);
    }
}

#[test]
fn a_result_that_comes_after_its_call_was_evicted_joins_it() {
    let logs = Logs::generate(0);
    logs.add_session("one", "2026-03-04", 1);
    let call = |id: &str| {
        format!(
            r#"assistant [{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"ls {id}"}}}}]"#
        )
    };
    let result = |id: &str| {
        format!(
            r#"user [{{"type":"tool_result","tool_use_id":"{id}","content":"result {id}","is_error":true}}]"#
        )
    };
    append(
        &logs,
        "one",
        &[&call("a"), &result("a"), &call("b"), &call("c")],
    );
    let memory = open_store(&logs);
    import(&logs, &memory);
    let folder = logs.path("tables");
    export_all(&memory, &folder);
    evict_all(&memory);
    append(&logs, "one", &[&result("b"), &call("d"), &result("d")]);
    import(&logs, &memory);
    for _ in 0..2 {
        export_all(&memory, &folder);
        let mut rows: Vec<_> = table_rows(&folder, Table::ToolCalls)
            .iter()
            .map(|row| {
                (
                    text(row, "tool_use_id"),
                    text(row, "command"),
                    text(row, "result"),
                )
            })
            .collect();
        rows.sort();
        let row = |id: &str, is_answered: bool| {
            let result = is_answered.then(|| format!("result {id}"));
            (Some(id.to_string()), Some(format!("ls {id}")), result)
        };
        let expected = [
            row("a", true),
            row("b", true),
            row("c", false),
            row("d", true),
        ];
        assert_eq!(rows, expected);
        evict_all(&memory);
    }
}
