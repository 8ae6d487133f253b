//! State of summaries and result of a run, as JSON has them.

use std::collections::BTreeMap;

use backstory_event::TimeMs;
use backstory_store::{MetCap, Spending, Tier};
use serde::Serialize;

use super::{Better, Evaluation, ModelScores, SummarizeReport, SummarizeState, TierScores};
use crate::serde_text::rfc3339_time;

/// Numbers of items that wait for a summary or an observation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PendingItems {
    /// Prompts and tool uses.
    pub observations: u64,
    /// Sessions.
    pub summaries: u64,
}

/// State of summaries by models.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SummarizeStateRecord {
    /// Prompts and tool uses without an observation by a model.
    pub raw: u64,
    /// Prompts and tool uses with one.
    pub compressed: u64,
    /// Sessions with a summary by a model.
    #[serde(rename = "summarised")]
    pub summarized: u64,
    /// Items that wait.
    pub pending: PendingItems,
    /// Tokens and money of today.
    pub today: Spending,
    /// Time from which on sessions are offered.
    #[serde(with = "rfc3339_time")]
    pub since: Option<TimeMs>,
}

/// Result of a run, and the items that it left.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SummarizeRecord<'a> {
    /// Prompts and tool uses that a model made observations of.
    pub observed: u64,
    /// Sessions that a model summarized.
    #[serde(rename = "summarised")]
    pub summarized: u64,
    /// Prompts and tool uses that are too uninformative to be sent.
    pub untelling: u64,
    /// Items that will never have an answer, by reason.
    pub skipped: &'a BTreeMap<&'static str, u64>,
    /// Items that wait for another time, by reason.
    pub late: &'a BTreeMap<&'static str, u64>,
    /// The cap that was met.
    pub capped: Option<MetCap>,
    /// Reason that it ended early, if the other side is to blame.
    pub problem: Option<&'static str>,
    /// Number of requests.
    pub requests: u64,
    /// Tokens and money of the run.
    pub took: Spending,
    /// Items that wait.
    pub pending: PendingItems,
}

impl SummarizeState {
    /// Returns the numbers of items that wait.
    pub fn pending(&self) -> PendingItems {
        PendingItems {
            observations: self.pending_observations,
            summaries: self.pending_summaries,
        }
    }

    /// Returns the state as a JSON document.
    pub fn record(&self) -> SummarizeStateRecord {
        SummarizeStateRecord {
            raw: self.raw,
            compressed: self.observed,
            summarized: self.summarized,
            pending: self.pending(),
            today: self.spent,
            since: self.since,
        }
    }
}

impl SummarizeReport {
    /// Returns what the run did, and what it left by the state after it.
    pub fn record(&self, after: &SummarizeState) -> SummarizeRecord<'_> {
        SummarizeRecord {
            observed: self.observed,
            summarized: self.summarized,
            untelling: self.untelling,
            skipped: &self.skipped,
            late: &self.late,
            capped: self.capped,
            problem: self.problem,
            requests: self.requests,
            took: self.took,
            pending: after.pending(),
        }
    }
}

/// Comparison of models as a JSON document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluationRecord<'a> {
    /// One for each thing that models are asked for.
    pub tiers: Vec<TierRecord<'a>>,
}

/// Comparison of models at one thing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TierRecord<'a> {
    /// Kind of text that they are asked for.
    pub tier: Tier,
    /// The models.
    pub models: Vec<ModelRecord<'a>>,
    /// The better model in each dimension.
    pub better: &'a [Better],
}

/// Scores of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelRecord<'a> {
    /// The model.
    pub model: &'a str,
    /// Number of items that it wrote text for.
    pub items: u64,
    /// Share of what it names that stands in the source.
    pub faithfulness: Option<f64>,
    /// Length of the source divided by that of the text.
    pub compression: Option<f64>,
    /// Share of the files and functions that it names.
    pub coverage: Option<f64>,
    /// Latency of answers.
    pub latency_ms: LatencyRecord,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Cost in dollars.
    pub usd: f64,
    /// Cost of a thousand items in dollars.
    pub usd_per_1000: Option<f64>,
    /// Failed requests, by reason.
    pub failures: &'a BTreeMap<String, u64>,
}

/// Latency of answers in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LatencyRecord {
    /// Median.
    pub p50: Option<u64>,
    /// 95th percentile.
    pub p95: Option<u64>,
}

impl Evaluation {
    /// Returns the comparison as a JSON document.
    pub fn record(&self) -> EvaluationRecord<'_> {
        EvaluationRecord {
            tiers: self.tiers.iter().map(TierRecord::from).collect(),
        }
    }
}

impl<'a> From<&'a TierScores> for TierRecord<'a> {
    fn from(tier: &'a TierScores) -> Self {
        TierRecord {
            tier: tier.tier,
            models: tier.models.iter().map(ModelRecord::from).collect(),
            better: &tier.better,
        }
    }
}

impl<'a> From<&'a ModelScores> for ModelRecord<'a> {
    fn from(model: &'a ModelScores) -> Self {
        ModelRecord {
            model: &model.model,
            items: model.items,
            faithfulness: model.scores.faithfulness,
            compression: model.scores.compression,
            coverage: model.scores.coverage,
            latency_ms: LatencyRecord {
                p50: model.latency_p50,
                p95: model.latency_p95,
            },
            input_tokens: model.took.input_tokens,
            output_tokens: model.took.output_tokens,
            usd: model.took.usd(),
            usd_per_1000: model.usd_per_1000(),
            failures: &model.failures,
        }
    }
}
