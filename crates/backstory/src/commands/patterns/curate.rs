//! What people decide about patterns: approve, reject, edit, merge, and the list of it.

use std::io::Write;
use std::process::Command;

use backstory_memory::patterns::{Catalogue, Pattern, Status};

use crate::error::Error;
use crate::output::{one_line, print_json, print_table, stdout, table, talk};
use crate::setting::{Setting, editor, now};

pub(super) fn decide(
    candidates: &[Pattern],
    catalogue: &mut Catalogue,
    prefixes: &[String],
    status: Status,
) -> Result<(), Error> {
    // All must be known before one is changed.
    let found = prefixes
        .iter()
        .map(|prefix| Ok(catalogue.find(prefix, candidates)?.to_string()));
    let found: Vec<String> = found.collect::<Result<_, Error>>()?;
    for id in found {
        let candidate = candidates.iter().find(|pattern| pattern.id == id);
        let changed = catalogue.decide(&id, candidate, status, now())?;
        let title = catalogue
            .entry(&id)
            .map(|entry| one_line(&entry.title))
            .unwrap_or_default();
        let already = if changed { "" } else { "already " };
        talk(&format!("{already}{} {id}: {title}", status.name()));
    }
    Ok(())
}

pub(super) fn edit(
    setting: &Setting,
    catalogue: &mut Catalogue,
    prefix: &str,
    title: Option<&str>,
    advice: Option<&str>,
) -> Result<(), Error> {
    let candidates = super::candidates(setting)?;
    let id = catalogue.find(prefix, &candidates)?.to_string();
    if title.is_some_and(|title| title.trim().is_empty()) {
        return Err(Error::usage("a pattern needs a title"));
    }
    let changed = if title.is_some() || advice.is_some() {
        catalogue.edit(&id, title, advice, now())?
    } else {
        if catalogue.entry(&id).is_none() {
            return Err(backstory_memory::Error::NotInCatalogue(id).into());
        }
        open_editor(&catalogue.path(&id))?;
        catalogue.take_edited(&id, now())?
    };
    talk(&format!(
        "{} {id}",
        if changed {
            "edited"
        } else {
            "nothing changed in"
        }
    ));
    Ok(())
}

fn open_editor(path: &std::path::Path) -> Result<(), Error> {
    let editor = editor().ok_or_else(|| {
        Error::usage("no editor is set").hint("set EDITOR, or use --title and --advice")
    })?;
    // A shell, for people give their editors arguments.
    let status = Command::new("/bin/sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(path)
        .status()
        .map_err(|error| Error::usage(format!("cannot run {editor}: {error}")))?;
    if status.success() {
        return Ok(());
    }
    Err(Error::usage(format!("{editor} failed ({status})")))
}

pub(super) fn merge(
    candidates: &[Pattern],
    catalogue: &mut Catalogue,
    prefix: &str,
    into: &str,
) -> Result<(), Error> {
    let id = catalogue.find(prefix, candidates)?.to_string();
    let into = catalogue.find(into, candidates)?.to_string();
    let candidate = candidates.iter().find(|pattern| pattern.id == id);
    if catalogue.merge(&id, candidate, &into, now())? {
        talk(&format!("merged {id} into {into}"));
    } else {
        talk(&format!("{id} is already merged into {into}"));
    }
    Ok(())
}

pub(super) fn list(catalogue: &Catalogue, json: bool) -> Result<(), Error> {
    if json {
        return print_json(&catalogue.entries_and_problems());
    }
    let mut out = stdout();
    if catalogue.entries().is_empty() {
        writeln!(out, "nothing has been decided yet")?;
    } else {
        let mut table = table(&["pattern", "kind", "status", "version", "published", "title"]);
        for entry in catalogue.entries() {
            let status = match &entry.merged_into {
                Some(into) => format!("merged into {into}"),
                None => entry.status.name().to_string(),
            };
            let targets: Vec<&str> = entry
                .published
                .iter()
                .map(|published| published.target.as_str())
                .collect();
            table.add_row([
                entry.id.clone(),
                entry.kind.name().to_string(),
                one_line(&status),
                entry.version.to_string(),
                if targets.is_empty() {
                    "-".to_string()
                } else {
                    one_line(&targets.join(", "))
                },
                one_line(&entry.title),
            ]);
        }
        print_table(&mut out, &table)?;
    }
    out.flush()?;
    Ok(())
}
