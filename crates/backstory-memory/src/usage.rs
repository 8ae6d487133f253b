//! Tokens by day, month, session, model or project, from the roll-ups.

use std::collections::BTreeMap;

use backstory_event::{SessionName, Usage};
use backstory_store::{ResponseUsage, UsageRow};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::Memory;
use crate::error::Result;
use crate::read::UsageCounts;

/// Grouping of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsageEntry {
    /// The day, month, session, model or project.
    pub key: String,
    /// Its tokens.
    #[serde(flatten, with = "priced_usage")]
    pub usage: Usage,
    /// Its tokens by model.
    pub models: Vec<ModelUsage>,
}

/// Tokens of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelUsage {
    /// The model.
    pub model: String,
    /// Its tokens.
    #[serde(flatten, with = "priced_usage")]
    pub usage: Usage,
}

/// All groups and their sum.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UsageTable {
    /// In the order of their keys.
    #[serde(rename = "rows")]
    pub entries: Vec<UsageEntry>,
    /// The sum.
    #[serde(with = "priced_usage")]
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
                models: models
                    .into_iter()
                    .map(|(model, usage)| ModelUsage { model, usage })
                    .collect(),
            }
        });
        Ok(UsageTable {
            entries: entries.collect(),
            totals,
        })
    }
}

/// Tokens with what they cost, as JSON has them.
mod priced_usage {
    use serde::{Deserializer, Serializer};

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Priced {
        #[serde(flatten)]
        counts: UsageCounts,
        /// Not known yet.
        cost_usd: Option<f64>,
    }

    pub(super) fn serialize<S: Serializer>(
        usage: &Usage,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        let priced = Priced {
            counts: UsageCounts::from(usage),
            cost_usd: None,
        };
        priced.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Usage, D::Error> {
        Priced::deserialize(deserializer).map(|priced| Usage::from(&priced.counts))
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
