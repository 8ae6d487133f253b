//! Turns: a prompt and everything up to the next one, with what the agent says of how it worked.

use std::collections::HashMap;

use backstory_agents::Reader;
use backstory_event::{
    EventBody, EventView, Image, Kind, Seq, Telemetry, TelemetryItem, TimeMs, ToolClass,
    TurnContext, TurnNo,
};
use backstory_store::{EventRange, SessionRow};
use serde::Serialize;
use serde_json::{Value, json};

use super::check_turn;
use super::record::{SessionStatus, rfc3339};
use super::telemetry::PlacedTelemetry;
use super::turn_context::{first_settings, learn_settings};
use super::usage::UsageRecord;
use crate::Memory;
use crate::error::Result;

/// A prompt and everything up to the next one.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Turn {
    /// Number of the turn; 0 for what stands before the first prompt.
    pub turn: TurnNo,
    /// Time of its first event, RFC 3339.
    pub started_at: Option<String>,
    /// Settings under which it ran.
    pub context: TurnContext,
    /// What the person gave.
    pub inputs: TurnInputs,
    /// What the model said.
    pub replies: TurnReplies,
    /// What the agent did.
    pub actions: Vec<TurnAction>,
    /// What the agent says of how it worked.
    pub telemetry: TurnTelemetry,
    /// Tokens of all its messages.
    pub usage: UsageRecord,
    /// Time from the prompt to the first answer in milliseconds.
    pub first_answer_ms: Option<i64>,
    /// Duration in milliseconds: what the agent says, summed when it says so several times; else the time from the prompt to the last
    /// event.
    pub duration_ms: Option<i64>,
}

/// What a person gave to the agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TurnInputs {
    /// What was typed.
    pub text: String,
    /// Images and documents.
    pub images: Vec<Image>,
}

/// What the model said.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TurnReplies {
    /// Its messages.
    pub messages: Vec<String>,
    /// Its reasoning, or summaries of it.
    pub reasoning: Vec<String>,
    /// The last tool output or error, when there is no message.
    pub fallback: Option<String>,
}

/// A tool call and its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnAction {
    /// The agent's id of the call.
    pub call_id: Option<String>,
    /// Number of the event of the call.
    pub seq: Seq,
    /// The agent's name of the tool.
    pub tool: Option<String>,
    /// What the tool does.
    pub tool_class: ToolClass,
    /// The arguments, as the log has them.
    pub arguments: String,
    /// The output; null while there is none.
    pub output: Option<String>,
    /// `success`, `error`, `denied` or `interrupted` by the result, or by the call where the provider runs the tool; without either
    /// `running` while the session runs, else `unknown`.
    pub status: &'static str,
    /// Time of the call, RFC 3339.
    pub started_at: Option<String>,
    /// Duration in milliseconds.
    pub duration_ms: Option<i64>,
}

/// Telemetry of a turn by kind, each item with its time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
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

impl Memory {
    /// Returns the turns of a session, or one of them, as they are known at `now`.
    pub fn turns(
        &self,
        session: &SessionRow,
        only: Option<TurnNo>,
        now: TimeMs,
    ) -> Result<Vec<Turn>> {
        if let Some(turn) = only {
            check_turn(session, turn)?;
        }
        // Settings that a turn does not name are those of another turn, so that one alone needs all events, too.
        let events = self.events(session, EventRange::All)?;
        let telemetry = self.telemetry_of_events(session, &events)?;
        let models = self.models_of_turns(session, &events)?;
        let sources = TurnSources {
            usage: self.usage_of_events(session.id, &events)?,
            reader: backstory_agents::reader(&session.agent),
            unanswered: match SessionStatus::at(session, now) {
                SessionStatus::Running => "running",
                _ => "unknown",
            },
        };
        let mut context = first_settings(session, &events, &telemetry);
        let mut turns = Vec::new();
        for events in events.chunk_by(|a, b| a.turn == b.turn) {
            let (Some(first), Some(last)) = (events.first(), events.last()) else {
                continue;
            };
            let (from, to) = (first.seq, last.seq);
            for placed in &telemetry {
                if (from..=to).contains(&placed.seq.next()) {
                    learn_settings(&mut context, placed);
                }
            }
            let model = models.get(&first.turn);
            context.model = model.cloned().or(context.model);
            for event in events {
                if let Some(said) = &event.event.body.context {
                    context.update_from(said);
                }
                if let Some(model) = &event.event.model {
                    context.model = Some(model.to_string());
                }
                if let Some(effort) = &event.event.body.effort {
                    context.effort = Some(effort.clone());
                }
            }
            if only.is_some_and(|only| only != first.turn) {
                continue;
            }
            let mut turn = sources.build_turn(events);
            let mut ends = TurnEnds::default();
            for placed in &telemetry {
                if (from..=to).contains(&placed.seq) {
                    ends.add(placed);
                    turn.add_telemetry(&placed.telemetry);
                }
            }
            turn.duration_ms = ends.duration_ms().or(turn.duration_ms);
            turn.first_answer_ms = ends.first_answer_ms.or(turn.first_answer_ms);
            turn.context = context.clone();
            turns.push(turn);
        }
        Ok(turns)
    }
}

/// What the ends of a turn say: an agent that was asked again within a turn ends it several times.
#[derive(Default)]
struct TurnEnds {
    /// Sum of durations, in the files of events and in others: both tell of the same turn.
    durations: [Option<i64>; 2],
    first_answer_ms: Option<i64>,
}

