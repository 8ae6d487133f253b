//! A call graph in the language of Mermaid.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use backstory_memory::code::{CallGraph, FileState, SourceOutline, SymbolPlace};

use super::shown;

/// More than this nobody reads at once.
const MOST_NODES: usize = 30;
const MOST_LINKS: usize = 60;
/// Where nothing changed, the graph begins with so many.
const BUSIEST: usize = 6;
/// Below this a link is a guess.
const GUESS: f64 = 0.6;

/// What is known of all calls from one symbol to another.
#[derive(Clone, Copy, Default)]
struct Link {
    confidence: f64,
    seen: u64,
}

type Links = BTreeMap<(SymbolPlace, SymbolPlace), Link>;

/// The graph around what changed; where nothing did, of what is called and calls the most.
pub(super) fn mermaid(
    files: &[SourceOutline],
    graph: &CallGraph<'_>,
    states: &[FileState],
) -> String {
    let changed = changed(files, states);
    let mut links = links(files, graph);
    if changed.is_empty() {
        // Tests call everything, and say little of how it hangs together.
        let is_test = |place: &SymbolPlace| files.get(place.file).is_some_and(is_test);
        links.retain(|(from, to), _| !is_test(from) && !is_test(to));
    }
    let nodes = chosen(&links, &changed);
    let all: BTreeSet<SymbolPlace> = links
        .keys()
        .flat_map(|(from, to)| [*from, *to])
        .chain(changed.keys().copied())
        .collect();
    let mut text = String::from("flowchart LR\n");
    if nodes.len() < all.len() {
        let left_out = all.len() - nodes.len();
        let are = if left_out == 1 { " is" } else { "s are" };
        let _ = writeln!(text, "  %% {left_out} function{are} left out");
    }
    let ids: HashMap<SymbolPlace, usize> = nodes.iter().copied().zip(0..).collect();
    let in_files = nodes.iter().copied().collect::<Vec<_>>();
    for (number, places) in in_files.chunk_by(|a, b| a.file == b.file).enumerate() {
        let Some(file) = places.first().and_then(|place| files.get(place.file)) else {
            continue;
        };
        let _ = writeln!(
            text,
            "  subgraph f{number}[\"{}\"]",
            label(&shown(&file.path))
        );
        for place in places {
            let name = symbol_name(files, *place).unwrap_or_default();
            let _ = writeln!(text, "    n{}[\"{}\"]", ids[place], label(name));
        }
        text.push_str("  end\n");
    }
    let mut shown_links: Vec<_> = links
        .iter()
        .filter(|((from, to), _)| nodes.contains(from) && nodes.contains(to))
        .collect();
    shown_links.sort_by(|(a, one), (b, other)| {
        let by_evidence = other.seen.cmp(&one.seen);
        let by_evidence = by_evidence.then(other.confidence.total_cmp(&one.confidence));
        by_evidence.then(a.cmp(b))
    });
    shown_links.truncate(MOST_LINKS);
    for ((from, to), link) in shown_links {
        let arrow = match link {
            Link { seen: 1.., .. } => "==>",
            Link { confidence, .. } if *confidence < GUESS => "-.->",
            _ => "-->",
        };
        let _ = writeln!(text, "  n{} {arrow} n{}", ids[from], ids[to]);
    }
    for (change, colours) in [
        ("new", "fill:#d3f9d8,stroke:#2b8a3e,color:#1b1b1b"),
        ("modified", "fill:#fff3bf,stroke:#e67700,color:#1b1b1b"),
    ] {
        let marked: Vec<String> = changed
            .iter()
            .filter(|(place, state)| **state == change && ids.contains_key(place))
            .map(|(place, _)| format!("n{}", ids[place]))
            .collect();
        if !marked.is_empty() {
            let _ = writeln!(text, "  classDef {change} {colours}");
            let _ = writeln!(text, "  class {} {change}", marked.join(","));
        }
    }
    text
}

