//! Which answer of the model a token count belongs to.
//!
//! Logs of today count an answer after its items and the results of its calls. Releases of autumn 2025 (0.34 is known) counted it
//! when the response ended and logged its items then: only what went to the screen stands before the count. The first count of
//! a turn shows which of both it is: it follows items of the model, or nothing of the model, or else the record behind it shows it:
//! the item of what went to the screen, or something new. Some replies never become an item.

use serde::{Deserialize, Serialize};

use super::entry::Channel;
use super::usage::Counts;
use backstory_event::{EventKey, Kind, TimeMs};

/// Where counts stand, and the answers and counts that wait for each other.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct CountedAnswer {
    /// First event of the answer that is to be counted.
    pub(super) event: Option<i64>,
    /// First event of the model since the last count of the turn, whichever count it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<i64>,
    /// Searches and page views that the provider ran for it.
    web_searches: u64,
    web_fetches: u64,
    /// Whether items of the model were logged since the prompt or the last count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_items: bool,
    /// Whether the turn's counts stand before the items that they count; `None` before a record has shown it.
    #[serde(skip_serializing_if = "Option::is_none")]
    is_count_first: Option<bool>,
    /// The last count, while items behind it may belong to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    open: Option<OpenCount>,
}

/// A count that items behind it may belong to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenCount {
    pub(super) used: Counts,
    pub(super) at: Option<TimeMs>,
    /// Whether it still waits for its answer.
    waits: bool,
    /// Whether it was put down to an event until then.
    is_placed: bool,
    pub(super) web_searches: u64,
    pub(super) web_fetches: u64,
}

/// The event that a count belongs to, as far as it is known.
#[derive(Clone, Copy)]
pub(super) struct CountPlace {
    pub(super) event: Option<EventKey>,
    /// Whether that is certain. If not, the next event of the model takes the count over.
    pub(super) is_certain: bool,
    pub(super) web_searches: u64,
    pub(super) web_fetches: u64,
}

impl CountedAnswer {
    pub(super) fn is_empty(&self) -> bool {
        *self == CountedAnswer::default()
    }

    /// Takes note that an item of the model was logged, be it one without an event of its own.
    pub(super) fn item_logged(&mut self) {
        self.has_items = true;
    }

    /// Takes note that what went to the screen was logged again, as an item.
    pub(super) fn twin_logged(&mut self) {
        if self.open.is_some() {
            self.is_count_first.get_or_insert(true);
        }
    }

    /// Takes note of an event; returns the last count if this is the event that it waited for.
    pub(super) fn event_told(
        &mut self,
        kind: Kind,
        key: EventKey,
        channel: Channel,
    ) -> Option<OpenCount> {
        // The first event of a session takes a count that stands before it.
        let mut open = self.open.as_mut();
        let unplaced = open.as_mut().filter(|open| !open.is_placed).map(|open| {
            open.is_placed = true;
            open.clone()
        });
        if kind == Kind::Prompt {
            // Ends an answer whose tokens were never counted. A count that still waits stays where it was put.
            *self = CountedAnswer::default();
            return unplaced;
        }
        if kind.role() != "assistant" {
            return unplaced;
        }
        let is_counted = self.open.is_some()
            && *self.is_count_first.get_or_insert(false)
            // What goes to the screen goes there before its response ends.
            && channel != Channel::Event;
        self.first.get_or_insert(key.0);
        if !is_counted {
            self.event.get_or_insert(key.0);
        }
        let open = self.open.as_mut()?;
        std::mem::take(&mut open.waits).then(|| open.clone())
    }

    /// Counts a search or page view that the provider ran; returns the last count if it belongs to that.
    pub(super) fn web_used(&mut self, action: &str) -> Option<OpenCount> {
        let open = self
            .open
            .as_mut()
            .filter(|_| self.is_count_first == Some(true));
        let is_counted = open.is_some();
        let (searches, fetches) = match open {
            Some(open) => (&mut open.web_searches, &mut open.web_fetches),
            None => (&mut self.web_searches, &mut self.web_fetches),
        };
        let count = match action {
            "open_page" | "find_in_page" => fetches,
            _ => searches,
        };
        *count = count.saturating_add(1);
        self.open.clone().filter(|_| is_counted)
    }

    /// Takes note of a count; returns where it belongs. `last_event` is the last one of the session.
    pub(super) fn tokens_counted(
        &mut self,
        used: Counts,
        at: Option<TimeMs>,
        last_event: Option<i64>,
    ) -> CountPlace {
        let answer = std::mem::take(self);
        let is_certain = answer.event.is_some();
        let is_count_first = match answer.is_count_first {
            None if answer.has_items => Some(false),
            None if answer.first.is_none() => Some(true),
            known => known,
        };
        let place = CountPlace {
            event: answer.event.or(answer.first).or(last_event).map(EventKey),
            is_certain,
            web_searches: answer.web_searches,
            web_fetches: answer.web_fetches,
        };
        let open = OpenCount {
            used,
            at,
            waits: !is_certain,
            is_placed: place.event.is_some(),
            web_searches: place.web_searches,
            web_fetches: place.web_fetches,
        };
        *self = CountedAnswer {
            is_count_first,
            open: (is_count_first != Some(false) || !is_certain).then_some(open),
            ..CountedAnswer::default()
        };
        place
    }
}
