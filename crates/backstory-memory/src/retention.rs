//! What agents delete by themselves, and whether we have it.

use std::path::{Path, PathBuf};

use backstory_store::Store;

use crate::Memory;
use crate::discover::{Found, Problem, Sources, discover};
use crate::error::Result;
use crate::redaction::redactor_of_store;

/// What lies in the agents' folders and how much of it is kept.
#[derive(Debug, Clone, Default)]
pub struct Retention {
    /// What was found of each agent.
    pub agents: Vec<AgentFiles>,
    /// Files that are not kept, or not as they are now, oldest first.
    pub unkept: Vec<PathBuf>,
    /// When the oldest of them that Claude Code will delete was last written, in unix milliseconds.
    pub oldest_unkept_claude_at: Option<i64>,
    /// What could not be looked at.
    pub problems: Vec<Problem>,
}

/// What was found of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFiles {
    /// The agent.
    pub agent: &'static str,
    /// How many source files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many of them are stored whole, as they are now.
    pub kept: u64,
    /// How many of them were read, but text of them was evicted since.
    pub evicted: u64,
    /// How many of them were forgotten, and are not read again.
    pub forgotten: u64,
}

/// When Claude Code deletes a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleanup {
    /// After so many days without change.
    pub days: u64,
}

impl Cleanup {
    /// Reads the period from the text of Claude Code's `settings.json`; 30 days when it does not say.
    pub fn from_settings(settings: Option<&str>) -> Self {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Settings {
            cleanup_period_days: Option<u64>,
        }
        let told = settings.and_then(|text| serde_json::from_str::<Settings>(text).ok());
        Cleanup {
            days: told
                .and_then(|settings| settings.cleanup_period_days)
                .unwrap_or(30),
        }
    }

    /// How many days are left at `now` before a file written at `at` is deleted; negative when it is overdue.
    pub fn days_left(&self, at: i64, now: i64) -> i64 {
        self.days as i64 - (now - at).div_euclid(24 * 3600 * 1000)
    }
}

/// Compares the agents' folders with what is kept; with no memory yet, nothing is.
pub fn retention(memory: Option<&Memory>, home: &Path, sources: &Sources) -> Result<Retention> {
    let store = memory.map(|memory| &memory.store);
    let discovery = discover(sources, store, home, Some(&redactor_of_store(store)?))?;
    let mut retention = Retention {
        problems: discovery.problems,
        ..Retention::default()
    };
    let stored = store.map(Store::sources_with_text).transpose()?;
    let stored = stored.unwrap_or_default();
    let mut unkept: Vec<&Found> = Vec::new();
    for found in &discovery.files {
        let agent = found.agent();
        let position = retention
            .agents
            .iter()
            .position(|known| known.agent == agent);
        let position = position.unwrap_or_else(|| {
            retention.agents.push(AgentFiles {
                agent,
                files: 0,
                bytes: 0,
                kept: 0,
                evicted: 0,
                forgotten: 0,
            });
            retention.agents.len() - 1
        });
        let counts = &mut retention.agents[position];
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
    let deleted = unkept.iter().find(|found| found.agent() == "claude-code");
    retention.oldest_unkept_claude_at =
        deleted.map(|found| found.fingerprint.modified_ns / 1_000_000);
    retention.unkept = unkept.into_iter().map(Found::shown_path).collect();
    Ok(retention)
}
