//! Deciding which files are written, with which sessions.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use backstory_memory::{AGENTS, Memory, Redactor, Seq, SessionFilter, SessionRow, TimeMs};

use super::fingerprint::{is_same_state, session_fingerprint};
use super::footer::{PartContent, SessionKey};
use super::layout::{NO_MONTH, UNLISTED_PART, month_and_part, part_path};
use super::lost_rows::{LostRecordSearch, read_record_marks, session_marks};
use super::options::TableOptions;
use super::schema::Table;
use super::usage_rows::UsageTotals;
use crate::error::{Error, Result};
use crate::pairing::{RecordMarks, pair_sessions};
use crate::redaction::{RedactedIdentity, has_marker, redact_id};

/// A part that is there: its month, its path and what it has.
pub(super) type OldPart = (String, PathBuf, PartContent);

/// File that is to be written.
#[derive(Clone)]
pub(super) struct PartTarget {
    pub(super) table: Table,
    pub(super) path: PathBuf,
    /// Sessions whose rows are copied out of the old file, with their fingerprints.
    pub(super) kept: Vec<(SessionKey, String)>,
    /// Sessions whose text the memory has only behind an event: rows up to that one are copied, too.
    pub(super) evicted: Vec<(SessionKey, Seq)>,
    /// There is an old file, of which rows can be copied.
    pub(super) has_old_rows: bool,
    /// Redacts the rows that are copied, if the old file was not redacted.
    pub(super) redactor: Option<Redactor>,
    /// Current keys of sessions whose rows have ids that were redacted otherwise, by these.
    pub(super) renamed: HashMap<SessionKey, SessionKey>,
    /// Starts of the sessions whose rows are copied and whose ids have secrets.
    kept_starts: HashMap<SessionKey, i64>,
}

impl PartTarget {
    fn new(table: Table, path: PathBuf) -> Self {
        PartTarget {
            table,
            path,
            kept: Vec::new(),
            evicted: Vec::new(),
            has_old_rows: false,
            redactor: None,
            renamed: HashMap::new(),
            kept_starts: HashMap::new(),
        }
    }

    fn set_redaction_from(&mut self, old: &PartContent, options: &TableOptions) {
        self.redactor = options.redactor.filter(|_| !old.is_redacted);
        self.renamed.clone_from(&old.renamed);
    }

    /// Returns the sessions whose rows are copied as the new file has them.
    pub(super) fn kept_content(&self) -> Vec<(SessionKey, String)> {
        let kept = self.kept.iter();
        kept.map(|(key, state)| (self.kept_key(key), state.clone()))
            .collect()
    }

    /// Returns the starts of these sessions, as far as they are known and their ids have secrets.
    pub(super) fn kept_starts(&self) -> impl Iterator<Item = (SessionKey, i64)> + '_ {
        let starts = self.kept_starts.iter();
        starts.map(|(key, at)| (self.kept_key(key), *at))
    }

    fn kept_key(&self, key: &SessionKey) -> SessionKey {
        let mut key = key.clone();
        if let Some(redactor) = &self.redactor {
            redact_id(redactor, &mut key.session);
        }
        key
    }
}

/// Files that are written in one walk through their sessions.
pub(super) struct PartPlan {
    pub(super) targets: Vec<PartTarget>,
    pub(super) sessions: Vec<SessionRow>,
    /// Sessions without an event of their own.
    pub(super) unlisted: Vec<SessionKey>,
    /// All of them with their fingerprints. Each target also has those that it keeps.
    pub(super) content: Vec<(SessionKey, String)>,
}

impl PartPlan {
    /// Number of events that are to be read.
    pub(super) fn event_count(&self) -> u64 {
        self.sessions
            .iter()
            .map(|session| session.events + session.live_events)
            .sum()
    }
}

