//! Comparison of the logs in the agents' folders, which agents delete in time, with what is stored.

use std::path::{Path, PathBuf};

use backstory_agents::{AGENTS, Agent, LogLifetime, Places};
use backstory_event::TimeMs;
use backstory_store::Store;
use serde::Serialize;

use crate::Memory;
use crate::error::Result;
use crate::import::discover::{Found, Problem, Sources, discover};
use crate::redaction::redactor_of_store;
use crate::trusted::read_settings;

/// Comparison of the logs in the agents' folders with what is stored.
#[derive(Debug, Clone, Default)]
pub struct KeptLogs {
    /// Logs of each agent.
    pub agents: Vec<AgentFiles>,
    /// Files that are not kept, or not as they are now, oldest first.
    pub unkept: Vec<PathBuf>,
    /// Files and folders that could not be read.
    pub problems: Vec<Problem>,
}

/// Logs of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentFiles {
    /// The agent.
    pub agent: &'static str,
    /// Number of source files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Number of those that are stored whole, as they are now.
    pub kept: u64,
    /// Number of those that were read, but whose text was evicted in part since.
    pub evicted: u64,
    /// Number of those that were forgotten, and are not read again.
    pub forgotten: u64,
    /// Time at which the oldest of those that are not kept was last written.
    #[serde(skip)]
    pub oldest_unkept_at: Option<TimeMs>,
}

/// Deletion of logs by an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogDeletion {
    /// The agent.
    pub agent: &'static Agent,
    /// Number of days without change after which it deletes a log.
    pub days: u64,
}

impl LogDeletion {
    /// Returns the agents that delete their logs, and after how many days by their settings.
    pub fn all(places: &Places<'_>) -> Vec<Self> {
        let deletion = |agent: &'static Agent| match agent.lifetime {
            LogLifetime::Unlimited => None,
            LogLifetime::Limited {
                default_days,
                settings_file,
                read_days,
            } => {
                let settings = read_settings(&settings_file(places)).ok().flatten();
                let configured = settings.and_then(|text| read_days(&text));
                Some(LogDeletion {
                    agent,
                    days: configured.unwrap_or(default_days),
                })
            }
        };
        AGENTS.iter().filter_map(deletion).collect()
    }

    /// Returns the number of days that are left at `now` before a log written at `at` is deleted; negative when it is overdue.
    pub fn days_left(&self, at: TimeMs, now: TimeMs) -> i64 {
        self.days as i64 - now.since(at).div_euclid(24 * 3600 * 1000)
    }
}

impl KeptLogs {
    /// Compares the agents' folders with what is kept; with no memory yet, nothing is.
    pub fn compare(memory: Option<&Memory>, home: &Path, sources: &Sources) -> Result<Self> {
        let store = memory.map(|memory| &memory.store);
        let discovery = discover(sources, store, home, Some(&redactor_of_store(store)?))?;
        let mut kept = KeptLogs {
            problems: discovery.problems,
            ..KeptLogs::default()
        };
        let stored = store.map(Store::sources_with_text).transpose()?;
        let stored = stored.unwrap_or_default();
        let mut unkept: Vec<&Found> = Vec::new();
        for found in &discovery.files {
            let agent = found.agent();
            let position = kept.agents.iter().position(|known| known.agent == agent);
            let position = position.unwrap_or_else(|| {
                kept.agents.push(AgentFiles {
                    agent,
                    files: 0,
                    bytes: 0,
                    kept: 0,
                    evicted: 0,
                    forgotten: 0,
                    oldest_unkept_at: None,
                });
                kept.agents.len() - 1
            });
            let counts = &mut kept.agents[position];
            counts.files += 1;
            counts.bytes += found.fingerprint.size;
            match (found.unchanged, stored.get(&found.key)) {
                (false, _) => unkept.push(found),
                (true, Some(true)) => counts.kept += 1,
                (true, Some(false)) => counts.evicted += 1,
                (true, None) => counts.forgotten += 1,
            }
        }
        unkept.sort_by_key(|found| found.fingerprint.modified_ns);
        for counts in &mut kept.agents {
            let oldest = unkept.iter().find(|found| found.agent() == counts.agent);
            counts.oldest_unkept_at =
                oldest.map(|found| TimeMs::new(found.fingerprint.modified_ns / 1_000_000));
        }
        kept.unkept = unkept.into_iter().map(Found::shown_path).collect();
        Ok(kept)
    }
}

impl Sources {
    /// Returns the paths that hold no log; with no memory yet, the store in `home` has none.
    pub fn paths_without_logs(&self, memory: Option<&Memory>, home: &Path) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        let redactor = redactor_of_store(memory.map(|memory| &memory.store))?;
        for path in &self.paths {
            let mut sources = Sources::paths([path]);
            sources.agent.clone_from(&self.agent);
            // Without the store: it would be read through for every path.
            let found = discover(&sources, None, home, Some(&redactor))?;
            if found.files.is_empty() && found.problems.is_empty() {
                problems.push(Problem {
                    path: path.clone(),
                    reason: match &self.agent {
                        _ if is_parquet(path) => "Parquet files cannot be imported".to_string(),
                        Some(agent) => format!("no log of {agent}"),
                        None => "no agent's log".to_string(),
                    },
                });
            }
        }
        Ok(problems)
    }
}

fn is_parquet(path: &Path) -> bool {
    path.is_file()
        && path
            .extension()
            .is_some_and(|extension| extension == "parquet")
}
