//! Digests: the short account of each session, made without any model.
//!
//! While events go by, `notes` keeps what matters of them; the notes are stored and go on when the session grows, and they are
//! all that is left of it once its text is evicted. Everything else is made of the notes when it is asked for: `account` tells
//! what was done, `outcome` how it ended. `command`, `said` and `trouble` know what commands, people and errors mean.

mod account;
mod command;
mod notes;
mod outcome;
mod output;
mod renew;
mod said;
#[cfg(test)]
mod story;
mod trouble;

use backstory_session::Usage;
use backstory_store::{SessionHead, SessionRow, Store};
use serde::Serialize;

use self::account::Account;
use crate::Memory;
use crate::error::Result;

pub(crate) use account::prompts;
pub(crate) use command::program;
pub(crate) use notes::{Notes, Step, What};
pub use outcome::Outcome;
pub(crate) use renew::Digester;
pub(crate) use said::{is_correction, is_of_a_person};
#[cfg(test)]
pub(crate) use story::Story;
pub(crate) use trouble::signature;

/// The account of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Digest {
    /// The session.
    pub session: SessionRow,
    /// What the user asked for first.
    pub goal: Vec<Statement>,
    /// How it ended.
    pub outcome: Outcome,
    /// What tells so.
    pub reasons: Vec<Statement>,
    /// What was done.
    pub done: Vec<Statement>,
    /// Which files were changed.
    pub files: Vec<FileChange>,
    /// What went wrong, and how that ended.
    pub errors: Vec<Statement>,
    /// What the user decided or corrected.
    pub decisions: Vec<Statement>,
    /// What the end of it says is left to do.
    pub next_steps: Vec<Statement>,
    /// The tokens it used.
    pub usage: Usage,
}

/// Something that a digest says, and the events that it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Statement {
    /// What it says.
    pub text: String,
    /// The turn, where it is of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// The events, by their seq.
    pub events: Vec<u64>,
}

impl Statement {
    fn new(text: &str, events: Vec<u64>) -> Self {
        Statement {
            text: text.to_string(),
            turn: None,
            events,
        }
    }
}

/// A file that a session changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// The path as the log has it.
    pub path: String,
    /// The events that changed it.
    pub events: Vec<u64>,
}

/// What is left of a session whose text is gone: what its digest says, and the files that it changed.
pub(crate) fn told(store: &Store, head: &SessionHead) -> Result<(String, String)> {
    let account = Account::new(&renew::notes(store, head.id, &head.agent)?);
    let parts = [
        account.goal,
        account.decisions,
        account.done,
        account.errors,
        account.next_steps,
    ];
    let told: Vec<String> = parts
        .into_iter()
        .flatten()
        .map(|statement| statement.text)
        .collect();
    let files: Vec<String> = account.files.into_iter().map(|file| file.path).collect();
    Ok((told.join("\n"), files.join("\n")))
}

impl Memory {
    /// The account of a session, as of its last stored event.
    pub fn digest(&self, session: &SessionRow) -> Result<Digest> {
        let notes = renew::notes(&self.store, session.id, &session.agent)?;
        let account = Account::new(&notes);
        Ok(Digest {
            session: session.clone(),
            goal: account.goal,
            outcome: account.outcome,
            reasons: account.reasons,
            done: account.done,
            files: account.files,
            errors: account.errors,
            decisions: account.decisions,
            next_steps: account.next_steps,
            usage: session.usage,
        })
    }
}
