//! How good search is, on queries whose answers are known.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Mode, Query, Search, SearchOptions};
use crate::error::Result;

/// A query whose answer is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedQuery {
    /// The query.
    pub query: String,
    /// Ids of the right sessions.
    pub gold: Vec<String>,
}

impl Search<'_> {
    /// Scores the first ten hits of queries in a mode.
    pub fn evaluate(
        &self,
        queries: &[JudgedQuery],
        mode: Mode,
        model: Option<&str>,
    ) -> Result<RetrievalScore> {
        let mut score = RetrievalScore::default();
        let options = SearchOptions {
            limit: 10,
            mode,
            model: model.map(str::to_string),
            ..SearchOptions::default()
        };
        for judged in queries {
            let started = Instant::now();
            let answer = self.run(&Query::parse(&judged.query), &options)?;
            let took = started.elapsed();
            let hits = answer.hits.iter();
            let found: Vec<&str> = hits.map(|hit| hit.session.session.as_str()).collect();
            let confident = answer.hits.first().is_some_and(|hit| hit.confident);
            score.add(&judged.query, &found, &judged.gold, confident, took);
        }
        Ok(score)
    }
}

/// Gathers how queries did.
#[derive(Debug, Clone, Default)]
pub struct RetrievalScore {
    /// The queries, in their order.
    pub queries: Vec<ScoredQuery>,
    took: Vec<Duration>,
}

/// How one query did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoredQuery {
    /// The query.
    pub query: String,
    /// The first right place, from 1, if it is among the first ten.
    pub place: Option<usize>,
    /// Whether all right sessions are among the first five.
    pub all_at_5: bool,
    /// The normalised discounted gain of the first ten.
    pub ndcg_at_10: f64,
    /// Whether the first hit was confident.
    pub confident: bool,
}

/// How queries did, in percent where not said.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RetrievalSummary {
    /// How many queries.
    pub queries: usize,
    /// A right session is first.
    pub any_at_1: f64,
    /// One is among the first five.
    pub any_at_5: f64,
    /// One is among the first ten.
    pub any_at_10: f64,
    /// All are among the first five.
    pub all_at_5: f64,
    /// The mean of one over the first right place, within ten.
    pub mrr: f64,
    /// The normalised discounted cumulative gain of the first ten.
    pub ndcg_at_10: f64,
    /// The first hit was confident.
    pub confident: f64,
    /// Half of the searches took no longer, in milliseconds.
    pub p50_ms: f64,
    /// Nineteen of twenty took no longer.
    pub p95_ms: f64,
}

/// Scores of queries in one mode.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModeScore<'a> {
    /// The mode.
    pub mode: Mode,
    /// All queries together.
    #[serde(flatten)]
    pub summary: RetrievalSummary,
    /// Each query; left out when they are not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each: Option<&'a [ScoredQuery]>,
}

/// Scores of queries in several modes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModeScores<'a> {
    /// The modes.
    pub modes: Vec<ModeScore<'a>>,
}

impl RetrievalScore {
    /// Adds a query: the sessions found, the best first, and the right ones.
    pub(super) fn add(
        &mut self,
        query: &str,
        found: &[&str],
        gold: &[String],
        confident: bool,
        took: Duration,
    ) {
        let right = |session: &&str| gold.iter().any(|gold| gold == session);
        let place = found.iter().take(10).position(right).map(|place| place + 1);
        let top = found
            .iter()
            .take(5)
            .filter(|session| right(session))
            .count();
        let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
        let gained: f64 = found
            .iter()
            .take(10)
            .enumerate()
            .filter(|(_, session)| right(session))
            .map(|(place, _)| gain(place))
            .sum();
        let possible: f64 = (0..gold.len().min(10)).map(gain).sum();
        let ndcg = if possible > 0.0 {
            gained / possible
        } else {
            0.0
        };
        self.queries.push(ScoredQuery {
            query: query.to_string(),
            place,
            all_at_5: top == gold.len().min(5),
            ndcg_at_10: ndcg,
            confident,
        });
        self.took.push(took);
    }

    /// How all queries did.
    pub fn summary(&self) -> RetrievalSummary {
        let queries = self.queries.len();
        let mean = |value: &dyn Fn(&ScoredQuery) -> f64| {
            self.queries.iter().map(value).sum::<f64>() / queries.max(1) as f64
        };
        let percent = |holds: &dyn Fn(&ScoredQuery) -> bool| {
            mean(&|query| if holds(query) { 100.0 } else { 0.0 })
        };
        let within = |most: usize| percent(&|query| query.place.is_some_and(|place| place <= most));
        let mut took = self.took.clone();
        took.sort_unstable();
        let quantile = |share: f64| {
            let at = ((took.len() as f64 * share) as usize).min(took.len().saturating_sub(1));
            took.get(at).map_or(0.0, |took| took.as_secs_f64() * 1000.0)
        };
        RetrievalSummary {
            queries,
            any_at_1: within(1),
            any_at_5: within(5),
            any_at_10: within(10),
            all_at_5: percent(&|query| query.all_at_5),
            mrr: mean(&|query| query.place.map_or(0.0, |place| 1.0 / place as f64)),
            ndcg_at_10: mean(&|query| query.ndcg_at_10),
            confident: percent(&|query| query.confident),
            p50_ms: quantile(0.5),
            p95_ms: quantile(0.95),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_by_hand() {
        let mut score = RetrievalScore::default();
        let gold = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let took = Duration::from_millis(2);
        score.add("one", &["a", "b", "c"], &gold(&["b"]), true, took);
        score.add("two", &["a"], &gold(&["x"]), false, took);
        assert_eq!(score.queries[0].place, Some(2));
        let summary = score.summary();
        assert_eq!(
            (
                summary.any_at_1,
                summary.any_at_5,
                summary.all_at_5,
                summary.mrr
            ),
            (0.0, 50.0, 50.0, 0.25)
        );
        assert!((summary.ndcg_at_10 - 0.5 / 3_f64.log2()).abs() < 1e-9);
        assert_eq!((summary.confident, summary.p50_ms), (50.0, 2.0));
    }
}
