//! What is logged of each item that is offered to a model.

use std::time::Instant;

use backstory_analysis::count_tokens;
use backstory_store::{MetCap, Spending};

use super::Run;
use crate::event_log::{EventLog, EventType, LogEvent};
use crate::summarize::anthropic::Failure;

/// An item that is offered.
pub(super) struct Offered<'a> {
    /// `tool_use`, `prompt` or `session`.
    pub(super) kind: &'static str,
    pub(super) model: &'a str,
    /// The agent's own id of the session.
    pub(super) session: &'a str,
    /// Number of bytes that an observation is to be made of.
    pub(super) raw_bytes: u64,
    /// Number of tokens of them.
    pub(super) raw_tokens: usize,
}

/// When an item was begun, and what had been spent by then.
pub(super) struct Begun {
    at: Instant,
    spent: Spending,
}

impl Run<'_> {
    /// Logs that an item is begun.
    pub(super) fn log_begin(&self, item: &Offered<'_>) -> Begun {
        let event = self.event(EventType::CompressStart, item, None);
        EventLog::of_store(self.home).append(&[event]);
        Begun {
            at: Instant::now(),
            spent: self.ask.spent.get().1,
        }
    }

    /// Logs what became of an item: the summary that was written, or why there is none.
    pub(super) fn log_end(
        &self,
        item: &Offered<'_>,
        begun: &Begun,
        written: Result<&str, &Failure>,
    ) {
        let event_type = match written {
            Ok(_) => EventType::CompressDone,
            Err(_) => EventType::CompressError,
        };
        let mut event = self
            .event(event_type, item, written.ok())
            .taking(begun.at.elapsed())
            .failed(written.err().map(reason_of));
        let (spent, before) = (self.ask.spent.get().1, begun.spent);
        event.tokens_in = Some(spent.input_tokens.saturating_sub(before.input_tokens));
        event.tokens_out = Some(spent.output_tokens.saturating_sub(before.output_tokens));
        EventLog::of_store(self.home).append(&[event]);
    }

    fn event(&self, event_type: EventType, item: &Offered<'_>, summary: Option<&str>) -> LogEvent {
        let tokens = summary.map(count_tokens);
        let ratio = tokens.filter(|tokens| *tokens > 0).map(|tokens| {
            let ratio = item.raw_tokens as f64 / tokens as f64;
            (ratio * 100.0).round() / 100.0
        });
        LogEvent::new(event_type, (self.options.now)())
            .in_session(Some(item.session))
            .with("kind", item.kind)
            .with("model", item.model)
            .with("raw_size", item.raw_bytes)
            .with("compressed_tokens", tokens)
            .with("ratio", ratio)
    }
}

fn reason_of(failure: &Failure) -> String {
    match failure {
        Failure::Unusable(reason) | Failure::Later(reason) => (*reason).to_string(),
        Failure::Capped(cap) => format!("met the daily cap compress.{}", MetCap::name(*cap)),
        Failure::Stop(error) => error.to_string(),
    }
}
