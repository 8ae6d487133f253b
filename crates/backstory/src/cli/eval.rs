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
    /// Judge digests yourself, and score every later version by your verdicts.
    ///
    /// Shows sessions with the evidence and the digest, and asks whether the outcome, title, headline, decisions and problems are right.
    /// Verdicts are kept in `eval/digests.jsonl` in the store's folder and go with `forget`. What is judged is not asked again unless the
    /// digest changed. Ends with the score of today's digests; without a terminal, prints only that.
    ///
    /// Keys: Enter or y right, n wrong; a letter for the right outcome; g good, m middling, p poor; u undo, s skip the session, q quit.
    Digests {
        /// Number of sessions in the sample.
        #[arg(long, default_value_t = 20)]
        sessions: usize,
        /// Seed of the sample; another one gives other sessions.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Judge also without a terminal: read a line per answer.
        #[arg(long)]
        review: bool,
        /// Print only the score.
        #[arg(long, conflicts_with = "review")]
        score: bool,
        /// Print the score as JSON.
        #[arg(long, conflicts_with = "review")]
        json: bool,
    },
}
