//! Logs to export, and reading tables back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use backstory_agents::sample;
use backstory_columnar::{Table, TableOptions, TableReport, export_tables};
use backstory_memory::{
    ImportOptions, LogMemory, Memory, SessionFilter, SessionRow, Sources, TimeMs, read_logs,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use tempfile::TempDir;

/// Long after all sample sessions.
pub(crate) const NOW: TimeMs = TimeMs::new(1_900_000_000_000);

/// Logs in a folder, which can grow.
pub(crate) struct Logs {
    pub(crate) folder: TempDir,
}

impl Logs {
    /// About so many bytes of logs of all agents.
    pub(crate) fn generate(bytes: u64) -> Self {
        let folder = TempDir::new().unwrap();
        for file in sample::logs(7, bytes) {
            let path = folder.path().join("home").join(&file.path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &file.bytes).unwrap();
        }
        std::fs::create_dir(folder.path().join("tmp")).unwrap();
        Logs { folder }
    }

    /// A log of Claude Code: a prompt and an answer.
    pub(crate) fn add_session(&self, id: &str, day: &str, answers: usize) {
        let folder = self
            .folder
            .path()
            .join("home/.claude/projects/-home-ada-shop");
        std::fs::create_dir_all(&folder).unwrap();
        let mut log = format!(
            r#"{{"type":"user","uuid":"{id}-0","parentUuid":null,"sessionId":"{id}","cwd":"/home/ada/shop","gitBranch":"main","version":"2.0.1","timestamp":"{day}T10:00:00.000Z","message":{{"role":"user","content":"Why is the basket empty?"}}}}"#
        );
        for number in 1..=answers {
            let before = number - 1;
            log += &format!(
                "\n{{\"type\":\"assistant\",\"uuid\":\"{id}-{number}\",\"parentUuid\":\"{id}-{before}\",\"sessionId\":\"{id}\",\"cwd\":\"/home/ada/shop\",\"timestamp\":\"{day}T10:00:{:02}.000Z\",\"message\":{{\"id\":\"msg-{id}-{number}\",\"role\":\"assistant\",\"model\":\"claude-opus-4-6\",\"content\":[{{\"type\":\"text\",\"text\":\"Answer {number}\"}}],\"usage\":{{\"input_tokens\":10,\"output_tokens\":{number},\"cache_read_input_tokens\":100,\"cache_creation_input_tokens\":5}}}}}}",
                number % 60,
            );
        }
        std::fs::write(folder.join(format!("{id}.jsonl")), log + "\n").unwrap();
    }

    pub(crate) fn memory(&self) -> LogMemory {
        let options = ImportOptions::new(Sources::paths([self.folder.path().join("home")]));
        read_logs(&self.folder.path().join("tmp"), None, &options, &mut |_| {}).unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

pub(crate) fn all_sessions(memory: &Memory) -> Vec<SessionRow> {
    memory.sessions().list(&SessionFilter::default()).unwrap()
}

pub(crate) fn all_options() -> TableOptions {
    TableOptions {
        threads: 2,
        with_unlisted_usage: true,
        ..TableOptions::new(NOW)
    }
}

pub(crate) fn export_all(memory: &Memory, folder: &Path) -> TableReport {
    export_tables(
        memory,
        &all_sessions(memory),
        folder,
        &all_options(),
        &mut |_| {},
    )
    .unwrap()
}

/// All parts of a table.
pub(crate) fn parts(folder: &Path, table: Table) -> Vec<PathBuf> {
    let mut parts = Vec::new();
    for month in std::fs::read_dir(folder.join(table.name()))
        .into_iter()
        .flatten()
    {
        for part in std::fs::read_dir(month.unwrap().path()).unwrap() {
            let path = part.unwrap().path();
            if path
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("part-")
            {
                parts.push(path);
            }
        }
    }
    parts.sort();
    parts
}

/// Rows of a file.
pub(crate) fn rows_of(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    reader
        .get_row_iter(None)
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

/// Rows of a table of a folder.
pub(crate) fn table_rows(folder: &Path, table: Table) -> Vec<Row> {
    parts(folder, table)
        .iter()
        .flat_map(|part| rows_of(part))
        .collect()
}

/// All tables of a folder as text, sorted.
pub(crate) fn table_texts(folder: &Path) -> BTreeMap<&'static str, Vec<String>> {
    let texts = Table::ALL.map(|table| {
        let mut rows: Vec<String> = table_rows(folder, table)
            .iter()
            .map(|row| format!("{row}"))
            .collect();
        rows.sort();
        (table.name(), rows)
    });
    texts.into_iter().collect()
}

pub(crate) fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter()
        .find(|(column, _)| *column == name)
        .unwrap()
        .1
}

pub(crate) fn number(row: &Row, name: &str) -> Option<i64> {
    match field(row, name) {
        Field::Null => None,
        Field::Long(number) | Field::TimestampMillis(number) => Some(*number),
        other => panic!("{name} is {other:?}"),
    }
}

pub(crate) fn text(row: &Row, name: &str) -> Option<String> {
    match field(row, name) {
        Field::Null => None,
        Field::Str(text) => Some(text.clone()),
        other => panic!("{name} is {other:?}"),
    }
}
