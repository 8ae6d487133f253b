//! What people can type after `schedule`.

use clap::{Args, Subcommand};

/// Let the system sweep every so often.
///
/// A launchd agent, a systemd timer of the user or a line of cron runs `backstory sweep` with low priority, whichever the system
/// has. How often is the key `cadence` of the configuration; install again after changing it. A systemd timer runs while you are
/// logged in, or always after `loginctl enable-linger`.
#[derive(Debug, Args)]
pub(crate) struct ScheduleArgs {
    #[command(subcommand)]
    pub(crate) action: ScheduleAction,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum ScheduleAction {
    /// Install the schedule, or bring it up to date.
    Install,
    /// Take away what install made, and nothing else.
    Remove,
    /// Tell what is installed, and whether it is what the configuration says.
    Status,
}
