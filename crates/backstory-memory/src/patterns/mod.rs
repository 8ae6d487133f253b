//! Patterns: what keeps going wrong, or right, across sessions and agents.
//!
//! The detectors of `backstory-analysis` look through the notes of each session for signals; `detect` brings together those that are the same. What people
//! make of them is in the `catalogue`, an `entry` a pattern; `publish` writes approved ones where agents read, `measure` tells
//! whether that helped.

use backstory_event::{Seq, TimeMs, TurnNo};

mod block;
mod catalogue;
mod detect;
mod entry;
mod file;
mod filter;
mod measure;
mod publish;
mod record;
mod skill;
mod target;
mod withdraw;

pub use backstory_analysis::detectors::PatternKind;
pub use catalogue::Catalogue;
pub use entry::{Change, Entry, Publication, Seen, Status};
pub use filter::PatternFilter;
pub use measure::{Measurement, Share, Verdict};
pub use publish::{PublishOptions, Published, Unpublished};
pub use record::{
    CatalogueRecord, EvidenceRecord, MeasuredPattern, MeasurementList, PatternList, PatternRecord,
};
pub use skill::PublishedSkill;
pub use target::PublishTarget;
pub(crate) use withdraw::{EntryChange, published_block, published_files, rewrite_block};

/// A problem or success that recurs across sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// Stable: made of its detector and signature.
    pub id: String,
    /// Whether it is to be avoided or to be done again.
    pub kind: PatternKind,
    /// The detector that found it.
    pub detector: &'static str,
    /// One line that a person understands.
    pub title: String,
    /// What to do about it; may be empty.
    pub advice: String,
    /// True if nobody can act on it: slips in the use of the agent's own tools, habits, statistics.
    pub is_minor: bool,
    /// How often it was seen.
    pub frequency: u64,
    /// In which sessions.
    pub sessions: Vec<String>,
    /// Of which agents.
    pub agents: Vec<String>,
    /// In which projects.
    pub projects: Vec<String>,
    /// And in which of the user's domains these are.
    pub domains: Vec<String>,
    /// When it was first seen, in unix milliseconds.
    pub first_seen: Option<TimeMs>,
    /// And when last.
    pub last_seen: Option<TimeMs>,
    /// The events that it rests on, the oldest first.
    pub evidence: Vec<Evidence>,
}

impl Pattern {
    /// Whether more than one agent has it.
    pub fn is_cross_agent(&self) -> bool {
        self.agents.len() > 1
    }
}

/// An event that a pattern rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The session.
    pub session: String,
    /// Its agent.
    pub agent: String,
    /// The turn.
    pub turn: TurnNo,
    /// The event, by its seq.
    pub event: Seq,
    /// When.
    pub at: Option<TimeMs>,
    /// What it says.
    pub text: String,
}

#[cfg(test)]
mod tests;

use crate::Memory;

/// Problems and successes that recur across sessions of a memory.
pub struct Patterns<'m> {
    pub(crate) memory: &'m Memory,
}
