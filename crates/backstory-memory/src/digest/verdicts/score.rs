//! Digests of today beside the verdicts of people.

use std::collections::{BTreeMap, HashMap};

use backstory_event::SessionName;
use backstory_store::{SessionFilter, SessionRow};
use serde::{Deserialize, Serialize};

use super::{DigestVerdict, DigestVerdicts, Grade, GradedText, JudgedStatement};
use crate::digest::{Digest, Outcome, Statement};
use crate::error::{Error, Result};
use crate::interval::wilson_interval;
use crate::upkeep::WithDamage;

/// Score of the digests of today.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DigestScore {
    /// Number of sessions whose verdicts are compared.
    pub sessions: u64,
    /// Number of sessions that have grown since they were judged, and are not compared.
    pub grown: u64,
    /// Number of judged sessions that the store does not have or cannot read.
    pub missing: u64,
    /// Outcomes that are right.
    pub outcomes: Proportion,
    /// Mean over true outcomes of the share that is right; none without verdicts.
    pub balanced_accuracy: Option<f64>,
    /// Outcomes by the true one.
    pub by_outcome: Vec<OutcomeScore>,
    /// Sessions whose outcome is wrong.
    pub wrong_outcomes: Vec<WrongOutcome>,
    /// Decisions.
    pub decisions: StatementScore,
    /// Standing problems.
    pub problems: StatementScore,
    /// Titles.
    pub titles: TextScore,
    /// Headlines.
    pub headlines: TextScore,
}

/// A share with Wilson's interval of 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Proportion {
    /// Number that has the property.
    pub hits: u64,
    /// Number of all.
    pub total: u64,
    /// Their share, between 0 and 1; 0 when there are none.
    pub share: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Score of one true outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeScore {
    /// The true outcome.
    pub outcome: Outcome,
    /// Number of digests that have it.
    pub right: u64,
    /// Number of sessions that have it in truth.
    pub judged: u64,
}

/// A session whose digest has another outcome than the true one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongOutcome {
    /// The agent.
    pub agent: String,
    /// The agent's own id of the session.
    pub session: String,
    /// The true outcome.
    pub outcome: Outcome,
    /// The outcome in the digest.
    pub digest_outcome: Outcome,
    /// First reason in the digest.
    pub reason: Option<String>,
}

/// Score of decisions or problems.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StatementScore {
    /// Statements of digests that are right, of those with a verdict.
    pub precision: Proportion,
    /// Statements judged right that digests still have.
    pub recall: Proportion,
    /// Number of statements of digests without a verdict.
    pub unjudged: u64,
}

/// Score of titles or headlines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextScore {
    /// Number of good ones.
    pub good: u64,
    /// Number of middling ones.
    pub middling: u64,
    /// Number of poor ones.
    pub poor: u64,
    /// Number of those that changed since they were graded: they need a new grade.
    pub changed: u64,
}

impl Default for Proportion {
    fn default() -> Self {
        Proportion::new(0, 0)
    }
}

impl Proportion {
    fn new(hits: u64, total: u64) -> Self {
        let (low, high) = wilson_interval(hits, total);
        let share = match total {
            0 => 0.0,
            _ => hits as f64 / total as f64,
        };
        Proportion {
            hits,
            total,
            share,
            low,
            high,
        }
    }

    fn add(&mut self, is_hit: bool) {
        *self = Proportion::new(self.hits + u64::from(is_hit), self.total + 1);
    }
}

impl TextScore {
    /// Returns the number of texts with a grade.
    pub fn graded(&self) -> u64 {
        self.good + self.middling + self.poor
    }

    fn add(&mut self, texts: &[GradedText], current: Option<&str>) {
        let known = texts
            .iter()
            .rev()
            .find(|known| Some(known.text.as_str()) == current);
        match known.map(|known| known.grade) {
            Some(Grade::Good) => self.good += 1,
            Some(Grade::Middling) => self.middling += 1,
            Some(Grade::Poor) => self.poor += 1,
            None if texts.is_empty() => {}
            None => self.changed += 1,
        }
    }
}

