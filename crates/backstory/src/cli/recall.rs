//! What can be typed about earlier errors and commands.

use clap::Args;

/// Show what fixed an error in earlier sessions, and what did not.
///
/// Compares the lines of TEXT with errors of commands in all sessions. Paths, numbers and quoted names may differ.
#[derive(Debug, Args)]
pub(crate) struct FixArgs {
    /// The error: its words, the whole output of a command, or `-` to read it from standard input.
    #[arg(value_name = "TEXT", default_value = "-")]
    pub(crate) text: Vec<String>,
    /// Only in this project: a folder (`.` is the one you are in) or a repository's name.
    #[arg(long)]
    pub(crate) project: Option<String>,
    /// Maximum number of results (0 = no limit).
    #[arg(long, short = 'n', default_value_t = 5)]
    pub(crate) limit: usize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show commands that worked in earlier sessions, those of most sessions first.
#[derive(Debug, Args)]
pub(crate) struct HowArgs {
    /// Words that the command has, in any order: `how docker build`.
    #[arg(value_name = "WORDS", required = true)]
    pub(crate) words: Vec<String>,
    /// Only in this project: a folder (`.` is the one you are in) or a repository's name.
    #[arg(long)]
    pub(crate) project: Option<String>,
    /// Maximum number of results (0 = no limit).
    #[arg(long, short = 'n', default_value_t = 10)]
    pub(crate) limit: usize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
