//! Which source file a path in a log means.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use backstory_store::{Project, Uncoded};

use crate::place::{Place, below, normal, real};
use crate::project::{project_of, worktree_root};

/// A source file: its project, and its path there, in whatever worktree or clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SourceFile {
    pub(super) project: Project,
    pub(super) name: String,
}

impl SourceFile {
    /// The file at an absolute path, as far as the disk tells.
    pub(super) fn on_disk(path: &Path) -> Option<Self> {
        let folder = path.parent()?;
        let base = worktree_root(folder).unwrap_or(folder);
        Some(SourceFile {
            project: project_of(base),
            name: below(path, base)?,
        })
    }
}

/// What paths mean in one session.
pub(super) struct Files {
    cwd: Option<PathBuf>,
    project: Option<Project>,
    known: HashMap<String, Option<SourceFile>>,
}

impl Files {
    pub(super) fn of(session: &Uncoded) -> Self {
        Files {
            cwd: session.cwd.as_ref().map(PathBuf::from),
            project: session.project.clone(),
            known: HashMap::new(),
        }
    }

    /// The project that the session worked on.
    pub(super) fn project(&self) -> Option<&Project> {
        self.project.as_ref()
    }

    /// The file that a path means; `None` when nobody can tell.
    pub(super) fn locate(&mut self, path: &str) -> Option<SourceFile> {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let found = self.find(path);
        self.known.insert(path.to_string(), found.clone());
        found
    }

    fn find(&self, path: &str) -> Option<SourceFile> {
        let path = match &self.cwd {
            Some(cwd) => cwd.join(path),
            None => PathBuf::from(path),
        };
        if !path.is_absolute() {
            return None;
        }
        let path = real(&normal(&path));
        if path.parent().and_then(worktree_root).is_some() {
            return SourceFile::on_disk(&path);
        }
        // The folder is gone, or in no repository; what is known of it is what the session said.
        let named = |project: &Project, base: &Path| {
            Some(SourceFile {
                project: project.clone(),
                name: Place::new(base, &below(&path, base)?).name,
            })
        };
        if let Some(project) = &self.project {
            let found = named(project, Path::new(&project.root));
            let found = found.or_else(|| named(project, self.cwd.as_deref()?));
            if found.is_some() {
                return found;
            }
        }
        SourceFile::on_disk(&path)
    }
}
