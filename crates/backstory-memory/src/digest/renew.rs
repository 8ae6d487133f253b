//! Keeping digests in step with the store.

use std::collections::{BTreeSet, HashMap};

use backstory_event::{Seq, SessionId};
use backstory_store::{DigestRow, EventRange, Store, Taken};

use super::account::{Account, title};
use super::notes::Notes;
use crate::error::Result;
use crate::read::{unless_damaged, view_of_stored, visit};

/// So many digests are stored in one transaction.
const TOGETHER: usize = 200;

/// Makes digests while a sweep stores events, which saves reading them again.
#[derive(Default)]
pub(crate) struct Digester {
    open: HashMap<SessionId, Notes>,
    ready: Vec<DigestRow>,
    renewed: BTreeSet<SessionId>,
}

impl Digester {
    /// Takes events right after they were stored: those of sessions whose notes lack nothing before them.
    pub(crate) fn feed(&mut self, store: &mut Store, taken: &Taken) -> Result<()> {
        let mut fed = HashMap::new();
        for events in taken.events.chunk_by(|a, b| a.session == b.session) {
            let Some(first) = events.first() else {
                continue;
            };
            let session = first.session;
            let notes = match fed.remove(&session).or_else(|| self.open.remove(&session)) {
                Some(notes) => Some(notes),
                None => whole_notes(store, session)?,
            };
            // Put back unless events are missing in between: then they are read again at the end.
            if let Some(mut notes) = notes
                && notes.events.next() == first.seq
            {
                for stored in events {
                    notes.take(&view_of_stored(stored));
                }
                fed.insert(session, notes);
            }
        }
        for session in &taken.extended {
            fed.remove(session);
            self.open.remove(session);
        }
        // What this batch did not touch is most likely over.
        for (session, notes) in std::mem::replace(&mut self.open, fed) {
            self.close(session, &notes);
        }
        if self.ready.len() >= TOGETHER {
            self.save(store)?;
        }
        Ok(())
    }

    /// Makes the digests that were not fed, and stores all. Returns how many sessions got a new one.
    pub(crate) fn finish(mut self, store: &mut Store) -> Result<u64> {
        for (session, notes) in std::mem::take(&mut self.open) {
            self.close(session, &notes);
        }
        self.save(store)?;
        for pending in store.undigested()? {
            let notes = notes(store, pending.session, &pending.agent)?;
            self.close(pending.session, &notes);
            if self.ready.len() >= TOGETHER {
                self.save(store)?;
            }
        }
        self.save(store)?;
        Ok(self.renewed.len() as u64)
    }

    fn close(&mut self, session: SessionId, notes: &Notes) {
        self.renewed.insert(session);
        self.ready.push(row(session, notes));
    }

    fn save(&mut self, store: &mut Store) -> Result<()> {
        store.save_digests(&self.ready)?;
        self.ready.clear();
        Ok(())
    }
}

fn row(session: SessionId, notes: &Notes) -> DigestRow {
    DigestRow {
        session,
        events: notes.events,
        outcome: Account::new(notes).outcome.name().to_string(),
        title: title(notes),
        notes: serde_json::to_vec(notes).unwrap_or_default(),
    }
}

/// The notes of a session as they are stored; new ones if there are none; `None` when part of them is not true any more.
fn whole_notes(store: &Store, session: SessionId) -> Result<Option<Notes>> {
    let Some(row) = store.digest(session)? else {
        return Ok(Some(Notes::default()));
    };
    let notes: Notes = serde_json::from_slice(&row.notes).unwrap_or_default();
    Ok((notes.events == row.events).then_some(notes))
}

/// The notes of a session with all of its events that are there.
pub(crate) fn notes(store: &Store, session: SessionId, agent: &str) -> Result<Notes> {
    let row = store.digest(session)?;
    let mut notes: Notes = row
        .as_ref()
        .and_then(|row| serde_json::from_slice(&row.notes).ok())
        .unwrap_or_default();
    if let Some(row) = row
        && row.events < notes.events
    {
        // An event that is noted has changed; its turn is noted anew, unless all that is left of it are the notes.
        if let Some((turn, first)) = store.turn_beginning(session, row.events.next())? {
            notes.rewind(turn, first);
        }
    }
    let range = EventRange::From(notes.events.next());
    visit(store, session, agent, range, |event| {
        notes.take(&event);
        Ok(())
    })?;
    Ok(notes)
}

/// Makes the digest of a session anew from its stored events, by the rules of this version; `evicted` of them are not stored. Where any is
/// damaged, the digest stays as it is: it tells more.
pub(crate) fn renew_digest(
    store: &mut Store,
    session: SessionId,
    agent: &str,
    evicted: Seq,
) -> Result<()> {
    let stored = store.digest(session);
    let Some(stored) = unless_damaged(store, stored)? else {
        return Ok(());
    };
    let Some((turn, first)) = store.turn_beginning(session, evicted.next())? else {
        return Ok(());
    };
    let mut notes: Notes = serde_json::from_slice(&stored.notes).unwrap_or_default();
    if notes.events < evicted {
        return Ok(());
    }
    notes.rewind(turn, first);
    let mut is_damaged = false;
    let range = EventRange::From(notes.events.next());
    visit(store, session, agent, range, |event| {
        is_damaged |= event.damage.is_some();
        notes.take(&event);
        Ok(())
    })?;
    let renewed = row(session, &notes);
    if !is_damaged && (renewed.notes != stored.notes || renewed.outcome != stored.outcome) {
        store.save_digests(&[renewed])?;
    }
    Ok(())
}
