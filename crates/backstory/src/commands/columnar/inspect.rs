//! `inspect`.

use std::io::Write;
use std::path::Path;

use backstory_columnar::{
    FolderSummary, SessionFile, SessionTotals, Table, inspect_folder, inspect_table,
};
use serde_json::{Map, json};

use super::session_file::{find_id, lower_extension, session_files};
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
    let tables = match path.is_dir() {
        true => inspect_folder(path)?,
        false => FolderSummary::default(),
    };
    if path.is_dir() && files.is_empty() {
        return match tables.tables.is_empty() {
            true => Err(Error::new(
                ErrorKind::NotFound,
                format!("{} has neither HDF5 files nor tables", path.display()),
            )
            .hint("`backstory convert` and `backstory export` write them")),
            false if arguments.json => print_json(&tables),
            false => print_tables(&tables),
        };
    }
    if is_table {
        return inspect_one_table(path, arguments.json);
    }
    let mut sessions = Vec::new();
    let mut source = String::new();
    let mut repeats_usage = false;
    for path in if files.is_empty() {
        vec![path.clone()]
    } else {
        files
    } {
        let file = SessionFile::open(&path)?;
        match &arguments.session {
            Some(prefix) => sessions.push(file.session(&find_id(&file, prefix)?)?.summary()?),
            None => sessions.extend(file.sessions()?),
        }
        source = file.source()?;
        repeats_usage |= file.repeats_usage()?;
    }
    if arguments.json {
        let mut listed = Map::new();
        for session in &sessions {
            listed.insert(session.id.clone(), json!(session));
        }
        let mut answer = json!({
            "schema_version": 1,
            "source": source,
            "sessions": listed,
            "totals": SessionTotals::of_sessions(&sessions),
        });
        if !tables.tables.is_empty() {
            answer["tables"] = json!(tables.tables);
        }
        return print_json(&answer);
    }
    let (shown, left_out) = session_table(&sessions, terminal_width());
    let mut out = stdout();
    print_table(&mut out, &shown)?;
    out.flush()?;
    if !tables.tables.is_empty() {
        writeln!(out)?;
        print_tables(&tables)?;
    }
    if repeats_usage {
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
    let name = file.table.map_or("not a table of ours", Table::name);
    writeln!(
        out,
        "{name}: {}, {}, {}",
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
