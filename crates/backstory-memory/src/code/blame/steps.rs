//! Finding all that agents did to a file, under all its names, in the order of time.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use backstory_event::{FileEdit, Seq, SessionId, TimeMs, TurnNo};
use backstory_store::{ChangeRow, EventRange, Store};

use super::target::Target;
use crate::code::EditReader;
use crate::error::Result;
use crate::place::Place;

/// A file that was renamed more often than this is followed no further.
const MOST_NAMES: usize = 32;

/// One successful tool call that changed the file.
pub(super) struct Step {
    /// The row of the session.
    pub(super) session: SessionId,
    /// The agent.
    pub(super) agent: String,
    /// The turn.
    pub(super) turn: TurnNo,
    /// When it was done.
    pub(super) at: Option<TimeMs>,
    /// What it did: to which file, where that went, and how.
    pub(super) edits: Vec<(Place, Option<Place>, FileEdit)>,
    /// Its place in the session.
    order: Seq,
}

#[cfg(test)]
impl Step {
    /// A step that is one edit.
    pub(super) fn on(from: Place, to: Option<Place>, edit: FileEdit) -> Self {
        Step {
            session: 1.into(),
            agent: String::new(),
            turn: TurnNo::FIRST,
            at: None,
            edits: vec![(from, to, edit)],
            order: Seq::ZERO,
        }
    }
}

/// All steps on a file. `names` are those that it is known to have had, the present one among them; more are added.
pub(super) fn find(
    store: &Store,
    target: &mut Target,
    names: &mut Vec<String>,
) -> Result<Vec<Step>> {
    let mut edits = EditReader::new(store);
    let mut steps: BTreeMap<(SessionId, Seq), Option<Step>> = BTreeMap::new();
    let mut asked: HashSet<String> = HashSet::new();
    let mut next = 0;
    while let Some(name) = names.get(next).cloned() {
        next += 1;
        let file = name.rsplit('/').next().unwrap_or_default().to_string();
        if asked.insert(file.clone()) {
            for row in store.changes_of(&file, &target.project)? {
                if let Entry::Vacant(unknown) = steps.entry((row.session, row.seq)) {
                    unknown.insert(step(store, &mut edits, target, &row)?);
                }
            }
        }
        // What was moved here had another name before.
        for (from, to, _) in steps.values().flatten().flat_map(|step| &step.edits) {
            let moved_here = to.as_ref().is_some_and(|to| names.contains(&to.name));
            if moved_here && !names.contains(&from.name) && names.len() < MOST_NAMES {
                names.push(from.name.clone());
            }
        }
    }
    let mut found: Vec<Step> = steps.into_values().flatten().collect();
    for step in &mut found {
        step.edits.retain(|(from, to, _)| {
            names.contains(&from.name) || to.as_ref().is_some_and(|to| names.contains(&to.name))
        });
    }
    found.retain(|step| !step.edits.is_empty());
    Ok(in_order(found))
}

/// By time; within a session never back, whatever its clock said.
fn in_order(mut steps: Vec<Step>) -> Vec<Step> {
    steps.sort_by_key(|step| (step.session, step.order));
    let mut latest: HashMap<SessionId, TimeMs> = HashMap::new();
    let mut timed: Vec<(TimeMs, Step)> = Vec::new();
    for step in steps {
        let latest = latest.entry(step.session).or_insert(TimeMs::MIN);
        *latest = step.at.unwrap_or(*latest).max(*latest);
        timed.push((*latest, step));
    }
    timed.sort_by_key(|(at, _)| *at);
    timed.into_iter().map(|(_, step)| step).collect()
}

/// What a call did; `None` when it failed, was never answered, or changed nothing of this project.
fn step(
    store: &Store,
    edits: &mut EditReader<'_>,
    target: &mut Target,
    row: &ChangeRow,
) -> Result<Option<Step>> {
    let Some(call) = store.events(row.session, EventRange::One(row.seq))?.pop() else {
        return Ok(None);
    };
    let result = store.result_of(row.session, row.seq)?;
    let Some(result) = result.filter(|result| !result.event.error) else {
        return Ok(None);
    };
    let edits = edits.edits(&row.agent, &call, &result)?;
    let mut placed = Vec::new();
    for edit in edits {
        let to = edit.moved_to.as_deref();
        let mut to = to.and_then(|to| target.locate(to, row));
        if let Some(from) = target.locate(&edit.path, row) {
            // What is moved to a folder keeps its name there.
            if let Some(to) = &mut to
                && to.base.join(&to.name).is_dir()
            {
                let name = from.name.rsplit('/').next().unwrap_or_default();
                to.name = format!("{}/{name}", to.name);
            }
            placed.push((from, to, edit));
        }
    }
    Ok(Some(Step {
        session: row.session,
        agent: row.agent.clone(),
        turn: call.turn,
        at: result.event.at.or(call.event.at).or(row.started_at),
        edits: placed,
        order: result.seq,
    }))
}
