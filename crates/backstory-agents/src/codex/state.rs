//! What a reading must remember from one record to the next, and across processes.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::token_attribution::TokenAttribution;
use super::twins::{Heard, Unnamed};
use super::usage::Counts;
use crate::reader::trailing_uuid;
use crate::shared::OpenCalls;
use backstory_event::{EventKey, Parent, ParentKind, SessionFacts, TimeMs, Title};

/// The app's record of a call comes right after the call's result.
const RECENT_CALLS: usize = 32;
/// Texts without a call of their own that one turn may hold before the first are forgotten.
const REPEATS: usize = 256;

/// All of it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct State {
    /// The session's id, once a record gave it.
    pub(super) session: Option<String>,
    /// The session whose history the file may repeat.
    pub(super) replays: Option<String>,
    /// Whether the session says that an agent started it.
    pub(super) subagent: bool,
    /// Whether this is a log of the time before envelopes, in which only the first line has a time.
    pub(super) bare: bool,
    /// When the session began.
    pub(super) began: Option<TimeMs>,
    /// The model of the turn.
    pub(super) model: Option<String>,
    /// How many prompts there were.
    pub(super) prompts: u64,
    /// The last sum of tokens.
    pub(super) totals: Option<Counts>,
    /// Service tier of the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) service_tier: Option<String>,
    /// Hash of the last rate limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limits: Option<i64>,
    /// Key of the last event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_event: Option<i64>,
    /// Whether the last record of a compaction still waits for the event that tells of it, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) compacted: bool,
    #[serde(skip_serializing_if = "TokenAttribution::is_empty")]
    pub(super) answer: TokenAttribution,
    turn: Option<String>,
    known: Known,
    open: OpenCalls,
    recent: VecDeque<i64>,
    repeats: VecDeque<(i64, u32)>,
    pub(super) heard: VecDeque<Heard>,
    /// Events that wait for ids from their twin.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) unnamed: Vec<Unnamed>,
}

/// What was told about the session already.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Known {
    title: Option<String>,
    cwd: Option<String>,
    branch: Option<String>,
    remote: Option<String>,
    machine: Option<bool>,
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_window: Option<u64>,
    /// Hash of the session's own record.
    #[serde(skip_serializing_if = "Option::is_none")]
    meta: Option<i64>,
}

impl State {
    /// Takes from `facts` what is known already; `None` when nothing is left.
    pub(super) fn news(&mut self, mut facts: SessionFacts) -> Option<SessionFacts> {
        let known = &mut self.known;
        changed(&mut facts.cwd, &mut known.cwd);
        changed(&mut facts.branch, &mut known.branch);
        changed(&mut facts.remote, &mut known.remote);
        changed(&mut facts.machine, &mut known.machine);
        changed(&mut facts.agent_version, &mut known.agent_version);
        changed(&mut facts.permission_mode, &mut known.permission_mode);
        changed(&mut facts.context_window, &mut known.context_window);
        let mut meta = facts.meta.as_deref().map(hash);
        changed(&mut meta, &mut known.meta);
        facts.meta.take_if(|_| meta.is_none());
        let mut title = facts.title.take().map(|title| match title {
            Title::Prompt(text) | Title::Generated(text) | Title::Given(text) => text,
        });
        changed(&mut title, &mut known.title);
        facts.title = title.map(Title::Generated);
        // A session has one parent: what its own record says goes before what a copy suggests.
        facts.parent = facts.parent.filter(|_| known.parent.is_none());
        if let Some(parent) = &facts.parent {
            known.parent = Some(parent.session.clone());
        }
        (facts != SessionFacts::default()).then_some(facts)
    }

    /// The git branch, as far as it was told.
    pub(super) fn branch(&self) -> Option<&str> {
        self.known.branch.as_deref()
    }

    /// Remembers rate limits.
    pub(super) fn limits_told(&mut self, limits: Option<&str>) {
        self.limits = limits.map(hash).or(self.limits);
    }

    /// The parent that a copied record names.
    pub(super) fn parent_of_copy(&self, session: &str) -> Parent {
        let kind = if self.subagent {
            ParentKind::Subagent
        } else {
            ParentKind::Fork
        };
        Parent {
            session: session.to_string(),
            kind,
        }
    }

    /// Whether a call is among the last ones.
    pub(super) fn is_recent(&self, call: &str) -> bool {
        self.recent.contains(&hash(call))
    }

    /// Remembers a call for its result.
    pub(super) fn called(&mut self, call: &str, tool: &str) {
        self.open.open(call, tool, None);
        if self.recent.len() >= RECENT_CALLS {
            self.recent.pop_front();
        }
        self.recent.push_back(hash(call));
    }

    /// The tool whose result comes now.
    pub(super) fn answered(&mut self, call: &str) -> Option<String> {
        self.open
            .close(call)
            .map(|call| call.tool)
            .filter(|tool| !tool.is_empty())
    }

    /// How many times the same was said in this turn before.
    pub(super) fn occurrence(&mut self, identity: i64) -> u32 {
        if let Some((_, count)) = self
            .repeats
            .iter_mut()
            .find(|(known, _)| *known == identity)
        {
            *count = count.saturating_add(1);
            return *count;
        }
        if self.repeats.len() >= REPEATS {
            self.repeats.pop_front();
        }
        self.repeats.push_back((identity, 0));
        0
    }

    /// Counts a prompt, which opens a turn where turns have no ids.
    pub(super) fn prompted(&mut self) {
        self.prompts = self.prompts.saturating_add(1);
        if self.turn.is_none() {
            self.repeats.clear();
        }
    }

    /// Enters the turn that a record names.
    pub(super) fn enter_turn(&mut self, id: &str) {
        // Some releases number the turns of each process from zero: such an id names many turns of a session.
        if id.len() == 36 && trailing_uuid(id).is_some() && self.turn.as_deref() != Some(id) {
            self.turn = Some(id.to_string());
            self.repeats.clear();
        }
    }

    /// What the turn is called: its id, which a copy keeps even when it has only the last turns, else its number.
    pub(super) fn turn_name(&self) -> String {
        self.turn
            .clone()
            .unwrap_or_else(|| self.prompts.to_string())
    }
}

pub(super) fn hash(text: &str) -> i64 {
    EventKey::of(&[text.as_bytes()]).0
}

fn changed<T: Clone + PartialEq>(news: &mut Option<T>, known: &mut Option<T>) {
    match news {
        Some(_) if news == known => *news = None,
        Some(_) => known.clone_from(news),
        None => {}
    }
}
