//! Snapshots of source files: what a file defined and called at the end of a turn.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Longer texts of a symbol or call are cut: no person writes them.
const MAX_TEXT_BYTES: usize = 2000;

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
    pub session: i64,
    /// The turn, or [`super::LIVE_TURN`].
    pub turn: i64,
    /// When the turn changed it last; 0 if that is not known. No other snapshot of the file has the same time.
    pub at: i64,
    /// Whether the file was deleted or moved away.
    pub is_gone: bool,
    /// When it was seen since with errors that were not there before.
    pub broken_at: Option<i64>,
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

/// A symbol that is to be stored.
#[derive(Debug, Clone)]
pub struct NewSymbol<'a> {
    /// Qualified name; empty for the file itself.
    pub name: &'a str,
    /// Kind, by its name.
    pub kind: &'a str,
    /// Declaration on one line.
    pub signature: &'a str,
    /// Decorators, as written.
    pub decorators: &'a [String],
    /// First line of the documentation.
    pub doc: Option<&'a str>,
    /// Hash of the body.
    pub body_hash: u32,
    /// Hash without members.
    pub own_hash: u32,
    /// Whether it is defined here.
    pub has_body: bool,
    /// First line.
    pub line_start: usize,
    /// Last line.
    pub line_end: usize,
    /// Calls in it.
    pub calls: Vec<NewCall<'a>>,
}

/// A call that is to be stored.
#[derive(Debug, Clone)]
pub struct NewCall<'a> {
    /// What is called, as written.
    pub callee: &'a str,
    /// What that is.
    pub resolved: Option<&'a str>,
    /// As [`CallRecord::how`].
    pub how: &'a str,
    /// Line in the file.
    pub line: usize,
}

/// A snapshot that is to be stored.
#[derive(Debug, Clone)]
pub struct NewSnapshot<'a> {
    /// Row of the session.
    pub session: i64,
    /// The turn, or [`super::LIVE_TURN`].
    pub turn: i64,
    /// When.
    pub at: i64,
    /// Whether some of it does not parse.
    pub has_errors: bool,
    /// Symbols in the order of the file.
    pub symbols: Vec<NewSymbol<'a>>,
    /// Symbols before the turn.
    pub prior: Vec<PriorSymbol>,
}

impl NewSymbol<'_> {
    /// Line of a call as it is stored.
    fn relative_line(&self, call: &NewCall<'_>) -> i64 {
        call.line as i64 - self.line_start as i64
    }

    fn is_stored_as(&self, record: &SymbolRecord) -> bool {
        let is_same_call = |(call, stored): (&NewCall<'_>, &CallRecord)| {
            short(call.callee) == stored.callee
                && call.resolved.map(short) == stored.resolved.as_deref()
                && call.how == stored.how
                && self.relative_line(call) == stored.line
        };
        self.name == record.name
            && self.kind == record.kind
            && self.body_hash == record.body_hash
            && self.own_hash == record.own_hash
            && self.has_body == record.has_body
            && self.signature == record.signature
            && self.doc.map(short) == record.doc.as_deref()
            && self
                .decorators
                .iter()
                .map(|text| short(text))
                .eq(&record.decorators)
            && self.calls.len() == record.calls.len()
            && self.calls.iter().zip(&record.calls).all(is_same_call)
    }

    fn record(&self) -> SymbolRecord {
        let call = |call: &NewCall<'_>| CallRecord {
            callee: short(call.callee).to_string(),
            resolved: call.resolved.map(|resolved| short(resolved).to_string()),
            how: call.how.to_string(),
            line: self.relative_line(call),
        };
        SymbolRecord {
            name: self.name.to_string(),
            kind: self.kind.to_string(),
            signature: self.signature.to_string(),
            decorators: self
                .decorators
                .iter()
                .map(|text| short(text).to_string())
                .collect(),
            doc: self.doc.map(|doc| short(doc).to_string()),
            body_hash: self.body_hash,
            own_hash: self.own_hash,
            has_body: self.has_body,
            calls: self.calls.iter().map(call).collect(),
        }
    }
}

/// Places new symbols; what is as it was before shares its record.
pub(super) fn placed_symbols(
    symbols: &[NewSymbol<'_>],
    before: &[PlacedSymbol],
) -> Vec<PlacedSymbol> {
    let mut known: HashMap<&str, Vec<&Arc<SymbolRecord>>> = HashMap::new();
    for placed in before {
        known
            .entry(&placed.record.name)
            .or_default()
            .push(&placed.record);
    }
    let place = |symbol: &NewSymbol<'_>| {
        let mut same_name = known.get(symbol.name).into_iter().flatten();
        let record = same_name.find(|record| symbol.is_stored_as(record));
        PlacedSymbol {
            record: record.map_or_else(|| Arc::new(symbol.record()), |known| Arc::clone(known)),
            line_start: symbol.line_start as u32,
            line_end: symbol.line_end as u32,
        }
    };
    symbols.iter().map(place).collect()
}

fn short(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
