//! Files that approved patterns are published in.

use std::path::{Path, PathBuf};

use crate::git::worktree_root;
use crate::import::project::project_root;

/// A file that agents read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishTarget {
    /// The file. Links on the way to it are judged when it is read.
    pub path: PathBuf,
    /// What the catalogue calls it: the same on every machine that has the repository.
    pub name: String,
    /// The project whose sessions read it.
    pub project: Option<String>,
}

impl PublishTarget {
    /// Returns the target for a file as it was typed; `home` is the user's home folder.
    pub fn new(path: &Path, home: &Path) -> Self {
        let (name, project) = name_and_project(&whole(path), home);
        PublishTarget {
            path: path.to_path_buf(),
            name,
            project,
        }
    }

    /// Returns the file that agents in a folder usually read: that of its repository which is there.
    pub fn usual(folder: &Path, home: &Path) -> std::io::Result<Self> {
        let folder = std::fs::canonicalize(folder)?;
        let root = worktree_root(&folder).unwrap_or(&folder);
        let usual = ["AGENTS.md", "CLAUDE.md"].map(|name| root.join(name));
        let there = usual.iter().find(|path| path.exists());
        let path = there.unwrap_or(&usual[0]).clone();
        let (name, project) = name_and_project(&path, home);
        Ok(PublishTarget {
            path,
            name,
            project,
        })
    }
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

fn name_and_project(path: &Path, home: &Path) -> (String, Option<String>) {
    let folder = path.parent().unwrap_or(path);
    let home = std::fs::canonicalize(home).unwrap_or_else(|_| home.to_path_buf());
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
            (below.unwrap_or(path).to_path_buf(), project)
        }
        None => {
            let below = path
                .strip_prefix(&home)
                .map(|below| Path::new("~").join(below));
            (below.unwrap_or_else(|_| path.to_path_buf()), None)
        }
    };
    (name.to_string_lossy().into_owned(), project)
}
