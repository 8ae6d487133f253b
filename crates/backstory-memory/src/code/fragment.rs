//! What a change did to symbols when only the changed lines are known, not the file around them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use backstory_code::{Language, Symbol, SymbolChange, SymbolChangeKind, text_symbols};
use backstory_event::{Change as FileChange, Hunk, HunkLine};
use similar::{Algorithm, DiffTag, capture_diff_slices};

/// Fragments of more lines than this are not compared line by line: all of them count as changed.
const MAX_COMPARED_LINES: usize = 40_000;

/// The symbols that a change can be seen to have touched: those that begin or end to be defined in it, and those around a line that
/// it added or removed, as far as their beginning is in sight.
pub(super) fn fragment_changes(language: &Language, change: &FileChange) -> Vec<SymbolChange> {
    let mut found: BTreeMap<String, SymbolChange> = BTreeMap::new();
    let mut take = |old: &str, new: &str| {
        for change in between(language, old, new) {
            found.insert(change.name.clone(), change);
        }
    };
    match change {
        FileChange::Hunks(hunks) => {
            for hunk in hunks {
                let (old, new) = sides(hunk);
                take(&old, &new);
            }
        }
        FileChange::Strings(strings) => {
            for string in strings {
                take(&string.old, &string.new);
            }
        }
        FileChange::Written(_) | FileChange::Deleted => {}
    }
    found.into_values().collect()
}

/// The lines of a hunk before and after, below the lines that say where it is.
fn sides(hunk: &Hunk) -> (String, String) {
    let (mut old, mut new) = (String::new(), String::new());
    let put = |text: &mut String, line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    for line in &hunk.after {
        put(&mut old, line);
        put(&mut new, line);
    }
    for line in &hunk.lines {
        match line {
            HunkLine::Kept(line) => {
                put(&mut old, line);
                put(&mut new, line);
            }
            HunkLine::Removed(line) => put(&mut old, line),
            HunkLine::Added(line) => put(&mut new, line),
        }
    }
    (old, new)
}

fn between(language: &Language, old: &str, new: &str) -> Vec<SymbolChange> {
    let symbols = |text: &str| text_symbols(language, text);
    let (Ok(before), Ok(after)) = (symbols(old), symbols(new)) else {
        return Vec::new();
    };
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for (old_range, new_range) in differing_ranges(&old, &new) {
        removed.extend(old_range.filter(|line| !old[*line].trim().is_empty()));
        added.extend(new_range.filter(|line| !new[*line].trim().is_empty()));
    }
    let names = |symbols: &[Symbol]| -> BTreeSet<String> {
        symbols.iter().map(|symbol| symbol.name.clone()).collect()
    };
    let (known, there) = (names(&before), names(&after));
    let mut changes = Vec::new();
    let mut told = BTreeSet::new();
    for (symbols, lines) in [(&after, &added), (&before, &removed)] {
        for symbol in innermost_symbols(symbols, lines) {
            if !told.insert(symbol.name.clone()) {
                continue;
            }
            let change = match (known.contains(&symbol.name), there.contains(&symbol.name)) {
                (false, _) => SymbolChangeKind::New,
                (_, false) => SymbolChangeKind::Deleted,
                _ => SymbolChangeKind::Modified,
            };
            changes.push(SymbolChange {
                name: symbol.name.clone(),
                kind: symbol.kind,
                change,
                earlier: None,
            });
        }
    }
    changes
}

/// The lines that differ, old and new. All of them when there are too many to be compared.
fn differing_ranges(old: &[&str], new: &[&str]) -> Vec<(Range<usize>, Range<usize>)> {
    if old.len() + new.len() > MAX_COMPARED_LINES {
        return vec![(0..old.len(), 0..new.len())];
    }
    let ops = capture_diff_slices(Algorithm::Patience, old, new);
    let differ = ops.iter().filter(|op| op.tag() != DiffTag::Equal);
    differ.map(|op| (op.old_range(), op.new_range())).collect()
}

/// The innermost symbol around each of these lines, which are in order and counted from 0; lines outside of all have none.
fn innermost_symbols<'s>(symbols: &'s [Symbol], lines: &[usize]) -> Vec<&'s Symbol> {
    let mut by_start: Vec<&Symbol> = symbols.iter().collect();
    by_start.sort_by_key(|symbol| (symbol.line_start, Reverse(symbol.line_end)));
    let mut rest = by_start.into_iter().peekable();
    // Symbols that have begun, each within the one before it.
    let mut around: Vec<&Symbol> = Vec::new();
    let mut found = Vec::new();
    for line in lines {
        let line = line + 1;
        while let Some(symbol) = rest.next_if(|symbol| symbol.line_start <= line) {
            while around
                .last()
                .is_some_and(|outer| outer.line_end < symbol.line_start)
            {
                around.pop();
            }
            let is_same = |outer: &&Symbol| {
                (outer.line_start, outer.line_end) == (symbol.line_start, symbol.line_end)
            };
            if !around.last().is_some_and(is_same) {
                around.push(symbol);
            }
        }
        while around.last().is_some_and(|symbol| symbol.line_end < line) {
            around.pop();
        }
        found.extend(around.last());
    }
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]
mod tests {
    use std::path::Path;

    use super::*;

    /// Lines of a patch, with their signs.
    fn check(name: &str, after: &[&str], patch: &str, expect: &[&str]) {
        let line = |line: &str| {
            let text = line[1..].to_string();
            match &line[..1] {
                "-" => HunkLine::Removed(text),
                "+" => HunkLine::Added(text),
                _ => HunkLine::Kept(text),
            }
        };
        let hunk = Hunk {
            after: after.iter().map(ToString::to_string).collect(),
            lines: patch.lines().map(line).collect(),
            ..Hunk::default()
        };
        let language = Language::of_path(Path::new(name)).unwrap();
        let told: Vec<String> = fragment_changes(language, &FileChange::Hunks(vec![hunk]))
            .iter()
            .map(|change| format!("{} {}", change.change.name(), change.name))
            .collect();
        assert_eq!(told, expect, "{patch}");
    }

    #[test]
    fn what_begins_in_the_lines_is_known() {
        check(
            "a.py",
            &[],
            " def pay(sum):\n-    return sum\n+    return sum + 1\n \n+def refund(sum):\n+    return -sum\n",
            &["modified pay", "new refund"],
        );
        check(
            "a.rs",
            &[],
            " fn pay(sum: u32) -> u32 {\n-    sum\n+    sum + 1\n }\n-fn old() {}\n",
            &["deleted old", "modified pay"],
        );
        check(
            "a.py",
            &[],
            "     total = 0\n-    total += 1\n+    total += 2\n",
            &[],
        );
    }

    #[test]
    fn the_line_above_says_where_it_is() {
        check(
            "a.py",
            &["class Shop:", "    def pay(self, sum):"],
            "         total = 0\n-        total += 1\n+        total += 2\n",
            &["modified Shop.pay"],
        );
    }
}
