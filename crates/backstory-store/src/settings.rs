//! Values that the store keeps for itself, each with a checksum in its row.
//!
//! Two of them are keys that nothing can replace: with another `forget-key` forgotten sessions come back, with another `redaction-key`
//! the same secret gets a second marker. If one of those is damaged, whoever needs it fails. Any other value that is damaged counts as
//! missing, is named, and is removed by the next sweep.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use crate::checksums::{Damage, DamagedPiece, Scope, check_unit, drop_sum, hash_row};
use crate::error::{Error, Result};
use crate::open::Store;

/// The key that hashes of forgotten sessions are made with: without it nobody can tell whether a session was forgotten.
pub(crate) const FORGET_KEY: &str = "forget-key";

/// The key that markers of secrets are made with.
const REDACTION_KEY: &str = "redaction-key";

/// Values that cannot be made anew without losing something.
const KEYS: [&str; 2] = [FORGET_KEY, REDACTION_KEY];

/// Whether a setting is one that cannot be made anew.
pub(crate) fn is_key(name: &str) -> bool {
    KEYS.contains(&name)
}

impl Store {
    /// Returns a value, made by `make` when it is not there yet.
    pub fn setting(&self, name: &str, make: impl FnOnce() -> Vec<u8>) -> Result<Vec<u8>> {
        if let Some(value) = self.kept(name)? {
            return Ok(value);
        }
        if is_key(name)
            && let Some(damaged) = damaged_settings(&self.connection)?.first()
        {
            // Its name may be what is damaged.
            return Err(setting_damage(damaged).into());
        }
        let value = make();
        let sum = sum_setting(name, &value);
        // A value that is there is another process's, which was first; unless it is damaged.
        self.connection.execute(
            "INSERT INTO settings (name, value, sum) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO NOTHING",
            (name, &value, sum),
        )?;
        drop_sum(&self.connection, Scope::Settings, 0)?;
        match self.kept(name)? {
            Some(value) => Ok(value),
            None => {
                self.keep(name, &value)?;
                Ok(value)
            }
        }
    }

    /// Returns a value, if it is there and sound.
    pub fn kept(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match read_setting(&self.connection, name) {
            Err(Error::DamagedPiece(damage)) if !is_key(name) => {
                self.meet_damage([*damage]);
                Ok(None)
            }
            read => read,
        }
    }

    /// Keeps a value.
    pub fn keep(&self, name: &str, value: &[u8]) -> Result<()> {
        keep(&self.connection, name, value)
    }

    /// Removes a value.
    pub fn remove_setting(&self, name: &str) -> Result<()> {
        let delete = "DELETE FROM settings WHERE name = ?1";
        self.connection.execute(delete, [name])?;
        drop_sum(&self.connection, Scope::Settings, 0)
    }

    /// Returns whether there is a value, sound or not.
    pub(crate) fn has_setting(&self, name: &str) -> Result<bool> {
        let query = "SELECT EXISTS (SELECT 1 FROM settings WHERE name = ?1)";
        let mut statement = self.connection.prepare_cached(query)?;
        Ok(statement.query_row([name], |row| row.get(0))?)
    }

    /// Removes damaged values that can be made anew, and takes note of their damage. An error when a key or the list of forgotten
    /// sessions is damaged: a sweep would bring back what was forgotten.
    pub fn repair_settings(&self) -> Result<()> {
        let damaged = damaged_settings(&self.connection)?;
        let is_lost = |name: &str| -> Result<bool> {
            Ok(damaged.iter().any(|damaged| damaged == name) || !self.has_setting(name)?)
        };
        let has_forgotten = self.has_forgotten_any()?;
        if has_forgotten && is_lost(FORGET_KEY)? {
            return Err(setting_damage(FORGET_KEY).into());
        }
        if !damaged.is_empty() && is_lost(REDACTION_KEY)? {
            return Err(setting_damage(REDACTION_KEY).into());
        }
        if has_forgotten {
            check_unit(&self.connection, Scope::Forgotten, 0)?;
        }
        for name in damaged {
            self.meet_damage([setting_damage(&name)]);
            self.remove_setting(&name)?;
        }
        Ok(())
    }

