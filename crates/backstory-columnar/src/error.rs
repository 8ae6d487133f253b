//! Errors of reading and writing columnar files.

use std::path::{Path, PathBuf};

use ::parquet::errors::ParquetError;

/// Reason why a columnar file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read or write.
    #[error("{}: {source}", path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The file is not HDF5, or its structure is damaged.
    #[error("{}: {}", path.display(), format_problem(place, source))]
    Format {
        /// The file.
        path: PathBuf,
        /// Object in the file.
        place: String,
        /// Error of the HDF5 reader.
        source: Box<hdf5_pure::Error>,
    },
    /// An object contradicts itself or the size of the file.
    #[error("{}: {place} is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Object in the file.
        place: String,
        /// Contradiction.
        what: String,
    },
    /// The file has no bytes.
    #[error("{}: the file is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file to write to has no bytes.
    #[error("{}: the file is empty, and not replaced: remove it, or write to another", path.display())]
    EmptyTarget {
        /// The file.
        path: PathBuf,
    },
    /// The file is HDF5, but has no sessions in the layout that is expected.
    #[error("{}: not a session file: {what}", path.display())]
    NotSessionFile {
        /// The file.
        path: PathBuf,
        /// Missing part.
        what: String,
    },
    /// The file has no such session.
    #[error("{}: no session \"{id}\"; `inspect` lists its sessions", path.display())]
    NoSession {
        /// The file.
        path: PathBuf,
        /// Name that was asked for.
        id: String,
    },
    /// The path names something that cannot be read or replaced.
    #[error("{}: {what}", path.display())]
    BadTarget {
        /// The path.
        path: PathBuf,
        /// Reason, and what to do.
        what: String,
    },
    /// The new file would lack something that the old one has.
    #[error("{}: {place} cannot be carried over: {what}; write to a new file instead", path.display())]
    NotCarriedOver {
        /// The file.
        path: PathBuf,
        /// Object in the file.
        place: String,
        /// Reason why not.
        what: String,
    },
    /// The columns cannot be stored.
    #[error("session \"{id}\" cannot be written: {what}")]
    BadColumns {
        /// The session.
        id: String,
        /// Rule that they break.
        what: String,
    },
    /// The memory has no store to read from.
    #[error("there is no store to read from")]
    NoStore,
    /// The memory could not be read.
    #[error(transparent)]
    Memory(#[from] backstory_memory::Error),
    /// Rows of a Parquet file that another version wrote cannot be copied.
    #[error("{}: another version of Backstory wrote it, and {count} of it would be lost, such as \"{example}\" of {agent}: export them again with the others, or write to a new place", path.display())]
    LostSessions {
        /// The file.
        path: PathBuf,
        /// Number of sessions, with the noun.
        count: String,
        /// Id of one of them.
        example: String,
        /// Its agent.
        agent: String,
    },
    /// The caller failed to provide the sessions to write.
    #[error(transparent)]
    Input(Box<dyn std::error::Error + Send + Sync>),
}

/// Result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
        |source| Error::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// Turns the error of a file without bytes into that of one that is not replaced.
    pub(crate) fn into_target_error(self) -> Error {
        match self {
            Error::Empty { path } => Error::EmptyTarget { path },
            error => error,
        }
    }

    /// Turns an error of the Parquet writer into that of the system, which it nearly always is.
    pub(crate) fn parquet(path: &Path) -> impl FnOnce(ParquetError) -> Error + '_ {
        |error| {
            let source = match error {
                ParquetError::External(source) => source
                    .downcast::<std::io::Error>()
                    .map_or_else(std::io::Error::other, |source| *source),
                error => std::io::Error::other(error),
            };
            Error::io(path)(source)
        }
    }
}

fn format_problem(place: &str, source: &hdf5_pure::Error) -> String {
    use hdf5_pure::{Error as Reader, FormatError};
    match source {
        Reader::Format(FormatError::SignatureNotFound) => "not an HDF5 file".to_string(),
        _ => format!("{place} cannot be read: {source}; the file is damaged or incomplete"),
    }
}
