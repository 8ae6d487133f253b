//! Who wrote a line, and why: what agents did to a file is done again, in the order of time, over its lines.
//!
//! Each edit is a step. Lines that an edit keeps keep who wrote them; those that it writes are its own. Where a log has the text
//! before an edit, that counts for more than what was reconstructed. At the end the text is compared with the file as it is:
//! lines that differ were written by no agent. An edit whose place cannot be found is kept as a fragment, and only counts for
//! lines that are found as they were written.

mod steps;
mod target;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::Path;

use backstory_code::replay::{Interner, Lane, Line, filled};
use backstory_event::{Change, SessionId, TimeMs, TurnNo};
use backstory_store::AnswerRows;

use self::steps::Step;
use self::target::Target;
use crate::Code;
use crate::error::{Error, Result};
use crate::git::{earlier_names, worktree_root};
use crate::place::Place;
use crate::read::prompt;
use crate::trusted::read_regular_file;
use crate::upkeep::WithDamage;

/// Limit for files whose lines are asked about.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Who wrote the lines of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Blame {
    /// The lines of the file as it is.
    pub lines: Vec<BlamedLine>,
    /// The turns that wrote some of them.
    pub turns: Vec<BlamedTurn>,
}

/// A line and who wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlamedLine {
    /// What it says.
    pub text: String,
    /// Which of the turns wrote it; `None` when no agent did.
    pub turn: Option<usize>,
    /// When it was written.
    pub at: Option<TimeMs>,
}

/// A turn that wrote lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlamedTurn {
    /// The session.
    pub session: String,
    /// The agent.
    pub agent: String,
    /// The turn's number.
    pub turn: TurnNo,
    /// What was asked in it.
    pub prompt: Option<String>,
}

impl Code<'_> {
    /// Tells which turns wrote the lines of a file as it is now.
    pub fn blame(&self, file: &Path) -> Result<WithDamage<Blame>> {
        let unreadable = |source| Error::Path {
            path: file.to_path_buf(),
            source,
        };
        let path = std::fs::canonicalize(file).map_err(unreadable)?;
        let bytes = read_regular_file(&path, MAX_FILE_BYTES).map_err(unreadable)?;
        let text = String::from_utf8_lossy(&bytes);
        let mut target = Target::new(&path);
        let file_name = path.file_name().map(|name| name.to_string_lossy());
        let rows = self
            .memory
            .store
            .changes_of(&file_name.unwrap_or_default(), &target.project)?;
        let mut sessions: Vec<SessionId> = rows.iter().map(|row| row.session).collect();
        sessions.sort_unstable();
        sessions.dedup();
        self.memory
            .upkeep()
            .verify_answer(&AnswerRows::Sessions(&sessions))?;
        target.adopt(&rows);
        let place = &target.place;
        // Outside of any repository the base is a folder that a log names.
        let renames = match worktree_root(&place.base) == Some(&place.base) {
            true => earlier_names(&place.base, &place.name),
            false => Vec::new(),
        };
        let mut names = vec![target.place.name.clone()];
        names.extend(renames.iter().map(|(old, _)| old.clone()));
        let steps = steps::find(&self.memory.store, &mut target, &mut names)?;
        let lines = replay(&steps, &target.place, &renames, &text);
        let blame = self.told(&text, &lines, &steps)?;
        self.memory.upkeep().with_damage(blame, None)
    }

    /// The turns behind the steps that lines are by.
    fn told(&self, text: &str, lines: &[Line], steps: &[Step]) -> Result<Blame> {
        let mut turns: Vec<BlamedTurn> = Vec::new();
        let mut known: HashMap<(SessionId, TurnNo), usize> = HashMap::new();
        let mut blamed = Vec::new();
        for (text, line) in text.lines().zip(lines) {
            let step = line.by.and_then(|by| steps.get(by as usize));
            let turn = match step {
                Some(step) => Some(match known.get(&(step.session, step.turn)) {
                    Some(turn) => *turn,
                    None => {
                        turns.push(self.turn_behind(step)?);
                        known.insert((step.session, step.turn), turns.len() - 1);
                        turns.len() - 1
                    }
                }),
                None => None,
            };
            blamed.push(BlamedLine {
                text: text.to_string(),
                turn,
                at: step.and_then(|step| step.at),
            });
        }
        Ok(Blame {
            lines: blamed,
            turns,
        })
    }

    fn turn_behind(&self, step: &Step) -> Result<BlamedTurn> {
        let heads = self.memory.store.session_heads([step.session])?;
        let head = heads.get(&step.session);
        let prompt = match head {
            Some(head) => prompt(&self.memory.store, head, step.turn)?,
            None => None,
        };
        Ok(BlamedTurn {
            session: head.map(|head| head.session.clone()).unwrap_or_default(),
            agent: step.agent.clone(),
            turn: step.turn,
            prompt,
        })
    }
}

/// Does all steps again and compares what comes of them with the text as it is.
fn replay(steps: &[Step], place: &Place, renames: &[(String, String)], text: &str) -> Vec<Line> {
    let mut interner = Interner::default();
    let mut lanes: HashMap<Place, Lane> = HashMap::new();
    for (number, step) in steps.iter().enumerate() {
        for (from, to, edit) in &step.edits {
            inherit(&mut lanes, from, renames);
            let nothing = matches!(&edit.change, Change::Hunks(hunks) if hunks.is_empty());
            // Of a file that only moved and was not known before, nothing is known now.
            if nothing && !lanes.contains_key(from) {
                continue;
            }
            let mut lane = lanes.remove(from).unwrap_or_default();
            lane.apply(edit, number as u32, &mut interner);
            lanes.insert(to.as_ref().unwrap_or(from).clone(), lane);
        }
    }
    inherit(&mut lanes, place, renames);
    let now = interner.lines(text);
    let mut lane = lanes.remove(place).unwrap_or_default();
    lane.synchronise(&now, &interner);
    let mut lines = lane.text.unwrap_or_default();
    // What was done in other worktrees and clones came here by merging.
    let mut others: Vec<Lane> = lanes.into_values().collect();
    others.sort_by_key(|other| std::cmp::Reverse(other.last));
    for other in others {
        let mut from = other.text.clone().unwrap_or_default();
        other.settle(&mut from, &interner);
        filled(&mut lines, &from);
        if other.text.is_none() {
            let mut found: Vec<Line> = lines
                .iter()
                .map(|line| Line { by: None, ..*line })
                .collect();
            other.settle(&mut found, &interner);
            for (line, found) in lines.iter_mut().zip(found) {
                line.by = line.by.or(found.by);
            }
        }
    }
    lines
}

/// A file that begins under a new name goes on from what it was under the old one.
fn inherit(lanes: &mut HashMap<Place, Lane>, place: &Place, renames: &[(String, String)]) {
    if lanes.contains_key(place) {
        return;
    }
    let mut name = &place.name;
    for (old, new) in renames {
        if new != name {
            continue;
        }
        let before = Place {
            base: place.base.clone(),
            name: old.clone(),
        };
        if let Some(lane) = lanes.remove(&before) {
            lanes.insert(place.clone(), lane);
            return;
        }
        name = old;
    }
}
