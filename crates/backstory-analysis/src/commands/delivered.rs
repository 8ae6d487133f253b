//! Results that git and forges print for deliveries.

use super::delivery::{Delivery, DeliveryKind};
use super::evidence::Evidence;
use crate::text;

/// Maximum length of what is kept of a line, in bytes.
const MAX_SAID_BYTES: usize = 200;

/// Lines that say that a delivery of a kind failed.
fn failure_words(kind: DeliveryKind) -> &'static [&'static str] {
    match kind {
        DeliveryKind::Commit => &[
            "nothing to commit",
            "nothing added to commit",
            "no changes added to commit",
            "Aborting commit",
            "husky - pre-commit hook exited",
            "husky - pre-commit script failed",
            "husky - commit-msg",
            "Nothing changed.",
            "nothing changed",
        ],
        DeliveryKind::Push => &[
            "! [rejected]",
            "! [remote rejected]",
            "error: failed to push",
            "has no upstream branch",
            "error: src refspec",
            "husky - pre-push",
            "abort: push creates new remote",
        ],
        DeliveryKind::PullRequest => &[
            "already exists",
            "pull request create failed",
            "GraphQL: ",
            "must first push the current branch",
            "No commits between",
        ],
        DeliveryKind::Merge => &[
            "CONFLICT",
            "Automatic merge failed",
            "error: Your local changes",
            "is not mergeable",
            "not something we can merge",
            "refusing to merge",
            "Pull Request is not",
            "GraphQL: ",
        ],
        DeliveryKind::Tag => &["fatal: tag '"],
        DeliveryKind::Release => &[
            "npm ERR!",
            "npm error",
            "error: failed to publish",
            "HTTP 4",
            "already exists",
            "error: failed to verify",
            "HTTPError",
        ],
    }
}

/// Reader of what an output says of deliveries. Each result is given to one delivery.
pub(super) struct DeliveryReader<'a> {
    lines: &'a [&'a str],
    commits: std::vec::IntoIter<String>,
    /// Other commands of the line can have printed an error of git.
    has_others: bool,
}

impl<'a> DeliveryReader<'a> {
    pub(super) fn new(lines: &'a [&'a str], has_others: bool) -> Self {
        let commits: Vec<String> = lines.iter().filter_map(|line| commit_line(line)).collect();
        DeliveryReader {
            lines,
            commits: commits.into_iter(),
            has_others,
        }
    }

    /// Returns what the output says of the next delivery.
    pub(super) fn next_evidence(&mut self, delivery: &Delivery) -> Evidence {
        let words = failure_words(delivery.kind);
        let bad = self.find(|line| {
            let is_bad = words.iter().any(|word| line.contains(word));
            is_bad.then(|| line.trim().to_string())
        });
        let good = match delivery.kind {
            DeliveryKind::Commit => {
                let subject = delivery.subject.as_deref();
                let next = self.commits.next();
                let listed =
                    || self.find(|line| listed_commit(line, subject.filter(|_| bad.is_none())?));
                next.or_else(listed).or_else(|| self.find(jj_commit))
            }
            DeliveryKind::Push => self.find(push_line),
            DeliveryKind::PullRequest => {
                self.find(|line| address(line, &["/pull/", "/merge_requests/", "/pulls/"]))
            }
            DeliveryKind::Merge => self.find(merge_line),
            DeliveryKind::Tag => None,
            DeliveryKind::Release => self.find(release_line),
        };
        let fatal = || {
            self.find(|line| {
                line.trim_start()
                    .starts_with("fatal: ")
                    .then(|| line.trim().to_string())
            })
        };
        // A commit that was made comes before what failed later; a rejected push may still have pushed other branches.
        let is_bad = match delivery.kind {
            DeliveryKind::Commit => good.is_none() && bad.is_some(),
            _ => bad.is_some(),
        };
        // A merge that waits for checks.
        let waits = delivery.kind == DeliveryKind::Merge
            && self
                .find(|line| {
                    line.contains("will be automatically merged")
                        .then(String::new)
                })
                .is_some();
        let mut evidence = Evidence {
            ok: match (is_bad, good.is_some()) {
                (true, _) => Some(false),
                (false, true) => Some(true),
                (false, false) => None,
            },
            is_pending: waits,
            ..Evidence::default()
        };
        if evidence.ok.is_none()
            && !self.has_others
            && let Some(fatal) = fatal()
        {
            evidence.is_weakly_bad = true;
            evidence.said = Some(fatal);
        } else {
            evidence.said = if is_bad { bad } else { good };
        }
        evidence.said = evidence
            .said
            .map(|said| text::beginning(&said, MAX_SAID_BYTES).to_string());
        evidence
    }

    fn find(&self, read: impl Fn(&str) -> Option<String>) -> Option<String> {
        self.lines.iter().find_map(|line| read(line))
    }
}

