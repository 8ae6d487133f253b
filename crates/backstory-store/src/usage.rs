//! Tokens: each API response once, with its largest count, rolled up as it comes in.
//!
//! A response is known by its key. Those that an older version stored lack details (event, branch, billing, parts of the counts);
//! when they are read again, what is missing is added and their place in the roll-up changes.

use std::collections::HashMap;

use backstory_event::{
    Billing, EventKey, Seq, SessionId, StreamId, TimeMs, TurnNo, UNKNOWN_MODEL, Usage,
};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use crate::checksums::{Scope, add_to_sum, hash_numbers};
use crate::error::Result;
use crate::ingest::without_nul;
use crate::lossy::LossyRow;
use crate::open::Store;

/// How long a slot of the roll-up is. A quarter of an hour, because time zones differ by that.
pub const SLOT_MS: i64 = 15 * 60 * 1000;

/// Input tokens from which on prices of long contexts may apply, by provider: 200,000 and 272,000.
const CONTEXT_TIER_TOKENS: [u64; 2] = [200_000, 272_000];

/// One row of the roll-up.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageRow {
    /// The agent.
    pub agent: String,
    /// The agent's own id of the session.
    pub session: String,
    /// Root of the project.
    pub project: Option<String>,
    /// The model.
    pub model: String,
    /// Git branch, where the log says.
    pub branch: Option<String>,
    /// What the price depends on beside tokens.
    pub billing: Billing,
    /// Number of thresholds for long contexts that the input exceeds: 200,000 and 272,000 tokens.
    pub context_tier: u8,
    /// Beginning of the slot; `None` when the log does not say.
    pub slot_at: Option<TimeMs>,
    /// The tokens.
    pub usage: Usage,
}

/// Usage of the response that an event begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventUsage {
    /// Number of the event in its session.
    pub seq: Seq,
    /// Tokens and server-side tools.
    pub usage: Usage,
    /// Service tier, where the log says.
    pub service_tier: Option<String>,
}

/// Usage of a response that an event begins, or of all other responses of a quarter of an hour.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseUsage {
    /// The event that begins it, its turn and time, where there is one.
    pub event: Option<(Seq, Option<TurnNo>, Option<TimeMs>)>,
    /// Beginning of the quarter of an hour; `None` when the log does not say.
    pub slot_at: Option<TimeMs>,
    /// Root of the session's project.
    pub project: Option<String>,
    /// The model.
    pub model: String,
    /// Git branch, where the log says.
    pub branch: Option<String>,
    /// Service tier, where the log says.
    pub service_tier: Option<String>,
    /// Tokens and server-side tools.
    pub usage: Usage,
}

/// Columns of tokens and requests, in the order of [`usage_from_row`].
pub(crate) const USAGE_COLUMNS: &str =
    "input, output, cache_read, cache_write, reasoning, cache_write_1h, web_searches, web_fetches";

