//! `convert`, `export` and `inspect`.

use std::io::Write;
use std::path::{Path, PathBuf};

use backstory_columnar::{
    ExportOptions, ExportReport, Message, SessionFile, SessionSummary, Table, TableOptions,
    TableProgress, TableReport, TokenUsage, export_file, export_folder, inspect_folder,
    inspect_table, is_in_use, unpack_logs, write_table, write_tables,
};
use backstory_memory::{
    Memory, Problem, ProvidedLog, SessionFilter, SessionRow, SweepOptions, TemporaryFolder,
    TextEmbedder, TimeMs, read_logs,
};
use serde_json::{Map, Value, json};

use super::sessions::session_filter;
use super::show::print_body;
use super::sweep;
use crate::cli::{
    ColumnarFormat, ConvertArgs, ExportArgs, InspectArgs, OnOff, OutputArgs, TableName, TailArgs,
};
use crate::config::Redact;
use crate::error::{Error, ErrorKind};
use crate::output::{
    BOLD, DIM, counted, harmless, local_time, one_line, print_json, print_table, progress_bar, say,
    short_bytes, stdout, table, warn,
};
use crate::setting::{Setting, now};

/// Bytes of memory that adding to a session takes for each byte of its logs. Measured: 4.1 with 200 MB, 4.7 with 50 MB.
const MEMORY_PER_LOG_BYTE: u64 = 5;

pub(super) fn convert(setting: &Setting, arguments: &ConvertArgs) -> Result<(), Error> {
    let target = Target::of(&arguments.output)?;
    let redact = match arguments.redact {
        Some(choice) => choice == OnOff::On,
        None => setting.config.redact == Redact::On,
    };
    let options = SweepOptions {
        redact,
        ..sweep::options(setting, &arguments.logs, arguments.agent.as_deref())
    };
    let bar = sweep::Bar::new();
    let logs = read_logs(&std::env::temp_dir(), &options, &mut |progress| {
        bar.show(progress);
    });
    bar.finish();
    let logs = logs?;
    let read = logs.report();
    let sessions = logs.sessions(&SessionFilter::default())?;
    if read.discovered == 0 || sessions.is_empty() {
        tell_problems(&read.problems);
        return Err(Error::new(ErrorKind::NotFound, "no agent's log is there")
            .hint("name files or folders with logs, as in `backstory convert ~/.claude/projects -o all.h5`"));
    }
    let embedder = open_embedder(setting, &arguments.output)?;
    let options = export_options(redact, embedder.as_ref());
    let written = target.write(&logs, &sessions, true, &options)?;
    tell_problems(&read.problems);
    if read.skipped_records > 0 {
        warn(&format!(
            "{} could not be read and are not in the file",
            counted(read.skipped_records, "record")
        ));
    }
    print_written(&written, arguments.json)
}

pub(super) fn export(setting: &Setting, arguments: &ExportArgs) -> Result<(), Error> {
    let target = Target::of(&arguments.output)?;
    let memory = setting.memory()?;
    let mut sessions = memory.sessions(&session_filter(&arguments.filter)?)?;
    if !arguments.sessions.is_empty() {
        let mut named = Vec::new();
        for prefix in &arguments.sessions {
            named.push(memory.session(prefix)?.id);
        }
        sessions.retain(|session| named.contains(&session.id));
    }
    if sessions.is_empty() {
        return Err(Error::new(ErrorKind::NotFound, "no session matches"));
    }
    let embedder = open_embedder(setting, &arguments.output)?;
    let redact = setting.config.redact == Redact::On;
    let options = export_options(redact, embedder.as_ref());
    let is_everything = arguments.sessions.is_empty() && arguments.filter.is_empty();
    let written = target.write(&memory, &sessions, is_everything, &options)?;
    print_written(&written, arguments.json)
}

