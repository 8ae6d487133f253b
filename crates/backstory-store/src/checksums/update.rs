//! Adding checksums to rows that have none: new and changed rows, and those of stores from before there were checksums.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::scope::{Part, Scope, Units};
use super::{RowHasher, store_sum};
use crate::error::Result;
use crate::open::Store;
use crate::queue::add_item_sums;
use crate::settings::add_setting_sums;

/// Rows summed in one transaction: other writers wait for so long. A row counts for each 4 KiB of it.
const MAX_TRANSACTION_ROWS: u64 = 20_000;

/// Rows summed in one sweep. Far more than an ordinary sweep adds: only a large old store needs several sweeps.
const MAX_SWEEP_ROWS: u64 = 2_000_000;

/// Rows summed at the end of any other command that changed some.
const MAX_CHANGED_ROWS: u64 = 200_000;

/// Sum of the hashes of some rows, and how many rows they were.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowSum {
    pub(super) sum: i64,
    pub(super) rows: u64,
}

/// A unit whose checksum is missing or does not cover all its rows.
#[derive(Debug, Clone, Copy)]
struct Behind {
    unit: i64,
    /// What is there: the number that it covers and the sum.
    covered: Option<(i64, i64)>,
    /// The number up to which there are rows, where they are numbered.
    upto: Option<i64>,
}

impl Store {
    /// Adds missing checksums, in transactions of bounded length; whether all are there now. Safe to stop at any moment.
    pub fn update_checksums(&self) -> Result<bool> {
        self.update_some_checksums(MAX_SWEEP_ROWS)
    }

    /// Like [`Store::update_checksums`], for whoever changed rows outside a sweep: what is left to do in a large old store is left to
    /// sweeps. Does nothing if this connection changed nothing.
    pub fn sum_own_changes(&self) -> Result<()> {
        let changes = self.connection.total_changes();
        if self.summed_changes.replace(changes) != changes {
            self.update_some_checksums(MAX_CHANGED_ROWS)?;
            self.summed_changes.set(self.connection.total_changes());
        }
        Ok(())
    }

