//! An earlier session of the project, as far as a new one may hear of it: what people asked, what the agent called, how it ended. What
//! tools answered is not in here.

use std::collections::HashMap;
use std::path::Path;

use backstory_event::{SessionName, TimeMs, TurnNo};
use backstory_store::{ChangedName, RecalledSession, Store};

use super::quote::named;
use crate::conventions::AGENT_CONVENTIONS;
use crate::digest::SessionSummary;
use crate::digest::{
    Closing, Notes, Step, What, is_go_on, is_of_a_person, prompts, readable_notes,
};
use crate::error::Result;
use crate::place::Place;
use crate::read::unless_damaged;

/// No agent gives longer ones.
const LONGEST_ID: usize = 80;

pub(super) struct Past {
    pub(super) row: RecalledSession,
    pub(super) notes: Notes,
    /// What a model wrote of it, if one was asked. It did not get what tools answered.
    pub(super) summary: Option<SessionSummary>,
    /// What it did to functions.
    pub(super) names: Vec<ChangedName>,
    short: String,
    /// The folders that its paths may be below of.
    roots: Vec<String>,
}

/// A file that a turn changed.
#[derive(Clone)]
pub(super) struct Edit {
    pub(super) file: String,
    pub(super) turn: TurnNo,
    pub(super) at: TimeMs,
}

/// Returns whether a file is one of an agent's or tool's own, which says nothing of the project: `.claude/plans/x.md`.
fn is_scratch(file: &str) -> bool {
    let mut folders = file.split('/').rev().skip(1);
    folders.any(|folder| folder.starts_with('.') && folder != ".github" && folder.len() > 1)
}

impl Past {
    /// A session, by its name; `None` when it is not known or cannot be told of.
    pub(super) fn find(store: &Store, name: &SessionName, before: TimeMs) -> Result<Option<Self>> {
        match store.recall_session(name)? {
            Some(row) => Past::load(store, row, before),
            None => Ok(None),
        }
    }

    /// A session; `None` when its id could not be told as it stands. Ids are from logs and may say anything.
    /// What was written of it later than `before` is left out.
    pub(super) fn load(
        store: &Store,
        row: RecalledSession,
        before: TimeMs,
    ) -> Result<Option<Self>> {
        let short = store.short_id(&row.agent, &row.session)?;
        if !is_citable(&short) {
            return Ok(None);
        }
        let notes = readable_notes(store, row.id, &row.agent)?;
        let summary = unless_damaged(store, store.summary(row.id))?;
        let summary = summary.filter(|row| row.at <= before);
        let summary = summary.and_then(|row| serde_json::from_slice(&row.body).ok());
        let names = store.changed_names(row.id)?;
        let roots = [row.root.clone(), row.cwd.clone()];
        let mut row = row;
        // Where it was opened and closed again later says nothing of its work.
        if notes.work_branch.is_some() {
            row.branch.clone_from(&notes.work_branch);
        }
        let worked = notes
            .steps
            .iter()
            .filter(|step| !matches!(step.what, What::Prompt(_)));
        if let Some(at) = worked.filter_map(|step| step.at).max() {
            row.last_at = at;
        }
        Ok(Some(Past {
            notes,
            summary,
            names,
            short,
            roots: roots.into_iter().flatten().collect(),
            row,
        }))
    }

    #[cfg(test)]
    pub(super) fn made(row: RecalledSession, notes: Notes, names: Vec<ChangedName>) -> Self {
        Past {
            short: row.session.clone(),
            roots: Vec::new(),
            row,
            notes,
            summary: None,
            names,
        }
    }

    /// Whether there is anything to tell of it.
    pub(super) fn says_something(&self) -> bool {
        self.row.is_headless || self.is_of_a_person() || self.edits().next().is_some()
    }

    /// Whether a person asked for something in it.
    pub(super) fn is_of_a_person(&self) -> bool {
        prompts(&self.notes).any(|(_, text)| is_of_a_person(text) && !is_go_on(text))
    }

