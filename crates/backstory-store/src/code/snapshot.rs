//! Snapshots of source files: what a file defined and called at the end of a turn.

use backstory_event::{SessionId, TimeMs, TurnNo};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A symbol of a snapshot, without its place in the file. Its calls are those directly in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SymbolRecord {
    /// Qualified name; empty for the file itself, which only has calls.
    pub name: String,
    /// Kind, by its name; empty for the file itself.
    pub kind: String,
    /// Declaration on one line.
    pub signature: String,
    /// Decorators, attributes or annotations, as written.
    pub decorators: Vec<String>,
    /// First line of the documentation.
    pub doc: Option<String>,
    /// Hash of the body.
    pub body_hash: u32,
    /// Hash of a type without its members; of a function, that of the body.
    pub own_hash: u32,
    /// Whether it is defined here, not only declared.
    pub has_body: bool,
    /// Calls in it.
    pub calls: Vec<CallRecord>,
}

impl Hash for SymbolRecord {
    /// Two versions of a symbol nearly always differ in one of these, and there is no need to read all calls.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        (self.body_hash, self.own_hash, self.calls.len()).hash(state);
    }
}

/// A call of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// What is called, as written.
    pub callee: String,
    /// What that is.
    pub resolved: Option<String>,
    /// How that was found, or why not: the name of a resolution, or of the reason why it is unresolved.
    pub how: String,
    /// Line, counted from the first line of the symbol; in the file itself, from line 0.
    pub line: i64,
}

/// A symbol in its place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedSymbol {
    /// The symbol.
    pub record: Arc<SymbolRecord>,
    /// First line of the definition.
    pub line_start: u32,
    /// Last line of the definition.
    pub line_end: u32,
}

/// A symbol that was there before a turn and is gone after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriorSymbol {
    /// Qualified name.
    pub name: String,
    /// Kind, by its name.
    pub kind: String,
    /// Hash without members, as [`SymbolRecord::own_hash`].
    pub hash: u32,
    /// First line that it had.
    pub line_start: u32,
    /// Last line that it had.
    pub line_end: u32,
}

/// What a turn did to the symbols of a file. Symbols that are not named did not change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SymbolChanges {
    /// Places of new symbols, in order.
    pub new: Vec<u32>,
    /// Places of modified symbols, in order, with the hashes that they had.
    pub modified: Vec<(u32, u32)>,
    /// Deleted symbols.
    pub deleted: Vec<PriorSymbol>,
}

/// A source file at the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSnapshot {
    /// Row of the session.
    pub session: SessionId,
    /// The turn; `None` for what was seen live, until the log tells which it was.
    pub turn: Option<TurnNo>,
    /// When the turn changed it last; 0 if that is not known. No other snapshot of the file has the same time.
    pub at: TimeMs,
    /// Whether the file was deleted or moved away.
    pub is_gone: bool,
    /// When it was seen since with errors that were not there before.
    pub broken_at: Option<TimeMs>,
    /// Whether some of it does not parse.
    pub has_errors: bool,
    /// Symbols in the order of the file.
    pub symbols: Vec<PlacedSymbol>,
    /// What the turn did to them.
    pub changes: SymbolChanges,
}

/// What became of a symbol, and the hash that it had before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeType {
    /// It was not there before.
    New,
    /// It had this hash.
    Modified(u32),
    /// It is what it was.
    Unchanged,
}

impl FileSnapshot {
    /// Returns what became of each symbol, in their order.
    pub fn change_types(&self) -> Vec<ChangeType> {
        let mut changes = vec![ChangeType::Unchanged; self.symbols.len()];
        for place in &self.changes.new {
            if let Some(change) = changes.get_mut(*place as usize) {
                *change = ChangeType::New;
            }
        }
        for (place, hash) in &self.changes.modified {
            if let Some(change) = changes.get_mut(*place as usize) {
                *change = ChangeType::Modified(*hash);
            }
        }
        changes
    }

    /// Returns the symbols as they were before the turn.
    pub(super) fn prior_symbols(&self) -> Vec<PriorSymbol> {
        let mut prior = self.changes.deleted.clone();
        for (placed, change) in self.symbols.iter().zip(self.change_types()) {
            let symbol = prior_symbol(placed).filter(|_| change != ChangeType::New);
            prior.extend(symbol.map(|symbol| match change {
                ChangeType::Modified(hash) => PriorSymbol { hash, ..symbol },
                _ => symbol,
            }));
        }
        prior
    }

    /// Whether two snapshots show the same.
    pub(super) fn is_same_state(&self, other: &FileSnapshot) -> bool {
        self.is_gone == other.is_gone
            && self.has_errors == other.has_errors
            && self.symbols == other.symbols
    }
}

/// Symbols as they are, for what comes after.
pub(super) fn prior_symbols(symbols: &[PlacedSymbol]) -> Vec<PriorSymbol> {
    symbols.iter().filter_map(prior_symbol).collect()
}

/// The file itself is none.
fn prior_symbol(placed: &PlacedSymbol) -> Option<PriorSymbol> {
    (!placed.record.name.is_empty()).then(|| PriorSymbol {
        name: placed.record.name.clone(),
        kind: placed.record.kind.clone(),
        hash: placed.record.own_hash,
        line_start: placed.line_start,
        line_end: placed.line_end,
    })
}

impl SymbolChanges {
    /// Compares symbols with those before, by name. Of several that have the same name, one is unchanged if any of them had its hash.
    pub(super) fn between(prior: &[PriorSymbol], symbols: &[PlacedSymbol]) -> Self {
        let mut before: HashMap<&str, Vec<u32>> = HashMap::new();
        for symbol in prior {
            before.entry(&symbol.name).or_default().push(symbol.hash);
        }
        let mut changes = SymbolChanges::default();
        let mut times_seen: HashMap<&str, usize> = HashMap::new();
        for (place, placed) in (0..).zip(symbols) {
            let record = &placed.record;
            // The file itself is no symbol.
            if record.name.is_empty() {
                continue;
            }
            let times = times_seen.entry(&record.name).or_default();
            match before.get(record.name.as_str()) {
                None => changes.new.push(place),
                Some(hashes) if hashes.contains(&record.own_hash) => {}
                Some(hashes) => {
                    let hash = hashes.get(*times).or(hashes.last());
                    changes
                        .modified
                        .push((place, hash.copied().unwrap_or_default()));
                }
            }
            *times += 1;
        }
        let is_gone = |symbol: &&PriorSymbol| !times_seen.contains_key(symbol.name.as_str());
        changes.deleted = prior.iter().filter(is_gone).cloned().collect();
        changes
    }
}
