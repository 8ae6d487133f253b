//! Which model writes best, by what is known of all that they wrote.

use std::collections::{BTreeMap, HashMap, HashSet};

use backstory_event::{Seq, SessionId};
use backstory_store::{Compression, CompressionState, EventRange, Scores, Spending, Tier};
use serde::Serialize;

use super::score::scores;
use crate::Summaries;
use crate::error::Result;
use crate::observe::{Compressor, EXTRACT, observed_items};

/// With fewer items of a model, nobody is said to be better.
const FEWEST: u64 = 20;

/// How models compare.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evaluation {
    /// What they are asked for, one after the other.
    pub tiers: Vec<TierScores>,
}

/// How models compare at one thing.
#[derive(Debug, Clone, PartialEq)]
pub struct TierScores {
    /// What they are asked for.
    pub tier: Tier,
    /// Each model, and `built-in` on the same items.
    pub models: Vec<ModelScores>,
    /// The better model in each dimension.
    pub better: Vec<Better>,
}

/// How a model does.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelScores {
    /// The model.
    pub model: String,
    /// Items that it wrote of.
    pub items: u64,
    /// Means over them.
    pub scores: Scores,
    /// How long half of the answers took at most, in milliseconds.
    pub latency_p50: Option<u64>,
    /// And nineteen of twenty.
    pub latency_p95: Option<u64>,
    /// What all requests took, those in vain included.
    pub took: Spending,
    /// Requests in vain, by reason.
    pub failures: BTreeMap<String, u64>,
}

impl ModelScores {
    /// What a thousand items cost, in dollars.
    pub fn usd_per_1000(&self) -> Option<f64> {
        let cost = self.took.micro_usd as f64 / 1e6;
        (self.items > 0).then(|| cost / self.items as f64 * 1000.0)
    }
}

/// The best at something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Better {
    /// At what.
    pub dimension: &'static str,
    /// Who; nobody when there is no difference, or too little to go by.
    pub model: Option<String>,
    /// Among how many items of each model, the fewest.
    pub items: u64,
}

impl Summaries<'_> {
    /// Compares the models that wrote so far.
    pub fn evaluate(&self) -> Result<Evaluation> {
        let mut tiers: BTreeMap<Tier, BTreeMap<String, Tally>> = BTreeMap::new();
        let mut observed: HashMap<SessionId, HashSet<Seq>> = HashMap::new();
        self.memory.store.compressions(|row| {
            if let (Tier::Observation, CompressionState::Done, Some(session), Some(seq)) =
                (row.tier, row.state, row.session, row.seq)
            {
                observed.entry(session).or_default().insert(seq);
            }
            let models = tiers.entry(row.tier).or_default();
            models.entry(row.model.clone()).or_default().take(row);
        })?;
        let mut evaluation = Evaluation::default();
        for (tier, models) in tiers {
            let mut models: Vec<ModelScores> = models
                .into_iter()
                .map(|(model, tally)| tally.scores(model))
                .collect();
            let better = better(&models);
            if tier == Tier::Observation {
                models.push(self.built_in(&observed)?);
            }
            evaluation.tiers.push(TierScores {
                tier,
                models,
                better,
            });
        }
        Ok(evaluation)
    }

    /// How the built-in compressor does on the same items, as far as their text is there.
    fn built_in(&self, observed: &HashMap<SessionId, HashSet<Seq>>) -> Result<ModelScores> {
        let mut tally = Tally::default();
        let heads = self.memory.store.session_heads(observed.keys().copied())?;
        for (session, calls) in observed {
            let (Some(head), Some(first)) = (heads.get(session), calls.iter().min()) else {
                continue;
            };
            // What hooks alone told of stands behind all that a log tells, and no model was asked about it.
            observed_items(
                &self.memory.store,
                &head.agent,
                *session,
                EventRange::From(*first),
                |found| {
                    if calls.contains(&found.call) {
                        let Ok(sizes) = EXTRACT.compress(&found.source);
                        tally.add(&scores(&found.source, &sizes));
                    }
                    Ok(())
                },
            )?;
        }
        Ok(tally.scores(EXTRACT.name().to_string()))
    }
}

/// What is known of a model's requests.
#[derive(Default)]
struct Tally {
    items: u64,
    /// Sum and number of each score.
    sums: [(f64, u64); 3],
    latencies: Vec<u64>,
    took: Spending,
    failures: BTreeMap<String, u64>,
}

