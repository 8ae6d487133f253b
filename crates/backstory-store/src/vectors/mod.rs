//! Vectors of events in files of their own, for search by meaning.
//!
//! A folder holds the vectors of one model: a few segments that are never changed once written, and a manifest that names them.
//! Only what the manifest names counts, and it is replaced in one step, so a writer that dies leaves either the old set or the new
//! one; the next writer removes what it left. Readers take no lock and keep what they opened.
//!
//! Every byte that can bear on an answer is checked: manifest, keys and codes when a set is opened, a row when it is compared. So a
//! damaged file is told, by name, and never gives a wrong answer. All of it can be made anew from the database, and is then.
//!
//! A search scans the codes of all vectors, a few bits per dimension, for those that may be the nearest, and compares only these by
//! their rows. Against exact comparison it gives .99 of the same ten (see the tests).

mod layout;
mod manifest;
mod map;
mod rotate;
mod scan;
mod search;
mod segment;
mod select;
mod shape;
mod write;
mod writer;

use backstory_event::{Seq, SessionId};
use std::path::{Path, PathBuf};

pub use search::Vectors;
pub use writer::VectorWriter;

/// What a vector stands for: a piece of an event of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VectorKey {
    /// The session's row in the database.
    pub session: SessionId,
    /// The event's place in the session.
    pub seq: Seq,
    /// Which piece of the event.
    pub chunk: u32,
}

/// What can go wrong with vectors.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// A file is not what was written, or is gone. The folder has to be made anew.
    #[error("the vectors in {path} are damaged: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The folder holds vectors of another model.
    #[error("the vectors in {path} are those of another model")]
    OtherModel {
        /// The folder's manifest.
        path: PathBuf,
    },
    /// The vectors given have another length than those of the model.
    #[error("vectors of {expected} dimensions were expected, {found} numbers given")]
    Dimensions {
        /// How many numbers were expected.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// No vectors of so many dimensions can be kept.
    #[error("vectors can have 1 to {most} dimensions, not {found}", most = shape::MOST_DIMENSIONS)]
    Unsupported {
        /// The dimensions asked for.
        found: usize,
    },
    /// A file or folder could not be read or written.
    #[error("cannot use {path}: {source}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

type Result<T> = std::result::Result<T, VectorError>;

fn damaged(path: &Path, what: impl Into<String>) -> VectorError {
    VectorError::Damaged {
        path: path.to_path_buf(),
        what: what.into(),
    }
}

/// For `map_err`: says which file an operation failed on.
fn on(path: &Path) -> impl Fn(std::io::Error) -> VectorError {
    |source| VectorError::File {
        path: path.to_path_buf(),
        source,
    }
}

#[cfg(test)]
mod tests;
