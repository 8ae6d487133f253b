//! Verdicts of people about digests, by which every later version of the rules is scored.
//!
//! They are lines of a file in the store's folder, one a session. `evidence` is what a person reads before judging, `score` compares
//! verdicts with the digests of today.

mod evidence;
mod score;

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;

use backstory_event::{Seq, SessionName, TimeMs, TurnNo};
use backstory_store::private::make_private_folder;
use backstory_store::{SessionFilter, SessionRow, lock_file};
use serde::{Deserialize, Serialize};

use super::{Digest, Outcome, Statement};
use crate::Memory;
use crate::error::{Error, Result};
use crate::serde_text::rfc3339_time;
use crate::trusted::read_settings;
use crate::write_private;

pub use evidence::DigestEvidence;
pub use score::{DigestScore, OutcomeScore, Proportion, StatementScore, TextScore, WrongOutcome};

/// Maximum number of sampled sessions with the same title in one project: programs begin many sessions alike.
const MAX_OF_ONE_TITLE: usize = 4;

/// Verdicts of people about digests.
pub struct DigestVerdicts<'m> {
    pub(crate) memory: &'m Memory,
}

/// A person's verdicts about the digest of one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DigestVerdict {
    /// The agent.
    pub agent: String,
    /// The agent's own id of the session.
    pub session: String,
    /// Number of events of the session when it was judged: once it has grown, everything is judged again.
    pub events: u64,
    /// Time of the last verdict.
    #[serde(default, with = "rfc3339_time")]
    pub judged_at: Option<TimeMs>,
    /// Version of the program whose digest was judged last.
    #[serde(default)]
    pub version: String,
    /// True outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Titles that the digest has had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub titles: Vec<GradedText>,
    /// Headlines that the digest has had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headlines: Vec<GradedText>,
    /// Decisions that the digest has named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<JudgedStatement>,
    /// Standing problems that the digest has named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<JudgedStatement>,
}

/// Grade of a title or headline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// It names what the session was about.
    Good,
    /// It is right and says too little.
    Middling,
    /// It is wrong or says nothing.
    Poor,
}

/// A title or headline with its grade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GradedText {
    /// Its words.
    pub text: String,
    /// Its grade.
    pub grade: Grade,
}

/// A statement of a digest with the verdict about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedStatement {
    /// Its words.
    pub text: String,
    /// The turn that it cites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnNo>,
    /// True if it is right.
    #[serde(rename = "right")]
    pub is_right: bool,
}

