//! Recognising what was captured when the agent's log tells it: one event, not two.

use std::collections::HashMap;

use backstory_event::{Event, EventKey, Kind, Seq, SessionId, TimeMs, TurnNo};
use rusqlite::{Connection, OptionalExtension};

use super::{ItemKind, ItemState, Queue};
use crate::error::Result;

/// How far the clocks of a log and of a hook may be apart for the same thing.
pub const SAME_TIME_MS: i64 = 10_000;

/// What was captured of a session and has not been told by its log.
#[derive(Debug, Default)]
pub(crate) struct Untold {
    named: HashMap<i64, Vec<i64>>,
    prompts: Vec<(i64, TimeMs)>,
}

impl Untold {
    pub(crate) fn load(connection: &Connection, session: SessionId) -> Result<Self> {
        let mut untold = Untold::default();
        let mut statement = connection.prepare_cached(
            "SELECT id, name, kind, at FROM queue WHERE session = ?1 AND body IS NOT NULL ORDER BY id DESC",
        )?;
        let mut rows = statement.query([session])?;
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            // Values of a damaged row may have any type: whoever shows it names it.
            let number = |column| {
                row.get_ref(column)
                    .ok()
                    .and_then(|value| value.as_i64().ok())
            };
            if let Some(name) = number(1) {
                untold.named.entry(name).or_default().push(id);
            }
            if row.get(2) == Ok(ItemKind::Prompt)
                && let Some(at) = number(3)
            {
                untold.prompts.push((id, at.into()));
            }
        }
        Ok(untold)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.prompts.is_empty()
    }

    /// The log tells an event: if it was captured, it is the same. Of a tool use `seq` is that of the call.
    pub(crate) fn told(&mut self, connection: &Connection, event: &Event, seq: Seq) -> Result<()> {
        let Some(name) = name_of(event) else {
            return Ok(());
        };
        // The oldest is last.
        let mut item = self.named.get_mut(&name.0).and_then(Vec::pop);
        if item.is_none() && event.kind == Kind::Prompt {
            // Agents write some prompts down in other words: a command with what it stands for.
            let near = |(_, at): &(i64, TimeMs)| {
                event
                    .at
                    .is_some_and(|told| told.since(*at).saturating_abs() <= SAME_TIME_MS)
            };
            item = self
                .prompts
                .iter()
                .rfind(|prompt| near(prompt))
                .map(|(id, _)| *id);
        }
        let Some(item) = item else { return Ok(()) };
        self.prompts.retain(|(id, _)| *id != item);
        let update = "UPDATE queue SET state = ?3, seq = ?2, body = NULL, sum = NULL, last_error = NULL WHERE id = ?1";
        connection
            .prepare_cached(update)?
            .execute((item, seq, ItemState::Done))?;
        Ok(())
    }
}

/// What a log calls an event, hashed as [`EventKey::of`] the kind and the words.
fn name_of(event: &Event) -> Option<EventKey> {
    match event.kind {
        Kind::Prompt => Some(said("prompt", &event.body.text)),
        Kind::Reply => Some(said("reply", &event.body.text)),
        // A tool that takes long is called in the log before its hook runs, and answers after it.
        Kind::ToolCall | Kind::ToolResult => event
            .body
            .identity
            .tool_use_id
            .as_deref()
            .map(|call| said("call", call)),
        _ => None,
    }
}

fn said(kind: &str, words: &str) -> EventKey {
    EventKey::of(&[kind.as_bytes(), words.trim().as_bytes()])
}

impl ItemKind {
    /// What a log calls such an item: a tool use by its id, everything else by its words.
    pub fn named(self, words: &str) -> Option<EventKey> {
        match self {
            ItemKind::Prompt => Some(said("prompt", words)),
            ItemKind::Reply => Some(said("reply", words)),
            ItemKind::ToolUse => Some(said("call", words)),
            ItemKind::Summary => None,
        }
    }
}

/// An event of a log, as an item would tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldEvent {
    /// Its number within the session; of a tool use, that of the call.
    pub seq: Seq,
    /// What an item of it would be.
    pub kind: ItemKind,
    /// When.
    pub at: TimeMs,
    /// The tool, if it is known.
    pub tool: Option<String>,
}

impl Queue<'_> {
    /// Events of a session's log between two times that no item turned out to be yet. A call stands for itself and its result, with
    /// the time of the result.
    pub fn unclaimed_events(
        &self,
        session: SessionId,
        from: TimeMs,
        to: TimeMs,
    ) -> Result<Vec<ToldEvent>> {
        let mut statement = self.store.connection.prepare_cached(
            "SELECT COALESCE(events.call, events.seq), events.kind, events.at, names.name FROM events \
             LEFT JOIN events AS called ON called.session = events.session AND called.seq = events.call \
             LEFT JOIN names ON names.id = COALESCE(called.tool, events.tool) \
             WHERE events.session = ?1 AND events.kind IN (?4, ?5, ?6) AND events.at BETWEEN ?2 AND ?3 \
             AND NOT EXISTS (SELECT 1 FROM queue WHERE queue.session = ?1 AND queue.seq = COALESCE(events.call, events.seq))",
        )?;
        let (asked, said, answered) = (Kind::Prompt, Kind::Reply, Kind::ToolResult);
        let rows = statement.query_map((session, from, to, asked, said, answered), |row| {
            Ok(ToldEvent {
                seq: row.get(0)?,
                kind: match row.get(1)? {
                    Kind::Prompt => ItemKind::Prompt,
                    Kind::Reply => ItemKind::Reply,
                    _ => ItemKind::ToolUse,
                },
                at: row.get(2)?,
                tool: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the sessions of which something was captured that their logs have not told.
    pub fn captured_sessions(&self) -> Result<Vec<SessionId>> {
        let query = "SELECT id FROM sessions WHERE id IN (SELECT session FROM queue WHERE body IS NOT NULL)";
        let mut statement = self.store.connection.prepare_cached(query)?;
        let rows = statement.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the last event and the last turn of a session's log; `None` when nothing was captured that it has not told.
    pub fn log_end_before_captures(&self, session: SessionId) -> Result<Option<(Seq, TurnNo)>> {
        let query = "SELECT events, turns FROM sessions WHERE id = ?1 AND id IN (SELECT session FROM queue WHERE session = ?1 AND body IS NOT NULL)";
        let mut statement = self.store.connection.prepare_cached(query)?;
        let end = statement.query_row([session], |row| Ok((row.get(0)?, row.get(1)?)));
        Ok(end.optional()?)
    }

    /// Whether the log has not told of an item yet.
    pub fn is_untold(&self, item: i64) -> Result<bool> {
        let query = "SELECT EXISTS (SELECT 1 FROM queue WHERE id = ?1 AND body IS NOT NULL)";
        let mut statement = self.store.connection.prepare_cached(query)?;
        Ok(statement.query_row([item], |row| row.get(0))?)
    }

    /// When the last event of a session's log was.
    pub fn last_told_at(&self, session: SessionId) -> Result<Option<TimeMs>> {
        let query = "SELECT MAX(at) FROM events WHERE session = ?1";
        let mut statement = self.store.connection.prepare_cached(query)?;
        Ok(statement.query_row([session], |row| row.get(0))?)
    }
}
