//! Hooks in the agents' files, and when they last ran.

use std::path::PathBuf;

use backstory_agents::{Agent, HookAgent};
use backstory_event::TimeMs;
use backstory_store::LoggedRun;

use super::Finding;
use crate::event_log::EventType;
use crate::setup::{SetupOptions, SetupOutcome, SetupStatus, set_up};

/// Hooks of an agent.
#[derive(Debug)]
pub struct AgentHooks {
    /// The agent.
    pub agent: &'static str,
    /// State of its file.
    pub status: HookStatus,
    /// The file.
    pub file: PathBuf,
    /// Events that are not registered, of hooks that are.
    pub missing: Vec<String>,
    /// Reason why its file cannot be read.
    pub problem: Option<String>,
    /// Events that hooks captured.
    pub runs: Vec<LoggedRun>,
}

/// State of the hooks in an agent's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookStatus {
    /// They are registered.
    SetUp,
    /// They call another program than this one, or not for all events.
    Outdated,
    /// The agent runs those of another one, of this title.
    Shared(&'static str),
    /// There are none.
    Absent,
    /// The file cannot be read.
    Unreadable,
}

impl HookStatus {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            HookStatus::SetUp => "set_up",
            HookStatus::Outdated => "outdated",
            HookStatus::Shared(_) => "shared",
            HookStatus::Absent => "absent",
            HookStatus::Unreadable => "unreadable",
        }
    }
}

impl AgentHooks {
    /// Returns the time at which a hook of the agent last ran.
    pub fn last_ran_at(&self) -> Option<TimeMs> {
        self.runs.iter().map(|run| run.last_at).max()
    }

    /// Returns what is wrong with them.
    pub(super) fn finding(&self) -> Option<Finding> {
        let reason = self.problem.clone()?;
        Some(Finding::UnreadableHooks {
            agent: self.agent,
            file: self.file.clone(),
            reason,
        })
    }
}

impl From<SetupOutcome> for AgentHooks {
    /// Makes them of what a dry run of `setup` would change: nothing, where they are registered.
    fn from(outcome: SetupOutcome) -> Self {
        let other = |name: &str| {
            let foreign = Agent::find(name)?.hooks?.registration().also_runs?;
            Some(Agent::find(foreign.agent)?.title)
        };
        let is_refused = outcome.status == SetupStatus::Refused;
        AgentHooks {
            agent: outcome.agent,
            status: match outcome.status {
                SetupStatus::Unchanged => HookStatus::SetUp,
                SetupStatus::Updated => HookStatus::Outdated,
                SetupStatus::Skipped => {
                    HookStatus::Shared(other(outcome.agent).unwrap_or_default())
                }
                SetupStatus::Refused => HookStatus::Unreadable,
                SetupStatus::Installed | SetupStatus::Removed | SetupStatus::Absent => {
                    HookStatus::Absent
                }
            },
            file: outcome.file,
            missing: outcome.missing,
            problem: outcome.reason.filter(|_| is_refused),
            runs: Vec::new(),
        }
    }
}

/// Returns the hooks of all agents.
pub(super) fn agent_hooks(options: &SetupOptions<'_>) -> Vec<AgentHooks> {
    let agents: Vec<HookAgent> = HookAgent::all().collect();
    let outcomes = set_up(&agents, options).into_iter();
    outcomes.map(AgentHooks::from).collect()
}

/// Adds the events that hooks captured to their agents.
pub(super) fn add_runs(hooks: &mut [AgentHooks], runs: Vec<LoggedRun>) {
    let is_capture = |run: &LoggedRun| run.event_type == EventType::HookCapture.name();
    for run in runs.into_iter().filter(is_capture) {
        let agent = run.agent.as_deref();
        if let Some(hooks) = hooks.iter_mut().find(|hooks| agent == Some(hooks.agent)) {
            hooks.runs.push(run);
        }
    }
}
