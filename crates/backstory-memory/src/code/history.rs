//! Function history out of logs: what sessions did to source files since they were last looked at, with no hook ever installed.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use backstory_code::{Change, SymbolChange};
use backstory_store::{Coding, Store, SymbolRow, Uncoded};

use super::session::{SessionReading, Step};
use super::snapshot::snapshot_of;
use super::teller::{Fact, Teller};
use crate::error::{Error, Result};
use crate::read::on_all_cores;

/// About so many events are looked at before what they did is stored: more would be more in memory.
const TOGETHER: u64 = 20_000;
/// So few are not worth other threads.
const FEW: u64 = 500;

/// Looks at what is new in all sessions, those that began first, first. What a sweep that is stopped here leaves, the next one does.
pub(crate) fn renew(home: &Path, store: &mut Store) -> Result<()> {
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
            let read = |session| SessionReading::new(store, session).steps();
            together.iter().map(read).collect::<Result<Vec<_>>>()?
        } else {
            side_by_side(home, store, together)?
        };
        store_steps(store, together, steps)?;
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
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(session) = sessions.get(number) else {
                return;
            };
            let steps = SessionReading::new(store, session).steps();
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

/// Compares what sessions did with what was known before, in their order, and stores it. Those that did nothing to source files are
/// stored together, any other by itself.
fn store_steps(store: &mut Store, sessions: &[Uncoded], steps: Vec<Vec<Step>>) -> Result<()> {
    let mut idle = Vec::new();
    for (session, steps) in sessions.iter().zip(steps) {
        if steps.is_empty() {
            idle.push(session);
            continue;
        }
        let facts = Teller::new(store).tell(steps)?;
        let mut coding = store.coding()?;
        for fact in &facts {
            save(&mut coding, session.session, fact)?;
        }
        coding.finish(session.session, session.events)?;
        coding.commit()?;
    }
    if !idle.is_empty() {
        let coding = store.coding()?;
        for session in idle {
            coding.finish(session.session, session.events)?;
        }
        coding.commit()?;
    }
    Ok(())
}

/// Stores one fact.
pub(super) fn save(coding: &mut Coding<'_>, session: i64, fact: &Fact) -> Result<()> {
    let file = coding.file(&fact.file().project, &fact.file().name)?;
    match fact {
        Fact::Changed {
            turn,
            at,
            change,
            symbols,
            ..
        } => {
            let row = SymbolRow {
                session,
                turn: *turn,
                file,
                name: String::new(),
                kind: None,
                change: number(*change),
                earlier: None,
                at: *at,
            };
            save_change(coding, &row)?;
            for symbol in symbols {
                save_change(coding, &symbol_row(&row, symbol))?;
            }
        }
        Fact::Seen { at, look, .. } => {
            coding.see(file, session, &snapshot_of(look, *at))?;
            coding.contradict(file, *at, |caller, callee| look.has_call(caller, callee))?;
        }
        Fact::Broken { at, .. } => coding.broken(file, *at)?,
        Fact::Gone { at, .. } => coding.gone(file, *at)?,
        Fact::Moved { to, .. } => coding.moved(file, coding.file(&to.project, &to.name)?)?,
    }
    Ok(())
}

fn symbol_row(file: &SymbolRow, symbol: &SymbolChange) -> SymbolRow {
    SymbolRow {
        name: symbol.name.clone(),
        kind: Some(symbol.kind.name().to_string()),
        change: number(symbol.change),
        earlier: symbol.earlier.clone(),
        ..file.clone()
    }
}

/// A turn that is looked at in pieces, because the log grew meanwhile, is told as one.
fn save_change(coding: &Coding<'_>, row: &SymbolRow) -> Result<()> {
    let mut row = row.clone();
    let now = change_of(row.change);
    if let (Change::Renamed, Some(earlier)) = (now, &row.earlier) {
        let before = SymbolRow {
            name: earlier.clone(),
            ..row.clone()
        };
        if let Some(known) = coding.known(&before)? {
            coding.unchange(&before)?;
            if change_of(known.change) == Change::New {
                row.change = number(Change::New);
                row.earlier = None;
            }
        }
    }
    let known = coding.known(&row)?;
    let now = match (known.map(|known| change_of(known.change)), now) {
        (Some(Change::New), Change::Deleted) => {
            coding.unchange(&row)?;
            return Ok(());
        }
        (Some(Change::New), Change::Modified) => Change::New,
        (Some(Change::Renamed), Change::Modified) => return Ok(()),
        (Some(Change::Deleted), Change::New) => Change::Modified,
        _ => change_of(row.change),
    };
    row.change = number(now);
    coding.change(&row)?;
    Ok(())
}

/// What a stored number stands for.
pub(super) fn change_of(number: u8) -> Change {
    let known = Change::ALL.get(usize::from(number));
    known.copied().unwrap_or(Change::Modified)
}

fn number(change: Change) -> u8 {
    let place = Change::ALL.iter().position(|known| *known == change);
    place.unwrap_or_default() as u8
}
