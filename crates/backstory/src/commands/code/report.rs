//! `report`.

use std::io::Write;

use backstory_memory::code::SymbolChangeKind;
use backstory_memory::code::{
    CallGraph, CallStatistics, ChangeStatistics, FileState, repository_around,
};

use super::{known_languages, memory_if_any, mermaid::mermaid, moment, scanned, shown};
use crate::cli::ReportArgs;
use crate::commands::damage::report_damage;
use crate::error::{Error, ErrorKind};
use crate::output::{BOLD, DIM, counted, grouped, local_time, one_line, print_json, stdout};
use crate::setting::Setting;

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
    let graph = CallGraph::new(&files, &runs);
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
    let report = memory.code().report(root, &files, &graph, since)?;
    if arguments.json {
        print_json(&report)?;
        return report_damage(&report);
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
        grouped(report.symbols)
    )?;
    print_calls(&mut out, &report.calls)?;
    for broken in &report.broken {
        let (file, at) = (one_line(&broken.file), local_time(Some(broken.at)));
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
    print_changes(&mut out, &report.changes)?;
    out.flush()?;
    report_damage(&report)
}

fn print_calls(out: &mut impl Write, calls: &CallStatistics) -> Result<(), Error> {
    let percent = |part| 100.0 * calls.share_of(part).unwrap_or(0.0);
    writeln!(
        out,
        "  {}: {:.0} % resolved, {} ({:.1} %) seen in stack traces, {} ({:.1} %) contradicted by the file they lead to",
        counted(calls.total, "call"),
        percent(calls.resolved()),
        calls.seen,
        percent(calls.seen),
        calls.contradicted,
        percent(calls.contradicted),
    )?;
    if calls.gone > 0 {
        let confirmed = calls.confirmed_share().unwrap_or(0.0);
        writeln!(
            out,
            "  {DIM}{} seen in stack traces {} not in the code any more; {:.0} % of those seen are{DIM:#}",
            counted(calls.gone, "call"),
            if calls.gone == 1 { "is" } else { "are" },
            100.0 * confirmed,
        )?;
    }
    Ok(())
}

fn print_changes(out: &mut impl Write, changes: &ChangeStatistics) -> Result<(), Error> {
    if changes.turns == 0 {
        writeln!(out, "  nothing, as far as the logs of agents tell")?;
        return Ok(());
    }
    let count = |change: SymbolChangeKind| changes.by_change.get(change.name()).unwrap_or(&0);
    writeln!(
        out,
        "  by {} of {}: {} new, {} modified, {} renamed, {} deleted",
        counted(changes.turns, "turn"),
        counted(changes.sessions.len() as u64, "session"),
        count(SymbolChangeKind::New),
        count(SymbolChangeKind::Modified),
        count(SymbolChangeKind::Renamed),
        count(SymbolChangeKind::Deleted),
    )?;
    writeln!(out, "\n{BOLD}Changed most{BOLD:#}")?;
    for ((file, name), turns) in changes.most_changed_functions() {
        let turns = counted(turns, "turn");
        let (name, file) = (one_line(name), one_line(file));
        writeln!(out, "  {turns:>9}  {name}  {DIM}{file}{DIM:#}")?;
    }
    Ok(())
}
