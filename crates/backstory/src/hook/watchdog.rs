//! Ends a hook in time, and sees to it that what the agent gave is kept or leaves a marker.
//!
//! The watchdog itself neither redacts nor writes: either may take any time. It lets other threads do that, one for the text when the
//! store is slow, one for the marker when the text is not safe by then, and ends the process at its deadline whatever they are at.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use backstory_memory::capture::{Capture, Spool};
use backstory_memory::{EventLog, EventType, LogEvent, hook, random_key};
use backstory_redact::Redactor;

use super::Call;
use super::log::capture_event;
use crate::config::Redact;
use crate::setting::{Setting, now};

/// A hook takes no longer, whatever it is at; what is left then is for others.
const WHOLE_LIMIT: Duration = Duration::from_secs(2);

/// What is not kept by then leaves a marker. To write one takes milliseconds; the rest is for busy machines and slow disks.
const MARKER_LIMIT: Duration = Duration::from_millis(1500);

/// A thread that ends the process when its time is up.
pub(super) struct Watchdog {
    shared: Arc<Shared>,
}

struct Shared {
    started: Instant,
    state: Mutex<State>,
    changed: Condvar,
    /// Number of bytes that the agent gave so far.
    bytes: AtomicU64,
}

struct State {
    /// When the watchdog looks again.
    until: Instant,
    /// Where things are kept; `None` while that is not known, or nothing is to be kept.
    keeper: Option<Arc<Keeper>>,
    pending: Pending,
    /// Whether a thread was started to spool the text.
    spools_text: bool,
    /// Whether a thread was started to spool a marker.
    spools_marker: bool,
}

/// What would be lost if the process ended now.
#[derive(Clone)]
enum Pending {
    /// Something that is not understood yet.
    Unheard,
    /// A marker of something whose text is not understood yet.
    Head(Arc<Capture>),
    /// Something with its secrets.
    Understood(Arc<Capture>),
    /// The same, while its secrets are being taken out.
    Redacting(Arc<Capture>),
    /// What is to be kept of it.
    Cleaned(Arc<Capture>),
    /// Nothing: it is kept, or there is nothing to keep.
    Nothing,
}

/// Keeps captures outside the store.
struct Keeper {
    spool: Spool,
    store: std::path::PathBuf,
    redact: bool,
    agent: Option<String>,
    event: Option<String>,
}

impl Watchdog {
    /// Starts the watch. What is to be kept where is said later, for finding that out may take long as well.
    pub(super) fn start() -> Self {
        let started = Instant::now();
        let shared = Arc::new(Shared {
            started,
            state: Mutex::new(State {
                until: started + MARKER_LIMIT,
                keeper: None,
                pending: Pending::Unheard,
                spools_text: false,
                spools_marker: false,
            }),
            changed: Condvar::new(),
            bytes: AtomicU64::new(0),
        });
        let watched = Arc::clone(&shared);
        let watch = move || {
            watch(&watched);
            super::leave();
        };
        // Without a thread there is no watch; the agent has its own.
        let _ = std::thread::Builder::new().spawn(watch);
        Watchdog { shared }
    }

    /// Says where things are kept, and what the agent was asked to call for.
    pub(super) fn keep_in(&self, setting: &Setting, call: &Call) {
        let keeper = Keeper {
            spool: setting.spool(),
            store: setting.store.clone(),
            redact: setting.config.redact == Redact::On,
            agent: call.agent.clone(),
            event: call.event.clone(),
        };
        self.shared.lock().keeper = Some(Arc::new(keeper));
    }

    /// Counts what the agent gave.
    pub(super) fn count_bytes(&self, bytes: usize) {
        self.shared.bytes.store(bytes as u64, Ordering::Relaxed);
    }

    /// Number of bytes that the agent gave.
    pub(super) fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// It is known who speaks of what, but not yet what was said.
    pub(super) fn expect_text(&self, head: &Capture) {
        let marker = Arc::new(head.marker(self.bytes()));
        self.set_pending(Pending::Head(marker), None);
    }

    /// Something is understood, and the store is opened for it within this time, if it is short.
    pub(super) fn expect_store(&self, capture: &Arc<Capture>, limit: Option<Duration>) {
        self.set_pending(Pending::Understood(Arc::clone(capture)), limit);
    }

    /// Secrets are being taken out, which takes as long as it takes.
    pub(super) fn expect_redaction(&self, capture: &Arc<Capture>) {
        self.set_pending(Pending::Redacting(Arc::clone(capture)), None);
    }

    /// What is to be kept is known, and is being stored within this time, if it is short.
    pub(super) fn expect_stored(&self, cleaned: &Arc<Capture>, limit: Option<Duration>) {
        self.set_pending(Pending::Cleaned(Arc::clone(cleaned)), limit);
    }

    /// Leaves a marker of what was heard so far and ends the process, unless it does not get to it.
    pub(super) fn leave_marker(&self) {
        let keeper = self.shared.lock().keeper.clone();
        if let Some(keeper) = keeper {
            keeper.put_marker(Pending::Unheard, self.bytes(), self.shared.started);
        }
    }

