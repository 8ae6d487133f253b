//! What a new session of a project may want to know.

use backstory_event::{ProjectId, SessionId, SessionName, SymbolChangeKind, TimeMs, TurnNo};
use rusqlite::{OptionalExtension, Row};

use crate::checksums::Scope;
use crate::code::{FileSnapshot, StoredTurn};
use crate::error::Result;
use crate::ingest::{Project, TitleRank};
use crate::lossy::LossyRow;
use crate::open::Store;

/// A session of a project.
#[derive(Debug, Clone, PartialEq)]
pub struct RecalledSession {
    /// Its row.
    pub id: SessionId,
    /// The agent.
    pub agent: String,
    /// The agent's own id of it.
    pub session: String,
    /// What people called it, or asked first. What a program called it is none: that has read what tools said.
    pub title: Option<String>,
    /// The row of its project.
    pub project: Option<ProjectId>,
    /// The root of its project.
    pub root: Option<String>,
    /// The folder that it worked in.
    pub cwd: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
    /// When it was last active.
    pub last_at: TimeMs,
    /// How many prompts its log has.
    pub turns: u64,
    /// How many events its log has.
    pub events: u64,
    /// How it ended.
    pub outcome: Option<String>,
    /// True if no person typed into it.
    pub is_headless: bool,
}

impl RecalledSession {
    /// Returns its name.
    pub fn name(&self) -> SessionName {
        SessionName::new(self.agent.clone(), self.session.as_str())
    }
}

/// A symbol that a turn changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedName {
    /// The turn; `None` as long as its log has not been swept.
    pub turn: Option<TurnNo>,
    /// The file, below the root of its project.
    pub file: String,
    /// The symbol.
    pub name: String,
    /// What became of it.
    pub change: SymbolChangeKind,
}

fn select_recalled() -> String {
    let generated = TitleRank::Generated as u8;
    format!(
        "SELECT sessions.id, agent, sessions.session, CASE title_rank WHEN {generated} THEN NULL ELSE title END, sessions.project, root, \
     cwd, branch, \
     COALESCE(MAX(ended_at, captured_at), ended_at, captured_at), turns, sessions.events, outcome, machine FROM sessions \
     LEFT JOIN projects ON projects.id = sessions.project LEFT JOIN digests ON digests.session = sessions.id"
    )
}

impl Store {
    /// The row of a project that is known, and the root that it has there: by its remote, for clones are one, else by its root.
    pub fn known_project(&self, project: &Project) -> Result<Option<(ProjectId, String)>> {
        let query = "SELECT id, root FROM projects WHERE remote = ?1 OR root = ?2 ORDER BY remote IS NOT ?1 LIMIT 1";
        let mut statement = self.connection.prepare_cached(query)?;
        let found = statement.query_row((&project.remote, &project.root), |row| row.try_into());
        Ok(found.optional()?)
    }

    /// The projects whose root or remote is or ends with a name.
    pub fn projects_named(&self, name: &str) -> Result<Vec<Project>> {
        // Letters that are patterns to LIKE are common in names.
        let query = "SELECT root, remote FROM projects WHERE root = ?1 OR substr(root, -length(?1) - 1) IN ('/' || ?1, '\\' || ?1) \
             OR remote = ?1 OR substr(remote, -length(?1) - 1) = '/' || ?1";
        let mut statement = self.connection.prepare_cached(query)?;
        let rows = statement.query_map([name.trim_end_matches('/')], |row| {
            Ok(Project {
                root: row.text(0)?,
                remote: row.optional_text(1)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The sessions of people, or headless ones, in a project that were last active before a time, the newest first; those on one branch
    /// alone if one is named.
    pub fn recall_sessions(
        &self,
        project: ProjectId,
        headless: bool,
        branch: Option<&str>,
        before: TimeMs,
        limit: usize,
    ) -> Result<Vec<RecalledSession>> {
        let select = select_recalled();
        let query = format!(
            "{select} WHERE project = ?1 AND machine = ?5 AND parent_kind IS NOT 'subagent' AND (ended_at < ?2 OR (ended_at IS NULL AND \
             captured_at < ?2)) AND (?3 IS NULL OR branch = ?3) ORDER BY ended_at DESC LIMIT ?4"
        );
        let mut statement = self.connection.prepare_cached(&query)?;
        let parameters = (project, before, branch, limit as u64, headless);
        let rows = statement.query_map(parameters, recalled_from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// One session, by its name.
    pub fn recall_session(&self, name: &SessionName) -> Result<Option<RecalledSession>> {
        let select = select_recalled();
        let query = format!("{select} WHERE agent = ?1 AND sessions.session = ?2");
        let mut statement = self.connection.prepare_cached(&query)?;
        let found = statement.query_row((&*name.agent, &*name.id), recalled_from_row);
        Ok(found.optional()?)
    }

    /// The last snapshot of a file of a project, up to a time if one is given.
    pub fn snapshot_named(
        &self,
        project: ProjectId,
        name: &str,
        until: Option<TimeMs>,
    ) -> Result<Option<FileSnapshot>> {
        let query = "SELECT id FROM code_files WHERE project = ?1 AND name = ?2";
        let mut statement = self.connection.prepare_cached(query)?;
        let file = statement.query_row((project, name), |row| row.get(0));
        match file.optional()? {
            Some(file) => self.file_snapshot(file, until),
            None => Ok(None),
        }
    }

    /// The symbols that turns of a session changed. Rows of unknown changes are left out and named by [`Store::take_damage`].
    pub fn changed_names(&self, session: SessionId) -> Result<Vec<ChangedName>> {
        let query = "SELECT turn, code_files.name, symbol_changes.name, change FROM symbol_changes \
             JOIN code_files ON code_files.id = symbol_changes.file WHERE session = ?1 AND symbol_changes.name != ''";
        let mut statement = self.connection.prepare_cached(query)?;
        let rows = statement.query_map([session], |row| {
            Ok(ChangedName {
                turn: row.get::<_, StoredTurn>(0)?.0,
                file: row.get(1)?,
                name: row.text(2)?,
                change: row.get(3)?,
            })
        })?;
        self.sound_rows(rows, Scope::Sessions, session.into())
    }
}

fn recalled_from_row(row: &Row<'_>) -> rusqlite::Result<RecalledSession> {
    Ok(RecalledSession {
        id: row.get(0)?,
        agent: row.text(1)?,
        session: row.text(2)?,
        title: row.optional_text(3)?,
        project: row.get(4)?,
        root: row.optional_text(5)?,
        cwd: row.optional_text(6)?,
        branch: row.optional_text(7)?,
        last_at: row.get::<_, Option<TimeMs>>(8)?.unwrap_or_default(),
        turns: row.get(9)?,
        events: row.get(10)?,
        outcome: row.get(11)?,
        is_headless: row.get(12)?,
    })
}