/// Part of a digest that gets one verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DigestItem<'d> {
    /// The outcome.
    Outcome(Outcome),
    /// The title.
    Title(&'d str),
    /// The headline.
    Headline(&'d str),
    /// A decision.
    Decision(&'d Statement),
    /// A standing problem.
    Problem(&'d Statement),
}

/// Verdict about one part of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemVerdict {
    /// The true outcome.
    Outcome(Outcome),
    /// Grade of a title or headline.
    Grade(Grade),
    /// Whether a statement is right.
    Right(bool),
}

/// Lock of the file with verdicts, held until it is dropped.
pub(crate) struct VerdictsLock {
    _file: File,
}

impl DigestVerdict {
    /// Begins the verdicts about a session, as it is now.
    pub fn new(session: &SessionRow) -> Self {
        DigestVerdict {
            agent: session.agent.clone(),
            session: session.session.clone(),
            events: session.events,
            ..DigestVerdict::default()
        }
    }

    /// Returns the name of the session.
    pub fn name(&self) -> SessionName {
        SessionName::new(self.agent.clone(), self.session.as_str())
    }

    /// Returns the parts of a digest that have no verdict yet, in the order in which they are judged.
    pub fn pending<'d>(&self, digest: &'d Digest) -> Vec<DigestItem<'d>> {
        let mut items = Vec::new();
        if self.outcome.is_none() {
            items.push(DigestItem::Outcome(digest.outcome));
        }
        let is_graded =
            |texts: &[GradedText], text: &str| texts.iter().any(|known| known.text == text);
        let title = digest.session.title.as_deref();
        items.extend(
            title
                .filter(|title| !is_graded(&self.titles, title))
                .map(DigestItem::Title),
        );
        let headline = digest.headline.as_ref().map(|said| said.text.as_str());
        items.extend(
            headline
                .filter(|text| !is_graded(&self.headlines, text))
                .map(DigestItem::Headline),
        );
        let decisions = unjudged(&digest.decisions, &self.decisions);
        items.extend(decisions.into_iter().map(DigestItem::Decision));
        let problems = unjudged(&digest.problems, &self.problems);
        items.extend(problems.into_iter().map(DigestItem::Problem));
        items
    }

    /// Adds a verdict. One that does not fit the part is left out.
    pub fn judge(&mut self, item: DigestItem<'_>, verdict: ItemVerdict) {
        let judged = |said: &Statement, is_right| JudgedStatement {
            text: said.text.clone(),
            turn: said.turn,
            is_right,
        };
        let graded = |text: &str, grade| GradedText {
            text: text.to_string(),
            grade,
        };
        match (item, verdict) {
            (DigestItem::Outcome(_), ItemVerdict::Outcome(outcome)) => {
                self.outcome = Some(outcome);
            }
            (DigestItem::Title(text), ItemVerdict::Grade(grade)) => {
                self.titles.push(graded(text, grade));
            }
            (DigestItem::Headline(text), ItemVerdict::Grade(grade)) => {
                self.headlines.push(graded(text, grade));
            }
            (DigestItem::Decision(said), ItemVerdict::Right(is_right)) => {
                self.decisions.push(judged(said, is_right));
            }
            (DigestItem::Problem(said), ItemVerdict::Right(is_right)) => {
                self.problems.push(judged(said, is_right));
            }
            _ => {}
        }
    }

    /// Leaves out the quoted texts that are not wanted.
    pub(crate) fn retain_texts(&mut self, is_wanted: impl Fn(&str) -> bool) {
        for texts in [&mut self.titles, &mut self.headlines] {
            texts.retain(|graded| is_wanted(&graded.text));
        }
        for statements in [&mut self.decisions, &mut self.problems] {
            statements.retain(|judged| is_wanted(&judged.text));
        }
    }
}

/// Returns the statements that have no verdict by their own words, each text once.
fn unjudged<'d>(statements: &'d [Statement], judged: &[JudgedStatement]) -> Vec<&'d Statement> {
    let mut found: Vec<&Statement> = Vec::new();
    for statement in statements {
        let is_judged = judged.iter().any(|known| known.text == statement.text);
        if !is_judged && found.iter().all(|known| known.text != statement.text) {
            found.push(statement);
        }
    }
    found
}

