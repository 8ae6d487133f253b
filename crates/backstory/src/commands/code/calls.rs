//! `calls`.

use std::collections::{BTreeSet, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use backstory_event::TimeMs;
use backstory_memory::{
    CallEdge, Damage, Memory, Resolution, RunCall, SourceOutline, call_graph, repository_around,
    scan_file,
};
use serde_json::{Value, json};

use super::stored::{add_snapshot, memory_of, project_folder, stored_files, tell_snapshots};
use super::{known_languages, memory_if_any, scanned, shown, state_moment};
use crate::cli::CallsArgs;
use crate::commands::damage::{print_answer, report_damage};
use crate::error::{Error, ErrorKind};
use crate::output::{BOLD, DIM, GREEN, YELLOW, one_line, stdout, warn};
use crate::setting::Setting;

/// What calls outside of every function.
const MODULE: &str = "<module>";

/// A symbol that is looked for; without a file, in any.
type Wanted = (String, Option<usize>);

/// Files whose calls are asked for.
struct Searched {
    files: Vec<SourceOutline>,
    /// The memory that was asked for them, with what was found damaged there.
    memory: Option<(Memory, Vec<Damage>)>,
    /// Stack traces after this time do not count.
    until: Option<TimeMs>,
    /// Why there are no files.
    missing: Option<Error>,
}

pub(in crate::commands) fn run(setting: &Setting, arguments: &CallsArgs) -> Result<(), Error> {
    let here = std::env::current_dir()?;
    let folder = match &arguments.project {
        Some(project) => project_folder(setting, project)?,
        None => repository_around(&here).to_path_buf(),
    };
    let in_project = |file: &PathBuf| match arguments.project {
        Some(_) => folder.join(file),
        None => file.clone(),
    };
    let file = arguments.file.as_ref().map(in_project);
    let place = file.as_deref();
    let is_there = place.map_or_else(|| folder.is_dir(), Path::is_file);
    let around = place.unwrap_or(&folder);
    let searched = match (arguments.at.is_some() || !is_there, place) {
        (true, _) => stored_calls(setting, arguments, around)?,
        (false, Some(file)) => Searched::on_disk(one_file(file)?),
        (false, None) => Searched::on_disk(scanned(around).files),
    };
    let runs = seen_calls(setting, place.unwrap_or(&folder), searched.until);
    if searched.show(&runs, arguments)? {
        return searched.report();
    }
    if place.is_none() && searched.memory.is_none() {
        // It may be in a file that is not on this disk.
        let stored = stored_calls(setting, arguments, around).ok();
        if let Some(stored) = stored
            && stored.show(&runs, arguments)?
        {
            return stored.report();
        }
    }
    if arguments.json {
        print_answer(json!({ "edges": [] }), searched.damage())?;
    }
    searched.report()?;
    let nothing = nothing(arguments, &searched.files);
    Err(searched.missing.unwrap_or(nothing))
}

impl Searched {
    fn on_disk(files: Vec<SourceOutline>) -> Self {
        Searched {
            files,
            memory: None,
            until: None,
            missing: None,
        }
    }

    fn damage(&self) -> &[Damage] {
        self.memory.as_ref().map_or(&[], |(_, damage)| damage)
    }

    fn report(&self) -> Result<(), Error> {
        match &self.memory {
            Some((memory, damage)) => report_damage(memory, damage),
            None => Ok(()),
        }
    }

    /// Shows the calls that are asked for; false if there are none.
    fn show(&self, runs: &[RunCall], arguments: &CallsArgs) -> Result<bool, Error> {
        let graph = call_graph(&self.files, runs);
        let edges: Vec<&CallEdge<'_>> = graph.edges.iter().collect();
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
        if found.is_empty() {
            return Ok(false);
        }
        if arguments.json {
            let edges = found.iter().map(|edge| edge_json(&self.files, edge));
            let answer = json!({ "edges": edges.collect::<Vec<Value>>() });
            print_answer(answer, self.damage())?;
        } else {
            let shown: BTreeSet<usize> = found.iter().map(|edge| edge.file).collect();
            let memory = self.memory.as_ref().map(|(memory, _)| memory);
            let files = shown.iter().filter_map(|file| self.files.get(*file));
            tell_snapshots(memory, files);
            print_text(&self.files, &found)?;
        }
        Ok(true)
    }
}

/// Files as they were when they were last seen, or at a time.
fn stored_calls(setting: &Setting, arguments: &CallsArgs, path: &Path) -> Result<Searched, Error> {
    let memory = memory_of(setting, path)?;
    let until = arguments.at.as_deref();
    let until = until.map(|at| state_moment(&memory, at)).transpose()?;
    let stored = stored_files(&memory, path, until, None);
    let damage = memory.upkeep().take_damage();
    let (files, missing) = match stored {
        Ok(stored) => (stored.files, None),
        Err(missing) => (Vec::new(), Some(missing)),
    };
    Ok(Searched {
        files,
        memory: Some((memory, damage)),
        until,
        missing,
    })
}

fn one_file(file: &Path) -> Result<Vec<SourceOutline>, Error> {
    let scanned =
        scan_file(file).map_err(|error| Error::usage(format!("{}: {error}", file.display())))?;
    let Some(scanned) = scanned else {
        let message = format!("{} is in no language that is known here", file.display());
        return Err(Error::new(ErrorKind::NotFound, message).hint(known_languages()));
    };
    if let Err(skipped) = &scanned.outline {
        let path = shown(&scanned.path);
        warn(&format!("{path} was left out: {}", skipped.reason()));
    }
    Ok(vec![scanned])
}

/// Calls that were seen to happen, if there is a memory that knows of some.
fn seen_calls(setting: &Setting, path: &Path, until: Option<TimeMs>) -> Vec<RunCall> {
    let calls = memory_if_any(setting).and_then(|memory| memory.code().run_calls(path).ok());
    let mut calls = calls.unwrap_or_default();
    calls.retain(|call| until.is_none_or(|until| call.at <= Some(until)));
    calls
}

fn nothing(arguments: &CallsArgs, files: &[SourceOutline]) -> Error {
    let message = match (&arguments.name, &arguments.file) {
        (Some(name), _) => format!("no call from or to {name} was found"),
        (None, Some(file)) => format!("nothing is called in {}", file.display()),
        (None, None) => "nothing is called".to_string(),
    };
    let error = Error::new(ErrorKind::NotFound, message);
    match (files.is_empty(), arguments.name.is_some()) {
        (true, _) => error.hint(known_languages()),
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
fn target<'s>(edge: &CallEdge<'s>) -> &'s str {
    edge.call.resolved.as_deref().unwrap_or(&edge.call.callee)
}

/// Whether a call within its file can lead to another file.
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

fn callers<'g, 's>(edges: &[&'g CallEdge<'s>], name: &str, depth: u32) -> Vec<&'g CallEdge<'s>> {
    let next = |edge: &CallEdge<'_>| Some((edge.call.caller.clone()?, Some(edge.file)));
    steps(edges, name, depth, leads_to, next)
}

fn callees<'g, 's>(edges: &[&'g CallEdge<'s>], name: &str, depth: u32) -> Vec<&'g CallEdge<'s>> {
    let comes_from = |edge: &CallEdge<'_>, (name, file): &Wanted| {
        let here = file.is_none_or(|file| file == edge.file);
        here && ends_with(edge.call.caller.as_deref().unwrap_or(MODULE), name)
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

/// From a name along edges, the near ones first.
fn steps<'g, 's>(
    edges: &[&'g CallEdge<'s>],
    name: &str,
    depth: u32,
    matches: impl Fn(&CallEdge<'_>, &Wanted) -> bool,
    next: impl Fn(&CallEdge<'_>) -> Option<Wanted>,
) -> Vec<&'g CallEdge<'s>> {
    let mut found = Vec::new();
    let mut known: BTreeSet<Wanted> = BTreeSet::new();
    let mut wanted: BTreeSet<Wanted> = BTreeSet::from([(name.to_string(), None)]);
    for _ in 0..depth {
        let new: Vec<&CallEdge<'_>> = edges
            .iter()
            .filter(|edge| wanted.iter().any(|wanted| matches(edge, wanted)))
            .copied()
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

fn edge_json(files: &[SourceOutline], edge: &CallEdge<'_>) -> Value {
    let path = |file: usize| files.get(file).map(|file| shown(&file.path));
    let snapshot = files.get(edge.file).and_then(|file| file.snapshot.as_ref());
    let mut answer = json!({
        "caller": edge.call.caller.as_deref().unwrap_or(MODULE),
        "callee": edge.call.callee,
        "resolved": edge.call.resolved,
        "resolution": edge.resolution_name(),
        "reason": edge.reason_name(),
        "file": path(edge.file),
        "line": edge.call.line,
        "target_file": edge.target.and_then(|target| path(target.file)),
        "confidence": (edge.confidence() * 1000.0).round() / 1000.0,
        "seen": edge.seen,
        "contradicted": edge.is_contradicted,
    });
    if let Value::Object(answer) = &mut answer {
        add_snapshot(answer, snapshot);
    }
    answer
}

fn print_text(files: &[SourceOutline], edges: &[&CallEdge<'_>]) -> Result<(), Error> {
    let mut out = stdout();
    let mut last = None;
    for edge in edges {
        let caller = edge.call.caller.as_deref().unwrap_or(MODULE);
        if last != Some((edge.file, caller)) {
            let path = files.get(edge.file).map(|file| shown(&file.path));
            writeln!(
                out,
                "{BOLD}{}{BOLD:#}  {DIM}{}{DIM:#}",
                one_line(caller),
                path.unwrap_or_default()
            )?;
        }
        last = Some((edge.file, caller));
        let callee = one_line(&edge.call.callee);
        let told = match &edge.call.resolved {
            Some(resolved) if *resolved != edge.call.callee => format!(" = {}", one_line(resolved)),
            _ => String::new(),
        };
        let colour = match edge.reason_name() {
            Some(_) => YELLOW,
            None => DIM,
        };
        let mut how = edge.resolution_name().to_string();
        if let Some(reason) = edge.reason_name() {
            how.push_str(&format!(" ({})", reason.replace('_', " ")));
        }
        if edge.is_contradicted {
            how.push_str(", but not there");
        }
        let seen = match edge.seen {
            0 => String::new(),
            1 => "  seen once".to_string(),
            seen => format!("  seen {seen} times"),
        };
        writeln!(
            out,
            "  {:>5}  {callee}{DIM}{told}{DIM:#}  {colour}{how}{colour:#}{GREEN}{seen}{GREEN:#}",
            edge.call.line
        )?;
    }
    out.flush()?;
    Ok(())
}
