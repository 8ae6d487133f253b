//! What agents call while they work. Nothing that happens here may hold an agent up or fail it.
//!
//! So it does not go through the command line's parser, which refuses; it opens the store with little patience and spools what it
//! cannot store; a watchdog has that done when it takes too long, leaves a marker when it takes longer still, and ends the process;
//! and it always exits with 0.

mod call;
mod log;
mod tell;
mod watchdog;

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use backstory_memory::capture::Captured;
use backstory_memory::capture::{Capture, DrainLimits};
use backstory_memory::hook::{self, Happening, HookInput, Unreadable};
use backstory_memory::{EventLog, EventType, LogEvent, Memory, SessionId};
use backstory_redact::Redactor;

pub(crate) use self::call::Call;
use self::log::{capture_event, logged_paths, summary_event};
use self::tell::tell;
use self::watchdog::{Watchdog, new_redactor};
use crate::config::Redact;
use crate::setting::{Setting, now, own_session};

/// How long other processes are waited for.
const PATIENCE: Duration = Duration::from_millis(40);
/// After this a capture goes to the spool, whatever the store is at.
const CAPTURE_LIMIT: Duration = Duration::from_millis(100);
/// More input is not read; no agent sends it.
const MOST_INPUT: usize = 32 << 20;
/// Most of what agents say is shorter.
const PIECE: usize = 16 << 10;
/// How often it is looked whether all was said while more could come.
const LOOKS: usize = 4;
/// Captures that wait in the spool and that one hook takes along. They are redacted once more, so it must not be much.
const TAKEN_ALONG: DrainLimits = DrainLimits {
    captures: 32,
    bytes: 1 << 20,
};
/// A log that grew by more is left to the worker.
const LITTLE: u64 = 4 << 20;

/// Does what the agent called for. Never fails.
pub(crate) fn run(call: &Call) {
    // A fault of ours is no fault of the agent's.
    std::panic::set_hook(Box::new(|_| leave()));
    let started = Instant::now();
    let watchdog = Watchdog::start();
    let Some(setting) = Setting::for_hook(call.config.as_deref()) else {
        return;
    };
    if !own_session() {
        watchdog.keep_in(&setting, call);
    }
    match listen(call, &watchdog) {
        Ok(input) if is_ours(&setting, &input) => return,
        Ok(input) => {
            let at = now();
            let capture = Arc::new(Capture::new(input, at));
            let taken = take(&setting, &watchdog, &capture);
            let mut events = taken.events;
            events.extend(tell(&setting, &capture.input));
            let mut event = capture_event(&capture, at, watchdog.bytes())
                .with("kept", taken.kept)
                .failed(taken.error);
            // If the capture was not stored, its session may have been forgotten: do not log its id.
            let mut session = None;
            if let Some((cleaned, paths)) = taken.stored {
                events.extend(summary_event(&cleaned, at));
                event = event.with("paths", paths);
                session.clone_from(&cleaned.input.session);
            }
            events.push(event.taking(started.elapsed()));
            for event in &mut events {
                event.session_id.clone_from(&session);
                event.agent = Some(capture.input.agent.name.to_string());
            }
            EventLog::of_store(&setting.store).append(&events);
        }
        Err(unreadable) => {
            if watchdog.bytes() >= MOST_INPUT as u64 {
                // It was not read to its end.
                watchdog.leave_marker();
            }
            watchdog.relax();
            let mut event = LogEvent::new(EventType::HookUnreadable, now())
                .with("event", call.event.as_deref().unwrap_or_default())
                .with("raw_size", watchdog.bytes())
                .taking(started.elapsed())
                .failed(Some(unreadable.to_string()));
            event.agent.clone_from(&call.agent);
            EventLog::of_store(&setting.store).append(&[event]);
        }
    }
    leave();
}

/// Hears what the agent says, to the end of it or of the object that it is: not every agent closes its side.
fn listen(call: &Call, watchdog: &Watchdog) -> Result<HookInput, Unreadable> {
    let (agent, event) = (call.agent.as_deref(), call.event.as_deref());
    let mut on_head = |head: &HookInput| watchdog.expect_text(&Capture::new(head.clone(), now()));
    let mut understood = |bytes: &[u8]| hook::read_with_head(agent, event, bytes, &mut on_head);
    let mut stdin = std::io::stdin().lock();
    let (mut bytes, mut piece, mut looks) = (Vec::new(), vec![0; PIECE], 0);
    while bytes.len() < MOST_INPUT {
        match stdin.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => {
                bytes.extend_from_slice(&piece[..length]);
                watchdog.count_bytes(bytes.len());
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // What came before it may be whole.
            Err(_) => break,
        }
        if looks < LOOKS && bytes.trim_ascii_end().ends_with(b"}") {
            looks += 1;
            if let Ok(input) = understood(&bytes) {
                return Ok(input);
            }
        }
    }
    understood(&bytes)
}