/// Opens the model that was asked for, or the one in use, if there is one.
fn open_embedder(setting: &Setting, output: &OutputArgs) -> Result<Option<TextEmbedder>, Error> {
    let in_use = setting.config.model.as_deref().filter(|_| !output.no_embed);
    let Some(model) = output.embed.as_deref().or(in_use) else {
        return Ok(None);
    };
    let opened = setting
        .memory()
        .and_then(|memory| Ok(memory.open_embedder(Some(model))?));
    match opened {
        // Nobody asked for it here.
        Err(_) if output.embed.is_none() => Ok(None),
        opened => opened.map(Some),
    }
}

fn export_options(is_redacted: bool, embedder: Option<&TextEmbedder>) -> ExportOptions<'_> {
    ExportOptions {
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        is_redacted,
        embedder,
    }
}

/// Where and how columnar files are written.
enum Target {
    H5File(PathBuf),
    H5Folder(PathBuf),
    Table(PathBuf, Table),
    Tables(PathBuf),
}

/// What was written, as text and as JSON.
struct Written {
    text: String,
    json: Value,
    failed: Vec<(String, String)>,
}

impl Target {
    fn of(output: &OutputArgs) -> Result<Self, Error> {
        let path = output.output.clone();
        let extension = path.extension().and_then(|extension| extension.to_str());
        let extension = extension.filter(|_| !path.is_dir());
        let refuse = |message: String| {
            let hint = "give FILE.h5, FILE.parquet or a folder without a dot in its name to -o";
            Err(Error::usage(message).hint(hint))
        };
        let target = match (extension, output.format) {
            (Some("h5" | "hdf5"), None | Some(ColumnarFormat::H5)) => Target::H5File(path),
            (Some("parquet"), None | Some(ColumnarFormat::Parquet)) => {
                let table = output.table.unwrap_or(TableName::Events);
                return Ok(Target::Table(path, table.into()));
            }
            (Some("h5" | "hdf5" | "parquet"), Some(_)) => {
                return refuse(format!("{} is not of that --format", path.display()));
            }
            (None, None | Some(ColumnarFormat::H5)) if is_folder_name(&path) => {
                Target::H5Folder(path)
            }
            (None, Some(ColumnarFormat::Parquet)) if is_folder_name(&path) => Target::Tables(path),
            _ => return refuse(format!("{} is no name of a columnar file", path.display())),
        };
        match output.table {
            Some(_) => Err(Error::usage("--table is for FILE.parquet only")
                .hint("a folder with --format parquet has all tables")),
            None => Ok(target),
        }
    }

    fn write(
        &self,
        memory: &Memory,
        sessions: &[SessionRow],
        is_everything: bool,
        options: &ExportOptions<'_>,
    ) -> Result<Written, Error> {
        if let Target::H5File(path) = self
            && is_in_use(path)
        {
            warn(&format!(
                "waiting until no other program has {} open",
                path.display()
            ));
        }
        if let Target::H5File(_) | Target::H5Folder(_) = self {
            warn_of_memory(memory, sessions)?;
        }
        let bar = progress_bar("{msg} [{bar:30}] {pos}/{len} sessions, {eta} left");
        bar.set_length(sessions.len() as u64);
        let progress = |done: u64| bar.set_position(done);
        let mut table_progress = |progress: TableProgress| {
            bar.set_length(progress.sessions_total);
            bar.set_position(progress.sessions_written);
        };
        let tables = TableOptions {
            with_unlisted_usage: is_everything,
            ..TableOptions::new(now())
        };
        let written = match self {
            Target::H5File(path) => {
                export_file(memory, sessions, path, options, &progress).map(of_files(path))
            }
            Target::H5Folder(path) => {
                export_folder(memory, sessions, path, options, &progress).map(of_files(path))
            }
            Target::Table(path, table) => {
                write_table(memory, sessions, *table, path, &tables, &mut table_progress)
                    .map(of_tables(path))
            }
            Target::Tables(path) => {
                write_tables(memory, sessions, path, &tables, &mut table_progress)
                    .map(of_tables(path))
            }
        };
        bar.finish_and_clear();
        Ok(written?)
    }
}

/// Returns whether files can be written into a folder of this name.
fn is_folder_name(path: &Path) -> bool {
    !path.is_file() && path.as_os_str() != "-"
}

