//! `schedule`: the system's own scheduler runs sweeps, so that nothing of ours stays running.

mod call;
mod cron;
mod job;
mod launchd;
mod systemd;

use std::io::Write;
use std::path::PathBuf;

use backstory_event::TimeMs;
use serde_json::json;

use crate::cli::{ScheduleAction, ScheduleArgs};
use crate::error::{Error, ErrorKind};
use crate::output::{local_time, print_json, rfc3339, stdout, talk, warn};
use crate::setting::Setting;
use job::Job;

/// A scheduler that a system may have.
trait Scheduler {
    fn name(&self) -> &'static str;
    /// Whether it is here and answers.
    fn is_there(&self) -> bool;
    /// What is installed, compared with what should be.
    fn find(&self, job: &Job) -> Result<Option<Installed>, Error>;
    /// Installs the job, or brings the one that is there up to date.
    fn install(&self, job: &Job) -> Result<(), Error>;
    /// Takes away what [`Scheduler::install`] made; false when there was nothing.
    fn remove(&self) -> Result<bool, Error>;
}

/// What a scheduler has of ours.
struct Installed {
    /// How often it runs, as far as that can be read.
    cadence: Option<String>,
    /// What it runs, quoted as the scheduler wants it.
    command: Option<String>,
    /// Whether it is what the configuration asks for.
    up_to_date: bool,
    /// Whether the scheduler will run it.
    active: bool,
    files: Vec<PathBuf>,
    last_run: Option<TimeMs>,
    next_run: Option<TimeMs>,
}

pub(super) fn run(setting: &Setting, arguments: &ScheduleArgs) -> Result<(), Error> {
    let job = Job::new(setting)?;
    let schedulers: [Box<dyn Scheduler>; 3] = [
        Box::new(launchd::Launchd::new(setting)),
        Box::new(systemd::Systemd::new(setting)),
        Box::new(cron::Cron),
    ];
    match arguments.action {
        ScheduleAction::Install => install(&schedulers, &job)?,
        ScheduleAction::Remove => remove(&schedulers)?,
        ScheduleAction::Status => return status(&schedulers, &job, arguments.json),
    }
    if arguments.json {
        return status(&schedulers, &job, true);
    }
    Ok(())
}

fn install(schedulers: &[Box<dyn Scheduler>], job: &Job) -> Result<(), Error> {
    let chosen = choose(schedulers).ok_or_else(|| {
        Error::new(ErrorKind::NotFound, "no scheduler was found: neither launchd, nor systemd for users, nor cron")
            .hint("install cron, or let something else run `backstory sweep`; `backstory watch` sweeps as long as it runs")
    })?;
    let before = chosen.find(job)?;
    // One that was installed while another scheduler answered would run beside the new one.
    for other in schedulers
        .iter()
        .filter(|other| other.name() != chosen.name())
    {
        match other.remove() {
            Ok(true) => talk(&format!("removed the schedule of {}", other.name())),
            Ok(false) => {}
            // Whoever may not use cron can still have a timer.
            Err(error) => warn(error.message()),
        }
    }
    if before
        .as_ref()
        .is_some_and(|before| before.up_to_date && before.active)
    {
        talk(&format!(
            "{} already sweeps every {}: nothing changed",
            chosen.name(),
            job.cadence
        ));
        return Ok(());
    }
    if let Err(error) = chosen.install(job) {
        if before.is_none() {
            // Half an installation helps nobody; what went wrong is told either way.
            let _ = chosen.remove();
        }
        return Err(error);
    }
    let after = chosen.find(job)?.and_then(|after| after.cadence);
    let after = after.unwrap_or_else(|| job.cadence.to_string());
    let name = chosen.name();
    talk(
        &match before.map(|before| before.cadence.unwrap_or_default()) {
            None => format!("{name} sweeps every {after} from now on"),
            Some(before) if before == after => {
                format!("{name} still sweeps every {after}; the rest was brought up to date")
            }
            Some(before) => {
                format!("{name} sweeps every {after} from now on, no longer every {before}")
            }
        },
    );
    if after != job.cadence.to_string() {
        talk(&format!(
            "{name} cannot do every {}; this is the nearest that is no rarer",
            job.cadence
        ));
    }
    Ok(())
}

