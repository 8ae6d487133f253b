//! Sees to it that a hook ends in time, and that what it was told is kept.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use backstory_memory::{Capture, Spool};

/// How long an agent may take to say what it wants to say.
const LISTENING_LIMIT: Duration = Duration::from_secs(2);

/// A thread that ends the process when its time is up.
pub(super) struct Watchdog {
    shared: Arc<(Mutex<State>, Condvar)>,
}

struct State {
    until: Instant,
    /// What is not kept yet.
    unsaved: Option<Arc<Capture>>,
}

impl Watchdog {
    pub(super) fn start(spool: Spool, redact: bool) -> Self {
        let state = State {
            until: Instant::now() + LISTENING_LIMIT,
            unsaved: None,
        };
        let shared = Arc::new((Mutex::new(state), Condvar::new()));
        let watched = Arc::clone(&shared);
        // Without a thread there is no watch; the agent has its own.
        let _ = std::thread::Builder::new().spawn(move || watch(&watched, &spool, redact));
        Watchdog { shared }
    }

    /// Something is to be kept within this time.
    pub(super) fn expect(&self, capture: Arc<Capture>, limit: Duration) {
        let mut state = lock(&self.shared.0);
        state.unsaved = Some(capture);
        state.until = Instant::now() + limit;
        self.shared.1.notify_one();
    }

    /// It is kept, or the main thread sees to it from here; so much time is left for the rest. While the watchdog itself is at
    /// it, this waits for the end of the process.
    pub(super) fn relax(&self, limit: Duration) {
        let mut state = lock(&self.shared.0);
        state.unsaved = None;
        state.until = Instant::now() + limit;
    }
}

fn watch(shared: &(Mutex<State>, Condvar), spool: &Spool, redact: bool) {
    let mut state = lock(&shared.0);
    loop {
        let left = state.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let waited = shared.1.wait_timeout(state, left);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    if let Some(capture) = state.unsaved.take() {
        let _ = spool.put(&capture, redact);
    }
    super::leave();
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
