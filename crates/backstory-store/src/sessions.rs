//! Listing sessions.

use std::collections::HashMap;

use backstory_event::{Seq, SessionId, SessionName, StreamId, TimeMs, Usage};
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Row, params_from_iter};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::lossy::LossyRow;
use crate::meta::MetaEquals;
use crate::open::Store;
use crate::queue::ItemKind;
use crate::usage::usage_from_row;

/// A session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    /// Its row.
    pub id: SessionId,
    /// The agent.
    pub agent: String,
    /// The agent's own id of it.
    pub session: String,
    /// What people recognise it by.
    pub title: Option<String>,
    /// The project's root.
    pub project: Option<String>,
    /// The folder it worked in.
    pub cwd: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
    /// When its first event was.
    pub started_at: Option<TimeMs>,
    /// When its last event was.
    pub ended_at: Option<TimeMs>,
    /// How many prompts.
    pub turns: u64,
    /// How many events.
    pub events: u64,
    /// The models that answered.
    pub models: Vec<String>,
    /// The tokens it used.
    pub usage: Usage,
    /// The session that it came from.
    pub parent: Option<String>,
    /// How: `subagent` or `fork`.
    pub parent_kind: Option<String>,
    /// The last event of the parent that its history goes on from.
    pub parent_seq: Option<Seq>,
    /// True for headless sessions.
    pub machine: bool,
    /// How it ended, as far as its digest tells.
    pub outcome: Option<String>,
    /// Whether it is never evicted.
    pub pinned: bool,
    /// Up to this event its text is gone; 0 when all of it is there.
    pub evicted: Seq,
    /// When it went.
    pub evicted_at: Option<TimeMs>,
    /// Prompts that hooks captured and its log has not told yet.
    pub live_turns: u64,
    /// Events that hooks captured and its log has not told yet.
    pub live_events: u64,
    /// When a hook last told of it.
    pub captured_at: Option<TimeMs>,
    /// When a hook told that it ended.
    pub closed_at: Option<TimeMs>,
    /// Version of the agent, the last one.
    pub agent_version: Option<String>,
    /// Permission mode, the last one, by the agent's own name.
    pub permission_mode: Option<String>,
    /// Size of the model's context window in tokens.
    pub context_window: Option<u64>,
    /// Tokens of the context that hooks gave to it.
    pub tokens_injected: u64,
    /// Whether a model has written a summary of it.
    pub summarized: bool,
    /// Tokens that models used to write about it.
    pub tokens_summarized: u64,
}

/// Which sessions to list. An empty filter lists all.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionFilter {
    /// Of this agent.
    pub agent: Option<String>,
    /// Of a project whose root is this folder or lies below it, or whose root or remote ends with this name.
    pub project: Option<String>,
    /// On this branch.
    pub branch: Option<String>,
    /// Active at or after this time.
    pub since: Option<TimeMs>,
    /// Begun at or before this time.
    pub until: Option<TimeMs>,
    /// Children of this session.
    pub parent: Option<String>,
    /// Without headless sessions.
    pub people_only: bool,
    /// With all of these values in the agent's own record of the session.
    pub meta_equals: Vec<MetaEquals>,
    /// At most so many, newest first; 0 is all.
    pub limit: usize,
}

/// What is needed to name a session, without counting what it used.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionHead {
    /// Its row.
    pub id: SessionId,
    /// The agent.
    pub agent: String,
    /// The agent's own id of it.
    pub session: String,
    /// What people recognise it by.
    pub title: Option<String>,
    /// The project's root.
    pub project: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
    /// When its first event was.
    pub started_at: Option<TimeMs>,
    /// When its last event was.
    pub ended_at: Option<TimeMs>,
    /// True for headless sessions.
    pub machine: bool,
    /// Up to this event its text is gone.
    pub evicted: Seq,
}

impl SessionRow {
    /// Returns its name.
    pub fn name(&self) -> SessionName {
        SessionName::new(self.agent.clone(), self.session.as_str())
    }
}

