//! What may be told, with how relevant it is and why.

use backstory_event::TurnNo;
use serde::{Deserialize, Serialize};

use super::layer::Layer;
use super::past::Past;

/// Items below this relevance are left out, whatever room there is.
pub(super) const MIN_RELEVANCE: f64 = 0.35;

/// Why an item is relevant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It is what this session itself did before its history was cut.
    OwnHistory,
    /// It is about the prompt.
    Prompt,
    /// It is about files with changes that are not committed.
    UncommittedFile,
    /// It was done on this branch.
    SameBranch,
    /// The last sessions of the project did it.
    LatestWork,
    /// Many of the last sessions changed it.
    ChangedOften,
    /// The check failed when it last ran.
    FailingCheck,
    /// It was asked for.
    AskedFor,
}

impl Reason {
    /// Returns the reason as a phrase.
    pub fn text(self) -> &'static str {
        match self {
            Reason::OwnHistory => "this session did it before its history was cut",
            Reason::Prompt => "about the prompt",
            Reason::UncommittedFile => "about a file with uncommitted changes",
            Reason::SameBranch => "on this branch",
            Reason::LatestWork => "latest work in the project",
            Reason::ChangedOften => "changed by many of the last sessions",
            Reason::FailingCheck => "failed when it last ran",
            Reason::AskedFor => "asked for with --calls",
        }
    }
}

/// A line that may be told.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) text: String,
    pub(super) reason: Reason,
    /// From 0 to 1.
    pub(super) relevance: f64,
    pub(super) session: String,
    pub(super) turn: TurnNo,
}

impl Candidate {
    /// A line about a turn of an earlier session, which it ends with as a citation.
    pub(super) fn new(
        text: &str,
        past: &Past,
        turn: TurnNo,
        reason: Reason,
        relevance: f64,
    ) -> Self {
        Candidate {
            text: format!("- {text} {}", past.cite(turn)),
            reason,
            relevance,
            session: past.row.session.clone(),
            turn,
        }
    }

    /// Returns it as an item of the context.
    pub(super) fn of_layer(&self, layer: Layer) -> ContextItem {
        ContextItem {
            layer,
            text: self.text.clone(),
            reason: self.reason,
            relevance: self.relevance,
            session: self.session.clone(),
            turn: self.turn,
        }
    }
}

/// An item of a context, and why it is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextItem {
    /// The layer that it is of.
    pub layer: Layer,
    /// Its line, as the context has it.
    pub text: String,
    /// Why it is there.
    pub reason: Reason,
    /// Relevance from 0 to 1, by which items of a layer are chosen.
    pub relevance: f64,
    /// The agent's own id of the session that it is from.
    pub session: String,
    /// The turn that it is from.
    pub turn: TurnNo,
}

/// Items of a layer that were left out, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The layer.
    pub layer: Layer,
    /// Number of items.
    pub items: usize,
    /// Why they were left out.
    pub reason: LeftOutReason,
}

/// Why items of a layer were left out, or there were none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// Nothing of this kind is known.
    NothingKnown,
    /// They are not relevant enough.
    Irrelevant,
    /// The layer has more relevant ones.
    MoreRelevantOnes,
    /// There was no room in the budget.
    NoRoom,
    /// They were not asked for.
    NotAskedFor,
}

impl LeftOutReason {
    /// Returns the reason as a phrase.
    pub fn text(self) -> &'static str {
        match self {
            LeftOutReason::NothingKnown => "nothing relevant is known",
            LeftOutReason::Irrelevant => "not relevant enough",
            LeftOutReason::MoreRelevantOnes => "others are more relevant",
            LeftOutReason::NoRoom => "no room in the budget",
            LeftOutReason::NotAskedFor => "not asked for",
        }
    }
}
