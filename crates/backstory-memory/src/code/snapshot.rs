//! The last good look at each file, as it is stored.

use backstory_code::{Kind, Symbol};
use backstory_store::Snapshot;
use serde::{Deserialize, Serialize};

use super::look::Look;

/// What is kept of a look: there are many, so names of fields are few.
#[derive(Serialize, Deserialize, Default)]
struct Kept {
    symbols: Vec<KeptSymbol>,
    has_errors: bool,
}

/// Name, kind, signature, first and last line, hash of the body and its own if that differs, whether it has a body.
#[derive(Serialize, Deserialize)]
struct KeptSymbol(String, Kind, String, usize, usize, u32, Option<u32>, bool);

/// A look, as it is stored.
pub(super) fn snapshot_of(look: &Look, at: i64) -> Snapshot {
    let keep = |symbol: &Symbol| {
        KeptSymbol(
            symbol.name.clone(),
            symbol.kind,
            symbol.signature.clone(),
            symbol.line_start,
            symbol.line_end,
            symbol.body_hash,
            (symbol.own_hash != symbol.body_hash).then_some(symbol.own_hash),
            symbol.has_body,
        )
    };
    let kept = Kept {
        symbols: look.symbols.iter().map(keep).collect(),
        has_errors: look.has_errors,
    };
    Snapshot {
        at,
        text_hash: look.text_hash,
        broken_at: None,
        symbols: serde_json::to_vec(&kept).unwrap_or_default(),
    }
}

/// The functions that a stored look has, by their qualified names.
pub(crate) fn functions_of(snapshot: &Snapshot) -> Vec<String> {
    let kept: Kept = serde_json::from_slice(&snapshot.symbols).unwrap_or_default();
    let functions = kept.symbols.into_iter().filter(|kept| kept.1.is_function());
    functions.map(|kept| kept.0).collect()
}

/// A look that was stored. Decorators and documentation were not.
pub(super) fn look_of(snapshot: &Snapshot) -> Look {
    let kept: Kept = serde_json::from_slice(&snapshot.symbols).unwrap_or_default();
    let symbol = |kept: KeptSymbol| {
        let KeptSymbol(name, kind, signature, line_start, line_end, body_hash, own, has_body) =
            kept;
        Symbol {
            parent: name.rfind('.').map(|dot| name[..dot].to_string()),
            name,
            kind,
            signature,
            decorators: Vec::new(),
            doc: None,
            line_start,
            line_end,
            body_hash,
            own_hash: own.unwrap_or(body_hash),
            has_body,
        }
    };
    Look {
        text_hash: snapshot.text_hash,
        symbols: kept.symbols.into_iter().map(symbol).collect(),
        calls: None,
        has_errors: kept.has_errors,
    }
}
