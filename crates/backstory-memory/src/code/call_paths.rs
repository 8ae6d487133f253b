//! Chains of calls: who calls a symbol, and what it calls.

use std::collections::{BTreeSet, HashSet};

use backstory_code::Resolution;

use super::graph::{CallEdge, CallGraph};

/// Caller of what no function calls.
const MODULE: &str = "<module>";

/// A symbol that is looked for; without a file, in any.
type Wanted = (String, Option<usize>);

impl<'s> CallEdge<'s> {
    /// Returns the qualified name of the caller; `<module>` outside of every function.
    pub fn caller(&self) -> &'s str {
        self.call.caller.as_deref().unwrap_or(MODULE)
    }
}

impl<'s> CallGraph<'s> {
    /// Returns the calls that lead to a symbol, if `callers`, and those that it makes, if `callees`, over so many steps. Without a name
    /// these are all calls.
    pub fn calls_around(
        &self,
        name: Option<&str>,
        callers: bool,
        callees: bool,
        depth: u32,
    ) -> Vec<&CallEdge<'s>> {
        let Some(name) = name else {
            return self.edges.iter().collect();
        };
        let mut found = Vec::new();
        if callers {
            found.extend(self.callers(name, depth));
        }
        if callees {
            found.extend(self.callees(name, depth));
        }
        let mut seen = HashSet::new();
        found.retain(|edge| seen.insert(std::ptr::from_ref(edge.call)));
        found
    }

    /// Returns the calls that lead to a symbol in so many steps, the near ones first.
    pub fn callers(&self, name: &str, depth: u32) -> Vec<&CallEdge<'s>> {
        callers_of(&self.edges, name, depth)
    }

    /// Returns the calls that a symbol leads to in so many steps, the near ones first.
    pub fn callees(&self, name: &str, depth: u32) -> Vec<&CallEdge<'s>> {
        callees_of(&self.edges, name, depth)
    }
}

/// Returns whether a path ends with a name, part by part.
fn ends_with(path: &str, name: &str) -> bool {
    let before = path.strip_suffix(name);
    before.is_some_and(|before| before.is_empty() || before.ends_with(['.', ':', '>', '/']))
}

/// Returns the name that an edge leads to, as well as it is known.
fn target<'s>(edge: &CallEdge<'s>) -> &'s str {
    edge.call.resolved.as_deref().unwrap_or(&edge.call.callee)
}

/// Returns whether a call within its file cannot lead to another file.
fn stays(edge: &CallEdge<'_>) -> bool {
    matches!(
        edge.call.resolution,
        Resolution::Direct | Resolution::SelfMethod
    )
}

fn leads_to(edge: &CallEdge<'_>, (name, file): &Wanted) -> bool {
    let elsewhere = file.is_some_and(|file| stays(edge) && file != edge.file);
    !elsewhere && ends_with(target(edge), name)
}

fn callers_of<'g, 's>(edges: &'g [CallEdge<'s>], name: &str, depth: u32) -> Vec<&'g CallEdge<'s>> {
    let next = |edge: &CallEdge<'_>| Some((edge.call.caller.clone()?, Some(edge.file)));
    steps(edges, name, depth, leads_to, next)
}

fn callees_of<'g, 's>(edges: &'g [CallEdge<'s>], name: &str, depth: u32) -> Vec<&'g CallEdge<'s>> {
    let comes_from = |edge: &CallEdge<'_>, (name, file): &Wanted| {
        let here = file.is_none_or(|file| file == edge.file);
        here && ends_with(edge.caller(), name)
    };
    let next = |edge: &CallEdge<'_>| match edge.call.resolution {
        Resolution::Unresolved => None,
        Resolution::Import => {
            let last = target(edge).rsplit(['.', ':']).next()?;
            Some((last.to_string(), edge.target.map(|target| target.file)))
        }
        _ => Some((target(edge).to_string(), Some(edge.file))),
    };
    steps(edges, name, depth, comes_from, next)
}

/// Goes from a name along edges, the near ones first.
fn steps<'g, 's>(
    edges: &'g [CallEdge<'s>],
    name: &str,
    depth: u32,
    matches: impl Fn(&CallEdge<'_>, &Wanted) -> bool,
    next: impl Fn(&CallEdge<'_>) -> Option<Wanted>,
) -> Vec<&'g CallEdge<'s>> {
    let mut found = Vec::new();
    let mut known: BTreeSet<Wanted> = BTreeSet::new();
    let mut wanted: BTreeSet<Wanted> = BTreeSet::from([(name.to_string(), None)]);
    for _ in 0..depth {
        let new: Vec<&CallEdge<'s>> = edges
            .iter()
            .filter(|edge| wanted.iter().any(|wanted| matches(edge, wanted)))
            .collect();
        known.append(&mut wanted);
        wanted = new.iter().filter_map(|edge| next(edge)).collect();
        wanted.retain(|wanted| !known.contains(wanted));
        found.extend(new);
        if wanted.is_empty() {
            break;
        }
    }
    found
}
