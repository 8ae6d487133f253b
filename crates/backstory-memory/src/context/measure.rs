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
    /// Files of its project that it touched.
    pub touched: usize,
    /// Those that it would have been told of.
    pub told: Vec<String>,
}

/// Sessions that were looked at, and how many would have been told of a file that they touched.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContextScore<'a> {
    /// Number of sessions.
    pub sessions: usize,
    /// Number of those that would have been told.
    pub told: usize,
    /// Share of those in percent.
    pub share: f64,
    /// The sessions; left out when they are not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each: Option<&'a [ContextTrial]>,
}

impl<'a> ContextScore<'a> {
    /// Counts trials.
    pub fn new(trials: &'a [ContextTrial]) -> Self {
        let told = trials.iter().filter(|trial| !trial.told.is_empty()).count();
        ContextScore {
            sessions: trials.len(),
            told,
            share: 100.0 * told as f64 / trials.len().max(1) as f64,
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
            let is_told = |file: &&String| {
                let is_around = |letter: Option<char>| {
                    !letter
                        .is_some_and(|letter| letter.is_alphanumeric() || "/._-".contains(letter))
                };
                context.text.match_indices(file.as_str()).any(|(at, _)| {
                    is_around(context.text[..at].chars().next_back())
                        && is_around(context.text[at + file.len()..].chars().next())
                })
            };
            trials.push(ContextTrial {
                agent: row.agent,
                session: row.session,
                tokens: context.tokens,
                touched: files.len(),
                told: files.iter().filter(is_told).cloned().collect(),
            });
        }
        Ok(trials)
    }
}
