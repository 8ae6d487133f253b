//! The files that earlier sessions changed, those first that the next one needs most likely.

use std::collections::HashMap;

use backstory_event::{SymbolChangeKind, TimeMs, TurnNo};
use backstory_store::{ChangedName, Store};

use super::here::Surroundings;
use super::item::{Candidate, Reason};
use super::measure::names_file;
use super::past::{Edit, Past};
use super::phrase::{MAX_PATH, age};
use super::quote::{named, signature, symbol};
use crate::code::signatures_of;
use crate::error::Result;

/// Number of last sessions of which a file that many of them changed is likely to be changed again.
const LAST_SESSIONS: usize = 10;

/// Weight of a session, relative to the one after it.
const FADING: f64 = 0.9;

/// Relevance of files with uncommitted changes, and of those that sessions on this branch changed.
const UNCOMMITTED: f64 = 0.95;
const SAME_BRANCH: f64 = 0.8;

/// Relevance of a file that all of the last sessions changed.
const CHANGED_BY_ALL: f64 = 0.9;

/// With fewer sessions than weigh so much together, that all of them changed a file says little.
const MIN_WEIGHT: f64 = 3.0;

/// Share of that for files without functions: change logs and the like are changed by all.
const WITHOUT_FUNCTIONS: f64 = 0.5;

/// Maximum number of functions of a file.
const MAX_FUNCTIONS: usize = 3;

/// Maximum number of files whose signatures are looked up.
pub(super) const MAX_LOOKED_UP: usize = 6;

/// Maximum length of a name and of a signature, in characters.
const MAX_NAME: usize = 60;
const MAX_SIGNATURE: usize = 90;

/// A file that was changed.
pub(super) struct RankedFile<'p> {
    /// Its path below the root of the project.
    pub(super) file: String,
    /// Share of the last sessions that changed it, the later ones counting more.
    share: f64,
    relevance: f64,
    reason: Reason,
    /// The session that changed it last.
    past: &'p Past,
    last: Edit,
    /// Its functions that were changed, each with its last change, the last changed first.
    functions: Vec<&'p ChangedName>,
    /// Signatures of its functions, by name.
    signatures: HashMap<String, String>,
}