    /// Replaces keys that are damaged or lost. When that is the key of forgotten sessions, or their list is damaged, nothing is known of
    /// forgotten sessions any more. Returns the names of what was damaged.
    pub fn renew_keys(&self) -> Result<Vec<String>> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        let mut damaged = damaged_settings(&transaction)?;
        for name in &damaged {
            transaction.execute("DELETE FROM settings WHERE name = ?1", [name])?;
        }
        let is_unknown = "SELECT EXISTS (SELECT 1 FROM forgotten) AND NOT EXISTS (SELECT 1 FROM settings WHERE name = ?1)";
        let is_list_damaged = match check_unit(&transaction, Scope::Forgotten, 0) {
            Err(Error::DamagedPiece(_)) => {
                damaged.push(Scope::Forgotten.name().to_string());
                true
            }
            checked => checked.map(|()| false)?,
        };
        if is_list_damaged || transaction.query_row(is_unknown, [FORGET_KEY], |row| row.get(0))? {
            if damaged.is_empty() {
                damaged.push(FORGET_KEY.to_string());
            }
            transaction.execute("DELETE FROM settings WHERE name = ?1", [FORGET_KEY])?;
            transaction.execute("DELETE FROM forgotten", [])?;
            drop_sum(&transaction, Scope::Forgotten, 0)?;
        }
        drop_sum(&transaction, Scope::Settings, 0)?;
        transaction.commit()?;
        Ok(damaged)
    }
}

/// Returns a value, if it is there; an error when it is damaged.
pub(crate) fn read_setting(connection: &Connection, name: &str) -> Result<Option<Vec<u8>>> {
    let query = "SELECT value, sum FROM settings WHERE name = ?1";
    let mut statement = connection.prepare_cached(query)?;
    let found = statement
        .query_row([name], |row| {
            let (value, sum) = (row.get_ref(0)?, row.get_ref(1)?);
            let value = value.as_bytes().map(<[u8]>::to_vec);
            Ok(value.ok().filter(|value| is_sound(name, value, sum)))
        })
        .optional()?;
    match found {
        Some(None) => Err(setting_damage(name).into()),
        Some(value) => Ok(value),
        None => Ok(None),
    }
}

/// Keeps a value, within a transaction if need be.
pub(crate) fn keep(connection: &Connection, name: &str, value: &[u8]) -> Result<()> {
    connection.execute(
        "INSERT INTO settings (name, value, sum) VALUES (?1, ?2, ?3) \
         ON CONFLICT (name) DO UPDATE SET value = excluded.value, sum = excluded.sum",
        (name, value, sum_setting(name, value)),
    )?;
    drop_sum(connection, Scope::Settings, 0)
}

/// Adds checksums to values from before there were any, unless the table is known to be damaged.
pub(crate) fn add_setting_sums(connection: &Connection) -> Result<()> {
    let query = "SELECT name, value FROM settings WHERE sum IS NULL";
    let unsummed: Vec<(String, Vec<u8>)> = connection
        .prepare_cached(query)?
        .query_map([], |row| row.try_into())?
        .collect::<rusqlite::Result<_>>()?;
    if unsummed.is_empty() || check_unit(connection, Scope::Settings, 0).is_err() {
        return Ok(());
    }
    for (name, value) in unsummed {
        connection
            .prepare_cached("UPDATE settings SET sum = ?2 WHERE name = ?1")?
            .execute((&name, sum_setting(&name, &value)))?;
    }
    Ok(())
}

/// Names of the values that do not match their checksum.
pub(crate) fn damaged_settings(connection: &Connection) -> Result<Vec<String>> {
    let mut statement = connection.prepare_cached("SELECT name, value, sum FROM settings")?;
    let mut rows = statement.query([])?;
    let mut damaged = Vec::new();
    while let Some(row) = rows.next()? {
        let name = row.get_ref(0)?.as_bytes().unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        let value = row.get_ref(1)?.as_bytes().unwrap_or_default();
        if !is_sound(&name, value, row.get_ref(2)?) {
            damaged.push(name);
        }
    }
    Ok(damaged)
}

pub(crate) fn setting_damage(name: &str) -> Damage {
    Damage {
        piece: DamagedPiece::Setting(name.to_string()),
        path: None,
    }
}

fn is_sound(name: &str, value: &[u8], sum: ValueRef<'_>) -> bool {
    match sum {
        ValueRef::Null => true,
        ValueRef::Integer(sum) => sum == sum_setting(name, value),
        _ => false,
    }
}

fn sum_setting(name: &str, value: &[u8]) -> i64 {
    hash_row(&[ValueRef::Text(name.as_bytes()), ValueRef::Blob(value)])
}
