//! What people can type after `setup` and `teardown`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::agent::hook_agent_or_all;

/// Register Backstory's hooks with coding agents.
///
/// An agent that has them calls Backstory when something happens. Its file is edited in place: comments, order and all that is not
/// ours stay byte for byte. Hooks of another path of this program are replaced. `backstory teardown` gives the file back as it was.
///
/// With --plugin, no file of an agent is edited: a folder is made that agents can install as a plugin, with the same
/// hooks, and with a skill that teaches agents when and how to search. To be rid of it, uninstall it there and delete the folder.
#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// The agents; `all` are those whose folder is there.
    #[arg(required_unless_present = "plugin", value_name = "AGENT", value_parser = hook_agent_or_all())]
    pub(crate) agents: Vec<String>,
    /// Make a plugin in this folder, or bring it up to date.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["agents", "scope"])]
    pub(crate) plugin: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) hooks: HooksArgs,
}

/// Remove Backstory's hooks from coding agents, and nothing else.
#[derive(Debug, Args)]
pub(crate) struct TeardownArgs {
    /// The agents; `all` are those whose folder is there.
    #[arg(required = true, value_name = "AGENT", value_parser = hook_agent_or_all())]
    pub(crate) agents: Vec<String>,
    #[command(flatten)]
    pub(crate) hooks: HooksArgs,
}

#[derive(Debug, Args)]
pub(crate) struct HooksArgs {
    /// In the files of the user, or of the project that you are in.
    #[arg(long, value_enum, default_value_t = Scope::User)]
    pub(crate) scope: Scope,
    /// Show what would change, write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    User,
    Project,
}

impl Scope {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
        }
    }
}
