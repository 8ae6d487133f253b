//! Commands that worked in earlier sessions.

use std::collections::{BTreeMap, BTreeSet};

use backstory_analysis::digest::{only_looks, program};
use backstory_event::{TimeMs, TurnNo};
use serde::Serialize;

use super::Recall;
use crate::digest::What;
use crate::error::Result;
use crate::serde_text::rfc3339_time;
use crate::upkeep::WithDamage;

/// Maximum length of a command in bytes: longer ones are scripts that nobody types again.
const MAX_COMMAND_BYTES: usize = 300;

/// Commands that worked in earlier sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KnownCommandList {
    /// Those that worked in most sessions first, the last ones first of equals.
    pub commands: Vec<KnownCommand>,
}

/// Command that worked in earlier sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KnownCommand {
    /// The command.
    pub command: String,
    /// Number of sessions in which it worked.
    pub sessions: u64,
    /// Number of times that it worked.
    pub worked: u64,
    /// Number of times that it failed.
    pub failed: u64,
    /// The last session in which it worked.
    pub session: String,
    /// Its agent.
    pub agent: String,
    /// Root of its project.
    pub project: Option<String>,
    /// The last turn in which it worked.
    pub turn: TurnNo,
    /// Time of that.
    #[serde(rename = "timestamp", with = "rfc3339_time")]
    pub at: Option<TimeMs>,
}

/// A command in the making.
struct Counted {
    known: Option<KnownCommand>,
    sessions: BTreeSet<String>,
    worked: u64,
    failed: u64,
}

/// Returns a command without what cuts its output, which every agent types in its own way: `make 2>&1 | tail -20`.
fn without_cut(command: &str) -> &str {
    let mut rest = command.trim();
    loop {
        let cut = rest.rsplit_once(" | ").filter(|(_, last)| {
            let mut words = last.split(' ');
            matches!(words.next(), Some("tail" | "head"))
                && words.all(|word| word.starts_with(['-', '+']) || word.parse::<u32>().is_ok())
        });
        let shorter = match cut {
            Some((before, _)) => before,
            None => rest
                .trim_end_matches("2>&1")
                .trim_end_matches("2>/dev/null")
                .trim_end(),
        };
        if shorter.len() == rest.len() || shorter.is_empty() {
            return rest;
        }
        rest = shorter.trim_end();
    }
}

impl Recall<'_> {
    /// Returns the commands with all of these words that worked in sessions of a project, or of all.
    pub fn commands(
        &self,
        words: &[String],
        project: Option<&str>,
        limit: usize,
    ) -> Result<WithDamage<KnownCommandList>> {
        let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let mut found: BTreeMap<String, Counted> = BTreeMap::new();
        self.visit_notes(project, |head, project, notes| {
            for step in &notes.steps {
                let What::Run(run) = &step.what else {
                    continue;
                };
                let (Some(ok), false) = (run.ok, run.denied) else {
                    continue;
                };
                let command = run.command.split_whitespace().collect::<Vec<_>>().join(" ");
                let command = without_cut(&command).to_string();
                // What was shortened cannot be run.
                let is_whole = command.len() <= MAX_COMMAND_BYTES && !command.contains(" … ");
                let lower = command.to_lowercase();
                if !is_whole
                    || only_looks(&program(&command))
                    || !words.iter().all(|word| lower.contains(word.as_str()))
                {
                    continue;
                }
                let counted = found.entry(command.clone()).or_insert_with(|| Counted {
                    known: None,
                    sessions: BTreeSet::new(),
                    worked: 0,
                    failed: 0,
                });
                if !ok {
                    counted.failed += 1;
                    continue;
                }
                counted.worked += 1;
                counted.sessions.insert(head.session.clone());
                let is_later = counted
                    .known
                    .as_ref()
                    .is_none_or(|known| known.at <= step.at);
                if is_later {
                    counted.known = Some(KnownCommand {
                        command,
                        sessions: 0,
                        worked: 0,
                        failed: 0,
                        session: head.session.clone(),
                        agent: head.agent.clone(),
                        project: project.map(str::to_string),
                        turn: step.turn,
                        at: step.at,
                    });
                }
            }
        })?;
        let commands = found.into_values().filter_map(|counted| {
            Some(KnownCommand {
                sessions: counted.sessions.len() as u64,
                worked: counted.worked,
                failed: counted.failed,
                ..counted.known?
            })
        });
        let mut commands: Vec<KnownCommand> = commands.collect();
        commands.sort_by(|one, other| {
            (other.sessions.cmp(&one.sessions))
                .then(other.worked.cmp(&one.worked))
                .then(other.at.cmp(&one.at))
        });
        commands.truncate(if limit == 0 { usize::MAX } else { limit });
        self.memory
            .upkeep()
            .with_damage(KnownCommandList { commands }, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_the_same_however_their_output_is_cut() {
        for command in [
            "make test",
            "make test 2>&1 | tail -20",
            "make test 2>&1 | head -n 5 2>&1",
            "make test 2>/dev/null",
        ] {
            assert_eq!(without_cut(command), "make test", "{command}");
        }
        assert_eq!(without_cut("cat a | tail -f b"), "cat a | tail -f b");
        assert_eq!(without_cut("2>&1"), "2>&1");
    }
}
