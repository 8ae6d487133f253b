//! Turns: a prompt and everything up to the next one, with what the agent says of how it worked.

use std::borrow::Cow;

use backstory_event::{Image, Seq, TimeMs, ToolClass, TurnContext, TurnNo};
use backstory_store::EventRange;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::check_turn;
use super::record::SessionStatus;
use super::telemetry::telemetry_between;
use super::turn_build::TurnSources;
use super::turn_context::{first_settings, learn_event_settings, learn_settings};
use super::usage::UsageRecord;
use crate::Session;
use crate::error::Result;

/// A prompt and everything up to the next one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Number of the turn; 0 for what stands before the first prompt.
    pub turn: TurnNo,
    /// Time of its first event, RFC 3339.
    pub started_at: Option<String>,
    /// Settings under which it ran.
    pub context: TurnContext,
    /// Prompt and images.
    pub inputs: TurnInputs,
    /// Replies and reasoning.
    pub replies: TurnReplies,
    /// Tool calls.
    pub actions: Vec<TurnAction>,
    /// Marks of its events: `interrupted`, `denied`, `compacted`.
    pub marks: Vec<Cow<'static, str>>,
    /// Telemetry of the agent.
    pub telemetry: TurnTelemetry,
    /// Tokens of all its messages.
    pub usage: UsageRecord,
    /// Time from the prompt to the first answer in milliseconds.
    pub first_answer_ms: Option<i64>,
    /// Duration in milliseconds: what the agent says, summed when it says so several times; else the time from the prompt to the last
    /// event.
    pub duration_ms: Option<i64>,
}

/// Input of the user.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnInputs {
    /// Text of the prompt.
    pub text: String,
    /// Images and documents.
    pub images: Vec<Image>,
}

/// Replies and reasoning.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnReplies {
    /// Its messages.
    pub messages: Vec<String>,
    /// Its reasoning, or summaries of it.
    pub reasoning: Vec<String>,
    /// The last tool output or error, when there is no message.
    pub fallback: Option<String>,
}

/// A tool call and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnAction {
    /// The agent's id of the call.
    pub call_id: Option<String>,
    /// Number of the event of the call.
    pub seq: Seq,
    /// The agent's name of the tool.
    pub tool: Option<String>,
    /// Class of the tool.
    pub tool_class: ToolClass,
    /// The arguments, as the log has them.
    pub arguments: String,
    /// The output; null while there is none.
    pub output: Option<String>,
    /// `success`, `error`, `denied` or `interrupted` by the result, or by the call where the provider runs the tool; without either
    /// `running` while the session runs, else `unknown`.
    pub status: Cow<'static, str>,
    /// Time of the call, RFC 3339.
    pub started_at: Option<String>,
    /// Duration in milliseconds.
    pub duration_ms: Option<i64>,
}

/// Telemetry of a turn by kind, each item with its time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnTelemetry {
    /// Token counts and how full the context window was.
    pub token_counts: Vec<Value>,
    /// States of the plan or to-do list.
    pub plan_updates: Vec<Value>,
    /// Requests for approval and answers.
    pub approvals: Vec<Value>,
    /// Rate limits of the account.
    pub rate_limits: Vec<Value>,
    /// Replacements of the history by a summary.
    pub compactions: Vec<Value>,
    /// Everything else.
    pub other: Vec<Value>,
}

impl Session<'_> {
    /// Returns the turns of the session, or one of them, as they are known at `now`.
    pub fn turns(&self, only: Option<TurnNo>, now: TimeMs) -> Result<Vec<Turn>> {
        if let Some(turn) = only {
            check_turn(&self.row, turn)?;
        }
        // Settings that a turn does not name are those of another turn, so that one alone needs all events, too.
        let events = self.event_views(EventRange::All)?;
        let telemetry = self.telemetry_of_events(&events)?;
        let models = self.models_of_turns(&events)?;
        let sources = TurnSources {
            usage: self.usage_of_events(&events)?,
            reader: backstory_agents::reader(&self.row.agent),
            unanswered: match SessionStatus::at(&self.row, now) {
                SessionStatus::Running => "running",
                _ => "unknown",
            },
        };
        let mut context = first_settings(&self.row, &events, &telemetry);
        let mut turns = Vec::new();
        for events in events.chunk_by(|a, b| a.turn == b.turn) {
            let (Some(first), Some(last)) = (events.first(), events.last()) else {
                continue;
            };
            // Settings stand before what they are for; everything else behind what it is about.
            let settings = telemetry_between(&telemetry, first.seq.previous(), last.seq.previous());
            for placed in settings {
                learn_settings(&mut context, placed);
            }
            let model = models.get(&first.turn);
            context.model = model.cloned().or(context.model);
            for event in events {
                learn_event_settings(&mut context, event);
            }
            if only.is_none_or(|only| only == first.turn) {
                let mut turn = sources.build_turn(events);
                turn.add_telemetry(telemetry_between(&telemetry, first.seq, last.seq));
                turn.context = context.clone();
                turns.push(turn);
            }
        }
        Ok(turns)
    }
}
