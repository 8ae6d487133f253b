//! `calls`.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use backstory_event::TimeMs;
use backstory_memory::Memory;
use backstory_memory::code::{
    CallEdge, CallGraph, CallList, RunCall, SourceOutline, repository_around, scan_file,
};
use backstory_memory::upkeep::WithDamage;

use super::stored::{memory_of, project_folder, stored_files, tell_snapshots};
use super::{known_languages, memory_if_any, scanned, shown, state_moment};
use crate::cli::CallsArgs;
use crate::commands::damage::report_damage;
use crate::error::{Error, ErrorKind};
use crate::output::{BOLD, DIM, GREEN, YELLOW, one_line, print_json, stdout, warn};
use crate::setting::Setting;

/// Files whose calls are asked for.
struct Searched {
    files: Vec<SourceOutline>,
    /// The memory that was asked for them.
    memory: Option<Memory>,
    /// What was found damaged there.
    damage: WithDamage<()>,
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
        return report_damage(&searched.damage);
    }
    if place.is_none() && searched.memory.is_none() {
        // It may be in a file that is not on this disk.
        let stored = stored_calls(setting, arguments, around).ok();
        if let Some(stored) = stored
            && stored.show(&runs, arguments)?
        {
            return report_damage(&stored.damage);
        }
    }
    if arguments.json {
        print_json(&searched.damage.map(|()| CallList::default()))?;
    }
    report_damage(&searched.damage)?;
    let nothing = nothing(arguments, &searched.files);
    Err(searched.missing.unwrap_or(nothing))
}

impl Searched {
    fn on_disk(files: Vec<SourceOutline>) -> Self {
        Searched {
            files,
            memory: None,
            damage: WithDamage::default(),
            until: None,
            missing: None,
        }
    }

    /// Shows the calls that are asked for; false if there are none.
    fn show(&self, runs: &[RunCall], arguments: &CallsArgs) -> Result<bool, Error> {
        let graph = CallGraph::new(&self.files, runs);
        let found = graph.calls_around(
            arguments.name.as_deref(),
            !arguments.callees,
            !arguments.callers,
            arguments.depth,
        );
        if found.is_empty() {
            return Ok(false);
        }
        if arguments.json {
            let list = CallList::new(&self.files, &found, shown);
            print_json(&self.damage.map(|()| list))?;
        } else {
            let shown: BTreeSet<usize> = found.iter().map(|edge| edge.file).collect();
            let files = shown.iter().filter_map(|file| self.files.get(*file));
            tell_snapshots(self.memory.as_ref(), files);
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
    let damage = memory.upkeep().with_damage((), None)?;
    let (files, missing) = match stored {
        Ok(stored) => (stored.files, None),
        Err(missing) => (Vec::new(), Some(missing)),
    };
    Ok(Searched {
        files,
        memory: Some(memory),
        damage,
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

fn print_text(files: &[SourceOutline], edges: &[&CallEdge<'_>]) -> Result<(), Error> {
    let mut out = stdout();
    let mut last = None;
    for edge in edges {
        let caller = edge.caller();
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
