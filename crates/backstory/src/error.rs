//! Errors as people see them: what went wrong, what to do, and the exit code.

use std::process::ExitCode;

use crate::printer::{Style, print_stderr};

const ERROR: Style = Style::new("1;31");
const HINT: Style = Style::new("1;36");

/// The remedy for a damaged key, or a damaged list of forgotten sessions.
pub(crate) const RENEW_KEYS: &str = "restore backstory.db from a backup; without one, `backstory forget --renew-keys` begins anew, and \
     sessions that were forgotten come back with the next sweep if their logs are still there: delete those first";

/// The remedy for a disk, a quota or a file that is full.
const FULL_DISK: &str =
    "free some space, or write the output elsewhere, and run the same command again";

/// An error on its way to the user.
#[derive(Debug)]
pub(crate) struct Error {
    kind: ErrorKind,
    message: String,
    hints: Vec<String>,
}

/// Decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// Nothing was found, or a check failed.
    NotFound,
    /// Wrong usage or bad input.
    Usage,
    /// Something that should not happen, such as a damaged store.
    Internal,
    /// The system failed: a full disk, an output that cannot be written.
    Environment,
    /// Nobody reads our output any more, which is no error.
    BrokenPipe,
    /// A check failed and has said so on its own.
    Silent,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error {
            kind,
            message: message.into(),
            hints: Vec::new(),
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Usage, message)
    }

    /// Nothing more to say: only the exit code tells that nothing was found.
    pub(crate) fn silent() -> Self {
        Error::new(ErrorKind::Silent, "")
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds hints that are not there yet.
    pub(crate) fn hints(mut self, hints: impl IntoIterator<Item = String>) -> Self {
        for hint in hints {
            if !self.hints.contains(&hint) {
                self.hints.push(hint);
            }
        }
        self
    }

    /// Fails with all these errors as one, if there are any. One that should not happen decides the exit code, else the first.
    pub(crate) fn join_all(errors: impl IntoIterator<Item = Error>) -> Result<(), Error> {
        let mut errors = errors.into_iter();
        let Some(mut all) = errors.next() else {
            return Ok(());
        };
        for error in errors {
            if error.kind == ErrorKind::Internal {
                all.kind = ErrorKind::Internal;
            }
            if error.message != all.message {
                all.message = format!("{}; {}", all.message, error.message);
            }
            all = all.hints(error.hints);
        }
        Err(all)
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What went wrong.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// What went wrong, and what to do about it.
    pub(crate) fn with_hints(&self) -> String {
        let mut text = self.message.clone();
        for hint in &self.hints {
            text.push_str("; ");
            text.push_str(hint);
        }
        text
    }

    /// Prints the error and gives its exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let code = match self.kind {
            ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            ErrorKind::Silent => return ExitCode::from(1),
            ErrorKind::NotFound => 1,
            ErrorKind::Usage => 2,
            // Neither an answer (1) nor a mistake of the user (2).
            ErrorKind::Internal | ErrorKind::Environment => 70,
        };
        print_stderr(format_args!("{ERROR}error:{ERROR:#} {}", self.message));
        for hint in &self.hints {
            print_stderr(format_args!("{HINT}hint:{HINT:#} {hint}"));
        }
        ExitCode::from(code)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        match error.kind() {
            Io::BrokenPipe => Error::new(ErrorKind::BrokenPipe, error.to_string()),
            Io::StorageFull | Io::QuotaExceeded => {
                Error::new(ErrorKind::Environment, format!("cannot write: {error}")).hint(FULL_DISK)
            }
            _ => Error::new(
                ErrorKind::Environment,
                format!("input or output failed: {error}"),
            ),
        }
    }
}

