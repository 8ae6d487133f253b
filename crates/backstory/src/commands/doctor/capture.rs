//! How live capture fares: which agents call us, when they last did, and what is left to do.

use std::io::Write;

use backstory_memory::capture::ItemState;
use backstory_memory::examine::{Examination, HookStatus};
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::output::{BOLD, DIM, YELLOW, counted, grouped, local_time, rfc3339};
use crate::setting::Setting;

/// Process and version of a worker.
pub(super) type WorkerProcess = (i32, String);

/// Returns how live capture fares.
pub(super) fn capture_json(found: &Examination, worker: Option<&WorkerProcess>) -> Value {
    let agents = found.hooks.iter().map(|hooks| {
            let runs = hooks.runs.iter().map(|run| {
                json!({"event": run.event, "last_ran_at": rfc3339(Some(run.last_at)), "count": run.count})
            });
            json!({
                "agent": hooks.agent,
                "status": hooks.status.name(),
                "file": hooks.file.display().to_string(),
                "missing": hooks.missing,
                "problem": hooks.problem,
                "last_ran_at": rfc3339(hooks.last_ran_at()),
                "runs": runs.collect::<Vec<_>>(),
            })
        });
    let items: Option<Map<String, Value>> = found.items.map(|items| {
        let counts = ItemState::ALL.iter().zip(items);
        counts
            .map(|(state, count)| (state.name().to_string(), count.into()))
            .collect()
    });
    json!({
        "agents": agents.collect::<Vec<_>>(),
        "queue": items,
        "spooled": found.spooled,
        "refused": found.refused,
        "worker": worker.map(|(pid, version)| json!({"pid": pid, "version": version})),
    })
}

/// Prints how live capture fares.
pub(super) fn print_capture(
    out: &mut dyn Write,
    found: &Examination,
    worker: Option<&WorkerProcess>,
) -> Result<(), Error> {
    writeln!(out, "{BOLD}Live capture{BOLD:#}")?;
    for hooks in &found.hooks {
        let status = match hooks.status {
            HookStatus::SetUp => "set up".to_string(),
            HookStatus::Outdated if !hooks.missing.is_empty() => format!(
                "{YELLOW}incomplete: {} not registered{YELLOW:#}; `backstory setup {}` completes it",
                hooks.missing.join(", "),
                hooks.agent
            ),
            HookStatus::Outdated => format!(
                "{YELLOW}set up for another program{YELLOW:#}; `backstory setup {}` renews it",
                hooks.agent
            ),
            HookStatus::Shared(other) => format!("runs the hooks of {other}"),
            HookStatus::Absent => format!("{DIM}not set up{DIM:#}"),
            HookStatus::Unreadable => {
                format!("{YELLOW}{} cannot be read{YELLOW:#}", hooks.file.display())
            }
        };
        writeln!(out, "  {:<12} {status}", hooks.agent)?;
        for run in &hooks.runs {
            let event = run.event.as_deref().unwrap_or("-");
            let (count, at) = (counted(run.count, "time"), local_time(Some(run.last_at)));
            writeln!(out, "    {event:<18} last ran {at}, {count}")?;
        }
    }
    if let Some(items) = found.items {
        let counts = ItemState::ALL.iter().zip(items);
        let counts: Vec<String> = counts
            .map(|(state, count)| format!("{} {}", grouped(count), state.name()))
            .collect();
        writeln!(out, "  queue: {}", counts.join(", "))?;
    }
    if found.spooled > 0 {
        let verb = if found.spooled == 1 { "waits" } else { "wait" };
        let spooled = counted(found.spooled as u64, "capture");
        writeln!(out, "  {spooled} {verb} for the next hook or sweep")?;
    }
    match worker {
        Some((pid, version)) => writeln!(out, "  worker: process {pid}, version {version}")?,
        None => writeln!(
            out,
            "  {DIM}no worker is running; one starts when needed{DIM:#}"
        )?,
    }
    Ok(())
}

/// Returns the worker, if there is one.
#[cfg(unix)]
pub(super) fn worker(setting: &Setting) -> Result<Option<WorkerProcess>, Error> {
    if !setting.store.exists() {
        return Ok(None);
    }
    let running = crate::worker::state(setting)?.and_then(|running| running.info);
    Ok(running.map(|info| (info.pid, info.version)))
}

#[cfg(not(unix))]
pub(super) fn worker(_setting: &Setting) -> Result<Option<WorkerProcess>, Error> {
    Ok(None)
}
