//! Settings under which turns ran, from what their own records say.

use backstory_event::{EventView, Seq, TelemetryItem, TurnContext};
use backstory_store::SessionRow;

use super::telemetry::PlacedTelemetry;

/// Returns the settings before the first of a session's events: each is the first value that is named later; if none is, that of the
/// session.
pub(super) fn first_settings(
    session: &SessionRow,
    events: &[EventView<'_>],
    telemetry: &[PlacedTelemetry],
) -> TurnContext {
    let mut context = TurnContext::default();
    for said in said_in_order(events, telemetry) {
        add_missing(&mut context, said);
    }
    add_missing(
        &mut context,
        &TurnContext {
            cwd: session.cwd.clone(),
            branch: session.branch.clone(),
            agent_version: session.agent_version.clone(),
            permission_mode: session.permission_mode.clone(),
            ..TurnContext::default()
        },
    );
    context
}

/// Takes over the settings that a telemetry record names.
pub(super) fn learn_settings(context: &mut TurnContext, placed: &PlacedTelemetry) {
    if let TelemetryItem::Context(newer) = &placed.telemetry.item {
        context.update_from(newer);
    }
}

/// Takes over the settings that an event names.
pub(super) fn learn_event_settings(context: &mut TurnContext, view: &EventView<'_>) {
    let event = &view.event;
    if let Some(said) = &event.body.context {
        context.update_from(said);
    }
    if let Some(model) = &event.model {
        context.model = Some(model.to_string());
    }
    if let Some(effort) = &event.body.effort {
        context.effort = Some(effort.clone());
    }
}

/// Settings that events and the records before them name, in their order.
fn said_in_order<'a>(
    events: &'a [EventView<'_>],
    telemetry: &'a [PlacedTelemetry],
) -> Vec<&'a TurnContext> {
    let of_record = |placed: &'a PlacedTelemetry| match &placed.telemetry.item {
        TelemetryItem::Context(context) => Some((placed.seq.next(), context)),
        _ => None,
    };
    let of_event = |view: &'a EventView<'_>| Some((view.seq, view.event.body.context.as_deref()?));
    let records = telemetry.iter().filter_map(of_record);
    let mut said: Vec<(Seq, &TurnContext)> =
        records.chain(events.iter().filter_map(of_event)).collect();
    said.sort_by_key(|(seq, _)| *seq);
    said.into_iter().map(|(_, context)| context).collect()
}

/// Takes over where it ran and what was allowed, where that is not known yet.
fn add_missing(context: &mut TurnContext, more: &TurnContext) {
    for (known, more) in [
        (&mut context.cwd, &more.cwd),
        (&mut context.branch, &more.branch),
        (&mut context.permission_mode, &more.permission_mode),
        (&mut context.agent_version, &more.agent_version),
    ] {
        if known.is_none() {
            known.clone_from(more);
        }
    }
}
