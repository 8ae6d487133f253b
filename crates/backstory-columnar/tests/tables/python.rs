//! The examples of `docs/columnar.md`, run by a Python with h5py, DuckDB and polars.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use backstory_columnar::{
    ExportOptions, SessionColumns, Table, WriteOptions, export_file, write_sessions,
};
use backstory_memory::{EventRange, UsageBy};
use jiff::tz::TimeZone;

use crate::document::document_path;
use crate::support::{Logs, all_sessions, export_all};

/// Runs a program in a folder; `None` when there is no Python for it.
fn run_python(folder: &Path, program: &str) -> Option<String> {
    let Some(python) = std::env::var_os("BACKSTORY_TEST_PYTHON") else {
        println!(
            "skipped: BACKSTORY_TEST_PYTHON does not name a python with h5py, duckdb and polars"
        );
        return None;
    };
    let run = Command::new(python)
        .args(["-c", program])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{program}\n{}",
        String::from_utf8_lossy(&run.stderr)
    );
    Some(String::from_utf8(run.stdout).unwrap())
}

/// The Python block below a heading of the document.
fn document_block(heading: &str) -> String {
    let document = std::fs::read_to_string(document_path()).unwrap();
    let section = document
        .split(&format!("\n### {heading}\n"))
        .nth(1)
        .unwrap();
    let block = section.split("```python\n").nth(1).unwrap();
    block.split("```").next().unwrap().to_string()
}

fn last_line(output: &str) -> &str {
    output.trim_end().lines().last().unwrap()
}

#[test]
fn examples_of_the_document_give_the_sums_of_usage() {
    let logs = Logs::generate(1_500_000);
    let memory = logs.memory();
    export_all(&memory, &logs.path("tables"));
    let usage = memory
        .usage()
        .table(UsageBy::Model, &TimeZone::UTC, None)
        .unwrap()
        .totals;
    let totals = [
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.reasoning,
        usage.total(),
    ];
    let expected = totals.map(|total| total.to_string()).join(" ");
    let options = ExportOptions {
        threads: 2,
        redactor: Some(memory.store_redactor().unwrap()),
        embedder: None,
    };
    let file = logs.path("all.h5");
    export_file(&memory, &all_sessions(&memory), &file, &options, &|_| {}).unwrap();
    // The last session has no rows.
    let empty = SessionColumns {
        id: "~".into(),
        ..SessionColumns::default()
    };
    write_sessions(&file, "test", [Ok(empty)], &WriteOptions::default()).unwrap();
    let columns = [
        usage.input,
        usage.output,
        usage.cache_write,
        usage.cache_read,
    ];
    let columns = columns.map(|total| total.to_string()).join(" ");
    let program = document_block("h5py") + "\nprint(*totals)\n";
    let Some(output) = run_python(logs.folder.path(), &program) else {
        return;
    };
    assert_eq!(last_line(&output), columns, "h5py");
    for heading in ["DuckDB", "polars"] {
        let program = document_block(heading) + "\nprint(*totals)\n";
        let Some(output) = run_python(logs.folder.path(), &program) else {
            return;
        };
        assert_eq!(last_line(&output), expected, "{heading}");
    }
}

const COUNT_ROWS: &str = r#"
import json, duckdb, polars as pl
counts = {}
for table in ["sessions", "events", "tool_calls", "usage"]:
    files = f"tables/{table}/*/*.parquet"
    rows = duckdb.sql(f"FROM read_parquet('{files}', hive_partitioning = true)")
    frame = pl.scan_parquet(files, hive_partitioning=True).collect()
    height = duckdb.sql(f"SELECT count(*) FROM '{files}'").fetchall()[0][0]
    assert height == frame.height, table
    assert rows.columns == frame.columns, (rows.columns, frame.columns)
    types = [str(type) for type in rows.types]
    counts[table] = [frame.height, dict(zip(rows.columns, types))]
    # Every value is decoded, and both decode the same.
    for name in frame.columns:
        column = duckdb.sql(f"SELECT count({name}) FROM read_parquet('{files}', hive_partitioning = true)")
        assert column.fetchall()[0][0] == frame[name].count(), (table, name)
    if "text" in frame.columns:
        length = duckdb.sql(f"SELECT sum(strlen(text)) FROM '{files}'").fetchall()[0][0]
        assert length == frame["text"].str.len_bytes().sum()
keys = {"model": "coalesce(model, 'unknown')", "session": "session", "project": "coalesce(project, 'unknown')"}
for name, key in keys.items():
    sums = duckdb.sql(f"SELECT {key} AS key, sum(total) FROM 'tables/usage/*/*.parquet' GROUP BY key").fetchall()
    counts[name] = {key: int(total) for key, total in sums}
print(json.dumps(counts))
"#;

#[test]
fn duckdb_and_polars_read_all_tables() {
    let logs = Logs::generate(1_500_000);
    let memory = logs.memory();
    export_all(&memory, &logs.path("tables"));
    let Some(output) = run_python(logs.folder.path(), COUNT_ROWS) else {
        return;
    };
    let counts: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(last_line(&output)).unwrap();
    let sessions = all_sessions(&memory);
    let events = sessions.iter().map(|row| {
        let session = memory.sessions().open(row.clone());
        session.events(EventRange::All).unwrap().count()
    });
    assert_eq!(counts["sessions"][0], sessions.len());
    assert_eq!(counts["events"][0], events.sum::<usize>());
    for table in Table::ALL {
        let types = &counts[table.name()][1];
        for column in table.columns() {
            let name = column
                .kind
                .sql_name()
                .replace("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE");
            assert_eq!(types[column.name], name, "{}.{}", table.name(), column.name);
        }
    }
    for (by, name) in [
        (UsageBy::Model, "model"),
        (UsageBy::Session, "session"),
        (UsageBy::Project, "project"),
    ] {
        let table = memory.usage().table(by, &TimeZone::UTC, None).unwrap();
        let expected: BTreeMap<String, u64> = table
            .entries
            .into_iter()
            .map(|entry| (entry.key, entry.usage.total()))
            .collect();
        assert_eq!(counts[name], serde_json::json!(expected), "{name}");
    }
}
