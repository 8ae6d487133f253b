//! Tells agents to call us: registers our hooks in a file of theirs, and removes exactly that.
//!
//! The file is the user's. It is edited as text, so that comments, order and layout stay, and all that was put in can be taken out
//! without a trace. What cannot be read for sure is refused.

mod command;
mod difference;
mod edit;
mod file;
mod hooks;
mod plugin;
mod scan;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use backstory_agents::{Agent, HookAgent, Places};

pub use plugin::{PluginInstall, PluginOutcome, PluginRefused, make_plugin};

use hooks::{Hooks, Without};
use scan::Broken;

use crate::trusted;

/// Where and what to register.
#[derive(Clone, Copy)]
pub struct SetupOptions<'a> {
    /// The agents' own folders.
    pub places: &'a Places<'a>,
    /// The project whose files are meant; without one, those of the user.
    pub project: Option<&'a Path>,
    /// Our program, as a shell reads it.
    pub program: &'a str,
    /// Only tell what would be done.
    pub dry_run: bool,
}

/// What became of the hooks in an agent's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupOutcome {
    /// The agent.
    pub agent: &'static str,
    /// Its file.
    pub file: PathBuf,
    /// What was done.
    pub status: SetupStatus,
    /// The events that are registered now, or no longer.
    pub events: Vec<String>,
    /// Events that were not registered before, of a file that had hooks of ours.
    pub missing: Vec<String>,
    /// Why nothing was done, or what else people must know.
    pub reason: Option<String>,
    /// The lines that change.
    pub difference: String,
}

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupStatus {
    /// Hooks are there now.
    Installed,
    /// Hooks of ours were there, but others.
    Updated,
    /// They were there already.
    Unchanged,
    /// They are gone.
    Removed,
    /// There were none.
    Absent,
    /// The file is not one that can be edited.
    Refused,
    /// The agent needs none.
    Skipped,
}

impl SetupStatus {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            SetupStatus::Installed => "installed",
            SetupStatus::Updated => "updated",
            SetupStatus::Unchanged => "unchanged",
            SetupStatus::Removed => "removed",
            SetupStatus::Absent => "absent",
            SetupStatus::Refused => "refused",
            SetupStatus::Skipped => "skipped",
        }
    }
}

/// Registers our hooks with these agents, in the order of [`HookAgent::all`].
pub fn set_up(agents: &[HookAgent], options: &SetupOptions<'_>) -> Vec<SetupOutcome> {
    let mut outcomes: Vec<SetupOutcome> = Vec::new();
    for agent in in_order(agents) {
        let path = agent
            .registration
            .file_path(options.places, options.project);
        let outcome = match runs_hooks_of(agent, options, &outcomes) {
            Some(other) => {
                let (title, name) = (agent.agent.title, agent.agent.name);
                let mut reason = format!(
                    "{title} runs the hooks of {}, which are set up",
                    other.title
                );
                if is_set_up(agent, &path, options) {
                    reason.push_str(&format!(
                        "; `backstory teardown {name}` removes its own, so that each runs once"
                    ));
                }
                Outcome::without_change(SetupStatus::Skipped, Some(reason))
            }
            None => Outcome::of(install(agent, &path, options)),
        };
        outcomes.push(outcome.told(agent, path));
    }
    outcomes
}

/// Removes our hooks from the files of these agents.
pub fn tear_down(agents: &[HookAgent], options: &SetupOptions<'_>) -> Vec<SetupOutcome> {
    let outcome = |agent: HookAgent| {
        let path = agent
            .registration
            .file_path(options.places, options.project);
        Outcome::of(remove(agent, &path, options)).told(agent, path)
    };
    in_order(agents).map(outcome).collect()
}

fn in_order(agents: &[HookAgent]) -> impl Iterator<Item = HookAgent> {
    let is_asked = |agent: &HookAgent| agents.iter().any(|asked| asked.agent == agent.agent);
    HookAgent::all().filter(is_asked)
}

/// What was done, before it is told of which agent.
struct Outcome {
    status: SetupStatus,
    events: Vec<String>,
    missing: Vec<String>,
    reason: Option<String>,
    difference: String,
}

impl Outcome {
    fn without_change(status: SetupStatus, reason: Option<String>) -> Self {
        Outcome {
            status,
            events: Vec::new(),
            missing: Vec::new(),
            reason,
            difference: String::new(),
        }
    }

    fn of(done: Result<Outcome, String>) -> Self {
        done.unwrap_or_else(|reason| Outcome::without_change(SetupStatus::Refused, Some(reason)))
    }

    fn told(self, agent: HookAgent, file: PathBuf) -> SetupOutcome {
        SetupOutcome {
            agent: agent.agent.name,
            file,
            status: self.status,
            events: self.events,
            missing: self.missing,
            reason: self.reason,
            difference: self.difference,
        }
    }
}

