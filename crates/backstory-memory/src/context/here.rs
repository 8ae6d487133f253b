//! Where a session works: which project, which branch, which files are being changed.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use backstory_store::{Project, SessionRow};

use crate::Memory;
use crate::error::Result;
use crate::project::{project_of, worktree_root};

/// How long git may take to say what is being changed; in a huge repository it would hold everything up.
const PATIENCE: Duration = Duration::from_millis(80);

/// So many changed files say enough.
const MOST_CHANGED: usize = 200;

/// What is known of a folder.
#[derive(Debug)]
pub struct Surroundings {
    /// The project; of a name that several have, all of them.
    pub(super) projects: Vec<Project>,
    /// The branch that is checked out.
    pub(super) branch: Option<String>,
    changed: Changed,
    /// The root of the worktree, or the folder itself.
    pub(super) base: PathBuf,
}

/// Files that differ from the last commit: git is asked in the background, for it takes as long as all else.
#[derive(Debug, Default)]
struct Changed {
    known: OnceLock<Vec<String>>,
    asked: Mutex<Option<Receiver<Vec<String>>>>,
}

impl Changed {
    fn ask(root: PathBuf) -> Self {
        let (told, heard) = channel();
        // Without a thread nothing is told.
        let _ = std::thread::Builder::new().spawn(move || {
            let _ = told.send(status(&root));
        });
        Changed {
            known: OnceLock::new(),
            asked: Mutex::new(Some(heard)),
        }
    }

    fn get(&self) -> &[String] {
        self.known.get_or_init(|| {
            let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            let told = asked.as_ref().and_then(|heard| heard.recv().ok());
            told.unwrap_or_default()
        })
    }
}

impl Surroundings {
    /// Looks around in a folder.
    pub fn of(folder: &Path) -> Self {
        let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
        let root = worktree_root(&folder).map(Path::to_path_buf);
        Surroundings {
            projects: vec![project_of(&folder)],
            branch: root.as_deref().and_then(head),
            changed: root.clone().map(Changed::ask).unwrap_or_default(),
            base: root.unwrap_or(folder),
        }
    }

    /// Files that differ from the last commit, below the root of the worktree.
    pub(super) fn changed(&self) -> &[String] {
        self.changed.get()
    }

    #[cfg(test)]
    pub(super) fn set_changed(&mut self, files: &[&str]) {
        let files: Vec<String> = files.iter().map(ToString::to_string).collect();
        self.changed = Changed::default();
        let _ = self.changed.known.set(files);
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
            changed: Changed::default(),
            base: base.unwrap_or_default(),
        }
    }
}

impl Memory {
    /// What is known of the projects of a name, or whose root this is; `None` when no session of them is stored.
    pub fn surroundings_named(&self, name: &str) -> Result<Option<Surroundings>> {
        let projects = self.store.projects_named(name)?;
        Ok((!projects.is_empty()).then(|| Surroundings::elsewhere(projects, None)))
    }
}

/// The files that differ from the last commit, as git says; none when it does not say, or too late.
fn status(root: &Path) -> Vec<String> {
    let git = Command::new("git")
        .arg("-C")
        .arg(root)
        // Nothing in the repository's configuration may run or write anything.
        .args(["--no-optional-locks", "-c", "core.fsmonitor=false"])
        .args(["status", "--porcelain=v1", "-z"])
        .args(["--ignore-submodules=all", "--no-renames"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut git) = git else {
        return Vec::new();
    };
    let output = output_within(&mut git, PATIENCE);
    // Killed if it is still at it, and never left behind.
    let _ = git.kill();
    let _ = git.wait();
    output.map_or(Vec::new(), |output| {
        changed_in(&String::from_utf8_lossy(&output))
    })
}

fn output_within(child: &mut Child, patience: Duration) -> Option<Vec<u8>> {
    let mut stdout = child.stdout.take()?;
    let (told, heard) = channel();
    std::thread::spawn(move || {
        let mut output = Vec::new();
        let read = stdout.read_to_end(&mut output);
        let _ = told.send(read.ok().map(|_| output));
    });
    heard.recv_timeout(patience).ok().flatten()
}

fn changed_in(status: &str) -> Vec<String> {
    // Two letters that say how it differs, a space, the path.
    let paths = status.split('\0').filter_map(|entry| entry.get(3..));
    let paths = paths.filter(|path| !path.is_empty());
    paths.take(MOST_CHANGED).map(str::to_string).collect()
}

/// The branch that is checked out, by the file that says so.
fn head(root: &Path) -> Option<String> {
    let git = root.join(".git");
    let folder = match std::fs::read_to_string(&git) {
        Ok(text) => root.join(text.trim().strip_prefix("gitdir:")?.trim()),
        Err(_) => git,
    };
    let head = std::fs::read_to_string(folder.join("HEAD")).ok()?;
    let branch = head.trim().strip_prefix("ref: refs/heads/")?;
    Some(branch.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_says_what_is_being_changed() {
        let check = |status: &str, changed: &[&str]| assert_eq!(changed_in(status), changed);
        check(" M src/cart.rs\0?? a b.txt\0", &["src/cart.rs", "a b.txt"]);
        check(" D é.rs\0", &["é.rs"]);
        check("", &[]);
    }

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
