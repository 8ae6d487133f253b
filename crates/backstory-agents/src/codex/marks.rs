//! How Codex tells that the user stopped it or did not allow a call.

use crate::shared::cut;

/// No mark begins later in a text.
const MAX_MARK_BYTES: usize = 400;

/// How a message in the user's name begins that tells the model of an interruption.
const TURN_ABORTED: &str = "<turn_aborted";
const MAX_ABORTED_BYTES: usize = 200;

/// Whole answers of calls that the user did not allow.
const REJECTIONS: &[&str] = &[
    "exec command rejected by user",
    "patch rejected by user",
    "rejected by user",
    "User denied execution",
];

/// Words of failed answers: `exec_command failed for …: CreateProcess { message: "Rejected(\"rejected by user\")" }`.
const REJECTED: &[&str] = &["rejected by user", "denied by the user", "User denied"];

/// Returns whether a text that no person wrote says that the user stopped the agent.
pub(super) fn is_interruption(text: &str) -> bool {
    cut(text, MAX_ABORTED_BYTES).contains(TURN_ABORTED)
}

/// Returns whether the answer of a tool says that the user did not allow the call.
pub(super) fn is_denial(answer: &str, failed: bool) -> bool {
    let start = cut(answer, MAX_MARK_BYTES);
    REJECTIONS.contains(&answer) || failed && REJECTED.iter().any(|words| start.contains(words))
}
