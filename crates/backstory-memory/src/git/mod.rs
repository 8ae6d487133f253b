//! Git, as far as it is needed, from repositories that nobody vouches for.
//!
//! This is the only module that starts git or reads `.git`. Two rules hold:
//!
//! - **Nothing in a repository runs.** A repository's configuration can name programs for almost everything. Only plumbing commands
//!   are used that neither convert file contents (so no filter runs) nor show them (so no driver runs), each with those settings
//!   overridden, within a time limit, in a process group that is killed as a whole (`process.rs`).
//! - **Git is asked about the folder that the user is in or has named**, never about folders that only logs name. Of those, `.git`,
//!   `HEAD`, `commondir` and `config` are read, if they are small regular files (`metadata.rs`).

mod changed;
mod index;
mod metadata;
mod process;
mod renames;
#[cfg(test)]
mod tests;

pub(crate) use self::changed::ChangedFiles;
pub use self::metadata::worktree_root;
pub(crate) use self::metadata::{Repository, head_branch};
pub use self::process::find_program;
pub(crate) use self::renames::earlier_names;
