//! `report`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use backstory_event::TimeMs;
use backstory_memory::{
    CallGraph, ChangeFilter, FileState, Memory, Resolution, SourceOutline, SymbolChangeKind,
    TurnChanges, call_graph, repository_around,
};
use serde_json::{Value, json};

use super::{known_languages, memory_if_any, mermaid::mermaid, moment, scanned, shown};
use crate::cli::ReportArgs;
use crate::commands::damage::{print_answer, report_damage};
use crate::error::{Error, ErrorKind};
use crate::output::{BOLD, DIM, counted, grouped, local_time, one_line, rfc3339, stdout};
use crate::setting::Setting;

/// So many of the functions and files that changed most are named.
const MOST_NAMED: usize = 10;

pub(in crate::commands) fn run(setting: &Setting, arguments: &ReportArgs) -> Result<(), Error> {
    let path = std::fs::canonicalize(&arguments.path)
        .map_err(|error| Error::usage(format!("{}: {error}", arguments.path.display())))?;
    let root = repository_around(&path);
    let files = scanned(root).files;
    let memory = memory_if_any(setting);
    let runs = match &memory {
        Some(memory) => memory.code().run_calls(root)?,
        None => Vec::new(),
    };
    let graph = call_graph(&files, &runs);
    if arguments.mermaid {
        let states = match &memory {
            Some(memory) => memory
                .code()
                .states(&files, moment(memory, &arguments.since)?)?,
            None => files.iter().map(|_| FileState::default()).collect(),
        };
        if graph.edges.is_empty() {
            let message = format!("nothing is called in {}", shown(root));
            return Err(Error::new(ErrorKind::NotFound, message).hint(known_languages()));
        }
        let mut out = stdout();
        out.write_all(mermaid(&files, &graph, &states).as_bytes())?;
        out.flush()?;
        return Ok(());
    }
    let Some(memory) = memory else {
        // Says what is missing.
        return setting.memory().map(drop);
    };
    let since = moment(&memory, &arguments.since)?;
    let changes = Changes::of(&memory, root, since)?;
    let calls = Calls::of(&graph);
    let broken = memory.code().broken_files(root)?;
    let damage = memory.upkeep().take_damage();
    if arguments.json {
        let broken = broken
            .iter()
            .map(|(file, at)| json!({ "file": file, "timestamp": rfc3339(Some(*at)) }));
        let answer = json!({
            "project": root,
            "since": rfc3339(Some(since)),
            "files": files.len(),
            "symbols": symbols(&files),
            "calls": calls.json(),
            "changes": changes.json(),
            "broken": broken.collect::<Vec<Value>>(),
        });
        print_answer(answer, &damage)?;
        return report_damage(&memory, &damage);
    }
    let mut out = stdout();
    writeln!(
        out,
        "{BOLD}{}{BOLD:#}",
        one_line(&root.display().to_string())
    )?;
    writeln!(
        out,
        "  {}, {} functions and types",
        counted(files.len() as u64, "source file"),
        grouped(symbols(&files))
    )?;
    calls.print(&mut out)?;
    for (file, at) in &broken {
        let (file, at) = (one_line(file), local_time(Some(*at)));
        writeln!(
            out,
            "  {DIM}{file} did not parse when it was last seen, {at}; what is told of it is from before{DIM:#}"
        )?;
    }
    writeln!(
        out,
        "\n{BOLD}Changed since {}{BOLD:#}",
        local_time(Some(since))
    )?;
    changes.print(&mut out)?;
    out.flush()?;
    report_damage(&memory, &damage)
}

fn symbols(files: &[SourceOutline]) -> u64 {
    let outlines = files.iter().filter_map(|file| file.outline.as_ref().ok());
    outlines.map(|outline| outline.symbols.len() as u64).sum()
}

/// How much is known of calls.
#[derive(Default)]
struct Calls {
    all: u64,
    by_resolution: BTreeMap<&'static str, u64>,
    seen: u64,
    contradicted: u64,
    gone: u64,
}

impl Calls {
    fn of(graph: &CallGraph<'_>) -> Self {
        let mut calls = Calls {
            gone: graph.gone.len() as u64,
            ..Calls::default()
        };
        for edge in &graph.edges {
            calls.all += 1;
            let resolution = edge.resolution_name();
            *calls.by_resolution.entry(resolution).or_default() += 1;
            calls.seen += u64::from(edge.seen > 0);
            calls.contradicted += u64::from(edge.is_contradicted);
        }
        calls
    }

    fn resolved(&self) -> u64 {
        let unresolved = self.by_resolution.get(Resolution::Unresolved.name());
        self.all - unresolved.unwrap_or(&0)
    }

