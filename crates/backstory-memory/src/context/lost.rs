//! What a session itself did before its history was cut.

use backstory_event::TimeMs;

use super::files::ranked_files;
use super::here::Surroundings;
use super::item::{Candidate, Reason};
use super::past::Past;
use super::phrase::{MAX_COMMAND, MAX_PROMPT};
use super::quote::quoted;
use crate::digest::{is_correction, is_decision, is_go_on, is_of_a_person, prompts};

/// Maximum number of prompts that decided nothing.
const MAX_PROMPTS: usize = 6;

/// Returns what was delivered, how checks went, what was decided, asked and changed.
pub(super) fn own_history(own: &Past, now: TimeMs) -> Vec<Candidate> {
    let candidate = |text: &str, turn| Candidate::new(text, own, turn, Reason::OwnHistory, 1.0);
    let mut decisions = Vec::new();
    let mut asked = Vec::new();
    for (step, text) in
        prompts(&own.notes).filter(|(_, text)| is_of_a_person(text) && !is_go_on(text))
    {
        let Some(said) = quoted(text, MAX_PROMPT) else {
            continue;
        };
        let item = candidate(&format!("the user said \"{said}\""), step.turn);
        if is_correction(text) || is_decision(text) {
            decisions.push(item);
        } else {
            asked.push(item);
        }
    }
    // What was said last holds.
    decisions.reverse();
    asked.reverse();
    asked.truncate(MAX_PROMPTS);
    let closing = own.closing();
    let commit = closing.commit.iter();
    let mut items: Vec<Candidate> = commit
        .map(|(hash, turn)| candidate(&format!("committed {hash}"), *turn))
        .collect();
    let check = closing.checks.iter().rev().find_map(|check| {
        let name = quoted(&check.name, MAX_COMMAND)?;
        let verdict = if check.ok { "passed" } else { "failed" };
        Some(candidate(&format!("'{name}' {verdict} last"), check.turn))
    });
    items.extend(check);
    items.extend(decisions);
    items.extend(asked);
    let here = Surroundings::elsewhere(Vec::new(), None);
    let files = ranked_files(std::slice::from_ref(own), &here);
    let files = files.iter().filter_map(|file| file.line(now));
    items.extend(files.map(|(line, turn)| candidate(&line, turn)));
    items
}
