//! Rewriting what other sessions' bytes and texts repeat of forgotten ones.

use super::Forgetting;
use crate::blocks::{self, BlockReader, Packer, decompress};
use crate::checksums::{Scope, check_unit};
use crate::error::{Error, Result};
use backstory_event::StreamId;

impl Forgetting<'_> {
    /// Calls `change` with each block of a stream; what it changes is stored.
    pub fn rewrite(
        &self,
        stream: StreamId,
        mut change: impl FnMut(u64, &mut Vec<u8>) -> bool,
    ) -> Result<()> {
        let mut reader = BlockReader::new(&self.transaction);
        let mut is_changed = false;
        for (id, start, length) in blocks::of_stream(&self.transaction, stream)? {
            let mut bytes = match reader.read(stream, start, length) {
                // Nobody can read it; the next sweep reads the log again, without what was forgotten.
                Err(Error::DamagedPiece(_)) => continue,
                bytes => bytes?,
            };
            if change(start, &mut bytes) {
                blocks::replace(&self.transaction, id, &bytes)?;
                is_changed = true;
            }
        }
        if is_changed {
            // What the agent recorded of other sessions may name what was forgotten: the next sweep learns it again.
            self.transaction
                .execute("DELETE FROM session_meta WHERE stream = ?1", [stream])?;
            self.transaction.execute(
                "UPDATE streams SET read_version = 0 WHERE id = ?1",
                [stream],
            )?;
            self.note_changed(&format!(
                "SELECT session FROM session_streams WHERE stream = {stream}"
            ))?;
        }
        Ok(())
    }

    /// Calls `change` with every other text that could name a session; what it gives back is stored.
    /// Logged events of which `is_about` is true, by the session's id and the data, are deleted.
    pub fn rewrite_texts(
        &self,
        change: impl Fn(&[u8]) -> Option<Vec<u8>>,
        is_about: impl Fn(Option<&str>, &[u8]) -> bool,
    ) -> Result<()> {
        for (table, column) in [
            ("source_files", "state"),
            ("sessions", "title"),
            ("sessions", "cwd"),
            ("sessions", "branch"),
            ("sessions", "transcript"),
            ("projects", "root"),
            ("paths", "path"),
            ("loose_titles", "title"),
        ] {
            self.rewrite_column(table, column, "rowid, 0", "rowid = ?1 AND ?2 = 0", &change)?;
        }
        self.rewrite_column(
            "events",
            "command",
            "session, seq",
            "session = ?1 AND seq = ?2",
            &change,
        )?;
        let mut packer = Packer::for_notes()?;
        for (scope, table, key, column) in [
            (Scope::Notes, "notes", "session", "notes"),
            (
                Scope::KeptObservations,
                "kept_observations",
                "session",
                "observations",
            ),
            (Scope::Queue, "queue", "id", "body"),
            (Scope::Observations, "observations", "id", "body"),
            (Scope::Summaries, "summaries", "session", "body"),
        ] {
            let mut packed = Vec::new();
            let select = format!("SELECT {key}, {column} FROM {table} WHERE {column} IS NOT NULL");
            self.each(&select, |row| {
                packed.push((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?));
                Ok(())
            })?;
            let update = format!("UPDATE {table} SET {column} = ?2 WHERE {key} = ?1");
            for (row, text) in packed {
                match check_unit(&self.transaction, scope, row) {
                    Err(Error::DamagedPiece(_)) => continue,
                    checked => checked?,
                }
                if let Some(text) = change(&decompress(&text)?) {
                    if key == "session" {
                        self.note_changed(&format!("SELECT id FROM sessions WHERE id = {row}"))?;
                    }
                    self.transaction
                        .execute(&update, (row, packer.compress(&text)?))?;
                }
            }
        }
        // What the machinery did to them is not worth masking.
        let mut logged = Vec::new();
        self.each("SELECT id, session_id, data FROM logged_events", |row| {
            let session = row.get_ref(1)?.as_str_or_null()?;
            let data = row.get_ref(2)?.as_str_or_null()?.unwrap_or_default();
            if is_about(session, data.as_bytes()) {
                logged.push(row.get::<_, i64>(0)?);
            }
            Ok(())
        })?;
        for id in logged {
            self.transaction
                .execute("DELETE FROM logged_events WHERE id = ?1", [id])?;
        }
        Ok(())
    }

    /// Takes note that a text changed of the sessions that a query selects.
    fn note_changed(&self, sessions: &str) -> Result<()> {
        self.each(sessions, |row| {
            self.changed.borrow_mut().insert(row.get(0)?);
            Ok(())
        })
    }

    fn rewrite_column(
        &self,
        table: &str,
        column: &str,
        keys: &str,
        condition: &str,
        change: &impl Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<()> {
        let mut changed: Vec<(i64, i64, String)> = Vec::new();
        let select = format!("SELECT {keys}, {column} FROM {table} WHERE {column} IS NOT NULL");
        self.each(&select, |row| {
            if let Some(text) = change(row.get_ref(2)?.as_str()?.as_bytes()) {
                let text = String::from_utf8_lossy(&text).into_owned();
                changed.push((row.get(0)?, row.get(1)?, text));
            }
            Ok(())
        })?;
        // Two texts that differ in ids alone become the same one; where each must be there once, a number tells them apart.
        let update = format!("UPDATE OR IGNORE {table} SET {column} = ?3 WHERE {condition}");
        for (row, seq, text) in changed {
            if matches!(table, "sessions" | "events") {
                self.note_changed(&format!("SELECT id FROM sessions WHERE id = {row}"))?;
            }
            if self.transaction.execute(&update, (row, seq, &text))? == 0 {
                let apart = format!("{text}~{row}");
                self.transaction.execute(&update, (row, seq, apart))?;
            }
        }
        Ok(())
    }
}
