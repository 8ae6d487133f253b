//! Rounds: work that the worker does unasked.
//!
//! It only looks whether there is something to do; a process of its own does it. What that takes of memory is gone when it is over, a
//! log that is its end is not the worker's, it can give way to all others, and a worker that leaves does not have to wait for
//! it. It ends when the worker does, however that comes.

use std::io::{self, Read};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use backstory_server::{Host, OpenMemory, Presence};

use super::share::share;
use super::start::own_program;
use backstory_memory::CatchUp;

use crate::error::Error;
use crate::setting::{Setting, now};

/// Interval at which it looks whether there is something to do.
const PAUSE: Duration = Duration::from_secs(1);
/// Between two processes that work off the queue: while an agent works, there is always something.
const BETWEEN: Duration = Duration::from_secs(3);

/// Works on its own for as long as the worker stays.
pub(super) fn run_rounds(host: &dyn Host, setting: &Setting, presence: &Presence) {
    let mut memory = OpenMemory::default();
    let mut running: Option<Round> = None;
    // Logs that were written while there was no worker are imported first.
    let (mut next_sweep, mut next_look) = (Instant::now(), Instant::now());
    while !presence.wait(PAUSE) && presence.has_store() {
        match running.as_mut().map(Round::found) {
            Some(None) => {}
            Some(Some(found)) => {
                if found {
                    presence.note_work();
                }
                running = None;
                next_look = Instant::now() + BETWEEN;
            }
            // Failing to start, it is tried again.
            None if Instant::now() >= next_sweep => {
                running = Round::start(setting, Scope::Everything).ok();
                // As it is configured now.
                let renewed = setting.renewed();
                let config = &renewed.as_ref().unwrap_or(setting).config;
                let minutes = config.cadence.minutes();
                next_sweep = Instant::now() + Duration::from_secs(60 * minutes);
            }
            None if Instant::now() >= next_look && has_work(host, setting, &mut memory) => {
                running = Round::start(setting, Scope::Queue).ok();
            }
            None => {}
        }
    }
}

/// Returns whether hooks left something to do.
fn has_work(host: &dyn Host, setting: &Setting, memory: &mut OpenMemory) -> bool {
    let queued = memory
        .reader(host)
        .is_ok_and(|memory| memory.captures().has_work(now()).unwrap_or(false));
    queued || !setting.spool().is_empty()
}

/// Scope of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// What hooks left to do.
    Queue,
    /// That, and a sweep of all sources.
    Everything,
}

/// A process that does what there is to do; dropped, it is ended.
pub(super) struct Round {
    child: Child,
}

impl Round {
    pub(super) fn start(setting: &Setting, scope: Scope) -> io::Result<Self> {
        let mut command = own_program(setting)?;
        command.args(["worker", "round"]);
        if scope == Scope::Queue {
            command.arg("--queue");
        }
        // It reads nothing, but sees by this when we are gone.
        let child = command.stdin(Stdio::piped()).spawn()?;
        Ok(Round { child })
    }

    /// Returns whether it found something to do; `None` while it runs.
    fn found(&mut self) -> Option<bool> {
        let ended = self.child.try_wait();
        ended
            .transpose()
            .map(|status| status.is_ok_and(|status| status.success()))
    }

    /// Waits until it is over.
    pub(super) fn finish(&mut self) {
        // Not as usual, for that would close what it sees us by.
        while self.found().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Round {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a round in a process of its own; returns whether there was something to do. Ends with its worker.
pub(crate) fn go_round(setting: &Setting, scope: Scope) -> Result<bool, Error> {
    std::thread::Builder::new().spawn(|| {
        while io::stdin().read(&mut [0]).is_ok_and(|read| read > 0) {}
        leave();
    })?;
    give_way();
    // A store that was removed meanwhile does not come back.
    let memory = setting.memory_to_write()?;
    let mut bytes_read = 0;
    if scope == Scope::Everything {
        let mut options = setting.import_options(&[], None);
        options.workers = 1;
        bytes_read = memory.import(&options, &mut |_| {})?.bytes_read;
    }
    let caught_up = memory.catch_up(
        &CatchUp {
            spool: &setting.spool(),
            import: &setting.import_options(&[], None),
            model: setting.config.model.as_deref(),
            now: now(),
        },
        &mut |_| {},
    )?;
    let written = share(setting, &memory);
    Ok(bytes_read + caught_up.items + written > 0)
}

#[allow(
    clippy::exit,
    reason = "a round may be stopped at any instant, and must be when its worker is gone"
)]
fn leave() {
    std::process::exit(0);
}

/// Lets all others go first.
fn give_way() {
    let _ = rustix::process::nice(10);
}