impl StatementScore {
    /// Compares statements by their words, and those whose words nobody judged by their turn.
    fn add(&mut self, current: &[Statement], judged: &[JudgedStatement]) {
        let is_same = |now: &Statement, known: &JudgedStatement| now.text == known.text;
        let is_of_turn =
            |now: &Statement, known: &JudgedStatement| now.turn.is_some() && now.turn == known.turn;
        let is_known = |now: &Statement| judged.iter().any(|known| is_same(now, known));
        let is_kept = |known: &JudgedStatement| current.iter().any(|now| is_same(now, known));
        for now in current {
            let by_words = judged.iter().rev().find(|known| is_same(now, known));
            let mut reworded = judged
                .iter()
                .filter(|known| !is_kept(known) && is_of_turn(now, known));
            let by_turn = || {
                let is_right = reworded.next()?.is_right;
                reworded
                    .all(|known| known.is_right == is_right)
                    .then_some(is_right)
            };
            match by_words.map(|known| known.is_right).or_else(by_turn) {
                Some(is_right) => self.precision.add(is_right),
                None => self.unjudged += 1,
            }
        }
        for known in judged.iter().filter(|known| known.is_right) {
            let is_reworded = |now: &Statement| !is_known(now) && is_of_turn(now, known);
            self.recall
                .add(is_kept(known) || current.iter().any(is_reworded));
        }
    }
}

impl DigestScore {
    fn add(&mut self, digest: &Digest, verdict: &DigestVerdict) {
        self.sessions += 1;
        if let Some(outcome) = verdict.outcome {
            self.outcomes.add(outcome == digest.outcome);
            if outcome != digest.outcome {
                self.wrong_outcomes.push(WrongOutcome {
                    agent: verdict.agent.clone(),
                    session: verdict.session.clone(),
                    outcome,
                    digest_outcome: digest.outcome,
                    reason: digest.reasons.first().map(|reason| reason.text.clone()),
                });
            }
        }
        self.decisions.add(&digest.decisions, &verdict.decisions);
        self.problems.add(&digest.problems, &verdict.problems);
        let headline = digest.headline.as_ref().map(|said| said.text.as_str());
        self.titles
            .add(&verdict.titles, digest.session.title.as_deref());
        self.headlines.add(&verdict.headlines, headline);
    }

    fn count_outcomes(&mut self, outcomes: &[(Outcome, bool)]) {
        let mut counts: BTreeMap<Outcome, (u64, u64)> = BTreeMap::new();
        for (outcome, is_right) in outcomes {
            let (right, judged) = counts.entry(*outcome).or_default();
            *right += u64::from(*is_right);
            *judged += 1;
        }
        let counts = counts.into_iter();
        self.by_outcome = counts
            .map(|(outcome, (right, judged))| OutcomeScore {
                outcome,
                right,
                judged,
            })
            .collect();
        let shares = self.by_outcome.iter();
        let sum: f64 = shares
            .map(|score| score.right as f64 / score.judged as f64)
            .sum();
        self.balanced_accuracy =
            (!self.by_outcome.is_empty()).then(|| sum / self.by_outcome.len() as f64);
    }
}

