//! Checksums of what is stored: no damaged byte is given back as if it were sound.
//!
//! The table `checksums` has a checksum for every row or group of rows. Triggers of the connection drop it when a row changes, in the same transaction,
//! so that a checksum that is there must fit; sweeps add what is missing (`update`). Blocks get theirs when they are written, and it is
//! compared before they are decompressed; `verify` compares all others. A sum of row hashes does not depend on the order of rows, so rows
//! that are only ever added are summed once.

pub(crate) mod damage;
mod scope;
mod update;
mod verify;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use twox_hash::XxHash3_64;

pub use self::damage::{Damage, DamagedPiece};
use self::scope::Part;
pub(crate) use self::scope::Scope;
pub use self::verify::{AnswerRows, Verification};
use crate::error::Result;
use crate::open::Store;

/// Statements that make a connection drop checksums when rows change.
const TRIGGERS: &str = include_str!("triggers.sql");

impl Store {
    /// Has this connection drop the checksum of every row that it changes. Opening a store to write does this; it is a separate step
    /// because a hook that only captures has no time for it.
    pub fn install_triggers(&self) -> Result<()> {
        let transaction = self.connection.unchecked_transaction()?;
        transaction.execute_batch(TRIGGERS)?;
        Ok(transaction.commit()?)
    }
}

/// Longer values are hashed on their own rather than copied.
const MAX_COPIED_BYTES: usize = 1024;

/// Hashes the values of one row, each with its type and length. The buffer is used again for the next row.
pub(crate) struct RowHasher {
    bytes: Vec<u8>,
}

impl RowHasher {
    pub(crate) fn new() -> Self {
        RowHasher { bytes: Vec::new() }
    }

    pub(crate) fn add(&mut self, value: ValueRef<'_>) {
        let (kind, bytes): (u8, &[u8]) = match value {
            ValueRef::Null => (0, &[]),
            ValueRef::Integer(number) => {
                self.bytes.push(1);
                self.bytes.extend_from_slice(&number.to_le_bytes());
                return;
            }
            ValueRef::Real(number) => {
                self.bytes.push(2);
                self.bytes.extend_from_slice(&number.to_le_bytes());
                return;
            }
            ValueRef::Text(text) => (3, text),
            ValueRef::Blob(blob) => (4, blob),
        };
        self.bytes.push(kind);
        self.bytes
            .extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        if bytes.len() > MAX_COPIED_BYTES {
            let hash = XxHash3_64::oneshot(bytes);
            self.bytes.extend_from_slice(&hash.to_le_bytes());
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// The hash of the values added since the last call.
    pub(crate) fn finish(&mut self, part: u64) -> i64 {
        let hash = XxHash3_64::oneshot_with_seed(part, &self.bytes);
        self.bytes.clear();
        hash as i64
    }
}

/// Hashes one row of a scope that has one part.
pub(crate) fn hash_row(values: &[ValueRef<'_>]) -> i64 {
    let mut hasher = RowHasher::new();
    for value in values {
        hasher.add(*value);
    }
    hasher.finish(0)
}

/// Hashes one row of numbers.
pub(crate) fn hash_numbers(numbers: &[i64]) -> i64 {
    let mut hasher = RowHasher::new();
    for number in numbers {
        hasher.add(ValueRef::Integer(*number));
    }
    hasher.finish(0)
}

/// Stores the checksum of a unit.
pub(crate) fn store_sum(
    connection: &Connection,
    scope: Scope,
    unit: i64,
    upto: Option<i64>,
    sum: i64,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO checksums (scope, unit, upto, sum) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute((scope as u8, unit, upto, sum))?;
    Ok(())
}

/// The checksum of a unit, and up to which number it covers rows.
pub(crate) fn stored_sum(
    connection: &Connection,
    scope: Scope,
    unit: i64,
) -> Result<Option<(i64, Option<i64>)>> {
    let query = "SELECT sum, upto FROM checksums WHERE scope = ?1 AND unit = ?2";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    Ok(connection
        .prepare_cached(query)?
        .query_row((scope as u8, unit), row)
        .optional()?)
}

/// Removes the checksum of a unit that is about to change, where no trigger does that.
pub(crate) fn drop_sum(connection: &Connection, scope: Scope, unit: i64) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM checksums WHERE scope = ?1 AND unit = ?2")?
        .execute((scope as u8, unit))?;
    Ok(())
}

/// Removes checksums that were made before all columns that they cover were there: a migration added some to these tables. Sweeps sum
/// such rows again.
pub(crate) fn drop_outdated_sums(
    connection: &Connection,
    before: &[(String, String)],
) -> Result<()> {
    let was_there = |table: &str, column: &str| {
        let mut known = before.iter();
        known.any(|(known_table, known)| known_table == table && known == column)
    };
    for scope in Scope::ALL {
        let mut columns = scope.parts().iter().flat_map(Part::columns);
        if !columns.all(|(table, column)| was_there(table, column)) {
            connection.execute("DELETE FROM checksums WHERE scope = ?1", [scope as u8])?;
        }
    }
    Ok(())
}

/// Adds to the checksum of a whole table what was added to the table.
pub(crate) fn add_to_sum(connection: &Connection, scope: Scope, added: i64) -> Result<()> {
    if added != 0
        && let Some((sum, _)) = stored_sum(connection, scope, 0)?
    {
        store_sum(connection, scope, 0, None, sum.wrapping_add(added))?;
    }
    Ok(())
}

/// Begins a view of one moment, unless a transaction is open already.
pub(crate) fn one_view(connection: &Connection) -> Result<Option<Transaction<'_>>> {
    let view = connection
        .is_autocommit()
        .then(|| Transaction::new_unchecked(connection, TransactionBehavior::Deferred));
    Ok(view.transpose()?)
}

/// Checks a unit before a blob of it is decompressed. One that has no checksum yet passes.
pub(crate) fn check_unit(connection: &Connection, scope: Scope, unit: i64) -> Result<()> {
    // Rows and checksum of one moment: another process may change both.
    let _view = one_view(connection)?;
    match stored_sum(connection, scope, unit)? {
        Some((sum, upto)) if update::sum_unit(connection, scope, unit, upto)?.sum != sum => {
            Err(damage::rows(connection, scope, unit)?.into())
        }
        _ => Ok(()),
    }
}
