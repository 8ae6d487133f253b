//! Digests: the short account of each session, made without any model.
//!
//! Notes and what is made of them are of `backstory-analysis`; here they are read from the store.

mod record;
mod renew;
mod summary;

use backstory_analysis::digest::{Account, first_request, title, title_of_first_request};
use backstory_event::{Event, Kind, Seq, Usage};
use backstory_store::{AnswerRows, SessionHead, SessionRow, Store};

use crate::Session;
use crate::conventions::AGENT_CONVENTIONS;
use crate::error::Result;
use crate::read::{records_of, with_texts};
use crate::upkeep::WithDamage;

#[cfg(test)]
pub(crate) use backstory_analysis::digest::Story;
pub(crate) use backstory_analysis::digest::{
    CommandKind, EventPlace, Noted, Notes, PreparedNote, Run, Step, What, is_correction,
    is_decision, is_go_on, program, prompts,
};
pub use backstory_analysis::digest::{FileChange, Outcome, Statement};
pub use record::DigestRecord;
pub(crate) use renew::{
    digest_row, readable_notes, renew_digest, rewind_notes, session_notes, stored_notes,
};
pub use summary::SessionSummary;
pub(crate) use summary::stored_summary;

/// Number of events that are looked up at once.
const EVENTS_AT_ONCE: u32 = 200;

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
    let outcome = Account::new(&notes, &AGENT_CONVENTIONS).outcome;
    let title = title(&notes, &AGENT_CONVENTIONS);
    Ok((outcome.name().to_string(), title))
}

/// Gives sessions the titles that their digests would give them, without making those.
pub(crate) fn settle_titles(store: &Store) -> Result<()> {
    let sessions = store.sessions_without_given_title()?;
    let mut titles = Vec::new();
    for head in store.session_heads(sessions)?.values() {
        titles.extend(prompt_title(store, head)?.map(|title| (head.id, title)));
    }
    Ok(store.save_titles(&titles)?)
}

/// Returns the title that the digest of a session would give it. Mostly no text is read but that of prompts up to the first request.
fn prompt_title(store: &Store, head: &SessionHead) -> Result<Option<String>> {
    let mut notes = Notes::default();
    let is_request = |notes: &Notes| first_request(notes, &AGENT_CONVENTIONS).is_some();
    note_events(
        store,
        head,
        |event| event.kind == Kind::Prompt,
        &mut notes,
        is_request,
    )?;
    if let Some(title) = title_of_first_request(&notes, &AGENT_CONVENTIONS) {
        return Ok(Some(title));
    }
    let mut notes = Notes::default();
    note_events(store, head, |_| true, &mut notes, |_| false)?;
    Ok(title(&notes, &AGENT_CONVENTIONS))
}

/// Takes notes of the events of a session that are wanted, until they are enough.
fn note_events(
    store: &Store,
    head: &SessionHead,
    is_wanted: impl Fn(&Event) -> bool,
    notes: &mut Notes,
    is_enough: impl Fn(&Notes) -> bool,
) -> Result<()> {
    let mut bytes = store.bytes();
    let mut next = Seq::FIRST;
    // Events of the last record, which may have more: it is parsed once for all of them.
    let mut open = Vec::new();
    loop {
        let last = Seq::new(next.get().saturating_add(EVENTS_AT_ONCE - 1));
        let events = store.events_between(head.id, next, last)?;
        let is_end = events.is_empty();
        let wanted = events.into_iter().filter(|event| is_wanted(&event.event));
        let wanted = std::mem::take(&mut open).into_iter().chain(wanted);
        let mut records = records_of(wanted).peekable();
        while let Some(record) = records.next() {
            if records.peek().is_none() && !is_end {
                open = record;
                break;
            }
            for event in with_texts(store, &mut bytes, &head.agent, record)? {
                notes.take(&event, &AGENT_CONVENTIONS);
                if is_enough(notes) {
                    return Ok(());
                }
            }
        }
        if is_end {
            return Ok(());
        }
        next = last.next();
    }
}

impl Session<'_> {
    /// Returns the digest, as of the last stored event.
    pub fn digest(&self) -> Result<WithDamage<Digest>> {
        let notes = session_notes(&self.memory.store, self.row.id, &self.row.agent)?;
        let account = Account::new(&notes, &AGENT_CONVENTIONS);
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
            usage: self.row.usage,
            summary: stored_summary(&self.memory.store, self.row.id)?,
        };
        let rows = AnswerRows::SessionWithNotes(self.row.id);
        self.memory.upkeep().with_damage(digest, Some(&rows))
    }
}
