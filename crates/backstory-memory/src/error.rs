//! Errors of the library.

use std::path::PathBuf;

use backstory_event::TurnNo;

/// A result of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of the library.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] backstory_store::Error),
    /// A model refused.
    #[error(transparent)]
    Model(#[from] backstory_embed::Error),
    /// The vectors of a model could not be used.
    #[error(transparent)]
    Vectors(#[from] backstory_store::VectorError),
    /// A sink that follows the memory could not keep what it was given.
    #[error("cannot follow the memory: {0}")]
    Sink(std::io::Error),
    /// A path that was asked for cannot be read.
    #[error("cannot read {path}: {source}")]
    Path {
        /// The path.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of the user cannot be written.
    #[error("cannot write {path}: {source}")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No session has this id.
    #[error("no session has an id that begins with {0:?}")]
    NoSession(String),
    /// Several sessions do.
    #[error("{} sessions have an id that begins with {prefix:?}", .matches.len())]
    ManySessions {
        /// Name or text that was asked for.
        prefix: String,
        /// Their ids.
        matches: Vec<String>,
    },
    /// The session is not evicted, so that there is nothing to restore.
    #[error("session {0} is not evicted")]
    NotEvicted(String),
    /// The files that told of an evicted session are gone.
    #[error("session {session} cannot be restored: {} not there any more", gone(.paths))]
    SourceGone {
        /// The session.
        session: String,
        /// The files.
        paths: Vec<String>,
    },
    /// The session has no such turn.
    #[error("session {session} has turns 0 to {turns}, not {turn}")]
    NoTurn {
        /// The session.
        session: String,
        /// Number of its turns.
        turns: u64,
        /// The one asked for.
        turn: TurnNo,
    },
    /// A log that a hook named must not be read.
    #[error("{0}")]
    RefusedLog(String),
    /// What stands behind the `#` of a session is no turn.
    #[error("{0:?} is no turn")]
    InvalidTurn(String),
    /// No pattern has an id that begins with this.
    #[error("no pattern has an id that begins with {0:?}")]
    UnknownPattern(String),
    /// Several patterns do.
    #[error("{} patterns have an id that begins with {prefix:?}", .matches.len())]
    ManyPatterns {
        /// Name or text that was asked for.
        prefix: String,
        /// Their ids.
        matches: Vec<String>,
    },
    /// Nobody has decided about this pattern yet.
    #[error("pattern {0} is not in the catalogue")]
    NotInCatalogue(String),
    /// A pattern that is another one.
    #[error("pattern {id} is the same as {into}")]
    MergedPattern {
        /// The pattern.
        id: String,
        /// The other one.
        into: String,
    },
    /// A file of the catalogue that is none.
    #[error("{path} is no entry of the catalogue: {reason}")]
    Catalogue {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A line of the file with verdicts about digests that is none.
    #[error("{path}:{line} is no verdict about a digest: {reason}")]
    Verdict {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// Why.
        reason: String,
    },
    /// A file that cannot tell of patterns.
    #[error("cannot publish in {path}: {reason}")]
    Publish {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// No model has this name.
    #[error("no model here is called {0:?}")]
    NoModel(String),
    /// No model is named, and none is in use.
    #[error("no embedding model is in use: name one")]
    NoModelInUse,
    /// A name that a model cannot have.
    #[error("{0:?} cannot be the name of a model")]
    ModelName(String),
    /// A role that no event has.
    #[error("unknown role {0:?}")]
    UnknownRole(String),
    /// A regular expression that does not parse.
    #[error("invalid regular expression: {0}")]
    InvalidRegex(String),
    /// A filter behind a minus.
    #[error("a filter cannot be excluded: -{0}")]
    ExcludedFilter(String),
    /// A filter by the agent's own record that is not `KEY=VALUE`.
    #[error("invalid --meta {0:?}: use KEY=VALUE, e.g. git.branch=main")]
    InvalidMeta(String),
    /// A key that the agent's own record cannot have.
    #[error("invalid metadata key {0:?}")]
    InvalidMetaKey(String),
    /// A text that is no time.
    #[error("{0:?} is no time")]
    InvalidTime(String),
    /// Nothing to search for.
    #[error("there is nothing to search for")]
    EmptyQuery,
    /// An agent that no reader knows.
    #[error("unknown agent {0:?}")]
    UnknownAgent(String),
    /// No model can be let write as it is configured.
    #[error("{reason}")]
    Compress {
        /// Why.
        reason: String,
        /// Hint.
        hint: String,
    },
    /// Writing the answer failed.
    #[error("cannot write: {0}")]
    Write(#[from] std::io::Error),
    /// A thread of a sweep ended early, which is a mistake in this program.
    #[error("a worker of the sweep ended before its work")]
    Worker,
}

fn gone(paths: &[String]) -> String {
    match paths {
        [path] => format!("{path} is"),
        paths => format!("{} are", paths.join(", ")),
    }
}

impl From<backstory_store::IndexError> for Error {
    fn from(error: backstory_store::IndexError) -> Self {
        Error::Store(error.into())
    }
}
