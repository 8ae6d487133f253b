//! Functions and types that a session changed, as one of the things done.

use std::collections::{BTreeMap, HashSet};

use backstory_analysis::digest::{FileChange, Statement};
use backstory_event::{FileId, SessionId, SymbolChangeKind};
use backstory_store::{Store, SymbolFilter, SymbolRow};

use crate::error::Result;

/// Maximum number of symbols of each kind of change that are named.
const MAX_NAMED: usize = 4;

/// Returns the symbols that a session changed by what became of them, citing the last edits of its files.
pub(super) fn changed_symbols(
    store: &Store,
    session: SessionId,
    files: &[FileChange],
) -> Result<Option<Statement>> {
    let mut rows = store.symbol_changes(&SymbolFilter {
        session: Some(session),
        ..SymbolFilter::default()
    })?;
    rows.sort_by_key(|row| row.turn);
    let turn = rows.last().and_then(|row| row.turn);
    let text = symbols_text(&rows);
    let events = files.iter().filter_map(|file| file.events.last().copied());
    let events: Vec<_> = events.take(MAX_NAMED).collect();
    Ok((!events.is_empty() && !text.is_empty()).then_some(Statement { text, turn, events }))
}

/// Returns `new a, b; modified c and 2 more` of the changes of a session, the oldest first. What came and went within it is left out, and
/// tests come last: they follow from the rest.
fn symbols_text(rows: &[SymbolRow]) -> String {
    let mut states: BTreeMap<(FileId, &str), (usize, SymbolChangeKind)> = BTreeMap::new();
    let symbols = rows.iter().filter(|row| !row.name.is_empty());
    for (order, row) in symbols.enumerate() {
        let key = (row.file, row.name.as_str());
        // What was made in the session and renamed in it is new under its last name.
        let earlier = row.earlier.as_deref().map(|earlier| (row.file, earlier));
        let earlier = earlier.filter(|_| row.change == SymbolChangeKind::Renamed);
        let was_new = earlier.is_some_and(|earlier| {
            let is_new = matches!(states.get(&earlier), Some((_, SymbolChangeKind::New)));
            is_new && states.remove(&earlier).is_some()
        });
        if was_new {
            states.insert(key, (order, SymbolChangeKind::New));
            continue;
        }
        let known = states.get(&key).map(|(_, change)| *change);
        match (known, row.change) {
            (Some(SymbolChangeKind::New), SymbolChangeKind::Deleted) => {
                states.remove(&key);
            }
            // What was made in the session is new, however often it was changed since.
            (Some(SymbolChangeKind::New), _) => {}
            (_, change) => {
                states.insert(key, (order, change));
            }
        }
    }
    let kinds = [
        (SymbolChangeKind::New, "new"),
        (SymbolChangeKind::Modified, "modified"),
        (SymbolChangeKind::Renamed, "renamed"),
        (SymbolChangeKind::Deleted, "deleted"),
    ];
    let parts = kinds.into_iter().filter_map(|(kind, verb)| {
        let of_kind = states.iter().filter(|(_, (_, change))| *change == kind);
        let mut names: Vec<(bool, usize, &str)> = of_kind
            .map(|((_, name), (order, _))| (is_test(name), *order, *name))
            .collect();
        names.sort_unstable();
        let mut known = HashSet::new();
        names.retain(|(.., name)| known.insert(*name));
        let named: Vec<String> = (names.iter().take(MAX_NAMED))
            .map(|(.., name)| format!("`{name}`"))
            .collect();
        let more = match names.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        (!named.is_empty()).then(|| format!("{verb} {}{more}", named.join(", ")))
    });
    parts.collect::<Vec<_>>().join("; ")
}

fn is_test(name: &str) -> bool {
    let name = name.rsplit('.').next().unwrap_or(name).to_lowercase();
    name.starts_with("test") || name.ends_with("test") || name.ends_with("tests")
}
