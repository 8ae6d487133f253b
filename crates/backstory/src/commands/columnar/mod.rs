//! `convert` and `export`; `inspect`, and what other commands do with HDF5 files.

mod inspect;
mod session_file;
mod session_table;
mod short_ids;
mod tail;
mod target;

use std::path::PathBuf;

use backstory_columnar::ExportOptions;
use backstory_memory::{
    ImportOptions, Problem, Redactor, SessionFilter, StoreError, TextEmbedder, read_logs,
};

pub(super) use self::inspect::inspect;
use self::session_file::warn_of_problems;
pub(super) use self::session_file::{
    UnpackedFiles, check_no_file, session_file, session_files, unpack,
};
pub(super) use self::tail::tail;
use self::target::{Selection, Target, Written};
use super::sessions::session_filter;
use super::sweep;
use crate::cli::{ConvertArgs, ExportArgs, OnOff, OutputArgs};
use crate::config::Redact;
use crate::error::{Error, ErrorKind};
use crate::output::{counted, one_line, print_json, say, warn};
use crate::setting::Setting;

pub(super) fn convert(setting: &Setting, arguments: &ConvertArgs) -> Result<(), Error> {
    let target = Target::from_arguments(&arguments.output)?;
    let redact = match arguments.redact {
        Some(choice) => choice == OnOff::On,
        None => setting.config.redact == Redact::On,
    };
    let options = ImportOptions {
        redact,
        ..setting.import_options(&arguments.logs, arguments.agent.as_deref())
    };
    let bar = sweep::Bar::new();
    let temporary = std::env::temp_dir();
    let logs = read_logs(
        &temporary,
        Some(&setting.store),
        &options,
        &mut |progress| bar.show(progress),
    );
    bar.finish();
    let logs = logs.map_err(|error| {
        let is_full = matches!(error, backstory_memory::Error::Store(StoreError::Full));
        let hint = format!(
            "logs are read by way of {}: TMPDIR names another folder",
            temporary.display()
        );
        match &error {
            // The database is not that of a store.
            backstory_memory::Error::Store(StoreError::Database(source)) => {
                let message = format!("cannot write to {}: {source}", temporary.display());
                Error::new(ErrorKind::Environment, message).hint(hint)
            }
            _ => Error::from(error).hints(is_full.then_some(hint)),
        }
    })?;
    let read = logs.report();
    let typed = (&arguments.logs[..], arguments.agent.as_deref());
    let no_logs = sweep::find_no_logs(setting, None, read.discovered, typed)?;
    let mut problems = read.problems.clone();
    problems.extend(no_logs);
    problems.extend(named_session_files(&arguments.logs));
    warn_of_problems(&problems);
    let sessions = logs.sessions().list(&SessionFilter::default())?;
    if read.discovered == 0 || sessions.is_empty() {
        let is_columnar = arguments
            .logs
            .iter()
            .any(|path| !session_files(path).is_empty());
        let hint = match is_columnar {
            true => {
                "`backstory sweep FILE.h5` reads a columnar file back into a store; `backstory export` writes others from there"
            }
            false => {
                "name files or folders with logs, as in `backstory convert ~/.claude/projects -o all.h5`"
            }
        };
        return Err(Error::new(ErrorKind::NotFound, "no agent's log found").hint(hint));
    }
    let embedder = open_embedder(setting, &arguments.output)?;
    let options = export_options(logs.redactor(), embedder.as_ref());
    let mut written = target.write(&logs, &sessions, Selection::Logs, &options)?;
    let lost = written.problems.take().unwrap_or_default();
    warn_of_problems(&lost);
    problems.extend(lost);
    let has_problems = !problems.is_empty();
    written.problems = Some(problems);
    if read.skipped_records > 0 {
        warn(&format!(
            "{} could not be read and are not in the file",
            counted(read.skipped_records, "record")
        ));
    }
    print_written(&written, arguments.json)?;
    match has_problems {
        true => Err(Error::silent()),
        false => Ok(()),
    }
}

/// Returns the HDF5 files that were named in place of logs.
fn named_session_files(paths: &[PathBuf]) -> Vec<Problem> {
    let files = paths
        .iter()
        .filter(|path| session_files(path) == [(*path).clone()]);
    let problem = |path: &PathBuf| Problem {
        path: path.clone(),
        reason: "an HDF5 file holds no log; `backstory sweep` imports it into a store".to_string(),
    };
    files.map(problem).collect()
}

pub(super) fn export(setting: &Setting, arguments: &ExportArgs) -> Result<(), Error> {
    let target = Target::from_arguments(&arguments.output)?;
    let memory = setting.memory()?;
    let mut sessions = memory
        .sessions()
        .list(&session_filter(&arguments.filter)?)?;
    if !arguments.sessions.is_empty() {
        let mut named = Vec::new();
        for prefix in &arguments.sessions {
            named.push(memory.sessions().row(prefix)?.id);
        }
        sessions.retain(|session| named.contains(&session.id));
    }
    if sessions.is_empty() {
        return Err(Error::new(ErrorKind::NotFound, "no session matches")
            .hint("`backstory sessions --limit 0` lists all sessions"));
    }
    let embedder = open_embedder(setting, &arguments.output)?;
    let redactor = match setting.config.redact {
        Redact::On if memory.has_unredacted()? => {
            warn(
                "the store has sessions that were imported with redact = off: what is written may have secrets, and is marked redaction = off",
            );
            None
        }
        Redact::On => Some(memory.export_redactor()?),
        Redact::Off => None,
    };
    let options = export_options(redactor, embedder.as_ref());
    let selection = match arguments.sessions.is_empty() && arguments.filter.is_empty() {
        true => Selection::All,
        false => Selection::Some,
    };
    let written = target.write(&memory, &sessions, selection, &options)?;
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
        .and_then(|memory| Ok(memory.models().open_embedder(Some(model))?));
    match opened {
        // Nobody asked for it here.
        Err(_) if output.embed.is_none() => Ok(None),
        Err(error) if !setting.store.exists() => Err(error.hint(format!(
            "`backstory model pull {model}` downloads the model"
        ))),
        opened => opened.map(Some),
    }
}

fn export_options(
    redactor: Option<Redactor>,
    embedder: Option<&TextEmbedder>,
) -> ExportOptions<'_> {
    ExportOptions {
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        redactor,
        embedder,
    }
}

fn print_written(written: &Written, as_json: bool) -> Result<(), Error> {
    for failed in &written.failed {
        let session = failed.session.as_deref().unwrap_or("damaged store");
        warn(&format!("{}: {}", one_line(session), failed.reason));
    }
    if as_json {
        print_json(written)?;
    } else {
        say(&written.text)?;
    }
    match written.failed.is_empty() {
        true => Ok(()),
        false => Err(Error::silent()),
    }
}
