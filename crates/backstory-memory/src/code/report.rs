//! Statistics of a project's source files: calls, and what agents changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use backstory_code::{Resolution, SymbolChangeKind};
use backstory_event::TimeMs;
use serde::Serialize;

use super::graph::CallGraph;
use super::query::{ChangeFilter, TurnChanges};
use super::scan::SourceOutline;
use crate::Code;
use crate::error::Result;
use crate::serde_text::always_rfc3339;
use crate::upkeep::WithDamage;

/// Number of the most changed functions and files that are named.
const MAX_NAMED: usize = 10;

/// Statistics of a project's source files.
#[derive(Debug, Clone, Serialize)]
pub struct CodeReport {
    /// Root of the project.
    pub project: PathBuf,
    /// Changes since this time count.
    #[serde(serialize_with = "always_rfc3339")]
    pub since: TimeMs,
    /// Number of source files.
    pub files: usize,
    /// Number of functions and types.
    pub symbols: u64,
    /// Calls.
    pub calls: CallStatistics,
    /// Changes by agents.
    pub changes: ChangeStatistics,
    /// Files that were last seen in the middle of an edit.
    pub broken: Vec<BrokenFile>,
}

/// A file that did not parse when it was last seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BrokenFile {
    /// The file.
    pub file: String,
    /// Time when it was last seen.
    #[serde(rename = "timestamp", serialize_with = "always_rfc3339")]
    pub at: TimeMs,
}

/// Numbers of calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(into = "CallShares")]
pub struct CallStatistics {
    /// All calls.
    pub total: u64,
    /// Calls by how their callee was found.
    pub by_resolution: BTreeMap<&'static str, u64>,
    /// Calls that were seen in stack traces.
    pub seen: u64,
    /// Calls that the file they lead to contradicts.
    pub contradicted: u64,
    /// Calls that were seen in stack traces and are not in the code any more.
    pub gone: u64,
}

/// [`CallStatistics`] with shares, as JSON has them.
#[derive(Serialize)]
struct CallShares {
    total: u64,
    by_resolution: BTreeMap<&'static str, u64>,
    seen: u64,
    seen_share: Option<f64>,
    contradicted: u64,
    contradicted_share: Option<f64>,
    gone: u64,
    confirmed_share: Option<f64>,
}

impl From<CallStatistics> for CallShares {
    fn from(calls: CallStatistics) -> Self {
        CallShares {
            seen_share: calls.share_of(calls.seen),
            contradicted_share: calls.share_of(calls.contradicted),
            confirmed_share: calls.confirmed_share(),
            total: calls.total,
            by_resolution: calls.by_resolution,
            seen: calls.seen,
            contradicted: calls.contradicted,
            gone: calls.gone,
        }
    }
}

impl CallStatistics {
    /// Counts the calls of a graph.
    pub fn new(graph: &CallGraph<'_>) -> Self {
        let mut calls = CallStatistics {
            gone: graph.gone.len() as u64,
            ..CallStatistics::default()
        };
        for edge in &graph.edges {
            calls.total += 1;
            let resolution = edge.resolution_name();
            *calls.by_resolution.entry(resolution).or_default() += 1;
            calls.seen += u64::from(edge.seen > 0);
            calls.contradicted += u64::from(edge.is_contradicted);
        }
        calls
    }

    /// Returns the number of calls whose callee was found.
    pub fn resolved(&self) -> u64 {
        let unresolved = self.by_resolution.get(Resolution::Unresolved.name());
        self.total - unresolved.unwrap_or(&0)
    }

    /// Returns the share of a number of calls in all of them.
    pub fn share_of(&self, part: u64) -> Option<f64> {
        let share = |part| (part as f64 / self.total as f64 * 10_000.0).round() / 10_000.0;
        (self.total > 0).then(|| share(part))
    }

    /// Returns the share of calls seen in stack traces that are in the code as it is.
    pub fn confirmed_share(&self) -> Option<f64> {
        let known = self.seen + self.gone;
        (known > 0).then(|| self.seen as f64 / known as f64)
    }
}

