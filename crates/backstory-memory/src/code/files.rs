//! Which source file a path in a log means.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use backstory_redact::Redactor;
use backstory_store::{CodeFile, Project, WorkPlace};

use crate::git::worktree_root;
use crate::import::project::project_of;
use crate::place::{Place, below, normal, real};
use crate::redaction::{redacted_project, stored_path};

/// Folders of code that somebody else wrote.
const FOREIGN: &[&str] = &[
    "node_modules",
    "site-packages",
    "dist-packages",
    ".venv",
    "venv",
    "target",
    "vendor",
];

/// Whether a folder of this name has code that somebody else wrote.
pub(super) fn is_foreign(name: &str) -> bool {
    FOREIGN.contains(&name)
}

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

    /// The file under a name and in a project as they may be stored.
    pub(super) fn without_secrets(self, redactor: Option<&Redactor>) -> Self {
        let Some(redactor) = redactor else {
            return self;
        };
        SourceFile {
            project: redacted_project(self.project, redactor),
            name: stored_path(Some(redactor), &self.name),
        }
    }
}

/// The worktree, clone or folder around a path that is asked about.
pub(super) struct Here {
    base: PathBuf,
    project: Project,
}

impl Here {
    /// `path` is without links.
    pub(super) fn around(path: &Path) -> Self {
        let base = worktree_root(path).unwrap_or(path);
        Here {
            base: base.to_path_buf(),
            project: project_of(base),
        }
    }

    /// The folder that it begins with.
    pub(super) fn base(&self) -> &Path {
        &self.base
    }

    /// Where a known file is: here, if it is of the same project, else where that project is.
    pub(super) fn path_of(&self, file: &CodeFile) -> PathBuf {
        let same_remote =
            file.project.remote.is_some() && file.project.remote == self.project.remote;
        if same_remote || file.project.root == self.project.root {
            self.base.join(&file.name)
        } else {
            Path::new(&file.project.root).join(&file.name)
        }
    }
}

/// What paths mean in one session.
pub(super) struct Files<'s> {
    cwd: Option<PathBuf>,
    project: Option<Project>,
    redactor: Option<&'s Redactor>,
    known: HashMap<String, Option<SourceFile>>,
}

impl<'s> Files<'s> {
    pub(super) fn of(session: &WorkPlace, redactor: Option<&'s Redactor>) -> Self {
        Files {
            cwd: session.cwd.as_ref().map(PathBuf::from),
            project: session.project.clone(),
            redactor,
            known: HashMap::new(),
        }
    }

    /// The file that a path means; `None` when nobody can tell.
    pub(super) fn locate(&mut self, path: &str) -> Option<SourceFile> {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        // The log has no secrets, but a path that a command gave in pieces may be one.
        let found = self.find(path);
        let found = found.map(|file| file.without_secrets(self.redactor));
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
