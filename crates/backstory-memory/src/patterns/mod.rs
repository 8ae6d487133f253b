//! Problems and successes that recur across sessions, what people make of them, and whether that helped.

mod block;
mod catalogue;
mod detect;
mod entry;
mod file;
mod measure;
mod publish;

pub use catalogue::{Catalogue, find_pattern};
pub use detect::PatternFilter;
pub use entry::{Change, Entry, Publication, Seen, Status};
pub use measure::{MeasuredSession, Measurement, Share, Verdict, measure};
pub use publish::{Published, Unpublished, publish, unpublish};

/// A problem or success that recurs across sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// Stable: made of its detector and signature.
    pub id: String,
    /// Which of the two.
    pub kind: PatternKind,
    /// What found it.
    pub detector: &'static str,
    /// One line that a person understands.
    pub title: String,
    /// One or two sentences: what to do. May be empty.
    pub advice: String,
    /// How often it occurred.
    pub frequency: u64,
    /// The sessions it occurred in.
    pub sessions: Vec<String>,
    /// Their agents.
    pub agents: Vec<String>,
    /// Their projects.
    pub projects: Vec<String>,
    /// The domains of those projects.
    pub domains: Vec<String>,
    /// When it was first seen, in unix milliseconds.
    pub first_seen: Option<i64>,
    /// When it was last seen.
    pub last_seen: Option<i64>,
    /// Where it occurred.
    pub evidence: Vec<Evidence>,
}

/// Whether a pattern is good or bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PatternKind {
    /// Something that went wrong.
    Problem,
    /// Something that worked.
    Success,
}

impl PatternKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            PatternKind::Problem => "problem",
            PatternKind::Success => "success",
        }
    }
}

/// One occurrence of a pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The session.
    pub session: String,
    /// Its agent.
    pub agent: String,
    /// The turn.
    pub turn: u64,
    /// The event.
    pub event: u64,
    /// When, in unix milliseconds.
    pub at: Option<i64>,
    /// What was there.
    pub text: String,
}

#[cfg(test)]
mod tests;