impl From<backstory_memory::Error> for Error {
    fn from(error: backstory_memory::Error) -> Self {
        use backstory_memory::Error as Memory;
        let message = error.to_string();
        match error {
            Memory::Write(source) | Memory::Sink(source) => source.into(),
            Memory::NoSession(_) => {
                Error::new(ErrorKind::NotFound, message).hint("`backstory sessions --limit 0` lists all sessions")
            }
            Memory::NoTurn { .. } | Memory::NotEvicted(_) => Error::new(ErrorKind::NotFound, message),
            Memory::ManySessions { matches, .. } => {
                let shown: Vec<&str> = matches.iter().take(5).map(String::as_str).collect();
                Error::usage(message).hint(format!("give more of the id, as in {}", shown.join(", ")))
            }
            Memory::InvalidTurn(_) => {
                Error::usage(message).hint("write SESSION#3 for the third turn of a session")
            }
            Memory::SourceGone { .. } => Error::new(ErrorKind::NotFound, message)
                .hint("its text is gone for good; `backstory digest` tells what it was"),
            Memory::UnknownAgent(_) => {
                let agents: Vec<&str> = backstory_memory::AGENTS.iter().map(|agent| agent.name).collect();
                Error::usage(message).hint(format!("known agents are {}", agents.join(", ")))
            }
            Memory::UnknownRole(_) => Error::usage(message)
                .hint("roles are user, assistant, tool, system; or name a kind: prompt, reply, reasoning, tool_call, tool_result, summary"),
            Memory::NoModel(_) | Memory::NoModelInUse => Error::new(ErrorKind::NotFound, message).hint("`backstory model list` shows the models"),
            Memory::ModelName(_) => Error::usage(message).hint("give one with --name: letters, digits, - _ ."),
            Memory::Model(_) => Error::usage(message).hint("`backstory model list` shows the models, `backstory model --help` how to add one"),
            Memory::Vectors(_) => Error::new(ErrorKind::Internal, message).hint("`backstory embed` makes them anew"),
            Memory::InvalidRegex(_) => Error::usage(message).hint("quote it for the shell, and put a backslash before ( [ . * and the like to mean them"),
            Memory::ExcludedFilter(_) => Error::usage(message).hint("a minus leaves out turns with a word or \"quoted words\""),
            Memory::InvalidMeta(_) => Error::usage(message),
            Memory::InvalidMetaKey(_) => Error::usage(message).hint("keys are names joined by dots, e.g. meta.git.branch:main"),
            Memory::InvalidTime(_) => Error::usage(message).hint("write 12h, 3d, 2w, 2026-01-31 or 2026-01-31T10:00:00Z"),
            Memory::EmptyQuery => Error::usage(message).hints([
                "give some words, as in `backstory search websocket auth`".to_string(),
                "`backstory sessions` lists sessions by filters alone, such as `--branch main` or `--meta KEY=VALUE`".to_string(),
            ]),
            Memory::UnknownPattern(_) => Error::new(ErrorKind::NotFound, message)
                .hint("`backstory patterns` lists candidates, `backstory patterns catalogue` those that were decided"),
            Memory::ManyPatterns { matches, .. } => {
                Error::usage(message).hint(format!("give more of the id, as in {}", matches.join(", ")))
            }
            Memory::NotInCatalogue(_) => Error::new(ErrorKind::NotFound, message)
                .hint("`backstory patterns approve` takes it in"),
            Memory::Verdict { .. } => Error::usage(message).hint("correct or remove the line"),
            Memory::Catalogue { .. } => Error::usage(message).hint("mend it by hand, or move it out of the folder"),
            Memory::Path { ref source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Error::new(ErrorKind::NotFound, message)
            }
            Memory::Path { .. } | Memory::Unwritable { .. } | Memory::MergedPattern { .. } | Memory::Publish { .. } => {
                Error::usage(message)
            }
            Memory::Store(backstory_memory::StoreError::DamagedPiece(damage)) if damage.is_of_forgetting() => {
                Error::new(ErrorKind::NotFound, message).hint(RENEW_KEYS)
            }
            Memory::Store(backstory_memory::StoreError::DamagedPiece(_)) => Error::new(ErrorKind::NotFound, message)
                .hint("the next `backstory sweep` reads it again if the agent's log is still there; `backstory doctor --deep` checks everything"),
            Memory::Store(backstory_memory::StoreError::Full) => Error::new(ErrorKind::Environment, message)
                .hint("free some space and run the same command again"),
            Memory::Store(store) => Error::new(ErrorKind::Internal, message).hint(match store {
                backstory_memory::StoreError::NotPrivate { .. } => {
                    "run it as the user that it belongs to, remove what is not yours, or set BACKSTORY_HOME to a folder of your own".to_string()
                }
                backstory_memory::StoreError::WrongType { path, .. } => {
                    format!("move {} out of the store, then run the same command again", path.display())
                }
                backstory_memory::StoreError::TooNew { .. } => "use the newer version of backstory that wrote it".to_string(),
                backstory_memory::StoreError::Damaged(_) => {
                    "`backstory doctor` says more; the logs themselves are untouched and can be swept into a new store".to_string()
                }
                backstory_memory::StoreError::Lost { beside, .. } => format!(
                    "restore the database from a backup; to begin anew, remove {} first",
                    beside.display()
                ),
                _ => "`backstory doctor` checks the store".to_string(),
            }),
            Memory::Compress { hint, .. } => Error::usage(message).hint(hint),
            Memory::Worker | Memory::RefusedLog(_) => Error::new(ErrorKind::Internal, message),
        }
    }
}

