//! Links between the session that made a plan and the one that carried it out.

use backstory_analysis::digest::{handed_plan, is_same_plan, presented_plan};
use backstory_event::TimeMs;
use backstory_store::{SessionFilter, SessionRow, Store};
use serde::{Deserialize, Serialize};

use super::{Notes, readable_notes};
use crate::error::Result;

/// Maximum time between a plan and the session that carries it out.
const MAX_BETWEEN_MS: i64 = 24 * 3_600_000;

/// Clocks of two sessions of the same minute may differ.
const SLACK_MS: i64 = 60_000;

/// Maximum number of sessions that are looked at.
const MAX_CANDIDATES: usize = 40;

/// The agent's own ids of sessions that share a plan with one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanLinks {
    /// The session that made the plan that this one carries out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_of: Option<String>,
    /// The session that carried out the plan of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried_out_by: Option<String>,
}

/// Returns the links of a session with these notes.
pub(super) fn plan_links(store: &Store, row: &SessionRow, notes: &Notes) -> Result<PlanLinks> {
    let (Some(began), Some(ended)) = (row.started_at, row.ended_at) else {
        return Ok(PlanLinks::default());
    };
    let plan_of = match handed_plan(notes) {
        Some(title) => find(
            store,
            row,
            (began.minus_ms(MAX_BETWEEN_MS), began.minus_ms(-SLACK_MS)),
            |other, notes| {
                other
                    .ended_at
                    .is_some_and(|end| end <= began.minus_ms(-SLACK_MS))
                    && presented_plan(notes).is_some_and(|known| is_same_plan(known, title))
            },
        )?,
        None => None,
    };
    let carried_out_by = match presented_plan(notes) {
        Some(title) => find(
            store,
            row,
            (ended.minus_ms(SLACK_MS), ended.minus_ms(-MAX_BETWEEN_MS)),
            |other, notes| {
                other
                    .started_at
                    .is_some_and(|start| start >= ended.minus_ms(SLACK_MS))
                    && handed_plan(notes).is_some_and(|known| is_same_plan(known, title))
            },
        )?,
        None => None,
    };
    Ok(PlanLinks {
        plan_of,
        carried_out_by,
    })
}

/// Returns a session of the same project and agent, active in a span of time, that fits.
fn find(
    store: &Store,
    row: &SessionRow,
    (since, until): (TimeMs, TimeMs),
    fits: impl Fn(&SessionRow, &Notes) -> bool,
) -> Result<Option<String>> {
    let candidates = store.sessions(&SessionFilter {
        agent: Some(row.agent.clone()),
        project: row.project.clone(),
        since: Some(since),
        until: Some(until),
        limit: MAX_CANDIDATES,
        ..SessionFilter::default()
    })?;
    for other in candidates.iter().filter(|other| other.id != row.id) {
        let notes = readable_notes(store, other.id, &other.agent)?;
        if fits(other, &notes) {
            return Ok(Some(other.session.clone()));
        }
    }
    Ok(None)
}
