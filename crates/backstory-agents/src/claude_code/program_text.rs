//! Texts that Claude Code puts into a conversation in the user's name, and that some versions do not mark as such.

/// How they begin.
const BEGINNINGS: [&str; 9] = [
    "Another Claude session",
    "Caveat:",
    "This session is being continued",
    "Called the ",
    "Result of calling the ",
    "Base directory for this skill:",
    "[SYSTEM NOTIFICATION",
    "Contents of /",
    "Operation stopped by hook",
];

/// What hooks said is handed on as `Stop hook feedback: …`, `PreToolUse:Bash hook additional context: …`.
const HOOK_WORDS: [&str; 5] = ["feedback", "additional", "success", "blocking", "error"];

/// Length of the beginning of a text in which what a hook said begins.
const MAX_HOOK_BYTES: usize = 200;

/// Returns whether a text, without space before it, is one of them.
pub(super) fn is_program_text(text: &str) -> bool {
    let mut words = text.split_whitespace().skip(1);
    let is_hook = words.next() == Some("hook")
        && words
            .next()
            .is_some_and(|word| HOOK_WORDS.contains(&word.trim_end_matches(':')))
        && crate::shared::cut(text, MAX_HOOK_BYTES).contains(':');
    is_hook || BEGINNINGS.iter().any(|start| text.starts_with(start))
}
