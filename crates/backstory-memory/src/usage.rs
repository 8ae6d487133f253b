//! Tokens by day, month, session, model or project, from the roll-ups.

use std::collections::BTreeMap;

use backstory_event::{SessionName, Usage};
use backstory_store::{ResponseUsage, UsageRow};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::Memory;
use crate::error::Result;

/// What to group by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageBy {
    /// Day, in a time zone.
    Day,
    /// Month, in a time zone.
    Month,
    /// Session.
    Session,
    /// Model.
    Model,
    /// Project.
    Project,
}

/// One group.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageEntry {
    /// The day, month, session, model or project.
    pub key: String,
    /// Its tokens.
    pub usage: Usage,
    /// Its tokens by model.
    pub models: Vec<(String, Usage)>,
}

/// All groups and their sum.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UsageTable {
    /// In the order of their keys.
    pub entries: Vec<UsageEntry>,
    /// The sum.
    pub totals: Usage,
}

/// Tokens that models used, summed up.
pub struct UsageTables<'m> {
    pub(crate) memory: &'m Memory,
}

impl UsageTables<'_> {
    /// Returns what a session used, response by response, with the same sums as [`UsageTables::table`]. A response that several models
    /// answered is there once for each.
    pub fn responses(&self, session: &SessionName) -> Result<Vec<ResponseUsage>> {
        Ok(self
            .memory
            .store
            .response_usage(&session.agent, &session.id)?)
    }

    /// Tokens used, grouped. Days and months are those of `zone`.
    pub fn table(&self, by: UsageBy, zone: &TimeZone, agent: Option<&str>) -> Result<UsageTable> {
        let mut groups: BTreeMap<String, BTreeMap<String, Usage>> = BTreeMap::new();
        let mut totals = Usage::default();
        for row in self.memory.store.usage()? {
            if agent.is_some_and(|agent| agent != row.agent) {
                continue;
            }
            let models = groups.entry(key(&row, by, zone)).or_default();
            add(models.entry(row.model).or_default(), &row.usage);
            add(&mut totals, &row.usage);
        }
        let entries = groups.into_iter().map(|(key, models)| {
            let mut usage = Usage::default();
            for part in models.values() {
                add(&mut usage, part);
            }
            UsageEntry {
                key,
                usage,
                models: models.into_iter().collect(),
            }
        });
        Ok(UsageTable {
            entries: entries.collect(),
            totals,
        })
    }
}

fn key(row: &UsageRow, by: UsageBy, zone: &TimeZone) -> String {
    let date = || {
        let at = row
            .slot_at
            .and_then(|at| Timestamp::from_millisecond(at.get()).ok())?;
        Some(zone.to_datetime(at).date())
    };
    let unknown = || "unknown".to_string();
    match by {
        UsageBy::Day => date().map_or_else(unknown, |date| date.to_string()),
        UsageBy::Month => date().map_or_else(unknown, |date| {
            format!("{:04}-{:02}", date.year(), date.month())
        }),
        UsageBy::Session => row.session.clone(),
        UsageBy::Model => row.model.clone(),
        UsageBy::Project => row.project.clone().unwrap_or_else(unknown),
    }
}

fn add(sum: &mut Usage, part: &Usage) {
    sum.input += part.input;
    sum.output += part.output;
    sum.cache_read += part.cache_read;
    sum.cache_write += part.cache_write;
    sum.cache_write_1h += part.cache_write_1h;
    sum.web_searches += part.web_searches;
    sum.web_fetches += part.web_fetches;
    sum.reasoning += part.reasoning;
}
