//! What people can type after `eval`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Mode;

/// Score how well things work on your own history.
#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    #[command(subcommand)]
    pub(crate) what: EvalWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EvalWhat {
    /// Score search with queries whose answers are known.
    ///
    /// QUERIES has a line of JSON for each query: `{\"query\": \"…\", \"gold\": [\"session id\", …]}`. Prints how often a right session
    /// is first, among the first five and ten, whether all right ones are among the first five, the mean reciprocal rank, the
    /// normalised discounted gain, and how long a search takes. Queries without gold ask for nothing: they count as confident
    /// when they should not be.
    Retrieval {
        /// The file of queries.
        queries: PathBuf,
        /// Only this mode; else all that can be used.
        #[arg(long, value_enum)]
        mode: Option<Mode>,
        /// Print how each query did.
        #[arg(long)]
        each: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Measure the built-in compressor on all prompts and tool uses that are stored.
    ///
    /// Prints how much shorter observations are than what they were made of, how many numbers, paths and names they have that their
    /// source does not have (there should be none), and how many are compressed a second.
    Observations {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Measure how useful context would have been.
    ///
    /// For each of the newest sessions, context is made of only what was over when it began, and looked at whether it names a file that
    /// the session then touched.
    Context {
        /// How many sessions.
        #[arg(long, default_value_t = 30)]
        sessions: usize,
        /// Only sessions of projects of this name, which count as one then.
        #[arg(long)]
        project: Option<String>,
        /// Print what each was told of.
        #[arg(long)]
        each: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}
