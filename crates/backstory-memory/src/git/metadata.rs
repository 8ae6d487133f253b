//! Files of `.git` that are read without git.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::process::{Deadline, Git};
use crate::trusted::read_regular_file;

/// Limit for files of a single line: `.git` of a worktree, `commondir`, `HEAD`.
const MAX_LINE_FILE_BYTES: u64 = 8 << 10;

/// Limit for `config`.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Files below the folder of a worktree or repository that git reads whole, and the longest that they are anywhere.
const FILES_READ_BY_GIT: &[(&str, u64)] = &[
    ("HEAD", MAX_LINE_FILE_BYTES),
    ("commondir", MAX_LINE_FILE_BYTES),
    ("gitdir", MAX_LINE_FILE_BYTES),
    ("config", 16 << 20),
    ("config.worktree", 16 << 20),
    ("index", 2 << 30),
    ("packed-refs", 512 << 20),
    ("shallow", 64 << 20),
    ("info/grafts", 64 << 20),
    ("info/attributes", 16 << 20),
    ("info/exclude", 16 << 20),
    ("info/sparse-checkout", 16 << 20),
    ("reftable/tables.list", 1 << 20),
    ("objects/info/commit-graph", 4 << 30),
    ("objects/info/commit-graphs/commit-graph-chain", 1 << 20),
    ("objects/pack/multi-pack-index", 4 << 30),
];

/// Limit for a list of other folders with objects, and for how many such lists git follows.
const MAX_ALTERNATES_BYTES: u64 = 64 << 10;
const MAX_ALTERNATES: usize = 64;

/// Limits for asking git for the branch.
const MAX_BRANCH_TIME: Duration = Duration::from_millis(80);
const MAX_BRANCH_BYTES: usize = 4 << 10;

/// Longer addresses of remotes are ignored.
const MAX_URL_BYTES: usize = 4 << 10;

/// Returns the top folder of the worktree or clone around a folder; `None` outside of any.
pub fn worktree_root(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|folder| {
        let git = std::fs::metadata(folder.join(".git"));
        folder.is_absolute() && git.is_ok_and(|git| git.is_dir() || git.is_file())
    })
}

/// A repository, shared by its worktrees.
pub(crate) struct Repository {
    /// The top folder of the main worktree.
    pub(crate) root: PathBuf,
    /// The folder with the configuration.
    common_folder: PathBuf,
}

impl Repository {
    /// Finds the repository around a folder.
    pub(crate) fn find_around(folder: &Path) -> Option<Self> {
        folder
            .ancestors()
            .filter(|folder| folder.is_absolute())
            .find_map(Repository::at)
    }

    fn at(root: &Path) -> Option<Self> {
        let git = root.join(".git");
        if std::fs::metadata(&git).ok()?.is_dir() {
            return Some(Repository {
                root: root.to_path_buf(),
                common_folder: git,
            });
        }
        let folder = linked_folder(root)?;
        let Some(common) = read_line_file(&folder.join("commondir")) else {
            // A submodule.
            return Some(Repository {
                root: root.to_path_buf(),
                common_folder: folder,
            });
        };
        let common = std::fs::canonicalize(folder.join(common)).ok()?;
        let root = common.parent().filter(|_| common.ends_with(".git"))?;
        Some(Repository {
            root: root.to_path_buf(),
            common_folder: common,
        })
    }

    /// Returns the URL of the remote `origin`, or else of the first one.
    pub(crate) fn remote_url(&self) -> Option<String> {
        let config = read_regular_file(&self.common_folder.join("config"), MAX_CONFIG_BYTES);
        let config = config.ok()?;
        let config = String::from_utf8_lossy(&config);
        let mut section = None;
        let mut first = None;
        for line in config.lines().map(str::trim) {
            if line.starts_with('[') {
                section = line
                    .strip_prefix("[remote \"")
                    .and_then(|rest| rest.strip_suffix("\"]"));
            } else if let Some(name) = section
                && let Some((key, url)) = line.split_once('=')
                && key.trim() == "url"
                && url.len() <= MAX_URL_BYTES
            {
                let url = url.trim().to_string();
                if name == "origin" {
                    return Some(url);
                }
                first = first.or(Some(url));
            }
        }
        first
    }
}

