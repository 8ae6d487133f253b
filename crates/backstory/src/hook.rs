//! What agents call while they work. Nothing that happens here may hold an agent up or fail it.
//!
//! So it does not go through the command line's parser, which refuses; it opens the store with little patience and spools what it
//! cannot store; a watchdog spools and leaves when even that takes too long; and it always exits with 0.

mod call;
mod tell;
mod watchdog;

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use backstory_memory::hook::{self, Happening, HookInput, Unreadable};
use backstory_memory::{Capture, Captured, LogEvent, Memory, Sources, log_event};

pub(crate) use self::call::Call;
use self::tell::tell;
use self::watchdog::Watchdog;
use crate::commands::sweep::options as sweep_options;
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
/// How many captures that wait in the spool one hook takes along.
const TAKEN_ALONG: usize = 32;
/// A log that grew by more is left to the worker.
const LITTLE: u64 = 4 << 20;

/// Does what the agent called for. Never fails.
pub(crate) fn run(call: &Call) {
    // A fault of ours is no fault of the agent's.
    std::panic::set_hook(Box::new(|_| leave()));
    let started = Instant::now();
    let Some(setting) = Setting::for_hook(call.config.as_deref()) else {
        return;
    };
    let watchdog = Watchdog::start(&setting);
    let read = listen(call);
    let mut event = LogEvent::new("hook.capture", now());
    match read {
        Ok(input) if is_ours(&setting, &input) => return,
        Ok(input) => {
            event.agent = Some(input.agent.name().to_string());
            event = event.with("event", input.event.as_ref());
            let capture = Arc::new(Capture::new(input, event.at));
            let taken = take(&setting, &watchdog, &capture);
            event = event.with("kept", taken.kept);
            event.tokens = tell(&setting, &capture.input);
            if let Some(error) = taken.error {
                event = event.with("error", error);
            }
        }
        Err(unreadable) => {
            event.name = "hook.unreadable".to_string();
            event.agent.clone_from(&call.agent);
            event = event
                .with("event", call.event.as_deref().unwrap_or_default())
                .with("error", unreadable.to_string());
        }
    }
    event.duration_us = Some(started.elapsed().as_micros() as u64);
    log_event(&setting.store, &event);
    leave();
}

/// Hears what the agent says, to the end of it or of the object that it is: not every agent closes its side.
fn listen(call: &Call) -> Result<HookInput, Unreadable> {
    let understood = |bytes: &[u8]| hook::read(call.agent.as_deref(), call.event.as_deref(), bytes);
    let mut stdin = std::io::stdin().lock();
    let (mut bytes, mut piece, mut looks) = (Vec::new(), vec![0; PIECE], 0);
    while bytes.len() < MOST_INPUT {
        match stdin.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => bytes.extend_from_slice(&piece[..length]),
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
        || !setting.config.is_enabled(input.agent.name())
}

/// Where a capture ended up, and what went wrong.
struct Taken {
    kept: &'static str,
    error: Option<String>,
}

fn take(setting: &Setting, watchdog: &Watchdog, capture: &Arc<Capture>) -> Taken {
    let redactor = || (setting.config.redact == Redact::On).then(|| watchdog.redactor());
    // Making a store takes long where disks are slow. Whoever gave up in the middle of it would leave it to the next, for ever.
    let limit = setting.has_store().then_some(CAPTURE_LIMIT);
    watchdog.expect(Arc::clone(capture), limit);
    let stored = Memory::open_within(&setting.store, PATIENCE).and_then(|mut memory| {
        let captured = memory.capture(capture, redactor())?;
        Ok((memory, captured))
    });
    watchdog.relax();
    match stored {
        Ok((_, Captured::Forgotten)) => Taken {
            kept: "nowhere",
            error: None,
        },
        Ok((mut memory, Captured::Stored(session))) => {
            let followed = follow_up(setting, &mut memory, capture, session);
            let handed = hand_over(setting, &memory, capture);
            let error = followed.and(handed).err();
            // Closing it takes as long as storing did, and the process ends anyway.
            std::mem::forget(memory);
            Taken {
                kept: "store",
                error: error.map(|error| error.to_string()),
            }
        }
        Err(error) => match setting.spool().put(capture, redactor().as_ref()) {
            Ok(()) => Taken {
                kept: "spool",
                error: Some(error.to_string()),
            },
            Err(full) => Taken {
                kept: "nowhere",
                error: Some(format!("{error}; {full}")),
            },
        },
    }
}

/// What is done once the capture is safe. If it is not done, the next hook, the worker or a sweep does it.
fn follow_up(
    setting: &Setting,
    memory: &mut Memory,
    capture: &Capture,
    session: Option<i64>,
) -> backstory_memory::Result<()> {
    let spool = setting.spool();
    if !spool.is_empty() {
        memory.drain(&spool, TAKEN_ALONG)?;
    }
    match (&capture.input.happening, session) {
        (Happening::ToolUsed(_), Some(session)) => {
            let started = Instant::now();
            let seen = memory.see_written(capture, session)?;
            if seen > 0 {
                let mut event = LogEvent::new("ast.snapshot", now()).with("files", seen);
                event.duration_us = Some(started.elapsed().as_micros() as u64);
                log_event(&setting.store, &event);
            }
        }
        (Happening::Stopped { .. } | Happening::Compacting { .. }, Some(_)) => {
            let agent = capture.input.agent.name();
            let mut options = sweep_options(setting, &[], Some(agent));
            options.workers = 1;
            match &capture.input.transcript {
                Some(log) if !Path::new(log).is_file() => options.sources = Sources::default(),
                Some(log) => options.sources = Sources::paths([log]),
                // It does not say which; of all the agent's logs few will have grown.
                None => {}
            }
            memory.sweep_little(&options, LITTLE)?;
        }
        _ => {}
    }
    memory.tidy_now()
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
    if !goes_on && memory.has_work(now())? {
        #[cfg(unix)]
        crate::worker::start_detached(setting);
    }
    Ok(())
}
