//! `convert`, `export` and `inspect`.

use std::io::Write;
use std::path::{Path, PathBuf};

use backstory_columnar::{
    ExportReport, Message, SessionFile, SessionSummary, TokenUsage, export_file, export_folder,
    unpack_logs,
};
use backstory_memory::{
    Memory, Problem, ProvidedLog, SessionFilter, SessionRow, SweepOptions, TemporaryFolder, TimeMs,
    read_logs,
};
use serde_json::{Map, Value, json};

use super::sessions::session_filter;
use super::show::print_body;
use super::sweep;
use crate::cli::{
    ColumnarFormat, ConvertArgs, ExportArgs, InspectArgs, OnOff, OutputArgs, TailArgs,
};
use crate::config::Redact;
use crate::error::{Error, ErrorKind};
use crate::output::{
    BOLD, DIM, counted, harmless, local_time, one_line, print_json, print_table, progress_bar,
    short_bytes, stdout, table, warn,
};
use crate::setting::Setting;

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
    let report = target.write(&logs, &sessions)?;
    tell_problems(&read.problems);
    if read.skipped_records > 0 {
        warn(&format!(
            "{} could not be read and are not in the file",
            counted(read.skipped_records, "record")
        ));
    }
    print_report(&target, &report, arguments.json)
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
    let report = target.write(&memory, &sessions)?;
    print_report(&target, &report, arguments.json)
}

/// Where and how columnar files are written.
enum Target {
    H5File(PathBuf),
    H5Folder(PathBuf),
}

impl Target {
    fn of(output: &OutputArgs) -> Result<Self, Error> {
        let path = output.output.clone();
        let extension = path.extension().and_then(|extension| extension.to_str());
        match (extension, output.format) {
            (Some("h5" | "hdf5"), _) if !path.is_dir() => Ok(Target::H5File(path)),
            (None, ColumnarFormat::H5) if !path.is_file() => Ok(Target::H5Folder(path)),
            (Some(_), ColumnarFormat::H5) if path.is_dir() => Ok(Target::H5Folder(path)),
            _ => Err(
                Error::usage(format!("{} is no file that can be written", path.display()))
                    .hint("give FILE.h5, FILE.parquet or a folder to -o"),
            ),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Target::H5File(path) | Target::H5Folder(path) => path,
        }
    }

    fn write(&self, memory: &Memory, sessions: &[SessionRow]) -> Result<ExportReport, Error> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let bar = progress_bar("{msg} [{bar:30}] {pos}/{len} sessions, {eta} left");
        bar.set_length(sessions.len() as u64);
        let progress = |done: u64| bar.set_position(done);
        let report = match self {
            Target::H5File(path) => export_file(memory, sessions, path, threads, &progress),
            Target::H5Folder(path) => export_folder(memory, sessions, path, threads, &progress),
        };
        bar.finish_and_clear();
        Ok(report?)
    }
}

fn tell_problems(problems: &[Problem]) {
    for problem in problems {
        warn(&format!("{}: {}", problem.path.display(), problem.reason));
    }
}

fn print_report(target: &Target, report: &ExportReport, as_json: bool) -> Result<(), Error> {
    for (session, reason) in &report.failed {
        warn(&format!("{session}: {reason}"));
    }
    if as_json {
        let failed: Vec<Value> = (report.failed.iter())
            .map(|(session, reason)| json!({"session": session, "reason": reason}))
            .collect();
        print_json(&json!({
            "output": target.path(),
            "written": report.written,
            "unchanged": report.unchanged,
            "messages": report.messages,
            "tool_calls": report.tool_calls,
            "bytes": report.bytes,
            "failed": failed,
        }))?;
    } else {
        let mut out = stdout();
        writeln!(
            out,
            "{}: {} written, {} unchanged, {}, {}, {}",
            target.path().display(),
            counted(report.written, "session"),
            report.unchanged,
            counted(report.messages, "message"),
            counted(report.tool_calls, "tool call"),
            short_bytes(report.bytes),
        )?;
        out.flush()?;
    }
    match report.failed.is_empty() {
        true => Ok(()),
        false => Err(Error::silent()),
    }
}

pub(super) fn inspect(arguments: &InspectArgs) -> Result<(), Error> {
    let file = SessionFile::open(&arguments.path)?;
    let sessions = file.sessions()?;
    if arguments.json {
        let mut listed = Map::new();
        for session in &sessions {
            listed.insert(session.id.clone(), summary_json(session));
        }
        return print_json(&json!({
            "schema_version": 1,
            "source": file.source()?,
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
    let files = paths.iter().filter_map(|path| session_file(path.to_str()?));
    let mut unpacked = UnpackedLogs::default();
    for path in files {
        let folder = match &mut unpacked._folder {
            Some(folder) => folder,
            none => none.insert(TemporaryFolder::create(&std::env::temp_dir())?),
        };
        let folder = folder.path().join(unpacked.logs.len().to_string());
        std::fs::create_dir(&folder)?;
        let (logs, without) = unpack_logs(path, &folder)?;
        for session in without {
            warn(&format!(
                "{}: session {session} has no log to import",
                path.display()
            ));
        }
        unpacked.logs.extend(logs);
    }
    Ok(unpacked)
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
    for id in file.session_ids()? {
        let created_at = file.session(&id)?.attributes()?.created_at;
        if newest.as_ref().is_none_or(|(at, _)| created_at >= *at) {
            newest = Some((created_at, id));
        }
    }
    let none = || Error::new(ErrorKind::NotFound, "the file has no session");
    newest.map(|(_, id)| id).ok_or_else(none)
}
