//! How turns are named and told in a line.

use backstory_event::TurnNo;
use backstory_memory::Memory;

use crate::output::one_line;

/// So many characters of a prompt are shown.
const SHORT_PROMPT: usize = 100;

/// Returns the shortest id that names a session in this store, on one line. Every command takes it for the whole one.
pub(crate) fn short_id(memory: &Memory, agent: &str, session: &str) -> String {
    // In a damaged store the whole id will do.
    let id = memory.sessions().short_id(agent, session);
    one_line(id.as_deref().unwrap_or(session))
}

/// Returns `SESSION#TURN`, short.
pub(crate) fn cite_turn(
    memory: &Memory,
    agent: &str,
    session: &str,
    turn: Option<TurnNo>,
) -> String {
    let id = short_id(memory, agent, session);
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
