//! Working off the queue: reading the logs that hooks named, and recognising in them what was captured.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use backstory_agents::hook::Happening;
use backstory_event::{Seq, SessionId, SessionName, TimeMs};
use backstory_store::{
    Damage, Item, ItemFilter, ItemKind, ItemOutcome, MOST_ATTEMPTS, SAME_TIME_MS, ToldEvent,
    try_lock_file,
};
use serde::{Deserialize, Serialize};

use crate::Captures;
use crate::Memory;
use crate::error::Result;
use crate::import::discover::{Problem, Sources};
use crate::import::sweep::ImportOptions;
use crate::trusted::{self, check_named_log, sources_of_named_log};

use super::omitted_bytes;

/// How many items are taken at once.
const TAKEN_AT_ONCE: usize = 512;

/// Number of logs that are looked at to find those that must not be read.
const MAX_CHECKED_LOGS: usize = 1000;

/// Time for which done items are remembered.
const REMEMBERED_MS: i64 = 7 * 24 * 3600 * 1000;

/// Delay after an item's first failure; each further one doubles it.
const FIRST_WAIT_MS: i64 = 2_000;

/// Result of working off the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkReport {
    /// Items that are done.
    pub done: u64,
    /// Items that stay as they were captured, for no log tells of them.
    pub raw: u64,
    /// Items that are to be tried again.
    pub later: u64,
}

impl WorkReport {
    /// Returns the number of items that were worked on.
    pub fn total(&self) -> u64 {
        self.done + self.raw + self.later
    }
}

