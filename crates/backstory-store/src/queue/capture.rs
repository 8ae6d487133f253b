//! Taking in what a hook was told. This is what an agent waits for.

use backstory_event::{EventKey, SessionId, TimeMs};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::{ItemContent, ItemKind, ItemState, Queue};
use crate::checksums::{Scope, drop_sum};
use crate::error::{Error, Result};
use crate::forget::Forgotten;
use crate::ingest::{Project, TitleRank, project_row, title_line, without_nul};

/// When a session was last heard of is kept to the minute.
const TELL_AGAIN_MS: i64 = 60_000;

/// What a hook tells of a session.
#[derive(Debug, Clone, Default)]
pub struct ToldSession<'a> {
    /// The agent.
    pub agent: &'a str,
    /// The agent's own id of it.
    pub session: &'a str,
    /// When.
    pub at: TimeMs,
    /// The folder it works in.
    pub cwd: Option<&'a str>,
    /// Its log.
    pub transcript: Option<&'a str>,
    /// What it may be recognised by: its first prompt.
    pub title: Option<&'a str>,
    /// Whether it ended.
    pub closed: bool,
}

/// Something new for the queue.
#[derive(Debug, Clone)]
pub struct NewItem<'a> {
    /// What it is.
    pub kind: ItemKind,
    /// The content id.
    pub key: EventKey,
    /// What the log calls it, hashed.
    pub name: Option<EventKey>,
    /// Of a tool use, the agent's id of the call.
    pub call: Option<&'a str>,
    /// When it was captured.
    pub at: TimeMs,
    /// What was captured.
    pub body: &'a [u8],
}

/// What became of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Captured {
    /// It is stored, or was before; the session's row, if one was told.
    Stored(Option<SessionId>),
    /// The session was forgotten: nothing of it is kept.
    Forgotten,
}

impl Queue<'_> {
    /// Takes in what a hook was told, in one transaction. `project` is asked only when the session's is not known yet.
    pub fn capture(
        &self,
        told: Option<&ToldSession<'_>>,
        items: &[NewItem<'_>],
        project: impl FnOnce(&str) -> Project,
    ) -> Result<Captured> {
        let mut bodies = Vec::new();
        for item in items {
            // Small things are packed at once: making ready for a block would take longer.
            let body = zstd::bulk::compress(item.body, 1).map_err(Error::Compression)?;
            bodies.push(body);
        }
        let transaction =
            Transaction::new_unchecked(&self.store.connection, TransactionBehavior::Immediate)?;
        let session = match told {
            Some(told) => {
                if let Some(forgotten) = Forgotten::load(&transaction)?
                    && forgotten.has_session(&transaction, told.agent, told.session)?
                {
                    return Ok(Captured::Forgotten);
                }
                let session = told.save(&transaction, project)?;
                // Hooks have no triggers: see `Store::open_within`.
                drop_sum(&transaction, Scope::Sessions, session.into())?;
                Some(session)
            }
            None => None,
        };
        for (item, body) in items.iter().zip(&bodies) {
            if item.kind == ItemKind::Summary {
                let known = transaction
                    .prepare_cached("SELECT id FROM queue WHERE key = ?1")?
                    .query_row([item.key], |row| row.get(0))
                    .optional()?;
                if let Some(known) = known {
                    drop_sum(&transaction, Scope::Queue, known)?;
                }
            }
            // A summary is asked for again and again; everything else happens once.
            let body = (item.kind != ItemKind::Summary).then_some(body.as_slice());
            // A call may have been told already, while its tool ran.
            let seq = match (session, item.call) {
                (Some(session), Some(call)) => transaction
                    .prepare_cached("SELECT seq FROM open_calls WHERE session = ?1 AND call = ?2")?
                    .query_row((session, call), |row| row.get(0))
                    .optional()?,
                _ => None,
            };
            let content = ItemContent {
                key: item.key.0,
                kind: i64::from(item.kind as u8),
                session: session.map(i64::from),
                at: item.at.into(),
                name: item.name.map(|name| name.0),
                seq,
                body,
            };
            let insert = "INSERT INTO queue (key, kind, session, at, name, body, seq, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
                 ON CONFLICT (key) DO UPDATE SET state = ?9, session = excluded.session, at = excluded.at, sum = excluded.sum, \
                 attempts = 0, not_before = 0 WHERE kind = ?10";
            transaction.prepare_cached(insert)?.execute((
                content.key,
                content.kind,
                content.session,
                content.at,
                content.name,
                content.body,
                content.seq,
                content.sum(),
                ItemState::Pending,
                ItemKind::Summary,
            ))?;
        }
        transaction.commit()?;
        Ok(Captured::Stored(session))
    }

    /// The agent of a session, and the log that hooks named.
    pub fn told_transcript(&self, session: SessionId) -> Result<Option<(String, Option<String>)>> {
        let query = "SELECT agent, transcript FROM sessions WHERE id = ?1";
        let mut statement = self.store.connection.prepare_cached(query)?;
        let row = statement.query_row([session], |row| Ok((row.get(0)?, row.get(1)?)));
        Ok(row.optional()?)
    }
}

