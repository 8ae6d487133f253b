//! Turns that were about the prompt, or about files with uncommitted changes.

use backstory_event::{TimeMs, TurnNo};

use super::here::Surroundings;
use super::item::{Candidate, Reason};
use super::past::{Edit, Past};
use super::phrase::{MAX_PROMPT, age, files_of};
use super::quote::quoted;
use crate::digest::{is_go_on, is_of_a_person, prompts};

/// Maximum number of files of a turn.
const MAX_FILES: usize = 3;

/// Relevance of the last turn about files with uncommitted changes, and how much each earlier one has less.
const UNCOMMITTED: f64 = 0.9;
const FADING: f64 = 0.7;

/// Returns the turns that changed files which have uncommitted changes now, the last first.
pub(super) fn about_uncommitted(
    pasts: &[Past],
    here: &Surroundings,
    now: TimeMs,
) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut relevance = UNCOMMITTED;
    for past in pasts {
        let about = past
            .edits()
            .filter(|edit| here.changed().contains(&edit.file));
        let mut turns: Vec<TurnNo> = about.map(|edit| edit.turn).collect();
        turns.dedup();
        // What a session asked last of a file holds.
        let last = turns.into_iter().rev();
        let mut lines = last.filter_map(|turn| Some((turn, turn_line(past, turn, here, now)?)));
        if let Some((turn, line)) = lines.next() {
            let reason = Reason::UncommittedFile;
            candidates.push(Candidate::new(&line, past, turn, reason, relevance));
            relevance *= FADING;
        }
    }
    candidates
}

/// Returns what was asked in a turn, and what was changed for it. Files with uncommitted changes come first: they are why it is told.
pub(super) fn turn_line(
    past: &Past,
    turn: TurnNo,
    here: &Surroundings,
    now: TimeMs,
) -> Option<String> {
    let mut edits: Vec<Edit> = past.edits_in(turn).collect();
    edits.sort_by_key(|edit| !here.changed().contains(&edit.file));
    let mut steps = prompts(&past.notes);
    let asked = steps.find(|(step, _)| step.turn == turn);
    let at = asked.map(|(step, _)| past.time_of(step));
    let at = at.or(edits.first().map(|edit| edit.at));
    let asked = asked.map(|(_, text)| text);
    let asked = asked.filter(|text| is_of_a_person(text) && !is_go_on(text));
    let asked = asked.and_then(|text| quoted(text, MAX_PROMPT));
    let what = match (asked, files_of(&edits, MAX_FILES)) {
        (None, files) if files.is_empty() => return None,
        (None, files) => format!("edited {files}"),
        (Some(asked), files) if files.is_empty() => format!("asked \"{asked}\""),
        (Some(asked), files) => format!("edited {files} for \"{asked}\""),
    };
    let when = age(at.unwrap_or(past.row.last_at), now);
    Some(format!("{what} · {when}"))
}
