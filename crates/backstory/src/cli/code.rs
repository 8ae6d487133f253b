//! What can be typed about source code.

use std::path::PathBuf;

use clap::Args;

/// Show what source files define: functions, methods and types, with their lines.
///
/// Of a folder, files that git would ignore, hidden folders, and folders of foreign code (node_modules, site-packages, target, vendor,
/// venv) are left out, and of each file the most important symbols are shown. A file that is not on this disk is shown as it was when
/// an agent last changed it.
#[derive(Debug, Args)]
pub(crate) struct MapArgs {
    /// A source file, or a folder with some.
    #[arg(value_name = "FILE|FOLDER")]
    pub(crate) path: PathBuf,
    /// Mark what is new or modified since: 3d, 2w, 12h, a date, or the beginning of a session.
    #[arg(long, value_name = "WHEN|SESSION")]
    pub(crate) since: Option<String>,
    /// Show the files as agents had left them then: 3d, 2w, 12h, the end of a date, or the beginning of a session.
    #[arg(long, value_name = "WHEN|SESSION")]
    pub(crate) at: Option<String>,
    /// Look in this project instead of the one around the current folder: its folder, or its name in the store.
    #[arg(long, value_name = "NAME|FOLDER")]
    pub(crate) project: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show who calls whom.
///
/// Of NAME, callers and callees are looked for in all files of the repository around the current folder. Calls are resolved within
/// a file and by its imports; what cannot be known that way is found by name alone and marked as unresolved, with the reason. Calls
/// that were seen in stack traces in the logs of agents are marked as seen, and are surer. Of a file that is not on this disk, the calls are
/// shown that it had when an agent last changed it.
#[derive(Debug, Args)]
pub(crate) struct CallsArgs {
    /// A function, method or type: `name` or `Class.name`.
    #[arg(required_unless_present = "file")]
    pub(crate) name: Option<String>,
    /// All calls in this file; with NAME, only look in this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Only who calls NAME.
    #[arg(long, conflicts_with = "callees", requires = "name")]
    pub(crate) callers: bool,
    /// Only what NAME calls.
    #[arg(long, requires = "name")]
    pub(crate) callees: bool,
    /// Show the calls of files as agents had left them then: 3d, 2w, 12h, the end of a date, or the beginning of a session.
    #[arg(long, value_name = "WHEN|SESSION")]
    pub(crate) at: Option<String>,
    /// Look in this project instead of the one around the current folder: its folder, or its name in the store.
    #[arg(long, value_name = "NAME|FOLDER")]
    pub(crate) project: Option<PathBuf>,
    /// Callers of callers and callees of callees, up to so many steps.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(crate) depth: u32,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show which functions agents changed, turn by turn, the newest first.
///
/// What a turn did to source files is found in the logs: no hook is needed, and sessions of years ago count as well.
#[derive(Debug, Args)]
pub(crate) struct ChangesArgs {
    /// Only what this session did: its id, or the beginning of it.
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Only since: 3d, 2w, 12h, a date, or the beginning of a session.
    #[arg(long, value_name = "WHEN|SESSION")]
    pub(crate) since: Option<String>,
    /// Only of this file or folder, under whatever names it had.
    #[arg(long, value_name = "FILE|FOLDER")]
    pub(crate) file: Option<PathBuf>,
    /// Show at most so many turns; 0 shows all.
    #[arg(long, short = 'n', default_value_t = 20)]
    pub(crate) limit: usize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Tell the life of a function: which turns made and changed it, and what was asked in them.
///
/// The newest comes first. A function is followed back through renames of itself and of its file.
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// A function, method or type: `name` or `Class.name`.
    #[arg(value_name = "SYMBOL")]
    pub(crate) name: String,
    /// Only in this file or folder.
    #[arg(long, value_name = "FILE|FOLDER")]
    pub(crate) file: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Report on the code of a project: what agents changed of late, and who calls whom.
///
/// With --mermaid, the call graph around what changed is printed in the language of Mermaid, to be pasted into Markdown: a box a
/// file, a node a function, new and modified ones coloured, calls that were seen to happen thick and those that are guesses dotted.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// A folder of the project.
    #[arg(value_name = "FOLDER", default_value = ".")]
    pub(crate) path: PathBuf,
    /// Count what changed since: 3d, 2w, 12h, a date, or the beginning of a session.
    #[arg(long, value_name = "WHEN|SESSION", default_value = "30d")]
    pub(crate) since: String,
    /// Print the call graph for Mermaid.
    #[arg(long, conflicts_with = "json")]
    pub(crate) mermaid: bool,
    /// Report on the models that write observations and summaries instead: how faithful, short, complete, fast and dear each is.
    #[arg(long, conflicts_with = "mermaid")]
    pub(crate) eval: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
