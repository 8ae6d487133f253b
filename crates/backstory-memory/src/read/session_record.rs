//! Sessions as JSON documents.

use backstory_agents::Agent;
use backstory_event::{Seq, TimeMs};
use backstory_store::SessionRow;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::SessionStatus;
use super::usage::UsageRecord;
use crate::error::Result;
use crate::{Session, rfc3339};

/// A session with everything that is known of it except its events. Unknown values are null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord<U = UsageRecord> {
    /// The agent's own id of the session.
    pub session: String,
    /// The agent.
    pub agent: String,
    /// Title.
    pub title: Option<String>,
    /// Root of the project.
    pub project: Option<String>,
    /// Working directory.
    pub cwd: Option<String>,
    /// Git branch.
    pub branch: Option<String>,
    /// Time of its first event, RFC 3339.
    pub started_at: Option<String>,
    /// Time of its last event, RFC 3339.
    pub ended_at: Option<String>,
    /// Number of prompts, captured ones included.
    pub turns: u64,
    /// Number of events, captured ones included.
    pub events: u64,
    /// Models that answered.
    pub models: Vec<String>,
    /// Tokens of all its messages.
    pub usage: U,
    /// Outcome: `success`, `partial`, `failed`, `abandoned` or `unknown`.
    pub outcome: String,
    /// True if it is never evicted.
    pub pinned: bool,
    /// True if text of it was evicted.
    pub evicted: bool,
    /// Time of the eviction, RFC 3339.
    pub evicted_at: Option<String>,
    /// Id of the session that it came from.
    pub parent: Option<String>,
    /// `subagent` or `fork`.
    pub parent_kind: Option<String>,
    /// Last event of the parent that its history goes on from.
    pub parent_seq: Option<Seq>,
    /// True if it is a headless session.
    pub machine: bool,
    /// Time of its last hook event, RFC 3339.
    pub captured_at: Option<String>,
    /// Time of the hook event that ended it, RFC 3339.
    pub closed_at: Option<String>,
    /// Shell command that continues it in its agent.
    pub resume: Option<String>,
    /// Status.
    pub status: SessionStatus,
    /// Last version of the agent.
    pub agent_version: Option<String>,
    /// Last permission mode, by the agent's own name.
    pub permission_mode: Option<String>,
    /// Size of the model's context window in tokens.
    pub context_window: Option<u64>,
    /// Tokens of injected context.
    pub tokens_injected: u64,
    /// Tokens that models used to write about it.
    pub tokens_summarized: u64,
    /// The agent's own record of it, verbatim.
    pub meta: Option<Value>,
}

/// Sessions, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionList {
    /// The sessions.
    pub sessions: Vec<SessionRecord>,
}

impl Session<'_> {
    /// Returns the session as a document, with its status at `now`.
    pub fn record(&self, now: TimeMs) -> Result<SessionRecord> {
        Ok(self.record_with(self.usage()?, self.meta()?, now))
    }

    /// Returns the record with these tokens and this record of the agent.
    pub(crate) fn record_with<U>(
        &self,
        usage: U,
        meta: Option<Value>,
        now: TimeMs,
    ) -> SessionRecord<U> {
        let row = self.row().clone();
        SessionRecord {
            resume: resume_command(&row),
            status: SessionStatus::at(&row, now),
            session: row.session,
            agent: row.agent,
            title: row.title,
            project: row.project,
            cwd: row.cwd,
            branch: row.branch,
            started_at: rfc3339(row.started_at),
            ended_at: rfc3339(row.ended_at),
            turns: row.turns + row.live_turns,
            events: row.events + row.live_events,
            models: row.models,
            usage,
            outcome: row.outcome.unwrap_or_else(|| "unknown".to_string()),
            pinned: row.pinned,
            evicted: row.evicted > Seq::ZERO,
            evicted_at: rfc3339(row.evicted_at),
            parent: row.parent,
            parent_kind: row.parent_kind,
            parent_seq: row.parent_seq,
            machine: row.machine,
            captured_at: rfc3339(row.captured_at),
            closed_at: rfc3339(row.closed_at),
            agent_version: row.agent_version,
            permission_mode: row.permission_mode,
            context_window: row.context_window,
            tokens_injected: row.tokens_injected,
            tokens_summarized: row.tokens_summarized,
            meta,
        }
    }
}

/// Returns the shell command that continues a session in its agent.
fn resume_command(row: &SessionRow) -> Option<String> {
    let resume = Agent::find(&row.agent)?.resume?;
    resume.shell_command(&row.session, row.cwd.as_deref())
}
