//! Tokens: each API response once, with its largest count, rolled up as it comes in.

use std::collections::HashMap;

use backstory_event::{EventKey, Usage};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::checksums::{Scope, add_to_sum, hash_numbers};
use crate::error::Result;
use crate::lossy::LossyRow;
use crate::open::Store;

/// How long a slot of the roll-up is. A quarter of an hour, because time zones differ by that.
pub const SLOT_MS: i64 = 15 * 60 * 1000;

/// One row of the roll-up.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageRow {
    /// The agent.
    pub agent: String,
    /// The agent's own id of the session.
    pub session: String,
    /// The project's root.
    pub project: Option<String>,
    /// The model.
    pub model: String,
    /// When the slot begins; `None` when the log does not say.
    pub slot_at: Option<i64>,
    /// The tokens.
    pub usage: Usage,
}

impl Store {
    /// The roll-up, in no particular order. Small: it grows with active quarters of an hour, not with events.
    pub fn usage(&self) -> Result<Vec<UsageRow>> {
        let mut statement = self.connection.prepare(
            "SELECT agent, sessions.session, root, name, slot, input, output, cache_read, cache_write, reasoning FROM usage \
             JOIN sessions ON sessions.id = usage.session JOIN names ON names.id = usage.model \
             LEFT JOIN projects ON projects.id = sessions.project",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(UsageRow {
                agent: row.text(0)?,
                session: row.text(1)?,
                project: row.optional_text(2)?,
                model: row.text(3)?,
                slot_at: Some(row.get::<_, i64>(4)?)
                    .filter(|slot| *slot != NO_SLOT)
                    .map(|slot| slot * SLOT_MS),
                usage: usage_from_row(row, 5)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

/// For responses whose time is unknown.
const NO_SLOT: i64 = i64::MIN;

/// The slot of a time.
pub(crate) fn slot(at: Option<i64>) -> i64 {
    at.map_or(NO_SLOT, |at| at.div_euclid(SLOT_MS))
}

pub(crate) fn usage_from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<Usage> {
    Ok(Usage {
        input: row.get(first)?,
        output: row.get(first + 1)?,
        cache_read: row.get(first + 2)?,
        cache_write: row.get(first + 3)?,
        reasoning: row.get(first + 4)?,
        ..Usage::default()
    })
}

/// Responses of a batch and what they add to the roll-up.
#[derive(Default)]
pub(crate) struct Tally {
    responses: HashMap<EventKey, Counted>,
    /// Signed, for a larger count can have a smaller part.
    added: HashMap<(i64, i64, i64), [i64; 5]>,
}

#[derive(Clone, Copy)]
struct Counted {
    session: i64,
    slot: i64,
    model: i64,
    usage: Usage,
    changed: bool,
    /// The hash of the row that is stored, 0 when there is none.
    stored_hash: i64,
}

impl Counted {
    fn hash(&self, key: EventKey) -> i64 {
        let [input, output, cache_read, cache_write, reasoning] = columns(&self.usage);
        hash_numbers(&[
            key.0,
            self.session,
            self.slot,
            self.model,
            input,
            output,
            cache_read,
            cache_write,
            reasoning,
        ])
    }
}

impl Tally {
    /// Whether a response is a copy of one that has been counted; it is known by its own key from now on, too.
    pub(crate) fn is_copy(
        &mut self,
        connection: &Connection,
        key: EventKey,
        original: EventKey,
    ) -> Result<bool> {
        let Some(counted) = self.find(connection, original)? else {
            return Ok(false);
        };
        if self.find(connection, key)?.is_none() {
            self.responses.insert(
                key,
                Counted {
                    changed: true,
                    stored_hash: 0,
                    ..counted
                },
            );
        }
        Ok(true)
    }

    fn find(&self, connection: &Connection, key: EventKey) -> Result<Option<Counted>> {
        match self.responses.get(&key) {
            Some(counted) => Ok(Some(*counted)),
            None => stored(connection, key),
        }
    }

    /// Counts a response; one counted before only by how much larger it has become, where it was counted first.
    pub(crate) fn add(
        &mut self,
        connection: &Connection,
        key: EventKey,
        session: i64,
        slot: i64,
        model: i64,
        usage: Usage,
    ) -> Result<()> {
        let known = self.find(connection, key)?;
        let counted = match known {
            Some(known) if rank(&usage) <= rank(&known.usage) => {
                self.responses.insert(key, known);
                return Ok(());
            }
            Some(known) => {
                self.roll_up(&known, -1);
                Counted {
                    usage,
                    changed: true,
                    ..known
                }
            }
            None => Counted {
                session,
                slot,
                model,
                usage,
                changed: true,
                stored_hash: 0,
            },
        };
        self.roll_up(&counted, 1);
        self.responses.insert(key, counted);
        Ok(())
    }

    pub(crate) fn save(&self, connection: &Connection) -> Result<()> {
        let mut added: i64 = 0;
        for (key, counted) in self.responses.iter().filter(|(_, counted)| counted.changed) {
            added = added
                .wrapping_add(counted.hash(*key))
                .wrapping_sub(counted.stored_hash);
            let usage = columns(&counted.usage);
            connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO responses (key, session, slot, model, input, output, cache_read, cache_write, reasoning) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                )?
                .execute(rusqlite::params![
                    key.0,
                    counted.session,
                    counted.slot,
                    counted.model,
                    usage[0],
                    usage[1],
                    usage[2],
                    usage[3],
                    usage[4]
                ])?;
        }
        add_to_sum(connection, Scope::Responses, added)?;
        for ((session, slot, model), added) in &self.added {
            connection
                .prepare_cached(
                    "INSERT INTO usage (session, slot, model, input, output, cache_read, cache_write, reasoning) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (session, slot, model) DO UPDATE SET \
                     input = input + excluded.input, output = output + excluded.output, \
                     cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write, \
                     reasoning = reasoning + excluded.reasoning",
                )?
                .execute((session, slot, model, added[0], added[1], added[2], added[3], added[4]))?;
        }
        Ok(())
    }

    fn roll_up(&mut self, counted: &Counted, sign: i64) {
        let sums = self
            .added
            .entry((counted.session, counted.slot, counted.model))
            .or_default();
        for (sum, column) in sums.iter_mut().zip(columns(&counted.usage)) {
            *sum += sign * column;
        }
    }
}

/// Of several counts of one response the one with the most output is the final one.
fn rank(usage: &Usage) -> (u64, u64) {
    (usage.output, usage.total())
}

/// Token counts come from logs: one beyond all reason must not overflow a sum.
fn columns(usage: &Usage) -> [i64; 5] {
    [
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.reasoning,
    ]
    .map(|count| count.min(1 << 40) as i64)
}

fn stored(connection: &Connection, key: EventKey) -> Result<Option<Counted>> {
    let query = "SELECT session, slot, model, input, output, cache_read, cache_write, reasoning FROM responses WHERE key = ?1";
    let row = |row: &Row<'_>| {
        let mut counted = Counted {
            session: row.get(0)?,
            slot: row.get(1)?,
            model: row.get(2)?,
            usage: usage_from_row(row, 3)?,
            changed: false,
            stored_hash: 0,
        };
        counted.stored_hash = counted.hash(key);
        Ok(counted)
    };
    Ok(connection
        .prepare_cached(query)?
        .query_row([key.0], row)
        .optional()?)
}
