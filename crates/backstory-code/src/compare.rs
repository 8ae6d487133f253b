//! What became of the symbols of a file between two looks at it.

use std::collections::{BTreeMap, HashMap, HashSet};

pub use backstory_event::SymbolChangeKind;
use serde::Serialize;

use crate::model::{Symbol, SymbolKind};

/// A symbol that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SymbolChange {
    /// Its qualified name now, or the last that it had.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// What became of it.
    pub change: SymbolChangeKind,
    /// The name that it had before it was renamed.
    pub earlier: Option<String>,
}

/// Compares two looks at a file by qualified names. What has the same body under another name was renamed, if no third symbol
/// has that body. A type is modified when it itself is; its members speak for themselves.
pub fn compare(before: &[Symbol], after: &[Symbol]) -> Vec<SymbolChange> {
    let (old, new) = (by_name(before), by_name(after));
    let gone = old.iter().filter(|(name, _)| !new.contains_key(*name));
    let mut moved = unique_bodies(gone.flat_map(|(_, symbols)| symbols.iter().copied()));
    let came = new.iter().filter(|(name, _)| !old.contains_key(*name));
    let arrived = unique_bodies(came.flat_map(|(_, symbols)| symbols.iter().copied()));
    let mut changes = Vec::new();
    let mut renamed = HashSet::new();
    let mut told = HashSet::new();
    for symbol in after.iter().filter(|symbol| told.insert(&symbol.name)) {
        let change = |change, earlier| SymbolChange {
            name: symbol.name.clone(),
            kind: symbol.kind,
            change,
            earlier,
        };
        let name = symbol.name.as_str();
        if let Some(known) = old.get(name) {
            if hashes(known) != hashes(&new[name]) {
                changes.push(change(SymbolChangeKind::Modified, None));
            }
            continue;
        }
        let body = (symbol.kind, symbol.body_hash);
        match arrived.get(&body).and_then(|_| moved.remove(&body)) {
            Some(earlier) => {
                renamed.insert(earlier);
                changes.push(change(SymbolChangeKind::Renamed, Some(earlier.to_string())));
            }
            None => changes.push(change(SymbolChangeKind::New, None)),
        }
    }
    for symbol in before.iter().filter(|symbol| told.insert(&symbol.name)) {
        if !renamed.contains(symbol.name.as_str()) {
            changes.push(SymbolChange {
                name: symbol.name.clone(),
                kind: symbol.kind,
                change: SymbolChangeKind::Deleted,
                earlier: None,
            });
        }
    }
    changes
}

/// Names may be there several times: overloads, or the same for several systems.
fn by_name(symbols: &[Symbol]) -> BTreeMap<&str, Vec<&Symbol>> {
    let mut names: BTreeMap<&str, Vec<&Symbol>> = BTreeMap::new();
    for symbol in symbols {
        names.entry(&symbol.name).or_default().push(symbol);
    }
    names
}

fn hashes(symbols: &[&Symbol]) -> Vec<u32> {
    let mut hashes: Vec<u32> = symbols.iter().map(|symbol| symbol.own_hash).collect();
    hashes.sort_unstable();
    hashes
}

/// The names of symbols whose body no other has.
fn unique_bodies<'s>(
    symbols: impl Iterator<Item = &'s Symbol>,
) -> HashMap<(SymbolKind, u32), &'s str> {
    let mut names = HashMap::new();
    let mut several = HashSet::new();
    for symbol in symbols.filter(|symbol| symbol.has_body) {
        let body = (symbol.kind, symbol.body_hash);
        if names.insert(body, symbol.name.as_str()).is_some() {
            several.insert(body);
        }
    }
    names.retain(|body, _| !several.contains(body));
    names
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]
mod tests {
    use super::*;
    use crate::{LANGUAGES, outline};

    fn check(before: &str, after: &str, expect: &[&str]) {
        let python = LANGUAGES
            .iter()
            .find(|language| language.name == "python")
            .unwrap();
        let look = |text: &str| outline(python, text.as_bytes()).unwrap().symbols;
        let told: Vec<String> = compare(&look(before), &look(after))
            .iter()
            .map(|change| {
                let earlier = change.earlier.as_deref().map(|name| format!(" was {name}"));
                let told = format!("{} {}", change.change.name(), change.name);
                told + &earlier.unwrap_or_default()
            })
            .collect();
        assert_eq!(told, expect, "{before:?} → {after:?}");
    }

    #[test]
    fn symbols_come_go_and_change() {
        let one = "def a(x):\n    return x\n\ndef b():\n    return 2\n";
        check(one, one, &[]);
        check("", one, &["new a", "new b"]);
        check(one, "", &["deleted a", "deleted b"]);
        check(
            one,
            "def a(x):\n    return x + 1\n\ndef c():\n    return 3\n",
            &["modified a", "new c", "deleted b"],
        );
        // Comments, documentation and layout are nothing.
        check(
            one,
            "def a( x ):\n    '''Gives it back.'''\n    return x # same\ndef b(): return 2\n",
            &[],
        );
    }

    #[test]
    fn what_has_the_same_body_was_renamed() {
        check(
            "def a(x):\n    return x\n",
            "def z(x):\n    return x\n",
            &["renamed z was a"],
        );
        // Which of two is not known.
        check(
            "def a(x):\n    return x\ndef b(x):\n    return x\n",
            "def z(x):\n    return x\n",
            &["new z", "deleted a", "deleted b"],
        );
        check(
            "class A:\n    def f(self):\n        return 1\n",
            "class B:\n    def f(self):\n        return 1\n",
            &["renamed B was A", "renamed B.f was A.f"],
        );
    }

    #[test]
    fn a_class_is_not_modified_by_its_methods() {
        check(
            "class A(Base):\n    limit = 1\n    def f(self):\n        return 1\n",
            "class A(Base):\n    limit = 1\n    def f(self):\n        return 2\n    def g(self):\n        pass\n",
            &["modified A.f", "new A.g"],
        );
        check(
            "class A(Base):\n    limit = 1\n    def f(self):\n        return 1\n",
            "class A(Base):\n    limit = 2\n    def f(self):\n        return 1\n",
            &["modified A"],
        );
        check(
            "class A:\n    @property\n    def f(self):\n        return 1\n",
            "class A:\n    @cached\n    def f(self):\n        return 1\n\n    @property\n    def g(self):\n        return 2\n",
            &["modified A.f", "new A.g"],
        );
        // A function is what is within it, too.
        check(
            "def f():\n    def g():\n        return 1\n    return g\n",
            "def f():\n    def g():\n        return 2\n    return g\n",
            &["modified f", "modified f.g"],
        );
    }

    #[test]
    fn the_same_name_several_times_is_one_symbol() {
        check(
            "if a:\n    def f(): return 1\nelse:\n    def f(): return 2\n",
            "if b:\n    def f(): return 2\nelse:\n    def f(): return 1\n",
            &[],
        );
        check(
            "if a:\n    def f(): return 1\nelse:\n    def f(): return 2\n",
            "if a:\n    def f(): return 1\nelse:\n    def f(): return 3\n",
            &["modified f"],
        );
    }
}
