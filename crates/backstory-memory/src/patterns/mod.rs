//! Patterns: what keeps going wrong, or right, across sessions and agents.
//!
//! `detectors` look through the notes of each session for signals; `detect` brings together those that are the same.

mod detect;
mod detectors;

use std::collections::BTreeMap;

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
    pub first_seen: Option<i64>,
    /// And when last.
    pub last_seen: Option<i64>,
    /// The events that it rests on, the oldest first; of each session some.
    pub evidence: Vec<Evidence>,
}

impl Pattern {
    /// Whether more than one agent has it.
    pub fn is_cross_agent(&self) -> bool {
        self.agents.len() > 1
    }
}

/// Whether a pattern is to be avoided or to be done again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternKind {
    /// What keeps going wrong.
    Problem,
    /// What keeps going right.
    Success,
}

impl PatternKind {
    /// The name used in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            PatternKind::Problem => "problem",
            PatternKind::Success => "success",
        }
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
    pub turn: u64,
    /// The event, by its seq.
    pub event: u64,
    /// When.
    pub at: Option<i64>,
    /// What it says.
    pub text: String,
}

/// Which patterns to find.
#[derive(Debug, Clone, Default)]
pub struct PatternFilter {
    /// Seen at least so often.
    pub min_frequency: u64,
    /// Seen in this project: its root, or the end of it.
    pub project: Option<String>,
    /// Seen in this domain.
    pub domain: Option<String>,
    /// Of this kind.
    pub kind: Option<PatternKind>,
    /// The domain of each repository, by its root or the end of it.
    pub domains: BTreeMap<String, String>,
}

impl PatternFilter {
    /// One session is no pattern.
    fn passes(&self, pattern: &Pattern) -> bool {
        let of_project = |wanted: &String| pattern.projects.iter().any(|root| is_at(root, wanted));
        pattern.sessions.len() > 1
            && pattern.frequency >= self.min_frequency
            && self.project.as_ref().is_none_or(of_project)
            && self
                .domain
                .as_ref()
                .is_none_or(|wanted| pattern.domains.contains(wanted))
    }

    fn domain_of(&self, root: &str) -> Option<String> {
        let found = self
            .domains
            .iter()
            .find(|(repository, _)| is_at(root, repository));
        found.map(|(_, domain)| domain.clone())
    }
}

/// Whether a project's root is this path, or ends with this name.
fn is_at(root: &str, wanted: &str) -> bool {
    let wanted = wanted.trim_end_matches('/');
    root == wanted
        || root
            .strip_suffix(wanted)
            .is_some_and(|before| before.ends_with('/'))
}
