//! Sees to it that a hook ends in time, and that what it was told is kept.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use backstory_memory::{Capture, LogEvent, Spool, log_event, random_key};
use backstory_session::redact::Redactor;

use crate::config::Redact;
use crate::setting::{Setting, now};

/// A hook takes no longer, whatever it is at; what is left then is for others.
const WHOLE_LIMIT: Duration = Duration::from_secs(2);

/// A thread that ends the process when its time is up.
pub(super) struct Watchdog {
    shared: Arc<(Mutex<State>, Condvar)>,
    /// When the process ends at the latest.
    latest: Instant,
    redactors: Receiver<Redactor>,
}

struct State {
    until: Instant,
    /// What was told, once it is understood.
    capture: Option<Arc<Capture>>,
    /// Whether that is kept, or the main thread sees to it.
    is_safe: bool,
}

impl Watchdog {
    pub(super) fn start(setting: &Setting) -> Self {
        let started = Instant::now();
        let latest = started + WHOLE_LIMIT;
        let state = State {
            until: latest,
            capture: None,
            is_safe: false,
        };
        let shared = Arc::new((Mutex::new(state), Condvar::new()));
        let watched = Arc::clone(&shared);
        let (spool, store) = (setting.spool(), setting.store.clone());
        let redact = setting.config.redact == Redact::On;
        let (ready, redactors) = channel();
        let watch = move || {
            if redact {
                // While the others listen and open the store.
                let _ = ready.send(new_redactor());
            }
            drop(ready);
            let state = wait(&watched);
            let mut event = late(&state, &spool, redact.then(new_redactor).as_ref());
            event.duration_us = Some(started.elapsed().as_micros() as u64);
            log_event(&store, &event);
            super::leave();
        };
        // Without a thread there is no watch; the agent has its own.
        let _ = std::thread::Builder::new().spawn(watch);
        Watchdog {
            shared,
            latest,
            redactors,
        }
    }

    /// What takes secrets out: the one that was made meanwhile, or another.
    pub(super) fn redactor(&self) -> Redactor {
        self.redactors.recv().unwrap_or_else(|_| new_redactor())
    }

    /// Something is to be kept within this time, if it is short.
    pub(super) fn expect(&self, capture: Arc<Capture>, limit: Option<Duration>) {
        let mut state = lock(&self.shared.0);
        state.capture = Some(capture);
        let until = limit.map(|limit| Instant::now() + limit);
        state.until = until.map_or(self.latest, |until| until.min(self.latest));
        self.shared.1.notify_one();
    }

    /// It is kept, or the main thread sees to it from here, with the time that is left. While the watchdog itself is at it, this
    /// waits for the end of the process.
    pub(super) fn relax(&self) {
        let mut state = lock(&self.shared.0);
        state.is_safe = true;
        state.until = self.latest;
    }
}

/// Waits until the time is up. While somebody holds what this gives, nobody else gets on.
fn wait(shared: &(Mutex<State>, Condvar)) -> MutexGuard<'_, State> {
    let mut state = lock(&shared.0);
    loop {
        let left = state.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return state;
        }
        let waited = shared.1.wait_timeout(state, left);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Keeps what is not kept yet, and tells of it.
fn late(state: &State, spool: &Spool, redactor: Option<&Redactor>) -> LogEvent {
    let mut event = LogEvent::new("hook.late", now());
    if let Some(capture) = &state.capture {
        event.name = "hook.capture".to_string();
        event.agent = Some(capture.input.agent.name().to_string());
        event = event.with("event", capture.input.event.as_ref());
        let kept = if state.is_safe {
            "store"
        } else if spool.put(capture, redactor).is_ok() {
            "spool"
        } else {
            "nowhere"
        };
        event = event.with("kept", kept).with("late", true);
    }
    event
}

/// Its key is nobody's: the store has its own.
fn new_redactor() -> Redactor {
    Redactor::new(random_key())
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
