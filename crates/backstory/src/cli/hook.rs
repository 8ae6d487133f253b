//! What people and agents can type after `hook` and `queue`.

use clap::{Args, Subcommand, ValueEnum};

/// Take in what an agent tells of its session; called by agents.
///
/// `backstory setup` registers it. Reads JSON on standard input, stores it and leaves, in some thousandths of a second. Whatever
/// happens, it exits with 0 and prints nothing but what the agent asked for.
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// What happened, in the words of the agent: `PostToolUse`, `BeforeAgent`, `stop`, …
    pub(crate) event: Option<String>,
    /// The agent that calls.
    #[arg(long)]
    pub(crate) agent: Option<String>,
}

/// List what hooks captured, and what is to be done about it.
///
/// Captures are pending until the agent's log tells the same, then they are done. Raw ones are kept as they were captured, for no
/// log tells of them. What failed again and again is left alone until you retry it.
#[derive(Debug, Args)]
pub(crate) struct QueueArgs {
    #[command(subcommand)]
    pub(crate) action: Option<QueueAction>,
    /// Only items in this state.
    #[arg(long, value_enum)]
    pub(crate) state: Option<State>,
    /// At most so many; 0 is all.
    #[arg(long, default_value_t = 20)]
    pub(crate) limit: usize,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum QueueAction {
    /// Let items be tried again: one, or all that failed.
    Retry {
        /// The number of the item.
        id: Option<i64>,
    },
    /// Work off now what is to be done.
    Run,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum State {
    Pending,
    Processing,
    Done,
    Failed,
    Raw,
}

impl From<State> for backstory_memory::capture::ItemState {
    fn from(state: State) -> Self {
        match state {
            State::Pending => Self::Pending,
            State::Processing => Self::Processing,
            State::Done => Self::Done,
            State::Failed => Self::Failed,
            State::Raw => Self::Raw,
        }
    }
}
