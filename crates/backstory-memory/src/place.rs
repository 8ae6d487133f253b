//! Paths in logs.

use std::path::{Component, Path, PathBuf};

use crate::import::project::worktree_folders;

/// A file: the worktree, clone or folder that it is in, and its path there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) base: PathBuf,
    pub(crate) name: String,
}

impl Place {
    /// Where agents put worktrees of their own the worktree is what names are relative to, even when it is gone.
    pub(crate) fn new(base: &Path, name: &str) -> Self {
        let (folder, name) = within_worktree(name).unwrap_or(("", name));
        Place {
            base: if folder.is_empty() {
                base.to_path_buf()
            } else {
                base.join(folder)
            },
            name: name.to_string(),
        }
    }
}

/// A path without links, as far as the file or its folder is still there.
pub(crate) fn real(path: &Path) -> PathBuf {
    let real = std::fs::canonicalize(path).ok().or_else(|| {
        let folder = std::fs::canonicalize(path.parent()?).ok()?;
        Some(folder.join(path.file_name()?))
    });
    real.unwrap_or_else(|| path.to_path_buf())
}

/// Where agents put worktrees of their own: the worktree's folder, and the path in it.
fn within_worktree(name: &str) -> Option<(&str, &str)> {
    let rest = worktree_folders().find_map(|folder| {
        let rest = name.strip_prefix(folder)?;
        rest.strip_prefix('/')
    })?;
    let (_, inner) = rest.split_once('/')?;
    let folder = name[..name.len() - inner.len()].trim_end_matches('/');
    Some((folder, inner))
}

/// A path below a folder, as text.
pub(crate) fn below(path: &Path, base: &Path) -> Option<String> {
    let name = path.strip_prefix(base).ok()?;
    Some(name.to_string_lossy().into_owned())
}

/// A path without `.` and `..`, by its words alone.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}
