//! Observations: what each prompt asked for and what each tool use changed or showed, in three sizes.
//!
//! The built-in compressor (`extract`) is a pure function of a prompt, or of what a tool was asked and what it answered. So its
//! observations are made when they are asked for, and stored only once the text that they are made of goes.

mod extract;
mod faithful;
mod functions;
mod measure;
mod own_changes;
mod record;
mod uses;

use std::time::Instant;

use backstory_event::{Action, Seq, SessionId, TimeMs, Touch, TurnNo};
use backstory_store::{EventRange, Evictable, Store};
use serde::{Deserialize, Serialize};

use self::uses::Uses;
use crate::Session;
use crate::error::Result;
use crate::read::{unless_damaged, visit_stored};

pub(crate) use self::extract::{Extract, is_telling};
pub(crate) use self::faithful::faith;
pub use self::functions::{ChangedFunction, FunctionChange};
pub use self::measure::ObservationScore;
pub use self::record::{ObservationList, ObservationRecord, SizeTokens};
pub(crate) use self::uses::{ObservedItem, observed_items};

/// What an observation is made of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ObservationSource {
    /// A tool use.
    ToolUse(ToolUse),
    /// A prompt.
    Prompt(Prompt),
}

impl ObservationSource {
    /// Whether it is a prompt or a tool use.
    pub(crate) fn kind(&self) -> ObservationKind {
        match self {
            ObservationSource::ToolUse(_) => ObservationKind::ToolUse,
            ObservationSource::Prompt(_) => ObservationKind::Prompt,
        }
    }

    /// The texts that it consists of: what was asked, and what was answered.
    pub(crate) fn texts(&self) -> [&str; 2] {
        match self {
            ObservationSource::ToolUse(used) => [&used.input, &used.output],
            ObservationSource::Prompt(prompt) => [&prompt.text, ""],
        }
    }

    /// Number of bytes of its texts.
    pub(crate) fn raw_bytes(&self) -> u64 {
        self.texts().iter().map(|text| text.len() as u64).sum()
    }

    /// The tool use, if it is one.
    pub(crate) fn tool_use(&self) -> Option<&ToolUse> {
        match self {
            ObservationSource::ToolUse(used) => Some(used),
            ObservationSource::Prompt(_) => None,
        }
    }
}

/// Kind of what was observed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservationKind {
    /// A tool use.
    #[default]
    ToolUse,
    /// A prompt.
    Prompt,
}

impl ObservationKind {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            ObservationKind::ToolUse => "tool_use",
            ObservationKind::Prompt => "prompt",
        }
    }

    fn is_tool_use(&self) -> bool {
        *self == ObservationKind::ToolUse
    }
}

/// A prompt, as a compressor sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Prompt {
    /// What was asked, without context that Backstory gave.
    pub(crate) text: String,
    /// Whether it is of a session that no person typed into: programs write prompts, too.
    pub(crate) is_headless: bool,
}

/// A tool use, as a compressor sees it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolUse {
    /// The tool, as its agent calls it.
    pub tool: String,
    /// What it was asked; mostly JSON.
    pub input: String,
    /// The command that it ran.
    pub command: Option<String>,
    /// What it answered.
    pub output: String,
    /// Whether it failed.
    pub failed: bool,
    /// The files that it names.
    pub touches: Vec<Touch>,
    /// The functions that it changed.
    pub functions: Vec<ChangedFunction>,
}

impl ToolUse {
    /// Whether it changed files.
    pub(crate) fn writes(&self) -> bool {
        let mut touches = self.touches.iter();
        touches.any(|touch| touch.action != Action::Read)
    }
}

/// An observation in three sizes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// About ten tokens.
    pub title: String,
    /// About fifty.
    pub summary: String,
    /// About two hundred.
    pub detail: String,
}

/// Makes observations.
pub(crate) trait Compressor {
    /// Why there is none.
    type Failure;

    /// What it is called where compressors are compared.
    fn name(&self) -> &str;

    /// The three sizes of an observation.
    fn compress(&self, source: &ObservationSource) -> Result<Sizes, Self::Failure>;
}

/// What a prompt asked for, or what a tool use changed or showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// The event of the prompt, or of the call.
    pub event: Seq,
    /// The turn.
    pub turn: TurnNo,
    /// When it was asked, or the tool had answered.
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
        let Ok(sizes) = Extract.compress(source);
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
            compressor: Extract.name().to_string(),
        })
    }
}

impl Session<'_> {
    /// Returns what prompts asked for and tools changed or showed, in their order; of one turn if it is named.
    pub fn observations(&self, turn: Option<TurnNo>) -> Result<Vec<Observation>> {
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
        Ok(observations)
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
