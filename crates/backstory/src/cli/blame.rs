//! What can be typed after `blame`.

use clap::Args;

/// Tell which turn of which agent wrote each line of a file, and what was asked in it.
///
/// What agents did to the file is done again from their logs, in the order of time, and compared with the file as it is. Lines
/// that no agent wrote, or that were changed since, have no turn. A file is followed through renames, and through worktrees and
/// clones of its repository. Exits with 1 when no line is by an agent.
#[derive(Debug, Args)]
pub(crate) struct BlameArgs {
    /// The file; `src/main.rs:10` is its tenth line, `src/main.rs:10-20` those up to the twentieth.
    #[arg(value_name = "FILE[:LINE[-LINE]]")]
    pub(crate) file: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