impl SessionHead {
    /// Returns its name.
    pub fn name(&self) -> SessionName {
        SessionName::new(self.agent.clone(), self.session.as_str())
    }
}

/// A stream of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamRow {
    /// Its row.
    pub id: StreamId,
    /// The source file.
    pub path: String,
    /// Which generation of the file.
    pub generation: u64,
    /// How many bytes.
    pub length: u64,
    /// How many secrets were taken out of it.
    pub redactions: u64,
}

/// A statement that selects what [`session_from_row`] reads.
pub(crate) fn select_sessions() -> String {
    let (prompt, tool_use) = (ItemKind::Prompt as u8, ItemKind::ToolUse as u8);
    format!(
        "SELECT sessions.id, agent, sessions.session, title, root, cwd, branch, started_at, ended_at, sessions.turns, sessions.events, \
     (SELECT json_group_array(name ORDER BY (SELECT seq FROM events WHERE events.session = sessions.id AND events.model = session_models.model \
        ORDER BY seq LIMIT 1) NULLS LAST, name) FROM session_models JOIN names ON names.id = session_models.model \
      WHERE session_models.session = sessions.id), \
     COALESCE(used.input, 0), COALESCE(used.output, 0), COALESCE(used.cache_read, 0), COALESCE(used.cache_write, 0), \
     COALESCE(used.reasoning, 0), COALESCE(used.cache_write_1h, 0), COALESCE(used.web_searches, 0), COALESCE(used.web_fetches, 0), parent, parent_kind, parent_seq, machine, outcome, pinned, evicted, evicted_at, \
     COALESCE(live.turns, 0), COALESCE(live.events, 0), captured_at, closed_at, agent_version, permission_mode, context_window, tokens_injected, \
     EXISTS (SELECT 1 FROM summaries WHERE summaries.session = sessions.id), \
     COALESCE((SELECT SUM(input_tokens + output_tokens) FROM compressions WHERE about = sessions.id), 0) \
     FROM sessions LEFT JOIN projects ON projects.id = sessions.project LEFT JOIN digests ON digests.session = sessions.id \
     LEFT JOIN (SELECT session AS id, SUM(input) AS input, SUM(output) AS output, SUM(cache_read) AS cache_read, \
       SUM(cache_write) AS cache_write, SUM(reasoning) AS reasoning, SUM(cache_write_1h) AS cache_write_1h, \
       SUM(web_searches) AS web_searches, SUM(web_fetches) AS web_fetches FROM usage GROUP BY session) AS used ON used.id = sessions.id \
     LEFT JOIN (SELECT session AS id, SUM(kind = {prompt}) AS turns, SUM(IIF(kind = {tool_use} AND seq IS NULL, 2, 1)) AS events FROM queue \
       WHERE body IS NOT NULL GROUP BY session) AS live ON live.id = sessions.id"
    )
}

impl SessionFilter {
    /// Whether all sessions pass.
    pub fn is_empty(&self) -> bool {
        let SessionFilter {
            agent,
            project,
            branch,
            since,
            until,
            parent,
            people_only,
            meta_equals,
            limit: _,
        } = self;
        [agent, project, branch, parent]
            .iter()
            .all(|part| part.is_none())
            && since.is_none()
            && until.is_none()
            && !people_only
            && meta_equals.is_empty()
    }