impl TurnEnds {
    fn add(&mut self, placed: &PlacedTelemetry) {
        if let TelemetryItem::TurnEnd {
            duration_ms,
            first_answer_ms,
        } = placed.telemetry.item
        {
            let sum = &mut self.durations[usize::from(placed.is_elsewhere)];
            if let Some(duration) = duration_ms {
                *sum = Some(sum.unwrap_or(0).saturating_add(duration));
            }
            self.first_answer_ms = self.first_answer_ms.or(first_answer_ms);
        }
    }

    fn duration_ms(&self) -> Option<i64> {
        let [own, elsewhere] = self.durations;
        elsewhere.or(own)
    }
}

/// What turns are made of beside their events.
struct TurnSources {
    usage: HashMap<Seq, UsageRecord>,
    reader: Option<&'static dyn Reader>,
    /// Status of calls that have no result.
    unanswered: &'static str,
}

impl TurnSources {
    fn class_of(&self, tool: Option<&str>) -> ToolClass {
        let class = self
            .reader
            .zip(tool)
            .map(|(reader, tool)| reader.tool_class(tool));
        class.unwrap_or(ToolClass::Other)
    }

    /// Returns the status of a call as far as its own record says.
    fn call_status(&self, body: &EventBody) -> &'static str {
        match body.has_succeeded {
            Some(true) => "success",
            Some(false) => "error",
            None => self.unanswered,
        }
    }

    fn build_turn(&self, events: &[EventView<'_>]) -> Turn {
        let mut turn = Turn {
            turn: events.first().map_or(TurnNo::ZERO, |event| event.turn),
            ..Turn::default()
        };
        let mut asked_at = None;
        let mut calls: HashMap<Seq, usize> = HashMap::new();
        let mut last_output = None;
        for view in events {
            let event = &view.event;
            let text = view.text();
            if turn.started_at.is_none() {
                turn.started_at = rfc3339(event.at);
            }
            asked_at = asked_at.or(event.at);
            if let (Some(asked), Some(at)) = (asked_at, event.at) {
                turn.duration_ms = turn.duration_ms.max(Some(at.since(asked)));
                if event.kind.role() == "assistant" && turn.first_answer_ms.is_none() {
                    turn.first_answer_ms = Some(at.since(asked));
                }
            }
            if let Some(used) = self.usage.get(&view.seq) {
                turn.usage.add(used);
            }
            match event.kind {
                Kind::Prompt => {
                    turn.inputs.text = text.to_string();
                    turn.inputs.images.clone_from(&event.body.images);
                }
                Kind::Reply => turn.replies.messages.push(text.to_string()),
                Kind::Reasoning => turn.replies.reasoning.push(text.to_string()),
                Kind::ToolCall => {
                    calls.insert(view.seq, turn.actions.len());
                    turn.actions.push(TurnAction {
                        call_id: event.body.identity.tool_use_id.clone(),
                        seq: view.seq,
                        tool: event.tool.clone(),
                        tool_class: self.class_of(event.tool.as_deref()),
                        arguments: event
                            .body
                            .arguments
                            .clone()
                            .unwrap_or_else(|| text.to_string()),
                        output: None,
                        status: self.call_status(&event.body),
                        started_at: rfc3339(event.at),
                        duration_ms: None,
                    });
                }
                Kind::ToolResult => {
                    last_output = Some(text);
                    let call = view.call.and_then(|call| calls.get(&call));
                    if let Some(action) = call.and_then(|call| turn.actions.get_mut(*call)) {
                        action.output = Some(text.to_string());
                        action.duration_ms = event.duration_ms;
                        action.status = match event.body.marks {
                            marks if marks.denied => "denied",
                            marks if marks.interrupted => "interrupted",
                            _ if view.is_failure() => "error",
                            _ => "success",
                        };
                    }
                }
                Kind::System if event.error => last_output = Some(text),
                Kind::Summary | Kind::System => {}
            }
        }
        if turn.replies.messages.is_empty() {
            turn.replies.fallback = last_output.map(str::to_string);
        }
        turn
    }
}

impl Turn {
    fn add_telemetry(&mut self, telemetry: &Telemetry) {
        let list = match &telemetry.item {
            TelemetryItem::Context(_) => return,
            TelemetryItem::TokenCount { .. } => &mut self.telemetry.token_counts,
            TelemetryItem::RateLimits { .. } => &mut self.telemetry.rate_limits,
            TelemetryItem::PlanUpdate { .. } => &mut self.telemetry.plan_updates,
            TelemetryItem::Approval { .. } => &mut self.telemetry.approvals,
            TelemetryItem::Compaction { .. } => &mut self.telemetry.compactions,
            TelemetryItem::ToolTiming {
                tool_use_id,
                duration_ms,
                ..
            } => {
                let is_it = |action: &&mut TurnAction| action.call_id == *tool_use_id;
                if let (Some(_), Some(action)) = (tool_use_id, self.actions.iter_mut().find(is_it))
                {
                    action.duration_ms = duration_ms.or(action.duration_ms);
                }
                &mut self.telemetry.other
            }
            TelemetryItem::TurnEnd { .. } | TelemetryItem::Other { .. } => {
                &mut self.telemetry.other
            }
        };
        let mut value = json!(telemetry.item);
        if let Some(fields) = value.as_object_mut() {
            fields.insert("timestamp".to_string(), json!(rfc3339(telemetry.at)));
        }
        list.push(value);
    }
}
