//! The queue as a JSON document.

use std::collections::{BTreeMap, HashMap};

use backstory_event::{Seq, SessionId, TimeMs};
use backstory_store::{Item, ItemKind, ItemState, SessionHead};
use serde::{Deserialize, Serialize};

use super::omitted_bytes;
use crate::serde_text::rfc3339_time;

/// Items of the queue, with the number of items in each state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueRecord {
    /// Number of items in each state.
    pub counts: BTreeMap<ItemState, u64>,
    /// The items, the newest first.
    pub items: Vec<ItemRecord>,
}

/// An item of the queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ItemRecord {
    /// Number of the item.
    pub id: i64,
    /// Kind.
    pub kind: ItemKind,
    /// State.
    pub state: ItemState,
    /// The session.
    pub session: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// Time of the capture.
    #[serde(with = "rfc3339_time")]
    pub timestamp: Option<TimeMs>,
    /// Number of attempts.
    pub attempts: u32,
    /// The last error.
    pub last_error: Option<String>,
    /// Time of the next attempt.
    #[serde(with = "rfc3339_time")]
    pub not_before: Option<TimeMs>,
    /// Number of the same event in the log, once it was imported.
    pub event: Option<Seq>,
    /// Number of bytes that were not kept.
    pub omitted_bytes: Option<u64>,
    /// True if it is damaged.
    pub damaged: bool,
}

impl QueueRecord {
    /// Returns items with their sessions; `counts` are in the order of [`ItemState::ALL`].
    pub fn new(
        items: &[Item],
        sessions: &HashMap<SessionId, SessionHead>,
        counts: [u64; 5],
    ) -> Self {
        QueueRecord {
            counts: ItemState::ALL.into_iter().zip(counts).collect(),
            items: items
                .iter()
                .map(|item| ItemRecord::new(item, sessions))
                .collect(),
        }
    }
}

impl ItemRecord {
    fn new(item: &Item, sessions: &HashMap<SessionId, SessionHead>) -> Self {
        let session = item.session.and_then(|row| sessions.get(&row));
        ItemRecord {
            id: item.id,
            kind: item.kind,
            state: item.state,
            session: session.map(|session| session.session.clone()),
            agent: session.map(|session| session.agent.clone()),
            timestamp: Some(item.at),
            attempts: item.attempts,
            last_error: item.last_error.clone(),
            not_before: Some(item.not_before).filter(|at| *at > TimeMs::ZERO),
            event: item.seq,
            omitted_bytes: omitted_bytes(item),
            damaged: item.damage.is_some(),
        }
    }
}
