//! HDF5 files in place of sessions and logs.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use backstory_columnar::{self as columnar, SessionFile, link_name, unpack_logs};
use backstory_memory::{Problem, ProvidedLog, TemporaryFolder};

use super::short_ids::is_short_for;
use crate::cli::TailArgs;
use crate::error::{Error, ErrorKind};
use crate::output::{one_line, warn};

/// Returns the HDF5 files that a path names: itself, or those in the folder. Whoever reads a link to nowhere or a pipe among these gets an error.
pub(in crate::commands) fn session_files(path: &Path) -> Vec<PathBuf> {
    if has_extension(path) && path.is_file() || begins_as_hdf5(path) {
        return vec![path.to_path_buf()];
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| has_extension(path) && !path.is_dir());
    files.sort();
    files
}

/// Returns the path of an HDF5 file, if this text is one.
pub(in crate::commands) fn session_file(text: &str) -> Option<&Path> {
    let path = Path::new(text);
    (has_extension(path) && path.is_file() || begins_as_hdf5(path)).then_some(path)
}

/// Returns whether a path has the extension of HDF5 files.
fn has_extension(path: &Path) -> bool {
    matches!(lower_extension(path).as_deref(), Some("h5" | "hdf5"))
}

/// Returns the extension of a path in lower case.
pub(super) fn lower_extension(path: &Path) -> Option<String> {
    let extension = path.extension()?.to_str()?;
    Some(extension.to_ascii_lowercase())
}

/// Returns whether a path names a file that begins as HDF5 does, whatever its name.
fn begins_as_hdf5(path: &Path) -> bool {
    let mut signature = [0; 8];
    // A pipe would wait for a writer.
    path.is_file()
        && File::open(path)
            .and_then(|mut file| file.read_exact(&mut signature))
            .is_ok()
        && signature == *b"\x89HDF\r\n\x1a\n"
}

/// Logs out of HDF5 files, in a folder that goes when this is dropped.
#[derive(Default)]
pub(in crate::commands) struct UnpackedFiles {
    pub(in crate::commands) logs: Vec<ProvidedLog>,
    /// Files, and sessions of files, that could not be read.
    pub(in crate::commands) problems: Vec<Problem>,
    _folder: Option<TemporaryFolder>,
}

impl UnpackedFiles {
    /// Returns whether anything in the files could not be read, or was not imported.
    pub(in crate::commands) fn has_problems(&self, imported: &[Problem]) -> bool {
        let paths = self.logs.iter().map(ProvidedLog::stored_path);
        let paths: HashSet<PathBuf> = paths.map(PathBuf::from).collect();
        !self.problems.is_empty() || imported.iter().any(|problem| paths.contains(&problem.path))
    }
}

/// Unpacks the logs of those paths that are HDF5 files; those without any of the agent are problems if all are. A file that cannot be read is a problem; an error if nothing else was named.
pub(in crate::commands) fn unpack(
    paths: &[PathBuf],
    agent: Option<&str>,
) -> Result<UnpackedFiles, Error> {
    let named: Vec<Vec<PathBuf>> = paths.iter().map(|path| session_files(path)).collect();
    let mut has_others = named.iter().any(Vec::is_empty);
    let mut unpacked = UnpackedFiles::default();
    let mut unread = UnreadFiles::default();
    let mut without_logs = Vec::new();
    for (number, path) in named.into_iter().flatten().enumerate() {
        let folder = match &mut unpacked._folder {
            Some(folder) => folder,
            none => none.insert(TemporaryFolder::create(&std::env::temp_dir())?),
        };
        let folder = folder.path().join(number.to_string());
        std::fs::create_dir(&folder)?;
        let found = match unpack_logs(&path, &folder) {
            Ok(found) => found,
            Err(columnar::Error::Io { path, source }) if path.starts_with(&folder) => {
                return Err(columnar::Error::Io { path, source }.into());
            }
            Err(error) => {
                unread.add_file(&path, error);
                continue;
            }
        };
        has_others = true;
        let has_failed = !found.failed.is_empty();
        for (session, reason) in found.failed {
            unread.problems.push(Problem {
                path: path.clone(),
                reason: format!("session {} is not imported: {reason}", one_line(&session)),
            });
        }
        if !has_failed {
            without_logs.push(path);
        }
        unpacked.logs.extend(found.logs);
    }
    let is_wanted = |log: &ProvidedLog| agent.is_none_or(|agent| log.agent == agent);
    if !unpacked.logs.iter().any(is_wanted) {
        let reason = match agent {
            Some(agent) => format!("no session of {agent} is in the file"),
            None => "no session is in the file".to_string(),
        };
        for path in &without_logs {
            unread.add_problem(path, &reason);
        }
    }
    unpacked.problems = unread.into_problems(has_others)?;
    Ok(unpacked)
}

