//! `inspect`.

use std::io::Write;
use std::path::Path;

use backstory_columnar::{
    self as columnar, FolderSummary, SessionFile, SessionSummary, SessionTotals, Table,
    inspect_folder, inspect_table,
};
use backstory_memory::Problem;
use serde_json::{Map, Value, json};

use super::session_file::{UnreadFiles, find_id, lower_extension, session_files};
use super::session_table::session_table;
use crate::cli::InspectArgs;
use crate::error::{Error, ErrorKind};
use crate::output::{
    counted, one_line, print_json, print_table, short_bytes, stdout, table, talk, terminal_width,
};

pub(in crate::commands) fn inspect(arguments: &InspectArgs) -> Result<(), Error> {
    let path = &arguments.path;
    let is_table = lower_extension(path).as_deref() == Some("parquet");
    let files = session_files(path);
    if arguments.session.is_some() && (path.is_dir() || is_table) {
        return Err(Error::usage("SESSION is only for HDF5 files")
            .hint("give FILE.h5 and SESSION, or a path alone"));
    }
    if is_table && !path.is_dir() {
        return inspect_one_table(path, arguments.json);
    }
    let mut unread = UnreadFiles::default();
    let tables = match path.is_dir() {
        true => read_tables(path, &mut unread),
        false => FolderSummary::default(),
    };
    let has_nothing = files.is_empty() && tables.tables.is_empty() && unread.problems.is_empty();
    if path.is_dir() && has_nothing {
        let message = format!("{} has neither HDF5 files nor tables", path.display());
        return Err(Error::new(ErrorKind::NotFound, message)
            .hint("`backstory convert` and `backstory export` write them"));
    }
    let files = match files.is_empty() && !path.is_dir() {
        true => vec![path.clone()],
        false => files,
    };
    let mut shown = ShownSessions::default();
    for path in &files {
        if let Some(prefix) = &arguments.session {
            let file = SessionFile::open(path)?;
            let id = find_id(&file, prefix)?;
            shown.add_sessions(&file, |file| Ok(vec![file.session(&id)?.summary()?]))?;
        } else if let Err(error) = SessionFile::open(path)
            .and_then(|file| shown.add_sessions(&file, SessionFile::sessions))
        {
            unread.add_file(path, error);
        }
    }
    let problems = unread.into_problems(shown.files > 0 || !tables.tables.is_empty())?;
    match (files.is_empty(), arguments.json) {
        (true, true) => {
            let mut answer = json!(tables);
            add_problems(&mut answer, &problems);
            print_json(&answer)
        }
        (true, false) => print_tables(&tables),
        (false, _) => print_sessions(&shown, &tables, &problems, arguments.json),
    }?;
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Error::silent()),
    }
}

/// Returns the tables in a folder, as far as they can be read.
fn read_tables(folder: &Path, unread: &mut UnreadFiles) -> FolderSummary {
    let tables = inspect_folder(folder);
    for (path, reason) in &tables.failed {
        unread.add_problem(path, reason);
    }
    tables
}

fn add_problems(answer: &mut Value, problems: &[Problem]) {
    if !problems.is_empty() {
        answer["problems"] = json!(problems);
    }
}

/// Sessions of the files that could be read.
#[derive(Default)]
struct ShownSessions {
    files: usize,
    /// Different sources of the files.
    sources: Vec<String>,
    repeats_usage: bool,
    sessions: Vec<SessionSummary>,
    /// Sessions by id; by file and id, if another file has the same id.
    by_id: Map<String, Value>,
}

impl ShownSessions {
    fn add_sessions(
        &mut self,
        file: &SessionFile,
        read: impl FnOnce(&SessionFile) -> Result<Vec<SessionSummary>, columnar::Error>,
    ) -> Result<(), columnar::Error> {
        let sessions = read(file)?;
        self.repeats_usage |= file.repeats_usage()?;
        let source = file.source()?;
        if !self.sources.contains(&source) {
            self.sources.push(source);
        }
        let file_name = file.path().file_name().unwrap_or_default();
        for session in &sessions {
            let mut key = session.id.clone();
            // No id has a slash.
            if self.by_id.contains_key(&key) {
                key = format!("{}/{key}", file_name.to_string_lossy());
            }
            self.by_id.insert(key, json!(session));
        }
        self.sessions.extend(sessions);
        self.files += 1;
        Ok(())
    }
}

fn print_sessions(
    shown: &ShownSessions,
    tables: &FolderSummary,
    problems: &[Problem],
    as_json: bool,
) -> Result<(), Error> {
    let sessions = &shown.sessions;
    if as_json {
        let mut answer = json!({
            "schema_version": 1,
            "source": shown.sources.join(", "),
            "sessions": shown.by_id,
            "totals": SessionTotals::of_sessions(sessions),
        });
        if !tables.tables.is_empty() {
            answer["tables"] = json!(tables.tables);
        }
        add_problems(&mut answer, problems);
        return print_json(&answer);
    }
    let (lines, left_out) = session_table(sessions, terminal_width());
    let mut out = stdout();
    print_table(&mut out, &lines)?;
    out.flush()?;
    if !tables.tables.is_empty() {
        writeln!(out)?;
        print_tables(tables)?;
    }
    if shown.repeats_usage {
        talk(
            "this file repeats an answer's tokens in each of its rows; `backstory sweep` counts them once",
        );
    }
    if !left_out.is_empty() {
        let columns = left_out.join(", ");
        talk(&format!(
            "too narrow for {columns}: `--json` has everything"
        ));
    }
    Ok(())
}

fn print_tables(folder: &FolderSummary) -> Result<(), Error> {
    let mut columns = table(&["table", "months", "files", "sessions", "rows", "size"]);
    columns.align_numbers();
    for table in &folder.tables {
        columns.add_row([
            table.table.name().to_string(),
            table.months.len().to_string(),
            table.files.to_string(),
            table.sessions.to_string(),
            table.rows.to_string(),
            short_bytes(table.bytes),
        ]);
    }
    let mut out = stdout();
    print_table(&mut out, &columns)?;
    Ok(out.flush()?)
}

fn inspect_one_table(path: &Path, as_json: bool) -> Result<(), Error> {
    let file = inspect_table(path)?;
    if as_json {
        return print_json(&file);
    }
    let mut out = stdout();
    let name = file.table.map_or("not written by Backstory", Table::name);
    let sessions = file.sessions.map(|count| counted(count, "session"));
    writeln!(
        out,
        "{name}: {}{}, {}, {}",
        sessions.map_or(String::new(), |sessions| format!("{sessions}, ")),
        counted(file.rows, "row"),
        counted(file.row_groups.len() as u64, "row group"),
        short_bytes(file.bytes),
    )?;
    let mut columns = table(&["column", "type", "size", "uncompressed"]);
    columns.align_numbers();
    for column in &file.columns {
        columns.add_row([
            one_line(&column.name),
            one_line(&column.type_name),
            short_bytes(column.bytes),
            short_bytes(column.uncompressed_bytes),
        ]);
    }
    print_table(&mut out, &columns)?;
    Ok(out.flush()?)
}