impl Queue<'_> {
    /// Logs that hooks named, of sessions that have items in the queue, the newest first.
    pub fn told_transcripts(&self, limit: usize) -> Result<Vec<String>> {
        let mut statement = self.store.connection.prepare_cached(
            "SELECT DISTINCT transcript FROM sessions WHERE transcript IS NOT NULL \
             AND id IN (SELECT session FROM queue) ORDER BY captured_at DESC LIMIT ?1",
        )?;
        let rows = statement.query_map([limit], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

impl ToldSession<'_> {
    fn save(
        &self,
        connection: &Connection,
        project: impl FnOnce(&str) -> Project,
    ) -> Result<SessionId> {
        let title = self.title.and_then(title_line);
        let query = "SELECT id, project IS NULL, title IS NULL, transcript IS NOT ?3, closed_at IS NOT NULL, captured_at \
             FROM sessions WHERE agent = ?1 AND session = ?2";
        let name = without_nul(self.session);
        type Known = (SessionId, bool, bool, bool, bool, Option<TimeMs>);
        let known: Option<Known> = connection
            .prepare_cached(query)?
            .query_row((self.agent, &name, self.transcript), |row| row.try_into())
            .optional()?;
        let (id, no_project, no_title, other_transcript, was_closed, captured_at) = match known {
            Some(known) => known,
            None => {
                connection
                    .prepare_cached("INSERT INTO sessions (agent, session) VALUES (?1, ?2)")?
                    .execute((self.agent, &name))?;
                (
                    SessionId::last_inserted(connection)?,
                    true,
                    true,
                    true,
                    false,
                    None,
                )
            }
        };
        // Every page that is written makes the next process that opens the store wait.
        if captured_at
            .is_none_or(|at| self.at.since(at).saturating_abs() >= TELL_AGAIN_MS || self.closed)
        {
            connection
                .prepare_cached(
                    "UPDATE sessions SET captured_at = MAX(COALESCE(captured_at, ?2), ?2), \
                     started_at = MIN(COALESCE(started_at, ?2), ?2), ended_at = MAX(COALESCE(ended_at, ?2), ?2) WHERE id = ?1",
                )?
                .execute((id, self.at))?;
        }
        if let Some(cwd) = self.cwd.filter(|_| no_project) {
            let project = project_row(connection, &project(cwd))?;
            connection
                .prepare_cached(
                    "UPDATE sessions SET project = ?2, cwd = COALESCE(cwd, ?3) WHERE id = ?1",
                )?
                .execute((id, project, without_nul(cwd)))?;
        }
        if let Some(title) = title.filter(|_| no_title) {
            connection
                .prepare_cached("UPDATE sessions SET title = ?2, title_rank = ?3 WHERE id = ?1")?
                .execute((id, without_nul(&title), TitleRank::Prompt))?;
        }
        // What a tool of a subagent tells names the log of the session; only its end names its own.
        if let Some(transcript) = self.transcript.filter(|_| other_transcript) {
            connection
                .prepare_cached("UPDATE sessions SET transcript = ?2 WHERE id = ?1")?
                .execute((id, without_nul(transcript)))?;
        }
        if self.closed != was_closed {
            connection
                .prepare_cached("UPDATE sessions SET closed_at = ?2 WHERE id = ?1")?
                .execute((id, self.closed.then_some(self.at)))?;
        }
        Ok(id)
    }
}
