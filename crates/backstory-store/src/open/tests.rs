//! Stores of every schema that there ever was, opened by today's code.
//!
//! `tests/stores` has a stored copy of each, as SQL. `BLESS=1 cargo test -p backstory-store past_stores` writes those that are missing:
//! the copy before, with the migration applied, and a made-up row in each table that has none.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::types::Value;

use super::{MIGRATIONS, Store};
use crate::checksums::drop_outdated_sums;
use crate::events::EventRange;
use crate::schema;
use crate::sessions::SessionFilter;

fn copy_path(version: usize) -> PathBuf {
    let stores = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores");
    stores.join(format!("{version:04}.sql"))
}

/// Lays a stored copy out in a folder, and returns its database.
fn load_copy(version: usize, folder: &Path) -> Connection {
    let path = copy_path(version);
    let sql = std::fs::read_to_string(&path).unwrap_or_else(|_| {
        panic!(
            "{} is missing: BLESS=1 cargo test -p backstory-store past_stores",
            path.display()
        )
    });
    let connection = Connection::open(folder.join("backstory.db")).unwrap();
    let layout = "PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; BEGIN;";
    connection.execute_batch(layout).unwrap();
    connection.execute_batch(&sql).unwrap();
    connection.execute_batch("COMMIT").unwrap();
    let found = connection.pragma_query_value(None, "user_version", |row| row.get::<_, usize>(0));
    assert_eq!(found.unwrap(), version);
    connection
}

fn query(connection: &Connection, query: &str) -> Vec<Vec<Value>> {
    let mut statement = connection.prepare(query).unwrap();
    let width = statement.column_count();
    let rows = statement.query_map([], |row| (0..width).map(|column| row.get(column)).collect());
    rows.unwrap().map(Result::unwrap).collect()
}

fn texts(connection: &Connection, text_query: &str) -> Vec<String> {
    let rows = query(connection, text_query).into_iter();
    rows.map(|row| format!("{row:?}")).collect()
}

/// The rows of a table as far as it has these columns, in some order.
fn rows_of(connection: &Connection, table: &str, columns: &[String]) -> Vec<String> {
    let mut rows = texts(
        connection,
        &format!("SELECT {} FROM {table}", columns.join(", ")),
    );
    rows.sort();
    rows
}

/// The tables with their columns, in the order in which they were made.
fn tables(connection: &Connection) -> Vec<(String, Vec<String>)> {
    let mut tables: Vec<(String, Vec<String>)> = Vec::new();
    for (table, column) in schema::columns(connection).unwrap() {
        match tables.last_mut().filter(|(last, _)| *last == table) {
            Some((_, columns)) => columns.push(column),
            None => tables.push((table, vec![column])),
        }
    }
    tables
}

fn check_copy(version: usize) {
    let folder = tempfile::tempdir().unwrap();
    let copy = load_copy(version, folder.path());
    let before: Vec<_> = tables(&copy)
        .into_iter()
        .map(|(table, columns)| {
            let rows = rows_of(&copy, &table, &columns);
            assert!(!rows.is_empty(), "copy {version} has no row in {table}");
            (table, columns, rows)
        })
        .collect();
    drop(copy);
    let store = Store::open(folder.path()).unwrap();
    let opened = &store.connection;
    assert_eq!(store.version().unwrap(), MIGRATIONS.len() as i64);

    let fresh_folder = tempfile::tempdir().unwrap();
    let fresh = Store::open(fresh_folder.path()).unwrap();
    let schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name";
    assert_eq!(
        texts(opened, schema),
        texts(&fresh.connection, schema),
        "copy {version}"
    );

    let after = tables(opened);
    for (table, mut columns, mut rows) in before {
        let Some((_, kept)) = after.iter().find(|(name, _)| *name == table) else {
            continue;
        };
        if columns.iter().any(|column| !kept.contains(column)) {
            columns.retain(|column| kept.contains(column));
            let copy_folder = tempfile::tempdir().unwrap();
            rows = rows_of(&load_copy(version, copy_folder.path()), &table, &columns);
        }
        let found = rows_of(opened, &table, &columns);
        if table == "checksums" {
            // Those of rows that have more columns now are made again.
            assert!(found.iter().all(|row| rows.contains(row)), "{found:?}");
        } else {
            assert_eq!(found, rows, "{table} of copy {version}");
        }
    }
    check_answers(&store);
}