    fn update_some_checksums(&self, most: u64) -> Result<bool> {
        let mut left = most;
        while left > 0 {
            if !has_units_behind(&self.connection)? {
                return Ok(true);
            }
            let transaction =
                Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
            add_item_sums(&transaction)?;
            add_setting_sums(&transaction)?;
            let most = MAX_TRANSACTION_ROWS.min(left);
            let mut room = most;
            for scope in Scope::ALL {
                update_scope(&transaction, scope, &mut room)?;
                if room == 0 {
                    break;
                }
            }
            transaction.commit()?;
            left -= most - room;
            if room > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Number of units that have no checksum yet, or not of all their rows.
    pub(super) fn units_behind(&self) -> Result<u64> {
        let mut count = unsummed_rows(&self.connection)?;
        for scope in Scope::ALL {
            count += units_behind(&self.connection, scope)?.len() as u64;
        }
        Ok(count)
    }
}

fn has_units_behind(connection: &Connection) -> Result<bool> {
    if unsummed_rows(connection)? > 0 {
        return Ok(true);
    }
    for scope in Scope::ALL {
        if !units_behind(connection, scope)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Number of rows that have no checksum in themselves although they should.
fn unsummed_rows(connection: &Connection) -> Result<u64> {
    let query = "SELECT (SELECT COUNT(*) FROM queue WHERE body IS NOT NULL AND sum IS NULL) + \
         (SELECT COUNT(*) FROM settings WHERE sum IS NULL)";
    let mut statement = connection.prepare_cached(query)?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

fn update_scope(connection: &Connection, scope: Scope, room: &mut u64) -> Result<()> {
    for behind in units_behind(connection, scope)? {
        let (covered, before) = behind.covered.unwrap_or((i64::MIN, 0));
        let from = match scope.units() {
            Units::Chunk { shift, .. } => covered.max((behind.unit << shift) - 1),
            _ => covered,
        };
        let upto = behind.upto.unwrap_or(i64::MAX);
        let found = sum_rows(connection, scope, behind.unit, from, upto)?;
        let sum = before.wrapping_add(found.sum);
        store_sum(connection, scope, behind.unit, behind.upto, sum)?;
        *room = room.saturating_sub(found.rows.max(1));
        if *room == 0 {
            break;
        }
    }
    Ok(())
}

/// Sums the rows of a unit that its checksum covers.
pub(super) fn sum_unit(
    connection: &Connection,
    scope: Scope,
    unit: i64,
    upto: Option<i64>,
) -> Result<RowSum> {
    let from = match scope.units() {
        Units::Chunk { shift, .. } => (unit << shift) - 1,
        _ => i64::MIN,
    };
    sum_rows(connection, scope, unit, from, upto.unwrap_or(i64::MAX))
}

/// Sums the rows of a unit; of numbered rows those after `from` up to `upto`.
fn sum_rows(
    connection: &Connection,
    scope: Scope,
    unit: i64,
    from: i64,
    upto: i64,
) -> Result<RowSum> {
    let mut hasher = RowHasher::new();
    let mut found = RowSum::default();
    for (number, part) in scope.parts().iter().enumerate() {
        let Part {
            table,
            columns,
            condition,
        } = part;
        let query = format!("SELECT {columns} FROM {table} WHERE {condition}");
        let mut statement = connection.prepare_cached(&query)?;
        let count = statement.column_count();
        for (at, value) in [unit, from, upto].into_iter().enumerate() {
            if at < statement.parameter_count() {
                statement.raw_bind_parameter(at + 1, value)?;
            }
        }
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            let mut bytes = 0;
            for column in 0..count {
                let value = row.get_ref(column)?;
                bytes += value
                    .as_bytes_or_null()
                    .ok()
                    .flatten()
                    .map_or(8, <[u8]>::len);
                hasher.add(value);
            }
            found.sum = found.sum.wrapping_add(hasher.finish(number as u64));
            found.rows += 1 + bytes as u64 / 4096;
        }
    }
    Ok(found)
}

fn units_behind(connection: &Connection, scope: Scope) -> Result<Vec<Behind>> {
    let whole = |unit| Behind {
        unit,
        covered: None,
        upto: None,
    };
    match scope.units() {
        Units::Session => rows_without(connection, scope, "sessions", "id"),
        Units::Row(key) => rows_without(connection, scope, scope.table(), key),
        Units::SessionEvents => {
            let query = "SELECT sessions.id, events, upto, sum FROM sessions LEFT JOIN checksums ON scope = ?1 AND unit = sessions.id \
                 WHERE unit IS NULL OR upto < events";
            let mut statement = connection.prepare_cached(query)?;
            let rows = statement.query_map([scope as u8], |row| {
                Ok(Behind {
                    unit: row.get(0)?,
                    covered: row.get::<_, Option<i64>>(2)?.zip(row.get(3)?),
                    upto: row.get(1)?,
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        }
        Units::Chunk {
            table,
            key,
            shift,
            grows,
        } => chunks_behind(connection, scope, (table, key), shift, grows),
        Units::Whole | Units::Running => {
            let query = "SELECT 1 FROM checksums WHERE scope = ?1 AND unit = 0";
            let found = connection
                .prepare_cached(query)?
                .query_row([scope as u8], |_| Ok(()))
                .optional()?;
            Ok(found.map_or(vec![whole(0)], |()| Vec::new()))
        }
    }
}

/// Rows of a table that have no checksum. Triggers drop checksums with their rows, so the numbers of both tell whether there are any.
fn rows_without(
    connection: &Connection,
    scope: Scope,
    table: &str,
    key: &str,
) -> Result<Vec<Behind>> {
    let query = format!(
        "SELECT (SELECT COUNT(*) FROM {table}) = (SELECT COUNT(*) FROM checksums WHERE scope = ?1)"
    );
    if connection
        .prepare_cached(&query)?
        .query_row([scope as u8], |row| row.get(0))?
    {
        return Ok(Vec::new());
    }
    let query = format!(
        "SELECT {key} FROM {table} WHERE NOT EXISTS (SELECT 1 FROM checksums WHERE scope = ?1 AND unit = {table}.{key})"
    );
    let mut statement = connection.prepare_cached(&query)?;
    let rows = statement.query_map([scope as u8], |row| {
        Ok(Behind {
            unit: row.get(0)?,
            covered: None,
            upto: None,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn chunks_behind(
    connection: &Connection,
    scope: Scope,
    (table, key): (&str, &str),
    shift: u32,
    grows: bool,
) -> Result<Vec<Behind>> {
    let query = format!("SELECT MAX({key}) FROM {table}");
    let last: Option<i64> = connection
        .prepare_cached(&query)?
        .query_row([], |row| row.get(0))?;
    let Some(last) = last else {
        return Ok(Vec::new());
    };
    let mut statement = connection
        .prepare_cached("SELECT unit, upto, sum FROM checksums WHERE scope = ?1 ORDER BY unit")?;
    let mut rows = statement.query([scope as u8])?;
    let mut known = std::collections::HashMap::new();
    while let Some(row) = rows.next()? {
        let covered = row.get::<_, Option<i64>>(1)?.zip(row.get(2)?);
        known.insert(row.get::<_, i64>(0)?, covered);
    }
    let mut behind = Vec::new();
    for unit in 0..=last >> shift {
        let end = ((unit + 1) << shift) - 1;
        let upto = if grows { end.min(last) } else { end };
        match known.get(&unit) {
            Some(Some((covered, _))) if *covered >= upto => {}
            covered => behind.push(Behind {
                unit,
                covered: covered.copied().flatten(),
                upto: Some(upto),
            }),
        }
    }
    Ok(behind)
}
