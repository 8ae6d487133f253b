//! Function history out of logs: what sessions did to source files since they were last looked at, with no hook ever installed.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use backstory_event::{Seq, TurnNo};
use backstory_redact::Redactor;
use backstory_store::{ConsumerId, Lag, Store, WorkPlace};

use super::fresh_edits::FreshEdits;
use super::save::save;
use super::scanned::ScanLog;
use super::session::{SessionReading, Step};
use super::teller::{Fact, Teller};
use super::trees::Trees;
use crate::derive::Progress;
use crate::error::{Error, Result};
use crate::read::on_all_cores;

/// About so many events are looked at before what they did is stored: more would be more in memory.
const TOGETHER: u64 = 10_000;
/// So few are not worth other threads.
const FEW: u64 = 500;

/// Makes the history of what consumer `id` lacks of these sessions, in their order, and stores it.
pub(crate) fn renew_history(
    home: &Path,
    store: &Store,
    (id, lags): (ConsumerId, &[Lag]),
    fresh: &FreshEdits,
    redactor: Option<&Redactor>,
    scans: &mut ScanLog,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    let mut rest = lags;
    while !rest.is_empty() {
        progress(Progress::Sessions(lags.len() - rest.len(), lags.len()));
        let mut events = 0;
        let enough = rest.iter().position(|lag| {
            events += lag.count();
            events >= TOGETHER
        });
        let (together, after) = rest.split_at(enough.map_or(rest.len(), |last| last + 1));
        let sessions = together.iter().map(|lag| PendingSession::new(store, lag));
        let sessions: Vec<PendingSession> = sessions.collect::<Result<_>>()?;
        let steps = if events < FEW {
            let mut trees = Trees::default();
            let one = |session: &PendingSession| session.steps(store, fresh, redactor, &mut trees);
            sessions.iter().map(one).collect::<Result<Vec<_>>>()?
        } else {
            side_by_side(home, store, &sessions, fresh, redactor)?
        };
        let coding = store.coding()?;
        let mut broken = Vec::new();
        for (pending, steps) in sessions.iter().zip(steps) {
            let session = pending.place.session;
            if let Some(turn) = pending.beginning.told_anew {
                coding.remove_turns(session, turn)?;
            }
            let facts = Teller::new(&coding, Some(session)).tell(steps)?;
            scans.add(session, &facts);
            for fact in facts {
                match fact {
                    Fact::Broken { .. } => broken.push((session, fact)),
                    fact => save(&coding, session, &fact)?,
                }
            }
            coding.remove_live(session)?;
        }
        // Whoever saw the file whole before it broke may have begun later.
        for (session, fact) in &broken {
            save(&coding, *session, fact)?;
        }
        coding.clear_lag(id, together)?;
        coding.commit()?;
        rest = after;
    }
    Ok(())
}

/// Where the history of a session is told from.
pub(crate) struct HistoryBeginning {
    /// The first event that is looked at.
    pub(crate) first: Seq,
    /// What is known from this turn on is told anew.
    told_anew: Option<TurnNo>,
}

/// Returns where the history of a session must be told from so that what it lacks is told as if it had never been told in pieces: from the
/// beginning of the first turn in which anything is new.
pub(crate) fn history_beginning(store: &Store, lag: &Lag) -> Result<HistoryBeginning> {
    let mut first = lag.from.max(lag.evicted.next());
    let mut told_anew = None;
    if !lag.is_new() {
        while let Some(turn) = store.first_answered_turn(lag.session, first)? {
            if !store.has_code_from(lag.session, turn)? {
                break;
            }
            let Some((seq, is_whole)) = store.first_of_turn(lag.session, turn)? else {
                break;
            };
            let was = first;
            first = first.min(seq);
            // Of a turn whose beginning is evicted, what is known stays, and what is new is added to it.
            told_anew = Some(if is_whole { turn } else { turn.next() });
            if first == was {
                break;
            }
        }
    }
    Ok(HistoryBeginning { first, told_anew })
}

/// A session whose events from one on were not looked at.
struct PendingSession {
    place: WorkPlace,
    beginning: HistoryBeginning,
}

impl PendingSession {
    fn new(store: &Store, lag: &Lag) -> Result<Self> {
        Ok(PendingSession {
            place: store.work_place(lag.session)?,
            beginning: history_beginning(store, lag)?,
        })
    }

    fn steps(
        &self,
        store: &Store,
        fresh: &FreshEdits,
        redactor: Option<&Redactor>,
        trees: &mut Trees,
    ) -> Result<Vec<Step>> {
        let after = self.beginning.first.previous();
        SessionReading::new(store, &self.place, after, fresh, redactor, trees).steps()
    }
}

/// Returns what each session did, read on all cores.
fn side_by_side(
    home: &Path,
    store: &Store,
    sessions: &[PendingSession],
    fresh: &FreshEdits,
    redactor: Option<&Redactor>,
) -> Result<Vec<Vec<Step>>> {
    let next = AtomicUsize::new(0);
    let read: Mutex<Vec<Option<Result<Vec<Step>>>>> =
        Mutex::new(sessions.iter().map(|_| None).collect());
    on_all_cores(home, store, |store| {
        let mut trees = Trees::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(session) = sessions.get(number) else {
                return;
            };
            let steps = session.steps(store, fresh, redactor, &mut trees);
            if let Ok(mut read) = read.lock() {
                read[number] = Some(steps);
            }
        }
    });
    let read = read.into_inner().unwrap_or_default();
    let read = read
        .into_iter()
        .map(|steps| steps.unwrap_or(Err(Error::Worker)));
    read.collect()
}