fn check_answers(store: &Store) {
    let health = store.thorough_health().unwrap();
    assert!(health.is_sound(), "{health:?}");
    let verified = store.verify_all().unwrap();
    assert!(verified.damage.is_empty(), "{:?}", verified.damage);
    let sessions = store.sessions(&SessionFilter::default()).unwrap();
    let rows = query(&store.connection, "SELECT id FROM sessions");
    assert_eq!(sessions.len(), rows.len());
    for session in sessions {
        let events = store.events(session.id, EventRange::All).unwrap();
        assert_eq!(
            events.len() as u64,
            session.events - session.evicted.count()
        );
        let mut bytes = store.bytes();
        for event in &events {
            bytes
                .read(
                    event.stream,
                    event.event.span.offset,
                    event.event.span.length,
                )
                .unwrap();
        }
        let digest = store.digest(session.id).unwrap();
        assert_eq!(digest.is_some(), session.outcome.is_some());
        let found = store.find_sessions(&session.session).unwrap();
        assert_eq!(found, [session]);
    }
    assert!(store.update_checksums().unwrap());
}

#[test]
fn past_stores_keep_what_they_had() {
    for version in 1..=MIGRATIONS.len() {
        if std::env::var_os("BLESS").is_some() && !copy_path(version).exists() {
            std::fs::write(copy_path(version), make_copy(version)).unwrap();
        }
        check_copy(version);
    }
}

/// The copy of a version, made from the one before.
fn make_copy(version: usize) -> String {
    let folder = tempfile::tempdir().unwrap();
    let connection = load_copy(version - 1, folder.path());
    let before = schema::columns(&connection).unwrap();
    connection.execute_batch(MIGRATIONS[version - 1]).unwrap();
    drop_outdated_sums(&connection, &before).unwrap();
    for (table, columns) in tables(&connection) {
        let any = format!("SELECT 1 FROM {table} LIMIT 1");
        if query(&connection, &any).is_empty() {
            make_up_row(&connection, &table, &columns);
        }
    }
    connection
        .pragma_update(None, "user_version", version)
        .unwrap();
    dump_copy(&connection, version)
}

/// Inserts a row of ones, which are also numbers of rows that other tables have.
fn make_up_row(connection: &Connection, table: &str, columns: &[String]) {
    let value = |column: &String| {
        let kind = format!("SELECT type FROM pragma_table_info('{table}') WHERE name = '{column}'");
        let kind = connection.query_row(&kind, [], |row| row.get::<_, String>(0));
        match kind.unwrap().as_str() {
            "TEXT" => "'one'",
            "BLOB" => "x'01'",
            "REAL" => "1.0",
            _ => "1",
        }
    };
    let values: Vec<&str> = columns.iter().map(value).collect();
    let (columns, values) = (columns.join(", "), values.join(", "));
    let insert = format!("INSERT INTO {table} ({columns}) VALUES ({values})");
    connection.execute(&insert, []).unwrap();
}

/// A whole database as SQL.
fn dump_copy(connection: &Connection, version: usize) -> String {
    let mut sql = format!("-- A store of schema {version}.\n");
    let schema = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid";
    for row in query(connection, schema) {
        sql.push_str(&format!("{};\n", text_of(&row[0])));
    }
    for (table, columns) in tables(connection) {
        let columns = columns.join(", ");
        let rows = query(connection, &format!("SELECT {columns} FROM {table}")).into_iter();
        let rows: Vec<String> = rows
            .map(|row| {
                let values: Vec<String> = row.iter().map(literal).collect();
                format!("({})", values.join(", "))
            })
            .collect();
        sql.push_str(&format!(
            "INSERT INTO {table} ({columns}) VALUES\n{};\n",
            rows.join(",\n")
        ));
    }
    sql + &format!("PRAGMA user_version = {version};\n")
}

fn text_of(value: &Value) -> &str {
    match value {
        Value::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => format!("{number:?}"),
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Blob(bytes) => {
            let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
            format!("x'{}'", digits.collect::<String>())
        }
    }
}

#[test]
fn a_copy_is_what_it_was_made_of() {
    let folder = tempfile::tempdir().unwrap();
    let version = MIGRATIONS.len();
    let connection = load_copy(version, folder.path());
    let stored = std::fs::read_to_string(copy_path(version)).unwrap();
    assert_eq!(dump_copy(&connection, version), stored);
}
