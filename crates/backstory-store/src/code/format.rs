//! How the snapshots of one part are stored: JSON, in which each version of a symbol stands once.
//!
//! A snapshot names its symbols by their places in the list of versions, and has the lines that they are on. So a turn that changes one
//! function of a file adds that function and a few numbers, also if all others move.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use backstory_event::{SessionId, TimeMs};
use serde::{Deserialize, Serialize};

use super::names::Code;
use super::snapshot::{
    CallRecord, FileSnapshot, PlacedSymbol, PriorSymbol, SymbolChanges, SymbolRecord,
};

/// How the JSON of [`SinglePart`] begins.
const SINGLE_START: &[u8] = b"{\"symbols\":";

/// All that a part has.
#[derive(Serialize, Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    versions: Vec<Version<'a>>,
    snapshots: Vec<State<'a>>,
}

/// What was stored of a file before there were calls and more than one snapshot.
#[derive(Deserialize)]
struct SinglePart<'a> {
    #[serde(borrow)]
    symbols: Vec<SingleSymbol<'a>>,
    has_errors: bool,
}

/// Name, kind, signature, decorators, documentation, hash of the body, own hash if that differs, whether it has a body, calls.
#[derive(Serialize, Deserialize)]
struct Version<'a>(
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Code<'a>,
    #[serde(borrow)] Cow<'a, str>,
    Cow<'a, [String]>,
    #[serde(borrow)] Option<Cow<'a, str>>,
    u32,
    Option<u32>,
    bool,
    #[serde(borrow)] Vec<StoredCall<'a>>,
);

/// Callee, what it is (empty: the same), how that was found, and lines since the call before.
#[derive(Serialize, Deserialize)]
struct StoredCall<'a>(
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Option<Cow<'a, str>>,
    #[serde(borrow)] Code<'a>,
    i64,
);

/// Name, kind, signature, first and last line, hash of the body, own hash if that differs, whether it has a body.
#[derive(Deserialize)]
struct SingleSymbol<'a>(
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    u32,
    u32,
    u32,
    Option<u32>,
    bool,
);

/// First number and count.
type Run = (u32, u32);

/// One snapshot; there are many, so names of fields are short.
#[derive(Serialize, Deserialize, Default)]
struct State<'a> {
    /// Versions of its symbols.
    v: Vec<Run>,
    /// Of each symbol, lines from the first line of the one before to its first line, and from there to its last.
    l: Vec<i64>,
    /// Places of new symbols.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    n: Vec<Run>,
    /// Places of modified symbols and their hashes before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    m: Vec<(u32, u32)>,
    /// Deleted symbols: name, kind, hash, first and last line.
    #[serde(default, borrow, skip_serializing_if = "Vec::is_empty")]
    d: Vec<(Cow<'a, str>, Code<'a>, u32, u32, u32)>,
    /// Whether some of it does not parse.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    e: bool,
}

/// Numbers as runs.
fn runs_of(numbers: impl IntoIterator<Item = u32>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == number => *count += 1,
            _ => runs.push((number, 1)),
        }
    }
    runs
}

fn numbers_of(runs: &[Run]) -> impl Iterator<Item = u32> {
    runs.iter()
        .flat_map(|(first, count)| *first..first.saturating_add(*count))
}

/// The versions of symbols in the snapshots of a part, in the order in which they come.
#[derive(Default)]
pub(super) struct Versions<'s> {
    records: Vec<&'s SymbolRecord>,
    by_address: HashMap<*const SymbolRecord, u32>,
    by_content: HashMap<&'s SymbolRecord, u32>,
}

impl<'s> Versions<'s> {
    /// Number of versions.
    pub(super) fn count(&self) -> usize {
        self.records.len()
    }

    /// Returns the number of a version, which is added if it is new.
    pub(super) fn number_of(&mut self, record: &'s Arc<SymbolRecord>) -> u32 {
        match self.by_address.entry(Arc::as_ptr(record)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(address) => {
                let next = self.records.len() as u32;
                let number = *self.by_content.entry(record).or_insert(next);
                if number == next {
                    self.records.push(record);
                }
                *address.insert(number)
            }
        }
    }
}

/// The snapshots of a part as they are stored, before they are compressed.
pub(super) fn encode_part(snapshots: &[FileSnapshot]) -> serde_json::Result<Vec<u8>> {
    let mut versions = Versions::default();
    let mut states = Vec::with_capacity(snapshots.len());
    for snapshot in snapshots {
        let symbols = snapshot.symbols.iter();
        let numbers = symbols.map(|placed| versions.number_of(&placed.record));
        let v = runs_of(numbers);
        let mut l = Vec::with_capacity(2 * snapshot.symbols.len());
        let mut before = 0;
        for placed in &snapshot.symbols {
            let start = i64::from(placed.line_start);
            l.extend([start - before, i64::from(placed.line_end) - start]);
            before = start;
        }
        let deleted = snapshot.changes.deleted.iter();
        states.push(State {
            v,
            l,
            n: runs_of(snapshot.changes.new.iter().copied()),
            m: snapshot.changes.modified.clone(),
            d: deleted
                .map(|gone| {
                    let (name, kind) = (Cow::from(&gone.name), Code::of(&gone.kind));
                    (name, kind, gone.hash, gone.line_start, gone.line_end)
                })
                .collect(),
            e: snapshot.has_errors,
        });
    }
    serde_json::to_vec(&Part {
        versions: versions
            .records
            .iter()
            .map(|record| version_of(record))
            .collect(),
        snapshots: states,
    })
}

