//! Lifetime of the worker: its lock, its state, stopping it. The process that holds the lock is the worker; nothing else decides.

use std::fs::File;
use std::time::{Duration, Instant};

use backstory_memory::try_lock_file;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::client::{WorkerRequest, ask_worker};
use super::place::{Known, WorkerFiles, WorkerInfo};
use crate::error::{Error, Result};

/// Time that an older worker, or one that is told to stop, has to leave.
pub const LEAVE_TIMEOUT: Duration = Duration::from_secs(10);
/// A worker that was killed is gone after this at the latest.
const DIES_WITHIN: Duration = Duration::from_secs(5);
/// Maximum wait for the answer to `/health` and `/api/leave`.
const ASK_WITHIN: Duration = Duration::from_secs(1);
/// Interval at which a change of state is looked for.
pub const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The lock of a store's worker. Dropping it removes the worker's files.
pub struct WorkerLock {
    place: WorkerFiles,
    _lock: File,
    known: Known,
}

impl WorkerLock {
    /// Takes the lock, if nobody holds it, and cleans up after a worker that was killed.
    pub fn take(place: &WorkerFiles) -> Result<Option<Self>> {
        let taken = try_lock_file(&place.lock()).map_err(backstory_memory::Error::from)?;
        let Some(lock) = taken else {
            return Ok(None);
        };
        let held = WorkerLock {
            known: Known::new(place.lock(), &lock),
            place: place.clone(),
            _lock: lock,
        };
        // A lock of a file that was removed meanwhile is worth nothing.
        if !held.known.is_there() {
            return Ok(None);
        }
        held.clean();
        Ok(Some(held))
    }

    /// The lock's file: without it nobody knows that we are the worker.
    pub(super) fn known(&self) -> &Known {
        &self.known
    }

    /// Removes socket, pid and info. What another may have put there is not ours to remove.
    pub(super) fn clean(&self) {
        if self.known.is_there() {
            self.place.clean();
        }
    }
}

impl Drop for WorkerLock {
    fn drop(&mut self) {
        self.clean();
    }
}

/// State of a running worker.
pub struct WorkerState {
    /// `None` while it starts or leaves.
    pub info: Option<WorkerInfo>,
    /// Its answer to `/health`; `None` when it does not answer.
    pub health: Option<Value>,
}

/// The worker of a store; `None` when there is none, and then nothing of it is left either.
pub fn state(place: &WorkerFiles) -> Result<Option<WorkerState>> {
    if !place.lock().exists() || WorkerLock::take(place)?.is_some() {
        return Ok(None);
    }
    let info = place.read_info();
    Ok(Some(WorkerState {
        health: info.as_ref().and_then(health),
        info,
    }))
}

/// Outcome of stopping a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopOutcome {
    /// There was none.
    NotRunning,
    /// It finished what it had in hand.
    Left,
    /// It had to be killed.
    Killed,
}

/// Stops the worker of a store.
pub fn stop(place: &WorkerFiles) -> Result<StopOutcome> {
    if !place.lock().exists() || WorkerLock::take(place)?.is_some() {
        return Ok(StopOutcome::NotRunning);
    }
    let started = Instant::now();
    let (mut asked, mut signaled, mut killed) = (false, false, false);
    loop {
        if let Some(info) = place.read_info() {
            if !asked {
                asked = tell_to_leave(&info);
            }
            if !asked && !signaled {
                signaled = signal(&info, Signal::SIGTERM);
            }
            if !killed && started.elapsed() > LEAVE_TIMEOUT {
                killed = signal(&info, Signal::SIGKILL);
            }
        }
        if WorkerLock::take(place)?.is_some() || !place.lock().exists() {
            return Ok(if killed {
                StopOutcome::Killed
            } else {
                StopOutcome::Left
            });
        }
        if started.elapsed() > LEAVE_TIMEOUT + DIES_WITHIN {
            return Err(Error::Stays);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Asks a worker to leave; returns whether it will.
pub(super) fn tell_to_leave(info: &WorkerInfo) -> bool {
    let question = WorkerRequest::plain("POST", "/api/leave", ASK_WITHIN);
    ask_worker(info, &question).is_some_and(|answer| answer.status == 200)
}

/// Returns the worker's answer to `/health`.
pub fn health(info: &WorkerInfo) -> Option<Value> {
    let answer = ask_worker(info, &WorkerRequest::plain("GET", "/health", ASK_WITHIN))?;
    serde_json::from_slice(&answer.body).ok()
}

/// Sends a signal to a worker.
pub(super) fn signal(info: &WorkerInfo, signal: Signal) -> bool {
    // Zero and less would be groups of processes.
    info.pid > 1 && kill(Pid::from_raw(info.pid), signal).is_ok()
}
