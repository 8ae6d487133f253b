//! A session while chunks are taken in: loaded once, counted in memory, saved with the batch.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use backstory_event::{
    Event, Kind, ParentKind, ProjectId, Seq, SessionFacts, SessionId, StreamId, TimeMs, Title,
    TurnNo, impl_sql_enum,
};
use rusqlite::Connection;

use crate::error::Result;
use crate::lag::{mark_lag, mark_new, mark_title};
use crate::queue::Untold;

/// The longest title, in characters.
const TITLE_CHARACTERS: usize = 100;

/// A session as it stands within the batch.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    /// Number of its last event.
    pub(super) events: Seq,
    /// Number of its last turn.
    pub(super) turns: TurnNo,
    pub(super) started_at: Option<TimeMs>,
    pub(super) ended_at: Option<TimeMs>,
    pub(super) title: Option<String>,
    pub(super) title_rank: TitleRank,
    pub(super) parent: Option<(String, &'static str)>,
    pub(super) parent_seq: Option<Seq>,
    pub(super) project: Option<ProjectId>,
    pub(super) cwd: Option<String>,
    pub(crate) branch: Option<String>,
    pub(super) machine: bool,
    pub(super) agent_version: Option<String>,
    pub(super) permission_mode: Option<String>,
    pub(super) context_window: Option<u64>,
    pub(super) open_calls: HashMap<String, Seq>,
    pub(super) models: HashSet<i64>,
    pub(crate) changed: bool,
    /// The stream that the last event came from.
    pub(super) stream: StreamId,
    /// The first event that consumers lack; just past the last one when only the title is new.
    pub(super) first_new: Option<Seq>,
    /// What hooks captured of it, until its log tells the same.
    pub(super) untold: Untold,
}