impl RankedFile<'_> {
    /// Looks up the signatures that its functions had at a time.
    pub(super) fn look_up(&mut self, store: &Store, until: TimeMs) -> Result<()> {
        let Some(project) = self.past.row.project else {
            return Ok(());
        };
        match store.snapshot_named(project, &self.file, Some(until)) {
            Ok(snapshot) => {
                self.signatures = snapshot.as_ref().map(signatures_of).unwrap_or_default();
            }
            Err(backstory_store::Error::DamagedPiece(damage)) => store.meet_damage([*damage]),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Returns the line of the file, and the turn that changed it last.
    pub(super) fn line(&self, now: TimeMs) -> Option<(String, TurnNo)> {
        let file = named(&self.file, MAX_PATH)?;
        let mut functions = self.functions.clone();
        // What is new is not known from elsewhere, and what is gone matters least.
        functions.sort_by_key(|name| match name.change {
            SymbolChangeKind::New => 0,
            SymbolChangeKind::Deleted => 2,
            _ => 1,
        });
        let functions: Vec<String> = (functions.into_iter())
            .filter_map(|name| self.function(name))
            .take(MAX_FUNCTIONS)
            .collect();
        let names = match functions.is_empty() {
            true => String::new(),
            false => format!(": {}", functions.join("; ")),
        };
        let when = age(self.last.at, now);
        Some((format!("{file} · {when}{names}"), self.last.turn))
    }

    fn function(&self, changed: &ChangedName) -> Option<String> {
        let change = match changed.change {
            SymbolChangeKind::New => "NEW",
            SymbolChangeKind::Deleted => "DELETED",
            _ => "MODIFIED",
        };
        let known = self.signatures.get(&changed.name);
        // The name of a method has its class, its signature has not.
        let class = changed.name.rsplit_once('.').map(|(class, _)| class);
        let told = known.and_then(|known| {
            let known = signature(known, MAX_SIGNATURE)?;
            let class = class.and_then(|class| symbol(class, MAX_NAME));
            Some(match class.filter(|class| !known.contains(class)) {
                Some(class) => format!("{class}: {known}"),
                None => known,
            })
        });
        let told = told.or_else(|| symbol(&changed.name, MAX_NAME))?;
        Some(format!("{change} {told}"))
    }

    /// Returns whether it says more than that the file was changed.
    pub(super) fn has_functions(&self) -> bool {
        !self.functions.is_empty()
    }

    /// Returns whether one of these items names the file.
    pub(super) fn is_named_by(&self, items: &[Candidate]) -> bool {
        items.iter().any(|item| names_file(&item.text, &self.file))
    }

    /// Returns the item of the file.
    pub(super) fn candidate(&self, now: TimeMs) -> Option<Candidate> {
        let (line, turn) = self.line(now)?;
        Some(Candidate::new(
            &line,
            self.past,
            turn,
            self.reason,
            self.relevance,
        ))
    }
}

/// Returns the files that sessions changed, the most relevant first. `pasts` has the newest session first.
pub(super) fn ranked_files<'p>(pasts: &'p [Past], here: &Surroundings) -> Vec<RankedFile<'p>> {
    let mut known: HashMap<String, RankedFile<'p>> = HashMap::new();
    let mut weight = 1.0;
    let mut all = 0.0;
    for (place, past) in pasts.iter().enumerate() {
        // Of sessions further back only those on this branch count.
        let share = if place < LAST_SESSIONS { weight } else { 0.0 };
        all += share;
        weight *= FADING;
        let is_same = here.is_own_branch(past.row.branch.as_deref());
        let mut names: HashMap<&str, Vec<&ChangedName>> = HashMap::new();
        for name in past.names.iter().rev() {
            names.entry(&name.file).or_default().push(name);
        }
        // Only the last edit of each file counts.
        let mut edits: HashMap<String, Edit> = HashMap::new();
        for edit in past.edits() {
            edits.insert(edit.file.clone(), edit);
        }
        for (file, last) in edits {
            let new = || RankedFile {
                file: file.clone(),
                share: 0.0,
                relevance: 0.0,
                reason: Reason::ChangedOften,
                past,
                last: last.clone(),
                functions: Vec::new(),
                signatures: HashMap::new(),
            };
            let file = known.entry(file.clone()).or_insert_with(new);
            file.share += share;
            if is_same && file.reason != Reason::SameBranch {
                // What was done to it on another branch since is not here.
                file.reason = Reason::SameBranch;
                (file.past, file.last) = (past, last.clone());
                file.functions.clear();
            }
            let own = names.get(file.file.as_str());
            // The line names one session, and what others did to the file is theirs: the last one that changed functions.
            let is_told = !file.functions.is_empty();
            if own.is_some() && !is_told && (is_same || file.reason != Reason::SameBranch) {
                (file.past, file.last) = (past, last);
            }
            let own = own.filter(|_| std::ptr::eq(file.past, past));
            for name in own.into_iter().flatten() {
                if !file.functions.iter().any(|known| known.name == name.name) {
                    file.functions.push(name);
                }
            }
        }
    }
    for file in here.changed() {
        if let Some(file) = known.get_mut(file) {
            file.reason = Reason::UncommittedFile;
        }
    }
    let mut ranked: Vec<RankedFile<'p>> = known.into_values().collect();
    for file in &mut ranked {
        file.share /= f64::max(all, MIN_WEIGHT);
        let kind = if file.functions.is_empty() {
            WITHOUT_FUNCTIONS
        } else {
            1.0
        };
        file.relevance = match file.reason {
            Reason::UncommittedFile => UNCOMMITTED,
            Reason::SameBranch => SAME_BRANCH,
            // On a branch of its own, what others change says nothing.
            _ if !here.is_on_trunk() => 0.0,
            _ => CHANGED_BY_ALL * kind * file.share,
        };
    }
    ranked.sort_by(|a, b| {
        (b.relevance.total_cmp(&a.relevance))
            .then(b.share.total_cmp(&a.share))
            .then_with(|| a.file.cmp(&b.file))
    });
    ranked
}
