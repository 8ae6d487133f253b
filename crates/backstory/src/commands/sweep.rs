//! `sweep`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use backstory_memory::capture::DrainReport;
use backstory_memory::{
    CatchUp, CatchUpReport, ImportOptions, ImportReport, Memory, Problem, Progress, Sources,
    dry_import,
};
use indicatif::ProgressBar;

use super::embed::{embedding_bar, show_embedding};
use super::retain::print_retention;
use crate::cli::SweepArgs;
use crate::config::Redact;
use crate::error::Error;
use crate::output::{
    BOLD, YELLOW, counted, grouped, print_json, progress_bar, say, short_bytes, stdout, warn,
};
use crate::setting::{Setting, now};

pub(super) fn run(setting: &Setting, arguments: &SweepArgs) -> Result<(), Error> {
    let options = options(setting, &arguments.paths, arguments.agent.as_deref());
    #[cfg(feature = "columnar")]
    let unpacked = super::columnar::unpack(&arguments.paths, arguments.agent.as_deref())?;
    #[cfg(feature = "columnar")]
    let options = {
        let mut options = options;
        options.sources.provided.clone_from(&unpacked.logs);
        options
    };
    if arguments.dry_run {
        let mut report = dry_import(&setting.store, &options)?;
        let memory = Memory::open_untouched(&setting.store)?;
        let typed = (&arguments.paths[..], arguments.agent.as_deref());
        let no_logs = find_no_logs(setting, memory.as_ref(), report.discovered, typed)?;
        report.problems.extend(no_logs);
        #[cfg(feature = "columnar")]
        let is_partial = add_unpacking_problems(&unpacked, &mut report, arguments);
        print_either(setting, &report, arguments)?;
        #[cfg(feature = "columnar")]
        if is_partial {
            return Err(Error::silent());
        }
        return check_found(&report, arguments);
    }
    let bar = Bar::new();
    let memory = Memory::open(&setting.store)?;
    let report = memory.import(&options, &mut |progress| bar.show(progress));
    bar.finish();
    let mut report = report?;
    let caught_up = catch_up(setting, &memory);
    if let Ok(caught_up) = &caught_up {
        report.problems.extend_from_slice(&caught_up.problems);
    }
    report.problems.extend(memory.upkeep().take_problems()?);
    let typed = (&arguments.paths[..], arguments.agent.as_deref());
    let no_logs = find_no_logs(setting, Some(&memory), report.discovered, typed)?;
    report.problems.extend(no_logs);
    #[cfg(feature = "columnar")]
    let is_partial = add_unpacking_problems(&unpacked, &mut report, arguments);
    print_either(setting, &report, arguments)?;
    if let Some(problem) = caught_up?.model_problem {
        warn(&problem);
    }
    // They have just been shown.
    setting.spool().remove_traces();
    #[cfg(feature = "columnar")]
    if is_partial {
        return Err(Error::silent());
    }
    check_found(&report, arguments)
}

/// Adds to the report what could not be read of HDF5 files; returns whether there is any.
#[cfg(feature = "columnar")]
fn add_unpacking_problems(
    unpacked: &super::columnar::UnpackedFiles,
    report: &mut ImportReport,
    arguments: &SweepArgs,
) -> bool {
    let is_partial = unpacked.has_problems(&report.problems);
    // A warning has named them.
    if arguments.json {
        report.problems.extend_from_slice(&unpacked.problems);
    }
    is_partial
}

/// Returns typed paths that hold no log, of a run that discovered some files.
pub(super) fn find_no_logs(
    setting: &Setting,
    memory: Option<&Memory>,
    discovered: u64,
    (paths, agent): (&[PathBuf], Option<&str>),
) -> Result<Vec<Problem>, Error> {
    // A folder is walked twice only if something else may have what was found.
    if discovered > 0 && paths.len() == 1 {
        return Ok(Vec::new());
    }
    let is_for_sweep = |_path: &&PathBuf| {
        #[cfg(feature = "columnar")]
        return super::columnar::session_files(_path).is_empty();
        #[cfg(not(feature = "columnar"))]
        true
    };
    let mut sources = Sources::paths(paths.iter().filter(is_for_sweep));
    sources.agent = agent.map(str::to_string);
    Ok(sources.paths_without_logs(memory, &setting.store)?)
}

/// Fails when paths were typed and none of them holds a log. The report has said why.
fn check_found(report: &ImportReport, arguments: &SweepArgs) -> Result<(), Error> {
    match arguments.paths.is_empty() || report.discovered > 0 {
        true => Ok(()),
        false => Err(Error::silent()),
    }
}

/// Stores captures that wait in the spool.
pub(crate) fn drain_spool(setting: &Setting, memory: &Memory) -> Result<DrainReport, Error> {
    let redact = setting.config.redact == Redact::On;
    Ok(memory.captures().drain(&setting.spool(), redact)?)
}

