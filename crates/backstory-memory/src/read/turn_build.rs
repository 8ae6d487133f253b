//! Building a turn of its events and telemetry.

use std::collections::HashMap;

use backstory_agents::Reader;
use backstory_event::{
    EventBody, EventView, Kind, Seq, Telemetry, TelemetryItem, TimeMs, ToolClass, TurnNo,
};
use serde_json::json;

use super::telemetry::PlacedTelemetry;
use super::turn::{Turn, TurnAction};
use super::usage::UsageRecord;
use crate::text::rfc3339;

/// Data that turns are made of beside their events.
pub(super) struct TurnSources {
    pub(super) usage: HashMap<Seq, UsageRecord>,
    pub(super) reader: Option<&'static dyn Reader>,
    /// Status of calls that have no result.
    pub(super) unanswered: &'static str,
}

impl TurnSources {
    /// Builds a turn of its events, without telemetry and settings.
    pub(super) fn build_turn(&self, events: &[EventView<'_>]) -> Turn {
        let mut turn = Turn {
            turn: events.first().map_or(TurnNo::ZERO, |event| event.turn),
            ..Turn::default()
        };
        let mut asked_at = None;
        let mut calls: HashMap<Seq, usize> = HashMap::new();
        let mut last_output = None;
        for view in events {
            let (event, text) = (&view.event, view.text());
            asked_at = asked_at.or(event.at);
            turn.add_times(asked_at, view);
            for mark in event.body.marks.names() {
                if turn.marks.iter().all(|known| known != mark) {
                    turn.marks.push(mark.into());
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
                    turn.actions.push(self.call_action(view));
                }
                Kind::ToolResult => {
                    last_output = Some(text);
                    let call = view.call.and_then(|call| calls.get(&call));
                    if let Some(action) = call.and_then(|call| turn.actions.get_mut(*call)) {
                        action.add_result(view);
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

    /// Returns the action of a call that has no result yet.
    fn call_action(&self, view: &EventView<'_>) -> TurnAction {
        let event = &view.event;
        let arguments = event.body.arguments.clone();
        TurnAction {
            call_id: event.body.identity.tool_use_id.clone(),
            seq: view.seq,
            tool: event.tool.clone(),
            tool_class: self.class_of(event.tool.as_deref()),
            arguments: arguments.unwrap_or_else(|| view.text().to_string()),
            output: None,
            status: self.call_status(&event.body).into(),
            started_at: rfc3339(event.at),
            duration_ms: None,
        }
    }

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
}

impl TurnAction {
    fn add_result(&mut self, view: &EventView<'_>) {
        self.output = Some(view.text().to_string());
        self.duration_ms = view.event.duration_ms;
        self.status = match view.event.body.marks {
            marks if marks.denied => "denied",
            marks if marks.interrupted => "interrupted",
            _ if view.is_failure() => "error",
            _ => "success",
        }
        .into();
    }
}

impl Turn {
    /// Adds the time of an event of a turn that was asked for at `asked_at`.
    fn add_times(&mut self, asked_at: Option<TimeMs>, view: &EventView<'_>) {
        let event = &view.event;
        if self.started_at.is_none() {
            self.started_at = rfc3339(event.at);
        }
        if let (Some(asked), Some(at)) = (asked_at, event.at) {
            self.duration_ms = self.duration_ms.max(Some(at.since(asked)));
            if event.kind.is_from_model() && self.first_answer_ms.is_none() {
                // A clock may have been set back in between.
                self.first_answer_ms = Some(at.since(asked).max(0));
            }
        }
    }

    /// Adds what the telemetry of the turn says.
    pub(super) fn add_telemetry(&mut self, telemetry: &[PlacedTelemetry]) {
        let mut ends = TurnEnds::default();
        let mut timings = HashMap::new();
        for Telemetry { item, .. } in telemetry.iter().map(|placed| &placed.telemetry) {
            if let TelemetryItem::ToolTiming {
                tool_use_id: Some(call),
                duration_ms: Some(duration),
                ..
            } = item
            {
                timings.insert(call.as_str(), *duration);
            }
        }
        for action in &mut self.actions {
            let timing = (action.call_id.as_deref()).and_then(|call| timings.get(call));
            action.duration_ms = timing.copied().or(action.duration_ms);
        }
        for placed in telemetry {
            ends.add(placed);
            self.add_item(&placed.telemetry);
        }
        self.duration_ms = ends.duration_ms().or(self.duration_ms);
        self.first_answer_ms = ends.first_answer_ms.or(self.first_answer_ms);
    }

    fn add_item(&mut self, telemetry: &Telemetry) {
        let list = match &telemetry.item {
            TelemetryItem::Context(_) => return,
            TelemetryItem::TokenCount { .. } => &mut self.telemetry.token_counts,
            TelemetryItem::RateLimits { .. } => &mut self.telemetry.rate_limits,
            TelemetryItem::PlanUpdate { .. } => &mut self.telemetry.plan_updates,
            TelemetryItem::Approval { .. } => &mut self.telemetry.approvals,
            TelemetryItem::Compaction { .. } => &mut self.telemetry.compactions,
            TelemetryItem::ToolTiming { .. }
            | TelemetryItem::TurnStart { .. }
            | TelemetryItem::TurnEnd { .. }
            | TelemetryItem::Other { .. } => &mut self.telemetry.other,
        };
        let mut value = json!(telemetry.item);
        if let Some(fields) = value.as_object_mut() {
            fields.insert("timestamp".to_string(), json!(rfc3339(telemetry.at)));
        }
        list.push(value);
    }
}

/// Facts at the ends of a turn: an agent that was asked again within a turn ends it several times.
#[derive(Default)]
struct TurnEnds {
    /// Sum of durations in the files of events.
    own_duration_ms: Option<i64>,
    /// Sum of durations in separate files, which say the same turn again.
    separate_duration_ms: Option<i64>,
    first_answer_ms: Option<i64>,
}

impl TurnEnds {
    fn add(&mut self, placed: &PlacedTelemetry) {
        if let TelemetryItem::TurnEnd {
            duration_ms,
            first_answer_ms,
        } = placed.telemetry.item
        {
            let sum = match placed.is_in_separate_file {
                true => &mut self.separate_duration_ms,
                false => &mut self.own_duration_ms,
            };
            if let Some(duration) = duration_ms {
                *sum = Some(sum.unwrap_or(0).saturating_add(duration));
            }
            self.first_answer_ms = self.first_answer_ms.or(first_answer_ms);
        }
    }

    fn duration_ms(&self) -> Option<i64> {
        self.separate_duration_ms.or(self.own_duration_ms)
    }
}
