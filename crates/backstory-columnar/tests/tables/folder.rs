//! Values of the tables, and exporting again.

use std::collections::BTreeMap;
use std::path::Path;

use backstory_columnar::{
    Error, Table, TableOptions, export_table, export_tables, inspect_folder, inspect_table,
};
use backstory_memory::{EventRange, Memory, SessionRow, Usage, UsageBy};
use jiff::tz::TimeZone;
use parquet::record::Field;

use crate::support::{
    Logs, NOW, all_options, all_sessions, export_all, field, number, parts, rows_of, table_rows,
    table_texts, text,
};

fn sum_of(rows: &[parquet::record::Row], name: &str) -> i64 {
    rows.iter().filter_map(|row| number(row, name)).sum()
}

#[test]
fn tables_have_what_the_library_knows() {
    let logs = Logs::generate(2_000_000);
    let memory = logs.memory();
    let folder = logs.path("tables");
    let report = export_all(&memory, &folder);
    let sessions = all_sessions(&memory);
    assert_eq!(report.sessions_written, sessions.len() as u64);
    assert_eq!(table_rows(&folder, Table::Sessions).len(), sessions.len());

    let rows = table_rows(&folder, Table::Events);
    let by_place: BTreeMap<_, _> = rows
        .iter()
        .map(|row| ((text(row, "session"), number(row, "seq")), row))
        .collect();
    assert_eq!(by_place.len(), rows.len());
    let (mut events, mut calls, mut unanswered) = (0, 0, 0);
    for session in &sessions {
        let handle = memory.sessions().open(session.clone());
        let mut open = std::collections::HashSet::new();
        for event in handle.events(EventRange::All).unwrap() {
            let event = event.unwrap();
            let row = by_place[&(
                Some(session.session.clone()),
                Some(event.seq.count() as i64),
            )];
            assert_eq!(text(row, "text").as_deref(), Some(event.text.as_str()));
            assert_eq!(text(row, "kind").as_deref(), Some(&*event.kind));
            assert_eq!(text(row, "tool"), event.tool);
            assert_eq!(text(row, "model"), event.model);
            assert_eq!(text(row, "uuid"), event.uuid);
            assert_eq!(text(row, "arguments"), event.arguments);
            assert_eq!(field(row, "error"), &Field::Bool(event.error));
            assert_eq!(
                number(row, "source_line"),
                event.source_line.map(|line| line as i64)
            );
            let at = event
                .timestamp
                .map(|at| at.parse::<jiff::Timestamp>().unwrap().as_millisecond());
            assert_eq!(number(row, "timestamp"), at);
            let Field::ListInternal(files) = field(row, "files") else {
                panic!("files are no list")
            };
            assert_eq!(files.elements().len(), event.files.len());
            if event.kind == "tool_call" {
                calls += 1;
                open.insert(event.seq);
            } else if event.kind == "tool_result"
                && !event.call.is_some_and(|call| open.remove(&call))
            {
                calls += 1;
            }
            events += 1;
        }
        unanswered += open.len();
    }
    assert_eq!(events, rows.len());

    let rows = table_rows(&folder, Table::ToolCalls);
    assert_eq!(rows.len(), calls);
    let without_result = rows
        .iter()
        .filter(|row| number(row, "result_seq").is_none());
    assert_eq!(without_result.count(), unanswered);
}

#[test]
fn sums_of_usage_are_those_of_the_library() {
    let logs = Logs::generate(2_000_000);
    logs.add_session("small", "2026-03-04", 3);
    let memory = logs.memory();
    let folder = logs.path("tables");
    export_all(&memory, &folder);
    let rows = table_rows(&folder, Table::Usage);
    let totals = memory
        .usage()
        .table(UsageBy::Model, &TimeZone::UTC, None)
        .unwrap()
        .totals;
    for (name, total) in columns_of(&totals) {
        assert_eq!(sum_of(&rows, name), total, "{name}");
    }
    for (by, column, unknown) in [
        (UsageBy::Model, "model", Some("unknown")),
        (UsageBy::Session, "session", None),
        (UsageBy::Project, "project", Some("unknown")),
    ] {
        let mut sums: BTreeMap<String, i64> = BTreeMap::new();
        for row in &rows {
            let key = text(row, column).or(unknown.map(str::to_string)).unwrap();
            *sums.entry(key).or_default() += number(row, "total").unwrap();
        }
        let table = memory.usage().table(by, &TimeZone::UTC, None).unwrap();
        let expected: BTreeMap<String, i64> = table
            .entries
            .into_iter()
            .map(|entry| (entry.key, entry.usage.total() as i64))
            .collect();
        assert_eq!(sums, expected, "{column}");
    }
    let mut days: BTreeMap<String, i64> = BTreeMap::new();
    for row in &rows {
        let day = match field(row, "day") {
            Field::Date(day) => jiff::Timestamp::from_second(i64::from(*day) * 86_400)
                .unwrap()
                .strftime("%F")
                .to_string(),
            _ => "unknown".to_string(),
        };
        *days.entry(day).or_default() += number(row, "total").unwrap();
    }
    let table = memory
        .usage()
        .table(UsageBy::Day, &TimeZone::UTC, None)
        .unwrap();
    let expected: BTreeMap<String, i64> = table
        .entries
        .into_iter()
        .map(|entry| (entry.key, entry.usage.total() as i64))
        .collect();
    assert_eq!(days, expected);
}

