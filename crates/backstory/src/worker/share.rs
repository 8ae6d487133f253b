//! The worker's part in summarizing with a language model.

use std::time::{Duration, Instant};

use backstory_memory::summarize::Retry;
use backstory_memory::{EventLog, EventType, LogEvent, Memory};

use crate::config::With;
use crate::setting::{Setting, now};

/// No more at once: a round has other things to do.
const SHARE_ITEMS: usize = 50;
const SHARE_TIME: Duration = Duration::from_secs(30);
/// Pause after an error of the API.
const PAUSE_MS: i64 = 15 * 60 * 1000;

/// Offers a few items to the model, and returns the number of those that it summarized. Errors are logged, and the model is left alone for a while.
pub(super) fn share(setting: &Setting, memory: &Memory) -> u64 {
    if setting.config.compress.with == With::BuiltIn
        || memory.summaries().are_paused(now()).unwrap_or(true)
    {
        return 0;
    }
    let Ok(Some(endpoint)) = setting.endpoint() else {
        return 0;
    };
    let mut options = setting.compress_options();
    options.limit = SHARE_ITEMS;
    options.within = Some(SHARE_TIME);
    options.waits = false;
    options.retry = Retry {
        attempts: 2,
        within: SHARE_TIME,
        ..Retry::default()
    };
    let started = Instant::now();
    let report = memory.summaries().run(&endpoint, &options, &mut |_| {});
    let trouble = match &report {
        Ok(report) => report.problem.map(str::to_string),
        Err(error) => Some(error.to_string()),
    };
    if let Some(trouble) = trouble {
        // Nobody sees what a worker prints. The items that failed are logged apart.
        let event = LogEvent::new(EventType::CompressError, now())
            .with("kind", "run")
            .taking(started.elapsed())
            .failed(Some(trouble));
        EventLog::of_store(&setting.store).append(&[event]);
        // Not a reason to fail for a round that did all else.
        let _ = memory.summaries().pause(now().plus_ms(PAUSE_MS));
    }
    report.map_or(0, |report| report.observed + report.summarized)
}
