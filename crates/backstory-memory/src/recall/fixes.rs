//! Errors that earlier sessions got rid of, and how.

use std::collections::HashSet;

use backstory_analysis::digest::{Attempt, Repair, repairs, signature};
use backstory_event::{TimeMs, TurnNo};
use serde::Serialize;

use super::Recall;
use crate::conventions::AGENT_CONVENTIONS;
use crate::error::Result;
use crate::serde_text::rfc3339_time;
use crate::upkeep::WithDamage;

/// Minimum similarity of two errors that count as the same.
const MIN_SIMILARITY: f64 = 0.6;

/// Maximum number of lines of a text that are compared; errors stand at the end of outputs.
const MAX_LINES: usize = 200;

/// Maximum number of bytes of a line that is compared.
const MAX_LINE_BYTES: usize = 2_000;

/// Errors that earlier sessions got rid of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FixList {
    /// The most similar error first, the last session first of equals.
    pub fixes: Vec<Fix>,
}

/// Error that an earlier session got rid of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fix {
    /// The session.
    pub session: String,
    /// Its agent.
    pub agent: String,
    /// Root of its project.
    pub project: Option<String>,
    /// Turn in which the command worked again.
    pub turn: TurnNo,
    /// Time at which it did.
    #[serde(rename = "timestamp", with = "rfc3339_time")]
    pub at: Option<TimeMs>,
    /// The line that says most of the error.
    pub error: String,
    /// Check or program that failed.
    pub program: String,
    /// Command that failed.
    pub failed_command: String,
    /// Command that worked in the end.
    pub passed_command: String,
    /// What was done before it worked.
    pub fixed_by: FixAttempt,
    /// What was done before and did not help.
    pub did_not_help: Vec<FixAttempt>,
    /// What the agent said of it.
    pub explanation: Option<String>,
    /// Similarity of the errors, from 0 to 1.
    pub similarity: f64,
    /// Number of sessions in which the same repair worked.
    pub sessions: u64,
}

/// Edits and commands after an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FixAttempt {
    /// Files that were edited, the last ones.
    pub files: Vec<String>,
    /// Commands that changed something, the last ones.
    pub commands: Vec<String>,
}

impl From<Attempt> for FixAttempt {
    fn from(attempt: Attempt) -> Self {
        FixAttempt {
            files: attempt.files,
            commands: attempt.commands,
        }
    }
}

impl Recall<'_> {
    /// Returns what earlier sessions of a project, or of all, did about errors like those in a text.
    pub fn fixes(
        &self,
        text: &str,
        project: Option<&str>,
        limit: usize,
    ) -> Result<WithDamage<FixList>> {
        let errors = error_words(text);
        let mut fixes: Vec<Fix> = Vec::new();
        if !errors.is_empty() {
            self.visit_notes(project, |head, project, notes| {
                for repair in repairs(notes, &AGENT_CONVENTIONS) {
                    let similarity = similarity(&errors, &repair);
                    if similarity >= MIN_SIMILARITY {
                        add(&mut fixes, fix(repair, head, project, similarity));
                    }
                }
            })?;
        }
        fixes.sort_by(|one, other| {
            (other.similarity.total_cmp(&one.similarity))
                .then(other.sessions.cmp(&one.sessions))
                .then(other.at.cmp(&one.at))
        });
        fixes.truncate(if limit == 0 { usize::MAX } else { limit });
        self.memory.upkeep().with_damage(FixList { fixes }, None)
    }
}

fn fix(
    repair: Repair,
    head: &backstory_store::SessionHead,
    project: Option<&str>,
    similarity: f64,
) -> Fix {
    Fix {
        session: head.session.clone(),
        agent: head.agent.clone(),
        project: project.map(str::to_string),
        turn: repair.turn,
        at: repair.at,
        error: repair.error,
        program: repair.program,
        failed_command: repair.failed_command,
        passed_command: repair.passed_command,
        fixed_by: repair.fix.into(),
        did_not_help: repair.failed_attempts.into_iter().map(Into::into).collect(),
        explanation: repair.explanation,
        similarity,
        sessions: 1,
    }
}

/// Adds a fix, to the same one of a later session if there is one.
fn add(fixes: &mut Vec<Fix>, fix: Fix) {
    let is_same = |known: &&mut Fix| {
        known.program == fix.program
            && known.fixed_by == fix.fixed_by
            && known.passed_command == fix.passed_command
            && signature(&known.error) == signature(&fix.error)
    };
    match fixes.iter_mut().find(is_same) {
        // The newest session comes first.
        Some(known) if known.session != fix.session => known.sessions += 1,
        Some(_) => {}
        None => fixes.push(fix),
    }
}

/// Returns the words of each line of a text, as signatures have them.
fn error_words(text: &str) -> Vec<HashSet<String>> {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let last = &lines[lines.len().saturating_sub(MAX_LINES)..];
    let words = last.iter().map(|line| {
        let line = backstory_analysis::text::beginning(line, MAX_LINE_BYTES);
        words(&signature(line))
    });
    words.filter(|words| !words.is_empty()).collect()
}

fn words(text: &str) -> HashSet<String> {
    text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
        .filter(|word| word.chars().count() > 1)
        .map(str::to_lowercase)
        .collect()
}

/// Returns how much the most similar line has in common with an error: the share of common words, of the line's alone where it is a query of
/// a few words.
fn similarity(lines: &[HashSet<String>], repair: &Repair) -> f64 {
    let mut known = words(&repair.signature);
    let own = known.clone();
    known.extend(words(&repair.error));
    known.extend(words(&repair.program));
    let of_line = |line: &HashSet<String>| {
        let common = line.intersection(&own).count() as f64;
        let all = line.union(&own).count().max(1) as f64;
        let is_query = lines.len() == 1;
        let share = line.intersection(&known).count() as f64 / line.len() as f64;
        // A query that names all of it is as good as the line itself, but that comes first.
        let query = if is_query && line.len() >= 2 {
            share * 0.9
        } else {
            0.0
        };
        f64::max(common / all, query)
    };
    lines.iter().map(of_line).fold(0.0, f64::max)
}