    /// Of the calls that were seen to happen, how many are in the code as it is.
    fn confirmed_share(&self) -> Option<f64> {
        let known = self.seen + self.gone;
        (known > 0).then(|| self.seen as f64 / known as f64)
    }

    fn json(&self) -> Value {
        json!({
            "total": self.all,
            "by_resolution": self.by_resolution,
            "seen": self.seen,
            "seen_share": share(self.seen, self.all),
            "contradicted": self.contradicted,
            "contradicted_share": share(self.contradicted, self.all),
            "gone": self.gone,
            "confirmed_share": self.confirmed_share(),
        })
    }

    fn print(&self, out: &mut impl Write) -> Result<(), Error> {
        let percent = |part| 100.0 * share(part, self.all).unwrap_or(0.0);
        writeln!(
            out,
            "  {}: {:.0} % resolved, {} ({:.1} %) seen in stack traces, {} ({:.1} %) contradicted by the file they lead to",
            counted(self.all, "call"),
            percent(self.resolved()),
            self.seen,
            percent(self.seen),
            self.contradicted,
            percent(self.contradicted),
        )?;
        if self.gone > 0 {
            let confirmed = self.confirmed_share().unwrap_or(0.0);
            writeln!(
                out,
                "  {DIM}{} seen in stack traces {} not in the code any more; {:.0} % of those seen are{DIM:#}",
                counted(self.gone, "call"),
                if self.gone == 1 { "is" } else { "are" },
                100.0 * confirmed,
            )?;
        }
        Ok(())
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64 * 10_000.0).round() / 10_000.0)
}

/// What agents changed.
#[derive(Default)]
struct Changes {
    sessions: BTreeSet<String>,
    turns: u64,
    by_change: BTreeMap<&'static str, u64>,
    functions: BTreeMap<(String, String), u64>,
    files: BTreeMap<String, u64>,
}

impl Changes {
    fn of(memory: &Memory, root: &std::path::Path, since: TimeMs) -> Result<Self, Error> {
        let turns = memory.code().changes(&ChangeFilter {
            since: Some(since),
            path: Some(root.to_path_buf()),
            ..ChangeFilter::default()
        })?;
        let mut changes = Changes::default();
        for turn in &turns {
            changes.take(turn);
        }
        Ok(changes)
    }

    fn take(&mut self, turn: &TurnChanges) {
        self.turns += 1;
        self.sessions.insert(turn.session.session.clone());
        for file in &turn.files {
            *self.files.entry(file.name.clone()).or_default() += 1;
            for symbol in &file.symbols {
                *self.by_change.entry(symbol.change.name()).or_default() += 1;
                if symbol.change != SymbolChangeKind::Deleted {
                    let key = (file.name.clone(), symbol.name.clone());
                    *self.functions.entry(key).or_default() += 1;
                }
            }
        }
    }

    /// What changed most, first.
    fn most<K: Ord>(counts: &BTreeMap<K, u64>) -> Vec<(&K, u64)> {
        let mut most: Vec<(&K, u64)> = counts.iter().map(|(key, count)| (key, *count)).collect();
        most.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        most.truncate(MOST_NAMED);
        most
    }

    fn json(&self) -> Value {
        let functions = Changes::most(&self.functions);
        let functions = functions
            .iter()
            .map(|((file, name), turns)| json!({ "file": file, "name": name, "turns": turns }));
        let files = Changes::most(&self.files);
        let files = files
            .iter()
            .map(|(file, turns)| json!({ "file": file, "turns": turns }));
        json!({
            "sessions": self.sessions.len(),
            "turns": self.turns,
            "symbols": self.by_change,
            "functions": functions.collect::<Vec<Value>>(),
            "files": files.collect::<Vec<Value>>(),
        })
    }

    fn print(&self, out: &mut impl Write) -> Result<(), Error> {
        if self.turns == 0 {
            writeln!(out, "  nothing, as far as the logs of agents tell")?;
            return Ok(());
        }
        let count = |change: SymbolChangeKind| self.by_change.get(change.name()).unwrap_or(&0);
        writeln!(
            out,
            "  by {} of {}: {} new, {} modified, {} renamed, {} deleted",
            counted(self.turns, "turn"),
            counted(self.sessions.len() as u64, "session"),
            count(SymbolChangeKind::New),
            count(SymbolChangeKind::Modified),
            count(SymbolChangeKind::Renamed),
            count(SymbolChangeKind::Deleted),
        )?;
        writeln!(out, "\n{BOLD}Changed most{BOLD:#}")?;
        for ((file, name), turns) in Changes::most(&self.functions) {
            let turns = counted(turns, "turn");
            let (name, file) = (one_line(name), one_line(file));
            writeln!(out, "  {turns:>9}  {name}  {DIM}{file}{DIM:#}")?;
        }
        Ok(())
    }
}
