//! How live capture fares: which agents call us, when they last did, and what is left to do.

use std::io::Write;

use backstory_event::TimeMs;
use backstory_memory::{
    Agent, EventType, HookAgent, ItemState, LoggedRun, Memory, Problem, SetupOptions, SetupStatus,
    set_up,
};
use serde_json::{Map, Value, json};

use super::file_remedy;
use crate::error::Error;
use crate::output::{BOLD, DIM, YELLOW, counted, grouped, local_time, rfc3339};
use crate::setting::Setting;
use crate::shell;

/// How live capture fares.
#[derive(Default)]
pub(super) struct Capturing {
    agents: Vec<AgentHooks>,
    /// Items in each state, in the order of [`ItemState::ALL`].
    items: Option<[u64; 5]>,
    /// Captures that wait outside of the database.
    spooled: usize,
    /// Spools, captures and logs that are not trusted, and captures that could not be written or read.
    refused: Vec<Problem>,
    /// The process and version of the worker, if there is one.
    worker: Option<(i32, String)>,
}

/// The hooks of one agent.
struct AgentHooks {
    agent: &'static str,
    status: Status,
    file: String,
    /// Events that are not registered, of hooks that are.
    missing: Vec<String>,
    /// Why its file cannot be read.
    problem: Option<String>,
    runs: Vec<LoggedRun>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    SetUp,
    /// They call another program than this one, or not for all events.
    Outdated,
    /// It runs those of another agent, which is called so.
    Shared(&'static str),
    Absent,
    /// Its file cannot be read.
    Unreadable,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Status::SetUp => "set_up",
            Status::Outdated => "outdated",
            Status::Shared(_) => "shared",
            Status::Absent => "absent",
            Status::Unreadable => "unreadable",
        }
    }
}

impl Capturing {
    /// Looks at everything; what is wrong is said in `wrong`.
    pub(super) fn look(
        setting: &Setting,
        memory: Option<&Memory>,
        wrong: &mut Vec<String>,
    ) -> Result<Self, Error> {
        let mut found = Capturing {
            agents: hooks(setting)?,
            spooled: setting.spool().len(),
            worker: worker(setting)?,
            ..Capturing::default()
        };
        if let Some(memory) = memory {
            for run in memory.upkeep().logged_runs()? {
                let agent = found
                    .agents
                    .iter_mut()
                    .find(|hooks| run.agent.as_deref() == Some(hooks.agent));
                if let Some(agent) =
                    agent.filter(|_| run.event_type == EventType::HookCapture.name())
                {
                    agent.runs.push(run);
                }
            }
            found.items = Some(memory.captures().item_counts()?);
            found.refused = memory.captures().refused_logs()?;
        }
        for hooks in &found.agents {
            if let Some(problem) = &hooks.problem {
                let remedy = file_remedy(problem, &hooks.file, "mend the file by hand");
                let (agent, file) = (hooks.agent, &hooks.file);
                wrong.push(format!(
                    "{file}, which has the hooks of {agent}, cannot be read: {problem}; {remedy}"
                ));
            }
        }
        found.refused.extend(setting.spool().problems());
        for problem in &found.refused {
            let path = problem.path.display();
            wrong.push(format!("{path}: {}", problem.reason));
        }
        let failed = found
            .items
            .map_or(0, |items| items[ItemState::Failed as usize]);
        if failed > 0 {
            wrong.push(format!(
                "{} that hooks left to do failed; `backstory queue --state failed` tells why",
                counted(failed, "item")
            ));
        }
        Ok(found)
    }

    pub(super) fn json(&self) -> Value {
        let agents = self.agents.iter().map(|hooks| {
            let runs = hooks.runs.iter().map(|run| {
                json!({"event": run.event, "last_ran_at": rfc3339(Some(run.last_at)), "count": run.count})
            });
            json!({
                "agent": hooks.agent,
                "status": hooks.status.name(),
                "file": hooks.file,
                "missing": hooks.missing,
                "problem": hooks.problem,
                "last_ran_at": rfc3339(hooks.last_ran_at()),
                "runs": runs.collect::<Vec<_>>(),
            })
        });
        let items: Option<Map<String, Value>> = self.items.map(|items| {
            let counts = ItemState::ALL.iter().zip(items);
            counts
                .map(|(state, count)| (state.name().to_string(), count.into()))
                .collect()
        });
        json!({
            "agents": agents.collect::<Vec<_>>(),
            "queue": items,
            "spooled": self.spooled,
            "refused": self.refused,
            "worker": self.worker.as_ref().map(|(pid, version)| json!({"pid": pid, "version": version})),
        })
    }

