//! Marks of Claude Code's own in what is said: where it was stopped or a tool was not allowed.

use crate::shared::cut;

/// Number of bytes of a result that are searched for a denial.
const MAX_DENIAL_BYTES: usize = 400;

/// Texts by which results say that a tool was not allowed.
const DENIALS: [&str; 7] = [
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
    "Permission to use",
    "haven't granted it yet",
    "rejected by user",
    "denied by the user",
    "User denied",
];

/// Words of errors of tools that were used in a wrong way, in lower case.
#[rustfmt::skip]
pub(super) const TOOL_SLIPS: &[&str] = &[
    "has not been read yet", "has been modified since read", "string to replace not found", "matches of the string to replace", "no changes to make",
    "are exactly the same", "file does not exist", "exceeds maximum allowed", "sibling tool call errored", "eisdir: illegal operation",
    "cancelled: parallel tool call", "no such tool available", "inputvalidationerror", "file unchanged since", "path does not exist",
    "no task found", "unknown skill", "shell cwd was reset", "request failed with status code",
];

/// Length of the beginning of a result in which it says that the command still runs.
const MAX_BACKGROUND_BYTES: usize = 200;

/// Returns whether a result says that its command still runs.
pub(super) fn is_background(text: &str) -> bool {
    cut(text, MAX_BACKGROUND_BYTES).contains("running in background")
}

/// Returns whether a text says that the user stopped the agent.
pub(super) fn is_interruption(text: &str) -> bool {
    text.trim_start().starts_with("[Request interrupted")
}

/// Returns whether a failed result says that the call was not allowed, by the user or by a rule. `kind` is the record's own word for
/// the denial, which older logs lack.
pub(super) fn is_denial(text: &str, kind: Option<&str>) -> bool {
    let text = cut(text, MAX_DENIAL_BYTES);
    kind.is_some() || DENIALS.iter().any(|denial| text.contains(denial))
}
