//! Snapshots that are to be stored.

use std::collections::HashMap;
use std::sync::Arc;

use backstory_event::{SessionId, TimeMs, TurnNo};

use super::snapshot::{CallRecord, PlacedSymbol, PriorSymbol, SymbolRecord};

/// Longer texts of a symbol or call are cut: no person writes them.
const MAX_TEXT_BYTES: usize = 2000;

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
    pub session: SessionId,
    /// The turn; `None` for what was seen live, until the log tells which it was.
    pub turn: Option<TurnNo>,
    /// When.
    pub at: TimeMs,
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
