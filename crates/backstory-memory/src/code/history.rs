//! Function history out of logs: what sessions did to source files since they were last looked at, with no hook ever installed.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use backstory_store::{Store, Uncoded};

use super::runs::{Run, Runs, save_runs};
use super::save::save;
use super::session::{SessionReading, Step};
use super::teller::{Fact, Teller};
use super::trees::Trees;
use crate::error::{Error, Result};
use crate::read::on_all_cores;

/// About so many events are looked at before what they did is stored: more would be more in memory.
const TOGETHER: u64 = 20_000;
/// So few are not worth other threads.
const FEW: u64 = 500;

/// Looks at what is new in all sessions, those that began first, first. What a sweep that is stopped here leaves, the next one does.
pub(crate) fn renew(home: &Path, store: &mut Store, mut seen: Runs) -> Result<()> {
    let pending = store.uncoded()?;
    let mut rest = &pending[..];
    while !rest.is_empty() {
        let mut events = 0;
        let enough = rest.iter().position(|session| {
            events += session.events - session.coded;
            events >= TOGETHER
        });
        let (together, after) = rest.split_at(enough.map_or(rest.len(), |last| last + 1));
        let steps = if events < FEW {
            let mut trees = Trees::default();
            let read = |session| SessionReading::new(store, session, &mut trees).steps();
            together.iter().map(read).collect::<Result<Vec<_>>>()?
        } else {
            side_by_side(home, store, together)?
        };
        let runs = together.iter().map(|session| seen.of(store, session));
        let runs = runs.collect::<Result<Vec<_>>>()?;
        store_steps(store, together, steps, runs)?;
        rest = after;
    }
    Ok(())
}

/// What each session did, read on all cores.
fn side_by_side(home: &Path, store: &Store, sessions: &[Uncoded]) -> Result<Vec<Vec<Step>>> {
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
            let steps = SessionReading::new(store, session, &mut trees).steps();
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

/// Compares what sessions did with what was known before, in their order, and stores it.
fn store_steps(
    store: &mut Store,
    sessions: &[Uncoded],
    steps: Vec<Vec<Step>>,
    runs: Vec<Vec<Run>>,
) -> Result<()> {
    let mut coding = store.coding()?;
    for ((session, steps), runs) in sessions.iter().zip(steps).zip(runs) {
        let facts = Teller::new(&coding).tell(steps)?;
        for (place, fact) in facts.iter().enumerate() {
            if !is_outdated(fact, &facts[place + 1..]) {
                save(&mut coding, session.session, fact)?;
            }
        }
        save_runs(&coding, session, &runs)?;
        coding.finish(session.session, session.events)?;
    }
    Ok(coding.commit()?)
}

/// Whether it only tells how a file looked before it was looked at again.
fn is_outdated(fact: &Fact, later: &[Fact]) -> bool {
    let is_look = |fact: &Fact| matches!(fact, Fact::Seen { .. });
    is_look(fact)
        && later
            .iter()
            .any(|other| is_look(other) && other.file() == fact.file())
}
