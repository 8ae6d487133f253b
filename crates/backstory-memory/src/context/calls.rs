//! Who calls the functions that were changed lately, and whom they call.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::files::RankedFile;
use super::item::{Candidate, Reason};
use super::past::Past;
use super::quote::{named, symbol};
use crate::code::{CallGraph, SourceOutline, scan_file};

/// So many files are looked into.
const FILES: usize = 24;
/// So many callees are told of a function.
const CALLEES: usize = 6;
const NAME: usize = 80;

/// A line for each function that was changed lately and calls, or is called from, one of these files.
pub(super) fn calls(files: &[RankedFile<'_>], pasts: &[Past], base: &Path) -> Vec<Candidate> {
    let outlines: Vec<SourceOutline> = files
        .iter()
        .take(FILES)
        .filter_map(|file| scan_file(&base.join(&file.file)).ok().flatten())
        .collect();
    let graph = CallGraph::new(&outlines, &[]);
    let changed: BTreeSet<(&str, &str)> = pasts
        .iter()
        .flat_map(|past| &past.names)
        .map(|name| (name.file.as_str(), name.name.as_str()))
        .collect();
    let name_of = |file: usize| {
        let path = outlines[file].path.strip_prefix(base);
        path.ok().and_then(Path::to_str).unwrap_or_default()
    };
    let mut callees: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for edge in &graph.edges {
        let Some(target) = edge.target else { continue };
        let Ok(outline) = &outlines[target.file].outline else {
            continue;
        };
        let caller = (
            name_of(edge.file),
            edge.call.caller.as_deref().unwrap_or_default(),
        );
        let callee = (
            name_of(target.file),
            outline.symbols[target.symbol].name.as_str(),
        );
        if caller.1.is_empty() || !(changed.contains(&caller) || changed.contains(&callee)) {
            continue;
        }
        let Some(name) = symbol(callee.1, NAME) else {
            continue;
        };
        let told = match callee.0 == caller.0 {
            true => name,
            false => format!("{name} ({})", callee.0),
        };
        let callees = callees.entry(caller).or_default();
        if callees.len() < CALLEES && !callees.contains(&told) {
            callees.push(told);
        }
    }
    let line = |((file, caller), callees): (&(&str, &str), &Vec<String>)| {
        let callees: Vec<String> = callees
            .iter()
            .filter_map(|callee| named(callee, NAME))
            .collect();
        let (file, caller) = (named(file, NAME)?, symbol(caller, NAME)?);
        let (past, turn) = pasts.iter().find_map(|past| {
            let name = past.names.iter().find(|name| name.file == file)?;
            Some((past, name.turn.unwrap_or(past.last_turn())))
        })?;
        let line = format!("{file} {caller} calls {}", callees.join(", "));
        (!callees.is_empty()).then(|| Candidate::new(&line, past, turn, Reason::AskedFor, 1.0))
    };
    callees.iter().filter_map(line).collect()
}