    /// It is kept, or there is nothing to keep.
    pub(super) fn relax(&self) {
        self.set_pending(Pending::Nothing, None);
    }

    fn set_pending(&self, pending: Pending, limit: Option<Duration>) {
        let mut state = self.shared.lock();
        state.pending = pending;
        let latest = self.shared.started + MARKER_LIMIT;
        let until = limit.map_or(latest, |limit| latest.min(Instant::now() + limit));
        // Only an earlier end is worth waking for.
        let is_earlier = until < state.until;
        state.until = until;
        drop(state);
        if is_earlier {
            self.shared.changed.notify_one();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns when the process is to end.
fn watch(shared: &Arc<Shared>) {
    let (marker_at, latest) = (shared.started + MARKER_LIMIT, shared.started + WHOLE_LIMIT);
    let mut state = shared.lock();
    loop {
        let now = Instant::now();
        if now >= latest {
            return;
        }
        let mut until = state.until;
        if now >= marker_at {
            if !state.spools_marker {
                state.spools_marker = true;
                spool_marker(shared, &state);
            }
            until = latest;
        } else if now >= until {
            if !state.spools_text {
                state.spools_text = true;
                spool_text(shared, &state);
            }
            until = marker_at;
        }
        let left = until.saturating_duration_since(now);
        let waited = shared.changed.wait_timeout(state, left);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Spools what the main thread cannot store in time, and ends the process once that is done.
fn spool_text(shared: &Arc<Shared>, state: &State) {
    let Some(keeper) = state.keeper.clone() else {
        return;
    };
    let (capture, is_clean) = match &state.pending {
        Pending::Understood(capture) => (Arc::clone(capture), false),
        Pending::Cleaned(capture) => (Arc::clone(capture), true),
        _ => return,
    };
    let (started, bytes) = (shared.started, shared.bytes.load(Ordering::Relaxed));
    let work = move || {
        let kept = match is_clean {
            true => keeper.spool.put(&capture),
            false => keeper.spool.put(&capture.clean(keeper.redactor().as_ref())),
        };
        // If not, the main thread may still store it, and a marker may find a place later.
        if kept.is_ok() {
            keeper.log_late(Some(&capture), "spool", bytes, started);
            super::leave();
        }
    };
    let _ = std::thread::Builder::new().spawn(work);
}

/// Spools a marker of what is not kept by now, and ends the process.
fn spool_marker(shared: &Arc<Shared>, state: &State) {
    let Some(keeper) = state.keeper.clone() else {
        return;
    };
    let (pending, started) = (state.pending.clone(), shared.started);
    let bytes = shared.bytes.load(Ordering::Relaxed);
    if matches!(pending, Pending::Nothing) {
        return;
    }
    let work = move || {
        keeper.put_marker(pending, bytes, started);
        super::leave();
    };
    let _ = std::thread::Builder::new().spawn(work);
}

impl Keeper {
    fn redactor(&self) -> Option<Redactor> {
        self.redact.then(new_redactor)
    }

    /// Spools a marker, or leaves a trace where even that has no place.
    fn put_marker(&self, pending: Pending, bytes: u64, started: Instant) {
        let marker = match pending {
            Pending::Nothing => return,
            Pending::Unheard if bytes == 0 => None,
            Pending::Unheard => self.unheard_capture(bytes),
            Pending::Head(marker) => Some((*marker).clone()),
            Pending::Understood(capture)
            | Pending::Redacting(capture)
            | Pending::Cleaned(capture) => Some(capture.marker(bytes)),
        };
        let Some(marker) = marker else {
            return self.log_late(None, "nowhere", bytes, started);
        };
        let marker = marker.clean(self.redactor().as_ref());
        let kept = match self.spool.put(&marker) {
            Ok(()) => "marker",
            Err(_) => {
                let _ = self.spool.put_trace(&marker);
                "nowhere"
            }
        };
        self.log_late(Some(&marker), kept, bytes, started);
    }

    /// Marker of input that is not understood: only what the hook was registered for is known.
    fn unheard_capture(&self, bytes: u64) -> Option<Capture> {
        let head = hook::read(self.agent.as_deref(), self.event.as_deref(), b"{}").ok()?;
        Some(Capture::new(head, now()).marker(bytes))
    }

    fn log_late(&self, capture: Option<&Capture>, kept: &str, bytes: u64, started: Instant) {
        let event = match capture {
            Some(capture) => capture_event(capture, now(), bytes),
            None => {
                let mut event = LogEvent::new(EventType::HookLate, now());
                event.agent.clone_from(&self.agent);
                event
            }
        };
        let event = event.with("kept", kept).with("late", true);
        EventLog::of_store(&self.store).append(&[event.taking(started.elapsed())]);
    }
}

/// Returns a redactor with a random key, for when the store cannot be opened to read its own.
pub(super) fn new_redactor() -> Redactor {
    Redactor::new(random_key())
}
