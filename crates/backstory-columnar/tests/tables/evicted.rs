//! Exporting again when the store has evicted the text of sessions.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use backstory_columnar::{
    AttributeValue, ExportOptions, SessionFile, Table, TableOptions, export_file, export_folder,
    export_table, export_tables,
};
use backstory_memory::{Caps, ImportOptions, Memory, RetainOptions, Sources};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Row;
use rusqlite::Connection;

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
    import_as(logs, memory, true);
}

fn import_as(logs: &Logs, memory: &Memory, redact: bool) {
    let options = ImportOptions {
        redact,
        ..ImportOptions::new(Sources::paths([logs.path("home")]))
    };
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
    let error = export_tables(&memory, &sessions, &folder, &all_options(), &mut |_| {});
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
        export_table(&memory, &sessions, table, file, &all_options(), &mut |_| {}).unwrap();
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

/// Attribute of a session in an HDF5 file, as other readers see it; `None` when it is not there.
fn attribute(file: &Path, session: &str, name: &str) -> Option<String> {
    let file = hdf5_pure::File::open(file).unwrap();
    let group = file.group(&format!("sessions/{session}")).unwrap();
    let attributes = group.attrs().unwrap();
    let value = attributes.get(name)?.as_str().unwrap();
    Some(value.to_string())
}

fn export_h5(memory: &Memory, file: &Path) {
    export_h5_as(memory, file, true);
}

fn export_h5_as(memory: &Memory, file: &Path, redact: bool) {
    let options = ExportOptions {
        threads: 1,
        redactor: redact.then(|| memory.store_redactor().unwrap()),
        embedder: None,
    };
    export_file(memory, &all_sessions(memory), file, &options, &|_| {}).unwrap();
}

#[test]
fn missing_says_what_the_file_lacks() {
    let logs = Logs::generate(0);
    logs.add_session("one", "2026-03-04", 3);
    logs.add_session("two", "2026-03-04", 3);
    let memory = open_store(&logs);
    import(&logs, &memory);
    let all = logs.path("all.h5");
    export_h5(&memory, &all);
    evict_all(&memory);
    let missing = |file: &Path, session: &str| attribute(file, session, "missing").unwrap();
    let fresh = logs.path("fresh.h5");
    for file in [&all, &fresh] {
        export_h5(&memory, file);
    }
    assert_eq!(missing(&all, "one"), "");
    assert_eq!(missing(&fresh, "one"), "text evicted, logs");
    let file = SessionFile::open(&all).unwrap();
    assert_eq!(file.session("one").unwrap().message_count().unwrap(), 4);
    drop(file);

    // New rows come, of a log that is not whole any more.
    logs.add_session("one", "2026-03-04", 5);
    import(&logs, &memory);
    for file in [&all, &fresh] {
        export_h5(&memory, file);
    }
    assert_eq!(missing(&all, "one"), "logs");
    assert_eq!(missing(&all, "two"), "");
    assert_eq!(missing(&fresh, "one"), "text partly evicted, logs");

    // Text that was evicted before it was exported is nowhere.
    logs.add_session("one", "2026-03-04", 8);
    import(&logs, &memory);
    evict_all(&memory);
    export_h5(&memory, &all);
    assert_eq!(missing(&all, "one"), "text partly evicted, logs");
}

#[test]
fn every_attribute_is_there_and_the_model_is_the_first() {
    let logs = Logs::generate(0);
    logs.add_session("one", "2026-03-04", 2);
    let path = logs.path(CLAUDE_FOLDER).join("one.jsonl");
    let log = std::fs::read_to_string(&path).unwrap();
    // Another model answers last.
    let (before, last) = log.trim_end().rsplit_once('\n').unwrap();
    let last = last.replace("claude-opus-4-6", "claude-haiku-4-5");
    std::fs::write(&path, format!("{before}\n{last}\n")).unwrap();
    logs.add_session("prompt", "2026-03-04", 0);
    let memory = open_store(&logs);
    import(&logs, &memory);
    let all = logs.path("all.h5");
    export_h5(&memory, &all);
    for name in ["missing", "embedding_model", "permission_mode"] {
        assert_eq!(attribute(&all, "one", name).as_deref(), Some(""), "{name}");
    }
    let model = |session: &str| attribute(&all, session, "model").unwrap();
    assert_eq!(model("one"), "claude-opus-4-6");
    assert_eq!(model("prompt"), "unknown");
    for row in all_sessions(&memory) {
        let first = row.models.first().map_or("unknown", String::as_str);
        assert_eq!(model(&row.session), first);
    }
}

#[test]
fn text_of_an_id_that_was_redacted_with_another_key_stays() {
    let logs = Logs::generate(0);
    let id = format!("shop-ghp_{}", "a1B2c3D4e5F6".repeat(3));
    logs.add_session(&id, "2026-03-04", 3);
    let folder = logs.path("tables");
    // Logs without a store have a key of their own.
    export_all(&logs.memory(), &folder);
    let before = table_rows(&folder, Table::Events);
    let memory = open_store(&logs);
    import(&logs, &memory);
    let current = all_sessions(&memory)[0].session.clone();
    assert_ne!(text(&before[0], "session"), Some(current.clone()));
    evict_all(&memory);
    for _ in 0..2 {
        export_all(&memory, &folder);
        let rows = table_rows(&folder, Table::Events);
        assert_eq!(rows.len(), before.len());
        for row in &rows {
            assert_eq!(text(row, "session").as_deref(), Some(current.as_str()));
        }
    }
}

/// A secret that is in texts, arguments, ids and an artifact of a session.
fn secret() -> String {
    format!("ghp_{}", "a1B2c3D4e5F6".repeat(3))
}

fn add_session_with_secret(logs: &Logs) {
    let secret = secret();
    logs.add_session("one", "2026-03-04", 2);
    let call = format!(
        r#"assistant [{{"type":"tool_use","id":"{secret}","name":"Bash","input":{{"command":"login {secret}"}}}}]"#
    );
    let result = format!(
        r#"user [{{"type":"tool_result","tool_use_id":"{secret}","content":"welcome {secret}"}}]"#
    );
    let ask = format!(r#"user "use {secret} again""#);
    append(logs, "one", &[&call, &result, &ask]);
}

/// Exports a session with secrets from two stores, the second of which has no text of it: once redacted, once not.
fn export_switched(export: impl Fn(&Memory, bool)) {
    for redact in [true, false] {
        let logs = Logs::generate(0);
        add_session_with_secret(&logs);
        for (name, redact, is_evicted) in [("first", !redact, false), ("second", redact, true)] {
            let memory = Memory::open(&logs.path(name)).unwrap();
            import_as(&logs, &memory, redact);
            if is_evicted {
                evict_all(&memory);
            }
            export(&memory, redact);
        }
    }
}

#[test]
fn evicted_rows_of_tables_are_redacted_when_redaction_is_switched_on() {
    let folder = tempfile::tempdir().unwrap();
    export_switched(|memory, redact| {
        let options = TableOptions {
            redactor: redact.then(|| memory.store_redactor().unwrap()),
            ..all_options()
        };
        let sessions = all_sessions(memory);
        let tables = folder.path().join("tables");
        let report = export_tables(memory, &sessions, &tables, &options, &mut |_| {}).unwrap();
        assert_eq!(report.files_written, 4, "redact {redact}");
        let rows = [Table::Events, Table::ToolCalls].map(|table| table_rows(&tables, table));
        assert_eq!(rows.each_ref().map(Vec::len), [6, 1], "redact {redact}");
        let text = texts_of(&rows.concat()).concat();
        let was_redacted = text.contains("[REDACTED:");
        assert_ne!(text.contains(&secret()), was_redacted, "redact {redact}");
        assert!(!redact || was_redacted);
        for part in Table::ALL.map(|table| parts(&tables, table)).concat() {
            let reader = SerializedFileReader::new(std::fs::File::open(part).unwrap()).unwrap();
            let metadata = reader.metadata().file_metadata().key_value_metadata();
            let mut entries = metadata.unwrap().iter();
            let redaction = entries.find(|entry| entry.key == "backstory.redaction");
            let expected = if redact { "on" } else { "off" };
            assert_eq!(redaction.unwrap().value.as_deref(), Some(expected));
        }
    });
}

#[test]
fn a_session_that_the_export_does_not_have_is_redacted_when_its_part_is_written() {
    let (gone, known) = (Logs::generate(0), Logs::generate(0));
    let id = format!("shop-{}", secret());
    gone.add_session(&id, "2026-03-04", 1);
    known.add_session("one", "2026-03-04", 1);
    let file = gone.path("usage.parquet");
    let write = |logs: &Logs, redact: bool| {
        let memory = Memory::open(&logs.path("store")).unwrap();
        import_as(logs, &memory, redact);
        let options = TableOptions {
            redactor: redact.then(|| memory.store_redactor().unwrap()),
            ..all_options()
        };
        let sessions = all_sessions(&memory);
        let written = export_table(
            &memory,
            &sessions,
            Table::Usage,
            &file,
            &options,
            &mut |_| {},
        );
        written.unwrap().files_written
    };
    let has_secret = || {
        let bytes = std::fs::read(&file).unwrap();
        let mut windows = bytes.windows(secret().len());
        windows.any(|bytes| bytes == secret().as_bytes())
    };
    write(&gone, false);
    assert!(has_secret());
    assert_eq!(write(&known, true), 1);
    assert!(!has_secret());
    assert_eq!(rows_of(&file).len(), 2);
    assert_eq!(write(&known, true), 0, "all is as it was");
}

#[test]
fn evicted_rows_of_an_hdf5_file_are_redacted_when_redaction_is_switched_on() {
    let folder = tempfile::tempdir().unwrap();
    export_switched(|memory, redact| {
        let file = folder.path().join("all.h5");
        export_h5_as(memory, &file, redact);
        let read = SessionFile::open(&file).unwrap();
        let session = read.session("one").unwrap().read().unwrap();
        assert_eq!(session.messages.len(), 6, "redact {redact}");
        assert_eq!(session.tool_calls.len(), 1, "redact {redact}");
        assert!(session.tool_calls[0].args.contains("login"));
        let text = format!("{:?} {:?}", session.messages, session.tool_calls);
        // Once redacted, a text stays so.
        let was_redacted = text.contains("[REDACTED:");
        assert_ne!(text.contains(&secret()), was_redacted, "redact {redact}");
        assert!(!redact || was_redacted);
        let marker = AttributeValue::Text(if redact { "on" } else { "off" }.to_string());
        let attributes = session.attributes.other;
        assert!(attributes.contains(&("redaction".to_string(), marker)));
    });
}

/// Exports to a folder of HDF5 files, and returns their names.
fn export_h5_folder(memory: &Memory, folder: &Path, redact: bool) -> Vec<String> {
    let options = ExportOptions {
        threads: 1,
        redactor: redact.then(|| memory.store_redactor().unwrap()),
        embedder: None,
    };
    let report = export_folder(memory, &all_sessions(memory), folder, &options, &|_| {}).unwrap();
    assert_eq!(report.failed, []);
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn a_file_that_a_killed_export_renamed_keeps_its_name() {
    let logs = Logs::generate(0);
    logs.add_session(&format!("shop-{}", secret()), "2026-03-04", 2);
    let (unredacted, redacted) = ("unredacted", "redacted");
    let [unredacted, redacted] = [(unredacted, false), (redacted, true)].map(|(name, redact)| {
        let memory = Memory::open(&logs.path(name)).unwrap();
        import_as(&logs, &memory, redact);
        memory
    });
    let (folder, other) = (logs.path("columns"), logs.path("other"));
    let before = export_h5_folder(&unredacted, &folder, false);
    let expected = export_h5_folder(&redacted, &other, true);
    assert_ne!(before, expected);
    std::fs::rename(folder.join(&before[0]), folder.join(&expected[0])).unwrap();
    for _ in 0..2 {
        assert_eq!(export_h5_folder(&redacted, &folder, true), expected);
    }
    let file = SessionFile::open(&folder.join(&expected[0])).unwrap();
    let ids = file.session_ids().unwrap();
    assert!(ids.len() == 1 && ids[0].contains("[REDACTED:"), "{ids:?}");
}

/// Flips a bit in the first block of text of a store.
fn damage_first_block(logs: &Logs) {
    let database = Connection::open(logs.path("store/backstory.db")).unwrap();
    let query = "SELECT rowid, data FROM blocks ORDER BY start LIMIT 1";
    let block = database.query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?)));
    let (id, mut data): (i64, Vec<u8>) = block.unwrap();
    let middle = data.len() / 2;
    data[middle] ^= 4;
    let update = "UPDATE blocks SET data = ?1 WHERE rowid = ?2";
    database.execute(update, (data, id)).unwrap();
}

