//! How useful context would have been: replays history and looks whether a session was told of a file that it then touched.

use backstory_event::Seq;
use backstory_store::SessionFilter;
use serde::Serialize;

use super::past::in_project;
use super::{ContextOptions, Occasion, Shares, Surroundings};
use crate::ContextBuilder;
use crate::error::Result;

/// A session that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContextTrial {
    /// The agent.
    #[serde(skip)]
    pub agent: String,
    /// The agent's own id of it.
    pub session: String,
    /// How many tokens it would have been told.
    pub tokens: usize,
    /// Number of items.
    pub items: usize,
    /// Files of its project that it touched.
    pub touched: usize,
    /// Those that it would have been told of.
    pub told: Vec<String>,
    /// Number of those that the first [`FIRST_ITEMS`] items name.
    pub told_first: usize,
}

/// Number of items that are read for sure.
pub const FIRST_ITEMS: usize = 8;

/// Sessions that were looked at, and how many would have been told of a file that they touched.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContextScore<'a> {
    /// Number of sessions.
    pub sessions: usize,
    /// Number of those that would have been told.
    pub told: usize,
    /// Share of those in percent.
    pub share: f64,
    /// Share of the files of all sessions that would have been told, in percent.
    pub recall: f64,
    /// The same of the first [`FIRST_ITEMS`] items alone.
    pub recall_first: f64,
    /// Median number of items.
    pub items: usize,
    /// The sessions; left out when they are not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each: Option<&'a [ContextTrial]>,
}

impl<'a> ContextScore<'a> {
    /// Counts trials.
    pub fn new(trials: &'a [ContextTrial]) -> Self {
        let sum = |count: fn(&ContextTrial) -> usize| trials.iter().map(count).sum::<usize>();
        let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        let told = sum(|trial| usize::from(!trial.told.is_empty()));
        let touched = sum(|trial| trial.touched);
        let mut items: Vec<usize> = trials.iter().map(|trial| trial.items).collect();
        items.sort_unstable();
        ContextScore {
            sessions: trials.len(),
            told,
            share: percent(told, trials.len()),
            recall: percent(sum(|trial| trial.told.len()), touched),
            recall_first: percent(sum(|trial| trial.told_first), touched),
            items: items.get(items.len() / 2).copied().unwrap_or_default(),
            each: None,
        }
    }
}

impl ContextBuilder<'_> {
    /// Replays the newest sessions of people: what each would have been told of what was over when it began. Projects of one name count
    /// as one if that is given.
    pub fn evaluate(
        &self,
        name: Option<&str>,
        sessions: usize,
        tokens: usize,
        characters: usize,
        shares: Shares,
    ) -> Result<Vec<ContextTrial>> {
        let mut rows = self.memory.store.sessions(&SessionFilter {
            project: name.map(str::to_string),
            people_only: true,
            ..SessionFilter::default()
        })?;
        rows.retain(|row| row.parent_kind.as_deref() != Some("subagent") && row.events > 0);
        rows.sort_by_key(|row| std::cmp::Reverse(row.started_at));
        rows.truncate(sessions);
        let mut trials = Vec::new();
        for row in rows {
            let (Some(root), Some(began)) = (&row.project, row.started_at) else {
                continue;
            };
            let here = match name {
                Some(name) => {
                    let projects = self.memory.store.projects_named(name)?;
                    Surroundings::elsewhere(projects, row.branch.as_deref())
                }
                None => Surroundings::of_session(&row),
            };
            let context = self.build(&ContextOptions {
                here,
                session: Some(row.name()),
                occasion: Occasion::Start,
                prompt: None,
                calls: false,
                redactor: None,
                tokens,
                characters,
                shares,
                before: began,
                now: began,
                nonce: [0; 32],
            })?;
            let roots: Vec<String> = [Some(root.clone()), row.cwd.clone()]
                .into_iter()
                .flatten()
                .collect();
            let touched =
                self.memory
                    .store
                    .touched(row.id, Seq::FIRST, Seq::last_of(row.events))?;
            let mut files: Vec<String> = touched
                .iter()
                .filter_map(|(_, touch)| in_project(&roots, &touch.path))
                .collect();
            files.sort_unstable();
            files.dedup();
            let first = context.items.iter().take(FIRST_ITEMS);
            let first: Vec<&str> = first.map(|item| item.text.as_str()).collect();
            let is_first = |file: &&String| first.iter().any(|text| names_file(text, file));
            let is_told = |file: &&String| names_file(&context.text, file);
            trials.push(ContextTrial {
                agent: row.agent,
                session: row.session,
                tokens: context.tokens,
                items: context.items.len(),
                touched: files.len(),
                told: files.iter().filter(is_told).cloned().collect(),
                told_first: files.iter().filter(is_first).count(),
            });
        }
        Ok(trials)
    }
}

/// Returns whether a text names a file by its whole path.
pub(super) fn names_file(text: &str, file: &str) -> bool {
    let is_around = |letter: Option<char>| {
        !letter.is_some_and(|letter| letter.is_alphanumeric() || "/._-".contains(letter))
    };
    text.match_indices(file).any(|(at, _)| {
        is_around(text[..at].chars().next_back())
            && is_around(text[at + file.len()..].chars().next())
    })
}
