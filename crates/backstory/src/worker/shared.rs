//! What the worker's threads share.

use std::sync::atomic::AtomicBool;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::place::Known;
use crate::setting::Setting;

/// What the worker's threads share.
pub(super) struct Shared {
    pub(super) setting: Setting,
    /// The lock's file. When it is gone so is the store, which must not come back because of us.
    pub(super) lock: Known,
    /// Set by whoever did something that was worth staying for.
    pub(super) worked: AtomicBool,
    leaving: Mutex<bool>,
    told: Condvar,
}

impl Shared {
    pub(super) fn new(setting: Setting, lock: Known) -> Self {
        Shared {
            setting,
            lock,
            worked: AtomicBool::new(false),
            leaving: Mutex::new(false),
            told: Condvar::new(),
        }
    }

    /// Waits, but not for longer than the worker stays; tells whether it leaves.
    pub(super) fn wait(&self, time: Duration) -> bool {
        let leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .told
            .wait_timeout_while(leaving, time, |leaving| !*leaving);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Tells all threads that the worker leaves.
    pub(super) fn leave(&self) {
        *self.leaving.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.told.notify_all();
    }
}