impl DigestVerdicts<'_> {
    /// Compares the digests of today with all verdicts.
    pub fn score(&self) -> Result<WithDamage<DigestScore>> {
        let verdicts = self.list()?;
        let mut score = DigestScore::default();
        let mut outcomes = Vec::new();
        let mut rows = self.rows_by_name(&verdicts)?;
        for verdict in &verdicts {
            let Some(row) = rows.remove(&verdict.name()) else {
                score.missing += 1;
                continue;
            };
            if row.events != verdict.events {
                score.grown += 1;
                continue;
            }
            match self.memory.sessions().open(row).digest() {
                Ok(digest) => {
                    score.add(&digest, verdict);
                    let outcome = verdict.outcome;
                    outcomes.extend(outcome.map(|outcome| (outcome, outcome == digest.outcome)));
                }
                Err(Error::Store(backstory_store::Error::DamagedPiece(damage))) => {
                    self.memory.store.meet_damage([*damage]);
                    score.missing += 1;
                }
                Err(error) => return Err(error),
            }
        }
        score.count_outcomes(&outcomes);
        self.memory.upkeep().with_damage(score, None)
    }

    fn rows_by_name(&self, verdicts: &[DigestVerdict]) -> Result<HashMap<SessionName, SessionRow>> {
        if verdicts.is_empty() {
            return Ok(HashMap::new());
        }
        let rows = self.memory.store.sessions(&SessionFilter::default())?;
        Ok(rows.into_iter().map(|row| (row.name(), row)).collect())
    }
}

#[cfg(test)]
mod tests {
    use backstory_event::TurnNo;

    use super::*;

    fn said(text: &str, turn: u32) -> Statement {
        Statement {
            text: text.to_string(),
            turn: Some(TurnNo::new(turn)),
            events: Vec::new(),
        }
    }

    fn judged(text: &str, turn: u32, is_right: bool) -> JudgedStatement {
        JudgedStatement {
            text: text.to_string(),
            turn: Some(TurnNo::new(turn)),
            is_right,
        }
    }

    #[track_caller]
    fn check(now: &[Statement], known: &[JudgedStatement], expect: [(u64, u64); 2], new: u64) {
        let mut score = StatementScore::default();
        score.add(now, known);
        let counts = |share: Proportion| (share.hits, share.total);
        let found = [counts(score.precision), counts(score.recall)];
        assert_eq!((found, score.unjudged), (expect, new));
    }

    #[test]
    fn statements_are_compared_by_words_then_by_turn() {
        let known = [
            judged("use otters", 1, true),
            judged("hm", 2, false),
            judged("no clocks", 2, true),
        ];
        let as_judged = [said("use otters", 1), said("hm", 2), said("no clocks", 2)];
        check(&as_judged, &known, [(2, 3), (2, 2)], 0);
        // Better words, a false one less.
        let better = [said("use otters, not seals", 1), said("no clocks", 2)];
        check(&better, &known, [(2, 2), (2, 2)], 0);
        // Which of two the new words are is not known.
        check(&[said("no clock", 2)], &known, [(0, 0), (1, 2)], 1);
        check(&[said("new", 7)], &known, [(0, 0), (0, 2)], 1);
        check(&[], &known, [(0, 0), (0, 2)], 0);
        // The new one in the turn of one that is kept.
        let more = [said("use otters", 1), said("and seals", 1)];
        check(&more, &known, [(1, 1), (1, 2)], 1);
    }

    #[test]
    fn balanced_accuracy_is_the_mean_over_true_outcomes() {
        let mut score = DigestScore::default();
        score.count_outcomes(&[]);
        assert_eq!(score.balanced_accuracy, None);
        let success = (Outcome::Success, true);
        score.count_outcomes(&[success, success, success, (Outcome::Failed, false)]);
        assert_eq!(score.balanced_accuracy, Some(0.5));
        assert_eq!(score.by_outcome.len(), 2);
    }

    #[test]
    fn texts_count_as_graded_only_while_they_stay() {
        let text = |text: &str, grade| GradedText {
            text: text.to_string(),
            grade,
        };
        let texts = [text("one", Grade::Poor), text("two", Grade::Good)];
        let mut score = TextScore::default();
        for current in [Some("one"), Some("two"), Some("three"), None] {
            score.add(&texts, current);
        }
        score.add(&[], Some("one"));
        assert_eq!((score.good, score.poor, score.changed), (1, 1, 2));
        assert_eq!(score.graded(), 2);
    }
}
