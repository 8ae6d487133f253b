//! What people can type after `patterns`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Find problems and successes that recur, and tell agents of them.
///
/// Lists what recurs across sessions, with what several agents ran into first. Approve what is true and worth telling, edit how it is
/// said, publish it where agents read, and measure whether that helped. What you decide is kept in the catalogue, a folder of
/// small files to keep in git; the key `catalogue` of the configuration says where.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PatternsArgs {
    #[command(subcommand)]
    pub(crate) action: Option<PatternsAction>,
    #[command(flatten)]
    pub(crate) list: PatternsListArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PatternsListArgs {
    /// Only those that occurred at least so often.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) min_frequency: u64,
    /// Only of this project: a folder (`.` is the one you are in) or a repository's name.
    #[arg(long)]
    pub(crate) project: Option<String>,
    /// Only in projects of this domain, as `domains` of the configuration says.
    #[arg(long)]
    pub(crate) domain: Option<String>,
    /// Only problems, or only successes.
    #[arg(long, value_enum)]
    pub(crate) kind: Option<PatternKind>,
    /// Include patterns on which nobody can act: slips in the use of an agent's own tools, habits, statistics.
    #[arg(long)]
    pub(crate) all: bool,
    /// Maximum number of results (0 = no limit).
    #[arg(long, default_value_t = 20)]
    pub(crate) limit: usize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PatternKind {
    Problem,
    Success,
}

impl From<PatternKind> for backstory_memory::patterns::PatternKind {
    fn from(kind: PatternKind) -> Self {
        match kind {
            PatternKind::Problem => backstory_memory::patterns::PatternKind::Problem,
            PatternKind::Success => backstory_memory::patterns::PatternKind::Success,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum PatternsAction {
    /// Show a pattern with all its evidence.
    Show {
        /// Its id or the beginning of it.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say that patterns are true and worth telling.
    Approve {
        /// Their ids or the beginnings of them.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Say that they are not.
    Reject {
        /// Their ids or the beginnings of them.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Change what is said of a pattern; without options, in your editor.
    Edit {
        /// Its id or the beginning of it.
        id: String,
        /// What it is, in one line.
        #[arg(long)]
        title: Option<String>,
        /// What to do about it.
        #[arg(long)]
        advice: Option<String>,
    },
    /// Say that a pattern is the same as another, which stays.
    Merge {
        /// Its id or the beginning of it.
        id: String,
        /// The one that stays.
        into: String,
    },
    /// Write approved patterns into a marked block of files that agents read.
    ///
    /// Nothing outside the block changes. Those of several agents come first, then the most frequent.
    Publish {
        /// The file; several may be given. Without any, AGENTS.md of the repository, or its CLAUDE.md when only that is there.
        #[arg(long, value_name = "FILE")]
        to: Vec<PathBuf>,
        /// How large the block may be.
        #[arg(long, value_name = "N", default_value_t = 4096)]
        limit_bytes: usize,
        /// Write procedures as skills of this repository: .agents/skills/NAME/SKILL.md.
        #[arg(long, conflicts_with = "to")]
        skills: bool,
        /// Show the changes and write nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Take the block out again: the file is then as it was before.
    Unpublish {
        /// The file; several may be given. Without any, the same as for publish.
        #[arg(long, value_name = "FILE")]
        to: Vec<PathBuf>,
    },
    /// Compare how often published patterns occurred before and after, with 95 % confidence.
    Measure {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List what was decided.
    Catalogue {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}