impl Captures<'_> {
    /// Works off what is to be done by `now`. Only one process does at a time; the others find nothing to do. `options` say how
    /// logs are swept, and where the agents keep them. May be stopped at any instant.
    pub fn work(&self, options: &ImportOptions, now: TimeMs) -> Result<WorkReport> {
        let mut report = WorkReport::default();
        if !self.memory.store.queue().has_work(now)? {
            return Ok(report);
        }
        let Some(_lock) = try_lock_file(&self.memory.home.join("queue.lock"))? else {
            return Ok(report);
        };
        self.memory.store.queue().reclaim_items()?;
        loop {
            let items = self.memory.store.queue().take_items(now, TAKEN_AT_ONCE)?;
            if items.is_empty() {
                break;
            }
            let mut sessions: BTreeMap<Option<SessionId>, Vec<Item>> = BTreeMap::new();
            for item in items {
                sessions.entry(item.session).or_default().push(item);
            }
            let mut logs = NamedLogs::default();
            for session in sessions.keys().flatten() {
                logs.add_session(self.memory, *session, &options.sources)?;
            }
            logs.import(self.memory, options);
            let mut outcomes = Vec::new();
            for (session, items) in sessions {
                outcomes.extend(self.settle_session(session, &items, &logs, now)?);
            }
            for (_, outcome) in &outcomes {
                match outcome {
                    ItemOutcome::Done(_) => report.done += 1,
                    ItemOutcome::Raw(_) => report.raw += 1,
                    ItemOutcome::Later { .. } => report.later += 1,
                }
            }
            self.memory.store.queue().finish_items(&outcomes)?;
        }
        self.memory
            .store
            .queue()
            .prune_items(now.minus_ms(REMEMBERED_MS))?;
        Ok(report)
    }

    /// Returns items of the queue, the newest first.
    pub fn items(&self, filter: &ItemFilter) -> Result<Vec<Item>> {
        Ok(self.memory.store.queue().items(filter)?)
    }

    /// Returns captured events that are damaged.
    pub fn damaged(&self) -> Result<Vec<Damage>> {
        Ok(self.memory.store.queue().damaged_captures()?.1)
    }

    /// Returns the number of items in each state, in the order of [`ItemState::ALL`](backstory_store::ItemState::ALL).
    pub fn item_counts(&self) -> Result<[u64; 5]> {
        Ok(self.memory.store.queue().item_counts()?)
    }

    /// Queues items again: one, or all that failed. Returns their number.
    pub fn retry(&self, id: Option<i64>) -> Result<usize> {
        Ok(self.memory.store.queue().retry_items(id)?)
    }

    /// Returns logs that hooks named and that must not be read, of the sessions that have items in the queue.
    pub fn refused_logs(&self) -> Result<Vec<Problem>> {
        let mut refused = Vec::new();
        for path in self
            .memory
            .store
            .queue()
            .told_transcripts(MAX_CHECKED_LOGS)?
        {
            if let trusted::NamedLog::Refused(reason) = check_named_log(Path::new(&path)) {
                let reason = match self.memory.store.session_of_named_log(&path)? {
                    Some(SessionName { agent, id }) => format!(
                        "a hook of {agent} named it as the log of session {id}; it was not read: {reason}"
                    ),
                    None => format!("a hook named it as a log; it was not read: {reason}"),
                };
                let path = path.into();
                refused.push(Problem { path, reason });
            }
        }
        Ok(refused)
    }

    /// Returns whether there is something to do by `now`.
    pub fn has_work(&self, now: TimeMs) -> Result<bool> {
        Ok(self.memory.store.queue().has_work(now)?)
    }

    /// Decides what becomes of the items of one session, once its log has been read.
    fn settle_session(
        &self,
        session: Option<SessionId>,
        items: &[Item],
        logs: &NamedLogs,
        now: TimeMs,
    ) -> Result<Vec<(i64, ItemOutcome)>> {
        let of_all = |outcome: &dyn Fn(&Item) -> ItemOutcome| {
            let items = items.iter();
            Ok(items.map(|item| (item.id, outcome(item))).collect())
        };
        let log = session.and_then(|session| Some((session, logs.sessions.get(&session)?)));
        let session = match log {
            Some((session, NamedLog::Read(agent))) => match logs.failed.get(agent) {
                Some(error) => return of_all(&|item| later(item, now, error.clone())),
                None => session,
            },
            // Whatever there is was captured already.
            Some((_, NamedLog::Refused(reason))) => {
                return of_all(&|_| ItemOutcome::Raw(Some(reason.clone())));
            }
            None => return of_all(&|_| ItemOutcome::Raw(None)),
        };
        let told_at = self.memory.store.queue().last_told_at(session)?;
        let mut unclaimed = self.unclaimed(session, items)?;
        let mut outcomes = Vec::new();
        for item in items {
            // Those that the log told are done by now and without body.
            let outcome = match (item.kind, self.memory.store.queue().is_untold(item.id)?) {
                (ItemKind::Summary, _) | (_, false) => ItemOutcome::Done(None),
                (kind, true) => match claim(&mut unclaimed, item) {
                    Some(seq) => ItemOutcome::Done(Some(seq)),
                    // Its words differ, but the log went on: it has told them in its own.
                    // Of a marker nothing is known that could be compared: the log has all there is.
                    None if (kind == ItemKind::Reply || omitted_bytes(item).is_some())
                        && told_at >= Some(item.at) =>
                    {
                        ItemOutcome::Done(None)
                    }
                    None if item.attempts + 1 >= MOST_ATTEMPTS => ItemOutcome::Raw(None),
                    None => later(item, now, "the log does not tell of it yet".to_string()),
                },
            };
            outcomes.push((item.id, outcome));
        }
        Ok(outcomes)
    }

    /// Events of the log that may be one of these items.
    fn unclaimed(&self, session: SessionId, items: &[Item]) -> Result<Vec<ToldEvent>> {
        let times = || items.iter().map(|item| item.at);
        let (Some(first), Some(last)) = (times().min(), times().max()) else {
            return Ok(Vec::new());
        };
        let (first, last) = (first.minus_ms(SAME_TIME_MS), last.plus_ms(SAME_TIME_MS));
        Ok(self
            .memory
            .store
            .queue()
            .unclaimed_events(session, first, last)?)
    }
}

