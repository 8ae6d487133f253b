//! What hooks captured, and what is to be done about it.
//!
//! An item is kept as it was captured until the agent's log tells the same: then it is that event, and its body goes. Whoever
//! works on items holds the lock of the queue, so an item that is being worked on while nobody has that lock was left behind.

mod capture;
mod told;

use backstory_event::{Seq, SessionId, TimeMs, UnknownNumber, impl_sql_enum};
use rusqlite::types::{FromSql, Value, ValueRef};
use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params_from_iter};
use serde::{Deserialize, Serialize};

pub use self::capture::{Captured, NewItem, ToldSession};
pub(crate) use self::told::Untold;
pub use self::told::{SAME_TIME_MS, ToldEvent};
use crate::blocks::decompress;
use crate::checksums::{Damage, Scope, check_unit, damage, hash_row};
use crate::error::{Error, Result};
use crate::open::Store;

/// An item that failed so often is left alone until somebody asks for it.
pub const MOST_ATTEMPTS: u32 = 6;

/// The same for one that was left behind so often by processes that died: most often they were killed for another reason.
const MOST_DEATHS: u32 = 20;

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// What a person asked.
    Prompt,
    /// A tool that was used, with what it gave back.
    ToolUse,
    /// What the model said last.
    Reply,
    /// A session whose log is to be read, and whose account is to be made.
    Summary,
}

impl ItemKind {
    const ALL: [ItemKind; 4] = [
        ItemKind::Prompt,
        ItemKind::ToolUse,
        ItemKind::Reply,
        ItemKind::Summary,
    ];

    /// The name used in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ItemKind::Prompt => "prompt",
            ItemKind::ToolUse => "tool_use",
            ItemKind::Reply => "reply",
            ItemKind::Summary => "summary",
        }
    }
}

impl_sql_enum!(ItemKind, "kind of captured event");

/// How far an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    /// To be done.
    Pending,
    /// Somebody is at it.
    Processing,
    /// Done: the log has told it.
    Done,
    /// Tried too often.
    Failed,
    /// Kept as it was captured, for no log tells of it.
    Raw,
}

impl ItemState {
    /// Every state, in the order of the numbers that stores keep.
    pub const ALL: [ItemState; 5] = [
        ItemState::Pending,
        ItemState::Processing,
        ItemState::Done,
        ItemState::Failed,
        ItemState::Raw,
    ];

    /// The name used in JSON and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ItemState::Pending => "pending",
            ItemState::Processing => "processing",
            ItemState::Done => "done",
            ItemState::Failed => "failed",
            ItemState::Raw => "raw",
        }
    }
}

impl_sql_enum!(ItemState, "state of a captured event");

// In statements as numbers: SQLite takes an index over some states only where it can see them.
const PENDING: u8 = ItemState::Pending as u8;
const PROCESSING: u8 = ItemState::Processing as u8;
const DONE: u8 = ItemState::Done as u8;
const FAILED: u8 = ItemState::Failed as u8;
const RAW: u8 = ItemState::Raw as u8;

/// An item of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its number.
    pub id: i64,
    /// What it is.
    pub kind: ItemKind,
    /// The session's row, if it was told.
    pub session: Option<SessionId>,
    /// When it was captured.
    pub at: TimeMs,
    /// How far it is.
    pub state: ItemState,
    /// How often it was tried.
    pub attempts: u32,
    /// What went wrong last.
    pub last_error: Option<String>,
    /// Not to be tried before this time.
    pub not_before: TimeMs,
    /// The event of the log that it turned out to be.
    pub seq: Option<Seq>,
    /// What was captured, unless the log has told it or it is damaged.
    pub body: Option<Vec<u8>>,
    /// What is damaged of it. Without a body, nothing else that is said of it can be relied on either.
    pub damage: Option<Box<Damage>>,
}

/// The part of an item that does not change while it has a body, and that its checksum is of.
struct ItemContent<'a> {
    key: i64,
    kind: i64,
    session: Option<i64>,
    at: i64,
    name: Option<i64>,
    seq: Option<i64>,
    body: Option<&'a [u8]>,
}

