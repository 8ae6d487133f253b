//! Digests: the short account of each session, made without any model.
//!
//! Notes and what is made of them are of `backstory-analysis`; here they are read from the store.

mod plans;
mod record;
mod renew;
mod summary;
mod symbols;
mod verdicts;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use backstory_analysis::digest::Account;
use backstory_event::{Seq, Usage};
use backstory_store::{AnswerRows, SessionHead, SessionRow, Store};

use crate::Session;
use crate::conventions::AGENT_CONVENTIONS;
use crate::error::Result;
use crate::read::on_all_cores;
use crate::upkeep::WithDamage;

#[cfg(test)]
pub(crate) use backstory_analysis::digest::Story;
pub(crate) use backstory_analysis::digest::{
    Closing, EventPlace, LastCheck, Noted, Notes, PreparedNote, Purpose, Step, What, is_correction,
    is_decision, is_go_on, prompts, title,
};
pub use backstory_analysis::digest::{FileChange, Outcome, Statement};
pub use plans::PlanLinks;
pub use record::DigestRecord;
pub(crate) use renew::{
    digest_row, readable_notes, renew_digest, rewind_notes, session_notes, stored_notes,
};
pub use summary::SessionSummary;
pub(crate) use summary::stored_summary;
pub(crate) use verdicts::VerdictsLock;
pub use verdicts::{
    DigestEvidence, DigestItem, DigestScore, DigestVerdict, DigestVerdicts, Grade, GradedText,
    ItemVerdict, JudgedStatement, OutcomeScore, Proportion, StatementScore, TextScore,
    WrongOutcome,
};

/// The account of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Digest {
    /// The session.
    pub session: SessionRow,
    /// The session in one sentence: what was asked, what came of it, what is open.
    pub headline: Option<Statement>,
    /// What the user asked for first.
    pub goal: Vec<Statement>,
    /// How it ended.
    pub outcome: Outcome,
    /// Evidence for the outcome.
    pub reasons: Vec<Statement>,
    /// Things that were done.
    pub done: Vec<Statement>,
    /// Files that were changed.
    pub files: Vec<FileChange>,
    /// Errors, and how they ended.
    pub errors: Vec<Statement>,
    /// Errors of tests, builds and checks that were not seen to pass afterwards.
    pub problems: Vec<Statement>,
    /// Decisions and corrections of the user.
    pub decisions: Vec<Statement>,
    /// Next steps, as the end of the session names them.
    pub next_steps: Vec<Statement>,
    /// Sessions that made its plan or carried it out.
    pub plan: PlanLinks,
    /// The tokens it used.
    pub usage: Usage,
    /// What a model wrote of it, if one was let.
    pub summary: Option<SessionSummary>,
}

/// Returns whether a person wrote a prompt, and not a program in a person's name.
pub(crate) fn is_of_a_person(prompt: &str) -> bool {
    backstory_analysis::digest::is_of_a_person(prompt, &AGENT_CONVENTIONS)
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
    let outcome = Outcome::judge(&notes);
    let title = title(&notes, &AGENT_CONVENTIONS);
    Ok((outcome.name().to_string(), title))
}

/// Gives sessions the titles that their digests would give them, without storing those. All cores share the work.
pub(crate) fn settle_titles(home: &Path, store: &Store) -> Result<()> {
    let sessions = store.sessions_without_given_title()?;
    let mut heads: Vec<SessionHead> = store.session_heads(sessions)?.into_values().collect();
    heads.sort_by_key(|head| head.id);
    let next = AtomicUsize::new(0);
    let made = Mutex::new(Vec::new());
    on_all_cores(home, store, |store| {
        while let Some(head) = heads.get(next.fetch_add(1, Ordering::Relaxed)) {
            let notes = session_notes(store, head.id, &head.agent);
            let title = notes.map(|notes| title(&notes, &AGENT_CONVENTIONS));
            if let Ok(mut made) = made.lock() {
                made.push(title.map(|title| (head.id, title)));
            }
        }
    });
    let mut titles = Vec::new();
    for made in made.into_inner().unwrap_or_default() {
        let (session, title) = made?;
        titles.extend(title.map(|title| (session, title)));
    }
    Ok(store.save_titles(&titles)?)
}

impl Session<'_> {
    /// Returns the digest, as of the last stored event.
    pub fn digest(&self) -> Result<WithDamage<Digest>> {
        let notes = session_notes(&self.memory.store, self.row.id, &self.row.agent)?;
        let mut account = Account::new(&notes, self.row.title.as_deref(), &AGENT_CONVENTIONS);
        if let Some(symbols) =
            symbols::changed_symbols(&self.memory.store, self.row.id, &account.files)?
        {
            account.add_symbols(symbols);
        }
        let digest = Digest {
            session: self.row.clone(),
            headline: account.headline,
            goal: account.goal,
            outcome: account.outcome,
            reasons: account.reasons,
            done: account.done,
            files: account.files,
            errors: account.errors,
            problems: account.problems,
            decisions: account.decisions,
            next_steps: account.next_steps,
            plan: plans::plan_links(&self.memory.store, &self.row, &notes)?,
            usage: self.row.usage,
            summary: stored_summary(&self.memory.store, self.row.id)?,
        };
        let rows = AnswerRows::SessionWithNotes(self.row.id);
        self.memory.upkeep().with_damage(digest, Some(&rows))
    }
}
