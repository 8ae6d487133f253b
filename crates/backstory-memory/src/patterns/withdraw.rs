//! Taking what forgotten sessions said out of the catalogue and out of published blocks.
//!
//! An entry that rests on other sessions too stays, described by them alone. One that says only what a forgotten session said is
//! removed. What a person wrote stays.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use backstory_analysis::detectors::Detector;
use backstory_event::SessionId;
use backstory_store::SessionHead;
use toml_edit::{DocumentMut, Item, Table};

use super::detect::{Cluster, Signals, pattern};
use super::detect::{has_common_words, is_common_of};
use super::file::{describe, parse, read, set};
use super::{Catalogue, Entry, Pattern, PatternFilter, block, publish};
use crate::Patterns;
use crate::error::{Error, Result};
use crate::hidden::one_line;
use crate::import::discover::Problem;

/// What becomes of an entry of the catalogue.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EntryChange {
    /// The pattern.
    pub(crate) id: String,
    /// Its file.
    pub(crate) path: PathBuf,
    /// The new text of the file with the entry in it; `None` when the file is removed.
    pub(crate) changed: Option<(String, Entry)>,
    /// Files that agents read, as the catalogue names them.
    pub(crate) targets: Vec<String>,
}

impl EntryChange {
    /// Writes or removes the file.
    pub(crate) fn apply(&self) -> Result<()> {
        match &self.changed {
            Some((text, _)) => crate::write_whole(&self.path, text.as_bytes()),
            None => match std::fs::remove_file(&self.path) {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    Err(Error::Unwritable {
                        path: self.path.clone(),
                        source,
                    })
                }
                _ => Ok(()),
            },
        }
    }
}

/// What is known of patterns, with and without the sessions that are forgotten.
#[derive(Default)]
struct Support {
    /// By id, the sessions that a pattern rests on are forgotten in part; what the others make of it, if there are any.
    rests: HashMap<String, Option<Pattern>>,
    /// Titles and advice of forgotten sessions.
    forgotten: HashSet<String>,
    /// Titles and advice of others.
    remaining: HashSet<String>,
}

impl Support {
    /// Returns whether a text was taken from a forgotten session and from no other.
    fn is_lost(&self, text: &str) -> bool {
        let line = one_line(text);
        let is_of = |texts: &HashSet<String>| {
            texts.contains(&line)
                || has_common_words(&line) && texts.iter().any(|text| is_common_of(&line, text))
        };
        !line.is_empty() && is_of(&self.forgotten) && !is_of(&self.remaining)
    }

    fn add(&mut self, clusters: Vec<(&'static Detector, Cluster<'_>)>, going: &HashSet<SessionId>) {
        let filter = PatternFilter::default();
        for (detector, cluster) in clusters {
            let (gone, rest): (Cluster<'_>, Cluster<'_>) = cluster
                .iter()
                .cloned()
                .partition(|(head, _)| going.contains(&head.id));
            for (texts, signals) in [(&mut self.forgotten, &gone), (&mut self.remaining, &rest)] {
                for (_, signal) in signals {
                    texts.extend([one_line(&signal.title), one_line(&signal.advice)]);
                }
            }
            if !gone.is_empty() {
                let id = pattern(detector, cluster, &filter).id;
                let rest = (!rest.is_empty()).then(|| pattern(detector, rest, &filter));
                self.rests.insert(id, rest);
            }
        }
    }
}

impl Patterns<'_> {
    /// Returns what must change in a catalogue when sessions are forgotten, while they are still stored, and files of it that were
    /// refused.
    pub(crate) fn entry_changes(
        &self,
        folder: &Path,
        sessions: &[SessionHead],
    ) -> Result<(Vec<EntryChange>, Vec<Problem>)> {
        let catalogue = Catalogue::load(folder)?;
        let problems = catalogue.problems().to_vec();
        if catalogue.entries().is_empty() {
            return Ok((Vec::new(), problems));
        }
        let going: HashSet<SessionId> = sessions.iter().map(|session| session.id).collect();
        let names: HashSet<&str> = sessions
            .iter()
            .map(|session| session.session.as_str())
            .collect();
        let signals = Signals::load(self.memory)?;
        let mut support = Support::default();
        support.add(signals.clusters(None), &going);
        let mut changes = Vec::new();
        for entry in catalogue.entries() {
            let path = catalogue.path(&entry.id);
            let before = read(&path).map_err(|reason| Error::Catalogue {
                path: path.clone(),
                reason,
            })?;
            let after = withdraw_from_entry(&before, entry, &support, &names);
            let changed = match after {
                Some(after) if after.to_string() == before.to_string() => continue,
                Some(after) => {
                    let text = after.to_string();
                    let entry = parse(&path, &text).map_err(|reason| Error::Catalogue {
                        path: path.clone(),
                        reason,
                    })?;
                    Some((text, entry))
                }
                None => None,
            };
            let targets = entry
                .published
                .iter()
                .map(|published| published.target.clone());
            changes.push(EntryChange {
                id: entry.id.clone(),
                path,
                changed,
                targets: targets.collect(),
            });
        }
        Ok((changes, problems))
    }
}