impl Session {
    pub(super) fn load(connection: &Connection, agent: &str, name: &str) -> Result<Self> {
        connection
            .prepare_cached("INSERT OR IGNORE INTO sessions (agent, session) VALUES (?1, ?2)")?
            .execute((agent, without_nul(name)))?;
        let mut session = connection
            .prepare_cached(
                "SELECT id, events, turns, started_at, ended_at, title, title_rank, parent, parent_kind, parent_seq, project, cwd, \
                 branch, machine, agent_version, permission_mode, context_window FROM sessions WHERE agent = ?1 AND session = ?2",
            )?
            .query_row((agent, without_nul(name)), |row| {
                let kind: Option<String> = row.get(8)?;
                let kind = if kind.as_deref() == Some("subagent") { "subagent" } else { "fork" };
                Ok(Session {
                    id: row.get(0)?,
                    events: row.get(1)?,
                    turns: row.get(2)?,
                    started_at: row.get(3)?,
                    ended_at: row.get(4)?,
                    title: row.get(5)?,
                    title_rank: row.get(6)?,
                    parent: row.get::<_, Option<String>>(7)?.map(|parent| (parent, kind)),
                    parent_seq: row.get(9)?,
                    project: row.get(10)?,
                    cwd: row.get(11)?,
                    branch: row.get(12)?,
                    machine: row.get(13)?,
                    agent_version: row.get(14)?,
                    permission_mode: row.get(15)?,
                    context_window: row.get(16)?,
                    open_calls: HashMap::new(),
                    models: HashSet::new(),
                    changed: false,
                    stream: StreamId::default(),
                    first_new: None,
                    untold: Untold::default(),
                })
            })?;
        let mut statement =
            connection.prepare_cached("SELECT call, seq FROM open_calls WHERE session = ?1")?;
        let calls = statement.query_map([session.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        session.open_calls = calls.collect::<rusqlite::Result<_>>()?;
        session.untold = Untold::load(connection, session.id)?;
        Ok(session)
    }

    pub(super) fn save(&self, connection: &Connection) -> Result<()> {
        connection
            .prepare_cached(
                "UPDATE sessions SET events = ?2, turns = ?3, started_at = ?4, ended_at = ?5, title = ?6, title_rank = ?7, parent = ?8, \
                 parent_kind = ?9, parent_seq = ?10, project = ?11, cwd = ?12, branch = ?13, machine = ?14, agent_version = ?15, \
                 permission_mode = ?16, context_window = ?17 WHERE id = ?1",
            )?
            .execute(rusqlite::params![
                self.id,
                self.events,
                self.turns,
                self.started_at,
                self.ended_at,
                self.title.as_deref().map(without_nul),
                self.title_rank,
                self.parent.as_ref().map(|(parent, _)| without_nul(parent)),
                self.parent.as_ref().map(|(_, kind)| *kind),
                self.parent_seq,
                self.project,
                self.cwd.as_deref().map(without_nul),
                self.branch.as_deref().map(without_nul),
                self.machine,
                self.agent_version.as_deref().map(without_nul),
                self.permission_mode.as_deref().map(without_nul),
                self.context_window.map(|window| window.min(1 << 40)),
            ])?;
        connection
            .prepare_cached("DELETE FROM open_calls WHERE session = ?1")?
            .execute([self.id])?;
        for (call, seq) in &self.open_calls {
            connection
                .prepare_cached("INSERT INTO open_calls (session, call, seq) VALUES (?1, ?2, ?3)")?
                .execute((self.id, without_nul(call), seq))?;
        }
        match self.first_new {
            Some(first) if first > self.events => mark_title(connection, self.id, first)?,
            Some(Seq::FIRST) => mark_new(connection, self.id)?,
            Some(first) => mark_lag(connection, self.id, first)?,
            None => {}
        }
        for model in &self.models {
            connection
                .prepare_cached(
                    "INSERT OR IGNORE INTO session_models (session, model) VALUES (?1, ?2)",
                )?
                .execute((self.id, model))?;
        }
        Ok(())
    }

    pub(super) fn count(&mut self, event: &Event, model: Option<i64>) {
        self.changed = true;
        self.events = self.events.next();
        self.new_from(self.events);
        self.seen(event.at);
        self.models.extend(model);
        if event.kind == Kind::Prompt {
            self.turns = self.turns.next();
            if self.title.is_none() {
                self.entitle(&Title::Prompt(event.body.text.clone()));
            }
        }
    }

    fn new_from(&mut self, seq: Seq) {
        self.first_new = Some(self.first_new.map_or(seq, |first| first.min(seq)));
    }

    pub(super) fn model(&mut self, model: i64) {
        self.changed |= self.models.insert(model);
    }

    pub(super) fn seen(&mut self, at: Option<TimeMs>) {
        let Some(at) = at else { return };
        self.changed = true;
        self.started_at = Some(self.started_at.map_or(at, |started| started.min(at)));
        self.ended_at = Some(self.ended_at.map_or(at, |ended| ended.max(at)));
    }

    /// Takes over version, permission mode and context window; the last ones count.
    pub(crate) fn learn_details(&mut self, facts: &SessionFacts) {
        if facts.agent_version.is_some() {
            self.agent_version.clone_from(&facts.agent_version);
        }
        if facts.permission_mode.is_some() {
            self.permission_mode.clone_from(&facts.permission_mode);
        }
        self.context_window = facts.context_window.or(self.context_window);
    }

    /// Takes over what is not known yet of version, permission mode and context window.
    pub(crate) fn add_details(&mut self, facts: &SessionFacts) {
        let missing = SessionFacts {
            agent_version: facts
                .agent_version
                .clone()
                .filter(|_| self.agent_version.is_none()),
            permission_mode: facts
                .permission_mode
                .clone()
                .filter(|_| self.permission_mode.is_none()),
            context_window: facts
                .context_window
                .filter(|_| self.context_window.is_none()),
            ..SessionFacts::default()
        };
        self.learn_details(&missing);
    }

    pub(super) fn entitle(&mut self, title: &Title) {
        let rank = TitleRank::of(title);
        let (Title::Prompt(text) | Title::Generated(text) | Title::Given(text)) = title;
        if let Some(title) = title_line(text)
            && rank >= self.title_rank
        {
            self.title_rank = rank;
            self.title = Some(title);
            self.changed = true;
            self.new_from(self.events.next());
        }
    }
}

/// Where a title comes from; a higher one replaces a lower one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TitleRank {
    /// There is none, or the digest's.
    #[default]
    Nowhere,
    /// The first prompt.
    Prompt,
    /// The agent.
    Generated,
    /// A person.
    Given,
}

impl TitleRank {
    const ALL: [TitleRank; 4] = [
        TitleRank::Nowhere,
        TitleRank::Prompt,
        TitleRank::Generated,
        TitleRank::Given,
    ];

    /// Returns the rank of a title.
    pub fn of(title: &Title) -> Self {
        match title {
            Title::Prompt(_) => TitleRank::Prompt,
            Title::Generated(_) => TitleRank::Generated,
            Title::Given(_) => TitleRank::Given,
        }
    }
}

impl_sql_enum!(TitleRank, "rank of a title");

/// The first line that says something, as a title.
pub(crate) fn title_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(TITLE_CHARACTERS).collect())
}

/// The name of a kind in the store.
pub(super) fn parent_kind(kind: ParentKind) -> &'static str {
    match kind {
        ParentKind::Subagent => "subagent",
        ParentKind::Fork => "fork",
    }
}

/// SQL text functions stop at a NUL: columns show it as its picture. The stored bytes keep it.
pub(crate) fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        text.replace('\0', "\u{2400}").into()
    } else {
        text.into()
    }
}
