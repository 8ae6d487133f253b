//! What the machinery did, and how long it took.

use rusqlite::{Transaction, TransactionBehavior};

use crate::error::Result;
use crate::open::Store;

/// Something that was done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoggedEvent {
    /// When.
    pub at: i64,
    /// What, as `hook.capture`.
    pub name: String,
    /// For which agent.
    pub agent: Option<String>,
    /// How long it took.
    pub duration_us: Option<u64>,
    /// How many tokens it used or gave.
    pub tokens: Option<u64>,
    /// Everything else: JSON.
    pub detail: Option<String>,
}

/// When something was last done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedRun {
    /// What.
    pub name: String,
    /// For which agent.
    pub agent: Option<String>,
    /// What of it: the event that a hook was called for.
    pub event: Option<String>,
    /// When it was last done.
    pub last_at: i64,
    /// How often, as far back as is known.
    pub count: u64,
}

impl Store {
    /// Keeps what was done, together with how far the log files have been taken over.
    pub fn log_events(&mut self, events: &[LoggedEvent], cursor: (&str, &[u8])) -> Result<()> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        let insert = "INSERT INTO event_log (at, name, agent, duration_us, tokens, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        for event in events {
            transaction.prepare_cached(insert)?.execute((
                event.at,
                &event.name,
                &event.agent,
                event.duration_us,
                event.tokens,
                &event.detail,
            ))?;
        }
        crate::settings::keep(&transaction, cursor.0, cursor.1)?;
        Ok(transaction.commit()?)
    }

    /// When each thing was last done.
    pub fn logged_runs(&self) -> Result<Vec<LoggedRun>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT name, agent, detail ->> '$.event' AS event, MAX(at), COUNT(*) FROM event_log GROUP BY name, agent, event ORDER BY name, agent, event",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(LoggedRun {
                name: row.get(0)?,
                agent: row.get(1)?,
                event: row.get(2)?,
                last_at: row.get(3)?,
                count: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Forgets what was done before `at`.
    pub fn prune_log(&self, at: i64) -> Result<usize> {
        let delete = "DELETE FROM event_log WHERE at < ?1";
        Ok(self.connection.execute(delete, [at])?)
    }
}