/// Returns an entry without what only forgotten sessions said; `None` when nothing of it is left.
fn withdraw_from_entry(
    before: &DocumentMut,
    entry: &Entry,
    support: &Support,
    names: &HashSet<&str>,
) -> Option<DocumentMut> {
    let is_going = |citation: &str| {
        let session = citation
            .rsplit_once('#')
            .map_or(citation, |(session, _)| session);
        names.contains(session)
    };
    let rest = support.rests.get(&entry.id).and_then(Option::as_ref);
    let mut document = before.clone();
    for (key, text, new) in [
        (
            "title",
            &entry.title,
            rest.map(|rest| one_line(&rest.title)),
        ),
        (
            "advice",
            &entry.advice,
            Some(rest.map_or_else(String::new, |rest| one_line(&rest.advice))),
        ),
    ] {
        if support.is_lost(text) {
            set(&mut document, key, new?);
        }
    }
    let history = document
        .get_mut("history")
        .and_then(Item::as_array_of_tables_mut);
    for line in history.into_iter().flat_map(|history| history.iter_mut()) {
        for key in ["title", "advice"] {
            if line
                .get(key)
                .and_then(Item::as_str)
                .is_some_and(|text| support.is_lost(text))
            {
                line.remove(key);
            }
        }
    }
    let is_cited = entry
        .seen
        .citations
        .iter()
        .any(|citation| is_going(citation));
    match rest {
        Some(rest) => {
            let domains = entry.seen.domains.clone();
            describe(
                &mut document,
                &Pattern {
                    domains,
                    ..rest.clone()
                },
            );
        }
        None if is_cited || support.rests.contains_key(&entry.id) => {
            let seen = document.get_mut("seen").and_then(Item::as_table_mut);
            let remain = seen.is_some_and(|seen| retain_citations(seen, &is_going));
            if !remain {
                document.remove("seen");
            }
        }
        None => {}
    }
    Some(document)
}

/// Removes citations; whether others are left.
fn retain_citations(seen: &mut Table, is_going: &dyn Fn(&str) -> bool) -> bool {
    let Some(citations) = seen.get_mut("citations").and_then(Item::as_array_mut) else {
        return false;
    };
    citations.retain(|citation| !citation.as_str().is_some_and(is_going));
    !citations.is_empty()
}

/// Returns published files that have to lose patterns or to describe them anew, each once however many links lead to it, and those
/// that were not found.
pub(crate) fn published_files(
    changes: &[EntryChange],
    folders: &[PathBuf],
    home: Option<&Path>,
) -> (Vec<PathBuf>, Vec<String>) {
    let (mut files, mut missing) = (BTreeMap::<PathBuf, PathBuf>::new(), Vec::new());
    for change in changes {
        for target in &change.targets {
            let candidates = candidates(target, folders, home);
            let found: Vec<PathBuf> = candidates
                .iter()
                .filter(|path| path.is_file())
                .cloned()
                .collect();
            if found.is_empty() && !missing.contains(target) {
                missing.push(target.clone());
            }
            for path in found {
                // One that cannot be read or whose block is broken may have the pattern; what is wrong shows when it is rewritten.
                if publish::rewritten_lines(&path, &entries_by_id(changes))
                    .map_or(true, |new| new.is_some())
                {
                    let file = path.canonicalize().unwrap_or_else(|_| path.clone());
                    let known = files.entry(file).or_insert_with(|| path.clone());
                    if known.is_symlink() {
                        *known = path;
                    }
                }
            }
        }
    }
    let mut files: Vec<PathBuf> = files.into_values().collect();
    files.sort();
    (files, missing)
}

/// Returns where a file may be that the catalogue calls so: by its whole path, below the home folder, or in a checkout.
fn candidates(target: &str, folders: &[PathBuf], home: Option<&Path>) -> HashSet<PathBuf> {
    let target = Path::new(target);
    if target.is_absolute() {
        return HashSet::from([target.to_path_buf()]);
    }
    if let (Ok(below), Some(home)) = (target.strip_prefix("~"), home) {
        return HashSet::from([home.join(below)]);
    }
    let Some(checkout) = target.components().next() else {
        return HashSet::new();
    };
    let is_checkout = |folder: &&Path| folder.file_name() == Some(checkout.as_os_str());
    let ancestors = folders.iter().flat_map(|folder| folder.ancestors());
    let above = ancestors.filter(is_checkout).filter_map(Path::parent);
    above.map(|above| above.join(target)).collect()
}

/// Describes patterns anew in the block of a file, or takes them out; returns whether the file was changed.
pub(crate) fn rewrite_block(path: &Path, changes: &[EntryChange]) -> Result<bool> {
    publish::rewrite_lines(path, &entries_by_id(changes))
}

/// Returns the entries that are left of patterns.
fn entries_by_id(changes: &[EntryChange]) -> HashMap<&str, Option<&Entry>> {
    let entries = changes.iter().map(|change| {
        let entry = change.changed.as_ref().map(|(_, entry)| entry);
        (change.id.as_str(), entry)
    });
    entries.collect()
}

/// Returns the bytes of the block of a file, if it has one.
pub(crate) fn published_block(path: &Path) -> Option<Vec<u8>> {
    let (_, file) = publish::read(path).ok()?;
    let file = file?;
    let place = block::find(&file).ok()??;
    Some(file[place].to_vec())
}
