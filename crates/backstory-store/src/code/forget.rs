//! Snapshots of files that forgotten sessions changed.

use backstory_event::{FileId, TimeMs};
use rusqlite::Connection;

use super::history::FileHistory;
use crate::blocks::Packer;
use crate::error::{Error, Result};

/// The files that sessions in the table `going` changed, under whatever names they have now, and a time before the first change: the end
/// of what the session did to files before.
const CHANGED_FILES: &str = "WITH RECURSIVE first_turns (session, file, turn) AS (SELECT session, file, MIN(turn) FROM \
       (SELECT session, file, turn FROM symbol_changes WHERE session IN going UNION ALL SELECT session, file, turn FROM snapshots WHERE session IN going) \
       GROUP BY session, file), \
     changed (file, since) AS (SELECT file, COALESCE((SELECT MAX(at) FROM symbol_changes WHERE symbol_changes.session = first_turns.session \
         AND symbol_changes.turn < first_turns.turn), (SELECT started_at FROM sessions WHERE id = first_turns.session), -9223372036854775807) \
       FROM first_turns \
       UNION SELECT id, since FROM changed JOIN code_files ON moved_from = file) \
     SELECT file, MIN(since) FROM changed GROUP BY file";

/// Removes what sessions in the table `going` wrote from the snapshots of all files: their own, and those that came later, for these
/// show it too.
pub(crate) fn remove_snapshots(connection: &Connection) -> Result<()> {
    let mut packer = Packer::for_snapshots()?;
    let mut statement = connection.prepare(CHANGED_FILES)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let changed: Vec<(FileId, TimeMs)> = rows.collect::<rusqlite::Result<_>>()?;
    for (file, since) in changed {
        let truncated = FileHistory::read(connection, file).and_then(|mut history| {
            history.truncate(connection, since)?;
            Ok(history)
        });
        match truncated {
            Ok(history) => history.store(connection, &mut packer)?,
            // Nobody can tell what is in it.
            Err(Error::DamagedPiece(_)) => {
                FileHistory::remove(connection, file)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
