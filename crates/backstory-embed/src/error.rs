//! What can go wrong with a model.

use std::path::{Path, PathBuf};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read, written or moved.
    #[error("cannot use {path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not what its name or place says, or it is damaged.
    #[error("{path} cannot be used: {reason}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The model is a network and this program was built without what runs it.
    #[error("the model {name} needs a program built with the feature `{feature}`")]
    NeedsFeature {
        /// The model.
        name: String,
        /// The cargo feature.
        feature: &'static str,
    },
    /// Weights or counts of one model were used with another.
    #[error("the weights were counted with another model; count again")]
    OtherModel,
    /// A file did not arrive, though it was asked for several times.
    #[error(
        "{url} did not arrive: {reason}; what has arrived is kept, and another try goes on from there"
    )]
    Download {
        /// Where it was to come from.
        url: String,
        /// What happened last.
        reason: String,
    },
    /// The hub does not give a file.
    #[error("{url} cannot be fetched: {reason}")]
    Refused {
        /// Where it was to come from.
        url: String,
        /// What the hub said.
        reason: String,
    },
    /// A file arrived that is not the one it should be.
    #[error("{url} has another checksum than it should have; what arrived was removed")]
    Checksum {
        /// Where it came from.
        url: String,
    },
    /// A network could not be run.
    #[error("the model {name} failed: {reason}")]
    Failed {
        /// The model.
        name: String,
        /// Why.
        reason: String,
    },
}

impl Error {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Error::Io {
            path: path.to_path_buf(),
            source,
        }
    }

    pub(crate) fn malformed(path: &Path, reason: impl Into<String>) -> Self {
        Error::Malformed {
            path: path.to_path_buf(),
            reason: reason.into(),
        }
    }
}