#[cfg(unix)]
impl From<backstory_server::Error> for Error {
    fn from(error: backstory_server::Error) -> Self {
        use backstory_server::Error as Server;
        let message = error.to_string();
        let internal = |hint: &str| Error::new(ErrorKind::Internal, message.clone()).hint(hint);
        match error {
            Server::Memory(error) => error.into(),
            Server::Stays => internal("`backstory worker status` tells its process"),
            Server::OtherStays => internal("`backstory worker stop` ends it"),
            Server::NoSocket(_) => internal(
                "set XDG_RUNTIME_DIR or TMPDIR to a folder of yours with a short path; all works without a worker, only slower",
            ),
        }
    }
}

#[cfg(feature = "columnar")]
impl From<backstory_columnar::Error> for Error {
    fn from(error: backstory_columnar::Error) -> Self {
        use backstory_columnar::Error as Columnar;
        use std::io::ErrorKind as Io;
        let message = error.to_string();
        match error {
            Columnar::Memory(error) => error.into(),
            Columnar::Io { source, .. } => match source.kind() {
                Io::NotFound => Error::new(ErrorKind::NotFound, message),
                Io::StorageFull | Io::QuotaExceeded | Io::FileTooLarge => {
                    Error::new(ErrorKind::Environment, message).hint(FULL_DISK)
                }
                _ => Error::new(ErrorKind::Environment, message),
            },
            Columnar::NoSession { .. } | Columnar::EmptyTarget { .. } => {
                Error::new(ErrorKind::NotFound, message)
            }
            Columnar::Empty { .. } => Error::new(ErrorKind::NotFound, message)
                .hint("`backstory convert` and `backstory export` write such files"),
            Columnar::Format { place, .. } if place == "the superblock" => Error::usage(message)
                .hint("`backstory convert` and `backstory export` write such files, under a name that is free"),
            Columnar::NotSessionFile { .. } => Error::usage(message)
                .hint("`backstory convert` and `backstory export` write such files"),
            Columnar::Format { .. } | Columnar::Damaged { .. } => Error::usage(message).hint(
                "`backstory convert` and `backstory export` write a new file under another name",
            ),
            Columnar::NoStore => {
                Error::new(ErrorKind::NotFound, message).hint("`backstory sweep` makes one")
            }
            _ => Error::usage(message),
        }
    }
}