/// Numbers of changes by agents.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(into = "MostChanged")]
pub struct ChangeStatistics {
    /// Sessions that changed something.
    pub sessions: BTreeSet<String>,
    /// Number of turns that did.
    pub turns: u64,
    /// Changed symbols by what became of them.
    pub by_change: BTreeMap<&'static str, u64>,
    /// Number of turns that changed a function, by file and name.
    pub functions: BTreeMap<(String, String), u64>,
    /// Number of turns that changed a file.
    pub files: BTreeMap<String, u64>,
}

/// [`ChangeStatistics`] with what changed most, as JSON has them.
#[derive(Serialize)]
struct MostChanged {
    sessions: usize,
    turns: u64,
    symbols: BTreeMap<&'static str, u64>,
    functions: Vec<FunctionTurns>,
    files: Vec<FileTurns>,
}

#[derive(Serialize)]
struct FunctionTurns {
    file: String,
    name: String,
    turns: u64,
}

#[derive(Serialize)]
struct FileTurns {
    file: String,
    turns: u64,
}

impl From<ChangeStatistics> for MostChanged {
    fn from(changes: ChangeStatistics) -> Self {
        let functions = most(&changes.functions).into_iter();
        let functions = functions.map(|((file, name), turns)| FunctionTurns {
            file: file.clone(),
            name: name.clone(),
            turns,
        });
        let files = most(&changes.files).into_iter();
        let files = files.map(|(file, turns)| FileTurns {
            file: file.clone(),
            turns,
        });
        MostChanged {
            sessions: changes.sessions.len(),
            turns: changes.turns,
            functions: functions.collect(),
            files: files.collect(),
            symbols: changes.by_change,
        }
    }
}

impl ChangeStatistics {
    /// Counts what these turns changed.
    pub fn new(turns: &[TurnChanges]) -> Self {
        let mut changes = ChangeStatistics::default();
        for turn in turns {
            changes.add_turn(turn);
        }
        changes
    }

    fn add_turn(&mut self, turn: &TurnChanges) {
        self.turns += 1;
        self.sessions.insert(turn.session.session.clone());
        for file in &turn.files {
            *self.files.entry(file.name.clone()).or_default() += 1;
            for symbol in &file.symbols {
                *self.by_change.entry(symbol.change.name()).or_default() += 1;
                if symbol.change != SymbolChangeKind::Deleted {
                    let key = (file.name.clone(), symbol.name.clone());
                    *self.functions.entry(key).or_default() += 1;
                }
            }
        }
    }

    /// Returns the functions that most turns changed, by file and name.
    pub fn most_changed_functions(&self) -> Vec<(&(String, String), u64)> {
        most(&self.functions)
    }
}

/// The largest counts, first.
fn most<K: Ord>(counts: &BTreeMap<K, u64>) -> Vec<(&K, u64)> {
    let mut most: Vec<(&K, u64)> = counts.iter().map(|(key, count)| (key, *count)).collect();
    most.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    most.truncate(MAX_NAMED);
    most
}

impl Code<'_> {
    /// Returns statistics of the source files of a project and their calls, and of what agents changed in it since a time.
    pub fn report(
        &self,
        root: &Path,
        files: &[SourceOutline],
        graph: &CallGraph<'_>,
        since: TimeMs,
    ) -> Result<WithDamage<CodeReport>> {
        let turns = self.find_changes(&ChangeFilter {
            since: Some(since),
            path: Some(root.to_path_buf()),
            ..ChangeFilter::default()
        })?;
        let broken = self.broken_files(root)?.into_iter();
        let outlines = files.iter().filter_map(|file| file.outline.as_ref().ok());
        let report = CodeReport {
            project: root.to_path_buf(),
            since,
            files: files.len(),
            symbols: outlines.map(|outline| outline.symbols.len() as u64).sum(),
            calls: CallStatistics::new(graph),
            changes: ChangeStatistics::new(&turns),
            broken: broken.map(|(file, at)| BrokenFile { file, at }).collect(),
        };
        self.memory.upkeep().with_damage(report, None)
    }
}
