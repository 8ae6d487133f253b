//! Assigns token counts to the model's answers.
//!
//! Current Codex logs a count after the items of the answer; releases of autumn 2025 (0.34 is known) log it before them, and only
//! the reply on the screen precedes it. The order is inferred once per turn: items before the first count mean *after*; nothing of
//! the model before it means *before*; if only a reply on the screen precedes it, the records behind it decide: the item of that
//! reply, or something else. Some replies never become an item.

use serde::{Deserialize, Serialize};

use super::entry::Channel;
use super::usage::Counts;
use backstory_event::{EventKey, Kind, TimeMs};

/// Where counts stand, and the answers and counts that wait for each other.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct TokenAttribution {
    /// First event of the answer that is to be counted.
    #[serde(rename = "event")]
    uncounted_event: Option<i64>,
    /// First event of the model since the last count of the turn, whichever count it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_since_count: Option<i64>,
    /// Requests that the provider made for the answer that is to be counted.
    #[serde(flatten)]
    web: WebRequests,
    /// Whether items of the model were logged since the prompt or the last count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_items: bool,
    /// Where the counts of the turn stand.
    #[serde(skip_serializing_if = "CountOrder::is_unknown")]
    order: CountOrder,
    /// The last count, while items behind it may belong to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    open: Option<OpenCount>,
}

/// Whether the counts of a turn stand before or after the items that they count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CountOrder {
    #[default]
    Unknown,
    BeforeItems,
    AfterItems,
}

impl CountOrder {
    fn is_unknown(&self) -> bool {
        *self == CountOrder::Unknown
    }
}

/// Searches and page views that the provider ran for an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WebRequests {
    #[serde(rename = "web_searches")]
    pub(super) searches: u64,
    #[serde(rename = "web_fetches")]
    pub(super) fetches: u64,
}

impl WebRequests {
    /// Adds the requests of another answer, and takes them from there.
    fn append(&mut self, other: &mut WebRequests) {
        let WebRequests { searches, fetches } = std::mem::take(other);
        self.searches = self.searches.saturating_add(searches);
        self.fetches = self.fetches.saturating_add(fetches);
    }
}

/// One count of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct TokenCount {
    /// Tokens of the answer.
    pub(super) used: Counts,
    /// Tokens of the thread up to here, by which the count is known.
    pub(super) totals: Counts,
    pub(super) at: Option<TimeMs>,
}

/// A count that items behind it may belong to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OpenCount {
    count: TokenCount,
    web: WebRequests,
    /// Whether it still waits for an event of its answer.
    awaits_event: bool,
    /// Whether it was assigned to some event until then.
    is_placed: bool,
}

/// A count, and the event that it belongs to as far as it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct AssignedCount {
    pub(super) count: TokenCount,
    pub(super) web: WebRequests,
    pub(super) event: Option<EventKey>,
    /// Whether that is certain. If not, the next event of the model takes the count over.
    pub(super) is_certain: bool,
}

impl OpenCount {
    fn assigned_to(&self, event: Option<EventKey>) -> AssignedCount {
        AssignedCount {
            count: self.count,
            web: self.web,
            event,
            is_certain: event.is_some(),
        }
    }
}

impl TokenAttribution {
    pub(super) fn is_empty(&self) -> bool {
        *self == TokenAttribution::default()
    }

    /// Records that an item of the model was logged, even one without an event of its own.
    pub(super) fn record_item(&mut self) {
        self.has_items = true;
    }

    /// Records that a reply on the screen was logged again, as an item. Returns the last count if it gains what came before the item.
    pub(super) fn record_twin(&mut self) -> Option<AssignedCount> {
        let open = self.open.as_mut()?;
        if self.order != CountOrder::Unknown {
            return None;
        }
        self.order = CountOrder::BeforeItems;
        self.uncounted_event = None;
        let has_gained = self.web != WebRequests::default();
        open.web.append(&mut self.web);
        has_gained.then(|| open.assigned_to(None))
    }

    /// Records an event. Returns the last count if this event, or what waited for its answer, belongs to it.
    pub(super) fn record_event(
        &mut self,
        kind: Kind,
        is_provider_tool: bool,
        key: EventKey,
        channel: Channel,
    ) -> Option<AssignedCount> {
        // The first event of a session takes a count that stands before it.
        let unplaced = self.open.as_mut().filter(|open| !open.is_placed);
        let mut assigned = unplaced.map(|open| {
            open.is_placed = true;
            open.assigned_to(Some(key))
        });
        if kind == Kind::Prompt {
            // Ends an answer whose tokens were never counted. A count that still waits stays where it was put.
            let ended = std::mem::take(self);
            if let (CountOrder::Unknown, Some(mut open), mut web) =
                (ended.order, ended.open, ended.web)
                && web != WebRequests::default()
            {
                open.web.append(&mut web);
                assigned = Some(open.assigned_to(assigned.and_then(|assigned| assigned.event)));
            }
            return assigned;
        }
        if !kind.is_from_model() {
            return assigned;
        }
        // Thoughts and searches may stand between a count and the item of the reply on the screen: they decide nothing.
        let decides = channel == Channel::Event || kind != Kind::Reasoning && !is_provider_tool;
        if self.open.is_some() && self.order == CountOrder::Unknown && decides {
            self.order = CountOrder::AfterItems;
        }
        // What goes to the screen goes there before its answer ends.
        let is_counted = self.open.is_some()
            && self.order == CountOrder::BeforeItems
            && channel != Channel::Event;
        self.first_since_count.get_or_insert(key.0);
        if !is_counted {
            self.uncounted_event.get_or_insert(key.0);
        }
        let open = self.open.as_mut()?;
        std::mem::take(&mut open.awaits_event).then(|| open.assigned_to(Some(key)))
    }

    /// Records a search or page view that the provider ran. Returns the last count if it belongs to that.
    pub(super) fn record_web_request(&mut self, action: &str) -> Option<AssignedCount> {
        let open = self.open.as_mut();
        let mut open = open.filter(|_| self.order == CountOrder::BeforeItems);
        let web = open.as_mut().map_or(&mut self.web, |open| &mut open.web);
        let count = match action {
            "open_page" | "find_in_page" => &mut web.fetches,
            _ => &mut web.searches,
        };
        *count = count.saturating_add(1);
        open.map(|open| open.assigned_to(None))
    }

    /// Records a count. Returns where it belongs. `last_event` is the last one of the session.
    pub(super) fn record_count(
        &mut self,
        count: TokenCount,
        last_event: Option<i64>,
    ) -> AssignedCount {
        let answer = std::mem::take(self);
        let event = answer.uncounted_event;
        let order = match answer.order {
            CountOrder::Unknown if answer.has_items => CountOrder::AfterItems,
            CountOrder::Unknown if answer.first_since_count.or(event).is_none() => {
                CountOrder::BeforeItems
            }
            known => known,
        };
        let assigned = AssignedCount {
            count,
            web: answer.web,
            event: (event.or(answer.first_since_count).or(last_event)).map(EventKey),
            is_certain: event.is_some(),
        };
        let open = OpenCount {
            count,
            web: answer.web,
            awaits_event: !assigned.is_certain,
            is_placed: assigned.event.is_some(),
        };
        *self = TokenAttribution {
            order,
            open: (order != CountOrder::AfterItems || !assigned.is_certain).then_some(open),
            ..TokenAttribution::default()
        };
        assigned
    }
}
