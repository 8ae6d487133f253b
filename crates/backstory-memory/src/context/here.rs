//! Where a session works: which project, which branch, which files are being changed.

use std::path::{Path, PathBuf};

use backstory_store::{Project, SessionRow};

use crate::ContextBuilder;
use crate::error::Result;
use crate::git::{ChangedFiles, head_branch, worktree_root};
use crate::import::project::project_of;

/// Branches that all work comes together on: being on one says nothing.
const TRUNKS: [&str; 5] = ["main", "master", "trunk", "develop", "dev"];

/// What is known of a folder.
#[derive(Debug)]
pub struct Surroundings {
    /// The project; of a name that several have, all of them.
    pub(super) projects: Vec<Project>,
    /// The branch that is checked out.
    pub(super) branch: Option<String>,
    changed: ChangedFiles,
    /// The root of the worktree, or the folder itself.
    pub(super) base: PathBuf,
}

impl Surroundings {
    /// Looks around in a folder, which must be one that the user is in or has named.
    pub fn of(folder: &Path) -> Self {
        let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
        let root = worktree_root(&folder).map(Path::to_path_buf);
        Surroundings {
            projects: vec![project_of(&folder)],
            branch: root.as_deref().and_then(head_branch),
            changed: root.clone().map(ChangedFiles::find_in).unwrap_or_default(),
            base: root.unwrap_or(folder),
        }
    }

    /// Returns whether a branch is the one that is checked out here, and none that all work comes together on.
    pub(super) fn is_own_branch(&self, branch: Option<&str>) -> bool {
        !is_trunk(branch) && branch == self.branch.as_deref()
    }

    /// Returns whether the branch says nothing of the work.
    pub(super) fn is_on_trunk(&self) -> bool {
        is_trunk(self.branch.as_deref())
    }

    /// Sets the branch where none is known.
    pub fn with_branch(mut self, branch: Option<&str>) -> Self {
        self.branch = self.branch.or_else(|| branch.map(str::to_string));
        self
    }

    /// Files that differ from the last commit, below the root of the worktree.
    pub(super) fn changed(&self) -> &[String] {
        self.changed.paths()
    }

    #[cfg(test)]
    pub(super) fn set_changed(&mut self, files: &[&str]) {
        self.changed = ChangedFiles::known(files.iter().map(ToString::to_string).collect());
    }

    /// Where a session worked, as far as its log tells.
    pub fn of_session(session: &SessionRow) -> Self {
        let project = session.project.clone();
        let project = project.map(|root| Project { root, remote: None });
        Surroundings::elsewhere(project.into_iter().collect(), session.branch.as_deref())
    }

    /// Of projects that may be gone from this disk, and a branch of theirs.
    pub(super) fn elsewhere(projects: Vec<Project>, branch: Option<&str>) -> Self {
        let base = projects.first().map(|project| PathBuf::from(&project.root));
        Surroundings {
            projects,
            branch: branch.map(str::to_string),
            changed: ChangedFiles::default(),
            base: base.unwrap_or_default(),
        }
    }
}

/// Returns whether all work comes together on a branch, or none is known.
pub(super) fn is_trunk(branch: Option<&str>) -> bool {
    branch.is_none_or(|branch| TRUNKS.contains(&branch))
}

impl ContextBuilder<'_> {
    /// What is known of the projects of a name, or whose root this is; `None` when no session of them is stored.
    pub fn surroundings_named(&self, name: &str) -> Result<Option<Surroundings>> {
        let projects = self.memory.store.projects_named(name)?;
        Ok((!projects.is_empty()).then(|| Surroundings::elsewhere(projects, None)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_looked_at_with_and_without_git() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        assert_eq!(Surroundings::of(&root).branch, None);
        std::fs::create_dir(root.join(".git")).unwrap();
        std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/ada/fix\n").unwrap();
        let here = Surroundings::of(&root.join("src"));
        assert_eq!(here.changed(), Vec::<String>::new());
        std::fs::create_dir(root.join("src")).unwrap();
        let here = Surroundings::of(&root.join("src"));
        // Whether git takes this for a repository or not.
        assert_eq!(here.branch.as_deref(), Some("ada/fix"));
        assert_eq!(
            (here.base, here.projects[0].root.clone()),
            (root.clone(), root.to_string_lossy().into_owned())
        );
    }
}
