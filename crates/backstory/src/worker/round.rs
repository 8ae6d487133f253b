//! What the worker does on its own.
//!
//! Sweeps run in a process of their own: what one takes of memory is gone when it is over, it can give way to all others, and a
//! worker that leaves does not have to wait for it. It ends when the worker does, however that comes.

use std::io::{self, Read};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use backstory_memory::Memory;

use super::api::Opened;
use super::shared::Shared;
use super::start::own_program;
use crate::commands::sweep;
use crate::error::Error;
use crate::setting::Setting;

/// So often it looks whether there is something to do.
const PAUSE: Duration = Duration::from_secs(1);

/// Begins the rounds; they end when the worker leaves.
pub(super) fn start(shared: &Arc<Shared>) -> io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    std::thread::Builder::new()
        .name("rounds".to_string())
        .spawn(move || go(&shared))
}

fn go(shared: &Shared) {
    let mut memory = Opened::default();
    let mut running: Option<Sweep> = None;
    // What was written while there was no worker is taken in first.
    let mut next = Instant::now();
    while !shared.wait(PAUSE) && shared.lock.is_there() {
        // Failing, it is tried again: the disk may be full, the store locked.
        let worked = memory.writer(&shared.setting);
        let worked = worked.and_then(|memory| work(&shared.setting, memory));
        let mut worked = worked.unwrap_or(false);
        match running.as_mut().map(Sweep::found) {
            Some(None) => {}
            Some(Some(found)) => {
                worked |= found;
                running = None;
                // As it is configured now.
                let renewed = shared.setting.renewed();
                let config = &renewed.as_ref().unwrap_or(&shared.setting).config;
                next = Instant::now() + Duration::from_secs(60 * config.cadence.minutes());
            }
            None if Instant::now() >= next => running = Sweep::start(&shared.setting).ok(),
            None => {}
        }
        if worked {
            shared.worked.store(true, Ordering::Relaxed);
        }
    }
}

/// Does what is queued, and tells whether there was something. Called about once a second.
fn work(_setting: &Setting, _memory: &mut Memory) -> Result<bool, Error> {
    Ok(false)
}

/// A sweep of all sources in a process of its own; dropped, it is ended.
pub(super) struct Sweep {
    child: Child,
}

impl Sweep {
    pub(super) fn start(setting: &Setting) -> io::Result<Self> {
        let mut command = own_program(setting)?;
        // It reads nothing, but sees by this when we are gone.
        command.args(["worker", "round"]).stdin(Stdio::piped());
        Ok(Sweep {
            child: command.spawn()?,
        })
    }

    /// Whether it found something; `None` while it runs.
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

impl Drop for Sweep {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the process of a sweep does: takes in all that is new, and tells whether there was something. Ends with its worker.
pub(crate) fn sweep_for_worker(setting: &Setting) -> Result<bool, Error> {
    std::thread::Builder::new().spawn(|| {
        while io::stdin().read(&mut [0]).is_ok_and(|read| read > 0) {}
        leave();
    })?;
    give_way();
    // A store that was removed meanwhile does not come back.
    let mut memory = setting.memory_to_write()?;
    let mut options = sweep::options(setting, &[], None);
    options.workers = 1;
    let report = memory.sweep(&options, &mut |_| {})?;
    sweep::embed_new(setting, &mut memory)?;
    Ok(report.bytes_read > 0)
}

#[allow(
    clippy::exit,
    reason = "a sweep may be stopped at any instant, and must be when its worker is gone"
)]
fn leave() {
    std::process::exit(0);
}

/// Lets all others go first.
fn give_way() {
    let _ = rustix::process::nice(10);
}
