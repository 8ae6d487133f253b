//! The files that sessions changed lately, those first that the next one needs most likely.

use std::collections::HashMap;

use super::here::Surroundings;
use super::layers::{PATH, age};
use super::past::{Edit, Past};
use super::quote::{named, symbol};

/// How much less an older session says about which files the next one needs, with every session that came after it. Replaying real
/// histories, slower fading found more of them than faster.
const FADING: f64 = 0.97;
/// How much more those on the same branch say, and files that are being changed right now.
const SAME_BRANCH: f64 = 2.0;
const BEING_CHANGED: f64 = 20.0;

/// So many functions are told of a file.
const FUNCTIONS: usize = 6;
/// So many are looked at, for some may not be fit to be told.
const KNOWN_FUNCTIONS: usize = 24;
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
}

impl RankedFile<'_> {
    pub(super) fn line(&self, now: i64) -> Option<String> {
        let file = named(&self.file, PATH)?;
        let names = self.functions.iter().filter_map(|name| symbol(name, NAME));
        let names: Vec<String> = names.take(FUNCTIONS).collect();
        let names = match names.is_empty() {
            true => String::new(),
            false => format!(": {}", names.join(", ")),
        };
        let when = age(self.last.at, now);
        let cite = self.past.cite(self.last.turn);
        Some(format!("- {file}{names} · {when} {cite}"))
    }
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
