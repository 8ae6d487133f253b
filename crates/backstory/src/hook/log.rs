//! What a hook leaves in the event log: all of it in one write, once everything else is done.

use std::time::Duration;

use backstory_event::TimeMs;
use backstory_memory::capture::Capture;
use backstory_memory::context::{Context, Occasion};
use backstory_memory::hook::Happening;
use backstory_memory::{EventType, LogEvent, count_tokens};
use backstory_redact::Redactor;

/// Number of paths of a tool use that are logged.
const MAX_PATHS: usize = 20;
/// Size of the longest path that is logged. A longer one is left out: half of it could be half of a secret.
const MAX_PATH_BYTES: usize = 1 << 10;

/// The event of a capture of so many bytes, without anything of its session.
pub(super) fn capture_event(capture: &Capture, at: TimeMs, bytes: u64) -> LogEvent {
    let tool = match &capture.input.happening {
        Happening::ToolUsed(tool) if !tool.name.is_empty() => Some(tool.name.as_str()),
        _ => None,
    };
    let mut event = LogEvent::new(EventType::HookCapture, at)
        .with("event", capture.input.event.as_ref())
        .with("tool", tool.filter(|name| name.len() <= MAX_PATH_BYTES))
        .with("raw_size", bytes)
        .with("paths", Vec::<String>::new());
    event.agent = Some(capture.input.agent.name.to_string());
    event
}

/// Paths of the files that a capture names, as they are stored.
pub(super) fn logged_paths(cleaned: &Capture, redactor: Option<&Redactor>) -> Vec<String> {
    let Happening::ToolUsed(tool) = &cleaned.input.happening else {
        return Vec::new();
    };
    let mut paths: Vec<String> = Vec::new();
    for touch in &tool.touches {
        let path = match redactor {
            Some(redactor) => redactor.redact_path(&touch.path).into_owned(),
            None => touch.path.clone(),
        };
        if path.len() <= MAX_PATH_BYTES && paths.len() < MAX_PATHS && !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// The event of a capture that has its session summarized; `None` when it does not.
pub(super) fn summary_event(cleaned: &Capture, at: TimeMs) -> Option<LogEvent> {
    let reply = match &cleaned.input.happening {
        Happening::Stopped { reply, .. } => reply.as_deref(),
        Happening::Compacting { .. } | Happening::Ended { .. } => None,
        _ => return None,
    };
    let tokens = reply.map_or(0, count_tokens);
    Some(LogEvent::new(EventType::HookSummary, at).with("tokens", tokens))
}

/// The events of a context: what it is made of, and whether it was given to the agent.
pub(super) fn context_events(
    context: &Result<Context, String>,
    occasion: Occasion,
    is_given: bool,
    at: TimeMs,
    took: Duration,
) -> Vec<LogEvent> {
    let moment = match occasion {
        Occasion::Start | Occasion::Resume | Occasion::Compaction => "start",
        Occasion::Prompt => "prompt",
    };
    let inject = LogEvent::new(EventType::HookContextInject, at)
        .with("moment", moment)
        .taking(took);
    match context {
        Err(error) => vec![
            inject
                .with("layers", Vec::<String>::new())
                .with("tokens", 0)
                .with("budget", 0)
                .failed(Some(error.as_str())),
        ],
        Ok(context) => {
            let made = context.budget_event(at).taking(took);
            let mut inject = inject
                .with("layers", context.included_layers())
                .with("tokens", context.tokens)
                .with("budget", context.budget);
            inject.tokens_out = Some(context.tokens as u64);
            is_given
                .then_some(inject)
                .into_iter()
                .chain([made])
                .collect()
        }
    }
}
