//! `map`.

use std::io::Write;
use std::path::Path;

use backstory_memory::Memory;
use backstory_memory::code::{FileState, OutlineList, SourceOutline, scan_file};
use backstory_memory::code::{Outline, Symbol};
use backstory_memory::upkeep::WithDamage;

use super::stored::{memory_of, project_folder, stored_files, tell_snapshots};
use super::{known_languages, moment, scanned, shown, state_moment};
use crate::cli::MapArgs;
use crate::commands::damage::report_damage;
use crate::error::{Error, ErrorKind};
use crate::output::{BOLD, DIM, harmless, print_json, stdout, warn};
use crate::setting::Setting;

/// So much of each file of a folder is shown, about 150 tokens.
const MOST_LETTERS: usize = 600;
/// Signatures in the overview of a folder are cut.
const MOST_SIGNATURE: usize = 90;

/// Files that are shown, and what became of their symbols.
struct Mapped {
    files: Vec<SourceOutline>,
    states: Vec<FileState>,
    is_folder: bool,
    /// The memory that was asked, with what was found damaged there.
    memory: Option<(Memory, WithDamage<()>)>,
}

pub(in crate::commands) fn run(setting: &Setting, arguments: &MapArgs) -> Result<(), Error> {
    let path = match &arguments.project {
        Some(project) => &project_folder(setting, project)?.join(&arguments.path),
        None => &arguments.path,
    };
    let mapped = match arguments.at.is_some() || !path.exists() {
        true => stored_map(setting, arguments, path)?,
        false => disk_map(setting, arguments, path)?,
    };
    let Mapped {
        files,
        states,
        is_folder,
        memory,
    } = mapped;
    let sound = WithDamage::default();
    let damage = memory.as_ref().map_or(&sound, |(_, damage)| damage);
    if arguments.json {
        print_json(&damage.map(|()| OutlineList::new(&files, &states, shown)))?;
    } else {
        tell_snapshots(memory.as_ref().map(|(memory, _)| memory), &files);
    }
    for file in &files {
        if let Err(skipped) = &file.outline {
            warn(&format!(
                "{} was left out: {}",
                shown(&file.path),
                skipped.reason()
            ));
        }
    }
    let outlines: Vec<(&SourceOutline, &Outline, &FileState)> = files
        .iter()
        .zip(&states)
        .filter_map(|(file, state)| Some((file, file.outline.as_ref().ok()?, state)))
        .collect();
    if outlines
        .iter()
        .all(|(_, outline, _)| outline.symbols.is_empty())
    {
        let message = format!("nothing is defined in {}", path.display());
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    if arguments.json {
        return report_damage(damage);
    }
    let mut out = stdout();
    for (file, outline, state) in outlines {
        if is_folder && outline.symbols.is_empty() {
            continue;
        }
        let note = if outline.has_errors {
            "  (does not parse as a whole)"
        } else {
            ""
        };
        writeln!(out, "{BOLD}{}{BOLD:#}{DIM}{note}{DIM:#}", shown(&file.path))?;
        let lines = match is_folder {
            true => overview(&outline.symbols, state),
            false => outline
                .symbols
                .iter()
                .map(|symbol| line(symbol, state, usize::MAX))
                .collect(),
        };
        for line in lines {
            writeln!(out, "{}", harmless(&line).replace('\n', " "))?;
        }
    }
    out.flush()?;
    report_damage(damage)
}

/// Files as they are on disk.
fn disk_map(setting: &Setting, arguments: &MapArgs, path: &Path) -> Result<Mapped, Error> {
    let is_folder = path.is_dir();
    let files = match is_folder {
        true => scanned(path).files,
        false => {
            let scanned = scan_file(path)
                .map_err(|error| Error::usage(format!("{}: {error}", path.display())))?;
            scanned.into_iter().collect()
        }
    };
    if files.is_empty() {
        let message = match is_folder {
            true => format!("nothing is defined in {}", path.display()),
            false => format!("{} is in no language that is known here", path.display()),
        };
        if arguments.json && is_folder {
            print_json(&WithDamage::<OutlineList<'_>>::default())?;
        }
        return Err(Error::new(ErrorKind::NotFound, message).hint(known_languages()));
    }
    let states = match &arguments.since {
        Some(since) => {
            let memory = setting.memory()?;
            memory.code().states(&files, moment(&memory, since)?)?
        }
        None => files.iter().map(|_| FileState::default()).collect(),
    };
    Ok(Mapped {
        files,
        states,
        is_folder,
        memory: None,
    })
}

/// Files as they were when they were last seen, or at a time.
fn stored_map(setting: &Setting, arguments: &MapArgs, path: &Path) -> Result<Mapped, Error> {
    let memory = memory_of(setting, path)?;
    let until = arguments.at.as_deref();
    let until = until.map(|at| state_moment(&memory, at)).transpose()?;
    let since = arguments.since.as_deref();
    let since = since.map(|since| moment(&memory, since)).transpose()?;
    let stored = stored_files(&memory, path, until, since);
    let damage = memory.upkeep().with_damage((), None)?;
    if !damage.damage.is_empty() && stored.is_err() {
        if arguments.json {
            print_json(&damage.map(|()| OutlineList::default()))?;
        }
        report_damage(&damage)?;
    }
    let stored = stored?;
    Ok(Mapped {
        is_folder: stored.files.len() > 1 || path.is_dir(),
        files: stored.files,
        states: stored.states,
        memory: Some((memory, damage)),
    })
}

fn depth(symbol: &Symbol) -> usize {
    symbol.name.matches('.').count()
}

/// One symbol, indented by what it is in.
fn line(symbol: &Symbol, state: &FileState, most: usize) -> String {
    let mut signature = symbol.signature.clone();
    if let Some((cut, _)) = signature.char_indices().nth(most) {
        signature.truncate(cut);
        signature.push('…');
    }
    let indent = "  ".repeat(depth(symbol) + 1);
    let change = match state.of(&symbol.name) {
        Some(change) => format!("  {}", change.to_uppercase()),
        None => String::new(),
    };
    format!(
        "{indent}{signature}  {}-{}{change}",
        symbol.line_start, symbol.line_end
    )
}

/// As much of a file as fits: all of it, or what is at the top, from the first symbol on.
fn overview(symbols: &[Symbol], state: &FileState) -> Vec<String> {
    let fits =
        |lines: &[String]| lines.iter().map(|line| line.len() + 1).sum::<usize>() <= MOST_LETTERS;
    let all: Vec<String> = symbols
        .iter()
        .map(|symbol| line(symbol, state, MOST_SIGNATURE))
        .collect();
    if fits(&all) {
        return all;
    }
    // Scopes that are no symbols, such as `impl`, do not make what is in them less important.
    let known: std::collections::HashSet<&str> =
        symbols.iter().map(|symbol| symbol.name.as_str()).collect();
    let is_top = |symbol: &&Symbol| {
        symbol
            .parent
            .as_deref()
            .is_none_or(|parent| !known.contains(parent))
    };
    let mut lines = Vec::new();
    let mut shown = 0;
    for symbol in symbols.iter().filter(is_top) {
        let prefix = format!("{}.", symbol.name);
        let within = symbols
            .iter()
            .filter(|other| other.name.starts_with(&prefix))
            .count();
        let mut text = line(symbol, state, MOST_SIGNATURE);
        if within > 0 {
            text.push_str(&format!(", {within} within"));
        }
        lines.push(text);
        shown += 1 + within;
        if !fits(&lines) {
            lines.pop();
            shown -= 1 + within;
            break;
        }
    }
    if shown < symbols.len() {
        lines.push(format!("  … {} more", symbols.len() - shown));
    }
    lines
}
