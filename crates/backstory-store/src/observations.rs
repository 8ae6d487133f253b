//! What is kept of observations.

use backstory_event::SessionId;
use rusqlite::{Connection, OptionalExtension};

use crate::blocks::{Packer, decompress};
use crate::checksums::{Scope, check_unit};
use crate::error::Result;
use crate::open::Store;

impl Store {
    /// The observations that were kept of a session whose text went, in the writer's own format.
    pub fn kept_observations(&self, session: SessionId) -> Result<Option<Vec<u8>>> {
        let query = "SELECT observations FROM kept_observations WHERE session = ?1";
        let mut statement = self.connection.prepare_cached(query)?;
        let kept: Option<Vec<u8>> = statement
            .query_row([session], |row| row.get(0))
            .optional()?;
        let Some(kept) = kept else { return Ok(None) };
        check_unit(&self.connection, Scope::KeptObservations, session.into())?;
        decompress(&kept).map(Some)
    }
}

/// Keeps the observations of a session whose text goes.
pub(crate) fn keep(connection: &Connection, session: SessionId, observations: &[u8]) -> Result<()> {
    let packed = Packer::for_notes()?.compress(observations)?;
    let insert = "INSERT OR REPLACE INTO kept_observations (session, observations) VALUES (?1, ?2)";
    connection
        .prepare_cached(insert)?
        .execute((session, packed))?;
    Ok(())
}
