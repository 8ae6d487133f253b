//! `calls`.

use std::collections::{BTreeSet, HashSet};
use std::io::Write;

use backstory_code::{Call, Resolution};
use serde_json::{Value, json};

use super::scan::{self, Scanned};
use crate::cli::CallsArgs;
use crate::error::{Error, ErrorKind};
use crate::output::{BOLD, DIM, YELLOW, harmless, print_json, stdout, warn};

/// What calls outside of every function.
const MODULE: &str = "<module>";

/// A call, and where it is.
#[derive(Clone, Copy)]
struct Edge<'s> {
    file: &'s str,
    call: &'s Call,
}

/// A symbol that is looked for; without a file, in any.
type Wanted = (String, Option<String>);

pub(crate) fn run(arguments: &CallsArgs) -> Result<(), Error> {
    let scanned = match &arguments.file {
        Some(file) if file.is_file() => vec![scan::file(file)?],
        Some(file) => return Err(Error::usage(format!("there is no file {}", file.display()))),
        None => scan::folder(&scan::repository(&std::env::current_dir()?)),
    };
    if let (
        Some(_),
        [
            Scanned {
                path,
                outline: Err(skipped),
                ..
            },
        ],
    ) = (&arguments.file, &scanned[..])
    {
        warn(&format!("{path} was left out: {}", skipped.reason()));
    }
    let edges: Vec<Edge<'_>> = scanned.iter().flat_map(edges_of).collect();
    let found = match &arguments.name {
        None => edges,
        Some(name) => {
            let mut found = Vec::new();
            if !arguments.callees {
                found.extend(callers(&edges, name, arguments.depth));
            }
            if !arguments.callers {
                found.extend(callees(&edges, name, arguments.depth));
            }
            let mut seen = HashSet::new();
            found.retain(|edge| seen.insert(std::ptr::from_ref(edge.call)));
            found
        }
    };
    if arguments.json {
        print_json(&json!({ "edges": found.iter().map(edge_json).collect::<Vec<Value>>() }))?;
    }
    if found.is_empty() {
        return Err(nothing(arguments, &scanned));
    }
    if !arguments.json {
        print_text(&found)?;
    }
    Ok(())
}

fn edges_of(scanned: &Scanned) -> Vec<Edge<'_>> {
    let Ok(outline) = &scanned.outline else {
        return Vec::new();
    };
    let edge = |call| Edge {
        file: scanned.path.as_str(),
        call,
    };
    outline.calls.iter().map(edge).collect()
}

fn nothing(arguments: &CallsArgs, scanned: &[Scanned]) -> Error {
    let message = match (&arguments.name, &arguments.file) {
        (Some(name), _) => format!("no call from or to {name} was found"),
        (None, Some(file)) => format!("nothing is called in {}", file.display()),
        (None, None) => "nothing is called".to_string(),
    };
    let error = Error::new(ErrorKind::NotFound, message);
    match (scanned.is_empty(), arguments.name.is_some()) {
        (true, _) => error.hint(scan::known_languages()),
        (_, true) => error.hint("`backstory map .` shows what is defined here"),
        _ => error,
    }
}

/// Whether a path ends with a name, part by part.
fn ends_with(path: &str, name: &str) -> bool {
    let before = path.strip_suffix(name);
    before.is_some_and(|before| before.is_empty() || before.ends_with(['.', ':', '>', '/']))
}

/// What an edge leads to, as well as it is known.
fn target<'s>(edge: &Edge<'s>) -> &'s str {
    edge.call.resolved.as_deref().unwrap_or(&edge.call.callee)
}

/// Whether a call within its file can lead to another file.
fn stays(edge: &Edge<'_>) -> bool {
    matches!(
        edge.call.resolution,
        Resolution::Direct | Resolution::SelfMethod
    )
}

fn leads_to(edge: &Edge<'_>, (name, file): &Wanted) -> bool {
    let elsewhere = file
        .as_deref()
        .is_some_and(|file| stays(edge) && file != edge.file);
    !elsewhere && ends_with(target(edge), name)
}

fn callers<'s>(edges: &[Edge<'s>], name: &str, depth: u32) -> Vec<Edge<'s>> {
    let next = |edge: &Edge<'_>| Some((edge.call.caller.clone()?, Some(edge.file.to_string())));
    steps(edges, name, depth, leads_to, next)
}

fn callees<'s>(edges: &[Edge<'s>], name: &str, depth: u32) -> Vec<Edge<'s>> {
    let comes_from = |edge: &Edge<'_>, (name, file): &Wanted| {
        let here = file.as_deref().is_none_or(|file| file == edge.file);
        here && ends_with(edge.call.caller.as_deref().unwrap_or(MODULE), name)
    };
    let next = |edge: &Edge<'_>| match edge.call.resolution {
        Resolution::Unresolved => None,
        Resolution::Import => {
            let last = target(edge).rsplit(['.', ':']).next()?;
            Some((last.to_string(), None))
        }
        _ => Some((target(edge).to_string(), Some(edge.file.to_string()))),
    };
    steps(edges, name, depth, comes_from, next)
}

/// From a name along edges, the near ones first.
fn steps<'s>(
    edges: &[Edge<'s>],
    name: &str,
    depth: u32,
    matches: impl Fn(&Edge<'_>, &Wanted) -> bool,
    next: impl Fn(&Edge<'_>) -> Option<Wanted>,
) -> Vec<Edge<'s>> {
    let mut found = Vec::new();
    let mut known: BTreeSet<Wanted> = BTreeSet::new();
    let mut wanted: BTreeSet<Wanted> = BTreeSet::from([(name.to_string(), None)]);
    for _ in 0..depth {
        let new: Vec<Edge<'_>> = edges
            .iter()
            .filter(|edge| wanted.iter().any(|wanted| matches(edge, wanted)))
            .copied()
            .collect();
        known.append(&mut wanted);
        wanted = new.iter().filter_map(&next).collect();
        wanted.retain(|wanted| !known.contains(wanted));
        found.extend(new);
        if wanted.is_empty() {
            break;
        }
    }
    found
}

fn edge_json(edge: &Edge<'_>) -> Value {
    json!({
        "caller": edge.call.caller.as_deref().unwrap_or(MODULE),
        "callee": edge.call.callee,
        "resolved": edge.call.resolved,
        "resolution": edge.call.resolution.name(),
        "file": edge.file,
        "line": edge.call.line,
    })
}

fn print_text(edges: &[Edge<'_>]) -> Result<(), Error> {
    let mut out = stdout();
    let mut last = None;
    for edge in edges {
        let caller = edge.call.caller.as_deref().unwrap_or(MODULE);
        if last != Some((edge.file, caller)) {
            writeln!(
                out,
                "{BOLD}{}{BOLD:#}  {DIM}{}{DIM:#}",
                harmless(caller),
                harmless(edge.file)
            )?;
        }
        last = Some((edge.file, caller));
        let callee = harmless(&edge.call.callee);
        let told = match &edge.call.resolved {
            Some(resolved) if *resolved != edge.call.callee => format!(" = {}", harmless(resolved)),
            _ => String::new(),
        };
        let colour = match edge.call.resolution {
            Resolution::Unresolved => YELLOW,
            _ => DIM,
        };
        let how = edge.call.resolution.name();
        writeln!(
            out,
            "  {:>5}  {callee}{DIM}{told}{DIM:#}  {colour}{how}{colour:#}",
            edge.call.line
        )?;
    }
    out.flush()?;
    Ok(())
}