/// Whether a file is only there to try others.
fn is_test(file: &SourceOutline) -> bool {
    let mut folders = file.path.iter();
    let stem = file.path.file_stem().unwrap_or_default().to_string_lossy();
    folders.any(|name| name == "tests" || name == "test" || name == "benches")
        || stem == "tests"
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with(".test")
}

/// From whom to whom, once each.
fn links(files: &[SourceOutline], graph: &CallGraph<'_>) -> Links {
    let mut places: HashMap<(usize, &str), SymbolPlace> = HashMap::new();
    for (file, scanned) in files.iter().enumerate() {
        let Ok(outline) = &scanned.outline else {
            continue;
        };
        for (symbol, defined) in outline.symbols.iter().enumerate() {
            let place = SymbolPlace { file, symbol };
            places.entry((file, &defined.name)).or_insert(place);
        }
    }
    let mut links = Links::new();
    for edge in &graph.edges {
        let from = edge.call.caller.as_deref();
        let from = from.and_then(|caller| places.get(&(edge.file, caller)));
        if let (Some(from), Some(to)) = (from, edge.target)
            && *from != to
        {
            let link = links.entry((*from, to)).or_default();
            link.confidence = link.confidence.max(edge.confidence());
            link.seen += edge.seen;
        }
    }
    links
}

fn changed(files: &[SourceOutline], states: &[FileState]) -> BTreeMap<SymbolPlace, &'static str> {
    let mut changed = BTreeMap::new();
    for (file, (scanned, state)) in files.iter().zip(states).enumerate() {
        let Ok(outline) = &scanned.outline else {
            continue;
        };
        for (symbol, defined) in outline.symbols.iter().enumerate() {
            if let Some(change @ ("new" | "modified")) = state.of(&defined.name) {
                changed.insert(SymbolPlace { file, symbol }, change);
            }
        }
    }
    changed
}

/// What changed, those with the most links first, then what is next to that.
fn chosen(links: &Links, changed: &BTreeMap<SymbolPlace, &str>) -> BTreeSet<SymbolPlace> {
    let mut degrees: BTreeMap<SymbolPlace, usize> = BTreeMap::new();
    for (from, to) in links.keys() {
        *degrees.entry(*from).or_default() += 1;
        *degrees.entry(*to).or_default() += 1;
    }
    let by_degree = |places: BTreeSet<SymbolPlace>| {
        let mut places: Vec<SymbolPlace> = places.into_iter().collect();
        places.sort_by_key(|place| std::cmp::Reverse(degrees.get(place).copied().unwrap_or(0)));
        places
    };
    // Where nothing changed, what is around the busiest.
    let (begin, most) = match changed.is_empty() {
        true => (degrees.keys().copied().collect(), BUSIEST),
        false => (changed.keys().copied().collect(), MOST_NODES),
    };
    let begin = by_degree(begin).into_iter().take(most);
    let mut nodes: BTreeSet<SymbolPlace> = begin.collect();
    let near: BTreeSet<SymbolPlace> = links
        .keys()
        .flat_map(|(from, to)| {
            let next = [(nodes.contains(from), *to), (nodes.contains(to), *from)];
            next.into_iter().filter(|(is_near, _)| *is_near)
        })
        .map(|(_, place)| place)
        .collect();
    for place in by_degree(near) {
        if nodes.len() == MOST_NODES {
            break;
        }
        nodes.insert(place);
    }
    nodes
}

fn symbol_name(files: &[SourceOutline], place: SymbolPlace) -> Option<&str> {
    let outline = files.get(place.file)?.outline.as_ref().ok()?;
    Some(&outline.symbols.get(place.symbol)?.name)
}

/// Text between quotes: what means something there is written by its number.
fn label(text: &str) -> String {
    let mut label = String::new();
    for letter in text.chars() {
        match letter {
            letter if letter.is_alphanumeric() || "._-/ ,+~@$*=!?|:".contains(letter) => {
                label.push(letter);
            }
            letter => {
                let _ = write!(label, "#{};", u32::from(letter));
            }
        }
    }
    label
}
