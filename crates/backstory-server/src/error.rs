//! Errors of starting and stopping a worker.

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of starting and stopping a worker.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The lock of the store failed.
    #[error(transparent)]
    Memory(#[from] backstory_memory::Error),
    /// A worker that was told to stop did not.
    #[error("the worker does not leave")]
    Stays,
    /// Another worker has to leave first, and did not.
    #[error("another worker does not leave")]
    OtherStays,
    /// No socket can be opened.
    #[error("the worker has no place for its socket: {0}")]
    NoSocket(String),
}