/// Says so if the largest session needs more than half of the machine's memory, as far as the system tells how much there is.
fn warn_of_memory(memory: &Memory, sessions: &[SessionRow]) -> Result<(), Error> {
    let Some(total) = total_memory() else {
        return Ok(());
    };
    let mut largest = 0;
    for row in sessions {
        let logs = memory.session_from_row(row.clone()).logs()?;
        largest = largest.max(logs.iter().map(|log| log.length).sum());
    }
    let needed = largest.saturating_mul(MEMORY_PER_LOG_BYTE);
    if needed > total / 2 {
        warn(&format!(
            "the largest session has logs of {} and takes about {} of memory, more than half of what there is",
            short_bytes(largest),
            short_bytes(needed)
        ));
    }
    Ok(())
}

fn total_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

fn of_files(path: &Path) -> impl FnOnce(ExportReport) -> Written + '_ {
    move |report| {
        let failed = report.failed.iter();
        let failed = failed.map(|(session, reason)| json!({"session": session, "reason": reason}));
        Written {
            text: format!(
                "{}: {} written, {} unchanged, {}, {}, {}",
                path.display(),
                counted(report.written, "session"),
                report.unchanged,
                counted(report.messages, "message"),
                counted(report.tool_calls, "tool call"),
                short_bytes(report.bytes),
            ),
            json: json!({
                "output": path,
                "written": report.written,
                "unchanged": report.unchanged,
                "messages": report.messages,
                "tool_calls": report.tool_calls,
                "bytes": report.bytes,
                "failed": failed.collect::<Vec<_>>(),
            }),
            failed: report.failed,
        }
    }
}

fn of_tables(path: &Path) -> impl FnOnce(TableReport) -> Written + '_ {
    move |report| {
        let damage = report.damage.iter();
        let damage = damage.map(|damage| ("damage".to_string(), damage.to_string()));
        Written {
            text: format!(
                "{}: {} written, {} unchanged, {}, {}, {}",
                path.display(),
                counted(report.files_written, "file"),
                report.files_unchanged,
                counted(report.sessions_written, "session"),
                counted(report.rows_written, "row"),
                short_bytes(report.bytes_written),
            ),
            json: json!({
                "output": path,
                "files_written": report.files_written,
                "files_unchanged": report.files_unchanged,
                "sessions_written": report.sessions_written,
                "rows_written": report.rows_written,
                "bytes_written": report.bytes_written,
            }),
            failed: damage.collect(),
        }
    }
}

fn tell_problems(problems: &[Problem]) {
    for problem in problems {
        warn(&format!("{}: {}", problem.path.display(), problem.reason));
    }
}

fn print_written(written: &Written, as_json: bool) -> Result<(), Error> {
    for (session, reason) in &written.failed {
        warn(&format!("{}: {reason}", one_line(session)));
    }
    if as_json {
        print_json(&written.json)?;
    } else {
        say(&written.text)?;
    }
    match written.failed.is_empty() {
        true => Ok(()),
        false => Err(Error::silent()),
    }
}

pub(super) fn inspect(arguments: &InspectArgs) -> Result<(), Error> {
    let path = &arguments.path;
    let extension = path.extension().and_then(|extension| extension.to_str());
    let files = session_files(path);
    if arguments.session.is_some() && (path.is_dir() || extension == Some("parquet")) {
        return Err(Error::usage(
            "a session is given, which only HDF5 files are asked for",
        ));
    }
    if path.is_dir() && files.is_empty() {
        return inspect_tables(path, arguments.json);
    }
    if extension == Some("parquet") {
        return inspect_one_table(path, arguments.json);
    }
    let mut sessions = Vec::new();
    let mut source = String::new();
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
    }
    if arguments.json {
        let mut listed = Map::new();
        for session in &sessions {
            listed.insert(session.id.clone(), summary_json(session));
        }
        return print_json(&json!({
            "schema_version": 1,
            "source": source,
            "sessions": listed,
        }));
    }
    let mut columns = table(&[
        "session",
        "agent",
        "messages",
        "calls",
        "model",
        "cwd",
        "branch",
        "version",
        "input",
        "output",
        "cache write",
        "cache read",
    ]);
    columns.align_numbers();
    for session in &sessions {
        let attributes = &session.attributes;
        let usage = &session.usage;
        columns.add_row(
            [
                one_line(&session.id),
                one_line(&attributes.agent),
                session.messages.to_string(),
                session.tool_calls.to_string(),
                one_line(&attributes.model),
                one_line(&attributes.cwd),
                one_line(&attributes.git_branch),
                one_line(&attributes.agent_version),
            ]
            .into_iter()
            .chain(token_columns(usage).map(|(_, tokens)| tokens.to_string())),
        );
    }
    let mut out = stdout();
    print_table(&mut out, &columns)?;
    Ok(out.flush()?)
}

