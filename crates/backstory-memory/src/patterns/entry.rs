//! A file of the catalogue, as it is read.

use backstory_event::TimeMs;
use serde::{Deserialize, Serialize};

use super::PatternKind;
use crate::serde_text::rfc3339_time;

/// What people decided about a pattern.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct Entry {
    /// The pattern.
    pub id: String,
    /// Problem or success.
    pub kind: PatternKind,
    /// One line that a person understands.
    pub title: String,
    /// What to do; may be empty.
    #[serde(default)]
    pub advice: String,
    /// What was decided.
    pub status: Status,
    /// Counts up with each change.
    #[serde(default)]
    pub version: u64,
    /// Patterns that are the same as this one.
    #[serde(default)]
    pub merged: Vec<String>,
    /// The pattern that this one is the same as.
    pub merged_into: Option<String>,
    /// What was known when it was decided.
    #[serde(default)]
    pub seen: Seen,
    /// Where it is published.
    #[serde(default)]
    pub published: Vec<Publication>,
    /// What happened when.
    #[serde(default)]
    pub history: Vec<Change>,
}

/// What people decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is true and worth telling.
    Approved,
    /// It is not.
    Rejected,
    /// It is another one.
    Merged,
}

impl Status {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Status::Approved => "approved",
            Status::Rejected => "rejected",
            Status::Merged => "merged",
        }
    }
}

/// What was known of a pattern when it was decided.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Seen {
    /// How often.
    pub frequency: u64,
    /// In how many sessions.
    pub sessions: u64,
    /// Of which agents.
    pub agents: Vec<String>,
    /// In which domains.
    pub domains: Vec<String>,
    /// When first, in unix milliseconds.
    #[serde(with = "rfc3339_time")]
    pub first: Option<TimeMs>,
    /// When last.
    #[serde(with = "rfc3339_time")]
    pub last: Option<TimeMs>,
    /// Some of its occurrences, as `SESSION#TURN`.
    pub citations: Vec<String>,
}

/// A file that tells agents of a pattern.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct Publication {
    /// The file, as people know it: `shop/AGENTS.md`.
    pub target: String,
    /// The project whose sessions read it; all read it when there is none.
    pub project: Option<String>,
    /// Since when, in unix milliseconds.
    #[serde(default, with = "rfc3339_time")]
    pub at: Option<TimeMs>,
}

/// What happened to an entry.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct Change {
    /// When, in unix milliseconds.
    #[serde(default, with = "rfc3339_time")]
    pub at: Option<TimeMs>,
    /// What: approved, rejected, edited, merged, published, unpublished.
    pub change: String,
    /// The title before it was edited.
    pub title: Option<String>,
    /// The advice before it was edited.
    pub advice: Option<String>,
    /// The other pattern of a merge.
    pub pattern: Option<String>,
    /// The file of a publication.
    pub target: Option<String>,
}
