//! What people can type after `observations`.

use clap::{Args, ValueEnum};

/// Show the prompts of a session and what its tools changed or showed, in brief.
///
/// Each prompt and tool use has three sizes: a title of about ten tokens, a summary of about fifty, a detail of about two hundred. They
/// stay when the text of the session is evicted.
#[derive(Debug, Args)]
pub(crate) struct ObservationsArgs {
    /// The session's id or the beginning of it, and the turn: SESSION or SESSION#TURN.
    #[arg(value_name = "SESSION[#TURN]")]
    pub(crate) session: String,
    /// How much of each is told.
    #[arg(long, value_enum, default_value_t = Size::Summary)]
    pub(crate) size: Size,
    /// Only those that touched a file whose path ends with this.
    #[arg(long)]
    pub(crate) file: Option<String>,
    /// At most so many, the last ones; 0 is all.
    #[arg(long, default_value_t = 0)]
    pub(crate) limit: usize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Size {
    Title,
    Summary,
    Detail,
}
