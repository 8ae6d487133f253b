//! How a worker starts and leaves. Who holds the lock of its file is the worker; nothing else decides.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use backstory_memory::{Memory, try_lock_file};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{Backlog, listen};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Pid, setsid};
use serde_json::Value;

use super::client::{Question, ask};
use super::place::{Info, Known, Place};
use super::{compare_versions, serve, version};
use crate::error::{Error, ErrorKind};
use crate::output::rfc3339;
use crate::setting::{Setting, now};

/// An older worker, or one that is told to stop, has so long to leave.
const LEAVE_WITHIN: Duration = Duration::from_secs(10);
/// After this a worker that was asked nicely gets a signal.
const ASKED_NICELY: Duration = Duration::from_secs(6);
/// A worker that was killed is gone after this at the latest.
const DIES_WITHIN: Duration = Duration::from_secs(5);
/// A worker in the background answers after this at the latest.
const START_WITHIN: Duration = Duration::from_secs(5);
/// A worker is asked about itself, and told to leave, with so much patience.
const ASK_WITHIN: Duration = Duration::from_secs(1);
/// So often it is looked whether something has changed.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
#[allow(dead_code, reason = "for hooks")]
/// Hooks start no second worker so soon after the last.
const START_AGAIN: Duration = Duration::from_secs(1);
/// So many clients may wait to be let in, if the system allows: more than come at once.
const BACKLOG: i32 = 1024;

/// The lock of a store's worker. Dropping it takes away all that the worker leaves.
pub(super) struct Held {
    place: Place,
    _lock: File,
    known: Known,
}