fn remove(schedulers: &[Box<dyn Scheduler>]) -> Result<(), Error> {
    let (mut removed, mut refused) = (false, None);
    for scheduler in schedulers {
        match scheduler.remove() {
            Ok(true) => {
                talk(&format!("removed the schedule of {}", scheduler.name()));
                removed = true;
            }
            Ok(false) => {}
            Err(error) => refused = Some(error),
        }
    }
    match refused {
        // It may have the schedule that was to be removed.
        Some(error) if !removed => return Err(error),
        Some(error) => warn(error.message()),
        None if !removed => talk("no schedule is installed"),
        None => {}
    }
    Ok(())
}

fn status(schedulers: &[Box<dyn Scheduler>], job: &Job, json: bool) -> Result<(), Error> {
    let chosen = choose(schedulers).map(Scheduler::name);
    let mut found = None;
    for scheduler in schedulers {
        match scheduler.find(job) {
            Ok(Some(installed)) => {
                found = Some((scheduler.name(), installed));
                break;
            }
            Err(error) if chosen == Some(scheduler.name()) => return Err(error),
            Ok(None) | Err(_) => {}
        }
    }
    let system = found.as_ref().map(|(name, _)| *name).or(chosen);
    let installed = found.map(|(_, installed)| installed);
    if json {
        let installed = installed.as_ref();
        return print_json(&json!({
            "system": system,
            "installed": installed.is_some(),
            "active": installed.is_some_and(|installed| installed.active),
            "up_to_date": installed.is_some_and(|installed| installed.up_to_date),
            "cadence": installed.and_then(|installed| installed.cadence.clone()),
            "command": installed.and_then(|installed| installed.command.clone()),
            "configured": { "cadence": job.cadence.to_string(), "command": job.command_line() },
            "files": installed.map(|installed| installed.files.clone()).unwrap_or_default(),
            "last_run": rfc3339(installed.and_then(|installed| installed.last_run)),
            "next_run": rfc3339(installed.and_then(|installed| installed.next_run)),
        }));
    }
    let mut out = stdout();
    match (system, &installed) {
        (None, _) => writeln!(out, "not installed, and no scheduler was found")?,
        (Some(system), None) => {
            writeln!(
                out,
                "not installed; `backstory schedule install` lets {system} sweep every {}",
                job.cadence
            )?;
        }
        (Some(system), Some(installed)) => print_installed(&mut out, system, installed, job)?,
    }
    out.flush()?;
    Ok(())
}

fn print_installed(
    out: &mut impl Write,
    system: &str,
    installed: &Installed,
    job: &Job,
) -> Result<(), Error> {
    let cadence = installed.cadence.as_deref().unwrap_or("?");
    writeln!(out, "{system} sweeps every {cadence}")?;
    writeln!(
        out,
        "command: {}",
        installed.command.as_deref().unwrap_or("?")
    )?;
    for file in &installed.files {
        writeln!(out, "file: {}", file.display())?;
    }
    for (when, at) in [
        ("last run", installed.last_run),
        ("next run", installed.next_run),
    ] {
        if at.is_some() {
            writeln!(out, "{when}: {}", local_time(at))?;
        }
    }
    if !installed.active {
        writeln!(
            out,
            "{system} does not run it; `backstory schedule install` starts it again"
        )?;
    }
    if !installed.up_to_date {
        writeln!(
            out,
            "differs from the configuration: every {}, {}",
            job.cadence,
            job.command_line()
        )?;
        writeln!(out, "`backstory schedule install` brings it up to date")?;
    }
    Ok(())
}

fn choose(schedulers: &[Box<dyn Scheduler>]) -> Option<&dyn Scheduler> {
    let there = schedulers.iter().find(|scheduler| scheduler.is_there());
    there.map(AsRef::as_ref)
}
