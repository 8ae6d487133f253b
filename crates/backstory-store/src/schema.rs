//! The tables of the schema, and with what their rows go. The migrations that make them are in `schema/`.

use rusqlite::{Connection, ToSql};

use crate::error::Result;

/// What ends the rows that a table has of a session. Each ends those of the ones before it, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lifetime {
    /// The session's text is evicted.
    Eviction,
    /// The session's logs are read again, on request: until then these rows say what it used, and recognise copies of its log.
    Rereading,
    /// The session's logs are read again because rows of it are damaged: what was derived from them may be wrong.
    Repair,
    /// The session is forgotten.
    Forgetting,
    /// None of these: rows that several sessions share, or that belong to none. `forget.rs` removes what nothing refers to any more.
    Shared,
}

/// Every table. Those that end with a session have a column `session INTEGER`, the row of it in `sessions`.
const TABLES: [(&str, Lifetime); 42] = [
    ("attachments", Lifetime::Shared),
    ("backfill", Lifetime::Shared),
    ("billing", Lifetime::Shared),
    ("block_lines", Lifetime::Shared),
    ("blocks", Lifetime::Shared),
    ("checksums", Lifetime::Shared),
    ("code_files", Lifetime::Shared),
    // What was spent stays spent: the session is in `about`, which `forget.rs` clears.
    ("compressions", Lifetime::Shared),
    ("consumers", Lifetime::Shared),
    ("damaged", Lifetime::Forgetting),
    ("digests", Lifetime::Repair),
    ("event_keys", Lifetime::Rereading),
    ("events", Lifetime::Eviction),
    ("forgotten", Lifetime::Shared),
    ("kept_observations", Lifetime::Forgetting),
    // Eviction marks it anew: `lag.rs`.
    ("lag", Lifetime::Forgetting),
    // The session is in `session_id`, as its agent names it; `forget.rs` deletes by that and by what the data says.
    ("logged_events", Lifetime::Shared),
    ("loose_titles", Lifetime::Shared),
    ("names", Lifetime::Shared),
    ("notes", Lifetime::Repair),
    ("observations", Lifetime::Forgetting),
    ("open_calls", Lifetime::Eviction),
    ("paths", Lifetime::Shared),
    ("projects", Lifetime::Shared),
    ("queue", Lifetime::Forgetting),
    ("responses", Lifetime::Rereading),
    ("run_edges", Lifetime::Forgetting),
    ("session_meta", Lifetime::Rereading),
    ("session_models", Lifetime::Forgetting),
    ("session_streams", Lifetime::Forgetting),
    // The sessions themselves; `forget.rs` removes them last.
    ("sessions", Lifetime::Shared),
    ("settings", Lifetime::Shared),
    ("skipped_records", Lifetime::Shared),
    // `forget.rs` removes states that no snapshot is left of.
    ("snapshot_states", Lifetime::Shared),
    ("snapshots", Lifetime::Forgetting),
    ("source_files", Lifetime::Shared),
    ("streams", Lifetime::Shared),
    ("summaries", Lifetime::Forgetting),
    ("symbol_changes", Lifetime::Forgetting),
    ("telemetry", Lifetime::Eviction),
    ("touches", Lifetime::Eviction),
    ("usage", Lifetime::Rereading),
];

/// Returns every column of every table, by both names.
pub(crate) fn columns(connection: &Connection) -> Result<Vec<(String, String)>> {
    let mut statement = connection.prepare(
        "SELECT tables.name, columns.name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns \
         WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%'",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Deletes what tables have of sessions that ends with `end` or before it. `sessions` is what stands behind `WHERE session`.
pub(crate) fn delete_rows(
    connection: &Connection,
    end: Lifetime,
    sessions: &str,
    parameters: &[&dyn ToSql],
) -> Result<()> {
    let ended = |(_, lifetime): &&(&str, Lifetime)| *lifetime <= end;
    for (table, _) in TABLES.iter().filter(ended) {
        let delete = format!("DELETE FROM {table} WHERE session {sessions}");
        connection.prepare_cached(&delete)?.execute(parameters)?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;
    use crate::open::Store;

    #[test]
    fn every_table_says_with_what_its_rows_go() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let query = "SELECT name, EXISTS (SELECT 1 FROM pragma_table_info(tables.name) AS columns \
             WHERE columns.name = 'session' AND columns.type = 'INTEGER') \
             FROM sqlite_schema AS tables WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
        let mut statement = store.connection.prepare(query).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        let found: Vec<(String, bool)> = rows.unwrap().map(Result::unwrap).collect();
        let declared: Vec<(String, bool)> = TABLES
            .iter()
            .map(|(table, lifetime)| (table.to_string(), *lifetime != Lifetime::Shared))
            .collect();
        assert_eq!(
            found, declared,
            "name every table in TABLES, in order; not Shared where a column `session INTEGER` is, and only there"
        );
    }
}
