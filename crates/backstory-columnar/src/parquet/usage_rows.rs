//! Rows of the table of usage: the tokens of messages, and what the library counts beside them.
//!
//! The sums of a session and model are those of `backstory usage`. Where those of its events differ (a message without an event, one that
//! several models answered), a row without an event has the difference.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use backstory_memory::{Memory, SessionRow, UsageBy, UsageRecord};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::column::Value;
use super::fingerprint::text_fingerprint;
use super::footer::SessionKey;
use super::row_values::{SessionNames, SharedEvent, usage_values};
use super::schema::USAGE_COLUMNS;
use crate::error::{Error, Result};

/// Model of messages whose log names none, as `backstory usage` has it.
const UNKNOWN_MODEL: &str = "unknown";

pub(super) type UsageTableRow = [Value; USAGE_COLUMNS.len()];

/// Counts by model, in the order of [`usage_values`].
type ModelCounts = BTreeMap<String, [i64; 10]>;

/// What every session used, by model.
pub(super) struct UsageTotals {
    by_session: HashMap<SessionKey, ModelCounts>,
}

/// What the events of a session used so far, by model.
#[derive(Default)]
pub(super) struct EventSums {
    by_model: ModelCounts,
}

impl UsageTotals {
    pub(super) fn of_memory(memory: &Memory, agents: &BTreeSet<&str>) -> Result<Self> {
        let mut by_session = HashMap::new();
        for agent in agents {
            let table = memory
                .usage(UsageBy::Session, &TimeZone::UTC, Some(agent))
                .map_err(Error::input)?;
            for entry in table.entries {
                let key = SessionKey {
                    agent: agent.to_string(),
                    session: entry.key,
                };
                let counts = entry
                    .models
                    .into_iter()
                    .map(|(model, usage)| (model, counts(&UsageRecord::from(&usage))));
                by_session.insert(key, counts.collect());
            }
        }
        Ok(UsageTotals { by_session })
    }

    /// Returns the sessions that used tokens, but for those that are left out, with fingerprints of what they used.
    pub(super) fn sessions_except(
        &self,
        is_left_out: impl Fn(&SessionKey) -> bool,
    ) -> Vec<(SessionKey, String)> {
        let others = self.by_session.iter().filter(|(key, _)| !is_left_out(key));
        let mut others: Vec<_> = others
            .map(|(key, counts)| (key.clone(), text_fingerprint(&format!("{counts:?}"))))
            .collect();
        others.sort();
        others
    }

    /// Returns the rows for what a session used and its events do not have.
    pub(super) fn rows_without_events(
        &self,
        key: &SessionKey,
        session: Option<&SessionRow>,
        mut sums: EventSums,
    ) -> Vec<UsageTableRow> {
        let names = SessionNames::new(&key.agent, &key.session);
        let mut rows = Vec::new();
        let totals = self.by_session.get(key).into_iter().flatten();
        let mut differences: ModelCounts = totals
            .map(|(model, counts)| (model.clone(), *counts))
            .collect();
        for (model, counts) in std::mem::take(&mut sums.by_model) {
            let difference = differences.entry(model).or_default();
            for (difference, count) in difference.iter_mut().zip(counts) {
                *difference -= count;
            }
        }
        for (model, counts) in differences {
            if counts.iter().any(|count| *count != 0) {
                rows.push(usage_row(&names, session, None, Some(&model), counts, None));
            }
        }
        rows
    }
}

/// Returns the row of the message that begins with an event, if there is one.
pub(super) fn event_usage_row(
    names: &SessionNames,
    session: &SessionRow,
    event: &SharedEvent,
    sums: &mut EventSums,
) -> Option<UsageTableRow> {
    let usage = event.record.usage.as_ref()?;
    let counts = counts(usage);
    let model = event.record.model.as_deref();
    let sum = sums
        .by_model
        .entry(model.unwrap_or(UNKNOWN_MODEL).to_string())
        .or_default();
    for (sum, count) in sum.iter_mut().zip(counts) {
        *sum += count;
    }
    Some(usage_row(
        names,
        Some(session),
        Some(event),
        model,
        counts,
        usage.service_tier.as_deref(),
    ))
}

fn counts(usage: &UsageRecord) -> [i64; 10] {
    usage_values(usage).map(|count| i64::try_from(count).unwrap_or(i64::MAX))
}

fn usage_row(
    names: &SessionNames,
    session: Option<&SessionRow>,
    event: Option<&SharedEvent>,
    model: Option<&str>,
    counts: [i64; 10],
    service_tier: Option<&str>,
) -> UsageTableRow {
    let [
        input,
        output,
        cache_read,
        cache_write,
        cache_write_5m,
        cache_write_1h,
        reasoning,
        total,
        searches,
        fetches,
    ] = counts.map(Value::from);
    let at = event.and_then(|event| event.at);
    let text = |field: fn(&SessionRow) -> &Option<String>| {
        Value::from(session.and_then(|row| field(row).as_deref()))
    };
    [
        (&names.agent).into(),
        (&names.session).into(),
        event.map(|event| event.record.seq.count()).into(),
        event.map(|event| event.record.turn.count()).into(),
        at.into(),
        at.and_then(day_number).map_or(Value::Null, Value::Date),
        text(|row| &row.project),
        text(|row| &row.branch),
        model.filter(|model| *model != UNKNOWN_MODEL).into(),
        input,
        output,
        cache_read,
        cache_write,
        cache_write_5m,
        cache_write_1h,
        reasoning,
        total,
        searches,
        fetches,
        service_tier.into(),
    ]
}

/// Returns the number of days since 1970 in UTC.
fn day_number(at: i64) -> Option<i32> {
    let time = Timestamp::from_millisecond(at).ok()?;
    i32::try_from(time.as_second().div_euclid(24 * 60 * 60)).ok()
}