impl Held {
    /// Takes the lock, if nobody holds it, and cleans up after a worker that was killed.
    fn take(place: &Place) -> Result<Option<Self>, Error> {
        let taken = try_lock_file(&place.lock()).map_err(backstory_memory::Error::from)?;
        let Some(lock) = taken else {
            return Ok(None);
        };
        let held = Held {
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

impl Drop for Held {
    fn drop(&mut self) {
        self.clean();
    }
}

/// Serves in this process until there is a reason to leave. Calls `begun` with who serves: this process, or another that does
/// already and is not older.
pub(crate) fn start(
    setting: Setting,
    detached: bool,
    idle: Duration,
    begun: impl FnOnce(&Info, bool) -> Result<(), Error>,
) -> Result<(), Error> {
    if detached {
        // Fails only for who leads a session already, which is as good.
        let _ = setsid();
        std::env::set_current_dir("/")?;
    }
    umask(Mode::from_bits_truncate(0o077));
    // Before anybody is told that there is a worker to be signaled.
    let signals = serve::catch_signals()?;
    drop(Memory::open(&setting.store)?);
    let place = Place::of(&setting);
    let held = match take_over(&place)? {
        TakenOver::Ours(held) => held,
        TakenOver::Theirs(info) => return begun(&info, false),
    };
    let (listener, socket) = bind(&place)?;
    let info = Info {
        pid: std::process::id().cast_signed(),
        version: version().to_string(),
        socket,
        started_at: rfc3339(Some(now())).unwrap_or_default(),
    };
    place.write_info(&info)?;
    begun(&info, true)?;
    Ok(serve::serve(
        &held, &listener, &signals, info, setting, idle,
    )?)
}

enum TakenOver {
    Ours(Held),
    Theirs(Info),
}

/// Becomes the worker, unless there is one that is not older. An older one is asked to leave.
fn take_over(place: &Place) -> Result<TakenOver, Error> {
    let started = Instant::now();
    let mut asked = false;
    let mut signaled = false;
    loop {
        if let Some(held) = Held::take(place)? {
            return Ok(TakenOver::Ours(held));
        }
        // Nothing is told while one starts, and while one leaves.
        if let Some(info) = place.read_info() {
            if compare_versions(&info.version, version()).is_ge() {
                return Ok(TakenOver::Theirs(info));
            }
            if !asked {
                asked = tell_to_leave(&info);
            }
            if !signaled && (!asked || started.elapsed() > ASKED_NICELY) {
                signal(&info, Signal::SIGTERM);
                signaled = true;
            }
        }
        if started.elapsed() > LEAVE_WITHIN {
            return Err(
                Error::new(ErrorKind::Internal, "another worker does not leave")
                    .hint("`backstory worker stop` ends it"),
            );
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Opens the socket at the first place that can be used.
fn bind(place: &Place) -> Result<(UnixListener, std::path::PathBuf), Error> {
    let mut failed = None;
    for path in place.sockets() {
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
    Err(
        Error::new(ErrorKind::Internal, format!("the worker has no place for its socket: {reason}"))
            .hint("set XDG_RUNTIME_DIR or TMPDIR to a folder of yours with a short path; all works without a worker, only slower"),
    )
}

/// Starts a worker in the background and waits until it answers; gives who answers, and whether that is a new one.
pub(crate) fn start_daemon(setting: &Setting) -> Result<(Info, bool), Error> {
    let place = Place::of(setting);
    let before = place.read_info();
    let older = before
        .as_ref()
        .is_some_and(|info| compare_versions(&info.version, version()).is_lt());
    let patience = START_WITHIN + if older { LEAVE_WITHIN } else { Duration::ZERO };
    let mut child = spawn(setting)?;
    let until = Instant::now() + patience;
    loop {
        // It ends well when there is a worker already.
        let ended = child.try_wait()?;
        // By its name as it is now: it may have been made only by the worker.
        let found = Place::of(setting).read_info();
        if let Some(info) = found
            && compare_versions(&info.version, version()).is_ge()
            && health(&info).is_some()
        {
            let is_new = info.pid == child.id().cast_signed();
            return Ok((info, is_new));
        }
        if Instant::now() > until || ended.is_some_and(|ended| !ended.success()) {
            return Err(Error::new(ErrorKind::Internal, "the worker did not start")
                .hint("`backstory worker start` without --daemon tells why"));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Starts a worker in the background if there is none, and does not wait for it. For hooks: takes about a millisecond, tells
/// nothing, and of many at once only one starts a process. Gives whether it did.
#[allow(dead_code, reason = "for hooks")]
pub(crate) fn start_detached(setting: &Setting) -> bool {
    let lock = Place::of(setting).lock();
    let was_there = lock.exists();
    let Ok(Some(file)) = try_lock_file(&lock) else {
        return false;
    };
    let age = file.metadata().and_then(|metadata| metadata.modified());
    let age = age.ok().and_then(|then| then.elapsed().ok());
    if was_there && age.is_some_and(|age| age < START_AGAIN) {
        return false;
    }
    let _ = file.set_modified(SystemTime::now());
    drop(file);
    spawn(setting).is_ok()
}

fn spawn(setting: &Setting) -> io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["worker", "start", "--detached"])
        .envs(setting.variables())
        // A worker lives for long: what a sweep takes is given back, and does not stay with a thread that may need it again.
        .env("MALLOC_ARENA_MAX", "2")
        .env("MALLOC_TRIM_THRESHOLD_", "1048576")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn()
}

/// What a running worker is known to be.
pub(crate) struct Running {
    /// `None` while it starts or leaves.
    pub(crate) info: Option<Info>,
    /// What it says of itself; `None` when it does not answer.
    pub(crate) health: Option<Value>,
}

/// The worker of a store; `None` when there is none, and then nothing of it is left either.
pub(crate) fn state(setting: &Setting) -> Result<Option<Running>, Error> {
    let place = Place::of(setting);
    if !place.lock().exists() || Held::take(&place)?.is_some() {
        return Ok(None);
    }
    let info = place.read_info();
    Ok(Some(Running {
        health: info.as_ref().and_then(health),
        info,
    }))
}

/// How a worker was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// There was none.
    NotRunning,
    /// It finished what it had in hand.
    Left,
    /// It had to be killed.
    Killed,
}

/// Stops the worker of a store.
pub(crate) fn stop(setting: &Setting) -> Result<Stopped, Error> {
    let place = Place::of(setting);
    if !place.lock().exists() || Held::take(&place)?.is_some() {
        return Ok(Stopped::NotRunning);
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
            if !killed && started.elapsed() > LEAVE_WITHIN {
                killed = signal(&info, Signal::SIGKILL);
            }
        }
        if Held::take(&place)?.is_some() || !place.lock().exists() {
            return Ok(if killed {
                Stopped::Killed
            } else {
                Stopped::Left
            });
        }
        if started.elapsed() > LEAVE_WITHIN + DIES_WITHIN {
            return Err(Error::new(ErrorKind::Internal, "the worker does not leave")
                .hint("`backstory worker status` tells its process"));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

fn tell_to_leave(info: &Info) -> bool {
    let question = Question::plain("POST", "/api/leave", ASK_WITHIN);
    ask(info, &question).is_some_and(|answer| answer.status == 200)
}

fn health(info: &Info) -> Option<Value> {
    let answer = ask(info, &Question::plain("GET", "/health", ASK_WITHIN))?;
    serde_json::from_slice(&answer.body).ok()
}

fn signal(info: &Info, signal: Signal) -> bool {
    // Zero and less would be groups of processes.
    info.pid > 1 && kill(Pid::from_raw(info.pid), signal).is_ok()
}
