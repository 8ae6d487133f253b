//! `map`.

use std::io::Write;

use backstory_code::{Outline, Symbol};
use serde_json::{Value, json};

use super::scan::{self, Scanned};
use crate::cli::MapArgs;
use crate::error::{Error, ErrorKind};
use crate::output::{BOLD, DIM, harmless, print_json, stdout, warn};

/// So much of each file of a folder is shown, about 150 tokens.
const MOST_LETTERS: usize = 600;
/// Signatures in the overview of a folder are cut.
const MOST_SIGNATURE: usize = 90;

pub(crate) fn run(arguments: &MapArgs) -> Result<(), Error> {
    let path = &arguments.path;
    let is_folder = path.is_dir();
    if !path.exists() {
        return Err(Error::usage(format!("there is no {}", path.display())));
    }
    let scanned = match is_folder {
        true => scan::folder(path),
        false => vec![scan::file(path)?],
    };
    if arguments.json {
        print_json(&map_json(&scanned))?;
    }
    for file in &scanned {
        if let Err(skipped) = &file.outline {
            warn(&format!("{} was left out: {}", file.path, skipped.reason()));
        }
    }
    let outlines: Vec<(&Scanned, &Outline)> = scanned
        .iter()
        .filter_map(|file| Some((file, file.outline.as_ref().ok()?)))
        .collect();
    if outlines
        .iter()
        .all(|(_, outline)| outline.symbols.is_empty())
    {
        let message = format!("nothing is defined in {}", path.display());
        let error = Error::new(ErrorKind::NotFound, message);
        return Err(match scanned.is_empty() {
            true => error.hint(scan::known_languages()),
            false => error,
        });
    }
    if arguments.json {
        return Ok(());
    }
    let mut out = stdout();
    for (file, outline) in outlines {
        if is_folder && outline.symbols.is_empty() {
            continue;
        }
        let note = if outline.has_errors {
            "  (does not parse as a whole)"
        } else {
            ""
        };
        writeln!(
            out,
            "{BOLD}{}{BOLD:#}{DIM}{note}{DIM:#}",
            harmless(&file.path)
        )?;
        let lines = match is_folder {
            true => overview(&outline.symbols),
            false => outline
                .symbols
                .iter()
                .map(|symbol| line(symbol, usize::MAX))
                .collect(),
        };
        for line in lines {
            writeln!(out, "{}", harmless(&line))?;
        }
    }
    out.flush()?;
    Ok(())
}

fn map_json(scanned: &[Scanned]) -> Value {
    let (mut files, mut skipped) = (Vec::new(), Vec::new());
    for file in scanned {
        match &file.outline {
            Ok(outline) => files.push(json!({
                "path": file.path,
                "language": file.language.name,
                "has_errors": outline.has_errors,
                "symbols": outline.symbols.iter().map(symbol_json).collect::<Vec<Value>>(),
            })),
            Err(reason) => skipped.push(json!({ "path": file.path, "reason": reason.reason() })),
        }
    }
    json!({ "files": files, "skipped": skipped })
}

fn symbol_json(symbol: &Symbol) -> Value {
    json!({
        "name": symbol.name,
        "kind": symbol.kind.name(),
        "parent": symbol.parent,
        "signature": symbol.signature,
        "decorators": symbol.decorators,
        "doc": symbol.doc,
        "line_start": symbol.line_start,
        "line_end": symbol.line_end,
        "change": null,
    })
}

fn depth(symbol: &Symbol) -> usize {
    symbol.name.matches('.').count()
}

/// One symbol, indented by what it is in.
fn line(symbol: &Symbol, most: usize) -> String {
    let mut signature = symbol.signature.clone();
    if let Some((cut, _)) = signature.char_indices().nth(most) {
        signature.truncate(cut);
        signature.push('…');
    }
    let indent = "  ".repeat(depth(symbol) + 1);
    format!(
        "{indent}{signature}  {}-{}",
        symbol.line_start, symbol.line_end
    )
}

/// As much of a file as fits: all of it, or what is at the top, from the first symbol on.
fn overview(symbols: &[Symbol]) -> Vec<String> {
    let fits =
        |lines: &[String]| lines.iter().map(|line| line.len() + 1).sum::<usize>() <= MOST_LETTERS;
    let all: Vec<String> = symbols
        .iter()
        .map(|symbol| line(symbol, MOST_SIGNATURE))
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
        let mut text = line(symbol, MOST_SIGNATURE);
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
