//! `setup` and `teardown`.

mod plugin;

use std::io::Write;
use std::path::Path;

use backstory_memory::HookAgent;
use backstory_memory::code::repository_around;
use backstory_memory::setup::{SetupOptions, SetupOutcome, SetupStatus, set_up, tear_down};
use serde_json::{Value, json};

use crate::cli::{ALL, HooksArgs, Scope, SetupArgs, TeardownArgs};
use crate::error::Error;
use crate::output::{BOLD, DIM, GREEN, RED, harmless, one_line, print_json, stdout, talk};
use crate::setting::Setting;
use crate::shell;

pub(crate) fn set_up_hooks(setting: &Setting, arguments: &SetupArgs) -> Result<(), Error> {
    match &arguments.plugin {
        Some(folder) => plugin::make(setting, folder, &arguments.hooks),
        None => run(setting, &arguments.agents, &arguments.hooks, set_up),
    }
}

pub(crate) fn tear_down_hooks(setting: &Setting, arguments: &TeardownArgs) -> Result<(), Error> {
    run(setting, &arguments.agents, &arguments.hooks, tear_down)
}

fn run(
    setting: &Setting,
    asked: &[String],
    arguments: &HooksArgs,
    work: fn(&[HookAgent], &SetupOptions<'_>) -> Vec<SetupOutcome>,
) -> Result<(), Error> {
    let program = shell::own_path()?;
    shell::check_writable(&program, "the files of agents")?;
    let project = match arguments.scope {
        Scope::User => None,
        Scope::Project => Some(repository_around(&std::env::current_dir()?).to_path_buf()),
    };
    let places = setting.places();
    let options = SetupOptions {
        places: &places,
        project: project.as_deref(),
        program: &shell::quoted(&program),
        dry_run: arguments.dry_run,
    };
    let outcomes = work(&agents(setting, asked, project.as_deref()), &options);
    if arguments.json {
        let agents: Vec<Value> = outcomes
            .iter()
            .map(|outcome| outcome_json(outcome, arguments.scope))
            .collect();
        print_json(&json!({ "agents": agents }))?;
    } else {
        print(&outcomes, arguments.dry_run)?;
    }
    let is_refused = |outcome: &&SetupOutcome| outcome.status == SetupStatus::Refused;
    let refused: Vec<&SetupOutcome> = outcomes.iter().filter(is_refused).collect();
    if refused.is_empty() {
        return Ok(());
    }
    let files: Vec<String> = refused
        .iter()
        .map(|outcome| {
            let reason = outcome.reason.as_deref().unwrap_or_default();
            format!("{} cannot be edited: {reason}", outcome.file.display())
        })
        .collect();
    let error = Error::usage(one_line(&files.join("; ")));
    Err(if refused.len() < outcomes.len() {
        error.hint("nothing was changed there; the other agents are done")
    } else {
        error.hint("nothing was changed")
    })
}

/// The agents that were asked for.
fn agents(setting: &Setting, asked: &[String], project: Option<&Path>) -> Vec<HookAgent> {
    let places = setting.places();
    let is_here = |agent: &HookAgent| {
        let registration = agent.registration;
        registration.folder_path(&places).is_dir()
            || registration.file_path(&places, project).exists()
    };
    let is_asked = |agent: &HookAgent| {
        let is_named = |name: &String| name == agent.agent.name || (name == ALL && is_here(agent));
        asked.iter().any(is_named)
    };
    HookAgent::all().filter(is_asked).collect()
}

fn outcome_json(outcome: &SetupOutcome, scope: Scope) -> Value {
    json!({
        "agent": outcome.agent,
        "file": outcome.file,
        "scope": scope.name(),
        "status": outcome.status.name(),
        "events": outcome.events,
        "reason": outcome.reason,
    })
}

fn print(outcomes: &[SetupOutcome], dry_run: bool) -> Result<(), Error> {
    if outcomes.is_empty() {
        talk("no folder of an agent is here; name the agents that you use");
    }
    let mut out = stdout();
    for outcome in outcomes {
        let is_change = matches!(
            outcome.status,
            SetupStatus::Installed | SetupStatus::Updated | SetupStatus::Removed
        );
        writeln!(
            out,
            "{BOLD}{}{BOLD:#}: {}{} {DIM}{}{DIM:#}",
            outcome.agent,
            if is_change && dry_run {
                "would be "
            } else {
                ""
            },
            outcome.status.name(),
            one_line(&outcome.file.to_string_lossy()),
        )?;
        if dry_run {
            for line in harmless(&outcome.difference).lines() {
                match line.chars().next() {
                    Some('+') => writeln!(out, "{GREEN}{line}{GREEN:#}")?,
                    Some('-') => writeln!(out, "{RED}{line}{RED:#}")?,
                    _ => writeln!(out, "{line}")?,
                }
            }
        } else if is_change {
            writeln!(out, "  {}", one_line(&outcome.events.join(", ")))?;
        }
        // Why one is refused is told at the end, as an error.
        let reason = outcome
            .reason
            .as_deref()
            .filter(|_| outcome.status != SetupStatus::Refused);
        if let Some(reason) = reason {
            writeln!(out, "  {}", one_line(reason))?;
        }
    }
    out.flush()?;
    Ok(())
}
