//! What people can type after `context`.

use std::path::PathBuf;

use clap::Args;

use super::agent::hook_agent;

/// Tell what a new session in this project would be told.
///
/// The last sessions, the files that they changed with their functions, and what was done on this branch and to the files that are
/// being changed: whole items within a budget, each with the turn that it is from. Agents whose hooks are set up get it when a session
/// starts. Nothing that only tools or the web said is in it.
#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    /// Another project than the one that you are in: its folder, or the name of one whose sessions are stored.
    #[arg(long)]
    pub(crate) project: Option<PathBuf>,
    /// At most so many tokens, instead of what the configuration says (2000).
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    /// For this agent, which may allow more or less.
    #[arg(long, value_parser = hook_agent())]
    pub(crate) agent: Option<String>,
    /// Tell what is known about this, too.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Tell who calls the functions that were changed, too.
    #[arg(long)]
    pub(crate) calls: bool,
    /// As it was before this session began, which is left out.
    #[arg(long, value_name = "SESSION")]
    pub(crate) before: Option<String>,
    /// Say of each item why it is there, and of each layer what was left out and why.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
