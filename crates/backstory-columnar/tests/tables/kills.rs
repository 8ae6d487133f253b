//! Kills while a folder is written: every part that is there is whole, no row is there twice, and the next export completes it.

use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use backstory_columnar::{Table, inspect_folder};
use backstory_memory::{ImportOptions, Sources, read_logs};

use crate::support::{Logs, all_sessions, export_all, number, table_rows, table_texts, text};

const FOLDER: &str = "BACKSTORY_TEST_KILLED_FOLDER";

/// Exports, when a test started it to kill it.
#[test]
fn export_until_killed() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let folder = Path::new(&folder);
    let options = ImportOptions::new(Sources::paths([folder.join("home")]));
    let memory = read_logs(&folder.join("tmp"), None, &options, &mut |_| {}).unwrap();
    println!("export begins");
    export_all(&memory, &folder.join("tables"));
}

#[test]
fn kills_leave_whole_parts() {
    let logs = Logs::generate(0);
    let days: Vec<String> = (1..=12).map(|day| format!("2026-03-{day:02}")).collect();
    for day in &days {
        logs.add_session(&format!("session-{day}"), day, 40);
    }
    let folder = logs.path("tables");
    let kills: usize =
        std::env::var("BACKSTORY_TEST_KILLS").map_or(20, |kills| kills.parse().unwrap());
    let mut rows_before = 0;
    for round in 0..kills {
        for day in &days {
            logs.add_session(&format!("session-{day}"), day, 41 + round);
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kills::export_until_killed", "--nocapture"])
            .env(FOLDER, logs.folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut lines = std::io::BufRead::lines(output).map_while(Result::ok);
        assert!(lines.any(|line| line.contains("export begins")));
        std::thread::sleep(Duration::from_millis(round as u64 * 7 % 150));
        child.kill().unwrap();
        child.wait().unwrap();
        if !folder.join("events").is_dir() {
            continue;
        }
        if inspect_folder(&folder).failed.is_empty() {
            let rows = table_rows(&folder, Table::Events);
            let places: HashSet<_> = rows
                .iter()
                .map(|row| (text(row, "session"), number(row, "seq")))
                .collect();
            assert_eq!(places.len(), rows.len());
            assert!(
                rows.len() >= rows_before,
                "rows of an earlier export are gone"
            );
            rows_before = rows.len();
        } else {
            assert!(
                Table::ALL
                    .iter()
                    .all(|table| table_rows(&folder, *table).is_empty())
            );
        }
    }
    let memory = logs.memory();
    export_all(&memory, &folder);
    let fresh = logs.path("fresh");
    export_all(&memory, &fresh);
    assert_eq!(table_texts(&folder), table_texts(&fresh));
    assert_eq!(
        table_rows(&folder, Table::Sessions).len(),
        all_sessions(&memory).len()
    );
}
