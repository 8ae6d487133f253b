//! Turns: a prompt and everything up to the next one, with what the agent says of how it worked.

use std::collections::HashMap;

use backstory_event::{
    EventView, Image, Kind, Seq, Telemetry, TelemetryItem, ToolClass, TurnContext, TurnNo,
};
use backstory_store::{EventRange, SessionRow};
use serde::Serialize;
use serde_json::{Value, json};

use super::record::{UsageRecord, rfc3339};
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
    /// Time from the prompt to the last event in milliseconds.
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
    /// `success`, `error`, `denied`, `interrupted` or `running`.
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
    /// Returns the turns of a session, or one of them.
    pub fn turns(&self, session: &SessionRow, range: EventRange) -> Result<Vec<Turn>> {
        let events = self.events(session, range)?;
        let usage = self.usage_of_events(session.id, &events)?;
        let telemetry = self.telemetry_around(session, &events)?;
        let class_of = |tool: Option<&str>| {
            let reader = backstory_agents::reader(&session.agent);
            let class = reader
                .zip(tool)
                .map(|(reader, tool)| reader.tool_class(tool));
            class.unwrap_or(ToolClass::Other)
        };
        let mut context = TurnContext {
            cwd: session.cwd.clone(),
            branch: session.branch.clone(),
            agent_version: session.agent_version.clone(),
            permission_mode: session.permission_mode.clone(),
            ..TurnContext::default()
        };
        let first = events.first().map_or(Seq::ZERO, |event| event.seq);
        for (_, item) in telemetry.iter().filter(|(seq, _)| seq.next() < first) {
            learn_context(&mut context, item);
        }
        let mut turns = Vec::new();
        for events in events.chunk_by(|a, b| a.turn == b.turn) {
            let mut turn = build_turn(events, &usage, &class_of);
            let (from, to) = (
                events.first().map_or(Seq::ZERO, |event| event.seq),
                events.last().map_or(Seq::ZERO, |event| event.seq),
            );
            // Settings stand before what they are for; everything else behind what it is about.
            for (seq, item) in &telemetry {
                match item.item {
                    TelemetryItem::Context(_) if (from..=to).contains(&seq.next()) => {
                        learn_context(&mut context, item);
                    }
                    TelemetryItem::Context(_) => {}
                    _ if (from..=to).contains(seq) => turn.add_telemetry(item),
                    _ => {}
                }
            }
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
            turn.context = context.clone();
            turns.push(turn);
        }
        Ok(turns)
    }
}

fn learn_context(context: &mut TurnContext, telemetry: &Telemetry) {
    if let TelemetryItem::Context(newer) = &telemetry.item {
        context.update_from(newer);
    }
}

fn build_turn(
    events: &[EventView<'_>],
    usage: &HashMap<Seq, UsageRecord>,
    class_of: &dyn Fn(Option<&str>) -> ToolClass,
) -> Turn {
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
        if let Some(used) = usage.get(&view.seq) {
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
                    tool_class: class_of(event.tool.as_deref()),
                    arguments: event
                        .body
                        .arguments
                        .clone()
                        .unwrap_or_else(|| text.to_string()),
                    output: None,
                    status: "running",
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
            TelemetryItem::TurnEnd {
                duration_ms,
                first_answer_ms,
            } => {
                self.duration_ms = duration_ms.or(self.duration_ms);
                self.first_answer_ms = first_answer_ms.or(self.first_answer_ms);
                &mut self.telemetry.other
            }
            TelemetryItem::Other { .. } => &mut self.telemetry.other,
        };
        let mut value = json!(telemetry.item);
        if let Some(fields) = value.as_object_mut() {
            fields.insert("timestamp".to_string(), json!(rfc3339(telemetry.at)));
        }
        list.push(value);
    }
}
