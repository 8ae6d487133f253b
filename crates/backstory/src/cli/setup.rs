//! What people can type after `setup` and `teardown`.

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

/// Register Backstory's hooks with coding agents.
///
/// An agent that has them calls Backstory when something happens. Its file is edited in place: comments, order and all that is not
/// ours stay byte for byte. Hooks of another path of this program are replaced. `backstory teardown` gives the file back as it was.
#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    #[command(flatten)]
    pub(crate) hooks: HooksArgs,
}

/// Remove Backstory's hooks from coding agents, and nothing else.
#[derive(Debug, Args)]
pub(crate) struct TeardownArgs {
    #[command(flatten)]
    pub(crate) hooks: HooksArgs,
}

#[derive(Debug, Args)]
pub(crate) struct HooksArgs {
    /// The agents; `all` are those whose folder is there.
    #[arg(required = true, value_name = "AGENT", value_parser = agents())]
    pub(crate) agents: Vec<String>,
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

/// What stands for all agents.
pub(crate) const ALL: &str = "all";

fn agents() -> PossibleValuesParser {
    let names = backstory_memory::HOOK_AGENTS.iter().map(|agent| agent.name);
    PossibleValuesParser::new(names.chain([ALL]))
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
