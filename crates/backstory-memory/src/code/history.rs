//! Function history out of logs: what sessions did to source files since they were last looked at, with no hook ever installed.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use backstory_event::Seq;
use backstory_redact::Redactor;
use backstory_store::{Store, Uncoded};

use super::runs::{Run, Runs, read_runs, save_runs};
use super::save::save;
use super::scanned::ScanLog;
use super::session::{SessionReading, Step};
use super::teller::Teller;
use super::trees::Trees;
use crate::error::{Error, Result};
use crate::read::on_all_cores;

/// About so many events are looked at before what they did is stored: more would be more in memory.
const TOGETHER: u64 = 10_000;
/// So few are not worth other threads.
const FEW: u64 = 500;

/// Looks at what is new in all sessions, those that began first, first. What a sweep that is stopped here leaves, the next one does.
/// Returns what was parsed.
pub(crate) fn renew(
    home: &Path,
    store: &mut Store,
    mut seen: Runs,
    redactor: Option<&Redactor>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<ScanLog> {
    let mut scans = ScanLog::default();
    let pending = store.uncoded()?;
    let mut rest = &pending[..];
    while !rest.is_empty() {
        progress(pending.len() - rest.len(), pending.len());
        let mut events = 0;
        let enough = rest.iter().position(|session| {
            events += session.events - session.coded.count();
            events >= TOGETHER
        });
        let (together, after) = rest.split_at(enough.map_or(rest.len(), |last| last + 1));
        let seen: Vec<Option<Vec<Run>>> =
            together.iter().map(|session| seen.take(session)).collect();
        let known: Vec<bool> = seen.iter().map(Option::is_some).collect();
        let read = if events < FEW {
            let mut trees = Trees::default();
            let mut one =
                |(session, known)| Reading::of(store, session, known, redactor, &mut trees);
            let both = together.iter().zip(known);
            both.map(&mut one).collect::<Result<Vec<_>>>()?
        } else {
            side_by_side(home, store, together, &known, redactor)?
        };
        store_all(store, together, read, seen, redactor, &mut scans)?;
        rest = after;
    }
    Ok(scans)
}

/// What was read of a session.
struct Reading {
    steps: Vec<Step>,
    /// Empty when they are known already.
    runs: Vec<Run>,
}

impl Reading {
    fn of(
        store: &Store,
        session: &Uncoded,
        runs_known: bool,
        redactor: Option<&Redactor>,
        trees: &mut Trees,
    ) -> Result<Self> {
        let runs = match runs_known {
            true => Vec::new(),
            false => read_runs(store, session)?,
        };
        let steps = SessionReading::new(store, session, redactor, trees).steps()?;
        Ok(Reading { steps, runs })
    }
}

/// What each session did, read on all cores.
fn side_by_side(
    home: &Path,
    store: &Store,
    sessions: &[Uncoded],
    runs_known: &[bool],
    redactor: Option<&Redactor>,
) -> Result<Vec<Reading>> {
    let next = AtomicUsize::new(0);
    let read: Mutex<Vec<Option<Result<Reading>>>> =
        Mutex::new(sessions.iter().map(|_| None).collect());
    on_all_cores(home, store, |store| {
        let mut trees = Trees::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let (Some(session), Some(known)) = (sessions.get(number), runs_known.get(number))
            else {
                return;
            };
            let reading = Reading::of(store, session, *known, redactor, &mut trees);
            if let Ok(mut read) = read.lock() {
                read[number] = Some(reading);
            }
        }
    });
    let read = read.into_inner().unwrap_or_default();
    let read = read
        .into_iter()
        .map(|reading| reading.unwrap_or(Err(Error::Worker)));
    read.collect()
}

/// Compares what sessions did with what was known before, in their order, and stores it.
fn store_all(
    store: &mut Store,
    sessions: &[Uncoded],
    read: Vec<Reading>,
    seen: Vec<Option<Vec<Run>>>,
    redactor: Option<&Redactor>,
    scans: &mut ScanLog,
) -> Result<()> {
    let coding = store.coding()?;
    for ((session, reading), seen) in sessions.iter().zip(read).zip(seen) {
        let facts = Teller::new(&coding).tell(reading.steps)?;
        scans.add(session.session, &facts);
        for fact in &facts {
            save(&coding, session.session, fact)?;
        }
        save_runs(&coding, session, &seen.unwrap_or(reading.runs), redactor)?;
        coding.finish(session.session, Seq::last_of(session.events))?;
    }
    Ok(coding.commit()?)
}