impl DigestVerdicts<'_> {
    /// Returns the file with the verdicts.
    pub fn path(&self) -> PathBuf {
        self.memory.home.join("eval").join("digests.jsonl")
    }

    /// Returns all verdicts; an error when a line of the file is none.
    pub fn list(&self) -> Result<Vec<DigestVerdict>> {
        let path = self.path();
        let lines = self.lines()?;
        let mut verdicts = Vec::new();
        for (number, line) in lines.iter().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            verdicts.push(serde_json::from_str(line).map_err(|error| Error::Verdict {
                path: path.clone(),
                line: number + 1,
                reason: error.to_string(),
            })?);
        }
        Ok(verdicts)
    }

    fn lines(&self) -> Result<Vec<String>> {
        let path = self.path();
        let text = read_settings(&path).map_err(|source| Error::Path { path, source })?;
        let text = text.unwrap_or_default();
        Ok(text.lines().map(str::to_string).collect())
    }

    /// Keeps the verdicts about a session in place of earlier ones. They are left out if it has been forgotten in the meantime.
    pub fn save(&self, session: &SessionRow, verdict: &DigestVerdict) -> Result<()> {
        let _lock = self.lock()?;
        let known = self.memory.store.session_heads([session.id])?;
        let is_known = |name: &SessionName| known.values().any(|head| head.name() == *name);
        self.replace(
            &verdict.name(),
            is_known(&verdict.name()).then_some(verdict),
        )
    }

    /// Removes the verdicts about a session.
    pub fn remove(&self, session: &SessionRow) -> Result<()> {
        let _lock = self.lock()?;
        self.replace(&session.name(), None)
    }

    fn replace(&self, name: &SessionName, verdict: Option<&DigestVerdict>) -> Result<()> {
        let mut verdicts = self.list()?;
        let place = verdicts.iter().position(|known| known.name() == *name);
        match (place, verdict) {
            (Some(place), Some(verdict)) => verdicts[place] = verdict.clone(),
            (None, Some(verdict)) => verdicts.push(verdict.clone()),
            (Some(place), None) => drop(verdicts.remove(place)),
            (None, None) => return Ok(()),
        }
        let lines = verdicts.iter().map(serde_json::to_string);
        let lines: serde_json::Result<Vec<String>> = lines.collect();
        self.write_lines(&lines.map_err(std::io::Error::from)?)
    }

    fn write_lines(&self, lines: &[String]) -> Result<()> {
        let path = self.path();
        if let Some(folder) = path.parent() {
            make_private_folder(folder, |_| true).map_err(|source| Error::Unwritable {
                path: folder.to_path_buf(),
                source,
            })?;
        }
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        write_private(&path, text.as_bytes())
    }

    /// Waits until nobody else changes the verdicts.
    pub(crate) fn lock(&self) -> Result<VerdictsLock> {
        let _file = lock_file(&self.memory.home.join("eval.lock"), || {})?;
        Ok(VerdictsLock { _file })
    }

    /// Writes every line anew as `change` returns it, or leaves it out where that is nothing. Returns whether the file changed.
    pub(crate) fn change_lines(
        &self,
        _lock: &VerdictsLock,
        change: impl Fn(String) -> Result<Option<String>>,
    ) -> Result<bool> {
        self.remove_unfinished();
        let lines = self.lines()?;
        let mut kept = Vec::new();
        for line in &lines {
            kept.extend(change(line.clone())?);
        }
        if kept == lines {
            return Ok(false);
        }
        self.write_lines(&kept)?;
        Ok(true)
    }

    /// Removes what killed processes had begun to write beside the file.
    fn remove_unfinished(&self) {
        let path = self.path();
        let entries = path.parent().and_then(|folder| folder.read_dir().ok());
        for entry in entries.into_iter().flatten().flatten() {
            if entry.path() != path && entry.file_type().is_ok_and(|kind| kind.is_file()) {
                // What stays is found and named by the search for what is left.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Returns a sample of people's sessions whose text is stored. The same seed gives the same sessions, and more of them begin with
    /// those of fewer; of one title in one project there are at most four.
    pub fn sample(&self, sessions: usize, seed: u64) -> Result<Vec<SessionRow>> {
        let mut rows = self.memory.store.sessions(&SessionFilter {
            people_only: true,
            ..SessionFilter::default()
        })?;
        rows.retain(|row| {
            row.parent_kind.as_deref() != Some("subagent")
                && row.turns > 0
                && row.evicted == Seq::ZERO
        });
        rows.sort_by_cached_key(|row| sample_key(row, seed));
        let mut titles: HashMap<(Option<String>, String), usize> = HashMap::new();
        rows.retain(|row| {
            let Some(title) = &row.title else { return true };
            let title = (row.project.clone(), without_numbers(title));
            let count = titles.entry(title).or_default();
            *count += 1;
            *count <= MAX_OF_ONE_TITLE
        });
        rows.truncate(sessions);
        Ok(rows)
    }

    /// Returns the sessions that have verdicts and are still known.
    pub fn judged_sessions(&self) -> Result<Vec<SessionRow>> {
        let verdicts = self.list()?.into_iter();
        let names: Vec<SessionName> = verdicts.map(|verdict| verdict.name()).collect();
        let mut rows = self.memory.store.sessions(&SessionFilter::default())?;
        rows.retain(|row| names.contains(&row.name()));
        Ok(rows)
    }
}

/// Returns the place of a session in samples of a seed: new sessions change no other's.
fn sample_key(row: &SessionRow, seed: u64) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(row.agent.as_bytes());
    hasher.update(&[0]);
    hasher.update(row.session.as_bytes());
    *hasher.finalize().as_bytes()
}

/// Returns a title as it is in all runs of a program that only counts up or names the day.
fn without_numbers(title: &str) -> String {
    let digit_to_zero = |letter: char| match letter {
        '0'..='9' => '0',
        letter => letter,
    };
    title.to_lowercase().chars().map(digit_to_zero).collect()
}