/// Works off what hooks and imports left to do, with a progress bar on a terminal while vectors are made.
pub(super) fn catch_up(setting: &Setting, memory: &Memory) -> Result<CatchUpReport, Error> {
    let bar = embedding_bar();
    let report = memory.catch_up(
        &CatchUp {
            spool: &setting.spool(),
            import: &options(setting, &[], None),
            model: setting.config.model.as_deref(),
            now: now(),
        },
        &mut |state| show_embedding(&bar, state),
    );
    bar.finish_and_clear();
    Ok(report?)
}

fn print_either(
    setting: &Setting,
    report: &ImportReport,
    arguments: &SweepArgs,
) -> Result<(), Error> {
    if arguments.json {
        return print_json(report);
    }
    print_report(&setting.store, report, arguments.dry_run)?;
    if report.discovered == 0 && arguments.paths.is_empty() {
        say(
            "`backstory doctor` tells where logs were looked for, `backstory sweep --sample` shows how it looks",
        )?;
    }
    Ok(())
}

/// Options of an import of the paths given, or of all that is configured.
fn options(setting: &Setting, paths: &[PathBuf], agent: Option<&str>) -> ImportOptions {
    setting.import_options(paths, agent)
}

pub(super) fn print_report(
    store: &Path,
    report: &ImportReport,
    dry_run: bool,
) -> Result<(), Error> {
    let mut out = stdout();
    let speed = report.bytes_read as f64 / 1e6 / report.seconds.max(1e-9);
    let verb = if dry_run { "would read" } else { "read" };
    writeln!(
        out,
        "{BOLD}{} found{BOLD:#}: {} {verb}, {} unchanged",
        counted(report.discovered, "log"),
        grouped(report.ingested),
        grouped(report.skipped_unchanged),
    )?;
    for (agent, files, bytes) in &report.agents {
        writeln!(
            out,
            "  {agent:<12} {:>7} {:<5}  {:>9}",
            grouped(*files),
            if *files == 1 { "file" } else { "files" },
            short_bytes(*bytes)
        )?;
    }
    if report.ingested > 0 || report.events > 0 {
        let replayed = match report.replayed {
            0 => String::new(),
            1 => " (1 more was a copy of a known one)".to_string(),
            replayed => format!(" ({} more were copies of known ones)", grouped(replayed)),
        };
        let analyzed = if dry_run {
            String::new()
        } else {
            format!(" in {}", counted(report.analyzed, "session"))
        };
        let events = counted(report.events, "event");
        writeln!(out, "{events}{analyzed}{replayed}")?;
        let taken = short_bytes(report.bytes_read);
        writeln!(out, "{taken} in {:.2} s, {speed:.0} MB/s", report.seconds)?;
    }
    if report.redactions > 0 {
        writeln!(
            out,
            "{} redacted before anything was stored",
            counted(report.redactions, "secret")
        )?;
    }
    if report.skipped_records > 0 {
        let records = counted(report.skipped_records, "record");
        writeln!(
            out,
            "{YELLOW}{records} could not be read{YELLOW:#}; `backstory doctor` lists what and why"
        )?;
    }
    for problem in &report.problems {
        writeln!(
            out,
            "{YELLOW}not read:{YELLOW:#} {}: {}",
            problem.path.display(),
            problem.reason
        )?;
    }
    if report.backfill_bytes_left > 0 {
        writeln!(
            out,
            "{} of stored logs lack details that an older version did not keep; the next sweeps add them",
            short_bytes(report.backfill_bytes_left)
        )?;
    }
    if let Some(problem) = &report.index_problem {
        writeln!(out, "{YELLOW}not indexed:{YELLOW:#} {problem}")?;
    }
    if dry_run {
        writeln!(out, "nothing was written")?;
    } else {
        print_retention(&mut out, &report.retention)?;
        writeln!(
            out,
            "{} takes {}",
            store.display(),
            short_bytes(report.retention.final_usage_bytes)
        )?;
    }
    out.flush()?;
    Ok(())
}

/// The progress bar; it is there only on a terminal, and only when there is something to wait for.
pub(super) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    pub(super) fn new() -> Self {
        let bar =
            progress_bar("{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec}, {eta} left");
        Bar { bar }
    }

    pub(super) fn show(&self, progress: Progress) {
        if progress.waiting {
            self.bar.set_message("waiting for another sweep");
            self.bar.enable_steady_tick(Duration::from_millis(200));
            return;
        }
        if progress.sessions_to_look_at > 0 {
            self.bar.set_message(format!(
                "source files that {}/{} sessions changed",
                progress.sessions_looked_at, progress.sessions_to_look_at
            ));
            return;
        }
        self.bar
            .set_length(progress.bytes_total.max(progress.bytes_read));
        self.bar.set_message(format!(
            "{}/{} files",
            progress.files_read, progress.files_total
        ));
        self.bar.set_position(progress.bytes_read);
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