/// Logs that captures name, to be read at once.
#[derive(Default)]
struct NamedLogs {
    /// The logs of each session that has one.
    sessions: HashMap<SessionId, NamedLog>,
    /// All logs to read, by agent.
    sources: BTreeMap<String, Sources>,
    /// Why the logs of an agent could not be read.
    failed: HashMap<String, String>,
}

/// The log of a session that something was captured of.
enum NamedLog {
    /// It is read with those of this agent.
    Read(String),
    /// It must not be read.
    Refused(String),
}

impl NamedLogs {
    /// Adds the log of a session, if it has one.
    fn add_session(&mut self, memory: &Memory, session: SessionId, known: &Sources) -> Result<()> {
        let Some((agent, transcript)) = memory.store.queue().told_transcript(session)? else {
            return Ok(());
        };
        match log_of(&agent, transcript.as_deref(), known) {
            Ok(Some(log)) => {
                let sources = self.sources.entry(agent.clone()).or_default();
                sources.agent = Some(agent.clone());
                sources.named.extend(log.named);
                let new_roots = log.roots.into_iter();
                let known = sources.roots.clone();
                let new_roots = new_roots.filter(|root| !known.contains(root));
                sources.roots.extend(new_roots);
                self.sessions.insert(session, NamedLog::Read(agent));
            }
            Ok(None) => {}
            Err(reason) => {
                self.sessions.insert(session, NamedLog::Refused(reason));
            }
        }
        Ok(())
    }

    /// Reads all logs, in one sweep an agent.
    fn import(&mut self, memory: &Memory, options: &ImportOptions) {
        for (agent, sources) in std::mem::take(&mut self.sources) {
            let options = ImportOptions {
                sources,
                ..options.clone()
            };
            if let Err(error) = memory.import(&options, &mut |_| {}) {
                self.failed.insert(agent, error.to_string());
            }
        }
    }
}

/// The event that an item turns out to be, by what it is and when it was, for items that came after the log was read or have no name. It is
/// no other item's then.
fn claim(unclaimed: &mut Vec<ToldEvent>, item: &Item) -> Option<Seq> {
    let tool = tool_of(item);
    let distance = |event: &ToldEvent| event.at.since(item.at).saturating_abs();
    let (place, _) = unclaimed
        .iter()
        .enumerate()
        .filter(|(_, event)| event.kind == item.kind && distance(event) <= SAME_TIME_MS)
        // Agents may call a tool otherwise in hooks than in logs: another tool is only less likely.
        .min_by_key(|(_, event)| (event.tool != tool, distance(event)))?;
    Some(unclaimed.swap_remove(place).seq)
}

/// Where to read what a session of an agent did: its log, or all logs of the agent when it did not say which; `None` when there is
/// none to read, an error when it must not be read.
fn log_of(
    agent: &str,
    transcript: Option<&str>,
    known: &Sources,
) -> Result<Option<Sources>, String> {
    if backstory_agents::reader(agent).is_none() {
        return Ok(None);
    }
    // The path of a log with a secret in its name is not stored; the agent's folders are searched for it.
    let transcript = transcript.filter(|path| !path.contains("[REDACTED:"));
    match transcript.map(PathBuf::from) {
        Some(path) => sources_of_named_log(&path, agent)
            .map_err(|reason| format!("{}: {reason}", path.display())),
        None => {
            let roots: Vec<_> = known
                .roots
                .iter()
                .filter(|(of, root)| *of == agent && root.exists())
                .cloned()
                .collect();
            Ok((!roots.is_empty()).then(|| Sources {
                roots,
                ..Sources::default()
            }))
        }
    }
}

fn later(item: &Item, now: TimeMs, error: String) -> ItemOutcome {
    ItemOutcome::Later {
        not_before: now.plus_ms(FIRST_WAIT_MS << item.attempts.min(16)),
        error,
    }
}

fn tool_of(item: &Item) -> Option<String> {
    match serde_json::from_slice(item.body.as_deref()?).ok()? {
        Happening::ToolUsed(tool) => Some(tool.name).filter(|name| !name.is_empty()),
        _ => None,
    }
}
