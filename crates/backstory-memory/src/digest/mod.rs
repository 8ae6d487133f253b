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
mod prepared_note;
mod record;
mod renew;
mod said;
#[cfg(test)]
mod story;
mod trouble;

use backstory_event::{Kind, Seq, TimeMs, TurnNo, Usage};
use backstory_store::{SessionHead, SessionRow, Store};
use serde::{Deserialize, Serialize};

use self::account::Account;
use crate::Session;
use crate::error::Result;
use crate::summarize::SessionSummary;

pub(crate) use account::prompts;
pub(crate) use command::{CommandKind, program};
pub(crate) use notes::{Notes, Run, Step, What};
pub use outcome::Outcome;
pub(crate) use prepared_note::PreparedNote;
pub use record::DigestRecord;
pub(crate) use renew::{
    digest_row, readable_notes, renew_digest, rewind_notes, session_notes, stored_notes,
};
pub(crate) use said::{is_correction, is_decision, is_go_on, is_of_a_person};
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
    /// What a model wrote of it, if one was let.
    pub summary: Option<SessionSummary>,
}

/// Something that a digest says, and the events that it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// What it says.
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

/// What is left of an event whose text is gone.
pub(crate) struct Noted {
    pub(crate) seq: Seq,
    pub(crate) turn: TurnNo,
    pub(crate) at: Option<TimeMs>,
    pub(crate) kind: Kind,
    /// What was said, called and given, as search tells them apart.
    pub(crate) texts: [String; 3],
}

impl Noted {
    fn new(step: Step) -> Option<Self> {
        let none = String::new;
        let (kind, texts) = match step.what {
            What::Prompt(said) => (Kind::Prompt, [said, none(), none()]),
            What::Reply(said) => (Kind::Reply, [said, none(), none()]),
            What::Run(run) => (
                Kind::ToolCall,
                [none(), run.command, run.said.unwrap_or_default()],
            ),
            What::Edit { paths, said, .. } => (
                Kind::ToolCall,
                [none(), paths.join("\n"), said.unwrap_or_default()],
            ),
            What::Failed { target, said, .. } => (Kind::ToolResult, [none(), target, said]),
            What::Denied(_) | What::Interrupted | What::Compacted => return None,
        };
        Some(Noted {
            seq: step.seq,
            turn: step.turn,
            at: step.at,
            kind,
            texts,
        })
    }
}

/// What was noted of the events of a session that are gone.
pub(crate) fn evicted(store: &Store, head: &SessionHead) -> Result<Vec<Noted>> {
    if head.evicted == Seq::ZERO {
        return Ok(Vec::new());
    }
    let steps = session_notes(store, head.id, &head.agent)?
        .steps
        .into_iter();
    let gone = steps.filter(|step| step.seq <= head.evicted);
    Ok(gone.filter_map(Noted::new).collect())
}

/// Returns how a session ends and what people recognise it by, captured events included.
pub(crate) fn outcome_and_title(
    store: &Store,
    row: &SessionRow,
) -> Result<(String, Option<String>)> {
    let notes = readable_notes(store, row.id, &row.agent)?;
    let outcome = Account::new(&notes).outcome;
    Ok((outcome.name().to_string(), account::title(&notes)))
}

impl Session<'_> {
    /// The account of a &self.row, as of its last stored event.
    pub fn digest(&self) -> Result<Digest> {
        let notes = session_notes(&self.memory.store, self.row.id, &self.row.agent)?;
        let account = Account::new(&notes);
        Ok(Digest {
            session: self.row.clone(),
            goal: account.goal,
            outcome: account.outcome,
            reasons: account.reasons,
            done: account.done,
            files: account.files,
            errors: account.errors,
            decisions: account.decisions,
            next_steps: account.next_steps,
            usage: self.row.usage,
            summary: self.memory.summaries().summary(&self.row)?,
        })
    }
}
