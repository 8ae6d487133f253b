//! The kinds of what a session is told, and their shares of the budget.

use serde::{Deserialize, Serialize};

/// What a new session may want to know, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// What the session itself did before its history was cut.
    Lost,
    /// What is known about the project. Nothing is learned yet.
    Learnings,
    /// The last sessions of the project.
    Sessions,
    /// The files that they changed, with their functions.
    Files,
    /// What was done on this branch, to the files that are being changed, and about what is asked.
    Observations,
    /// Who calls the functions that were changed, if that is asked for.
    Calls,
}

impl Layer {
    /// All layers, the most useful first.
    pub const ALL: [Layer; 6] = [
        Layer::Lost,
        Layer::Learnings,
        Layer::Sessions,
        Layer::Files,
        Layer::Observations,
        Layer::Calls,
    ];

    /// The name used in JSON and in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Lost => "lost",
            Layer::Learnings => "learnings",
            Layer::Sessions => "sessions",
            Layer::Files => "files",
            Layer::Observations => "observations",
            Layer::Calls => "calls",
        }
    }

    pub(super) fn heading(self) -> &'static str {
        match self {
            Layer::Lost => "This session, before its history was cut:",
            Layer::Learnings => "Known about this project:",
            Layer::Sessions => "State of work:",
            Layer::Files => "Changed code:",
            Layer::Observations => "Related:",
            Layer::Calls => "Calls of the functions that were changed:",
        }
    }

    /// Returns the maximum number of items: what is older or rarer would only be in the way of what matters.
    pub(super) fn max_items(self) -> usize {
        match self {
            Layer::Sessions => 6,
            Layer::Files => 4,
            Layer::Observations => 6,
            Layer::Learnings => 16,
            Layer::Lost | Layer::Calls => 40,
        }
    }
}

/// How the budget is shared, in parts of the whole of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shares {
    /// Of [`Layer::Lost`].
    pub lost: usize,
    /// Of [`Layer::Sessions`].
    pub sessions: usize,
    /// Of [`Layer::Files`].
    pub files: usize,
    /// Of [`Layer::Learnings`].
    pub learnings: usize,
    /// Of [`Layer::Observations`].
    pub observations: usize,
    /// Of [`Layer::Calls`].
    pub calls: usize,
}

impl Default for Shares {
    fn default() -> Self {
        Shares {
            lost: 40,
            sessions: 30,
            files: 30,
            learnings: 20,
            observations: 20,
            calls: 20,
        }
    }
}

impl Shares {
    pub(super) fn of(self, layer: Layer) -> usize {
        match layer {
            Layer::Lost => self.lost,
            Layer::Sessions => self.sessions,
            Layer::Files => self.files,
            Layer::Learnings => self.learnings,
            Layer::Observations => self.observations,
            Layer::Calls => self.calls,
        }
    }
}
