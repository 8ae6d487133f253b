//! Between outlines of source files and snapshots as they are stored.

use std::collections::HashMap;
use std::sync::Arc;

use backstory_code::{Call, Outline, Resolution, Symbol, SymbolKind, UnresolvedReason};
use backstory_store::{
    CallRecord, FileSnapshot, NewCall, NewSymbol, PlacedSymbol, PriorSymbol, SymbolRecord,
};

/// What an outline has, to be stored: each symbol with the calls directly in it, and the file itself if it calls something.
pub(super) fn new_symbols(outline: &Outline) -> Vec<NewSymbol<'_>> {
    let mut symbols: Vec<NewSymbol<'_>> = outline.symbols.iter().map(new_symbol).collect();
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, symbol) in symbols.iter().enumerate() {
        by_name.entry(symbol.name).or_default().push(place);
    }
    let mut of_file = Vec::new();
    for call in &outline.calls {
        let places = call.caller.as_deref().and_then(|name| by_name.get(name));
        let places = places.map_or(&[][..], Vec::as_slice);
        // Of several that have the same name, it is the one around the call.
        let around = places.iter().find(|place| {
            let symbol = &symbols[**place];
            (symbol.line_start..=symbol.line_end).contains(&call.line)
        });
        match around.or(places.first()) {
            Some(place) => symbols[*place].calls.push(new_call(call)),
            None => of_file.push(new_call(call)),
        }
    }
    if !of_file.is_empty() {
        let file = NewSymbol {
            name: "",
            kind: "",
            signature: "",
            decorators: &[],
            doc: None,
            body_hash: 0,
            own_hash: 0,
            has_body: true,
            line_start: 0,
            line_end: 0,
            calls: of_file,
        };
        symbols.insert(0, file);
    }
    symbols
}

fn new_symbol(symbol: &Symbol) -> NewSymbol<'_> {
    NewSymbol {
        name: &symbol.name,
        kind: symbol.kind.name(),
        signature: &symbol.signature,
        decorators: &symbol.decorators,
        doc: symbol.doc.as_deref(),
        body_hash: symbol.body_hash,
        own_hash: symbol.own_hash,
        has_body: symbol.has_body,
        line_start: symbol.line_start,
        line_end: symbol.line_end,
        calls: Vec::new(),
    }
}

fn new_call(call: &Call) -> NewCall<'_> {
    let reason = call.reason.map(UnresolvedReason::name);
    NewCall {
        callee: &call.callee,
        resolved: call.resolved.as_deref(),
        how: reason.unwrap_or(call.resolution.name()),
        line: call.line,
    }
}

/// What is compared with a later snapshot.
pub(super) fn prior_symbols(outline: Option<&Outline>) -> Vec<PriorSymbol> {
    let symbols = outline.map_or(&[][..], |outline| &outline.symbols);
    let prior = |symbol: &Symbol| PriorSymbol {
        name: symbol.name.clone(),
        kind: symbol.kind.name().to_string(),
        hash: symbol.own_hash,
        line_start: symbol.line_start as u32,
        line_end: symbol.line_end as u32,
    };
    symbols.iter().map(prior).collect()
}

/// Returns the signatures of the functions of a snapshot, by their qualified names.
pub(crate) fn signatures_of(snapshot: &FileSnapshot) -> HashMap<String, String> {
    let records = snapshot.symbols.iter().map(|placed| &placed.record);
    let is_function = |record: &&Arc<SymbolRecord>| {
        SymbolKind::from_name(&record.kind).is_some_and(SymbolKind::is_function)
    };
    records
        .filter(is_function)
        .map(|record| (record.name.clone(), record.signature.clone()))
        .collect()
}

/// An outline that was stored.
pub(super) fn outline_of(symbols: &[PlacedSymbol], has_errors: bool) -> Outline {
    let calls = symbols.iter().flat_map(|placed| {
        let calls = placed.record.calls.iter();
        calls.map(|call| stored_call(placed, call))
    });
    let mut calls: Vec<Call> = calls.collect();
    // In the order of the file, as they were found.
    calls.sort_by_key(|call| call.line);
    Outline {
        calls,
        ..symbols_of(symbols, has_errors)
    }
}

/// An outline that was stored, without calls.
pub(super) fn symbols_of(symbols: &[PlacedSymbol], has_errors: bool) -> Outline {
    Outline {
        has_errors,
        symbols: symbols.iter().filter_map(stored_symbol).collect(),
        ..Outline::default()
    }
}

/// A kind that is not known is of a newer version; the file itself has none.
fn stored_symbol(placed: &PlacedSymbol) -> Option<Symbol> {
    let record = &placed.record;
    let parent = record.name.rfind('.');
    Some(Symbol {
        kind: SymbolKind::from_name(&record.kind)?,
        name: record.name.clone(),
        parent: parent.map(|dot| record.name[..dot].to_string()),
        signature: record.signature.clone(),
        decorators: record.decorators.clone(),
        doc: record.doc.clone(),
        line_start: placed.line_start as usize,
        line_end: placed.line_end as usize,
        body_hash: record.body_hash,
        own_hash: record.own_hash,
        has_body: record.has_body,
    })
}

fn stored_call(placed: &PlacedSymbol, call: &CallRecord) -> Call {
    let line = i64::from(placed.line_start).saturating_add(call.line);
    let resolution = Resolution::from_name(&call.how);
    Call {
        caller: Some(placed.record.name.clone()).filter(|name| !name.is_empty()),
        callee: call.callee.clone(),
        resolved: call.resolved.clone(),
        resolution: resolution.unwrap_or(Resolution::Unresolved),
        reason: UnresolvedReason::from_name(&call.how),
        line: usize::try_from(line).unwrap_or_default(),
    }
}
