//! How turns are named and told in a line.

use crate::output::one_line;

/// So much of a session's id is enough to tell it from others.
const SHORT_ID: usize = 8;
/// So many characters of a prompt are shown.
const SHORT_PROMPT: usize = 100;

/// `SESSION#TURN`, short; a subagent by its own id, for it shares its session's.
pub(crate) fn citation(session: &str, turn: Option<u64>) -> String {
    let short = |id: &str| id.chars().take(SHORT_ID).collect::<String>();
    let id = match session.split_once('/') {
        Some((parent, agent)) => format!("{}/{agent}", short(parent)),
        None => short(session),
    };
    let id = one_line(&id);
    match turn {
        Some(turn) => format!("{id}#{turn}"),
        None => id,
    }
}

/// The beginning of a prompt, on one line.
pub(crate) fn short_prompt(prompt: Option<&str>) -> String {
    let prompt = one_line(prompt.unwrap_or("-"));
    let prompt = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    match prompt.char_indices().nth(SHORT_PROMPT) {
        Some((cut, _)) => format!("{}…", &prompt[..cut]),
        None => prompt,
    }
}
