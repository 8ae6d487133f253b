//! Digests: the short account of each session, made without any model.
//!
//! While events go by, `notes` keeps what matters of them; the notes are stored and go on when the session grows, and they are
//! all that is left of it once its text is evicted. Everything else is made of the notes when it is asked for: `account` tells
//! what was done, `outcome` how it ended. `command`, `said` and `trouble` know what commands, people and errors mean.

mod account;
mod answers;
mod closing;
mod command;
mod deciding;
mod decisions;
mod done;
mod errors;
mod noted;
mod notes;
mod options;
mod outcome;
mod plan;
mod prepared_note;
mod repairs;
mod request;
mod results;
mod run_parts;
mod said;
mod sentence;
#[cfg(any(test, feature = "story"))]
mod story;
mod summary;
mod title;
mod topic;
mod trouble;

use backstory_event::{Seq, TurnNo};
use serde::{Deserialize, Serialize};

pub use account::{Account, prompts};
pub use closing::{Closing, LastCheck};
pub use command::{CommandKind, only_looks, program};
pub use deciding::is_decision;
pub use noted::Noted;
pub use notes::{EventPlace, Last, Notes, Run, Step, What};
pub use outcome::Outcome;
pub use plan::{handed_plan, is_same_plan, presented_plan};
pub use prepared_note::{PreparedCall, PreparedNote, PreparedResult};
pub use repairs::{Attempt, Repair, repairs};
pub(crate) use run_parts::step_parts;
pub use run_parts::{Purpose, RunPart};
pub use said::{is_correction, is_go_on, is_of_a_person};
#[cfg(any(test, feature = "story"))]
pub use story::Story;
pub use title::title;
pub use trouble::signature;

/// A sentence of a digest, and the events that it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// Its words.
    pub text: String,
    /// The turn, where it is of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnNo>,
    /// The events, by their seq.
    pub events: Vec<Seq>,
}

impl Statement {
    fn new(text: &str, events: Vec<Seq>) -> Self {
        Statement {
            text: text.to_string(),
            turn: None,
            events,
        }
    }
}

/// A file that a session changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The path as the log has it.
    pub path: String,
    /// The events that changed it.
    pub events: Vec<Seq>,
}
