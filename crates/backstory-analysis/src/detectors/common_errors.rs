//! Errors that every agent words in its own way and that are the same.

use super::tool_errors::errors;
use super::{Detector, PatternKind, Signal};
use crate::AgentConventions;
use crate::digest::Notes;

pub(super) const DETECTOR: Detector = Detector {
    name: "common_errors",
    kind: PatternKind::Problem,
    weight: 1.5,
    alike: None,
    detect,
};

fn detect(notes: &Notes, agents: &AgentConventions, found: &mut Vec<Signal>) {
    for (step, _, said) in errors(notes, agents) {
        if let Some(family) = family(said) {
            let title = family.title.to_string();
            let signal = Signal::at(step, title.clone(), title, said);
            let signal = signal.advising(family.advice.to_string());
            found.push(if family.is_slip {
                signal.minor()
            } else {
                signal
            });
        }
    }
}

/// An error in all its wordings.
struct Family {
    /// In lower case; any of them is enough.
    wordings: &'static [&'static str],
    title: &'static str,
    advice: &'static str,
    /// True if it says something of the agent's tools, and nothing of the project.
    is_slip: bool,
}

const FAMILIES: &[Family] = &[
    Family {
        wordings: &[
            "string to replace not found",
            "failed to find expected lines",
            "old_string not found",
            "failed to find context",
            "could not find the string to replace",
        ],
        title: "edits fail: the text to replace is not in the file",
        advice: "Read the file again right before editing it.",
        is_slip: true,
    },
    Family {
        wordings: &["matches of the string to replace"],
        title: "edits fail: the text to replace is in the file more than once",
        advice: "Give more of the text around the place, so that it is the only one.",
        is_slip: true,
    },
    Family {
        wordings: &[
            "has not been read yet",
            "has been modified since read",
            "has been unexpectedly modified",
        ],
        title: "edits fail: the file was not read before, or changed since",
        advice: "Read a file right before writing to it.",
        is_slip: true,
    },
    Family {
        wordings: &[
            "old_string and new_string are exactly the same",
            "no changes to make",
        ],
        title: "edits fail: they change nothing",
        advice: "Compare the old text with the new one before editing.",
        is_slip: true,
    },
    Family {
        wordings: &[
            "invalid hunk",
            "not a valid hunk header",
            "patch does not apply",
            "corrupt patch",
        ],
        title: "edits fail: the patch is not well formed",
        advice: "Write smaller patches, each with its own context lines.",
        is_slip: true,
    },
    Family {
        wordings: &[
            "command timed out",
            "timed out after",
            "timeout exceeded",
            "deadline exceeded",
        ],
        title: "commands are stopped because they take too long",
        advice: "Give long commands more time, or run them in the background.",
        is_slip: true,
    },
    Family {
        wordings: &[
            "unexpected eof while looking for matching",
            "here-document at line",
            "unterminated quoted string",
            "unmatched \"",
            "unmatched '",
            "parse error near",
        ],
        title: "shell commands break on their quotes",
        advice: "Write long or quoted text to a file first instead of passing it in the command.",
        is_slip: true,
    },
    Family {
        wordings: &[
            "failed to push some refs",
            "non-fast-forward",
            "fetch first)",
        ],
        title: "pushes are rejected because the branch has moved on",
        advice: "Fetch and rebase before pushing.",
        is_slip: true,
    },
    Family {
        wordings: &[
            "could not apply",
            "merge conflict",
            "conflict (content)",
            "fix conflicts",
        ],
        title: "merges and rebases end in conflicts",
        advice: "Look at what changed on the other side before merging.",
        is_slip: true,
    },
    Family {
        wordings: &["permission denied", "operation not permitted", "eacces"],
        title: "commands lack the permission they need",
        advice: "",
        is_slip: true,
    },
    Family {
        wordings: &[
            "could not resolve host",
            "connection refused",
            "network is unreachable",
            "status code 403",
            "econnrefused",
            "error sending request",
        ],
        title: "a server cannot be reached",
        advice: "Check whether the server runs and the network is open before trying again.",
        is_slip: false,
    },
    Family {
        wordings: &[
            "exceeds maximum allowed tokens",
            "exceeds maximum allowed size",
            "file content exceeds",
        ],
        title: "files are too large to read at once",
        advice: "Search in large files, or read a part of them.",
        is_slip: true,
    },
    Family {
        wordings: &["not a git repository"],
        title: "git is run outside of a repository",
        advice: "Change into the repository first.",
        is_slip: true,
    },
    Family {
        wordings: &[
            "inputvalidationerror",
            "missing required parameter",
            "invalid arguments",
            "failed to parse function arguments",
        ],
        title: "tools are called with wrong arguments",
        advice: "",
        is_slip: true,
    },
    Family {
        wordings: &["nothing to commit", "no changes added to commit"],
        title: "commits fail: nothing was added",
        advice: "Add the changed files before committing.",
        is_slip: true,
    },
];

/// Returns whether an error belongs to a family.
pub(super) fn is(said: &str) -> bool {
    family(said).is_some()
}

fn family(said: &str) -> Option<&'static Family> {
    let lower = said.to_lowercase();
    FAMILIES
        .iter()
        .find(|family| family.wordings.iter().any(|words| lower.contains(words)))
}
