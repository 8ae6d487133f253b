//! Which file is asked about, and whether a path in a log means it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use backstory_store::{ChangeRow, Project};

use crate::git::worktree_root;
use crate::import::project::project_of;
use crate::place::{Place, below, normal, real};

/// The file that is asked about.
pub(super) struct Target {
    pub(super) place: Place,
    path: PathBuf,
    pub(super) project: Project,
    known: HashMap<PathBuf, PathBuf>,
}

impl Target {
    /// `path` is absolute and without links.
    pub(super) fn new(path: &Path) -> Self {
        let folder = path.parent().unwrap_or(path);
        let project = project_of(folder);
        let base = worktree_root(folder).unwrap_or(folder);
        Target {
            place: Place::new(base, &below(path, base).unwrap_or_default()),
            path: path.to_path_buf(),
            project,
            known: HashMap::new(),
        }
    }

    /// Outside of any repository the folder that sessions worked in is what names are relative to.
    pub(super) fn adopt(&mut self, rows: &[ChangeRow]) {
        if worktree_root(&self.place.base).is_some() {
            return;
        }
        let roots = rows
            .iter()
            .filter_map(|row| row.root.as_deref())
            .map(Path::new);
        let root = roots
            .filter(|root| root.parent().is_some() && self.path.starts_with(root))
            .min_by_key(|root| root.components().count());
        if let Some(root) = root {
            self.place = Place::new(root, &below(&self.path, root).unwrap_or_default());
            self.project = project_of(root);
        }
    }

    /// The file that a session means by a path; `None` when it is of another project.
    pub(super) fn locate(&mut self, path: &str, row: &ChangeRow) -> Option<Place> {
        let cwd = row.cwd.as_deref().unwrap_or("/");
        let path = self.real(&normal(&Path::new(cwd).join(path)));
        if let Some(name) = below(&path, &self.place.base) {
            // A worktree within the repository is not the repository.
            let inner = path.parent().and_then(worktree_root);
            if inner.is_none_or(|inner| inner == self.place.base) {
                return Some(Place::new(&self.place.base, &name));
            }
        }
        let same_remote = row.remote.is_some() && row.remote == self.project.remote;
        if !same_remote && row.root.as_deref() != Some(&self.project.root) {
            return None;
        }
        if let Some(base) = path.parent().and_then(worktree_root) {
            return Some(Place::new(base, &below(&path, base)?));
        }
        // The folder is gone; what is known of it is what the session said.
        let root = row.root.as_deref().map(Path::new);
        let bases = root.into_iter().chain([Path::new(cwd)]);
        bases
            .filter_map(|base| Some(Place::new(base, &below(&path, base)?)))
            .next()
    }

    /// A path without links, as far as the file or its folder is still there.
    fn real(&mut self, path: &Path) -> PathBuf {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let real = real(path);
        self.known.insert(path.to_path_buf(), real.clone());
        real
    }
}
