//! What people can type after `compress`.

use clap::{ArgGroup, Args};

/// Let a model write of what tools did and of sessions, or tell how far that is.
///
/// Backstory makes its own observations without any model and sends nothing anywhere. With `compress.with = "anthropic"` and a key in the
/// configuration, models of Anthropic are shown prompts, tool uses and ended sessions, secrets taken out, and what they write is kept. Only this
/// command and the worker send, never more than `compress.daily_tokens` and `compress.daily_usd` allow for a day (UTC). Sessions that
/// ended before a model was first let write are offered only with --since or --session.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("run").args(["pending", "dry_run"]).multiple(true))]
pub(crate) struct CompressArgs {
    /// Offer all that is pending, newest sessions first, as far as the caps allow.
    #[arg(long)]
    pub(crate) pending: bool,
    /// Only tell what would be sent, and what it would take at most.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// At most so many items; 0 is all.
    #[arg(long, default_value_t = 0, requires = "run")]
    pub(crate) limit: usize,
    /// Only of this session, however old: its id, or the beginning of it.
    #[arg(long, value_name = "SESSION", requires = "run")]
    pub(crate) session: Option<String>,
    /// Of sessions active since: 3d, 2w, 12h, or a date.
    #[arg(
        long,
        value_name = "TIME",
        requires = "run",
        conflicts_with = "session"
    )]
    pub(crate) since: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
