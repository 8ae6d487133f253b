//! Earlier names of a file.

use std::path::Path;
use std::time::Duration;

use super::process::{Deadline, Git};

/// Limit for all of it; names that were found until then count.
const MAX_TIME: Duration = Duration::from_secs(5);

/// Limit for the commits under one name.
const MAX_COMMITS: &str = "--max-count=2000";

/// Limit for the names.
const MAX_NAMES: usize = 50;

/// Limit for the renames that commits under one name have.
const MAX_OUTPUT_BYTES: usize = 16 << 20;

/// Returns the earlier names of a file, newest first, each with the name that replaced it. All are paths below `root`, the top folder
/// of a worktree that the user is in or has named.
pub(crate) fn earlier_names(root: &Path, file: &str) -> Vec<(String, String)> {
    let mut names: Vec<(String, String)> = Vec::new();
    let Some(git) = Git::in_worktree(root) else {
        return names;
    };
    let deadline = Deadline::after(MAX_TIME);
    let mut newest = "HEAD".to_string();
    let mut name = file.to_string();
    while names.len() < MAX_NAMES
        && let Some(rename) = last_rename(&git, &newest, &name, &deadline)
    {
        newest = format!("{}^@", rename.commit);
        names.push((rename.from.clone(), name));
        name = rename.from;
    }
    names
}

/// Finds the last commit that gave a file this name.
fn last_rename(git: &Git, newest: &str, name: &str, deadline: &Deadline) -> Option<Rename> {
    let commits = git.start(&["rev-list", MAX_COMMITS, newest, "--", name])?;
    // All changes of these commits, for a rename has another name in it.
    let (_commits, renames) = git.start_after(
        commits,
        &[
            "diff-tree",
            "--stdin",
            "-r",
            "-z",
            "-M",
            "-l1000",
            "--diff-filter=R",
            "--name-status",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=all",
        ],
    )?;
    let output = renames.read_all(deadline, MAX_OUTPUT_BYTES);
    rename_to(name, &String::from_utf8_lossy(&output))
}

#[derive(Debug, PartialEq, Eq)]
struct Rename {
    commit: String,
    from: String,
}

/// Finds the first rename to this name in the output of `git diff-tree`: commits, each followed by status, old and new name of its renames.
fn rename_to(name: &str, output: &str) -> Option<Rename> {
    // What follows the last NUL is empty or cut off.
    let (whole, _) = output.rsplit_once('\0')?;
    let mut fields = whole.split('\0');
    let mut commit = None;
    while let Some(field) = fields.next() {
        let is_status = field.strip_prefix('R').is_some_and(|score| {
            !score.is_empty() && score.bytes().all(|digit| digit.is_ascii_digit())
        });
        if !is_status {
            let is_commit = field.bytes().all(|digit| digit.is_ascii_hexdigit());
            commit = Some(field).filter(|_| is_commit);
            continue;
        }
        let (from, to) = (fields.next()?, fields.next()?);
        if to == name && from != name {
            return Some(Rename {
                commit: commit?.to_string(),
                from: from.to_string(),
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rename_to_a_name_is_found() {
        let check = |output: &str, expected: Option<(&str, &str)>| {
            let expected = expected.map(|(commit, from)| Rename {
                commit: commit.to_string(),
                from: from.to_string(),
            });
            assert_eq!(rename_to("src/pay.rs", output), expected, "{output:?}");
        };
        check(
            "ab1\0R100\0a\0b\0R093\0src/buy.rs\0src/pay.rs\0ab2\0R100\0c\0src/pay.rs\0",
            Some(("ab1", "src/buy.rs")),
        );
        // Names like a status.
        check("ab1\0R100\0R100\0src/pay.rs\0", Some(("ab1", "R100")));
        check("ab1\0R100\0src/pay.rs\0R100\0", None);
        // Cut off.
        check("ab1\0R100\0src/buy.rs\0src/pay.rs", None);
        check("R100\0src/buy.rs\0src/pay.rs\0", None);
        check("", None);
    }
}