/// Decides which files are written, before anything is.
pub(super) struct Planner<'a> {
    memory: &'a Memory,
    /// Sessions to write.
    sessions: Vec<SessionRow>,
    /// Sessions left unchanged: the old file has records the memory lacks.
    pub(super) lost: BTreeSet<SessionKey>,
    /// Those of them in files that are not redacted, if the new ones are.
    pub(super) unredacted: BTreeSet<SessionKey>,
    options: &'a TableOptions,
    totals: UsageTotals,
    /// All sessions of the memory, looked up when they are needed.
    listed: Option<HashMap<SessionKey, SessionRow>>,
    fingerprints: HashMap<SessionKey, String>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        memory: &'a Memory,
        sessions: &'a [SessionRow],
        options: &'a TableOptions,
        tables: &[Table],
    ) -> Result<Self> {
        let mut agents: BTreeSet<&str> = BTreeSet::new();
        if tables.contains(&Table::Usage) {
            agents.extend(sessions.iter().map(|session| session.agent.as_str()));
            // Those of sessions that an old part has, too.
            agents.extend(AGENTS.iter().map(|agent| agent.name));
        }
        let mut fingerprints = HashMap::new();
        for session in sessions {
            let fingerprint = session_fingerprint(memory, session, options.now)?;
            fingerprints.insert(SessionKey::of_row(session), fingerprint);
        }
        Ok(Planner {
            memory,
            sessions: sessions.to_vec(),
            lost: BTreeSet::new(),
            unredacted: BTreeSet::new(),
            options,
            totals: UsageTotals::of_memory(memory, &agents)?,
            listed: None,
            fingerprints,
        })
    }

    /// Plans a single file; `None` when it is as it should be.
    pub(super) fn plan_file(
        &mut self,
        table: Table,
        file: &Path,
        old: Option<&PartContent>,
    ) -> Result<Option<PartPlan>> {
        let mut plan = self.part_plan(self.sessions.clone())?;
        if table == Table::Usage && self.options.with_unlisted_usage {
            for (key, fingerprint) in self.unlisted_sessions()? {
                plan.unlisted.push(key.clone());
                plan.content.push((key, fingerprint));
            }
        }
        let mut target = PartTarget::new(table, file.to_owned());
        if let Some(old) = old {
            let written: HashSet<&SessionKey> = plan.content.iter().map(|(key, _)| key).collect();
            self.keep_sessions(&mut target, old, |key| !written.contains(key))?;
            self.keep_evicted(&mut target, old, &plan.sessions)?;
        }
        let content = [&plan.content[..], &target.kept_content()].concat();
        plan.targets = vec![target];
        Ok((!self.is_current(old, &content)).then_some(plan))
    }

    /// Plans the part of the sessions without an event of their own.
    pub(super) fn plan_unlisted(
        &mut self,
        folder: &Path,
        old: &[OldPart],
    ) -> Result<Option<PartPlan>> {
        let target = part_path(folder, Table::Usage, NO_MONTH, UNLISTED_PART);
        let old = old
            .iter()
            .find(|(_, path, _)| *path == target)
            .map(|(_, _, content)| content);
        if old.is_none() && !self.options.with_unlisted_usage {
            return Ok(None);
        }
        let old_keys: HashSet<&SessionKey> = old
            .iter()
            .flat_map(|old| &old.sessions)
            .map(|(key, _)| key)
            .collect();
        let with_all = self.options.with_unlisted_usage;
        let mut content = self.unlisted_sessions()?;
        content.retain(|(key, _)| with_all || old_keys.contains(key));
        let mut plan_target = PartTarget::new(Table::Usage, target);
        if let Some(old) = old {
            let written: HashSet<&SessionKey> = content.iter().map(|(key, _)| key).collect();
            let listed = self.listed_sessions()?;
            let is_unknown = |key: &SessionKey| !listed.contains_key(key);
            let is_unknown = |key: &SessionKey| !written.contains(key) && is_unknown(key);
            let unknown: HashSet<&SessionKey> =
                old_keys.into_iter().filter(|key| is_unknown(key)).collect();
            self.keep_sessions(&mut plan_target, old, |key| unknown.contains(key))?;
        }
        let whole = [&content[..], &plan_target.kept_content()].concat();
        if self.is_current(old, &whole) || (old.is_none() && content.is_empty()) {
            return Ok(None);
        }
        Ok(Some(PartPlan {
            targets: vec![plan_target],
            sessions: Vec::new(),
            unlisted: content.iter().map(|(key, _)| key.clone()).collect(),
            content,
        }))
    }

    /// Plans the parts of a folder that have to be written.
    pub(super) fn plan_folder(&mut self, folder: &Path, old: &[OldPart]) -> Result<Vec<PartPlan>> {
        let mut old_parts: HashMap<&Path, &PartContent> = HashMap::new();
        // A session stays in the part that has it, whatever is known of its start now: nowhere else can it be there twice.
        let mut places: HashMap<&SessionKey, (String, String)> = HashMap::new();
        for (month, path, content) in old {
            old_parts.insert(path, content);
            let name = path
                .file_stem()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            let part = name.strip_prefix("part-").unwrap_or_default();
            if part != UNLISTED_PART {
                let place = (month.clone(), part.to_string());
                places.extend(content.sessions.iter().map(|(key, _)| (key, place.clone())));
            }
        }
        let unknown_places = self.places_of_unknown_sessions(&places)?;
        let mut by_place: BTreeMap<(String, String), Vec<SessionRow>> = BTreeMap::new();
        for session in &self.sessions {
            let known = places.get(&SessionKey::of_row(session)).cloned();
            let place = known
                .unwrap_or_else(|| free_place(month_and_part(session.started_at), &unknown_places));
            by_place.entry(place).or_default().push(session.clone());
        }
        let mut plans = Vec::new();
        for ((month, part), mut sessions) in by_place {
            let tables = Table::ALL
                .map(|table| PartTarget::new(table, part_path(folder, table, &month, &part)));
            let old_content = |target: &PartTarget| old_parts.get(target.path.as_path()).copied();
            let selected = self.content_of(&sessions)?;
            let needs_writing = |target: &&PartTarget| {
                let Some(old) = old_content(target) else {
                    return true;
                };
                !self.has_current_form(old) || !has_states(old, &selected)
            };
            let mut targets: Vec<PartTarget> =
                tables.iter().filter(needs_writing).cloned().collect();
            if targets.is_empty() {
                continue;
            }
            // The part gets all sessions that any of its tables has: from the memory, or else out of the old file.
            let chosen: HashSet<&SessionKey> = selected.iter().map(|(key, _)| key).collect();
            let contents = tables.iter().filter_map(old_content);
            let others = contents
                .flat_map(|content| &content.sessions)
                .map(|(key, _)| key);
            let others: BTreeSet<&SessionKey> =
                others.filter(|key| !chosen.contains(key)).collect();
            if !others.is_empty() {
                let listed = self.listed_sessions()?;
                sessions.extend(others.iter().filter_map(|key| listed.get(*key).cloned()));
                let unknown: HashSet<&SessionKey> = others
                    .into_iter()
                    .filter(|key| !listed.contains_key(*key))
                    .collect();
                for target in &mut targets {
                    if let Some(old) = old_content(target) {
                        self.keep_sessions(target, old, |key| unknown.contains(key))?;
                    }
                }
            }
            for target in &mut targets {
                if let Some(old) = old_content(target) {
                    self.keep_evicted(target, old, &sessions)?;
                }
            }
            let plan = self.part_plan(sessions)?;
            plans.push(PartPlan { targets, ..plan });
        }
        Ok(plans)
    }

    /// Returns the places of sessions that the memory does not know. Files there are left alone if they can be.
    fn places_of_unknown_sessions(
        &mut self,
        places: &HashMap<&SessionKey, (String, String)>,
    ) -> Result<HashSet<(String, String)>> {
        if places.is_empty() {
            return Ok(HashSet::new());
        }
        let listed = self.listed_sessions()?;
        let unknown = places.iter().filter(|(key, _)| !listed.contains_key(*key));
        Ok(unknown.map(|(_, place)| place.clone()).collect())
    }

    fn part_plan(&mut self, mut sessions: Vec<SessionRow>) -> Result<PartPlan> {
        sessions.sort_by(|a, b| (a.started_at, &a.session).cmp(&(b.started_at, &b.session)));
        let content = self.content_of(&sessions)?;
        Ok(PartPlan {
            targets: Vec::new(),
            sessions,
            unlisted: Vec::new(),
            content,
        })
    }

    fn content_of(&mut self, sessions: &[SessionRow]) -> Result<Vec<(SessionKey, String)>> {
        let mut content = Vec::with_capacity(sessions.len());
        for session in sessions {
            let key = SessionKey::of_row(session);
            let fingerprint = match self.fingerprints.get(&key) {
                Some(known) => known.clone(),
                None => session_fingerprint(self.memory, session, self.options.now)?,
            };
            content.push((key, fingerprint));
        }
        Ok(content)
    }

    fn is_current(&self, old: Option<&PartContent>, content: &[(SessionKey, String)]) -> bool {
        let Some(old) = old else { return false };
        let known: HashSet<&SessionKey> = old.sessions.iter().map(|(key, _)| key).collect();
        self.has_current_form(old) && known.len() == content.len() && has_states(old, content)
    }

    /// Returns whether a file may stay as long as its sessions are the same.
    fn has_current_form(&self, old: &PartContent) -> bool {
        old.is_current_layout && old.is_redacted == self.options.redactor.is_some()
    }

    fn unlisted_sessions(&mut self) -> Result<Vec<(SessionKey, String)>> {
        self.listed_sessions()?;
        let listed = self.listed.as_ref();
        let is_listed = |key: &SessionKey| listed.is_some_and(|listed| listed.contains_key(key));
        Ok(self
            .totals
            .sessions_except(|key| is_listed(key) || self.lost.contains(key)))
    }

    fn listed_sessions(&mut self) -> Result<&HashMap<SessionKey, SessionRow>> {
        let listed = match self.listed.take() {
            Some(listed) => listed,
            None => {
                let rows = self.memory.sessions().list(&SessionFilter::default())?;
                rows.into_iter()
                    .map(|row| (SessionKey::of_row(&row), row))
                    .collect()
            }
        };
        Ok(self.listed.insert(listed))
    }

    /// Chooses the sessions of an old file that are to be copied. Those of another layout cannot be.
    fn keep_sessions(
        &self,
        target: &mut PartTarget,
        old: &PartContent,
        is_kept: impl Fn(&SessionKey) -> bool,
    ) -> Result<()> {
        target.set_redaction_from(old, self.options);
        let kept = old.sessions.iter().filter(|(key, _)| is_kept(key));
        target.kept = kept.cloned().collect();
        let starts = old.starts.iter().filter(|(key, _)| is_kept(key));
        target.kept_starts = starts.map(|(key, at)| (key.clone(), *at)).collect();
        check_layout(&target.path, old, &target.kept)
    }

    /// Chooses the sessions of an old file whose text the memory has no longer, each with the last event that is gone.
    fn keep_evicted(
        &self,
        target: &mut PartTarget,
        old: &PartContent,
        sessions: &[SessionRow],
    ) -> Result<()> {
        target.set_redaction_from(old, self.options);
        let has_text = matches!(target.table, Table::Events | Table::ToolCalls);
        if !has_text {
            return Ok(());
        }
        target.has_old_rows = old.is_current_layout;
        let old_keys: HashSet<&SessionKey> = old.sessions.iter().map(|(key, _)| key).collect();
        let evicted = sessions.iter().filter_map(|session| {
            let key = SessionKey::of_row(session);
            Some((key, last_evicted(session)?))
        });
        let evicted = evicted.filter(|(key, _)| old_keys.contains(key));
        target.evicted = evicted.collect();
        check_layout(&target.path, old, &target.evicted)
    }

    /// Renames sessions whose ids have secrets to their current ids: the markers depend on redaction and on the key.
    pub(super) fn rename_redacted<'c>(
        &mut self,
        contents: impl IntoIterator<Item = (&'c Path, &'c mut PartContent)>,
    ) -> Result<()> {
        let totals = self.totals.sessions_except(|_| false).into_iter();
        let mut starts: HashMap<SessionKey, Option<i64>> =
            totals.map(|(key, _)| (key, None)).collect();
        for (key, row) in self.listed_sessions()? {
            starts.insert(key.clone(), row.started_at.map(TimeMs::get));
        }
        let mut contents: Vec<(&Path, &mut PartContent)> = contents.into_iter().collect();
        let keys = contents.iter().flat_map(|(_, content)| &content.sessions);
        let old: HashSet<SessionKey> = keys.map(|(key, _)| key.clone()).collect();
        // Sessions that are looked for, and those that may be they.
        let mut wanted: HashMap<RedactedIdentity, Vec<SessionKey>> = HashMap::new();
        for (key, start) in &starts {
            if !old.contains(key)
                && let Some(identity) = key.identity(*start)
            {
                wanted.entry(identity).or_default().push(key.clone());
            }
        }
        let mut renamed: HashMap<SessionKey, SessionKey> = HashMap::new();
        let mut candidates: HashMap<RedactedIdentity, HashSet<SessionKey>> = HashMap::new();
        for (_, content) in &contents {
            for (key, _) in &content.sessions {
                if starts.contains_key(key) {
                    continue;
                }
                if has_marker(&key.session) {
                    if let Some(identity) = key.identity(content.starts.get(key).copied()) {
                        candidates.entry(identity).or_default().insert(key.clone());
                    }
                } else if let Some(redactor) = &self.options.redactor {
                    let mut current = key.clone();
                    redact_id(redactor, &mut current.session);
                    if current != *key && starts.contains_key(&current) {
                        renamed.insert(key.clone(), current);
                    }
                }
            }
        }
        let taken: HashSet<SessionKey> = renamed.values().cloned().collect();
        for (identity, mut keys) in wanted {
            keys.retain(|key| !taken.contains(key));
            let old = candidates.remove(&identity).unwrap_or_default();
            let mut old: Vec<SessionKey> = old.into_iter().collect();
            if keys.is_empty() || old.is_empty() {
                continue;
            }
            keys.sort_unstable();
            old.sort_unstable();
            for (new, old_place) in self.pair_by_records(&keys, &old, &contents)? {
                renamed.insert(old[old_place].clone(), keys[new].clone());
            }
        }
        for (_, content) in &mut contents {
            content.rename_sessions(&renamed);
        }
        Ok(())
    }

    /// Pairs sessions with those of old files that have the same identity.
    fn pair_by_records(
        &self,
        new: &[SessionKey],
        old: &[SessionKey],
        contents: &[(&Path, &mut PartContent)],
    ) -> Result<Vec<(usize, usize)>> {
        let has_events = contents.iter().any(|(_, old)| old.table == Table::Events);
        let mut new_marks = vec![RecordMarks::new(); new.len()];
        let mut old_marks = vec![RecordMarks::new(); old.len()];
        let mut is_read = false;
        for (path, content) in contents {
            if has_events && content.table != Table::Events || !content.is_current_layout {
                continue;
            }
            let known = read_record_marks((path, content), old)?;
            for (marks, known) in old_marks.iter_mut().zip(known) {
                marks.extend(known);
            }
            if std::mem::replace(&mut is_read, true) {
                continue;
            }
            let listed = self.listed.as_ref();
            for (marks, key) in new_marks.iter_mut().zip(new) {
                if let Some(row) = listed.and_then(|listed| listed.get(key)) {
                    *marks = session_marks(self.memory, row, content.table)?;
                }
            }
        }
        Ok(pair_sessions(&new_marks, &old_marks))
    }

    /// Takes those sessions out of the ones to write of which one of these files has records that the memory lacks.
    pub(super) fn exclude_incomplete_sessions<'c>(
        &mut self,
        old: impl IntoIterator<Item = (&'c Path, &'c PartContent)>,
    ) -> Result<()> {
        if !self.options.preserve_missing_rows {
            return Ok(());
        }
        let old: Vec<_> = old.into_iter().collect();
        let (Some((_, first)), false) = (old.first(), self.sessions.is_empty()) else {
            return Ok(());
        };
        let table = first.table;
        self.listed_sessions()?;
        let Some(listed) = &self.listed else {
            return Ok(());
        };
        let is_redacted = self.options.redactor.is_some();
        let mut search = LostRecordSearch::new(self.memory, listed, is_redacted, table);
        for (path, content) in old.iter().copied() {
            let states: HashMap<&SessionKey, &String> =
                (content.sessions.iter().map(|(key, state)| (key, state))).collect();
            let is_changed = |row: &&SessionRow| {
                let key = SessionKey::of_row(row);
                let now = self.fingerprints.get(&key);
                states
                    .get(&key)
                    .is_some_and(|old| now.is_none_or(|now| !is_same_state(old, now)))
            };
            let changed: Vec<&SessionRow> = self.sessions.iter().filter(is_changed).collect();
            if !changed.is_empty() && content.is_current_layout {
                search.add_part((path, content), &changed)?;
            }
        }
        self.lost.extend(search.find_lost()?);
        let lost = &self.lost;
        for (_, content) in old {
            let keys = content.sessions.iter().map(|(key, _)| key);
            let unredacted =
                keys.filter(|key| is_redacted && !content.is_redacted && lost.contains(key));
            self.unredacted.extend(unredacted.cloned());
        }
        self.sessions
            .retain(|session| !lost.contains(&SessionKey::of_row(session)));
        if let Some(listed) = &mut self.listed {
            listed.retain(|key, _| !lost.contains(key));
        }
        Ok(())
    }
}