impl ItemContent<'_> {
    fn sum(&self) -> i64 {
        let optional = |number: Option<i64>| number.map_or(ValueRef::Null, ValueRef::Integer);
        hash_row(&[
            ValueRef::Integer(self.key),
            ValueRef::Integer(self.kind),
            optional(self.session),
            ValueRef::Integer(self.at),
            optional(self.name),
            optional(self.seq),
            self.body.map_or(ValueRef::Null, ValueRef::Blob),
        ])
    }
}

/// Which items to list, the newest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ItemFilter {
    /// In this state.
    pub state: Option<ItemState>,
    /// Of this session.
    pub session: Option<SessionId>,
    /// Only those whose body is there.
    pub untold: bool,
    /// At most so many; 0 is all.
    pub limit: usize,
}

const COLUMNS: &str =
    "id, kind, session, at, state, attempts, last_error, not_before, seq, body, key, name, sum";

/// The queue of what hooks captured, and of what is to be done about it.
pub struct Queue<'s> {
    store: &'s Store,
}

impl Store {
    /// Returns the queue.
    pub fn queue(&self) -> Queue<'_> {
        Queue { store: self }
    }
}

impl Queue<'_> {
    /// Items, the newest first.
    pub fn items(&self, filter: &ItemFilter) -> Result<Vec<Item>> {
        let mut conditions = vec!["1"];
        let mut values: Vec<Value> = Vec::new();
        if let Some(state) = filter.state {
            conditions.push("state = ?");
            values.push(i64::from(state as u8).into());
        }
        if let Some(session) = filter.session {
            conditions.push("session = ?");
            values.push(i64::from(session).into());
        }
        if filter.untold {
            conditions.push("body IS NOT NULL");
        }
        let limit = if filter.limit == 0 {
            -1
        } else {
            filter.limit as i64
        };
        values.push(limit.into());
        let mut statement = self.store.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM queue WHERE {} ORDER BY id DESC LIMIT ?",
            conditions.join(" AND ")
        ))?;
        let rows = statement.query_map(params_from_iter(values), read_item)?;
        self.unpack_items(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// How many items are in each state, in the order of [`ItemState::ALL`]. Those in unknown states are left out and named by
    /// [`Store::take_damage`].
    pub fn item_counts(&self) -> Result<[u64; 5]> {
        let mut counts = [0; 5];
        let mut statement = self
            .store
            .connection
            .prepare_cached("SELECT state, COUNT(*), MIN(id) FROM queue GROUP BY state")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            match row.get::<_, ItemState>(0) {
                Ok(state) => counts[state as usize] = row.get(1)?,
                Err(error) if UnknownNumber::is_cause_of(&error) => {
                    self.store
                        .meet_damage([damage::capture(&self.store.connection, row.get(2)?)?]);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(counts)
    }

    /// Whether there is something to do by `now`.
    pub fn has_work(&self, now: TimeMs) -> Result<bool> {
        let query = format!(
            "SELECT EXISTS (SELECT 1 FROM queue WHERE state IN ({PENDING}, {PROCESSING}) AND not_before <= ?1)"
        );
        let mut statement = self.store.connection.prepare_cached(&query)?;
        Ok(statement.query_row([now], |row| row.get(0))?)
    }

    /// Gives items back that a process which died was at. To be called with the lock of the queue, before the first are taken.
    pub fn reclaim_items(&self) -> Result<usize> {
        let update = format!(
            "UPDATE queue SET attempts = attempts + 1, state = IIF(attempts + 1 >= ?1, {FAILED}, {PENDING}), \
             last_error = 'whoever worked on it died' WHERE state = {PROCESSING}"
        );
        Ok(self.store.connection.execute(&update, [MOST_DEATHS])?)
    }

    /// Takes the oldest items that are to be done by `now`.
    pub fn take_items(&self, now: TimeMs, limit: usize) -> Result<Vec<Item>> {
        let transaction =
            Transaction::new_unchecked(&self.store.connection, TransactionBehavior::Immediate)?;
        let items = {
            let mut statement = transaction.prepare_cached(&format!(
                "UPDATE queue SET state = {PROCESSING} WHERE id IN \
                 (SELECT id FROM queue WHERE state = {PENDING} AND not_before <= ?1 ORDER BY not_before, id LIMIT ?2) RETURNING {COLUMNS}"
            ))?;
            let rows = statement.query_map((now, limit), read_item)?;
            rows.collect::<rusqlite::Result<Vec<StoredItem>>>()?
        };
        transaction.commit()?;
        let mut items = self.unpack_items(items)?;
        items.sort_by_key(|item| item.id);
        Ok(items)
    }

    /// Says what became of items that were taken. One that was asked for again meanwhile stays to be done.
    pub fn finish_items(&self, outcomes: &[(i64, ItemOutcome)]) -> Result<()> {
        let transaction =
            Transaction::new_unchecked(&self.store.connection, TransactionBehavior::Immediate)?;
        for (id, outcome) in outcomes {
            match outcome {
                ItemOutcome::Done(seq) => transaction
                    .prepare_cached(&format!("UPDATE queue SET state = {DONE}, seq = COALESCE(?2, seq), body = NULL, sum = NULL, last_error = NULL WHERE id = ?1 AND state IN ({PROCESSING}, {DONE})"))?
                    .execute((id, seq))?,
                ItemOutcome::Raw(reason) => transaction
                    .prepare_cached(&format!("UPDATE queue SET state = {RAW}, last_error = COALESCE(?2, last_error) WHERE id = ?1 AND state = {PROCESSING}"))?
                    .execute((id, reason))?,
                ItemOutcome::Later { not_before, error } => transaction
                    .prepare_cached(&format!("UPDATE queue SET attempts = attempts + 1, state = IIF(attempts + 1 >= ?4, {FAILED}, {PENDING}), not_before = ?2, last_error = ?3 WHERE id = ?1 AND state = {PROCESSING}"))?
                    .execute((id, not_before, error, MOST_ATTEMPTS))?,
            };
        }
        Ok(transaction.commit()?)
    }

    /// Lets items be tried again from the beginning: one, or all that failed. How many there were.
    pub fn retry_items(&self, id: Option<i64>) -> Result<usize> {
        let update = format!(
            "UPDATE queue SET state = {PENDING}, attempts = 0, not_before = 0 \
             WHERE IIF(?1 IS NULL, state = {FAILED}, id = ?1 AND state IN ({PENDING}, {FAILED}, {RAW}))"
        );
        Ok(self.store.connection.execute(&update, [id])?)
    }

    /// Forgets items that are done since before `at`.
    pub fn prune_items(&self, at: TimeMs) -> Result<usize> {
        let delete = "DELETE FROM queue WHERE state = ?1 AND at < ?2";
        Ok(self
            .store
            .connection
            .execute(delete, (ItemState::Done, at))?)
    }
}

/// What became of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemOutcome {
    /// It is done; the log tells it as this event.
    Done(Option<Seq>),
    /// No log tells of it, or it must not be read for this reason: it stays as it was captured.
    Raw(Option<String>),
    /// It is to be tried again, unless it was tried too often.
    Later {
        /// Not before this time.
        not_before: TimeMs,
        /// What went wrong.
        error: String,
    },
}

/// An item as it lies in the store, its body still compressed.
struct StoredItem {
    item: Item,
    /// Whether the content matches its checksum; `None` when it has none.
    is_sound: Option<bool>,
    /// Whether all values have the types that they were written with, and numbers stand for something.
    is_typed: bool,
}

/// Reads an item whatever its row is like: one damaged row must not hide all others.
fn read_item(row: &Row<'_>) -> rusqlite::Result<StoredItem> {
    let mut is_typed = true;
    let mut number = |column: usize| -> rusqlite::Result<Option<i64>> {
        let value = row.get_ref(column)?.as_i64_or_null();
        is_typed &= value.is_ok();
        Ok(value.ok().flatten())
    };
    let (kind, session, at) = (number(1)?, number(2)?, number(3)?);
    let (attempts, not_before, seq) = (number(5)?, number(7)?, number(8)?);
    let (key, name, sum) = (number(10)?, number(11)?, number(12)?);
    let body = row.get_ref(9)?.as_blob_or_null();
    let error = row.get_ref(6)?;
    is_typed &= body.is_ok() && error.as_str_or_null().is_ok();
    let body = body.ok().flatten();
    let content = ItemContent {
        key: key.unwrap_or_default(),
        kind: kind.unwrap_or_default(),
        session,
        at: at.unwrap_or_default(),
        name,
        seq,
        body,
    };
    let is_sound = match row.get_ref(12)? {
        ValueRef::Null => None,
        _ => Some(is_typed && sum == Some(content.sum())),
    };
    let (kind, state) = (
        ItemKind::column_result(row.get_ref(1)?),
        ItemState::column_result(row.get_ref(4)?),
    );
    let session_id = |row: i64| u32::try_from(row).ok().map(SessionId::from);
    is_typed &=
        kind.is_ok() && state.is_ok() && session.is_none_or(|row| session_id(row).is_some());
    let item = Item {
        id: row.get(0)?,
        kind: kind.unwrap_or(ItemKind::Summary),
        session: session.and_then(session_id),
        at: content.at.into(),
        state: state.unwrap_or(ItemState::Failed),
        attempts: attempts
            .and_then(|attempts| u32::try_from(attempts).ok())
            .unwrap_or_default(),
        last_error: (error != ValueRef::Null).then(|| damage::lossy_text(error)),
        not_before: not_before.unwrap_or_default().into(),
        seq: seq.and_then(|seq| u32::try_from(seq).ok()).map(Seq::new),
        body: body.map(<[u8]>::to_vec),
        damage: None,
    };
    Ok(StoredItem {
        item,
        is_sound,
        is_typed,
    })
}

impl Queue<'_> {
    /// Verifies and decompresses items. Damaged ones are named, in themselves and by [`Store::take_damage`].
    fn unpack_items(&self, stored: Vec<StoredItem>) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        for stored in stored {
            let mut item = stored.item;
            let is_row_sound = match check_unit(&self.store.connection, Scope::Queue, item.id) {
                Err(Error::DamagedPiece(_)) => false,
                checked => checked.map(|()| true)?,
            };
            let is_content_sound = stored.is_typed && stored.is_sound.unwrap_or(is_row_sound);
            let body = item.body.take().map(|body| decompress(&body));
            let is_readable = !matches!(body, Some(Err(_)));
            item.body = body.and_then(Result::ok).filter(|_| is_content_sound);
            if !is_row_sound || !is_content_sound || !is_readable {
                let damage = damage::capture(&self.store.connection, item.id)?;
                self.store.meet_damage([damage.clone()]);
                item.damage = Some(Box::new(damage));
            }
            items.push(item);
        }
        Ok(items)
    }

    /// Number of captured events, and those that do not match their checksum or cannot be read.
    pub fn damaged_captures(&self) -> Result<(u64, Vec<Damage>)> {
        let met = self.store.take_damage();
        let items = self.items(&ItemFilter::default())?;
        self.store.take_damage();
        self.store.meet_damage(met);
        let verified = items.len() as u64;
        let damage = items.into_iter().filter_map(|item| item.damage);
        Ok((verified, damage.map(|damage| *damage).collect()))
    }
}

