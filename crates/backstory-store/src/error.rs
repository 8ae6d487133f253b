//! What can go wrong with a store.

use std::path::PathBuf;

use crate::private::ExpectedType;

/// A result of a store.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store's file could not be made or opened.
    #[error("cannot open the store {path}: {source}")]
    Open {
        /// The database file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// A folder or file beside the database could not be made.
    #[error("cannot prepare {path}: {source}")]
    Prepare {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The store belongs to somebody else, or others can get at it and that cannot be changed.
    #[error("{path} is not private: {source}")]
    NotPrivate {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Something else is in the place of a file or folder of the store.
    #[error("{path} is {found}; it must be {}", match .expected { ExpectedType::File => "a regular file", ExpectedType::Folder => "a folder" })]
    WrongType {
        /// The file or folder.
        path: PathBuf,
        /// Type that it has.
        found: &'static str,
        /// Type that it must have.
        expected: ExpectedType,
    },
    /// The store was written by a newer version of the program.
    #[error("the store {path} has schema {found}, this program knows schemas up to {known}")]
    TooNew {
        /// The database file.
        path: PathBuf,
        /// The schema it has.
        found: i64,
        /// The newest one known here.
        known: i64,
    },
    /// No room is left for the database.
    #[error("the disk is full; nothing of the last step was stored, everything before it is")]
    Full,
    /// The database is damaged.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// A piece of what is stored is not what was written.
    #[error("{0}")]
    DamagedPiece(Box<crate::checksums::Damage>),
    /// The database is missing or empty although there are files that were made from it.
    #[error("{path} is {}, but {beside} was made from it", if *.empty { "empty" } else { "missing" })]
    Lost {
        /// The database file.
        path: PathBuf,
        /// What was made from it.
        beside: PathBuf,
        /// Whether the file is there, without content.
        empty: bool,
    },
    /// Any other refusal of the database.
    #[error("the database refused: {0}")]
    Database(rusqlite::Error),
    /// The full-text index refused.
    #[error(transparent)]
    Index(#[from] crate::index::IndexError),
    /// Stored bytes could not be decompressed.
    #[error("stored bytes could not be read: {0}")]
    Compression(std::io::Error),
}

impl Error {
    /// Whether it was refused because it would have had to write.
    pub(crate) fn is_read_only(&self) -> bool {
        let read_only = Some(rusqlite::ErrorCode::ReadOnly);
        matches!(self, Error::Database(error) if error.sqlite_error_code() == read_only)
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Error::Full,
            // No statement breaks a constraint on a sound database.
            Some(
                rusqlite::ErrorCode::DatabaseCorrupt
                | rusqlite::ErrorCode::NotADatabase
                | rusqlite::ErrorCode::ConstraintViolation,
            ) => Error::Damaged(error.to_string()),
            _ => Error::Database(error),
        }
    }
}
