//! `map` and `calls`.

use std::path::PathBuf;

use clap::Args;

/// Show what source files define: functions, methods and types, with their lines.
///
/// Of a folder, files that git would ignore, hidden folders, node_modules, target and vendor are left out, and of each file the
/// most important symbols are shown.
#[derive(Debug, Args)]
pub(crate) struct MapArgs {
    /// A source file, or a folder with some.
    #[arg(value_name = "FILE|FOLDER")]
    pub(crate) path: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show who calls whom.
///
/// Of NAME, callers and callees are looked for in all files of the repository around the current folder. Calls are resolved within
/// a file and by its imports; what cannot be known that way is found by name alone and marked as unresolved.
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
    /// Callers of callers and callees of callees, up to so many steps.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(crate) depth: u32,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
