//! Storing what was learned.

use backstory_code::{SymbolChange, SymbolChangeKind};
use backstory_event::SessionId;
use backstory_store::{Coding, NewSnapshot, SymbolRow};

use super::snapshot::{new_symbols, prior_symbols};
use super::teller::Fact;
use crate::error::Result;

/// Stores one fact.
pub(super) fn save(coding: &Coding<'_>, session: SessionId, fact: &Fact) -> Result<()> {
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
                change: *change,
                earlier: None,
                at: *at,
            };
            save_change(coding, &row)?;
            for symbol in symbols {
                save_change(coding, &symbol_row(&row, symbol))?;
            }
        }
        Fact::Seen {
            turn,
            at,
            before,
            outline,
            ..
        } => {
            let snapshot = NewSnapshot {
                session,
                turn: *turn,
                at: *at,
                has_errors: outline.has_errors,
                symbols: new_symbols(outline),
                prior: prior_symbols(before.as_deref()),
            };
            coding.add_snapshot(file, snapshot)?;
        }
        Fact::Broken { at, .. } => coding.mark_broken(file, *at)?,
        Fact::Gone {
            turn, at, before, ..
        } => {
            let prior = prior_symbols(before.as_deref());
            coding.record_removal(file, (session, *turn, *at), prior)?;
        }
        Fact::Moved { to, turn, at, .. } => {
            let to = coding.file(&to.project, &to.name)?;
            coding.record_move(file, to, (session, *turn, *at))?;
        }
    }
    Ok(())
}

fn symbol_row(file: &SymbolRow, symbol: &SymbolChange) -> SymbolRow {
    SymbolRow {
        name: symbol.name.clone(),
        kind: Some(symbol.kind),
        change: symbol.change,
        earlier: symbol.earlier.clone(),
        ..file.clone()
    }
}

/// A turn that is looked at in pieces, because the log grew meanwhile, is told as one.
fn save_change(coding: &Coding<'_>, row: &SymbolRow) -> Result<()> {
    let mut row = row.clone();
    let now = row.change;
    if let (SymbolChangeKind::Renamed, Some(earlier)) = (now, &row.earlier) {
        let before = SymbolRow {
            name: earlier.clone(),
            ..row.clone()
        };
        if let Some(known) = coding.stored_change(&before)? {
            coding.delete_change(&before)?;
            if known.change == SymbolChangeKind::New {
                row.change = SymbolChangeKind::New;
                row.earlier = None;
            }
        }
    }
    let known = coding.stored_change(&row)?;
    let now = match (known.map(|known| known.change), now) {
        (Some(SymbolChangeKind::New), SymbolChangeKind::Deleted) => {
            coding.delete_change(&row)?;
            return Ok(());
        }
        (Some(SymbolChangeKind::New), SymbolChangeKind::Modified) => SymbolChangeKind::New,
        (Some(SymbolChangeKind::Renamed), SymbolChangeKind::Modified) => return Ok(()),
        (Some(SymbolChangeKind::Deleted), SymbolChangeKind::New) => SymbolChangeKind::Modified,
        _ => row.change,
    };
    row.change = now;
    coding.store_change(&row)?;
    Ok(())
}