    /// The filter as SQL over `sessions` and `projects`, with its values. A session without an event of its own (a copy that
    /// never went on) does not pass.
    fn conditions(&self) -> (String, Vec<Value>) {
        let filter = self;
        let mut conditions = vec!["(sessions.events > 0 OR captured_at IS NOT NULL)".to_string()];
        let mut values: Vec<Value> = Vec::new();
        let mut add = |condition: &str, value: Value| {
            values.push(value);
            conditions.push(condition.replace('?', &format!("?{}", values.len())));
        };
        if let Some(agent) = &filter.agent {
            add("agent = ?", agent.clone().into());
        }
        if let Some(project) = &filter.project {
            let name = project.trim_end_matches('/');
            add(
                // Not LIKE: names have letters that are patterns to it, and long ones are too complex.
                "(root = ? OR substr(root, 1, length(?) + 1) = ? || '/' OR lower(substr(root, -length(?) - 1)) IN ('/' || lower(?), '\\' || lower(?)) \
                 OR lower(substr(remote, -length(?) - 1)) = '/' || lower(?))",
                name.to_string().into(),
            );
        }
        if let Some(branch) = &filter.branch {
            add("branch = ?", branch.clone().into());
        }
        if let Some(since) = filter.since {
            add("ended_at >= ?", i64::from(since).into());
        }
        if let Some(until) = filter.until {
            add("started_at <= ?", i64::from(until).into());
        }
        if let Some(parent) = &filter.parent {
            add("parent = ?", parent.clone().into());
        }
        for meta in &filter.meta_equals {
            // Compared as JSON, so that text, numbers, true and false can be named alike. The path has no quotes in it.
            let condition = format!(
                "EXISTS (SELECT 1 FROM session_meta WHERE session_meta.session = sessions.id \
                 AND json_valid(fields) AND (fields -> '{}') IN (?, json_quote(?)))",
                meta.json_path()
            );
            add(&condition, meta.value().to_string().into());
        }
        if filter.people_only {
            conditions.push("machine = 0".to_string());
        }
        (conditions.join(" AND "), values)
    }
}

