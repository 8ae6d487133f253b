//! What the worker does on its own, in a thread that gives way to all others.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use backstory_memory::Memory;

use super::api::Opened;
use super::shared::Shared;
use crate::commands::sweep;
use crate::error::Error;
use crate::setting::Setting;

/// So often it looks whether there is something to do.
const PAUSE: Duration = Duration::from_secs(1);

/// Begins the rounds; they end when the worker leaves.
pub(super) fn start(shared: &Arc<Shared>) -> std::io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    std::thread::Builder::new()
        .name("rounds".to_string())
        .spawn(move || go(&shared))
}

fn go(shared: &Shared) {
    give_way();
    let mut memory = Opened::default();
    // What was written while there was no worker is taken in first.
    let mut next = Instant::now();
    while !shared.wait(PAUSE) {
        if !shared.lock.is_there() {
            return;
        }
        // Failing, it is tried again: the disk may be full, the store locked.
        let worked = memory.writer(&shared.setting);
        let worked = worked.and_then(|memory| work(shared, memory));
        if worked.unwrap_or(false) {
            shared.worked.store(true, Ordering::Relaxed);
        }
        if Instant::now() >= next {
            let setting = shared.setting.renewed();
            let setting = setting.as_ref().unwrap_or(&shared.setting);
            if sweep_all(setting, &mut memory).unwrap_or(false) {
                shared.worked.store(true, Ordering::Relaxed);
            }
            next = Instant::now() + Duration::from_secs(60 * setting.config.cadence.minutes());
        }
    }
}

/// Does what hooks left to do, and tells whether there was something. Called about once a second.
fn work(shared: &Shared, memory: &mut Memory) -> Result<bool, Error> {
    let worked = sweep::catch_up(&shared.setting, memory, &mut || {
        !shared.wait(Duration::ZERO)
    })?;
    Ok(worked > 0)
}

/// Takes in all that is new, and tells whether there was something.
fn sweep_all(setting: &Setting, opened: &mut Opened) -> Result<bool, Error> {
    let memory = opened.writer(setting)?;
    let mut options = sweep::options(setting, &[], None);
    options.workers = 1;
    let report = memory.sweep(&options, &mut |_| {})?;
    sweep::embed_new(setting, memory)?;
    // Its caches are large after a sweep, and the next one is far.
    opened.close();
    Ok(report.bytes_read > 0)
}

/// Lets all others go first. Linux counts that for each thread; elsewhere it would slow down answers, too.
fn give_way() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(10);
}