/// Ends the process at once: closing the store in good order takes longer than all the rest, and needs nobody.
#[allow(clippy::exit, reason = "nothing that is left undone here matters")]
fn leave() {
    std::process::exit(0);
}

/// Whether a session is one that Backstory itself caused, or of an agent that is not to be remembered.
fn is_ours(setting: &Setting, input: &HookInput) -> bool {
    let below_store = |folder: &str| Path::new(folder).starts_with(&setting.store);
    own_session()
        || input.cwd.as_deref().is_some_and(below_store)
        || !setting.config.is_enabled(input.agent.name)
}

/// Where a capture ended up, and what went wrong.
#[derive(Default)]
struct Taken {
    kept: &'static str,
    error: Option<String>,
    /// What was stored of it, and the paths that it names.
    stored: Option<(Arc<Capture>, Vec<String>)>,
    /// What was done besides.
    events: Vec<LogEvent>,
}

fn take(setting: &Setting, watchdog: &Watchdog, capture: &Arc<Capture>) -> Taken {
    let redact = setting.config.redact == Redact::On;
    // Making a store takes long where disks are slow. Whoever gave up in the middle of it would leave it to the next, for ever.
    let limit = setting.has_store().then_some(CAPTURE_LIMIT);
    watchdog.expect_store(capture, limit);
    let opened = Memory::open_within(&setting.store, PATIENCE).and_then(|memory| {
        let redactor = redact.then(|| memory.store_redactor());
        Ok((memory, redactor.transpose()?))
    });
    let (opened, redactor) = match opened {
        Ok((memory, redactor)) => (Ok(memory), redactor),
        Err(error) => (Err(error), redact.then(new_redactor)),
    };
    watchdog.expect_redaction(capture);
    let cleaned = Arc::new(capture.clean(redactor.as_ref()));
    watchdog.expect_stored(&cleaned, limit);
    let stored = opened.and_then(|memory| {
        let captured = memory.captures().store(&cleaned, redactor.as_ref())?;
        Ok((memory, captured))
    });
    match stored {
        Ok((_, Captured::Forgotten)) => {
            watchdog.relax();
            Taken {
                kept: "nowhere",
                ..Taken::default()
            }
        }
        Ok((memory, Captured::Stored(session))) => {
            watchdog.relax();
            let mut events = Vec::new();
            let redactor = redactor.as_ref();
            let followed = follow_up(setting, &memory, capture, session, redactor, &mut events);
            let handed = hand_over(setting, &memory, capture);
            let error = followed
                .and(handed.map_err(|error| error.to_string()))
                .err();
            // Closing it takes as long as storing did, and the process ends anyway.
            std::mem::forget(memory);
            let paths = logged_paths(&cleaned, redactor);
            Taken {
                kept: "store",
                error,
                stored: Some((cleaned, paths)),
                events,
            }
        }
        Err(error) => {
            let spool = setting.spool();
            let put = spool.put(&cleaned);
            let taken = match put {
                Ok(()) => Taken {
                    kept: "spool",
                    error: Some(error.to_string()),
                    ..Taken::default()
                },
                Err(full) => {
                    let _ = spool.put_trace(&cleaned);
                    Taken {
                        kept: "nowhere",
                        error: Some(format!("{error}; {full}")),
                        ..Taken::default()
                    }
                }
            };
            watchdog.relax();
            taken
        }
    }
}

/// What is done once the capture is safe. If it is not done, the next hook, the worker or a sweep does it.
fn follow_up(
    setting: &Setting,
    memory: &Memory,
    capture: &Capture,
    session: Option<SessionId>,
    redactor: Option<&Redactor>,
    events: &mut Vec<LogEvent>,
) -> Result<(), String> {
    let spool = setting.spool();
    if !spool.is_empty() {
        let drained = memory.captures().drain_some(&spool, TAKEN_ALONG, redactor);
        drained.map_err(|error| error.to_string())?;
    }
    let done = match session {
        Some(session) => {
            let import = |agent: &str| setting.import_options(&[], Some(agent));
            let scans = memory
                .captures()
                .follow_up(capture, session, redactor, import, LITTLE);
            let at = now();
            scans.map(|scans| events.extend(scans.iter().flat_map(|scan| scan.events(at))))
        }
        None => Ok(()),
    };
    let done = done.map_err(|error| error.to_string());
    let tidied = memory
        .upkeep()
        .tidy_now()
        .map_err(|error| error.to_string());
    done.and(tidied)
}

/// Starts a worker for what is left to do, if this was the last that the agent wants for now: a tool that ran can wait until then.
fn hand_over(
    setting: &Setting,
    memory: &Memory,
    capture: &Capture,
) -> backstory_memory::Result<()> {
    let goes_on = matches!(
        capture.input.happening,
        Happening::ToolUsed(_) | Happening::Prompted { .. } | Happening::Replied { .. }
    );
    if !goes_on && memory.captures().has_work(now())? {
        #[cfg(unix)]
        crate::worker::start_detached(setting);
    }
    Ok(())
}