    /// How an agent can ask for more of a turn.
    pub(super) fn cite(&self, turn: TurnNo) -> String {
        format!("[{}#{turn}]", self.short)
    }

    /// When somebody last said or did something in it. That it was opened again does not count.
    pub(super) fn last_said(&self) -> TimeMs {
        let times = self.notes.steps.iter().filter_map(|step| step.at);
        times.max().unwrap_or(self.row.last_at)
    }

    /// When a step was.
    pub(super) fn time_of(&self, step: &Step) -> TimeMs {
        step.at.unwrap_or(self.row.last_at)
    }

    /// What was changed in the project, in order.
    pub(super) fn edits(&self) -> impl Iterator<Item = Edit> {
        self.notes.steps.iter().flat_map(|step| self.edits_of(step))
    }

    /// Returns the last edit of each file, those that were edited most first.
    pub(super) fn most_edited(&self) -> Vec<Edit> {
        let mut files: Vec<(usize, Edit)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for edit in self.edits() {
            match places.get(&edit.file) {
                Some(place) => {
                    let (edits, known) = &mut files[*place];
                    *edits += 1;
                    *known = edit;
                }
                None => {
                    places.insert(edit.file.clone(), files.len());
                    files.push((1, edit));
                }
            }
        }
        files.sort_by_key(|(edits, _)| std::cmp::Reverse(*edits));
        files.into_iter().map(|(_, edit)| edit).collect()
    }

    /// What a turn changed in the project, in order.
    pub(super) fn edits_in(&self, turn: TurnNo) -> impl Iterator<Item = Edit> {
        let steps = self.notes.steps.iter();
        steps
            .filter(move |step| step.turn == turn)
            .flat_map(|step| self.edits_of(step))
    }

    fn edits_of(&self, step: &Step) -> impl Iterator<Item = Edit> {
        let paths = match &step.what {
            What::Edit {
                paths,
                failed: false,
                ..
            } => paths.as_slice(),
            _ => &[],
        };
        paths.iter().filter_map(|path| {
            Some(Edit {
                file: in_project(&self.roots, path).filter(|file| !is_scratch(file))?,
                turn: step.turn,
                at: self.time_of(step),
            })
        })
    }

    /// Returns the state in which it left its work.
    pub(super) fn closing(&self) -> Closing {
        Closing::new(&self.notes, &AGENT_CONVENTIONS)
    }

    /// Everything that was asked, called and answered by the agent in a turn, in small letters.
    pub(super) fn words_of(&self, turn: TurnNo) -> String {
        let mut words = String::new();
        for step in self.notes.steps.iter().filter(|step| step.turn == turn) {
            match &step.what {
                What::Prompt(text) | What::Reply(text) => words.push_str(text),
                What::Run(run) => words.push_str(&run.command),
                What::Edit { paths, .. } => words.push_str(&paths.join(" ")),
                _ => {}
            }
            words.push('\n');
        }
        words.to_lowercase()
    }

    pub(super) fn last_turn(&self) -> TurnNo {
        let last = self.notes.steps.last().map(|step| step.turn);
        last.unwrap_or(TurnNo::last_of(self.row.turns))
            .max(TurnNo::FIRST)
    }
}

/// Whether an id is one that agents give, rather than a text.
fn is_citable(id: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:".contains(letter);
    id.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && id.chars().all(is_plain)
        && named(id, LONGEST_ID).is_some()
}

/// A path below one of these roots of a project, in whatever worktree; `None` for what lies elsewhere.
pub(super) fn in_project(roots: &[String], path: &str) -> Option<String> {
    let is_absolute = Path::new(path).is_absolute() || path.get(1..3) == Some(":\\");
    if !is_absolute {
        let name = path.trim_start_matches("./");
        return (!name.starts_with("../")).then(|| name.to_string());
    }
    let below = |root: &String| {
        let rest = path.strip_prefix(root.trim_end_matches('/'))?;
        rest.strip_prefix(['/', '\\']).map(str::to_string)
    };
    let name = roots.iter().find_map(below)?;
    Some(Place::new(Path::new(""), &name).name)
}
