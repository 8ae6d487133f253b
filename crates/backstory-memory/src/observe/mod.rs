//! Observations: what each prompt asked for and what each tool use changed or showed, in three sizes.
//!
//! The built-in compressor of `backstory-analysis` is a pure function of a prompt, or of what a tool was asked and what it answered. So its
//! observations are made when they are asked for, and stored only once the text that they are made of goes.

mod functions;
mod measure;
mod own_changes;
mod record;
mod uses;

use std::time::Instant;

use backstory_analysis::observe::{Extract, Faith};
use backstory_event::{Seq, SessionId, TimeMs, TurnNo};
use backstory_store::{AnswerRows, EventRange, Evictable, Store};
use serde::{Deserialize, Serialize};

use self::uses::Uses;
use crate::Session;
use crate::conventions::AGENT_CONVENTIONS;
use crate::error::Result;
use crate::read::{unless_damaged, visit_stored};
use crate::upkeep::WithDamage;

pub use self::measure::ObservationScore;
pub use self::record::{ObservationList, ObservationRecord, SizeTokens};
pub(crate) use self::uses::observed_items;
pub use backstory_analysis::observe::{
    ChangedFunction, FunctionChange, ObservationKind, Sizes, ToolUse,
};
pub(crate) use backstory_analysis::observe::{Compressor, ObservationSource, ObservedItem, Prompt};

/// The built-in compressor.
pub(crate) const EXTRACT: Extract<'static> = Extract {
    agents: &AGENT_CONVENTIONS,
};

/// Returns whether something is worth an observation.
pub(crate) fn is_telling(source: &ObservationSource) -> bool {
    backstory_analysis::observe::is_telling(source, &AGENT_CONVENTIONS)
}

/// Looks for everything that a text names in what it is about.
pub(crate) fn faith(source: &ObservationSource, text: &str) -> Faith {
    backstory_analysis::observe::faith(source, text, &AGENT_CONVENTIONS)
}

/// What a prompt asked for, or what a tool use changed or showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// The event of the prompt, or of the call.
    pub event: Seq,
    /// The turn.
    pub turn: TurnNo,
    /// Time of the prompt, or of the tool's answer.
    pub at: Option<TimeMs>,
    /// What was observed.
    #[serde(default, skip_serializing_if = "ObservationKind::is_tool_use")]
    pub kind: ObservationKind,
    /// The tool; empty for a prompt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool: String,
    /// What was observed.
    #[serde(flatten)]
    pub sizes: Sizes,
    /// The files that it touched, as the log has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The functions that it changed.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "functions::read_functions"
    )]
    pub functions: Vec<ChangedFunction>,
    /// How long the text is that it was made of, in bytes.
    pub raw_bytes: u64,
    /// How long making it took, in microseconds, if that is known.
    #[serde(rename = "us", default, skip_serializing_if = "Option::is_none")]
    pub compression_us: Option<u64>,
    /// What made it.
    pub compressor: String,
}

impl Observation {
    /// The built-in observation; `None` when there is nothing to tell.
    fn of(item: &ObservedItem) -> Option<Self> {
        let source = &item.source;
        if !is_telling(source) {
            return None;
        }
        let started = Instant::now();
        let Ok(sizes) = EXTRACT.compress(source);
        let compression_us = Some(started.elapsed().as_micros() as u64);
        let tool_use = source.tool_use();
        let mut files: Vec<String> = Vec::new();
        for touch in tool_use.iter().flat_map(|used| &used.touches) {
            if !files.contains(&touch.path) {
                files.push(touch.path.clone());
            }
        }
        Some(Observation {
            event: item.call,
            turn: item.turn,
            at: item.at,
            kind: source.kind(),
            tool: tool_use.map_or(String::new(), |used| used.tool.clone()),
            sizes,
            files,
            functions: tool_use.map_or(Vec::new(), |used| used.functions.clone()),
            raw_bytes: source.raw_bytes(),
            compression_us,
            compressor: EXTRACT.name().to_string(),
        })
    }
}

impl Session<'_> {
    /// Returns what prompts asked for and tools changed or showed, in their order; of one turn if it is named.
    pub fn observations(&self, turn: Option<TurnNo>) -> Result<WithDamage<Vec<Observation>>> {
        let mut observations = kept(&self.memory.store, self.row.id, self.row.evicted)?;
        let range = turn.map_or(EventRange::All, EventRange::Turn);
        observed_items(
            &self.memory.store,
            &self.row.agent,
            self.row.id,
            range,
            |item| {
                observations.extend(Observation::of(&item));
                Ok(())
            },
        )?;
        observations.retain(|observation| turn.is_none_or(|turn| observation.turn == turn));
        let written = unless_damaged(
            &self.memory.store,
            self.memory.store.observations(self.row.id),
        )?;
        for written in written {
            let of_it = |observation: &&mut Observation| observation.event == written.seq;
            if let Some(observation) = observations.iter_mut().find(of_it)
                && let Ok(sizes) = serde_json::from_slice(&written.body)
            {
                observation.sizes = sizes;
                observation.compressor = written.model;
                observation.compression_us = written.latency_ms.map(|ms| ms * 1000);
            }
        }
        let rows = AnswerRows::SessionWithNotes(self.row.id);
        self.memory.upkeep().with_damage(observations, Some(&rows))
    }
}

/// The observations of a session that is about to lose its text, as they are kept.
pub(crate) fn to_keep(store: &Store, session: &Evictable) -> Result<Vec<u8>> {
    let evicted = store.session_heads([session.session])?;
    let evicted = evicted
        .get(&session.session)
        .map_or(Seq::ZERO, |head| head.evicted);
    let mut observations = kept(store, session.session, evicted)?;
    let mut uses = Uses::of(store, session.session)?;
    visit_stored(
        store,
        session.session,
        &session.agent,
        EventRange::All,
        |event| {
            let item = uses.take(event);
            observations.extend(item.as_ref().and_then(Observation::of));
            Ok(())
        },
    )?;
    Ok(serde_json::to_vec(&observations).unwrap_or_default())
}

/// What was kept of the events that are gone. A session that was restored has them again.
fn kept(store: &Store, session: SessionId, evicted: Seq) -> Result<Vec<Observation>> {
    if evicted == Seq::ZERO {
        return Ok(Vec::new());
    }
    let kept = unless_damaged(store, store.kept_observations(session))?.unwrap_or_default();
    let mut kept: Vec<Observation> = serde_json::from_slice(&kept).unwrap_or_default();
    kept.retain(|observation| observation.event <= evicted);
    Ok(kept)
}
