//! Recall: what earlier sessions did about an error (`fix`), and which commands worked (`how`).
//!
//! Both read the notes of sessions, which stay when texts are evicted.

mod commands;
mod fixes;

use backstory_store::{SessionFilter, SessionHead};

pub use commands::{KnownCommand, KnownCommandList};
pub use fixes::{Fix, FixAttempt, FixList};

use crate::Memory;
use crate::digest::{Notes, readable_notes};
use crate::error::Result;

/// What earlier sessions know of errors and commands.
pub struct Recall<'m> {
    pub(crate) memory: &'m Memory,
}

impl Recall<'_> {
    /// Calls `visit` with the notes of the sessions of a project, or of all, the newest first.
    fn visit_notes(
        &self,
        project: Option<&str>,
        mut visit: impl FnMut(&SessionHead, Option<&str>, &Notes),
    ) -> Result<()> {
        let store = &self.memory.store;
        let filter = SessionFilter {
            project: project.map(str::to_string),
            ..SessionFilter::default()
        };
        let rows = store.sessions(&filter)?;
        let heads = store.session_heads(rows.iter().map(|row| row.id))?;
        for row in &rows {
            if let Some(head) = heads.get(&row.id) {
                let notes = readable_notes(store, row.id, &row.agent)?;
                visit(head, row.project.as_deref(), &notes);
            }
        }
        Ok(())
    }
}
