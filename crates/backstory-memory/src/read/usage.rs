//! Tokens of events and sessions as other programs get them.

use std::collections::HashMap;

use backstory_event::{EventView, Seq, SessionId, TurnNo, Usage};
use backstory_store::{EventUsage, Store};
use serde::{Deserialize, Serialize};

use crate::Session;
use crate::error::Result;

/// Tokens and server-side tools of a message, turn or session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRecord {
    /// Input that no cache held.
    pub input: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache.
    pub cache_write: u64,
    /// Part of it that is kept for five minutes.
    pub cache_write_5m: u64,
    /// Part of it that is kept for an hour.
    pub cache_write_1h: u64,
    /// Part of the output that was reasoning.
    pub reasoning: u64,
    /// Sum of all tokens.
    pub total: u64,
    /// Requests to tools that the provider runs.
    pub server_tools: ServerTools,
    /// Service tier, where the log says; of several messages, that of the first one that names it.
    pub service_tier: Option<String>,
}

/// Tokens and server-side tools of many messages, which have no service tier of their own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageCounts {
    /// Input that no cache held.
    pub input: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache.
    pub cache_write: u64,
    /// Part of it that is kept for five minutes.
    pub cache_write_5m: u64,
    /// Part of it that is kept for an hour.
    pub cache_write_1h: u64,
    /// Part of the output that was reasoning.
    pub reasoning: u64,
    /// Sum of all tokens.
    pub total: u64,
    /// Requests to tools that the provider runs.
    pub server_tools: ServerTools,
}

/// Requests to tools that the provider runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerTools {
    /// Web searches.
    pub web_search_requests: u64,
    /// Web pages fetched.
    pub web_fetch_requests: u64,
}

impl From<&Usage> for UsageCounts {
    fn from(usage: &Usage) -> Self {
        UsageCounts {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            cache_write_5m: usage.cache_write_5m(),
            cache_write_1h: usage.cache_write_1h,
            reasoning: usage.reasoning,
            total: usage.total(),
            server_tools: ServerTools {
                web_search_requests: usage.web_searches,
                web_fetch_requests: usage.web_fetches,
            },
        }
    }
}

impl From<&UsageCounts> for Usage {
    fn from(counts: &UsageCounts) -> Self {
        Usage {
            input: counts.input,
            output: counts.output,
            cache_read: counts.cache_read,
            cache_write: counts.cache_write,
            cache_write_1h: counts.cache_write_1h,
            reasoning: counts.reasoning,
            web_searches: counts.server_tools.web_search_requests,
            web_fetches: counts.server_tools.web_fetch_requests,
        }
    }
}

impl From<&Usage> for UsageRecord {
    fn from(usage: &Usage) -> Self {
        let counts = UsageCounts::from(usage);
        UsageRecord {
            input: counts.input,
            output: counts.output,
            cache_read: counts.cache_read,
            cache_write: counts.cache_write,
            cache_write_5m: counts.cache_write_5m,
            cache_write_1h: counts.cache_write_1h,
            reasoning: counts.reasoning,
            total: counts.total,
            server_tools: counts.server_tools,
            service_tier: None,
        }
    }
}

impl UsageRecord {
    /// Adds what another message used; the service tier is that of the first one that names it.
    pub(super) fn add(&mut self, more: &UsageRecord) {
        let counts = [
            (&mut self.input, more.input),
            (&mut self.output, more.output),
            (&mut self.cache_read, more.cache_read),
            (&mut self.cache_write, more.cache_write),
            (&mut self.cache_write_5m, more.cache_write_5m),
            (&mut self.cache_write_1h, more.cache_write_1h),
            (&mut self.reasoning, more.reasoning),
            (&mut self.total, more.total),
            (
                &mut self.server_tools.web_search_requests,
                more.server_tools.web_search_requests,
            ),
            (
                &mut self.server_tools.web_fetch_requests,
                more.server_tools.web_fetch_requests,
            ),
        ];
        for (count, more) in counts {
            *count = count.saturating_add(more);
        }
        let tier = self.service_tier.take();
        self.service_tier = tier.or_else(|| more.service_tier.clone());
    }
}

impl From<&EventUsage> for UsageRecord {
    fn from(found: &EventUsage) -> Self {
        UsageRecord {
            service_tier: found.service_tier.clone(),
            ..UsageRecord::from(&found.usage)
        }
    }
}

impl Session<'_> {
    /// Returns the usage of the messages that begin with these events, by their numbers.
    pub(super) fn usage_of_events(
        &self,
        events: &[EventView<'_>],
    ) -> Result<HashMap<Seq, UsageRecord>> {
        usage_between(
            &self.memory.store,
            self.row.id,
            events.iter().map(|event| event.seq),
        )
    }

    /// Returns the model of turns in which an event of the model names none: the one that wrote most, by what the turns used.
    pub(super) fn models_of_turns(
        &self,
        events: &[EventView<'_>],
    ) -> Result<HashMap<TurnNo, String>> {
        match nameless_turns(events.iter()) {
            Some((first, last)) => Ok(self.memory.store.turn_models(self.row.id, first, last)?),
            None => Ok(HashMap::new()),
        }
    }

    /// Returns the tokens of all messages of a session.
    pub fn usage(&self) -> Result<UsageRecord> {
        Ok(UsageRecord {
            service_tier: self.memory.store.session_service_tier(self.row.id)?,
            ..UsageRecord::from(&self.row.usage)
        })
    }
}

/// Returns the usage of the messages that begin with an event from the first to the last of these numbers.
pub(super) fn usage_between(
    store: &Store,
    session: SessionId,
    mut seqs: impl DoubleEndedIterator<Item = Seq>,
) -> Result<HashMap<Seq, UsageRecord>> {
    let Some(first) = seqs.next() else {
        return Ok(HashMap::new());
    };
    let last = seqs.next_back().unwrap_or(first);
    let found = store.event_usage(session, first, last)?;
    let mut records: HashMap<Seq, UsageRecord> = HashMap::new();
    for found in &found {
        // What several models used for one answer is counted apart.
        let record = records.entry(found.seq).or_default();
        record.add(&UsageRecord::from(found));
    }
    Ok(records)
}

/// First and last turn in which an event of the model names none.
pub(super) fn nameless_turns<'a>(
    events: impl DoubleEndedIterator<Item = &'a EventView<'a>>,
) -> Option<(TurnNo, TurnNo)> {
    let is_nameless =
        |view: &&EventView<'_>| view.event.model.is_none() && view.event.kind.is_from_model();
    let mut nameless = events.filter(is_nameless).map(|view| view.turn);
    let first = nameless.next()?;
    Some((first, nameless.next_back().unwrap_or(first)))
}
