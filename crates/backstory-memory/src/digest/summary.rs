//! Summaries of sessions that a language model wrote.

use backstory_event::SessionId;
use backstory_store::Store;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::read::unless_damaged;

/// Summary of a session that a language model wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSummary {
    /// Subject of the session.
    pub title: String,
    /// Requests, work and result.
    pub summary: String,
    /// Facts worth knowing next time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<String>,
    /// Open work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Returns the summary that is stored of a session.
pub(crate) fn stored_summary(store: &Store, session: SessionId) -> Result<Option<SessionSummary>> {
    let row = unless_damaged(store, store.summary(session))?;
    Ok(row.and_then(|row| serde_json::from_slice(&row.body).ok()))
}
