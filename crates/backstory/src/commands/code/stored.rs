//! Source files as they were, out of stored snapshots.

use std::path::{Path, PathBuf};

use backstory_event::TimeMs;
use backstory_memory::Memory;
use backstory_memory::code::{SnapshotSource, SourceOutline, StoredFiles};

use super::shown;
use crate::error::{Error, ErrorKind};
use crate::naming::cite_turn;
use crate::output::{DIM, local_time};
use crate::printer::print_stderr;
use crate::setting::Setting;

/// So many files are named where it is not clear which is meant.
const MAX_CANDIDATES: usize = 5;

/// Returns the memory, to ask it for a file that is not on this disk.
pub(super) fn memory_of(setting: &Setting, path: &Path) -> Result<Memory, Error> {
    setting.memory().map_err(|_| {
        let message = format!(
            "{} is not on this disk, and nothing was imported yet",
            path.display()
        );
        Error::new(ErrorKind::NotFound, message)
            .hint("`backstory sweep` imports sessions from your agents' logs")
    })
}

/// Returns the folder of a project that is named by its folder or by its name in the store.
pub(super) fn project_folder(setting: &Setting, project: &Path) -> Result<PathBuf, Error> {
    if project.is_dir() {
        return Ok(project.to_path_buf());
    }
    let memory = memory_of(setting, project)?;
    let name = project.to_string_lossy();
    match &memory.code().projects_named(&name)?[..] {
        [] => Err(Error::new(
            ErrorKind::NotFound,
            format!("no session of a project {name:?} is stored"),
        )
        .hint("`backstory sessions` lists the projects of sessions")),
        [only] => Ok(only.clone()),
        several => Err(ambiguous(project, several, "projects")),
    }
}

/// Returns a source file or those of a folder as they were at a time, by default as they were last seen.
pub(super) fn stored_files(
    memory: &Memory,
    path: &Path,
    until: Option<TimeMs>,
    since: Option<TimeMs>,
) -> Result<StoredFiles, Error> {
    let absolute = std::env::current_dir()?.join(path);
    let mut stored = memory.code().outlines(&absolute, until, since)?;
    if stored.files.is_empty() && stored.missing.is_empty() && path.is_relative() {
        let known = memory.code().paths_ending_with(path)?;
        match &known[..] {
            [] => {}
            [only] => stored = memory.code().outlines(only, until, since)?,
            several => return Err(ambiguous(path, several, "files or folders")),
        }
    }
    if !stored.files.is_empty() {
        return Ok(stored);
    }
    let typed = path.display();
    let until_text = until.map_or(String::new(), |until| {
        format!(" at or before {}", local_time(Some(until)))
    });
    let message = match &stored.missing[..] {
        [] if path.is_dir() => format!("no snapshot of any file in {typed}"),
        [] => format!("no file {typed} on this disk or in any snapshot"),
        [only] => match only.gone_at {
            Some(at) => format!(
                "{typed} was deleted or moved away on {}",
                local_time(Some(at))
            ),
            None => format!("no snapshot of {typed}{until_text}"),
        },
        several => format!(
            "no snapshot of {} files in {typed}{until_text}",
            several.len()
        ),
    };
    let error = Error::new(ErrorKind::NotFound, message);
    Err(match (stored.missing.is_empty(), until) {
        (true, _) => error.hints([
            "`backstory changes` lists the files that agents changed".to_string(),
            "--project NAME looks in another project".to_string(),
        ]),
        (_, Some(_)) => error.hint(format!(
            "`backstory changes --file {typed}` lists when agents changed it; without --at the last snapshot is shown"
        )),
        (_, None) => error.hint("use --at with an earlier date"),
    })
}

fn ambiguous(path: &Path, known: &[PathBuf], what: &str) -> Error {
    let message = format!("{} could be any of {} {what}", path.display(), known.len());
    let named = known.iter().take(MAX_CANDIDATES);
    Error::new(ErrorKind::NotFound, message).hints(named.map(|path| path.display().to_string()))
}

/// Says of each file which snapshot is shown, on standard error.
pub(super) fn tell_snapshots<'f>(
    memory: Option<&Memory>,
    files: impl IntoIterator<Item = &'f SourceOutline>,
) {
    for file in files {
        if let Some(snapshot) = &file.snapshot {
            let SnapshotSource { session, turn, .. } = snapshot;
            let turn = memory.map_or_else(String::new, |memory| {
                cite_turn(memory, &session.agent, &session.session, *turn)
            });
            print_stderr(format_args!(
                "{DIM}{}: snapshot of {} ({turn}){DIM:#}",
                shown(&file.path),
                local_time(snapshot.at)
            ));
        }
    }
}
