//! `patterns publish` and `patterns unpublish`.

use std::path::{Path, PathBuf};

use backstory_memory::{Catalogue, Entry, Unpublished, project_root, worktree_root};

use crate::error::Error;
use crate::output::talk;
use crate::setting::{Setting, now};

pub(super) fn publish(
    setting: &Setting,
    catalogue: &mut Catalogue,
    to: &[PathBuf],
    limit_bytes: usize,
) -> Result<(), Error> {
    for target in targets(setting, to)? {
        let approved: Vec<&Entry> = catalogue.approved();
        let count = approved.len();
        let published = backstory_memory::publish(&target.path, &approved, limit_bytes)?;
        catalogue.record(
            &target.name,
            target.project.as_deref(),
            &published.ids,
            now(),
        )?;
        let name = &target.name;
        talk(&match (count == 0, published.changed) {
            (true, true) => format!("nothing is approved: took the block out of {name}"),
            (true, false) => format!("nothing is approved: {name} stays as it is"),
            (false, true) => format!(
                "published in {name}: {} of {} approved patterns",
                published.ids.len(),
                count
            ),
            (false, false) => format!("{name} says so already"),
        });
        if published.left_out > 0 {
            talk(&format!(
                "{} did not fit into {limit_bytes} bytes",
                published.left_out
            ));
        }
        if count == 0 {
            talk("`backstory patterns approve` says which are worth telling");
        }
    }
    Ok(())
}

pub(super) fn unpublish(
    setting: &Setting,
    catalogue: &mut Catalogue,
    to: &[PathBuf],
) -> Result<(), Error> {
    for target in targets(setting, to)? {
        let done = backstory_memory::unpublish(&target.path)?;
        catalogue.record(&target.name, None, &[], now())?;
        let name = &target.name;
        talk(&match done {
            Unpublished::Nothing => format!("nothing is published in {name}"),
            Unpublished::Block => format!("took the block out of {name}"),
            Unpublished::File => format!("removed {name}, which had nothing else in it"),
        });
    }
    Ok(())
}

/// A file that agents read.
struct Target {
    path: PathBuf,
    /// What the catalogue calls it: the same on every machine that has the repository.
    name: String,
    /// The project whose sessions read it.
    project: Option<String>,
}

fn targets(setting: &Setting, to: &[PathBuf]) -> Result<Vec<Target>, Error> {
    if to.is_empty() {
        let here = std::fs::canonicalize(std::env::current_dir()?)?;
        let root = worktree_root(&here).unwrap_or(&here);
        let usual = ["AGENTS.md", "CLAUDE.md"].map(|name| root.join(name));
        let there = usual.iter().find(|path| path.exists());
        let path = there.unwrap_or(&usual[0]).clone();
        return Ok(vec![target(setting, path)]);
    }
    let typed = to.iter().map(|path| Target {
        // Links on the way to it are judged when it is read.
        path: path.clone(),
        ..target(setting, whole(path))
    });
    Ok(typed.collect())
}

/// A path without links and `..` in its folder, by which it is known; the file itself may be a link, or not be there.
fn whole(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = absolute.parent().map(std::fs::canonicalize);
    match (folder, absolute.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => absolute,
    }
}

fn target(setting: &Setting, path: PathBuf) -> Target {
    let folder = path.parent().unwrap_or(&path);
    let home = std::fs::canonicalize(&setting.home).unwrap_or_else(|_| setting.home.clone());
    // Who keeps all of home in git has files there that all sessions read.
    let (name, project) = match worktree_root(folder).filter(|root| *root != home) {
        Some(root) => {
            let below = root
                .parent()
                .and_then(|above| path.strip_prefix(above).ok());
            let project = project_root(root);
            let project = project
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            (below.unwrap_or(&path).to_path_buf(), project)
        }
        None => {
            let below = path
                .strip_prefix(&home)
                .map(|below| Path::new("~").join(below));
            (below.unwrap_or_else(|_| path.clone()), None)
        }
    };
    let name = name.to_string_lossy().into_owned();
    Target {
        path,
        name,
        project,
    }
}
