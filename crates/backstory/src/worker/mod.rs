//! The worker: one process for a store that stays, answers at once and does what hooks have no time for.
//!
//! Everything works without it, only slower: who asks it does so with a deadline and then does the thing itself. Transport, routes
//! and client are those of `backstory_server`; here is what needs the configuration and processes of this program. `host` gives
//! the server what it needs, `start` is how the worker comes, `round` and `share` what is done without being asked.

mod host;
mod round;
mod share;
mod start;

use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use backstory_server::WorkerFiles;
pub(crate) use backstory_server::{
    StopOutcome, WorkerInfo, WorkerRequest, WorkerState, ask_worker, version,
};
pub(crate) use round::{Scope, go_round};
pub(crate) use start::{start, start_daemon, start_detached};

use crate::error::Error;
use crate::setting::{Setting, runtime_homes};

/// The place of the worker of a store.
pub(crate) fn place_of(setting: &Setting) -> WorkerFiles {
    WorkerFiles::new(&setting.store, runtime_homes(geteuid().as_raw()))
}

/// Returns the folders where a store's captures may wait when its own cannot be written to; none of these is made here.
pub(crate) fn spool_folders(store: &Path) -> Vec<PathBuf> {
    backstory_server::spool_folders(store, runtime_homes(geteuid().as_raw()))
}

/// The worker of a store; `None` when there is none, and then nothing of it is left either.
pub(crate) fn state(setting: &Setting) -> Result<Option<WorkerState>, Error> {
    Ok(backstory_server::state(&place_of(setting))?)
}

/// Stops the worker of a store.
pub(crate) fn stop(setting: &Setting) -> Result<StopOutcome, Error> {
    Ok(backstory_server::stop(&place_of(setting))?)
}
