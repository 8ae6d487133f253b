//! `setup --plugin`.

use std::io::Write;
use std::path::Path;

use backstory_memory::hook::InstallPlace;
use backstory_memory::setup::{PluginOutcome, SetupOptions, SetupStatus, make_plugin};
use serde_json::json;

use crate::cli::HooksArgs;
use crate::error::Error;
use crate::output::{BOLD, DIM, one_line, print_json, stdout};
use crate::setting::Setting;
use crate::shell;

pub(super) fn make(setting: &Setting, folder: &Path, arguments: &HooksArgs) -> Result<(), Error> {
    let program = shell::own_path()?;
    shell::check_writable(&program, "the files of a plugin")?;
    // Agents are told where it is from wherever they run.
    let folder = std::path::absolute(folder)?;
    let options = SetupOptions {
        places: &setting.places(),
        project: None,
        program: &shell::quoted(&program),
        dry_run: arguments.dry_run,
    };
    let outcome = make_plugin(&folder, &options).map_err(|refused| {
        let message = format!("{}: {}", refused.file.display(), refused.reason);
        Error::usage(one_line(&message))
            .hint("name a new folder, or one that `setup --plugin` made")
    })?;
    if arguments.json {
        return print_json(&json!({
            "folder": folder,
            "status": outcome.status.name(),
            "files": outcome.files,
        }));
    }
    print(&folder, &outcome, arguments.dry_run)
}

fn print(folder: &Path, outcome: &PluginOutcome, dry_run: bool) -> Result<(), Error> {
    let mut out = stdout();
    let would_be = match dry_run && outcome.status != SetupStatus::Unchanged {
        true => "would be ",
        false => "",
    };
    let told = folder.to_string_lossy();
    writeln!(
        out,
        "{BOLD}plugin{BOLD:#}: {would_be}{} {DIM}{}{DIM:#}",
        outcome.status.name(),
        one_line(&told),
    )?;
    for file in &outcome.files {
        let below = file.strip_prefix(folder).unwrap_or(file);
        writeln!(out, "  {}", one_line(&below.to_string_lossy()))?;
    }
    let quoted = shell::quoted(&told);
    for install in &outcome.installs {
        let (place, folder) = match install.place {
            InstallPlace::Session => ("in a session", &*told),
            InstallPlace::Shell => ("in a shell", &*quoted),
        };
        writeln!(out, "{BOLD}{}{BOLD:#}, {place}:", install.title)?;
        for command in &install.commands {
            writeln!(out, "  {}", one_line(&command.replace("DIR", folder)))?;
        }
    }
    for note in &outcome.notes {
        writeln!(out, "  {note}")?;
    }
    if outcome.status == SetupStatus::Updated {
        writeln!(
            out,
            "Agents that have it keep a copy: uninstall it there and install it again"
        )?;
    }
    if !outcome.set_up.is_empty() {
        let agents = outcome.set_up.join(" ");
        writeln!(
            out,
            "Hooks are set up already, so each event will be told twice, which is stored once; `backstory teardown {agents}` leaves them to the plugin"
        )?;
    }
    out.flush()?;
    Ok(())
}