fn inspect_tables(path: &Path, as_json: bool) -> Result<(), Error> {
    let folder = inspect_folder(path)?;
    if as_json {
        return print_json(&folder);
    }
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

fn token_columns(usage: &TokenUsage) -> [(&'static str, i64); 4] {
    [
        ("input_tokens", usage.input_tokens),
        ("output_tokens", usage.output_tokens),
        (
            "cache_creation_input_tokens",
            usage.cache_creation_input_tokens,
        ),
        ("cache_read_input_tokens", usage.cache_read_input_tokens),
    ]
}

fn summary_json(session: &SessionSummary) -> Value {
    let attributes = &session.attributes;
    let tokens: Map<String, Value> = token_columns(&session.usage)
        .into_iter()
        .map(|(name, tokens)| (name.to_string(), json!(tokens)))
        .collect();
    json!({
        "agent": attributes.agent,
        "messages": session.messages,
        "tool_calls": session.tool_calls,
        "artifacts": session.artifacts,
        "logs": session.logs,
        "model": attributes.model,
        "cwd": attributes.cwd,
        "git_branch": attributes.git_branch,
        "agent_version": attributes.agent_version,
        "permission_mode": attributes.permission_mode,
        "created_at": attributes.created_at,
        "summary": attributes.summary,
        "missing": attributes.missing,
        "tokens": tokens,
    })
}

/// Returns the HDF5 files that a path names: itself, or those in the folder.
pub(super) fn session_files(path: &Path) -> Vec<PathBuf> {
    let is_file = |path: &Path| path.to_str().and_then(session_file).is_some();
    if is_file(path) {
        return vec![path.to_path_buf()];
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| is_file(path));
    files.sort();
    files
}

/// Returns the path of an HDF5 file, if this text is one.
pub(super) fn session_file(text: &str) -> Option<&Path> {
    let path = Path::new(text);
    let has_name = |extension| matches!(extension, "h5" | "hdf5");
    let extension = path.extension().and_then(|extension| extension.to_str());
    (extension.is_some_and(has_name) && path.is_file()).then_some(path)
}

/// Logs out of HDF5 files, in a folder that goes when this is dropped.
#[derive(Default)]
pub(super) struct UnpackedLogs {
    pub(super) logs: Vec<ProvidedLog>,
    _folder: Option<TemporaryFolder>,
}

/// Unpacks the logs of those paths that are HDF5 files.
pub(super) fn unpack(paths: &[PathBuf]) -> Result<UnpackedLogs, Error> {
    let files = paths.iter().flat_map(|path| session_files(path));
    let mut unpacked = UnpackedLogs::default();
    for path in files {
        let folder = match &mut unpacked._folder {
            Some(folder) => folder,
            none => none.insert(TemporaryFolder::create(&std::env::temp_dir())?),
        };
        let folder = folder.path().join(unpacked.logs.len().to_string());
        std::fs::create_dir(&folder)?;
        let found = unpack_logs(&path, &folder)?;
        for (session, reason) in found.failed {
            warn(&format!(
                "{}: session {} is not imported: {reason}",
                path.display(),
                one_line(&session)
            ));
        }
        unpacked.logs.extend(found.logs);
    }
    Ok(unpacked)
}

/// Refuses to take the name of a columnar file for a session.
pub(super) fn check_no_file(arguments: &TailArgs) -> Result<(), Error> {
    let path = Path::new(&arguments.session);
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension {
        Some("h5" | "hdf5") => Err(Error::new(
            ErrorKind::NotFound,
            format!("there is no file {}", path.display()),
        )),
        Some("parquet") => Err(Error::usage(format!("{} is not HDF5", path.display()))
            .hint("DuckDB and polars read Parquet, see docs/columnar.md")),
        _ if arguments.session_in_file.is_some() => Err(Error::usage("two sessions are given")
            .hint("give one session, or FILE.h5 and a session in it")),
        _ => Ok(()),
    }
}

/// Prints the end of a session in a file.
pub(super) fn tail(path: &Path, arguments: &TailArgs) -> Result<(), Error> {
    let file = SessionFile::open(path)?;
    let id = match &arguments.session_in_file {
        Some(prefix) => find_id(&file, prefix)?,
        None => newest_id(&file)?,
    };
    let session = file.session(&id)?;
    let messages = session.tail(arguments.count)?;
    if arguments.json {
        let messages: Vec<Value> = messages.iter().map(message_json).collect();
        return print_json(&json!({ "session": id, "messages": messages }));
    }
    let mut out = stdout();
    writeln!(out, "{BOLD}{}{BOLD:#}", one_line(&id))?;
    for message in &messages {
        let time = TimeMs::new((message.timestamp * 1000.0) as i64);
        let model = match message.model.as_str() {
            "" => String::new(),
            model => format!(" {}", one_line(model)),
        };
        writeln!(
            out,
            "\n{BOLD}{}{BOLD:#}  {DIM}{}{model}{DIM:#}",
            one_line(&message.role),
            local_time((message.timestamp > 0.0).then_some(time)),
        )?;
        let text = if message.text.is_empty() {
            &message.json
        } else {
            &message.text
        };
        print_body(&mut out, &harmless(text), arguments.full)?;
    }
    Ok(out.flush()?)
}

fn message_json(message: &Message) -> Value {
    let tokens: Map<String, Value> = token_columns(&message.usage)
        .into_iter()
        .map(|(name, tokens)| (name.to_string(), json!(tokens)))
        .collect();
    json!({
        "uuid": message.uuid,
        "parent_uuid": message.parent_uuid,
        "type": message.kind,
        "role": message.role,
        "model": message.model,
        "timestamp": message.timestamp,
        "usage": tokens,
        "text": message.text,
        "content": serde_json::from_str(&message.json).unwrap_or_else(|_| json!(message.json)),
    })
}

/// Finds the session of a file whose id begins with this text.
fn find_id(file: &SessionFile, prefix: &str) -> Result<String, Error> {
    let mut ids = file.session_ids()?;
    if ids.iter().any(|id| id == prefix) {
        return Ok(prefix.to_string());
    }
    ids.retain(|id| id.starts_with(prefix));
    match (ids.pop(), ids.is_empty()) {
        (Some(id), true) => Ok(id),
        (Some(_), false) => Err(Error::usage(format!(
            "several sessions of the file begin with {prefix:?}"
        ))
        .hint("write more of the id")),
        (None, _) => Err(Error::new(
            ErrorKind::NotFound,
            format!("no session of the file begins with {prefix:?}"),
        )
        .hint(format!(
            "`backstory inspect {}` lists them",
            file.path().display()
        ))),
    }
}

/// Returns the session of a file that began last.
fn newest_id(file: &SessionFile) -> Result<String, Error> {
    let mut newest: Option<(f64, String)> = None;
    for session in file.all_sessions()? {
        let created_at = session.attributes()?.created_at;
        if newest.as_ref().is_none_or(|(at, _)| created_at >= *at) {
            newest = Some((created_at, session.id().to_string()));
        }
    }
    let none = || Error::new(ErrorKind::NotFound, "the file has no session");
    newest.map(|(_, id)| id).ok_or_else(none)
}
