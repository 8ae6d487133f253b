//! Becoming the worker: taking over from an older one, and opening the socket.

use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::sys::socket::{Backlog, listen};

use super::life::{LEAVE_TIMEOUT, POLL_INTERVAL, WorkerLock, health, signal, tell_to_leave};
use super::place::{WorkerFiles, WorkerInfo};
use crate::error::{Error, Result};
use crate::version::{compare_versions, version};

/// Time after which a worker that was asked to leave gets a signal.
const ASKED_NICELY: Duration = Duration::from_secs(6);
/// A worker that was killed has let go of everything after this at the latest.
const GONE_WITHIN: Duration = Duration::from_secs(2);
/// Connections that may wait to be accepted, if the system allows: more than come at once.
const BACKLOG: i32 = 1024;

/// Outcome of an attempt to become the worker.
pub enum TakenOver {
    /// This process is the worker.
    Ours(WorkerLock),
    /// Another one is, and is not older.
    Theirs(WorkerInfo),
}

/// Becomes the worker, unless there is one that is not older. An older one is asked to leave.
pub fn take_over(place: &WorkerFiles) -> Result<TakenOver> {
    let started = Instant::now();
    let mut asked = false;
    let mut signaled = false;
    loop {
        if let Some(held) = WorkerLock::take(place)? {
            return Ok(TakenOver::Ours(held));
        }
        // Nothing is told while one starts, and while one leaves.
        if let Some(info) = place.read_info() {
            let is_older = compare_versions(&info.version, version()).is_lt();
            // One that was just killed holds the lock for a moment longer.
            if !is_older && (health(&info).is_some() || started.elapsed() > GONE_WITHIN) {
                return Ok(TakenOver::Theirs(info));
            }
            if is_older && !asked {
                asked = tell_to_leave(&info);
            }
            if is_older && !signaled && (!asked || started.elapsed() > ASKED_NICELY) {
                signal(&info, Signal::SIGTERM);
                signaled = true;
            }
        }
        if started.elapsed() > LEAVE_TIMEOUT {
            return Err(Error::OtherStays);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Opens the socket at the first place that can be used.
pub fn bind_socket(place: &WorkerFiles) -> Result<(UnixListener, PathBuf)> {
    let mut failed = None;
    for path in place.sockets() {
        // Of one that was killed before it could tell where it is.
        let _ = std::fs::remove_file(&path);
        match UnixListener::bind(&path) {
            Ok(listener) => {
                if let Ok(backlog) = Backlog::new(BACKLOG) {
                    // Fewer than wanted are better than none.
                    let _ = listen(&listener, backlog);
                }
                return Ok((listener, path));
            }
            Err(error) => failed = Some(format!("{}: {error}", path.display())),
        }
    }
    let reason = failed.unwrap_or_else(|| "no folder is private and has a short path".to_string());
    Err(Error::NoSocket(reason))
}