fn install(agent: HookAgent, path: &Path, options: &SetupOptions<'_>) -> Result<Outcome, String> {
    let hooks = hooks_of(agent, options);
    check_project(path, options)?;
    let before = file::read(path)?;
    let folders = file::missing_folders(path);
    let after = hooks
        .install(before.as_deref(), folders)
        .map_err(|broken| told(&broken))?;
    let events = agent.registration.events;
    let events = events.iter().map(ToString::to_string).collect();
    let left = describe_extended(&hooks, before.as_deref().unwrap_or_default(), path);
    if before.as_deref() == Some(&after) {
        return Ok(Outcome {
            events,
            ..Outcome::without_change(SetupStatus::Unchanged, left)
        });
    }
    let before = before.unwrap_or_default();
    let (_, earlier) = hooks.remove(&before).map_err(|broken| told(&broken))?;
    let difference = difference::difference(&before, &after);
    change(path, &Without::Text(after), options)?;
    let (status, missing) = match earlier.is_empty() {
        true => (SetupStatus::Installed, Vec::new()),
        false => (SetupStatus::Updated, hooks.missing_events(&before)),
    };
    Ok(Outcome {
        status,
        events,
        missing,
        reason: join_reasons(agent.registration.note.map(str::to_string), left),
        difference,
    })
}

fn remove(agent: HookAgent, path: &Path, options: &SetupOptions<'_>) -> Result<Outcome, String> {
    check_project(path, options)?;
    let Some(before) = file::read(path)? else {
        return Ok(Outcome::without_change(SetupStatus::Absent, None));
    };
    let hooks = hooks_of(agent, options);
    let (after, events) = hooks.remove(&before).map_err(|broken| told(&broken))?;
    let left = describe_extended(&hooks, &before, path);
    if events.is_empty() {
        return Ok(Outcome::without_change(SetupStatus::Absent, left));
    }
    let difference = match &after {
        Without::Text(text) => difference::difference(&before, text),
        Without::Gone(_) => difference::difference(&before, ""),
    };
    change(path, &after, options)?;
    Ok(Outcome {
        status: SetupStatus::Removed,
        events,
        missing: Vec::new(),
        reason: left,
        difference,
    })
}

/// Names the commands of a file that run our program and something else; `None` when there are none.
fn describe_extended(hooks: &Hooks<'_>, text: &str, path: &Path) -> Option<String> {
    let extended = extended_commands(hooks, text);
    let commands: Vec<String> = extended
        .iter()
        .map(|(event, command)| format!("{event}: `{command}`"))
        .collect();
    let (subject, verb) = match commands.len() {
        0 => return None,
        1 => ("it", "runs"),
        _ => ("they", "run"),
    };
    Some(format!(
        "left {} in {}: {subject} {verb} more than Backstory",
        commands.join(", "),
        path.display()
    ))
}

/// Events and commands that run our program and something else.
fn extended_commands(hooks: &Hooks<'_>, text: &str) -> Vec<(String, String)> {
    let root = scan::scan(text);
    root.map_or_else(|_| Vec::new(), |root| hooks.extended(text, &root))
}

fn join_reasons(one: Option<String>, other: Option<String>) -> Option<String> {
    match (one, other) {
        (Some(one), Some(other)) => Some(format!("{one}; {other}")),
        (one, other) => one.or(other),
    }
}

/// Refuses a file of a project that a link leads out of it: a clone brings links along. Links of the user's own files are followed.
fn check_project(path: &Path, options: &SetupOptions<'_>) -> Result<(), String> {
    let Some(project) = options.project else {
        return Ok(());
    };
    match trusted::resolve_below(project, path) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

fn hooks_of<'a>(agent: HookAgent, options: &SetupOptions<'a>) -> Hooks<'a> {
    Hooks {
        agent,
        program: options.program,
    }
}

fn change(path: &Path, after: &Without, options: &SetupOptions<'_>) -> Result<(), String> {
    if file::is_read_only(path) {
        return Err("it is read-only".to_string());
    }
    if options.dry_run {
        return Ok(());
    }
    file::write(path, after).map_err(|error| match error {
        // The path is told beside it.
        crate::Error::Unwritable { source, .. } => source.to_string(),
        error => error.to_string(),
    })
}

fn told(broken: &Broken) -> String {
    format!("line {}: {}", broken.line, broken.reason)
}

/// The agent whose hooks this one runs as well, if ours are among them now or after what is being done.
fn runs_hooks_of(
    agent: HookAgent,
    options: &SetupOptions<'_>,
    outcomes: &[SetupOutcome],
) -> Option<&'static Agent> {
    let foreign = agent.registration.also_runs?;
    let path = options.places.home.join(foreign.file);
    let is_done =
        |outcome: &SetupOutcome| outcome.file == path && outcome.status != SetupStatus::Refused;
    let is_there = outcomes.iter().any(is_done) || is_set_up(agent, &path, options);
    Agent::find(foreign.agent).filter(|_| is_there)
}

/// Whether there are hooks of ours in a file.
fn is_set_up(agent: HookAgent, path: &Path, options: &SetupOptions<'_>) -> bool {
    let Some(text) = file::read(path).ok().flatten() else {
        return false;
    };
    let hooks = hooks_of(agent, options);
    let removed = hooks.remove(&text);
    removed.is_ok_and(|(_, events)| !events.is_empty())
        || !extended_commands(&hooks, &text).is_empty()
}
