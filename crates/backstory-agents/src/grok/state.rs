//! What a reading remembers of the records before.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::events::BegunTurn;
use super::open_text::OpenText;
use super::updates::Run;
use crate::shared::OpenCalls;

/// What must be known of the records before.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct State {
    /// The session that records name; counts only when the folder does not.
    pub(super) session: Option<String>,
    /// The model last named.
    pub(super) model: Option<String>,
    /// How many prompts there were.
    pub(super) turn: u64,
    /// The records of this turn that have no id of their own, and how often each occurred.
    pub(super) seen: Vec<(i64, u32)>,
    /// The text that is streaming.
    pub(super) run: Option<Run>,
    /// Texts that later records may carry on.
    pub(super) open: Vec<OpenText>,
    /// Calls that were announced before their input was known: no event yet.
    pub(super) announced: OpenCalls,
    /// Calls that wait for their result.
    pub(super) calls: OpenCalls,
    /// The keys of the newest calls and results put out: updates of a call may repeat its end.
    pub(super) told: VecDeque<i64>,
    /// The prompts that can be rewound to: their number, and the event before each.
    pub(super) prompts: Vec<(u64, Option<i64>)>,
    /// Whether prompts are numbered in this log; those without a number then are said within a turn.
    pub(super) numbered: bool,
    /// The event last put out.
    pub(super) last: Option<i64>,
    /// The event that the next prompt answers, after a rewind.
    pub(super) branch: Option<i64>,
    /// The first answer of the turn: what the turn used is counted there.
    pub(super) answer: Option<i64>,
    /// Whether the turn of that answer has ended.
    pub(super) turn_over: bool,
    /// The permission mode and the size of the context window last put out.
    pub(super) mode: Option<String>,
    pub(super) window: Option<u64>,
    /// In `events.jsonl`, the turn that has begun.
    pub(super) begun_turn: Option<BegunTurn>,
    /// The session that a file without events was said to be of.
    pub(super) linked: Option<String>,
}

impl State {
    /// Reads what was written down.
    pub(super) fn read(state: &str) -> Self {
        let mut state: State = serde_json::from_str(state).unwrap_or_default();
        // Versions before did not keep which texts are open.
        if state.open.is_empty() {
            state.open.extend(state.run.as_ref().map(OpenText::of_run));
        }
        state
    }
}
