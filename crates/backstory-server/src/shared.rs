//! State that the worker's threads share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::place::Known;
use crate::host::Host;

/// State that the worker's threads share.
pub(crate) struct Shared {
    pub(crate) host: Arc<dyn Host>,
    pub(crate) presence: Presence,
}

/// Presence of a worker: whether it stays.
pub struct Presence {
    /// The lock's file. When it is gone so is the store, which must not come back because of us.
    lock: Known,
    /// True if something was done since the last look that keeps the worker from leaving idle.
    worked: AtomicBool,
    leaving: Mutex<bool>,
    told: Condvar,
}

impl Presence {
    pub(crate) fn new(lock: Known) -> Self {
        Presence {
            lock,
            worked: AtomicBool::new(false),
            leaving: Mutex::new(false),
            told: Condvar::new(),
        }
    }

    /// Returns whether the store is there.
    pub fn has_store(&self) -> bool {
        self.lock.is_there()
    }

    /// Notes activity, which keeps the worker from leaving idle.
    pub fn note_work(&self) {
        self.worked.store(true, Ordering::Relaxed);
    }

    /// Returns whether something was done since the last call.
    pub(crate) fn take_work(&self) -> bool {
        self.worked.swap(false, Ordering::Relaxed)
    }

    /// Waits for this time or until the worker leaves; returns whether it leaves.
    pub fn wait(&self, time: Duration) -> bool {
        let leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .told
            .wait_timeout_while(leaving, time, |leaving| !*leaving);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Notifies all threads that the worker leaves.
    pub(crate) fn leave(&self) {
        *self.leaving.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.told.notify_all();
    }
}
