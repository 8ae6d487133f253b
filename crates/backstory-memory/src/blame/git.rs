//! What git knows of a file's earlier names. Only asked, and only if there is one.

use std::path::Path;
use std::process::{Command, Stdio};

/// So many commits are looked at.
const MOST_COMMITS: &str = "2000";

/// The names that a file had, newest first, each with the one that it got instead; paths below the root of the repository.
pub(super) fn earlier_names(root: &Path, file: &str) -> Vec<(String, String)> {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        // Nothing in the repository's configuration may run or write anything.
        .args([
            "--no-optional-locks",
            "--no-pager",
            "-c",
            "core.fsmonitor=false",
        ])
        .args([
            "log",
            "--follow",
            "--find-renames",
            "--no-ext-diff",
            "--no-textconv",
        ])
        .args([
            "--name-status",
            "-z",
            "--format=",
            "--max-count",
            MOST_COMMITS,
            "--",
        ])
        .arg(file)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    match output {
        Ok(output) if output.status.success() => renames(&String::from_utf8_lossy(&output.stdout)),
        _ => Vec::new(),
    }
}

fn renames(log: &str) -> Vec<(String, String)> {
    let mut fields = log.split('\0').map(|field| field.trim_start_matches('\n'));
    let mut renames = Vec::new();
    while let Some(field) = fields.next() {
        let is_rename = field.strip_prefix('R').is_some_and(|score| {
            !score.is_empty() && score.bytes().all(|digit| digit.is_ascii_digit())
        });
        if is_rename && let (Some(old), Some(new)) = (fields.next(), fields.next()) {
            renames.push((old.to_string(), new.to_string()));
        }
    }
    renames
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renames_are_found_among_other_changes() {
        let log = "M\0src/pay.rs\0\nR093\0src/buy.rs\0src/pay.rs\0A\0src/buy.rs\0";
        assert_eq!(
            renames(log),
            [("src/buy.rs".to_string(), "src/pay.rs".to_string())]
        );
        assert_eq!(renames("R100\0only one"), []);
    }
}