/// Files, and parts of files, that could not be read.
#[derive(Default)]
pub(super) struct UnreadFiles {
    pub(super) problems: Vec<Problem>,
    first_error: Option<columnar::Error>,
}

impl UnreadFiles {
    pub(super) fn add_file(&mut self, path: &Path, error: columnar::Error) {
        self.add_problem(path, &error.to_string());
        self.first_error.get_or_insert(error);
    }

    pub(super) fn add_problem(&mut self, path: &Path, reason: &str) {
        let prefix = format!("{}: ", path.display());
        self.problems.push(Problem {
            path: path.to_path_buf(),
            reason: reason.strip_prefix(&prefix).unwrap_or(reason).to_string(),
        });
    }

    /// Warns of the files; the first error is returned if nothing else could be read, either.
    pub(super) fn into_problems(self, has_others: bool) -> Result<Vec<Problem>, Error> {
        match self.first_error.filter(|_| !has_others) {
            Some(error) => {
                // The error names the first one.
                warn_of_problems(self.problems.get(1..).unwrap_or_default());
                Err(error.into())
            }
            None => {
                warn_of_problems(&self.problems);
                Ok(self.problems)
            }
        }
    }
}

pub(super) fn warn_of_problems(problems: &[Problem]) {
    for problem in problems {
        warn(&format!("{}: {}", problem.path.display(), problem.reason));
    }
}

/// Refuses to take the name of a columnar file for a session.
pub(in crate::commands) fn check_no_file(arguments: &TailArgs) -> Result<(), Error> {
    let path = Path::new(&arguments.session);
    let extension = lower_extension(path);
    // A folder may have a name that ids of sessions begin with.
    let is_id = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    let is_path = !arguments.session.bytes().all(is_id);
    match extension.as_deref() {
        _ if is_path && path.is_dir() => Err(Error::usage(format!(
            "{} is a folder, and tail reads one HDF5 file",
            path.display()
        ))
        .hint("`backstory inspect FOLDER` lists the sessions of its HDF5 files")),
        Some("h5" | "hdf5") if path.exists() => Err(Error::usage(format!(
            "{} is not a regular file",
            path.display()
        ))),
        Some("h5" | "hdf5") => Err(Error::new(
            ErrorKind::NotFound,
            format!("there is no file {}", path.display()),
        )),
        Some("parquet") => Err(Error::usage(format!("{} is not HDF5", path.display()))
            .hint("DuckDB and polars read Parquet, see docs/columnar.md")),
        _ if is_path && path.exists() => Err(Error::usage(format!(
            "{} is not HDF5, and tail reads one HDF5 file",
            path.display()
        ))
        .hint("`backstory convert` makes one out of logs")),
        _ if arguments.session_in_file.is_some() => Err(Error::usage("two sessions are given")
            .hint("give one session, or FILE.h5 and a session in it")),
        _ => Ok(()),
    }
}

/// Finds the session of a file whose id begins with this text, or is shortened so by `inspect`.
pub(super) fn find_id(file: &SessionFile, prefix: &str) -> Result<String, Error> {
    // The names of groups cannot have the `/` that ids of subagents have.
    let prefix = link_name(prefix);
    let prefix = prefix.as_str();
    let mut ids = file.session_ids()?;
    if ids.iter().any(|id| id == prefix) {
        return Ok(prefix.to_string());
    }
    ids.retain(|id| is_short_for(prefix, id));
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
