//! Function history out of logs: what sessions did to source files since they were last looked at, with no hook ever installed.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use backstory_event::Seq;
use backstory_redact::Redactor;
use backstory_store::{ConsumerId, Lag, Store, WorkPlace};

use super::save::save;
use super::scanned::ScanLog;
use super::session::{SessionReading, Step};
use super::teller::Teller;
use super::trees::Trees;
use crate::derive::Progress;
use crate::error::{Error, Result};
use crate::read::on_all_cores;
use crate::replay::FreshEdits;

/// About so many events are looked at before what they did is stored: more would be more in memory.
const TOGETHER: u64 = 10_000;
/// So few are not worth other threads.
const FEW: u64 = 500;

/// Makes the history of what consumer `id` lacks of these sessions, in their order, and stores it.
pub(crate) fn renew_history(
    home: &Path,
    store: &mut Store,
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
        for (lag, steps) in together.iter().zip(steps) {
            let facts = Teller::new(&coding).tell(steps)?;
            scans.add(lag.session, &facts);
            for fact in &facts {
                save(&coding, lag.session, fact)?;
            }
            coding.remove_live(lag.session)?;
        }
        coding.clear_lag(id, together)?;
        coding.commit()?;
        rest = after;
    }
    Ok(())
}

/// A session whose events from one on were not looked at.
struct PendingSession {
    place: WorkPlace,
    after: Seq,
}

impl PendingSession {
    fn new(store: &Store, lag: &Lag) -> Result<Self> {
        Ok(PendingSession {
            place: store.work_place(lag.session)?,
            after: lag.from.previous(),
        })
    }

    fn steps(
        &self,
        store: &Store,
        fresh: &FreshEdits,
        redactor: Option<&Redactor>,
        trees: &mut Trees,
    ) -> Result<Vec<Step>> {
        SessionReading::new(store, &self.place, self.after, fresh, redactor, trees).steps()
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
