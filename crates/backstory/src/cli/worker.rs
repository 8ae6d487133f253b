//! What people can type after `worker`.

use clap::{Args, Subcommand};

/// Start or stop the process that keeps memory warm.
///
/// It answers searches at once, takes in what hooks tell, sweeps as often as the key `cadence` of the configuration says, and
/// leaves after half an hour without anything to do. There is one for each store, reached by a Unix socket that is yours alone.
/// All works without it, only slower.
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    #[command(subcommand)]
    pub(crate) action: WorkerAction,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum WorkerAction {
    /// Start it; an older version finishes what it has in hand and leaves.
    Start {
        /// In the background; returns once it answers.
        #[arg(long)]
        daemon: bool,
        /// As the process that was put into the background.
        #[arg(long, hide = true, conflicts_with = "daemon")]
        detached: bool,
        /// Leave after so many seconds without anything to do.
        #[arg(long, hide = true, default_value_t = 1800, conflicts_with = "daemon")]
        idle_seconds: u64,
    },
    /// Do what it found to do, as long as it is there.
    #[command(hide = true)]
    Round {
        /// Only what hooks left to do.
        #[arg(long)]
        queue: bool,
    },
    /// Let it finish what it has in hand and leave.
    Stop,
    /// Tell whether it runs; exits with 1 when it does not.
    Status,
}
