//! The catalogue: a folder with a file for each pattern that people decided about. They keep it in git and edit it by hand, so a
//! change touches only what it must, and comments and keys of their own stay.

use std::path::{Path, PathBuf};

use backstory_event::TimeMs;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::file::{NO_TABLES, describe, parse, push, read, set, written_time};
use super::{Entry, Pattern, Publication, Status};
use crate::error::{Error, Result};
use crate::import::discover::Problem;

/// What people decided about patterns.
#[derive(Debug)]
pub struct Catalogue {
    folder: PathBuf,
    entries: Vec<Entry>,
    problems: Vec<Problem>,
}

impl Catalogue {
    /// Reads the catalogue in a folder; one that is not there is empty. A file that cannot be read is a problem of its own.
    pub fn load(folder: &Path) -> Result<Self> {
        let mut catalogue = Catalogue {
            folder: folder.to_path_buf(),
            entries: Vec::new(),
            problems: Vec::new(),
        };
        let listing = match std::fs::read_dir(folder) {
            Ok(listing) => listing,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(catalogue),
            Err(source) => {
                let path = folder.to_path_buf();
                return Err(Error::Path { path, source });
            }
        };
        let paths = listing.filter_map(|entry| Some(entry.ok()?.path()));
        let is_entry = |path: &PathBuf| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        };
        let mut paths: Vec<PathBuf> = paths.filter(is_entry).collect();
        paths.sort();
        for path in paths {
            match read(&path).and_then(|document| parse(&path, &document.to_string())) {
                Ok(entry) => catalogue.entries.push(entry),
                Err(reason) => catalogue.problems.push(Problem { path, reason }),
            }
        }
        // Names of files sort otherwise than what they are named by: `-` comes before `.`.
        catalogue
            .entries
            .sort_by(|one, other| one.id.cmp(&other.id));
        Ok(catalogue)
    }

    /// The entries, by id.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Files that are no entries.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The entry of a pattern.
    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// The file of a pattern.
    pub fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.toml"))
    }

    /// Approves or rejects a pattern, which must be a candidate or known here; false when it was so already.
    pub fn decide(
        &mut self,
        id: &str,
        candidate: Option<&Pattern>,
        status: Status,
        now: TimeMs,
    ) -> Result<bool> {
        match (self.entry(id), candidate) {
            (Some(entry), _) if entry.status == status => return Ok(false),
            (
                Some(Entry {
                    merged_into: Some(into),
                    ..
                }),
                _,
            ) => {
                let (id, into) = (id.to_string(), into.clone());
                return Err(Error::MergedPattern { id, into });
            }
            (Some(_), _) => {}
            (None, Some(pattern)) => self.check_absent(pattern)?,
            (None, None) => return Err(Error::UnknownPattern(id.to_string())),
        }
        self.change(id, status.name(), now, |document, _| {
            if let Some(pattern) = candidate {
                describe(document, pattern);
            }
            set(document, "status", status.name());
            Ok(())
        })?;
        Ok(true)
    }

    /// Changes what is said of a pattern; false when it said so already.
    pub fn edit(
        &mut self,
        id: &str,
        title: Option<&str>,
        advice: Option<&str>,
        now: TimeMs,
    ) -> Result<bool> {
        let before = self.known(id)?.clone();
        let title = title.filter(|title| *title != before.title);
        let advice = advice.filter(|advice| *advice != before.advice);
        if title.is_none() && advice.is_none() {
            return Ok(false);
        }
        self.change(id, "edited", now, |document, line| {
            for (key, text, old) in [
                ("title", title, before.title),
                ("advice", advice, before.advice),
            ] {
                if let Some(text) = text {
                    set(document, key, text);
                    set(line, key, old);
                }
            }
            Ok(())
        })?;
        Ok(true)
    }

    /// Takes in a file that a person has edited since it was loaded, and keeps in its history what it said; false when it says
    /// the same.
    pub fn take_edited(&mut self, id: &str, now: TimeMs) -> Result<bool> {
        let before = self.known(id)?.clone();
        let path = self.path(id);
        let text = read(&path)
            .map_err(|reason| self.bad(id, reason))?
            .to_string();
        let after = parse(&path, &text).map_err(|reason| self.bad(id, reason))?;
        if (&after.title, &after.advice) == (&before.title, &before.advice) {
            self.replace(after);
            return Ok(false);
        }
        self.change(id, "edited", now, |_, line| {
            for (key, old, new) in [
                ("title", before.title, after.title),
                ("advice", before.advice, after.advice),
            ] {
                if old != new {
                    set(line, key, old);
                }
            }
            Ok(())
        })?;
        Ok(true)
    }

    /// Says that a pattern is the same as another, which must be known here; false when that was said already.
    pub fn merge(
        &mut self,
        id: &str,
        candidate: Option<&Pattern>,
        into: &str,
        now: TimeMs,
    ) -> Result<bool> {
        let target = self.known(into)?.clone();
        if let Some(further) = target.merged_into {
            return Err(Error::MergedPattern {
                id: target.id,
                into: further,
            });
        }
        if id == into {
            return Err(Error::MergedPattern {
                id: id.to_string(),
                into: into.to_string(),
            });
        }
        let merged = self
            .entry(id)
            .map(|entry| (entry.merged.clone(), entry.merged_into.clone()));
        let mut joined = match (merged, candidate) {
            (Some((_, Some(elsewhere))), _) if elsewhere != into => {
                return Err(Error::MergedPattern {
                    id: id.to_string(),
                    into: elsewhere,
                });
            }
            (Some((_, Some(_))), _) if target.merged.iter().any(|known| known == id) => {
                return Ok(false);
            }
            (Some((merged, _)), _) => merged,
            (None, Some(pattern)) => {
                self.check_absent(pattern)?;
                Vec::new()
            }
            (None, None) => return Err(Error::UnknownPattern(id.to_string())),
        };
        joined.push(id.to_string());
        joined.retain(|id| !target.merged.contains(id));
        // The one that stays comes first: stopped in between, nothing is lost, and merging again goes on.
        if !joined.is_empty() {
            self.change(into, "merged", now, |document, line| {
                let list = document
                    .entry("merged")
                    .or_insert_with(|| value(Array::new()));
                let list = list.as_array_mut().ok_or("`merged` is no list")?;
                list.extend(joined);
                set(line, "pattern", id);
                Ok(())
            })?;
        }
        self.change(id, "merged", now, |document, line| {
            if let Some(pattern) = candidate {
                describe(document, pattern);
            }
            set(document, "status", Status::Merged.name());
            set(document, "merged_into", into);
            set(line, "pattern", into);
            Ok(())
        })?;
        Ok(true)
    }

    /// Returns the id that begins with a text, of all patterns that were detected or decided.
    pub fn find<'a>(&'a self, prefix: &str, detected: &'a [Pattern]) -> Result<&'a str> {
        let detected = detected.iter().map(|pattern| pattern.id.as_str());
        let decided = self.entries.iter().map(|entry| entry.id.as_str());
        find_pattern(prefix, detected.chain(decided))
    }

    /// What is to be published: the approved ones, those of several agents first, then the most frequent. What was merged into an
    /// entry counts as it.
    pub(super) fn approved(&self) -> Vec<&Entry> {
        let weigh = |entry: &Entry| {
            let merged = entry.merged.iter().filter_map(|id| self.entry(id));
            let seen = || merged.clone().chain([entry]).map(|entry| &entry.seen);
            let mut agents: Vec<&String> = seen().flat_map(|seen| &seen.agents).collect();
            agents.sort();
            agents.dedup();
            let frequency: u64 = seen().map(|seen| seen.frequency).sum();
            (agents.len() > 1, frequency)
        };
        let approved = self
            .entries
            .iter()
            .filter(|entry| entry.status == Status::Approved);
        let mut approved: Vec<&Entry> = approved.collect();
        approved.sort_by_key(|entry| std::cmp::Reverse(weigh(entry)));
        approved
    }

    /// Records which patterns a file now tells of: these, and no others.
    pub fn record(
        &mut self,
        target: &str,
        project: Option<&str>,
        ids: &[String],
        now: TimeMs,
    ) -> Result<()> {
        let is_there = |published: &Publication| published.target == target;
        let was = |entry: &&Entry| entry.published.iter().any(is_there);
        let gone = self
            .entries
            .iter()
            .filter(was)
            .filter(|entry| !ids.contains(&entry.id));
        let gone: Vec<String> = gone.map(|entry| entry.id.clone()).collect();
        for id in gone {
            self.change(&id, "unpublished", now, |document, line| {
                let published = document.get_mut("published");
                let published = published.and_then(Item::as_array_of_tables_mut);
                let published = published.ok_or(NO_TABLES)?;
                published
                    .retain(|table| table.get("target").and_then(Item::as_str) != Some(target));
                if published.is_empty() {
                    document.remove("published");
                }
                set(line, "target", target);
                Ok(())
            })?;
        }
        for id in ids {
            if self.entry(id).as_ref().is_some_and(was) {
                continue;
            }
            self.change(id, "published", now, |document, line| {
                let mut table = Table::new();
                set(&mut table, "target", target);
                if let Some(project) = project {
                    set(&mut table, "project", project);
                }
                set(&mut table, "at", written_time(now));
                push(document, "published", table)?;
                set(line, "target", target);
                Ok(())
            })?;
        }
        Ok(())
    }

    fn known(&self, id: &str) -> Result<&Entry> {
        self.entry(id)
            .ok_or_else(|| Error::NotInCatalogue(id.to_string()))
    }

    /// A file that could not be read is not overwritten.
    fn check_absent(&self, pattern: &Pattern) -> Result<()> {
        let path = self.path(&pattern.id);
        match self.problems.iter().find(|problem| problem.path == path) {
            Some(problem) => Err(self.bad(&pattern.id, problem.reason.clone())),
            None => Ok(()),
        }
    }

    fn bad(&self, id: &str, reason: String) -> Error {
        let path = self.path(id);
        Error::Catalogue { path, reason }
    }

    /// Changes a file, making it if there is none; the change, with what `edit` adds to its line, goes into the history.
    fn change(
        &mut self,
        id: &str,
        change: &str,
        now: TimeMs,
        edit: impl FnOnce(&mut DocumentMut, &mut Table) -> Result<(), &'static str>,
    ) -> Result<()> {
        let path = self.path(id);
        let bad = |reason: String| Error::Catalogue {
            path: path.clone(),
            reason,
        };
        let mut document = if path.exists() {
            read(&path).map_err(bad)?
        } else {
            DocumentMut::new()
        };
        let mut line = Table::new();
        set(&mut line, "at", written_time(now));
        set(&mut line, "change", change);
        edit(&mut document, &mut line).map_err(|reason| bad(reason.to_string()))?;
        let version = document
            .get("version")
            .and_then(Item::as_integer)
            .unwrap_or(0);
        set(&mut document, "version", version.saturating_add(1));
        push(&mut document, "history", line).map_err(|reason| bad(reason.to_string()))?;
        let text = document.to_string();
        let entry = parse(&path, &text).map_err(bad)?;
        crate::write_whole(&path, text.as_bytes())?;
        self.replace(entry);
        Ok(())
    }

    fn replace(&mut self, entry: Entry) {
        match self
            .entries
            .binary_search_by(|known| known.id.cmp(&entry.id))
        {
            Ok(place) => self.entries[place] = entry,
            Err(place) => self.entries.insert(place, entry),
        }
    }
}

/// The one id that begins with this.
pub(super) fn find_pattern<'a>(
    prefix: &str,
    ids: impl IntoIterator<Item = &'a str>,
) -> Result<&'a str> {
    let ids = ids
        .into_iter()
        .filter(|id| !prefix.is_empty() && id.starts_with(prefix));
    let mut matches: Vec<&str> = ids.collect();
    matches.sort_unstable();
    matches.dedup();
    match matches.as_slice() {
        [] => Err(Error::UnknownPattern(prefix.to_string())),
        [id] => Ok(id),
        // One id may begin another.
        [id, ..] if *id == prefix => Ok(id),
        _ => Err(Error::ManyPatterns {
            prefix: prefix.to_string(),
            matches: matches.iter().map(|id| (*id).to_string()).collect(),
        }),
    }
}
