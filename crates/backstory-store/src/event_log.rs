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
    /// Everything else: JSON.
    pub data: Option<String>,
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
    /// Stores events in one transaction, together with the cursor of the log files that they were read from.
    pub fn log_events(&mut self, events: &[LoggedEvent], cursor: (&str, &[u8])) -> Result<()> {
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
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
            if event.event_type == "hook.context_inject" {
                let add = "UPDATE sessions SET tokens_injected = tokens_injected + ?3 WHERE agent = ?1 AND session = ?2";
                let tokens = event.tokens_out.unwrap_or(0);
                transaction.prepare_cached(add)?.execute((
                    &event.agent,
                    &event.session_id,
                    tokens,
                ))?;
            }
        }
        crate::settings::keep(&transaction, cursor.0, cursor.1)?;
        Ok(transaction.commit()?)
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
