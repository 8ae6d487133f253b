//! Project of a folder: its repository, one across worktrees, subfolders and clones.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use backstory_agents::AGENTS;
use backstory_event::SessionFacts;
use backstory_redact::Redactor;
use backstory_store::Project;

use crate::git::Repository;
use crate::redaction::redacted_project;

/// Finds projects and remembers them, for sessions come back to the same folders.
#[derive(Default)]
pub(crate) struct Projects {
    known: Mutex<HashMap<String, Project>>,
}

impl Projects {
    /// The project of every folder that these facts name.
    pub(crate) fn find_projects(
        &self,
        facts: &[SessionFacts],
        redactor: Option<&Redactor>,
    ) -> HashMap<String, Project> {
        let named = facts
            .iter()
            .filter_map(|facts| Some((facts.cwd.clone()?, facts)));
        named
            .map(|(cwd, facts)| (cwd.clone(), self.find(&cwd, facts, redactor)))
            .collect()
    }

    fn find(&self, cwd: &str, facts: &SessionFacts, redactor: Option<&Redactor>) -> Project {
        let project = || match redactor {
            Some(redactor) => redacted_project(find(cwd, facts), redactor),
            None => find(cwd, facts),
        };
        let Ok(mut known) = self.known.lock() else {
            return project();
        };
        known.entry(cwd.to_string()).or_insert_with(project).clone()
    }
}

/// The root of the project that a folder belongs to: its repository's, or itself.
pub fn project_root(folder: &Path) -> PathBuf {
    Repository::find_around(folder)
        .map_or_else(|| folder.to_path_buf(), |repository| repository.root)
}

/// The project that a folder belongs to.
pub(crate) fn project_of(folder: &Path) -> Project {
    find(&folder.to_string_lossy(), &SessionFacts::default())
}

fn find(cwd: &str, facts: &SessionFacts) -> Project {
    let told = facts.remote.as_deref().map(normalise_remote);
    if let Some(repository) = Repository::find_around(Path::new(cwd)) {
        let remote = repository.remote_url();
        return Project {
            root: repository.root.to_string_lossy().into_owned(),
            remote: remote.as_deref().map(normalise_remote).or(told),
        };
    }
    let root = facts
        .repository
        .as_deref()
        .unwrap_or_else(|| without_worktree(cwd));
    let root = if root.len() > 1 {
        root.trim_end_matches('/')
    } else {
        root
    };
    Project {
        root: root.to_string(),
        remote: told,
    }
}

/// One name for the same remote however it is spelt, and never a password: `host/owner/name`.
fn normalise_remote(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest
        .split_once('@')
        .filter(|(user, _)| !user.contains('/'))
        .map_or(rest, |(_, rest)| rest);
    let rest = rest.trim_end_matches('/').trim_end_matches(".git");
    let (host, path) = rest.split_once(['/', ':']).unwrap_or((rest, ""));
    format!(
        "{}/{}",
        host.to_ascii_lowercase(),
        path.trim_start_matches('/')
    )
}

/// Folders of a repository in which agents make worktrees.
pub(crate) fn worktree_folders() -> impl Iterator<Item = &'static str> {
    let of_agents = AGENTS.iter().flat_map(|agent| agent.worktrees);
    of_agents.copied().chain([".worktrees"])
}

/// Where agents put worktrees of their own, when the folder is gone and cannot be asked.
fn without_worktree(cwd: &str) -> &str {
    worktree_folders()
        .find_map(|folder| cwd.find(&format!("/{folder}/")))
        .map_or(cwd, |at| &cwd[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_remote_however_it_is_spelt() {
        for url in [
            "https://github.com/ada/shop.git",
            "git@github.com:ada/shop.git",
            "ssh://git@GitHub.com/ada/shop",
            "https://ada:token@github.com/ada/shop/",
        ] {
            assert_eq!(normalise_remote(url), "github.com/ada/shop", "{url}");
        }
    }

    #[test]
    fn subfolders_and_worktrees_share_their_repository() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("shop");
        std::fs::create_dir_all(root.join(".git/worktrees/fix")).unwrap();
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        std::fs::create_dir_all(folder.path().join("fix")).unwrap();
        std::fs::write(
            root.join(".git/config"),
            "[core]\n[remote \"origin\"]\n\turl = git@host:ada/shop.git\n",
        )
        .unwrap();
        std::fs::write(root.join(".git/worktrees/fix/commondir"), "../..\n").unwrap();
        let gitdir = format!("gitdir: {}\n", root.join(".git/worktrees/fix").display());
        std::fs::write(folder.path().join("fix/.git"), gitdir).unwrap();
        let expected = Project {
            root: root.to_string_lossy().into_owned(),
            remote: Some("host/ada/shop".into()),
        };
        for cwd in [
            root.clone(),
            root.join("src/deep"),
            folder.path().join("fix"),
        ] {
            assert_eq!(
                find(&cwd.to_string_lossy(), &SessionFacts::default()),
                expected,
                "{}",
                cwd.display()
            );
        }
    }

    #[test]
    fn folders_that_are_gone_are_judged_by_name() {
        let facts = SessionFacts::default();
        assert_eq!(
            find("/gone/shop/.claude/worktrees/fix-1", &facts).root,
            "/gone/shop"
        );
        let told = SessionFacts {
            repository: Some("/gone/shop".into()),
            ..SessionFacts::default()
        };
        assert_eq!(find("/gone/shop/src", &told).root, "/gone/shop");
    }
}