fn columns_of(usage: &Usage) -> [(&'static str, i64); 9] {
    [
        ("input", usage.input),
        ("output", usage.output),
        ("cache_read", usage.cache_read),
        ("cache_write", usage.cache_write),
        ("cache_write_5m", usage.cache_write_5m()),
        ("cache_write_1h", usage.cache_write_1h),
        ("reasoning", usage.reasoning),
        ("total", usage.total()),
        ("web_searches", usage.web_searches),
    ]
    .map(|(name, count)| (name, count as i64))
}

#[test]
fn only_days_that_changed_are_written() {
    let logs = Logs::generate(0);
    for (id, day) in [
        ("one", "2026-03-04"),
        ("two", "2026-03-05"),
        ("three", "2026-04-01"),
    ] {
        logs.add_session(id, day, 2);
    }
    let folder = logs.path("tables");
    let memory = logs.memory();
    let first = export_all(&memory, &folder);
    assert_eq!((first.files_written, first.files_unchanged), (12, 0));
    assert_eq!(export_all(&memory, &folder).files_written, 0);
    // Another store of the same logs is no change, either.
    let again = export_all(&logs.memory(), &folder);
    assert_eq!((again.files_written, again.files_unchanged), (0, 12));

    logs.add_session("two", "2026-03-05", 5);
    logs.add_session("four", "2026-04-01", 1);
    logs.add_session("five", "2026-05-01", 1);
    let memory = logs.memory();
    let grown = export_all(&memory, &folder);
    assert_eq!(
        (
            grown.files_written,
            grown.files_unchanged,
            grown.sessions_written
        ),
        (12, 4, 4)
    );
    let fresh = logs.path("fresh");
    export_all(&memory, &fresh);
    assert_eq!(table_texts(&folder), table_texts(&fresh));

    let summary = inspect_folder(&folder);
    let rows: Vec<(Table, u64)> = summary
        .tables
        .iter()
        .map(|table| (table.table, table.rows))
        .collect();
    let expected = [
        (Table::Sessions, 5),
        (Table::Events, 16),
        (Table::ToolCalls, 0),
        (Table::Usage, 11),
    ];
    assert_eq!(rows, expected);
    assert_eq!(summary.tables[0].months, ["2026-03", "2026-04", "2026-05"]);
}

#[test]
fn sessions_of_a_part_that_are_not_exported_again_stay() {
    let logs = Logs::generate(0);
    logs.add_session("one", "2026-03-04", 2);
    logs.add_session("two", "2026-03-04", 2);
    let folder = logs.path("tables");
    let memory = logs.memory();
    let only = |memory: &Memory, id: &str| -> Vec<SessionRow> {
        all_sessions(memory)
            .into_iter()
            .filter(|row| row.session == id)
            .collect()
    };
    let options = TableOptions::new(NOW);
    for id in ["one", "two"] {
        export_tables(&memory, &only(&memory, id), &folder, &options, &mut |_| {}).unwrap();
    }
    assert_eq!(table_rows(&folder, Table::Sessions).len(), 2);
    // A session that the memory does not have any more stays, beside one that has grown.
    let before = table_texts(&folder);
    std::fs::remove_file(logs.path("home/.claude/projects/-home-ada-shop/one.jsonl")).unwrap();
    logs.add_session("two", "2026-03-04", 3);
    let memory = logs.memory();
    export_tables(
        &memory,
        &all_sessions(&memory),
        &folder,
        &options,
        &mut |_| {},
    )
    .unwrap();
    let after = table_texts(&folder);
    let of_session = |texts: &BTreeMap<&str, Vec<String>>, id: &str| {
        let id = format!("session: \"{id}\"");
        let rows = texts.values().flatten().filter(|row| row.contains(&id));
        rows.cloned().collect::<Vec<String>>()
    };
    assert_eq!(of_session(&before, "one").len(), 6);
    assert_eq!(of_session(&after, "one"), of_session(&before, "one"));
    let fresh = logs.path("fresh");
    export_all(&memory, &fresh);
    assert_eq!(
        of_session(&after, "two"),
        of_session(&table_texts(&fresh), "two")
    );
    assert_eq!(table_rows(&folder, Table::Sessions).len(), 2);
}

#[test]
fn a_file_has_one_table_and_keeps_its_sessions() {
    let logs = Logs::generate(0);
    logs.add_session("one", "2026-03-04", 2);
    logs.add_session("two", "2026-05-04", 2);
    let memory = logs.memory();
    let sessions = all_sessions(&memory);
    let file = logs.path("events.parquet");
    let write = |sessions: &[SessionRow], table: Table| {
        export_table(&memory, sessions, table, &file, &all_options(), &mut |_| {})
    };
    assert_eq!(
        write(&sessions[..1], Table::Events).unwrap().rows_written,
        3
    );
    assert_eq!(write(&sessions, Table::Events).unwrap().rows_written, 6);
    assert_eq!(write(&sessions, Table::Events).unwrap().files_unchanged, 1);
    assert_eq!(
        write(&sessions[..1], Table::Events)
            .unwrap()
            .files_unchanged,
        1
    );
    assert!(matches!(
        write(&sessions, Table::Usage),
        Err(Error::BadTarget { .. })
    ));
    assert_eq!(rows_of(&file).len(), 6);
    let summary = inspect_table(&file).unwrap();
    assert_eq!(
        (summary.table, summary.sessions, summary.rows),
        (Some(Table::Events), Some(2), 6)
    );
    let names: Vec<&str> = summary
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    let expected: Vec<&str> = Table::Events
        .columns()
        .iter()
        .map(|column| column.name)
        .collect();
    assert_eq!(names, expected);
    // Nothing else is left beside it.
    let left: Vec<_> = std::fs::read_dir(logs.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");

    std::fs::write(&file, b"a letter").unwrap();
    assert!(matches!(
        write(&sessions, Table::Events),
        Err(Error::Damaged { .. })
    ));
    assert_eq!(std::fs::read(&file).unwrap(), b"a letter");
}

/// Another memory, as a later `convert` of other logs has it.
fn other_logs() -> Logs {
    let other = Logs::generate(0);
    other.add_session("three", "2026-03-04", 1);
    other
}

#[test]
fn sessions_of_other_logs_are_added_in_a_file_beside() {
    let logs = Logs::generate(2_000_000);
    logs.add_session("one", "2026-03-04", 2);
    logs.add_session("two", "2026-03-05", 2);
    let folder = logs.path("tables");
    export_all(&logs.memory(), &folder);
    let before = table_texts(&folder);
    let part = folder.join("events/month=2026-03/part-2026-03-04.parquet");
    let bytes = std::fs::read(&part).unwrap();
    let other = other_logs();
    for (answers, written) in [(1, 4), (1, 0), (5, 4), (5, 0)] {
        other.add_session("three", "2026-03-04", answers);
        let report = export_all(&other.memory(), &folder);
        assert_eq!(report.files_written, written, "{answers}");
        assert_eq!(std::fs::read(&part).unwrap(), bytes);
        assert!(part.with_file_name("part-2026-03-04-2.parquet").exists());
        let fresh = other.path("fresh");
        let _ = std::fs::remove_dir_all(&fresh);
        export_all(&other.memory(), &fresh);
        let mut expected = before.clone();
        for (table, rows) in table_texts(&fresh) {
            expected.entry(table).or_default().extend(rows);
        }
        expected.values_mut().for_each(|rows| rows.sort());
        assert_eq!(table_texts(&folder), expected, "{answers}");
    }
    // Nor do the first logs lose or double anything when they come again.
    logs.add_session("one", "2026-03-04", 4);
    export_all(&logs.memory(), &folder);
    assert_eq!(export_all(&logs.memory(), &folder).files_written, 0);
    let sessions = table_rows(&folder, Table::Sessions);
    assert_eq!(sessions.len(), before["sessions"].len() + 1);
}

#[test]
fn rows_of_unknown_sessions_are_copied_as_they_are() {
    for table in Table::ALL {
        let logs = Logs::generate(1_000_000);
        logs.add_session("one", "2026-03-04", 2);
        let file = logs.path("table.parquet");
        let memory = logs.memory();
        let write = |memory: &Memory| {
            let sessions = all_sessions(memory);
            export_table(memory, &sessions, table, &file, &all_options(), &mut |_| {})
        };
        write(&memory).unwrap();
        let texts = |file: &Path| -> Vec<String> {
            let rows = rows_of(file);
            let mut texts: Vec<String> = rows.iter().map(|row| format!("{row}")).collect();
            texts.sort();
            texts
        };
        let mut expected = texts(&file);
        let other = other_logs();
        let memory = other.memory();
        assert_eq!(write(&memory).unwrap().files_written, 1);
        let fresh = other.path("fresh.parquet");
        let sessions = all_sessions(&memory);
        export_table(
            &memory,
            &sessions,
            table,
            &fresh,
            &all_options(),
            &mut |_| {},
        )
        .unwrap();
        expected.extend(texts(&fresh));
        expected.sort();
        assert_eq!(texts(&file), expected);
        assert_eq!(write(&memory).unwrap().files_unchanged, 1);

        // Rows that are not as they were written are not decoded.
        let mut bytes = std::fs::read(&file).unwrap();
        bytes[40] ^= 1;
        std::fs::write(&file, &bytes).unwrap();
        other.add_session("three", "2026-03-04", 7);
        let error = write(&other.memory()).unwrap_err().to_string();
        assert!(error.contains("not those that were written"), "{error}");
        assert_eq!(std::fs::read(&file).unwrap(), bytes);
    }
}

/// Writes the table of sessions as `convert` does; returns the sessions that were left as they were, and the number of events of each.
fn convert_sessions(logs: &Logs, file: &Path) -> (Vec<String>, BTreeMap<String, i64>) {
    let memory = logs.memory();
    let options = TableOptions {
        preserve_missing_rows: true,
        ..all_options()
    };
    let report = export_table(
        &memory,
        &all_sessions(&memory),
        Table::Sessions,
        file,
        &options,
        &mut |_| {},
    );
    let rows = rows_of(file);
    let rows = rows.iter();
    let events = rows.map(|row| {
        (
            text(row, "session").unwrap(),
            number(row, "events").unwrap(),
        )
    });
    (report.unwrap().lost, events.collect())
}

#[test]
fn a_session_that_lost_events_keeps_its_row() {
    let (all, cut, middle) = (&[0, 1, 2, 3, 4, 5][..], &[0, 1, 2][..], &[0, 1, 5][..]);
    for left in [cut, middle] {
        let logs = Logs::generate(0);
        // Another session around the time of the one that loses events.
        logs.add_session("around", "2026-03-04", 9);
        logs.add_session("one", "2026-03-04", 5);
        let file = logs.path("sessions.parquet");
        let log = logs.path("home/.claude/projects/-home-ada-shop/one.jsonl");
        let whole = std::fs::read_to_string(&log).unwrap();
        for (lines, lost) in [(all, false), (left, true), (all, false)] {
            let kept = whole.lines().enumerate();
            let kept = kept.filter(|(number, _)| lines.contains(number));
            let kept: String = kept.map(|(_, line)| format!("{line}\n")).collect();
            std::fs::write(&log, kept).unwrap();
            let (found, events) = convert_sessions(&logs, &file);
            assert_eq!(found == ["one"], lost, "{left:?}: {found:?}");
            assert_eq!(events["one"], 6, "{left:?}");
        }
    }
}

#[test]
fn a_fork_gives_its_events_back_to_its_parent_in_the_table_of_sessions() {
    let logs = Logs::generate(0);
    logs.add_session("one", "2026-03-04", 5);
    let folder = logs.path("home/.claude/projects/-home-ada-shop");
    let whole = std::fs::read_to_string(folder.join("one.jsonl")).unwrap();
    let fork = whole.replace("\"sessionId\":\"one\"", "\"sessionId\":\"two\"");
    std::fs::write(folder.join("two.jsonl"), fork).unwrap();
    std::fs::remove_file(folder.join("one.jsonl")).unwrap();
    let file = logs.path("sessions.parquet");
    let (lost, events) = convert_sessions(&logs, &file);
    assert_eq!((lost.len(), events["two"]), (0, 6));
    let begun: String = whole
        .lines()
        .take(4)
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(folder.join("one.jsonl"), begun).unwrap();
    let (lost, events) = convert_sessions(&logs, &file);
    assert_eq!(lost, [""; 0]);
    assert_eq!(events.values().sum::<i64>(), 6, "{events:?}");
    assert_eq!(events.len(), 2);

    // Both had the history when they were written one by one.
    let [one, two] = ["one.jsonl", "two.jsonl"].map(|name| folder.join(name));
    let aside = logs.path("aside.jsonl");
    std::fs::remove_file(&file).unwrap();
    std::fs::rename(&one, &aside).unwrap();
    convert_sessions(&logs, &file);
    std::fs::rename(&aside, &one).unwrap();
    std::fs::rename(&two, &aside).unwrap();
    let (_, events) = convert_sessions(&logs, &file);
    assert_eq!((events["one"], events["two"]), (4, 6));
    std::fs::rename(&aside, &two).unwrap();
    let (lost, events) = convert_sessions(&logs, &file);
    assert_eq!(lost, [""; 0]);
    assert_eq!((events["one"], events["two"]), (4, 2));
}

#[test]
fn a_store_that_was_removed_is_an_error() {
    let logs = Logs::generate(0);
    let memory = Memory::open(&logs.path("none")).unwrap();
    std::fs::remove_dir_all(logs.path("none")).unwrap();
    let file = logs.path("events.parquet");
    let table = Table::Events;
    let written = export_table(&memory, &[], table, &file, &all_options(), &mut |_| {});
    assert!(matches!(written, Err(Error::NoStore)), "{written:?}");
}

#[test]
fn parts_of_a_folder_are_private() {
    let logs = Logs::generate(0);
    logs.add_session("one", "2026-03-04", 2);
    let folder = logs.path("tables");
    export_all(&logs.memory(), &folder);
    #[cfg(unix)]
    for part in parts(&folder, Table::Events) {
        use std::os::unix::fs::MetadataExt;
        assert_eq!(std::fs::metadata(part).unwrap().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_second_writer_waits_and_nothing_is_lost() {
    let logs = Logs::generate(0);
    let ids: Vec<String> = (0..6).map(|number| format!("session-{number}")).collect();
    for id in &ids {
        logs.add_session(id, "2026-03-04", 30);
    }
    let folder = logs.path("tables");
    let memory = logs.memory();
    std::thread::scope(|scope| {
        for id in &ids {
            let reader = memory.open_reader().unwrap().unwrap();
            let folder = &folder;
            scope.spawn(move || {
                let mut sessions = all_sessions(&reader);
                sessions.retain(|row| row.session == *id);
                let options = TableOptions::new(NOW);
                export_tables(&reader, &sessions, folder, &options, &mut |_| {}).unwrap();
            });
        }
    });
    assert_eq!(table_rows(&folder, Table::Sessions).len(), ids.len());
    assert_eq!(table_rows(&folder, Table::Events).len(), ids.len() * 31);
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_a_pipe_is_refused() {
    use std::os::unix::fs::symlink;
    let logs = Logs::generate(0);
    logs.add_session("one", "2026-03-04", 1);
    let memory = logs.memory();
    let write = |file: &std::path::Path| {
        let sessions = all_sessions(&memory);
        export_table(
            &memory,
            &sessions,
            Table::Events,
            file,
            &all_options(),
            &mut |_| {},
        )
    };
    let (file, link) = (logs.path("events.parquet"), logs.path("link.parquet"));
    write(&file).unwrap();
    symlink(&file, &link).unwrap();
    logs.add_session("one", "2026-03-04", 2);
    let memory = logs.memory();
    let sessions = all_sessions(&memory);
    export_table(
        &memory,
        &sessions,
        Table::Events,
        &link,
        &all_options(),
        &mut |_| {},
    )
    .unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(rows_of(&file).len(), 3);
    symlink(logs.path("none"), logs.path("dangling.parquet")).unwrap();
    let pipes = [
        logs.path("pipe.parquet"),
        logs.path(".a.parquet.backstory-lock"),
        logs.path(".b.parquet.backstory-new"),
    ];
    for pipe in &pipes {
        let made = std::process::Command::new("mkfifo").arg(pipe).status();
        assert!(made.unwrap().success());
    }
    for (name, reason) in [
        ("pipe.parquet", "not a regular file"),
        ("dangling.parquet", "symbolic link"),
        ("a.parquet", "not a regular file owned by you"),
        ("b.parquet", "not a regular file owned by you"),
    ] {
        let error = write(&logs.path(name)).unwrap_err().to_string();
        assert!(error.contains(reason), "{name}: {error}");
    }
    let error = inspect_table(&pipes[0]).unwrap_err().to_string();
    assert!(error.contains("not a regular file"), "{error}");
}