/// Returns the checked out branch of a worktree; `root` is its top folder, which must be one that the user is in or has named.
pub(crate) fn head_branch(root: &Path) -> Option<String> {
    let head = read_line_file(&git_folder(root)?.join("HEAD"))?;
    match head.strip_prefix("ref: refs/heads/")? {
        // Where refs are in the reftable format; only git can read that.
        ".invalid" => {
            let branch = Git::in_worktree(root)?.start(&["symbolic-ref", "--quiet", "HEAD"])?;
            let branch = branch.read_all(&Deadline::after(MAX_BRANCH_TIME), MAX_BRANCH_BYTES);
            let branch = String::from_utf8_lossy(&branch);
            branch
                .trim()
                .strip_prefix("refs/heads/")
                .map(str::to_string)
        }
        branch => Some(branch.to_string()),
    }
}

/// Returns the folder with `HEAD` and index of the worktree at `root`.
pub(super) fn git_folder(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    match std::fs::metadata(&git).ok()?.is_dir() {
        true => Some(git),
        false => linked_folder(root),
    }
}

/// Whether git can be started in a worktree: everything that it reads whole is a regular file of sane size, or not there. Git reads a
/// link to `/dev/zero` until there is no memory left.
pub(super) fn is_safe_for_git(root: &Path) -> bool {
    let Some(folder) = git_folder(root) else {
        return false;
    };
    let common = match read_line_file(&folder.join("commondir")) {
        Some(common) => folder.join(common),
        None => folder.clone(),
    };
    let head = read_line_file(&folder.join("HEAD"));
    let branch = head.as_deref().and_then(|head| head.strip_prefix("ref: "));
    [&folder, &common].into_iter().all(|folder| {
        let mut files = FILES_READ_BY_GIT.iter();
        files.all(|(name, max_bytes)| is_sane_file(&folder.join(name), *max_bytes))
            && branch.is_none_or(|name| is_sane_file(&folder.join(name), MAX_LINE_FILE_BYTES))
    }) && has_sane_alternates(common.join("objects"))
}

/// Whether the lists of folders with more objects are sane, each of which may name others with a list.
fn has_sane_alternates(objects: PathBuf) -> bool {
    let mut folders = vec![objects];
    let mut at = 0;
    while let Some(folder) = folders.get(at).cloned() {
        let list = folder.join("info/alternates");
        if at >= MAX_ALTERNATES || !is_sane_file(&list, MAX_ALTERNATES_BYTES) {
            return false;
        }
        let bytes = read_regular_file(&list, MAX_ALTERNATES_BYTES).unwrap_or_default();
        for line in String::from_utf8_lossy(&bytes).lines() {
            let named = folder.join(line.trim());
            if !line.is_empty() && !line.starts_with('#') && !folders.contains(&named) {
                folders.push(named);
            }
        }
        at += 1;
    }
    true
}

/// Whether a file is regular and no longer than this, or not there.
fn is_sane_file(path: &Path, max_bytes: u64) -> bool {
    match std::fs::metadata(path) {
        Ok(file) => file.is_file() && file.len() <= max_bytes,
        // Git takes links that lead nowhere as files that are not there, or stops.
        Err(error) => {
            error.kind() == std::io::ErrorKind::NotFound
                || error.kind() == std::io::ErrorKind::NotADirectory
        }
    }
}

/// Returns the folder that the file `.git` of a worktree or submodule names.
fn linked_folder(root: &Path) -> Option<PathBuf> {
    let link = read_line_file(&root.join(".git"))?;
    Some(root.join(link.strip_prefix("gitdir:")?.trim()))
}

fn read_line_file(path: &Path) -> Option<String> {
    let bytes = read_regular_file(path, MAX_LINE_FILE_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_string())
}