impl Store {
    /// Sessions, those active last first. One of which only hooks told is among them once there was a prompt.
    pub fn sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionRow>> {
        let (conditions, values) = filter.conditions();
        let limit = if filter.limit == 0 {
            String::new()
        } else {
            format!(" LIMIT {}", filter.limit.min(i64::MAX as usize))
        };
        // Agents start sessions in which nobody ever asks anything; hooks hear of them, logs do not.
        let is_listed = "(sessions.events > 0 OR live.turns > 0)";
        let select = select_sessions();
        let query = format!(
            "{select} WHERE {conditions} AND {is_listed} ORDER BY ended_at DESC, sessions.session{limit}"
        );
        let mut statement = self.connection.prepare(&query)?;
        let rows = statement.query_map(params_from_iter(values), session_from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The rows of the sessions that pass a filter, those active last first.
    pub fn session_rows(&self, filter: &SessionFilter) -> Result<Vec<SessionId>> {
        let (conditions, values) = filter.conditions();
        let query = format!(
            "SELECT sessions.id FROM sessions LEFT JOIN projects ON projects.id = sessions.project WHERE {conditions} \
             ORDER BY ended_at DESC, session"
        );
        let mut statement = self.connection.prepare_cached(&query)?;
        let rows = statement.query_map(params_from_iter(values), |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// What names the sessions of these rows; those that are gone are left out.
    pub fn session_heads(
        &self,
        rows: impl IntoIterator<Item = SessionId>,
    ) -> Result<HashMap<SessionId, SessionHead>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT sessions.id, agent, session, title, root, branch, started_at, ended_at, machine, evicted FROM sessions \
             LEFT JOIN projects ON projects.id = sessions.project WHERE sessions.id = ?1",
        )?;
        let mut heads = HashMap::new();
        for id in rows {
            let head = |row: &Row<'_>| {
                Ok(SessionHead {
                    id: row.get(0)?,
                    agent: row.text(1)?,
                    session: row.text(2)?,
                    title: row.optional_text(3)?,
                    project: row.optional_text(4)?,
                    branch: row.optional_text(5)?,
                    started_at: row.get(6)?,
                    ended_at: row.get(7)?,
                    machine: row.get(8)?,
                    evicted: row.get(9)?,
                })
            };
            if let Some(head) = statement.query_row([id], head).optional()? {
                heads.insert(id, head);
            }
        }
        Ok(heads)
    }

    /// Returns the source files of all streams that hold something of a session.
    pub fn stream_paths(&self, session: SessionId) -> Result<HashMap<StreamId, String>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT streams.id, path FROM session_streams JOIN streams ON streams.id = session_streams.stream \
             JOIN source_files ON source_files.id = streams.source WHERE session_streams.session = ?1",
        )?;
        let rows = statement.query_map([session], |row| Ok((row.get(0)?, row.text(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the streams that say something of a session, in the order they were first read: of every file the newest generation, and
    /// older ones that still hold events of it. Each with the number of its bytes that are stored.
    pub fn log_streams(&self, session: SessionId) -> Result<Vec<(StreamRow, u64)>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT streams.id, path, generation, length, redactions, \
               (SELECT COALESCE(SUM(length), 0) FROM blocks WHERE stream = streams.id) FROM session_streams \
             JOIN streams ON streams.id = session_streams.stream JOIN source_files ON source_files.id = streams.source \
             WHERE session_streams.session = ?1 AND streams.length > 0 AND (generation = (SELECT MAX(generation) FROM streams AS other \
               JOIN session_streams AS link ON link.stream = other.id AND link.session = ?1 WHERE other.source = streams.source) \
               OR EXISTS (SELECT 1 FROM events WHERE session = ?1 AND events.stream = streams.id)) ORDER BY streams.id",
        )?;
        let rows =
            statement.query_map([session], |row| Ok((stream_from_row(row)?, row.get(5)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The newest generation of every file that holds events of a session, in the order they were first read. A session that has
    /// nothing but copies of another one's events has its files, too.
    pub fn session_streams(&self, session: SessionId) -> Result<Vec<StreamRow>> {
        let mut statement = self.connection.prepare(
            "SELECT streams.id, path, generation, length, redactions FROM session_streams \
             JOIN streams ON streams.id = session_streams.stream JOIN source_files ON source_files.id = streams.source \
             WHERE session_streams.session = ?1 AND (streams.source IN (SELECT source FROM streams WHERE id IN \
               (SELECT stream FROM events WHERE session = ?1)) \
               OR (SELECT events = 0 AND parent_seq IS NOT NULL FROM sessions WHERE id = ?1)) AND generation = (SELECT MAX(generation) FROM streams AS other \
               JOIN session_streams AS link ON link.stream = other.id AND link.session = ?1 WHERE other.source = streams.source) \
             ORDER BY streams.id",
        )?;
        let rows = statement.query_map([session], stream_from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

fn stream_from_row(row: &Row<'_>) -> rusqlite::Result<StreamRow> {
    Ok(StreamRow {
        id: row.get(0)?,
        path: row.text(1)?,
        generation: row.get(2)?,
        length: row.get(3)?,
        redactions: row.get(4)?,
    })
}

pub(crate) fn session_from_row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    let models = row.text(11)?;
    Ok(SessionRow {
        id: row.get(0)?,
        agent: row.text(1)?,
        session: row.text(2)?,
        title: row.optional_text(3)?,
        project: row.optional_text(4)?,
        cwd: row.optional_text(5)?,
        branch: row.optional_text(6)?,
        started_at: row.get(7)?,
        ended_at: row.get(8)?,
        turns: row.get(9)?,
        events: row.get(10)?,
        models: serde_json::from_str(&models).unwrap_or_default(),
        usage: usage_from_row(row, 12)?,
        parent: row.optional_text(20)?,
        parent_kind: row.optional_text(21)?,
        parent_seq: row.get(22)?,
        machine: row.get(23)?,
        outcome: row.get(24)?,
        pinned: row.get(25)?,
        evicted: row.get(26)?,
        evicted_at: row.get(27)?,
        live_turns: row.get(28)?,
        live_events: row.get(29)?,
        captured_at: row.get(30)?,
        closed_at: row.get(31)?,
        agent_version: row.optional_text(32)?,
        permission_mode: row.optional_text(33)?,
        context_window: row.get(34)?,
        tokens_injected: row.get(35)?,
        summarized: row.get(36)?,
        tokens_summarized: row.get(37)?,
    })
}