impl Store {
    /// Returns the roll-up, in no particular order. Small: it grows with active quarters of an hour, not with events.
    pub fn usage(&self) -> Result<Vec<UsageRow>> {
        let query = format!(
            "SELECT agent, sessions.session, root, models.name, slot, {USAGE_COLUMNS}, branches.name, service_tier, speed, \
             inference_geo, context_tier FROM usage \
             JOIN sessions ON sessions.id = usage.session JOIN names AS models ON models.id = usage.model \
             LEFT JOIN projects ON projects.id = sessions.project LEFT JOIN names AS branches ON branches.id = usage.branch \
             LEFT JOIN billing ON billing.id = usage.billing"
        );
        let mut statement = self.connection.prepare(&query)?;
        let rows = statement.query_map([], |row| {
            let name = |column| -> rusqlite::Result<_> {
                let text = row.optional_text(column)?;
                Ok(text.filter(|text| !text.is_empty()).map(Into::into))
            };
            Ok(UsageRow {
                agent: row.text(0)?,
                session: row.text(1)?,
                project: row.optional_text(2)?,
                model: row.text(3)?,
                slot_at: Some(row.get::<_, i64>(4)?)
                    .filter(|slot| *slot != NO_SLOT)
                    .map(|slot| TimeMs::new(slot * SLOT_MS)),
                usage: usage_from_row(row, 5)?,
                branch: row.optional_text(13)?,
                billing: Billing {
                    service_tier: name(14)?,
                    speed: name(15)?,
                    inference_geo: name(16)?,
                },
                context_tier: row.get::<_, Option<u8>>(17)?.unwrap_or(0),
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns what a session used, response by response, with the same sums as the roll-up. Responses of which no event is known are
    /// told apart from copies by the roll-up alone, so there is one for each of its rows at most.
    pub fn response_usage(&self, agent: &str, session: &str) -> Result<Vec<ResponseUsage>> {
        let names = "JOIN sessions ON sessions.id = counted.session JOIN names AS models ON models.id = counted.model \
             LEFT JOIN names AS branches ON branches.id = counted.branch LEFT JOIN billing ON billing.id = counted.billing LEFT JOIN projects ON projects.id = sessions.project";
        let selected = "slot, counted.model, counted.branch, counted.billing, input, output, cache_read, cache_write, reasoning, \
             cache_write_1h, web_searches, web_fetches, models.name, branches.name, service_tier, root";
        let place = "WHERE agent = ?1 AND sessions.session = ?2";
        let with_events = format!(
            "SELECT {selected}, counted.seq, events.turn, events.at FROM responses AS counted {names} \
             LEFT JOIN events ON events.session = counted.session AND events.seq = counted.seq {place} AND counted.seq > 0 \
             ORDER BY counted.seq, models.name"
        );
        let rolled_up = format!(
            "SELECT {selected}, 0, NULL, NULL FROM usage AS counted {names} {place} ORDER BY slot, models.name"
        );
        let mut responses = Vec::new();
        let mut sums: HashMap<(i64, i64, i64, i64), [i64; COLUMN_COUNT]> = HashMap::new();
        for query in [with_events, rolled_up] {
            let mut statement = self.connection.prepare_cached(&query)?;
            let mut rows = statement.query((agent, session))?;
            while let Some(row) = rows.next()? {
                let slot = row.get(0)?;
                let seq: Seq = row.get(16)?;
                let bucket = (slot, row.get(1)?, row.get(2)?, row.get(3)?);
                let mut usage = usage_from_row(row, 4)?;
                let sum = sums.entry(bucket).or_default();
                if seq == Seq::ZERO {
                    usage =
                        usage_of_columns(std::array::from_fn(|at| columns(&usage)[at] - sum[at]));
                    if usage == Usage::default() {
                        continue;
                    }
                } else {
                    for (sum, count) in sum.iter_mut().zip(columns(&usage)) {
                        *sum += count;
                    }
                }
                responses.push(ResponseUsage {
                    event: match seq == Seq::ZERO {
                        true => None,
                        false => Some((seq, row.get(17)?, row.get(18)?)),
                    },
                    slot_at: Some(slot)
                        .filter(|slot| *slot != NO_SLOT)
                        .map(|slot| TimeMs::new(slot * SLOT_MS)),
                    project: row.optional_text(15)?,
                    model: row.text(12)?,
                    branch: row.optional_text(13)?,
                    service_tier: row.optional_text(14)?.filter(|tier| !tier.is_empty()),
                    usage,
                });
            }
        }
        Ok(responses)
    }

    /// Returns the service tier of a session's first message that names one.
    pub fn session_service_tier(&self, session: SessionId) -> Result<Option<String>> {
        let query = "SELECT service_tier FROM responses JOIN billing ON billing.id = responses.billing \
             WHERE session = ?1 AND seq > 0 AND service_tier <> '' ORDER BY seq LIMIT 1";
        let mut statement = self.connection.prepare_cached(query)?;
        let mut rows = statement.query([session])?;
        match rows.next()? {
            Some(row) => Ok(row.optional_text(0)?),
            None => Ok(None),
        }
    }

    /// Returns the known model that wrote most of each turn's output, by the responses that the turn's events begin.
    pub fn turn_models(
        &self,
        session: SessionId,
        from: TurnNo,
        to: TurnNo,
    ) -> Result<HashMap<TurnNo, String>> {
        let query = "SELECT turn, name FROM responses JOIN events ON events.session = responses.session AND events.seq = responses.seq \
             JOIN names ON names.id = responses.model \
             WHERE responses.session = ?1 AND responses.seq > 0 AND turn BETWEEN ?2 AND ?3 AND name != ?4 \
             GROUP BY turn, name ORDER BY turn, SUM(output)";
        let mut statement = self.connection.prepare_cached(query)?;
        let parameters = (session, from, to, UNKNOWN_MODEL);
        let rows = statement.query_map(parameters, |row| Ok((row.get(0)?, row.text(1)?)))?;
        // The last one of each turn stays.
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the usage of the responses that events of a session begin, in the order of the events.
    pub fn event_usage(
        &self,
        session: SessionId,
        from_seq: Seq,
        to_seq: Seq,
    ) -> Result<Vec<EventUsage>> {
        let query = format!(
            "SELECT seq, {USAGE_COLUMNS}, service_tier FROM responses LEFT JOIN billing ON billing.id = responses.billing \
             WHERE session = ?1 AND seq BETWEEN ?2 AND ?3 AND seq > 0 ORDER BY seq"
        );
        let mut statement = self.connection.prepare_cached(&query)?;
        let bounds = (session, from_seq, to_seq);
        let rows = statement.query_map(bounds, |row| {
            Ok(EventUsage {
                seq: row.get(0)?,
                usage: usage_from_row(row, 1)?,
                service_tier: row.optional_text(9)?.filter(|tier| !tier.is_empty()),
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

/// For responses whose time is unknown.
const NO_SLOT: i64 = i64::MIN;

/// Returns the slot of a time.
pub(crate) fn slot(at: Option<TimeMs>) -> i64 {
    at.map_or(NO_SLOT, |at| at.get().div_euclid(SLOT_MS))
}

pub(crate) fn usage_from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<Usage> {
    Ok(Usage {
        input: row.get(first)?,
        output: row.get(first + 1)?,
        cache_read: row.get(first + 2)?,
        cache_write: row.get(first + 3)?,
        reasoning: row.get(first + 4)?,
        cache_write_1h: row.get(first + 5)?,
        web_searches: row.get(first + 6)?,
        web_fetches: row.get(first + 7)?,
    })
}

/// A response on its way into the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) session: SessionId,
    pub(crate) slot: i64,
    pub(crate) model: i64,
    pub(crate) usage: Usage,
    /// First event of its message, the branch and the billing: 0 when not known.
    pub(crate) seq: Seq,
    pub(crate) branch: i64,
    pub(crate) billing: i64,
}

/// What another copy of a response replaces, rather than adds where nothing is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Replaced {
    /// The event that it begins with.
    pub(crate) event: bool,
    /// Requests to the provider's tools: older versions counted some for the response behind.
    pub(crate) requests: bool,
}

/// Columns of the roll-up that identify a row: session, slot, model, branch, billing.
type Bucket = (SessionId, i64, i64, i64, i64);

/// Number of columns that hold tokens and requests.
const COLUMN_COUNT: usize = 8;

/// Responses of a batch and what they add to the roll-up.
#[derive(Default)]
pub(crate) struct Tally {
    responses: HashMap<EventKey, TalliedResponse>,
    by_event: HashMap<(SessionId, Seq), EventKey>,
    /// Signed, for a larger count can have a smaller part.
    added: HashMap<Bucket, [i64; COLUMN_COUNT]>,
}

#[derive(Clone, Copy)]
struct TalliedResponse {
    counted: Counted,
    changed: bool,
    /// Hash of the row that is stored, 0 when there is none.
    stored_hash: i64,
}

impl Counted {
    fn hash(&self, key: EventKey) -> i64 {
        let columns = columns(&self.usage);
        let mut numbers = vec![key.0, self.session.into(), self.slot, self.model];
        numbers.extend(&columns[..5]);
        numbers.push(self.seq.into());
        numbers.extend(&columns[5..]);
        numbers.extend([self.branch, self.billing]);
        hash_numbers(&numbers)
    }

    fn bucket(&self) -> Bucket {
        (
            self.session,
            self.slot,
            self.model,
            self.branch,
            self.billing,
        )
    }

    /// Returns whether this is a response as older versions stored it: without details, or with other requests to the provider's tools.
    fn is_older_copy(&self, complete: &Counted) -> bool {
        let tokens = |counted: &Counted| columns(&counted.usage)[..5].to_vec();
        let details = (self.branch, self.billing);
        self.seq == Seq::ZERO
            && (details == (0, 0) || details == (complete.branch, complete.billing))
            && (self.session, self.slot, self.model)
                == (complete.session, complete.slot, complete.model)
            && tokens(self) == tokens(complete)
    }

    /// Returns the response as it is known after another copy of it was read.
    fn merged_with(self, newer: &Counted, replaced: Replaced) -> Counted {
        // The message's first event and its branch are those of the first copy that has any.
        let first = |known: i64, newer: i64| if known == 0 { newer } else { known };
        let grown = rank(&newer.usage) > rank(&self.usage);
        let requests = |known: u64, newer: u64| match replaced.requests {
            true => newer,
            false => known.max(newer),
        };
        let usage = match grown {
            true => newer.usage,
            // Counts of an older version have no parts.
            false if rank(&newer.usage) == rank(&self.usage) => Usage {
                reasoning: self.usage.reasoning.max(newer.usage.reasoning),
                cache_write_1h: self.usage.cache_write_1h.max(newer.usage.cache_write_1h),
                web_searches: requests(self.usage.web_searches, newer.usage.web_searches),
                web_fetches: requests(self.usage.web_fetches, newer.usage.web_fetches),
                ..self.usage
            },
            false => self.usage,
        };
        let takes_event = (replaced.event && newer.seq != Seq::ZERO) || self.seq == Seq::ZERO;
        Counted {
            usage,
            seq: match takes_event && self.session == newer.session {
                true => newer.seq,
                false => self.seq,
            },
            branch: first(self.branch, newer.branch),
            billing: match grown && newer.billing != 0 {
                true => newer.billing,
                false => first(self.billing, newer.billing),
            },
            ..self
        }
    }
}

impl Tally {
    /// Returns whether a response is a copy of one that has been counted; it is known by its own key from now on, too.
    pub(crate) fn is_copy(
        &mut self,
        connection: &Connection,
        key: EventKey,
        original: EventKey,
    ) -> Result<bool> {
        let Some(found) = self.find(connection, original)? else {
            return Ok(false);
        };
        // The copy belongs to no event of its own, or the original's usage would show twice.
        let counted = Counted {
            seq: Seq::ZERO,
            ..found.counted
        };
        let known = self.find(connection, key)?;
        // One that an older version stored lacks the original's details. One that was counted itself, before the original came, stays.
        let is_complete = |known: &TalliedResponse| {
            known.counted == counted || !known.counted.is_older_copy(&counted)
        };
        if !known.as_ref().is_some_and(is_complete) {
            let copy = TalliedResponse {
                counted,
                changed: true,
                stored_hash: known.map_or(0, |known| known.stored_hash),
            };
            self.responses.insert(key, copy);
        }
        Ok(true)
    }

    /// Returns the response that an event from another stream than `stream` begins.
    pub(crate) fn key_of_event(
        &self,
        connection: &Connection,
        event: (SessionId, Seq),
        stream: StreamId,
    ) -> Result<Option<EventKey>> {
        let query = "SELECT 1 FROM events WHERE session = ?1 AND seq = ?2 AND stream <> ?3";
        let of_other_stream = connection
            .prepare_cached(query)?
            .exists((event.0, event.1, stream))?;
        if !of_other_stream {
            return Ok(None);
        }
        if let Some(key) = self.by_event.get(&event) {
            return Ok(Some(*key));
        }
        let query = "SELECT key FROM responses WHERE session = ?1 AND seq = ?2 AND seq > 0 LIMIT 1";
        let mut statement = connection.prepare_cached(query)?;
        Ok(statement.query_row(event, |row| row.get(0)).optional()?)
    }

    /// Returns whether a response has been counted.
    pub(crate) fn is_known(&self, connection: &Connection, key: EventKey) -> Result<bool> {
        Ok(self.find(connection, key)?.is_some())
    }

    /// Returns whether a response is known with the event that it begins with.
    pub(crate) fn has_event(&self, connection: &Connection, key: EventKey) -> Result<bool> {
        let found = self.find(connection, key)?;
        Ok(found.is_some_and(|found| found.counted.seq != Seq::ZERO))
    }

    fn find(&self, connection: &Connection, key: EventKey) -> Result<Option<TalliedResponse>> {
        match self.responses.get(&key) {
            Some(found) => Ok(Some(*found)),
            None => stored(connection, key),
        }
    }

    /// Counts a response; one counted before only by how much larger it has become, where it was counted first.
    pub(crate) fn add(
        &mut self,
        connection: &Connection,
        key: EventKey,
        counted: Counted,
        replaced: Replaced,
    ) -> Result<()> {
        let tallied = match self.find(connection, key)? {
            None => {
                self.roll_up(&counted, 1);
                TalliedResponse {
                    counted,
                    changed: true,
                    stored_hash: 0,
                }
            }
            Some(known) => {
                let merged = known.counted.merged_with(&counted, replaced);
                if merged != known.counted {
                    self.roll_up(&known.counted, -1);
                    self.roll_up(&merged, 1);
                }
                TalliedResponse {
                    counted: merged,
                    changed: known.changed || merged != known.counted,
                    ..known
                }
            }
        };
        if tallied.counted.seq != Seq::ZERO {
            let event = (tallied.counted.session, tallied.counted.seq);
            self.by_event.entry(event).or_insert(key);
        }
        self.responses.insert(key, tallied);
        Ok(())
    }

    pub(crate) fn save(&self, connection: &Connection) -> Result<()> {
        let mut added: i64 = 0;
        let insert = format!(
            "INSERT OR REPLACE INTO responses (key, session, slot, model, seq, branch, billing, {USAGE_COLUMNS}) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
        );
        let mut changed: Vec<(&EventKey, &TalliedResponse)> = (self.responses.iter())
            .filter(|(_, tallied)| tallied.changed)
            .collect();
        // Neighbours lie on the same page.
        changed.sort_unstable_by_key(|(key, _)| key.0);
        let mut insert = connection.prepare_cached(&insert)?;
        for (key, tallied) in changed {
            let counted = &tallied.counted;
            added = added
                .wrapping_add(counted.hash(*key))
                .wrapping_sub(tallied.stored_hash);
            let (session, slot, model, branch, billing) = counted.bucket();
            let numbers = [
                key.0,
                session.into(),
                slot,
                model,
                counted.seq.into(),
                branch,
                billing,
            ];
            let row = numbers.into_iter().chain(columns(&counted.usage));
            insert.execute(params_from_iter(row))?;
        }
        add_to_sum(connection, Scope::Responses, added)?;
        let update = format!(
            "INSERT INTO usage (session, slot, model, branch, billing, {USAGE_COLUMNS}) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) \
             ON CONFLICT (session, slot, model, branch, billing) DO UPDATE SET \
             input = input + excluded.input, output = output + excluded.output, \
             cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write, \
             reasoning = reasoning + excluded.reasoning, cache_write_1h = cache_write_1h + excluded.cache_write_1h, \
             web_searches = web_searches + excluded.web_searches, web_fetches = web_fetches + excluded.web_fetches"
        );
        let mut update = connection.prepare_cached(&update)?;
        for ((session, slot, model, branch, billing), added) in &self.added {
            if added.iter().all(|added| *added == 0) {
                continue;
            }
            let numbers = [(*session).into(), *slot, *model, *branch, *billing];
            update.execute(params_from_iter(numbers.iter().chain(added)))?;
            if added.iter().any(|added| *added < 0) {
                // What moved to another branch or billing leaves an empty row behind.
                connection
                    .prepare_cached(
                        "DELETE FROM usage WHERE session = ?1 AND slot = ?2 AND model = ?3 AND branch = ?4 AND billing = ?5 \
                         AND input = 0 AND output = 0 AND cache_read = 0 AND cache_write = 0 AND reasoning = 0 \
                         AND cache_write_1h = 0 AND web_searches = 0 AND web_fetches = 0",
                    )?
                    .execute(params_from_iter(numbers))?;
            }
        }
        Ok(())
    }

    fn roll_up(&mut self, counted: &Counted, sign: i64) {
        let sums = self.added.entry(counted.bucket()).or_default();
        for (sum, column) in sums.iter_mut().zip(columns(&counted.usage)) {
            *sum += sign * column;
        }
    }
}

/// Returns the number of prices for longer contexts that a response is beyond.
pub(crate) fn context_tier(usage: &Usage) -> usize {
    let input = usage.input_total();
    let is_over = |tokens: &&u64| input > **tokens;
    CONTEXT_TIER_TOKENS.iter().filter(is_over).count()
}

/// Returns the row of a billing, made if need be; 0 when the log says nothing and the context is short.
pub(crate) fn billing_row(
    connection: &Connection,
    billing: &Billing,
    usage: &Usage,
) -> Result<i64> {
    let tier = context_tier(usage);
    if tier == 0 && *billing == Billing::default() {
        return Ok(0);
    }
    let text = |name: &Option<std::sync::Arc<str>>| {
        name.as_deref()
            .map(without_nul)
            .unwrap_or_default()
            .into_owned()
    };
    let row = (
        text(&billing.service_tier),
        text(&billing.speed),
        text(&billing.inference_geo),
        tier as i64,
    );
    let find = "SELECT id FROM billing WHERE service_tier = ?1 AND speed = ?2 AND inference_geo = ?3 AND context_tier = ?4";
    let found = connection
        .prepare_cached(find)?
        .query_row((&row.0, &row.1, &row.2, row.3), |row| row.get(0))
        .optional()?;
    if let Some(id) = found {
        return Ok(id);
    }
    let insert = "INSERT INTO billing (service_tier, speed, inference_geo, context_tier) VALUES (?1, ?2, ?3, ?4)";
    connection.prepare_cached(insert)?.execute(row)?;
    Ok(connection.last_insert_rowid())
}

/// Of several counts of one response the one with the most output is the final one.
fn rank(usage: &Usage) -> (u64, u64) {
    (usage.output, usage.total())
}

/// Returns the counts as columns. They come from logs: one beyond all reason must not overflow a sum.
fn columns(usage: &Usage) -> [i64; COLUMN_COUNT] {
    [
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.reasoning,
        usage.cache_write_1h,
        usage.web_searches,
        usage.web_fetches,
    ]
    .map(|count| count.min(1 << 40) as i64)
}

/// Returns the counts that are in columns.
fn usage_of_columns(columns: [i64; COLUMN_COUNT]) -> Usage {
    let [
        input,
        output,
        cache_read,
        cache_write,
        reasoning,
        cache_write_1h,
        web_searches,
        web_fetches,
    ] = columns.map(|count| u64::try_from(count).unwrap_or(0));
    Usage {
        input,
        output,
        cache_read,
        cache_write,
        reasoning,
        cache_write_1h,
        web_searches,
        web_fetches,
    }
}

fn stored(connection: &Connection, key: EventKey) -> Result<Option<TalliedResponse>> {
    let query = format!(
        "SELECT session, slot, model, seq, branch, billing, {USAGE_COLUMNS} FROM responses WHERE key = ?1"
    );
    let row = |row: &Row<'_>| {
        let counted = Counted {
            session: row.get(0)?,
            slot: row.get(1)?,
            model: row.get(2)?,
            seq: row.get(3)?,
            branch: row.get(4)?,
            billing: row.get(5)?,
            usage: usage_from_row(row, 6)?,
        };
        Ok(TalliedResponse {
            counted,
            changed: false,
            stored_hash: counted.hash(key),
        })
    };
    Ok(connection
        .prepare_cached(&query)?
        .query_row([key], row)
        .optional()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_model_hides_no_known_one() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        store
            .connection
            .execute_batch(
                "INSERT INTO sessions (id, agent, session) VALUES (1, 'codex', 'one');
                 INSERT INTO names (id, name) VALUES (1, 'unknown'), (2, 'gpt-5'), (3, 'gpt-4');
                 INSERT INTO events (session, seq, turn, kind, stream, offset, length, part)
                   VALUES (1, 1, 1, 1, 1, 0, 1, 0), (1, 2, 1, 1, 1, 1, 1, 0), (1, 3, 1, 1, 1, 2, 1, 0), (1, 4, 2, 1, 1, 3, 1, 0);
                 INSERT INTO responses (key, session, slot, model, seq, input, output, cache_read, cache_write, reasoning)
                   VALUES (1, 1, 0, 1, 1, 0, 90, 0, 0, 0), (2, 1, 0, 2, 2, 0, 2, 0, 0, 0), (3, 1, 0, 3, 3, 0, 1, 0, 0, 0),
                     (4, 1, 0, 1, 4, 0, 1, 0, 0, 0);",
            )
            .unwrap();
        let (first, last) = (TurnNo::ZERO, TurnNo::last_of(9));
        let found = store.turn_models(1.into(), first, last).unwrap();
        let expected = (TurnNo::last_of(1), "gpt-5".to_string());
        assert_eq!(found, HashMap::from([expected]));
    }

    #[test]
    fn parts_that_an_older_version_did_not_count_are_added() {
        let counted = |output, reasoning, cache_write_1h| Counted {
            session: SessionId::default(),
            slot: 0,
            model: 0,
            usage: Usage {
                output,
                reasoning,
                cache_write_1h,
                ..Usage::default()
            },
            seq: Seq::ZERO,
            branch: 0,
            billing: 0,
        };
        let merged = |newer: Counted| {
            counted(9, 0, 0)
                .merged_with(&newer, Replaced::default())
                .usage
        };
        assert_eq!(merged(counted(9, 4, 2)), counted(9, 4, 2).usage);
        // Of an earlier state of the message nothing is taken.
        assert_eq!(merged(counted(5, 4, 2)), counted(9, 0, 0).usage);
    }
}