    pub(super) fn print(&self, out: &mut dyn Write) -> Result<(), Error> {
        writeln!(out, "{BOLD}Live capture{BOLD:#}")?;
        for hooks in &self.agents {
            let status = match hooks.status {
                Status::SetUp => "set up".to_string(),
                Status::Outdated if !hooks.missing.is_empty() => format!(
                    "{YELLOW}incomplete: {} not registered{YELLOW:#}; `backstory setup {}` completes it",
                    hooks.missing.join(", "),
                    hooks.agent
                ),
                Status::Outdated => format!(
                    "{YELLOW}set up for another program{YELLOW:#}; `backstory setup {}` renews it",
                    hooks.agent
                ),
                Status::Shared(other) => format!("runs the hooks of {other}"),
                Status::Absent => format!("{DIM}not set up{DIM:#}"),
                Status::Unreadable => format!("{YELLOW}{} cannot be read{YELLOW:#}", hooks.file),
            };
            writeln!(out, "  {:<12} {status}", hooks.agent)?;
            for run in &hooks.runs {
                let event = run.event.as_deref().unwrap_or("-");
                let (count, at) = (counted(run.count, "time"), local_time(Some(run.last_at)));
                writeln!(out, "    {event:<18} last ran {at}, {count}")?;
            }
        }
        if let Some(items) = self.items {
            let counts = ItemState::ALL.iter().zip(items);
            let counts: Vec<String> = counts
                .map(|(state, count)| format!("{} {}", grouped(count), state.name()))
                .collect();
            writeln!(out, "  queue: {}", counts.join(", "))?;
        }
        if self.spooled > 0 {
            let verb = if self.spooled == 1 { "waits" } else { "wait" };
            let spooled = counted(self.spooled as u64, "capture");
            writeln!(out, "  {spooled} {verb} for the next hook or sweep")?;
        }
        match &self.worker {
            Some((pid, version)) => writeln!(out, "  worker: process {pid}, version {version}")?,
            None => writeln!(
                out,
                "  {DIM}no worker is running; one starts when needed{DIM:#}"
            )?,
        }
        Ok(())
    }
}

impl AgentHooks {
    fn last_ran_at(&self) -> Option<TimeMs> {
        self.runs.iter().map(|run| run.last_at).max()
    }
}

/// Which agents call us: those whose files `setup` would leave as they are.
fn hooks(setting: &Setting) -> Result<Vec<AgentHooks>, Error> {
    let places = setting.places();
    let options = SetupOptions {
        places: &places,
        project: None,
        program: &shell::quoted(&shell::own_path()?),
        dry_run: true,
    };
    let agents: Vec<HookAgent> = HookAgent::all().collect();
    let outcomes = set_up(&agents, &options).into_iter();
    let other = |name: &str| {
        let foreign = Agent::find(name)?.hooks?.registration().also_runs?;
        Some(Agent::find(foreign.agent)?.title)
    };
    Ok(outcomes
        .map(|outcome| AgentHooks {
            agent: outcome.agent,
            status: match outcome.status {
                SetupStatus::Unchanged => Status::SetUp,
                SetupStatus::Updated => Status::Outdated,
                SetupStatus::Skipped => Status::Shared(other(outcome.agent).unwrap_or_default()),
                SetupStatus::Refused => Status::Unreadable,
                SetupStatus::Installed | SetupStatus::Removed | SetupStatus::Absent => {
                    Status::Absent
                }
            },
            file: outcome.file.display().to_string(),
            missing: outcome.missing,
            problem: outcome
                .reason
                .filter(|_| outcome.status == SetupStatus::Refused),
            runs: Vec::new(),
        })
        .collect())
}

#[cfg(unix)]
fn worker(setting: &Setting) -> Result<Option<(i32, String)>, Error> {
    if !setting.store.exists() {
        return Ok(None);
    }
    let running = crate::worker::state(setting)?.and_then(|running| running.info);
    Ok(running.map(|info| (info.pid, info.version)))
}

#[cfg(not(unix))]
fn worker(_setting: &Setting) -> Result<Option<(i32, String)>, Error> {
    Ok(None)
}
