//! What Backstory did, and how long it took: the rows behind the view `event_log`.

use backstory_event::TimeMs;
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior};

use crate::error::Result;
use crate::open::Store;

/// Row of the event log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoggedEvent {
    /// Time.
    pub at: TimeMs,
    /// The agent's own id of the session.
    pub session_id: Option<String>,
    /// Name of what happened, as `hook.capture`.
    pub event_type: String,
    /// The agent that it was done for.
    pub agent: Option<String>,
    /// Duration in microseconds.
    pub duration_us: Option<u64>,
    /// Tokens that went into a model.
    pub tokens_in: Option<u64>,
    /// Tokens that came out of a model, or were given to an agent.
    pub tokens_out: Option<u64>,
    /// Tokens that were injected into the session.
    pub tokens_injected: u64,
    /// Everything else: JSON.
    pub data: Option<String>,
}

/// How far the log files are stored: a setting, as it was read before, and as it is to be.
#[derive(Debug, Clone, Copy)]
pub struct LogCursor<'a> {
    /// Name of the setting.
    pub name: &'a str,
    /// Its value when the events were read.
    pub before: Option<&'a [u8]>,
    /// Its value behind them.
    pub after: &'a [u8],
}

/// When something was last done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedRun {
    /// Type of the events.
    pub event_type: String,
    /// For which agent.
    pub agent: Option<String>,
    /// What of it: the event that a hook was called for.
    pub event: Option<String>,
    /// When it was last done.
    pub last_at: TimeMs,
    /// How often, as far back as is known.
    pub count: u64,
}

impl Store {
    /// Stores events in one transaction, together with the cursor of the log files that they were read from. Returns false, and stores
    /// nothing, if another process has moved the cursor meanwhile.
    pub fn log_events(&self, events: &[LoggedEvent], cursor: &LogCursor<'_>) -> Result<bool> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        if self.kept(cursor.name)?.as_deref() != cursor.before {
            return Ok(false);
        }
        let insert = "INSERT INTO logged_events (at, session_id, event_type, agent, duration_us, tokens_in, tokens_out, data) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        for event in events {
            transaction.prepare_cached(insert)?.execute((
                event.at,
                &event.session_id,
                &event.event_type,
                &event.agent,
                event.duration_us,
                event.tokens_in,
                event.tokens_out,
                &event.data,
            ))?;
            if event.tokens_injected > 0 {
                let add = "UPDATE sessions SET tokens_injected = tokens_injected + ?3 WHERE agent = ?1 AND session = ?2";
                let row = (&event.agent, &event.session_id, event.tokens_injected);
                transaction.prepare_cached(add)?.execute(row)?;
            }
        }
        crate::settings::keep(&transaction, cursor.name, cursor.after)?;
        transaction.commit()?;
        Ok(true)
    }

    /// When each thing was last done.
    pub fn logged_runs(&self) -> Result<Vec<LoggedRun>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT event_type, agent, data ->> '$.event' AS event, MAX(at), COUNT(*) FROM logged_events \
             GROUP BY event_type, agent, event ORDER BY event_type, agent, event",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(LoggedRun {
                event_type: row.get(0)?,
                agent: row.get(1)?,
                event: row.get(2)?,
                last_at: row.get(3)?,
                count: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Time of the row that was logged first.
    pub fn first_logged_at(&self) -> Result<Option<TimeMs>> {
        let query = "SELECT at FROM logged_events ORDER BY id LIMIT 1";
        let first = self.connection.query_row(query, [], |row| row.get(0));
        Ok(first.optional()?)
    }

    /// Deletes events of before `at`.
    pub fn prune_log(&self, at: TimeMs) -> Result<usize> {
        let delete = "DELETE FROM logged_events WHERE at < ?1";
        Ok(self.connection.execute(delete, [at])?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    #[test]
    fn what_another_process_stored_is_not_stored_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut stores = [(); 2].map(|()| Store::open(folder.path()).unwrap());
        let event = LoggedEvent {
            event_type: "sweep.done".to_string(),
            ..LoggedEvent::default()
        };
        let cursor = LogCursor {
            name: "cursor",
            before: None,
            after: b"1",
        };
        let stored = stores.each_mut().map(|store| {
            store
                .log_events(std::slice::from_ref(&event), &cursor)
                .unwrap()
        });
        assert_eq!(stored, [true, false]);
        assert_eq!(stores[0].logged_runs().unwrap()[0].count, 1);
    }
}