impl Tally {
    fn take(&mut self, row: Compression) {
        self.took.input_tokens += row.took.input_tokens;
        self.took.output_tokens += row.took.output_tokens;
        self.took.micro_usd += row.took.micro_usd;
        if row.state == CompressionState::Done {
            self.add(&row.scores);
            self.latencies.extend(row.latency_ms);
        } else {
            let reason = row.error.unwrap_or_else(|| "under way".to_string());
            *self.failures.entry(reason).or_default() += 1;
        }
    }

    fn add(&mut self, scores: &Scores) {
        self.items += 1;
        let all = [scores.faithfulness, scores.compression, scores.coverage];
        for ((sum, count), score) in self.sums.iter_mut().zip(all) {
            if let Some(score) = score {
                *sum += score;
                *count += 1;
            }
        }
    }

    fn scores(mut self, model: String) -> ModelScores {
        self.latencies.sort_unstable();
        let latency = |share: f64| {
            let last = self.latencies.len().checked_sub(1)?;
            let at = (share * self.latencies.len() as f64).ceil() as usize;
            self.latencies.get(at.saturating_sub(1).min(last)).copied()
        };
        let mean = |(sum, count): (f64, u64)| (count > 0).then(|| sum / count as f64);
        ModelScores {
            model,
            items: self.items,
            scores: Scores {
                faithfulness: mean(self.sums[0]),
                compression: mean(self.sums[1]),
                coverage: mean(self.sums[2]),
            },
            latency_p50: latency(0.5),
            latency_p95: latency(0.95),
            took: self.took,
            failures: self.failures,
        }
    }
}

/// A dimension: its name, what it is of a model, and whether more of it is better.
type Dimension = (&'static str, fn(&ModelScores) -> Option<f64>, bool);

const DIMENSIONS: [Dimension; 5] = [
    ("faithfulness", |model| model.scores.faithfulness, true),
    ("compression", |model| model.scores.compression, true),
    ("coverage", |model| model.scores.coverage, true),
    (
        "latency",
        |model| model.latency_p50.map(|ms| ms as f64),
        false,
    ),
    ("cost", ModelScores::usd_per_1000, false),
];

/// Who is best at what, if there are two or more to compare.
fn better(models: &[ModelScores]) -> Vec<Better> {
    let items = models.iter().map(|model| model.items).min().unwrap_or(0);
    if models.len() < 2 {
        return Vec::new();
    }
    let best = |(dimension, of, more): &Dimension| {
        let mut known: Vec<(f64, &str)> = models
            .iter()
            .filter_map(|model| Some((of(model)?, model.model.as_str())))
            .collect();
        known.sort_by(|a, b| {
            if *more {
                b.0.total_cmp(&a.0)
            } else {
                a.0.total_cmp(&b.0)
            }
        });
        let model = match known[..] {
            [(best, model), (next, _), ..] if items >= FEWEST && best != next => {
                Some(model.to_string())
            }
            _ => None,
        };
        Better {
            dimension,
            model,
            items,
        }
    };
    DIMENSIONS.iter().map(best).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(name: &str, items: u64, faithfulness: f64, micro_usd: u64) -> ModelScores {
        ModelScores {
            model: name.to_string(),
            items,
            scores: Scores {
                faithfulness: Some(faithfulness),
                ..Scores::default()
            },
            took: Spending {
                micro_usd,
                ..Spending::default()
            },
            ..ModelScores::default()
        }
    }

    fn check(models: &[ModelScores], expect: &[(&str, Option<&str>)]) {
        let better = better(models);
        let found: Vec<(&str, Option<&str>)> = better
            .iter()
            .map(|better| (better.dimension, better.model.as_deref()))
            .filter(|(dimension, _)| ["faithfulness", "cost"].contains(dimension))
            .collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn nobody_wins_by_too_little() {
        let (a, b) = (model("a", 20, 0.9, 400), model("b", 40, 0.8, 600));
        check(
            &[a.clone(), b],
            &[("faithfulness", Some("a")), ("cost", Some("b"))],
        );
        check(std::slice::from_ref(&a), &[]);
        let few = model("b", 19, 0.8, 600);
        check(&[a.clone(), few], &[("faithfulness", None), ("cost", None)]);
        check(
            &[a, model("c", 20, 0.9, 400)],
            &[("faithfulness", None), ("cost", None)],
        );
    }

    #[test]
    fn latencies_are_those_of_a_half_and_of_nineteen_in_twenty() {
        let tally = Tally {
            latencies: (1..=100).rev().collect(),
            ..Tally::default()
        };
        let scores = tally.scores("a".to_string());
        assert_eq!(
            (scores.latency_p50, scores.latency_p95),
            (Some(50), Some(95))
        );
        assert_eq!(Tally::default().scores("a".to_string()).latency_p50, None);
    }
}
