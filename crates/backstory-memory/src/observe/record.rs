//! Observations as JSON documents. They are stored in another form.

use backstory_event::{Seq, TimeMs, TurnNo};
use backstory_store::SessionRow;
use serde::{Deserialize, Serialize};

use super::{ChangedFunction, Observation, ObservationKind};
use crate::serde_text::rfc3339_time;
use backstory_analysis::count_tokens;

/// Observations of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ObservationList {
    /// The session.
    pub session: String,
    /// The agent.
    pub agent: String,
    /// The observations, in the order of their events.
    pub observations: Vec<ObservationRecord>,
}

/// An observation with its sizes counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ObservationRecord {
    /// Event of the prompt, or of the call.
    pub event: Seq,
    /// The turn.
    pub turn: TurnNo,
    /// Time of the prompt or of the answer of the tool.
    #[serde(with = "rfc3339_time")]
    pub timestamp: Option<TimeMs>,
    /// Kind of thing that was observed.
    pub kind: ObservationKind,
    /// The tool; null for a prompt.
    pub tool: Option<String>,
    /// About ten tokens.
    pub title: String,
    /// About fifty tokens.
    pub summary: String,
    /// About two hundred tokens.
    pub detail: String,
    /// Files that it touched, as the log has them.
    pub files: Vec<String>,
    /// The same, by a second name.
    pub files_touched: Vec<String>,
    /// Names of the functions that it changed.
    pub functions: Vec<String>,
    /// The functions that it changed.
    pub functions_changed: Vec<ChangedFunction>,
    /// Number of bytes that it was made of.
    pub raw_bytes: u64,
    /// The same, by a second name.
    pub raw_size_bytes: u64,
    /// Tokens of the summary.
    pub compressed_tokens: usize,
    /// Milliseconds that making it took.
    pub compression_time_ms: Option<f64>,
    /// Tokens of each size.
    pub tokens: SizeTokens,
    /// Name of the compressor that made it.
    pub compressor: String,
}

/// Tokens of each size of an observation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeTokens {
    /// Of the title.
    pub title: usize,
    /// Of the summary.
    pub summary: usize,
    /// Of the detail.
    pub detail: usize,
}

impl ObservationList {
    /// Returns the list of these observations of a session.
    pub fn new(session: &SessionRow, observations: &[Observation]) -> Self {
        ObservationList {
            session: session.session.clone(),
            agent: session.agent.clone(),
            observations: observations.iter().map(Observation::record).collect(),
        }
    }
}

impl Observation {
    /// Returns the observation with its sizes counted.
    pub fn record(&self) -> ObservationRecord {
        let sizes = self.sizes.clone();
        let tokens = SizeTokens {
            title: count_tokens(&sizes.title),
            summary: count_tokens(&sizes.summary),
            detail: count_tokens(&sizes.detail),
        };
        let names = self.functions.iter().map(|function| function.name.clone());
        ObservationRecord {
            event: self.event,
            turn: self.turn,
            timestamp: self.at,
            kind: self.kind,
            tool: Some(self.tool.clone()).filter(|tool| !tool.is_empty()),
            title: sizes.title,
            summary: sizes.summary,
            detail: sizes.detail,
            files: self.files.clone(),
            files_touched: self.files.clone(),
            functions: names.collect(),
            functions_changed: self.functions.clone(),
            raw_bytes: self.raw_bytes,
            raw_size_bytes: self.raw_bytes,
            compressed_tokens: tokens.summary,
            compression_time_ms: self.compression_us.map(|us| us as f64 / 1000.0),
            tokens,
            compressor: self.compressor.clone(),
        }
    }
}
