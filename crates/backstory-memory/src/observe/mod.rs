//! Observations: what each tool use changed or showed, in three sizes.
//!
//! The built-in compressor (`extract`) is a pure function of what a tool was asked and what it answered. So its observations are
//! made when they are asked for, and stored only once the text that they are made of goes.

pub(crate) mod anthropic;
mod extract;
mod faithful;
mod measure;
mod uses;

use backstory_event::{Action, Touch};
use backstory_store::{EventRange, Evictable, LiveSession, SessionRow, Store};
use serde::{Deserialize, Serialize};

use self::uses::Uses;
use crate::Memory;
use crate::error::Result;
use crate::read::{unless_damaged, visit};

pub use self::anthropic::{Endpoint, Price, Retry, SessionSummary};
pub(crate) use self::extract::{Extract, is_telling};
pub(crate) use self::faithful::faith;
pub use self::measure::ObservationScore;
pub(crate) use self::uses::{Use, tool_uses};

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
    pub functions: Vec<String>,
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

/// Makes observations of tool uses.
pub(crate) trait Compressor {
    /// Why there is none.
    type Failure;

    /// What it is called where compressors are compared.
    fn name(&self) -> &str;

    /// The three sizes of a tool use.
    fn compress(&self, tool_use: &ToolUse) -> Result<Sizes, Self::Failure>;
}

/// What a tool use changed or showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// The event of the call.
    pub event: u64,
    /// The turn.
    pub turn: u64,
    /// When the tool had answered.
    pub at: Option<i64>,
    /// The tool.
    pub tool: String,
    /// What was observed.
    #[serde(flatten)]
    pub sizes: Sizes,
    /// The files that it touched, as the log has them.
    pub files: Vec<String>,
    /// The functions that it changed.
    pub functions: Vec<String>,
    /// How long the text is that it was made of, in bytes.
    pub raw_bytes: u64,
    /// What made it.
    pub compressor: String,
}

impl Observation {
    /// The built-in observation of a tool use; `None` when that neither changed nor showed anything.
    fn of(used: &Use) -> Option<Self> {
        let tool_use = &used.tool_use;
        if !is_telling(tool_use) {
            return None;
        }
        let Ok(sizes) = Extract.compress(tool_use);
        let mut files: Vec<String> = Vec::new();
        for touch in &tool_use.touches {
            if !files.contains(&touch.path) {
                files.push(touch.path.clone());
            }
        }
        Some(Observation {
            event: used.call,
            turn: used.turn,
            at: used.at,
            tool: tool_use.tool.clone(),
            sizes,
            files,
            functions: tool_use.functions.clone(),
            raw_bytes: (tool_use.input.len() + tool_use.output.len()) as u64,
            compressor: Extract.name().to_string(),
        })
    }
}

impl Memory {
    /// What the tools of a session changed or showed, in their order; of a turn alone if one is named.
    pub fn observations(
        &self,
        session: &SessionRow,
        turn: Option<u64>,
    ) -> Result<Vec<Observation>> {
        let mut observations = kept(&self.store, session.id, session.evicted)?;
        let live = LiveSession {
            session: session.id,
            turns: session.turns,
            events: session.events,
        };
        let range = turn.map_or(EventRange::All, EventRange::Turn);
        tool_uses(&self.store, &session.agent, &live, range, |used| {
            observations.extend(Observation::of(&used));
            Ok(())
        })?;
        observations.retain(|observation| turn.is_none_or(|turn| observation.turn == turn));
        let written = unless_damaged(&self.store, self.store.observations(session.id))?;
        for written in written {
            let of_it = |observation: &&mut Observation| observation.event == written.seq;
            if let Some(observation) = observations.iter_mut().find(of_it)
                && let Ok(sizes) = serde_json::from_slice(&written.body)
            {
                observation.sizes = sizes;
                observation.compressor = written.model;
            }
        }
        Ok(observations)
    }
}

/// The observations of a session that is about to lose its text, as they are kept.
pub(crate) fn to_keep(store: &Store, session: &Evictable) -> Result<Vec<u8>> {
    let evicted = store.session_heads([session.session])?;
    let evicted = evicted.get(&session.session).map_or(0, |head| head.evicted);
    let mut observations = kept(store, session.session, evicted)?;
    let mut uses = Uses::of(store, session.session)?;
    visit(
        store,
        session.session,
        &session.agent,
        EventRange::All,
        |event| {
            let used = uses.take(event);
            observations.extend(used.as_ref().and_then(Observation::of));
            Ok(())
        },
    )?;
    Ok(serde_json::to_vec(&observations).unwrap_or_default())
}

/// What was kept of the events that are gone. A session that was restored has them again.
fn kept(store: &Store, session: i64, evicted: u64) -> Result<Vec<Observation>> {
    if evicted == 0 {
        return Ok(Vec::new());
    }
    let kept = unless_damaged(store, store.kept_observations(session))?.unwrap_or_default();
    let mut kept: Vec<Observation> = serde_json::from_slice(&kept).unwrap_or_default();
    kept.retain(|observation| observation.event <= evicted);
    Ok(kept)
}
