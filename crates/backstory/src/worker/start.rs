//! How a worker starts: in this process or in the background, in place of an older one if there is one.

use std::io;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use backstory_memory::{Memory, try_lock_file};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{close, setsid};

use backstory_server::{
    LEAVE_TIMEOUT, POLL_INTERVAL, TakenOver, WorkerFiles, WorkerInfo, bind_socket, catch_signals,
    compare_versions, health, serve, take_over, version,
};

use super::host::ProgramHost;
use super::place_of;
use crate::error::{Error, ErrorKind};
use crate::output::rfc3339;
use crate::setting::{Setting, now};

/// A worker in the background answers after this at the latest.
const START_WITHIN: Duration = Duration::from_secs(5);
/// Hooks start no second worker so soon after the last.
const START_AGAIN: Duration = Duration::from_secs(1);

/// Serves in this process until there is a reason to leave. Calls `begun` with who serves: this process, or another that does
/// already and is not older.
pub(crate) fn start(
    setting: Setting,
    detached: bool,
    idle: Duration,
    begun: impl FnOnce(&WorkerInfo, bool) -> Result<(), Error>,
) -> Result<(), Error> {
    if detached {
        detach()?;
    }
    umask(Mode::from_bits_truncate(0o077));
    // Before anybody is told that there is a worker to be signaled.
    let signals = catch_signals()?;
    drop(Memory::open(&setting.store)?);
    let place = place_of(&setting);
    let held = match take_over(&place)? {
        TakenOver::Ours(held) => held,
        TakenOver::Theirs(info) => return begun(&info, false),
    };
    let (listener, socket) = bind_socket(&place)?;
    let info = WorkerInfo {
        pid: std::process::id().cast_signed(),
        version: version().to_string(),
        socket,
        started_at: rfc3339(Some(now())).unwrap_or_default(),
    };
    place.write_info(&info)?;
    begun(&info, true)?;
    let host = Arc::new(ProgramHost::new(setting));
    Ok(serve(&held, listener, &signals, info, host, idle)?)
}

/// Lets go of all that whoever started us may wait for: the terminal, the folder, and files that it left open for us.
fn detach() -> io::Result<()> {
    // Fails only for who leads a session already, which is as good.
    let _ = setsid();
    std::env::set_current_dir("/")?;
    // An agent that reads what its hook writes waits until the last one that could write is gone. Nothing is open yet that is ours.
    let numbers: Vec<RawFd> = std::fs::read_dir("/dev/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        let _ = close(number);
    }
    Ok(())
}

/// Starts a worker in the background and waits until it answers; gives who answers, and whether that is a new one.
pub(crate) fn start_daemon(setting: &Setting) -> Result<(WorkerInfo, bool), Error> {
    let place = place_of(setting);
    let before = place.read_info();
    let older = before
        .as_ref()
        .is_some_and(|info| compare_versions(&info.version, version()).is_lt());
    let patience = START_WITHIN + if older { LEAVE_TIMEOUT } else { Duration::ZERO };
    let mut child = spawn(setting)?;
    let until = Instant::now() + patience;
    loop {
        // It ends well when there is a worker already.
        let ended = child.try_wait()?;
        // By its name as it is now: it may have been made only by the worker.
        let found = place_of(setting).read_info();
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
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Starts a worker in the background if there is none, and does not wait for it. For hooks: takes about a millisecond, tells
/// nothing, and of many at once only one starts a process. Gives whether it did.
pub(crate) fn start_detached(setting: &Setting) -> bool {
    may_start(&place_of(setting)) && spawn(setting).is_ok()
}

/// Whether there is no worker, and none was started a moment ago. The lock's file tells when that was.
fn may_start(place: &WorkerFiles) -> bool {
    let path = place.lock();
    let was_there = path.exists();
    let Ok(Some(lock)) = try_lock_file(&path) else {
        return false;
    };
    let changed = lock.metadata().and_then(|metadata| metadata.modified());
    let age = changed.ok().and_then(|changed| changed.elapsed().ok());
    if was_there && age.is_some_and(|age| age < START_AGAIN) {
        return false;
    }
    lock.set_modified(SystemTime::now()).is_ok()
}

fn spawn(setting: &Setting) -> io::Result<Child> {
    let mut command = own_program(setting)?;
    command.args(["worker", "start", "--detached"]).spawn()
}

/// This program, to be run with the same setting and without anything to read from or write to.
pub(super) fn own_program(setting: &Setting) -> io::Result<Command> {
    let path = std::env::current_exe()?;
    // When it was replaced by another version, Linux still has the one that runs.
    let path = if path.exists() {
        path
    } else {
        PathBuf::from("/proc/self/exe")
    };
    let mut command = Command::new(path);
    command
        .envs(setting.variables())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok(command)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use backstory_server::WorkerLock;

    use super::*;

    #[test]
    fn of_many_hooks_one_starts_a_worker() {
        let folder = tempfile::tempdir().unwrap();
        let place = WorkerFiles::new(folder.path(), Vec::new());
        let lock = || File::open(place.lock()).unwrap();
        assert!(may_start(&place), "the first one ever");
        assert!(!may_start(&place), "one was started just now");
        lock().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let held = WorkerLock::take(&place).unwrap();
        assert!(held.is_some());
        assert!(!may_start(&place), "there is one");
        drop(held);
        assert!(may_start(&place), "it has left");
        assert!(!may_start(&place));
    }
}