#[test]
fn text_that_is_damaged_in_the_store_stays_as_it_was_written() {
    let logs = Logs::generate(0);
    logs.add_session("one", "2026-03-04", 1);
    let noise = |from: u64| -> String {
        let numbers = (from..from + 9_000).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40);
        numbers.map(|number| format!("{number:06x} ")).collect()
    };
    for at in 0..20_u64 {
        let call = format!(
            r#"assistant [{{"type":"tool_use","id":"call-{at}","name":"Bash","input":{{"command":"{}"}}}}]"#,
            noise(at * 20_000)
        );
        let result = format!(
            r#"user [{{"type":"tool_result","tool_use_id":"call-{at}","content":"{}"}}]"#,
            noise(at * 20_000 + 10_000)
        );
        append(&logs, "one", &[&call, &result]);
    }
    append(
        &logs,
        "one",
        &[
            "assistant [{\"type\":\"tool_use\",\"id\":\"last\",\"name\":\"Bash\",\"input\":{\"command\":\"ls\"}}]",
        ],
    );
    let memory = open_store(&logs);
    import(&logs, &memory);
    let (folder, fresh) = (logs.path("tables"), logs.path("fresh"));
    export_all(&memory, &folder);
    let before = table_texts(&folder);
    damage_first_block(&logs);
    append(&logs, "one", &["user \"thanks\""]);
    import(&logs, &memory);
    for attempt in 0..2 {
        let report = export_all(&memory, &folder);
        assert_eq!(report.files_written, 4, "attempt {attempt}");
        assert_eq!(report.sessions_written, 1, "attempt {attempt}");
        assert_eq!(report.damage.len(), 1, "{:?}", report.damage);
        let after = table_texts(&folder);
        assert_eq!(after["events"].len(), before["events"].len() + 1);
        // Lines behind the damage cannot be counted.
        let is_kept = |row: &String| {
            let (known, _) = row.split_once(", source_line").unwrap();
            after["events"]
                .iter()
                .any(|row| row.starts_with(known) && row.ends_with("damaged: false}"))
        };
        assert!(before["events"].iter().all(is_kept));
        assert!(after["tool_calls"] == before["tool_calls"]);
    }
    // Nobody else has it.
    export_all(&memory, &fresh);
    let texts = table_texts(&fresh);
    assert_eq!(texts["events"].len(), before["events"].len() + 1);
    assert_eq!(texts["tool_calls"].len(), before["tool_calls"].len());
    assert!(texts["tool_calls"] != before["tool_calls"]);
}

#[test]
fn usage_of_damaged_events_counts_once_beside_an_unknown_session() {
    let logs = Logs::generate(0);
    for id in ["gone", "one"] {
        logs.add_session(id, "2026-03-04", 3);
    }
    let folder = logs.path("tables");
    export_all(&logs.memory(), &folder);
    assert_eq!(table_rows(&folder, Table::Usage).len(), 6);
    std::fs::remove_file(logs.path(CLAUDE_FOLDER).join("gone.jsonl")).unwrap();
    let memory = open_store(&logs);
    import(&logs, &memory);
    damage_first_block(&logs);
    append(&logs, "one", &["user \"thanks\""]);
    import(&logs, &memory);
    let report = export_all(&memory, &folder);
    assert_eq!(report.damage.len(), 1, "{:?}", report.damage);
    assert_eq!(table_rows(&folder, Table::Usage).len(), 6);
    assert_eq!(table_rows(&folder, Table::Events).len(), 9);
}
