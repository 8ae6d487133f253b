//! Notes as they are stored, and as they are once events that were not noted yet are added.

use backstory_event::{Seq, SessionId};
use backstory_store::{DigestRow, EventRange, Store};

use super::{Notes, Outcome, title};
use crate::conventions::AGENT_CONVENTIONS;
use crate::derive::NOTES;
use crate::error::{Error, Result};
use crate::read::{unless_damaged, visit, visit_stored};

/// Returns the row of a digest.
pub(crate) fn digest_row(session: SessionId, notes: &Notes) -> DigestRow {
    DigestRow {
        session,
        outcome: Outcome::judge(notes).name().to_string(),
        title: title(notes, &AGENT_CONVENTIONS),
        notes: serde_json::to_vec(notes).unwrap_or_default(),
    }
}

/// Returns the notes of a session as they are stored; new ones if there are none.
pub(crate) fn stored_notes(store: &Store, session: SessionId) -> Result<Notes> {
    let row = store.digest(session)?;
    let notes = row.and_then(|row| serde_json::from_slice(&row.notes).ok());
    Ok(notes.unwrap_or_default())
}

/// Takes notes back from the beginning of the turn of an event that changed; what is evicted of it stays noted.
pub(crate) fn rewind_notes(
    store: &Store,
    session: SessionId,
    notes: &mut Notes,
    changed: Seq,
) -> Result<()> {
    if notes.events >= changed
        && let Some((turn, first)) = store.turn_beginning(session, changed)?
    {
        notes.rewind(turn, first);
    }
    Ok(())
}

/// Returns the notes of a session with all of its events, those included that only hooks told of so far.
pub(crate) fn session_notes(store: &Store, session: SessionId, agent: &str) -> Result<Notes> {
    let mut notes = stored_notes(store, session)?;
    if let Some(consumer) = store.lag().find(NOTES)? {
        let noted = store.lag().seen_to(consumer, session)?;
        rewind_notes(store, session, &mut notes, noted.next())?;
    }
    let range = EventRange::From(notes.events.next());
    visit(store, session, agent, range, |event| {
        notes.take(&event, &AGENT_CONVENTIONS);
        Ok(())
    })?;
    Ok(notes)
}

/// Returns the notes of a session, or none when they are damaged: that costs what they say and nothing else.
pub(crate) fn readable_notes(store: &Store, session: SessionId, agent: &str) -> Result<Notes> {
    match session_notes(store, session, agent) {
        Err(Error::Store(backstory_store::Error::DamagedPiece(damage))) => {
            store.meet_damage([*damage]);
            Ok(Notes::default())
        }
        notes => notes,
    }
}

/// Makes the digest of a session anew from its stored events, by the rules of this version; `evicted` of them are not stored. Where any is
/// damaged, the digest stays as it is: it tells more.
pub(crate) fn renew_digest(
    store: &Store,
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
    visit_stored(store, session, agent, range, |event| {
        is_damaged |= event.damage.is_some();
        notes.take(&event, &AGENT_CONVENTIONS);
        Ok(())
    })?;
    let renewed = digest_row(session, &notes);
    if !is_damaged
        && (renewed.notes != stored.notes || renewed.outcome != stored.outcome)
        && let Some(consumer) = store.lag().find(NOTES)?
    {
        store.save_digests(&[renewed], consumer, &[])?;
    }
    Ok(())
}
