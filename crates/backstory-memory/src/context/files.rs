//! The files that sessions changed lately, those first that the next one needs most likely.

use std::collections::HashMap;

use backstory_event::TimeMs;
use backstory_store::Store;

use super::here::Surroundings;
use super::layers::{PATH, age};
use super::past::{Edit, Past};
use super::quote::{named, symbol};
use crate::code::functions_of;
use crate::error::Result;

/// How much less an older session says about which files the next one needs, with every session that came after it. Replaying real
/// histories, slower fading found more of them than faster.
const FADING: f64 = 0.97;
/// How much more those on the same branch say, and files that are being changed right now.
const SAME_BRANCH: f64 = 2.0;
const BEING_CHANGED: f64 = 20.0;

/// So many functions are told of a file that were changed, and of others that it has.
const FUNCTIONS: usize = 6;
/// So many are looked at, for some may not be fit to be told.
const KNOWN_FUNCTIONS: usize = 24;
/// Of so many files it is told what else they have.
pub(super) const MAPPED: usize = 5;
const NAME: usize = 60;

/// A file that was changed.
pub(super) struct RankedFile<'p> {
    /// Its path below the root of the project.
    pub(super) file: String,
    score: f64,
    /// Who changed it last.
    past: &'p Past,
    last: Edit,
    /// Its functions that were changed, the last ones first.
    functions: Vec<&'p str>,
    /// All that it has.
    map: Vec<String>,
}

impl RankedFile<'_> {
    /// Looks up which functions the file has.
    pub(super) fn look_up(&mut self, store: &Store) -> Result<()> {
        let Some(project) = self.past.row.project else {
            return Ok(());
        };
        match store.snapshot_named(project, &self.file) {
            Ok(snapshot) => self.map = snapshot.as_ref().map(functions_of).unwrap_or_default(),
            Err(backstory_store::Error::DamagedPiece(damage)) => store.meet_damage([*damage]),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    pub(super) fn line(&self, now: TimeMs) -> Option<String> {
        let file = named(&self.file, PATH)?;
        let changed = some_named(self.functions.iter().copied());
        let is_other = |name: &&str| !self.functions.contains(name);
        let others = some_named(self.map.iter().map(String::as_str).filter(is_other));
        let names = match (changed.is_empty(), others.is_empty()) {
            (true, true) => String::new(),
            (false, true) => format!(": {changed}"),
            (true, false) => format!(", which has {others}"),
            (false, false) => format!(": {changed}, beside {others}"),
        };
        let when = age(self.last.at, now);
        let cite = self.past.cite(self.last.turn);
        Some(format!("- {file}{names} · {when} {cite}"))
    }
}

/// The first names of some that may be quoted. What they are in is told once: `Cart.add, .take`.
fn some_named<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<String> = names
        .filter_map(|name| symbol(name, NAME))
        .take(FUNCTIONS)
        .collect();
    let around = |name: &str| name.rfind('.').unwrap_or(0);
    let mut told = String::new();
    for (place, name) in names.iter().enumerate() {
        let within = &name[..around(name)];
        let before = place.checked_sub(1).map(|before| &names[before]);
        let is_same = before.is_some_and(|before| before[..around(before)] == *within);
        if place > 0 {
            told.push_str(", ");
        }
        told.push_str(if is_same { &name[within.len()..] } else { name });
    }
    told
}

/// The files that sessions changed. `pasts` has the newest session first.
pub(super) fn ranked_files<'p>(pasts: &'p [Past], here: &Surroundings) -> Vec<RankedFile<'p>> {
    let mut known: HashMap<String, RankedFile<'p>> = HashMap::new();
    let mut weight = 1.0;
    for past in pasts {
        let is_same = here.branch.is_some() && here.branch == past.row.branch;
        let score = weight * if is_same { SAME_BRANCH } else { 1.0 };
        weight *= FADING;
        let mut names: HashMap<&str, Vec<&str>> = HashMap::new();
        for name in past.names.iter().rev() {
            names.entry(&name.file).or_default().push(&name.name);
        }
        // Only the last edit of each file counts.
        let mut edits: HashMap<String, Edit> = HashMap::new();
        for edit in past.edits() {
            edits.insert(edit.file.clone(), edit);
        }
        for (file, last) in edits {
            let file = known.entry(file.clone()).or_insert_with(|| RankedFile {
                file,
                score: 0.0,
                past,
                last,
                functions: Vec::new(),
                map: Vec::new(),
            });
            file.score += score;
            for name in names.get(file.file.as_str()).into_iter().flatten() {
                if file.functions.len() < KNOWN_FUNCTIONS && !file.functions.contains(name) {
                    file.functions.push(name);
                }
            }
        }
    }
    for file in here.changed() {
        if let Some(file) = known.get_mut(file) {
            file.score += BEING_CHANGED;
        }
    }
    let mut ranked: Vec<RankedFile<'p>> = known.into_values().collect();
    ranked.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| a.file.cmp(&b.file))
    });
    ranked
}
