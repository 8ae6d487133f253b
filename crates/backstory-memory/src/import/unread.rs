//! Logs that the last sweep could not read, or only in part: kept until they are read or gone, so that `doctor` can name them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use backstory_event::TimeMs;
use serde::{Deserialize, Serialize};

use backstory_redact::Redactor;

use crate::Upkeep;
use crate::error::Result;
use crate::import::discover::{Discovery, Found, Problem, Sources};
use crate::path_text::container_of_log;
use crate::redaction::shown_path;

/// The setting that they are kept in.
const UNREAD_SETTING: &str = "unread-logs";

/// Maximum number that is kept.
const MAX_UNREAD_LOGS: usize = 1_000;

/// A log, or a folder of logs, that could not be read, or only in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadLog {
    /// Its path, without secrets.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
    /// Time at which that was first noticed.
    pub since: TimeMs,
}

impl Upkeep<'_> {
    /// Logs that the last sweep that looked at them could not read, or only in part.
    pub fn unread_logs(&self) -> Result<Vec<UnreadLog>> {
        let json = self.memory.store.kept(UNREAD_SETTING)?;
        // What a later version wrote is found again by the next sweep.
        Ok(json
            .and_then(|json| serde_json::from_slice(&json).ok())
            .unwrap_or_default())
    }

    /// Keeps what a sweep of these sources could not read. What it could read now, and what is gone, is no longer kept.
    pub(crate) fn update_unread_logs(
        &self,
        sources: &Sources,
        discovery: &Discovery,
        redactor: Option<&Redactor>,
        problems: &[Problem],
        now: TimeMs,
    ) -> Result<()> {
        let before = self.unread_logs()?;
        let since: HashMap<&Path, TimeMs> = before
            .iter()
            .map(|log| (log.path.as_path(), log.since))
            .collect();
        // Logs that hooks named are looked at again by whoever asks; see `Captures::refused_logs`.
        let is_named = |path: &Path| {
            let mut named = sources.named.iter();
            named.any(|named| shown_path(redactor, named) == path)
        };
        let mut after: Vec<UnreadLog> = problems
            .iter()
            .filter(|problem| !is_named(&problem.path))
            .map(|problem| UnreadLog {
                path: problem.path.clone(),
                reason: problem.reason.clone(),
                since: since.get(problem.path.as_path()).copied().unwrap_or(now),
            })
            .collect();
        if before.is_empty() && after.is_empty() {
            return Ok(());
        }
        let roots = sources.roots.iter().map(|(_, root)| root);
        let roots: Vec<PathBuf> = roots
            .chain(&sources.paths)
            .map(|root| shown_path(redactor, root))
            .collect();
        let found: Vec<PathBuf> = discovery.files.iter().map(Found::shown_path).collect();
        let is_covered = |path: &Path| {
            let is_below = || roots.iter().any(|root| path.starts_with(root));
            // A sweep of one agent says nothing of what the others have there.
            found.iter().any(|found| found == path) || sources.agent.is_none() && is_below()
        };
        for log in &before {
            let is_known = after.iter().any(|known| known.path == log.path);
            let is_there = || {
                let container = || log.path.to_str().and_then(container_of_log);
                log.path.symlink_metadata().is_ok() || container().is_some()
            };
            if !is_known && !is_covered(&log.path) && is_there() {
                after.push(log.clone());
            }
        }
        after.sort_by(|one, other| one.path.cmp(&other.path));
        after.dedup_by(|one, other| one.path == other.path);
        after.truncate(MAX_UNREAD_LOGS);
        if after == before {
            return Ok(());
        }
        let json = serde_json::to_vec(&after).unwrap_or_default();
        Ok(self.memory.store.keep(UNREAD_SETTING, &json)?)
    }

    /// Drops what is kept: paths may name sessions that are to be forgotten. The next sweep finds the others again.
    pub(crate) fn forget_unread_logs(&self) -> Result<()> {
        match self.memory.store.kept(UNREAD_SETTING)? {
            Some(_) => Ok(self.memory.store.remove_setting(UNREAD_SETTING)?),
            None => Ok(()),
        }
    }
}