/// Returns whether a file has all these sessions as they are now.
fn has_states(old: &PartContent, content: &[(SessionKey, String)]) -> bool {
    let states = old.sessions.iter().map(|(key, state)| (key, state));
    let states: HashMap<&SessionKey, &String> = states.collect();
    content.iter().all(|(key, now)| {
        let old = states.get(key);
        old.is_some_and(|old| is_same_state(old, now))
    })
}

/// Returns the last event of a session whose text the memory has no longer; `None` when it has all.
fn last_evicted(session: &SessionRow) -> Option<Seq> {
    match session.events + session.live_events {
        // One that is restored has no events until the next import.
        0 => Some(Seq::MAX),
        _ => Some(session.evicted).filter(|evicted| *evicted > Seq::ZERO),
    }
}

/// Refuses to copy sessions from a file of another layout.
fn check_layout<T>(path: &Path, old: &PartContent, kept: &[(SessionKey, T)]) -> Result<()> {
    match kept.first() {
        Some((first, _)) if !old.is_current_layout => Err(Error::LostSessions {
            path: path.to_owned(),
            count: match kept.len() {
                1 => "1 session".to_string(),
                count => format!("{count} sessions"),
            },
            example: first.session.clone(),
            agent: first.agent.clone(),
        }),
        _ => Ok(()),
    }
}

/// Returns a place in a month that is not taken: that of the day, or one with a number behind it.
fn free_place(
    (month, day): (String, String),
    taken: &HashSet<(String, String)>,
) -> (String, String) {
    let mut place = (month, day);
    let day = place.1.clone();
    let mut number = 1;
    while taken.contains(&place) {
        number += 1;
        place.1 = format!("{day}-{number}");
    }
    place
}
