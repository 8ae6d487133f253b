//! What sessions learned from lines that they repeat of forgotten ones, replaced by what their own lines say.

use backstory_event::{SessionId, StreamId};
use std::collections::HashSet;

use super::Forgetting;
use crate::error::Result;
use crate::ingest::{Project, TitleRank, project_row, title_line, without_nul};

/// What the lines of a stream that remain say of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemainingFacts {
    /// The agent's own id of the session.
    pub session: String,
    /// The folder where it began.
    pub cwd: Option<String>,
    /// The project of that folder.
    pub project: Option<Project>,
    /// The branch where it ended.
    pub branch: Option<String>,
    /// Its title with the rank of that.
    pub title: Option<(TitleRank, String)>,
}

impl Forgetting<'_> {
    /// Corrects the sessions of a stream whose copies of forgotten events were blanked. `lost` are folders, branches, titles and
    /// models that only those copies named.
    pub fn relearn(
        &self,
        stream: StreamId,
        lost: &HashSet<String>,
        remaining: &[RemainingFacts],
    ) -> Result<()> {
        let is_lost = |value: &Option<String>| {
            value
                .as_ref()
                .is_some_and(|value| lost.iter().any(|lost| without_nul(lost) == value.as_str()))
        };
        let lost_titles: HashSet<String> =
            lost.iter().filter_map(|text| title_line(text)).collect();
        let mut rows = Vec::new();
        let query = format!(
            "SELECT id, session, cwd, branch, title FROM sessions WHERE id IN (SELECT session FROM session_streams WHERE stream = {stream})"
        );
        self.each(&query, |row| {
            let values: [Option<String>; 3] = [row.get(2)?, row.get(3)?, row.get(4)?];
            rows.push((
                row.get::<_, SessionId>(0)?,
                row.get::<_, String>(1)?,
                values,
            ));
            Ok(())
        })?;
        for (id, name, [cwd, branch, title]) in rows {
            let facts = remaining
                .iter()
                .find(|facts| without_nul(&facts.session) == name);
            if is_lost(&cwd) {
                let project = facts.and_then(|facts| facts.project.as_ref());
                let project = project.map(|project| project_row(&self.transaction, project));
                let cwd = facts
                    .and_then(|facts| facts.cwd.as_deref())
                    .map(without_nul);
                let update = "UPDATE sessions SET cwd = ?2, project = ?3 WHERE id = ?1";
                self.transaction
                    .execute(update, (id, cwd, project.transpose()?))?;
            }
            if is_lost(&branch) {
                let branch = facts
                    .and_then(|facts| facts.branch.as_deref())
                    .map(without_nul);
                let update = "UPDATE sessions SET branch = ?2 WHERE id = ?1";
                self.transaction.execute(update, (id, branch))?;
            }
            if title.is_some_and(|title| lost_titles.contains(&title) || lost.contains(&title)) {
                let title = facts.and_then(|facts| facts.title.as_ref());
                let rank = title.map_or(TitleRank::Nowhere, |(rank, _)| *rank);
                let title = title.and_then(|(_, title)| title_line(title));
                let title = title.as_deref().map(without_nul);
                let update = "UPDATE sessions SET title = ?2, title_rank = ?3 WHERE id = ?1";
                self.transaction.execute(update, (id, title, rank))?;
            }
            self.forget_models(id, stream, lost)?;
        }
        self.forget_in_state(stream, lost)
    }

    /// Leaves a session the models of its own events and responses.
    fn forget_models(
        &self,
        session: SessionId,
        stream: StreamId,
        lost: &HashSet<String>,
    ) -> Result<()> {
        for model in lost {
            let update = "UPDATE events SET model = NULL WHERE session = ?1 AND stream = ?2 AND model = (SELECT id FROM names WHERE name = ?3)";
            self.transaction.execute(update, (session, stream, model))?;
        }
        let delete = "DELETE FROM session_models WHERE session = ?1 AND model NOT IN (SELECT model FROM events WHERE session = ?1 AND \
             model IS NOT NULL UNION SELECT model FROM responses WHERE session = ?1 UNION SELECT model FROM usage WHERE session = ?1)";
        self.transaction.execute(delete, [session])?;
        Ok(())
    }

    /// Blanks values that a reader remembers.
    fn forget_in_state(&self, stream: StreamId, lost: &HashSet<String>) -> Result<()> {
        for value in lost {
            let quoted = serde_json::to_string(value).unwrap_or_default();
            let update = "UPDATE source_files SET state = REPLACE(REPLACE(state, '\"model\":' || ?2, '\"model\":null'), ?2, '\"\"') WHERE stream = ?1";
            self.transaction.execute(update, (stream, quoted))?;
        }
        Ok(())
    }
}