/// Adds checksums to captured events from before hooks wrote them. Those that are damaged already get none.
pub(crate) fn add_item_sums(connection: &Connection) -> Result<()> {
    let query = "SELECT id, key, kind, session, at, name, seq, body FROM queue WHERE body IS NOT NULL AND sum IS NULL";
    let mut statement = connection.prepare_cached(query)?;
    let mut rows = statement.query([])?;
    let mut sums: Vec<(i64, i64)> = Vec::new();
    while let Some(row) = rows.next()? {
        let Ok(body) = row.get_ref(7)?.as_blob() else {
            continue;
        };
        type Numbers = (i64, i64, Option<i64>, i64, Option<i64>, Option<i64>);
        let numbers = || -> rusqlite::Result<Numbers> {
            Ok((
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
                row.get(5)?,
                row.get(6)?,
            ))
        };
        let Ok((key, kind, session, at, name, seq)) = numbers() else {
            continue;
        };
        let content = ItemContent {
            key,
            kind,
            session,
            at,
            name,
            seq,
            body: Some(body),
        };
        let id = row.get(0)?;
        if decompress(body).is_ok() && check_unit(connection, Scope::Queue, id).is_ok() {
            sums.push((id, content.sum()));
        }
    }
    for (id, sum) in sums {
        connection
            .prepare_cached("UPDATE queue SET sum = ?2 WHERE id = ?1")?
            .execute((id, sum))?;
    }
    Ok(())
}
