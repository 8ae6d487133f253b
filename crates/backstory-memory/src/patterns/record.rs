//! Patterns as JSON documents, with the decisions about them.

use backstory_event::{Seq, TimeMs, TurnNo};
use serde::Serialize;

use super::{Catalogue, Entry, Evidence, Measurement, Pattern, PatternKind};
use crate::import::discover::Problem;
use crate::serde_text::rfc3339_time;

/// Status of a pattern that nobody decided about.
const CANDIDATE: &str = "candidate";

/// Patterns, the most frequent first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PatternList<'a> {
    /// The patterns.
    pub patterns: Vec<PatternRecord<'a>>,
}

/// A pattern with its edited title and advice. Fields that only detected patterns have are left out of others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PatternRecord<'a> {
    /// Id.
    pub id: &'a str,
    /// Problem or success.
    pub kind: PatternKind,
    /// The detector that found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detector: Option<&'static str>,
    /// Title, as people edited it.
    pub title: &'a str,
    /// Advice, as people edited it.
    pub advice: &'a str,
    /// True if nobody can act on it; left out of others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub minor: bool,
    /// Number of occurrences.
    pub frequency: u64,
    /// Sessions that it occurred in.
    pub sessions: &'a [String],
    /// Their agents.
    pub agents: &'a [String],
    /// True if more than one agent has it.
    pub cross_agent: bool,
    /// Projects that it occurred in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projects: Option<&'a [String]>,
    /// Domains of these projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domains: Option<&'a [String]>,
    /// Time of the first occurrence.
    #[serde(with = "rfc3339_time")]
    pub first_seen: Option<TimeMs>,
    /// Time of the last occurrence.
    #[serde(with = "rfc3339_time")]
    pub last_seen: Option<TimeMs>,
    /// `candidate`, or what was decided.
    pub status: &'static str,
    /// Events that it rests on, the oldest first.
    pub evidence: Vec<EvidenceRecord<'a>>,
    /// The decision; null when there is none, left out of lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<Option<&'a Entry>>,
}

/// An event that a pattern rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvidenceRecord<'a> {
    /// The session.
    pub session: &'a str,
    /// The agent.
    pub agent: &'a str,
    /// The turn.
    pub turn: TurnNo,
    /// The event.
    pub event: Seq,
    /// Time.
    #[serde(with = "rfc3339_time")]
    pub timestamp: Option<TimeMs>,
    /// Text of the event.
    pub text: &'a str,
}

impl<'a> PatternList<'a> {
    /// Returns patterns with what the catalogue has about them.
    pub fn new(patterns: &'a [Pattern], catalogue: &'a Catalogue) -> Self {
        let patterns = patterns.iter();
        let records =
            patterns.map(|pattern| PatternRecord::detected(pattern, catalogue.entry(&pattern.id)));
        PatternList {
            patterns: records.collect(),
        }
    }
}

impl<'a> PatternRecord<'a> {
    /// Returns a pattern that was detected.
    pub fn detected(pattern: &'a Pattern, entry: Option<&'a Entry>) -> Self {
        let (title, advice) = pattern.title_and_advice(entry);
        PatternRecord {
            id: &pattern.id,
            kind: pattern.kind,
            detector: Some(pattern.detector),
            title,
            advice,
            minor: pattern.is_minor,
            frequency: pattern.frequency,
            sessions: &pattern.sessions,
            agents: &pattern.agents,
            cross_agent: pattern.is_cross_agent(),
            projects: Some(&pattern.projects),
            domains: Some(&pattern.domains),
            first_seen: pattern.first_seen,
            last_seen: pattern.last_seen,
            status: entry.map_or(CANDIDATE, |entry| entry.status.name()),
            evidence: pattern.evidence.iter().map(EvidenceRecord::from).collect(),
            decided: None,
        }
    }

    /// Returns a pattern that was decided about and is no longer found: its sessions may be gone from the store.
    pub fn undetected(entry: &'a Entry) -> Self {
        PatternRecord {
            id: &entry.id,
            kind: entry.kind,
            detector: None,
            title: &entry.title,
            advice: &entry.advice,
            minor: false,
            frequency: 0,
            sessions: &[],
            agents: &[],
            cross_agent: false,
            projects: None,
            domains: None,
            first_seen: None,
            last_seen: None,
            status: entry.status.name(),
            evidence: Vec::new(),
            decided: None,
        }
    }

    /// Adds what was decided about it, if anything was.
    pub fn with_decision(mut self, entry: Option<&'a Entry>) -> Self {
        self.decided = Some(entry);
        self
    }
}

impl Pattern {
    /// Returns title and advice: by people if they wrote some.
    pub fn title_and_advice<'a>(&'a self, entry: Option<&'a Entry>) -> (&'a str, &'a str) {
        entry.map_or((&self.title, &self.advice), |entry| {
            (&entry.title, &entry.advice)
        })
    }
}

impl<'a> From<&'a Evidence> for EvidenceRecord<'a> {
    fn from(evidence: &'a Evidence) -> Self {
        EvidenceRecord {
            session: &evidence.session,
            agent: &evidence.agent,
            turn: evidence.turn,
            event: evidence.event,
            timestamp: evidence.at,
            text: &evidence.text,
        }
    }
}

/// Decisions of people about patterns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CatalogueRecord<'a> {
    /// The decisions.
    pub catalogue: &'a [Entry],
    /// Files that were not read.
    pub problems: &'a [Problem],
}

impl Catalogue {
    /// Returns the decisions as a JSON document.
    pub fn entries_and_problems(&self) -> CatalogueRecord<'_> {
        CatalogueRecord {
            catalogue: self.entries(),
            problems: self.problems(),
        }
    }
}

/// Measurements of published patterns.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MeasurementList<'a> {
    /// One for each pattern and file.
    pub measurements: Vec<MeasuredPattern<'a>>,
}

/// Measurements of a pattern that was published in a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredPattern<'a> {
    /// The pattern.
    pub id: &'a str,
    /// Its title.
    pub title: &'a str,
    /// The file.
    pub target: &'a str,
    /// Time of the publication.
    #[serde(with = "rfc3339_time")]
    pub published_at: Option<TimeMs>,
    /// All agents together, then each.
    pub rows: Vec<Measurement>,
}