/// `[main 6d56117] Fix it` of git: the hash and the subject.
fn commit_line(line: &str) -> Option<String> {
    let (inside, subject) = line.trim_start().strip_prefix('[')?.split_once("] ")?;
    let mut words = inside.split_whitespace();
    let hash = words.next_back()?;
    words.next()?;
    let is_hash =
        (7..=40).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| format!("{hash} {}", subject.trim()))
}

/// `6d56117 Fix it` or `6d56117 (HEAD -> main) Fix it` of `git log` behind a quiet commit of this subject.
fn listed_commit(line: &str, subject: &str) -> Option<String> {
    let (hash, rest) = line.trim().split_once(' ')?;
    let rest = match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(") ")?.1,
        None => rest,
    };
    let is_hash =
        (7..=40).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hash && rest == subject).then(|| format!("{hash} {subject}"))
}

/// `Parent commit (@-)      : qpvuntsm 230dd059 Fix it` of jj.
fn jj_commit(line: &str) -> Option<String> {
    let (_, commit) = line.strip_prefix("Parent commit")?.split_once(": ")?;
    Some(commit.trim().to_string())
}

/// `   85d6efa..ddadeb1  main -> main`, ` * [new branch]      web -> web`, `Everything up-to-date`.
fn push_line(line: &str) -> Option<String> {
    let trimmed = line.trim();
    if trimmed == "Everything up-to-date" {
        return Some(trimmed.to_string());
    }
    let (from, to) = trimmed.split_once(" -> ")?;
    // What is fetched goes to `origin/main`.
    let is_fetched = to.starts_with("origin/") || to.starts_with("upstream/") || to == "FETCH_HEAD";
    let first = from.trim_start_matches(['*', '+', ' ']);
    let range = first.split_whitespace().next().unwrap_or_default();
    let is_range = range.split_once("..").is_some_and(|(old, new)| {
        let is_hash =
            |hash: &str| hash.len() >= 7 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash(old) && is_hash(new.trim_start_matches('.'))
    });
    let is_new = first.starts_with("[new branch]") || first.starts_with("[new tag]");
    let is_pushed = !is_fetched && (is_range || is_new);
    is_pushed.then(|| trimmed.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn merge_line(line: &str) -> Option<String> {
    let trimmed = line.trim();
    let starts = [
        "Fast-forward",
        "Merge made by",
        "Already up to date",
        "Squash commit --",
    ];
    let is_merged = starts.iter().any(|start| trimmed.starts_with(start))
        || [
            "Merged pull request",
            "Squashed and merged pull request",
            "Rebased and merged pull request",
            "Merged!",
        ]
        .iter()
        .any(|part| trimmed.contains(part));
    is_merged.then(|| trimmed.to_string())
}

fn release_line(line: &str) -> Option<String> {
    let trimmed = line.trim();
    let is_npm = trimmed
        .strip_prefix("+ ")
        .is_some_and(|package| package.contains('@') && !package.contains(' '));
    let is_cargo = trimmed.starts_with("Published ") && trimmed.contains(" at ");
    if is_npm || is_cargo {
        return Some(trimmed.to_string());
    }
    address(line, &["/releases/tag/", "/-/releases/"])
}

/// Returns an address in a line that has one of these parts, followed by a number or a tag.
fn address(line: &str, parts: &[&str]) -> Option<String> {
    let start = line.find("https://")?;
    let rest = line.get(start..)?;
    let end = rest.find(|letter: char| letter.is_whitespace() || "\"'<>)".contains(letter));
    let address = rest.get(..end.unwrap_or(rest.len()))?;
    let is_meant = |part: &&str| {
        let behind = address.split_once(*part).map(|(_, behind)| behind);
        behind.is_some_and(|behind| {
            let is_number = behind.starts_with(|first: char| first.is_ascii_digit());
            is_number || (part.contains("release") && !behind.is_empty())
        })
    };
    parts.iter().any(is_meant).then(|| address.to_string())
}
