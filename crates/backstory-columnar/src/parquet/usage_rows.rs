//! Rows of the table of usage: the tokens of responses, with the same sums as `backstory usage`.

use std::collections::{BTreeSet, HashMap};

use backstory_memory::{
    Memory, ResponseUsage, Seq, SessionName, SessionRow, TimeMs, TurnNo, UsageBy, UsageRecord,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::column_buffer::Value;
use super::fingerprint::text_fingerprint;
use super::footer::SessionKey;
use super::row_values::{SessionNames, time_value, usage_values};
use super::schema::USAGE_COLUMNS;
use crate::error::Result;

/// Model of messages whose log names none, as `backstory usage` has it.
const UNKNOWN_MODEL: &str = "unknown";

pub(super) type UsageTableRow = [Value; USAGE_COLUMNS.len()];

/// Sessions that used tokens, with fingerprints of what they used.
pub(super) struct UsageTotals {
    by_session: HashMap<SessionKey, String>,
}

impl UsageTotals {
    pub(super) fn of_memory(memory: &Memory, agents: &BTreeSet<&str>) -> Result<Self> {
        let mut by_session = HashMap::new();
        for agent in agents {
            let table = memory
                .usage()
                .table(UsageBy::Session, &TimeZone::UTC, Some(agent))?;
            for entry in table.entries {
                let fingerprint = text_fingerprint(&format!("{:?}", entry.models));
                let key = SessionKey {
                    agent: agent.to_string(),
                    session: entry.key,
                };
                by_session.insert(key, fingerprint);
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
            .map(|(key, fingerprint)| (key.clone(), fingerprint.clone()))
            .collect();
        others.sort();
        others
    }
}

/// Returns the rows of a session.
pub(super) fn usage_rows(
    memory: &Memory,
    key: &SessionKey,
    session: Option<&SessionRow>,
) -> Result<Vec<UsageTableRow>> {
    let names = SessionNames::new(&key.agent, &key.session);
    let name = SessionName::new(key.agent.clone(), key.session.as_str());
    let responses = memory.usage().responses(&name)?;
    let rows = responses
        .iter()
        .map(|response| usage_row(&names, session, response));
    Ok(rows.collect())
}

fn usage_row(
    names: &SessionNames,
    session: Option<&SessionRow>,
    response: &ResponseUsage,
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
    ] = usage_values(&UsageRecord::from(&response.usage)).map(Value::from);
    let (seq, turn, at) = match response.event {
        Some((seq, turn, at)) => (Some(seq), turn, at),
        None => (None, None, response.slot_at),
    };
    let branch_of_session = || session.and_then(|row| row.branch.as_deref());
    [
        (&names.agent).into(),
        (&names.session).into(),
        seq.map(Seq::count).into(),
        turn.map(TurnNo::count).into(),
        time_value(at.or(response.slot_at)),
        response
            .slot_at
            .and_then(day_number)
            .map_or(Value::Null, Value::Date),
        response.project.as_deref().into(),
        response.branch.as_deref().or_else(branch_of_session).into(),
        Some(response.model.as_str())
            .filter(|model| *model != UNKNOWN_MODEL)
            .into(),
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
        response.service_tier.as_deref().into(),
    ]
}

/// Returns the number of days since 1970 in UTC.
fn day_number(at: TimeMs) -> Option<i32> {
    let time = Timestamp::from_millisecond(at.get()).ok()?;
    i32::try_from(time.as_second().div_euclid(24 * 60 * 60)).ok()
}