fn version_of(record: &SymbolRecord) -> Version<'_> {
    let mut before = 0;
    let call = |call: &'_ CallRecord| -> i64 {
        let lines = call.line - before;
        before = call.line;
        lines
    };
    let lines: Vec<i64> = record.calls.iter().map(call).collect();
    let calls = record.calls.iter().zip(lines).map(|(call, lines)| {
        let resolved = call.resolved.as_deref().map(|resolved| match resolved {
            resolved if resolved == call.callee => Cow::from(""),
            resolved => Cow::from(resolved),
        });
        StoredCall(
            Cow::from(&call.callee),
            resolved,
            Code::of(&call.how),
            lines,
        )
    });
    Version(
        Cow::from(&record.name),
        Code::of(&record.kind),
        Cow::from(&record.signature),
        Cow::from(&record.decorators),
        record.doc.as_deref().map(Cow::from),
        record.body_hash,
        (record.own_hash != record.body_hash).then_some(record.own_hash),
        record.has_body,
        calls.collect(),
    )
}

fn record_of(version: Version<'_>) -> SymbolRecord {
    let Version(name, kind, signature, decorators, doc, body_hash, own, has_body, calls) = version;
    let mut line = 0;
    let call = |StoredCall(callee, resolved, how, lines): StoredCall<'_>| {
        line += lines;
        let callee = callee.into_owned();
        let resolved = resolved.map(|resolved| match resolved.is_empty() {
            true => callee.clone(),
            false => resolved.into_owned(),
        });
        CallRecord {
            callee,
            resolved,
            how: how.into_name(),
            line,
        }
    };
    SymbolRecord {
        calls: calls.into_iter().map(call).collect(),
        name: name.into_owned(),
        kind: kind.into_name(),
        signature: signature.into_owned(),
        decorators: decorators.into_owned(),
        doc: doc.map(Cow::into_owned),
        body_hash,
        own_hash: own.unwrap_or(body_hash),
        has_body,
    }
}

/// The snapshots of a part. Which sessions and turns they are of, and when they were, is not in it.
///
/// # Errors
/// When it is nothing that [`encode_part`] made.
pub(super) fn decode_part(bytes: &[u8]) -> Result<Vec<FileSnapshot>, String> {
    let wrong = |error: serde_json::Error| error.to_string();
    if bytes.starts_with(SINGLE_START) {
        let part: SinglePart<'_> = serde_json::from_slice(bytes).map_err(wrong)?;
        let mut snapshot = empty_snapshot();
        snapshot.has_errors = part.has_errors;
        snapshot.symbols = part.symbols.into_iter().map(single_symbol).collect();
        return Ok(vec![snapshot]);
    }
    let part: Part<'_> = serde_json::from_slice(bytes).map_err(wrong)?;
    let versions = part.versions.into_iter();
    let records: Vec<Arc<SymbolRecord>> = versions
        .map(|version| Arc::new(record_of(version)))
        .collect();
    let states = part.snapshots.into_iter();
    states.map(|state| snapshot_of(state, &records)).collect()
}

fn single_symbol(symbol: SingleSymbol<'_>) -> PlacedSymbol {
    let SingleSymbol(name, kind, signature, line_start, line_end, body_hash, own, has_body) =
        symbol;
    PlacedSymbol {
        record: Arc::new(SymbolRecord {
            name: name.into_owned(),
            kind: kind.into_owned(),
            signature: signature.into_owned(),
            body_hash,
            own_hash: own.unwrap_or(body_hash),
            has_body,
            ..SymbolRecord::default()
        }),
        line_start,
        line_end,
    }
}

fn empty_snapshot() -> FileSnapshot {
    FileSnapshot {
        session: SessionId::default(),
        turn: None,
        at: TimeMs::ZERO,
        is_gone: false,
        broken_at: None,
        has_errors: false,
        symbols: Vec::new(),
        changes: SymbolChanges::default(),
    }
}

fn snapshot_of(state: State<'_>, records: &[Arc<SymbolRecord>]) -> Result<FileSnapshot, String> {
    let mut snapshot = empty_snapshot();
    snapshot.has_errors = state.e;
    let mut before = 0_i64;
    let mut lines = state.l.chunks_exact(2);
    for number in numbers_of(&state.v) {
        let record = records.get(number as usize);
        let (Some(record), Some([start, length])) = (record, lines.next()) else {
            return Err("a snapshot names a symbol that is not there".to_string());
        };
        let line_start = before.saturating_add(*start);
        before = line_start;
        let line = |line: i64| u32::try_from(line).map_err(|error| error.to_string());
        snapshot.symbols.push(PlacedSymbol {
            record: Arc::clone(record),
            line_start: line(line_start)?,
            line_end: line(line_start.saturating_add(*length))?,
        });
    }
    let is_there = |place: &u32| (*place as usize) < snapshot.symbols.len();
    snapshot.changes = SymbolChanges {
        new: numbers_of(&state.n).take_while(is_there).collect(),
        modified: state.m,
        deleted: state.d.into_iter().map(prior_symbol).collect(),
    };
    Ok(snapshot)
}

fn prior_symbol(
    (name, kind, hash, line_start, line_end): (Cow<'_, str>, Code<'_>, u32, u32, u32),
) -> PriorSymbol {
    PriorSymbol {
        name: name.into_owned(),
        kind: kind.into_name(),
        hash,
        line_start,
        line_end,
    }
}
