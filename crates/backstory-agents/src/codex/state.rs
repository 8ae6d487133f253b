//! What a reading must remember from one record to the next, and across processes.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::entry::{Channel, Entry};
use super::message::essence;
use super::usage::Counts;
use crate::reader::trailing_uuid;
use crate::shared::OpenCalls;
use backstory_event::{EventKey, Parent, ParentKind, SessionFacts, Title};

/// The app's record of a call comes right after the call's result.
const RECENT_CALLS: usize = 32;
/// Texts without a call of their own that one turn may hold before the first are forgotten.
const REPEATS: usize = 256;
/// Twins stand next to each other, but for the thoughts of one long answer.
const HEARD_PER_VOICE: usize = 16;

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
    pub(super) began: Option<i64>,
    /// The model of the turn.
    pub(super) model: Option<String>,
    /// How many prompts there were.
    pub(super) prompts: u64,
    /// The last sum of tokens.
    pub(super) totals: Option<Counts>,
    turn: Option<String>,
    known: Known,
    open: OpenCalls,
    recent: VecDeque<i64>,
    repeats: VecDeque<(i64, u32)>,
    heard: VecDeque<Heard>,
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
}

/// Words that became an event: who spoke, the hash of what was said, and the channels that had it. A tuple, because the
/// state of every file is kept, and names of fields would be most of it.
#[derive(Debug, Serialize, Deserialize)]
struct Heard(u8, i64, u8);

impl State {
    /// Takes from `facts` what is known already; `None` when nothing is left.
    pub(super) fn news(&mut self, mut facts: SessionFacts) -> Option<SessionFacts> {
        let known = &mut self.known;
        changed(&mut facts.cwd, &mut known.cwd);
        changed(&mut facts.branch, &mut known.branch);
        changed(&mut facts.remote, &mut known.remote);
        changed(&mut facts.machine, &mut known.machine);
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
        self.recent.contains(&EventKey::of(&[call.as_bytes()]).0)
    }

    /// Remembers a call for its result.
    pub(super) fn called(&mut self, call: &str, tool: &str) {
        self.open.open(call, tool, None);
        if self.recent.len() >= RECENT_CALLS {
            self.recent.pop_front();
        }
        self.recent.push_back(EventKey::of(&[call.as_bytes()]).0);
    }

    /// The tool whose result comes now.
    pub(super) fn answered(&mut self, call: &str) -> Option<String> {
        self.open
            .close(call)
            .map(|call| call.tool)
            .filter(|tool| !tool.is_empty())
    }

    /// Whether an entry was given by another record already; if not, remembers its words.
    pub(super) fn is_twin(&mut self, entry: &Entry, channel: Channel) -> bool {
        let Some(voice) = entry.voice else {
            return false;
        };
        let (voice, channel) = (voice as u8, channel as u8);
        let whole = std::slice::from_ref(&entry.text);
        let pieces = if entry.pieces.is_empty() {
            whole
        } else {
            entry.pieces.as_slice()
        };
        let mut all_heard = true;
        for piece in pieces {
            let words = EventKey::of(&[essence(piece).as_bytes()]).0;
            // Each record of some words pairs with one of another channel, so that saying "yes" twice stays two prompts.
            let mut twins = self
                .heard
                .iter_mut()
                .filter(|heard| heard.0 == voice && heard.1 == words);
            match twins.find(|Heard(_, _, channels)| *channels & channel == 0) {
                Some(Heard(_, _, channels)) => *channels |= channel,
                None => {
                    all_heard = false;
                    self.hear(Heard(voice, words, channel));
                }
            }
        }
        all_heard
    }

    fn hear(&mut self, heard: Heard) {
        let same_voice = |other: &&Heard| other.0 == heard.0;
        if self.heard.iter().filter(same_voice).count() >= HEARD_PER_VOICE
            && let Some(oldest) = self.heard.iter().position(|other| same_voice(&other))
        {
            self.heard.remove(oldest);
        }
        self.heard.push_back(heard);
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

fn changed<T: Clone + PartialEq>(news: &mut Option<T>, known: &mut Option<T>) {
    match news {
        Some(_) if news == known => *news = None,
        Some(_) => known.clone_from(news),
        None => {}
    }
}
