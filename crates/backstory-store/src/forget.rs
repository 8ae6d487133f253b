//! Forgetting: a session leaves no trace but a hash, by which it is known and left out wherever it turns up again.

mod relearn;
mod rewrite;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use backstory_event::{EventKey, ProjectId, SessionId, StreamId};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::code::remove_snapshots;
use crate::error::Result;
use crate::open::Store;
use crate::schema::{Lifetime, delete_rows};
use crate::settings::{FORGET_KEY, keep, read_setting, setting_damage};

pub use relearn::RemainingFacts;

/// The setting that says that something was forgotten or redacted whose traces have not been cleaned up yet.
const UNCLEAN: &str = "forget-unclean";

/// The setting with what is about to be forgotten, until it is.
const INTENT: &str = "forget-intent";

/// How much of a hash is kept.
const HASH_BYTES: usize = 16;

/// Takes note, within a transaction, that what it takes out must not be left in free pages, the journal or the index.
pub(crate) fn mark_unclean(connection: &Connection) -> Result<()> {
    keep(connection, UNCLEAN, b"yes")
}

/// Recognises what was forgotten.
pub(crate) struct Forgotten {
    key: [u8; 32],
}

impl Forgotten {
    /// `None` when nothing was ever forgotten; an error when something was and the key is damaged or lost.
    pub(crate) fn load(connection: &Connection) -> Result<Option<Self>> {
        let any = "SELECT EXISTS (SELECT 1 FROM forgotten)";
        if !connection
            .prepare_cached(any)?
            .query_row([], |row| row.get(0))?
        {
            return Ok(None);
        }
        // Without the key none of the hashes says anything: all would come back.
        let key =
            read_setting(connection, FORGET_KEY)?.ok_or_else(|| setting_damage(FORGET_KEY))?;
        Ok(Some(Forgotten::new(&key)))
    }

    fn new(key: &[u8]) -> Self {
        Forgotten {
            key: *blake3::hash(key).as_bytes(),
        }
    }

    pub(crate) fn has_session(
        &self,
        connection: &Connection,
        agent: &str,
        name: &str,
    ) -> Result<bool> {
        self.has(connection, &self.session(agent, name))
    }

    pub(crate) fn has_event(&self, connection: &Connection, key: EventKey) -> Result<bool> {
        self.has(connection, &self.event(key))
    }

    fn session(&self, agent: &str, name: &str) -> [u8; HASH_BYTES] {
        self.hash(format!("session:{agent}:{name}").as_bytes())
    }

    fn file(&self, path: &str) -> [u8; HASH_BYTES] {
        self.hash(format!("file:{path}").as_bytes())
    }

    fn event(&self, key: EventKey) -> [u8; HASH_BYTES] {
        self.hash(&[b"event:".as_slice(), &key.0.to_le_bytes()].concat())
    }

    fn hash(&self, what: &[u8]) -> [u8; HASH_BYTES] {
        let mut short = [0; HASH_BYTES];
        short.copy_from_slice(&blake3::keyed_hash(&self.key, what).as_bytes()[..HASH_BYTES]);
        short
    }

    fn has(&self, connection: &Connection, hash: &[u8]) -> Result<bool> {
        let query = "SELECT EXISTS (SELECT 1 FROM forgotten WHERE hash = ?1)";
        Ok(connection
            .prepare_cached(query)?
            .query_row([hash], |row| row.get(0))?)
    }
}

/// A source file, by one of its streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemainingStream {
    /// The stream.
    pub id: StreamId,
    /// The agent that wrote the file.
    pub agent: String,
    /// The file.
    pub path: String,
}

/// A transaction that forgets sessions. Dropped without [`Forgetting::commit`], nothing of it happened.
pub struct Forgetting<'a> {
    transaction: Transaction<'a>,
    keys: HashSet<EventKey>,
    /// Folders that the sessions worked in.
    folders: Vec<String>,
    /// Other sessions of which a text changed.
    changed: RefCell<BTreeSet<SessionId>>,
}

impl Store {
    /// These sessions with their subagents, and with copies of them that never went on.
    pub fn with_subagents(&self, sessions: &[SessionId]) -> Result<Vec<SessionId>> {
        let mut statement = self.connection.prepare(
            "WITH RECURSIVE family (id) AS (VALUES (?1) UNION SELECT child.id FROM family JOIN sessions ON sessions.id = family.id \
             JOIN sessions AS child ON child.agent = sessions.agent AND child.parent = sessions.session \
             WHERE child.parent_kind = 'subagent' OR child.events = 0) SELECT id FROM family",
        )?;
        let mut all = Vec::new();
        for session in sessions {
            for id in statement.query_map([session], |row| row.get(0))? {
                let id = id?;
                if !all.contains(&id) {
                    all.push(id);
                }
            }
        }
        Ok(all)
    }

    /// Whether anything was ever forgotten.
    pub(crate) fn has_forgotten_any(&self) -> Result<bool> {
        let query = "SELECT EXISTS (SELECT 1 FROM forgotten)";
        let mut statement = self.connection.prepare_cached(query)?;
        Ok(statement.query_row([], |row| row.get(0))?)
    }

    /// Whether a source file was forgotten, or bears the name of a session that was.
    pub fn has_forgotten(&self, agent: &str, path: &str) -> Result<bool> {
        let Some(forgotten) = Forgotten::load(&self.connection)? else {
            return Ok(false);
        };
        if forgotten.has(&self.connection, &forgotten.file(path))? {
            return Ok(true);
        }
        for name in path.split(['/', '\\']) {
            let stem = name.split('.').next().unwrap_or(name);
            let tail = stem
                .len()
                .checked_sub(36)
                .and_then(|start| stem.get(start..));
            for name in std::iter::once(stem).chain(tail) {
                if forgotten.has_session(&self.connection, agent, name)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether something is about to be forgotten, or what was forgotten or redacted may still lie in free pages, the journal, the
    /// index or vectors.
    pub fn is_unclean(&self) -> Result<bool> {
        Ok(self.has_setting(UNCLEAN)? || self.has_setting(INTENT)?)
    }

    /// Whether what an earlier process forgot or redacted may still lie in files.
    pub fn has_traces(&self) -> Result<bool> {
        self.has_setting(UNCLEAN)
    }

    /// Returns the keys of the events and responses of sessions.
    pub fn keys_of_sessions(&self, sessions: &[SessionId]) -> Result<HashSet<EventKey>> {
        let mut keys = HashSet::new();
        for table in ["event_keys", "responses"] {
            let query = format!("SELECT key FROM {table} WHERE session = ?1");
            let mut statement = self.connection.prepare(&query)?;
            for session in sessions {
                for key in statement.query_map([session], |row| row.get(0))? {
                    keys.insert(key?);
                }
            }
        }
        Ok(keys)
    }

    /// Returns the streams that tell of sessions.
    pub fn streams_of_sessions(&self, sessions: &[SessionId]) -> Result<BTreeSet<StreamId>> {
        let query = "SELECT stream FROM session_streams WHERE session = ?1";
        let mut statement = self.connection.prepare(query)?;
        let mut streams = BTreeSet::new();
        for session in sessions {
            for stream in statement.query_map([session], |row| row.get(0))? {
                streams.insert(stream?);
            }
        }
        Ok(streams)
    }

    /// Returns all streams.
    pub fn streams(&self) -> Result<Vec<RemainingStream>> {
        list_streams(&self.connection)
    }

    /// Records what is about to be forgotten. [`Store::settle_forgotten`] removes it.
    pub fn keep_forget_intent(&self, intent: &[u8]) -> Result<()> {
        self.keep(INTENT, intent)
    }

    /// Returns what an interrupted process was about to forget.
    pub fn forget_intent(&self) -> Result<Option<Vec<u8>>> {
        self.kept(INTENT)
    }

    /// Returns the files that sessions were read from. What a hook only named may be any file at all, so it is not among them.
    pub fn logs_of_sessions(&self, sessions: &[SessionId]) -> Result<Vec<String>> {
        let mut statement = self.connection.prepare(
            "SELECT path FROM source_files WHERE id IN (SELECT source FROM streams JOIN session_streams ON stream = streams.id \
             WHERE session = ?1) ORDER BY path",
        )?;
        let mut logs = Vec::new();
        for session in sessions {
            for path in statement.query_map([session], |row| row.get(0))? {
                let path = path?;
                if !logs.contains(&path) {
                    logs.push(path);
                }
            }
        }
        Ok(logs)
    }

    /// Returns titles, folders and branches of sessions.
    pub fn texts_of_sessions(&self, sessions: &[SessionId]) -> Result<Vec<String>> {
        let mut statement = self.connection.prepare(
            "SELECT title FROM sessions WHERE id = ?1 AND title IS NOT NULL UNION SELECT cwd FROM sessions WHERE id = ?1 AND cwd \
             IS NOT NULL UNION SELECT branch FROM sessions WHERE id = ?1 AND branch IS NOT NULL",
        )?;
        let mut texts = Vec::new();
        for session in sessions {
            let rows = statement.query_map([session], |row| row.get(0))?;
            texts.extend(rows.collect::<rusqlite::Result<Vec<String>>>()?);
        }
        Ok(texts)
    }

    /// Returns the folders that sessions worked in, and the roots of their projects.
    pub fn known_folders(&self) -> Result<Vec<String>> {
        let query =
            "SELECT cwd FROM sessions WHERE cwd IS NOT NULL UNION SELECT root FROM projects";
        let mut statement = self.connection.prepare(query)?;
        let rows = statement.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Calls `each` with short texts that other sessions account for: paths, names of source files, and what is known of sessions
    /// whose log is not stored.
    pub fn texts_of_others(&self, mut each: impl FnMut(&str)) -> Result<()> {
        let mut statement = self.connection.prepare(
            "SELECT path FROM paths UNION ALL SELECT name FROM code_files UNION ALL \
             SELECT COALESCE(title, '') || char(10) || COALESCE(cwd, '') || char(10) || COALESCE(branch, '') || char(10) \
               || COALESCE(transcript, '') || char(10) || COALESCE((SELECT root FROM projects WHERE id = project), '') FROM sessions \
             WHERE evicted > 0 OR id NOT IN (SELECT session FROM session_streams)",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            each(row.get_ref(0)?.as_str().unwrap_or_default());
        }
        Ok(())
    }

    /// Writes the whole database anew, so that nothing is left in free pages or in the journal; false when a reader was in the way.
    pub fn scrub(&self) -> Result<bool> {
        self.connection.execute_batch("VACUUM")?;
        self.empty_journal()
    }

    /// Takes note that nothing of what was forgotten is left, and removes the intent; false when a reader was in the way.
    pub fn settle_forgotten(&self) -> Result<bool> {
        // The intent names the sessions, so it must not be left in a free page or in the journal either.
        self.connection.pragma_update(None, "secure_delete", "ON")?;
        if self.has_setting(INTENT)? {
            self.remove_setting(INTENT)?;
            if !self.empty_journal()? {
                return Ok(false);
            }
        }
        self.remove_setting(UNCLEAN)?;
        self.checkpoint()?;
        Ok(true)
    }

    /// Moves the journal to the database and empties it; false when a reader was in the way.
    fn empty_journal(&self) -> Result<bool> {
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy: bool = self
            .connection
            .query_row(checkpoint, [], |row| row.get(0))?;
        Ok(!busy)
    }

    /// Begins to forget sessions: their rows and the streams that are theirs alone go at once. `key` is used when nothing was
    /// forgotten before.
    pub fn forget(&self, sessions: &[SessionId], key: [u8; 32]) -> Result<Forgetting<'_>> {
        let key = self.setting(FORGET_KEY, || key.to_vec())?;
        // What is deleted is overwritten at once, should this be stopped before the database is written anew.
        self.connection.pragma_update(None, "secure_delete", "ON")?;
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        mark_unclean(&transaction)?;
        transaction.execute_batch(
            "CREATE TEMP TABLE IF NOT EXISTS going (session INTEGER PRIMARY KEY); DELETE FROM going; \
             CREATE TEMP TABLE IF NOT EXISTS going_streams (stream INTEGER PRIMARY KEY); DELETE FROM going_streams;",
        )?;
        for session in sessions {
            transaction.execute(
                "INSERT OR IGNORE INTO going (session) VALUES (?1)",
                [session],
            )?;
        }
        let mut forgetting = Forgetting {
            transaction,
            keys: HashSet::new(),
            folders: Vec::new(),
            changed: RefCell::default(),
        };
        forgetting.bury(&Forgotten::new(&key))?;
        forgetting.delete()?;
        Ok(forgetting)
    }
}

impl Forgetting<'_> {
    /// The keys of the events that are forgotten.
    pub fn keys(&self) -> &HashSet<EventKey> {
        &self.keys
    }

    /// Keeps hashes of what goes.
    fn bury(&mut self, forgotten: &Forgotten) -> Result<()> {
        let mut hashes = Vec::new();
        self.each(
            "SELECT agent, session FROM sessions WHERE id IN going",
            |row| {
                hashes
                    .push(forgotten.session(row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?));
                Ok(())
            },
        )?;
        let mut folders = Vec::new();
        self.each(
            "SELECT DISTINCT cwd FROM sessions WHERE id IN going AND cwd IS NOT NULL",
            |row| {
                folders.push(row.get(0)?);
                Ok(())
            },
        )?;
        self.folders = folders;
        let mut keys = HashSet::new();
        for table in ["event_keys", "responses"] {
            self.each(
                &format!("SELECT key FROM {table} WHERE session IN going"),
                |row| {
                    keys.insert(row.get(0)?);
                    Ok(())
                },
            )?;
        }
        hashes.extend(keys.iter().map(|key| forgotten.event(*key)));
        self.keys = keys;
        // Streams that tell of these sessions alone, and files that hold nothing else.
        self.transaction.execute_batch(
            "INSERT INTO going_streams (stream) SELECT stream FROM session_streams GROUP BY stream \
               HAVING COUNT(*) = SUM(session IN going);",
        )?;
        self.each(
            "SELECT path FROM source_files WHERE id IN (SELECT source FROM streams WHERE id IN going_streams) AND NOT EXISTS \
             (SELECT 1 FROM streams WHERE streams.source = source_files.id AND length > 0 AND streams.id NOT IN going_streams)",
            |row| {
                hashes.push(forgotten.file(row.get_ref(0)?.as_str()?));
                Ok(())
            },
        )?;
        let mut insert = self
            .transaction
            .prepare("INSERT OR IGNORE INTO forgotten (hash) VALUES (?1)")?;
        for hash in hashes {
            insert.execute([hash.as_slice()])?;
        }
        Ok(())
    }

    fn delete(&self) -> Result<()> {
        remove_snapshots(&self.transaction)?;
        // A reader may remember what it read in a copy; all begin anew, for that changes nothing.
        self.transaction.execute_batch(
            "DELETE FROM loose_titles WHERE key IN (SELECT key FROM event_keys WHERE session IN going); \
             DELETE FROM blocks WHERE stream IN going_streams; \
             DELETE FROM skipped_records WHERE stream IN going_streams; \
             DELETE FROM block_lines WHERE stream IN going_streams; \
             DELETE FROM backfill;",
        )?;
        delete_rows(&self.transaction, Lifetime::Forgetting, "IN going", &[])?;
        self.transaction.execute_batch(
            "UPDATE sessions SET parent = NULL, parent_kind = NULL, parent_seq = NULL WHERE id NOT IN going AND EXISTS \
               (SELECT 1 FROM sessions AS gone WHERE gone.id IN going AND gone.agent = sessions.agent AND gone.session = sessions.parent); \
             UPDATE compressions SET about = NULL, seq = NULL, error = NULL WHERE about IN going; \
             DELETE FROM sessions WHERE id IN going; \
             UPDATE streams SET length = 0, redactions = 0 WHERE id IN going_streams; \
             DELETE FROM streams WHERE source IN (SELECT source FROM streams WHERE id IN going_streams) AND NOT EXISTS \
               (SELECT 1 FROM streams AS other WHERE other.source = streams.source AND other.length > 0); \
             DELETE FROM source_files WHERE id NOT IN (SELECT source FROM streams);",
        )?;
        Ok(())
    }

    /// The streams that remain.
    pub fn remaining(&self) -> Result<Vec<RemainingStream>> {
        list_streams(&self.transaction)
    }

    /// Makes it last. What is left is to clean up: see [`Store::is_unclean`]. `intent` is what a process needs to know that has to
    /// finish this one's clean-up. Returns other sessions of which a text changed.
    pub fn commit(self, intent: &[u8]) -> Result<BTreeSet<SessionId>> {
        self.move_projects()?;
        keep(&self.transaction, INTENT, intent)?;
        self.transaction.execute_batch(
            "DELETE FROM code_files WHERE id NOT IN (SELECT file FROM symbol_changes UNION SELECT file FROM run_edges UNION \
               SELECT file FROM snapshots); \
             DELETE FROM projects WHERE id NOT IN \
               (SELECT project FROM sessions WHERE project IS NOT NULL UNION SELECT project FROM code_files); \
             DELETE FROM paths WHERE NOT EXISTS (SELECT 1 FROM touches WHERE touches.path = paths.id); \
             DELETE FROM names WHERE id NOT IN (SELECT model FROM events WHERE model IS NOT NULL UNION \
               SELECT tool FROM events WHERE tool IS NOT NULL UNION SELECT model FROM session_models UNION \
               SELECT model FROM usage UNION SELECT model FROM responses UNION SELECT branch FROM usage UNION \
               SELECT branch FROM responses); \
             DELETE FROM billing WHERE id NOT IN (SELECT billing FROM usage UNION SELECT billing FROM responses); \
             DELETE FROM attachments WHERE id NOT IN \
               (SELECT json_extract(value, '$[1]') FROM blocks, json_each(blocks.cuts) WHERE cuts IS NOT NULL); \
             DELETE FROM going; DELETE FROM going_streams;",
        )?;
        self.transaction.commit()?;
        Ok(self.changed.into_inner())
    }

    /// Gives projects that only forgotten sessions worked in by that path the folder of another session.
    fn move_projects(&self) -> Result<()> {
        let is_below = |folder: &str, root: &str| Path::new(folder).starts_with(root);
        let mut projects: Vec<(ProjectId, String)> = Vec::new();
        self.each("SELECT id, root FROM projects", |row| {
            projects.push((row.get(0)?, row.get(1)?));
            Ok(())
        })?;
        projects.retain(|(_, root)| self.folders.iter().any(|folder| is_below(folder, root)));
        for (project, root) in projects {
            let query = "SELECT cwd FROM sessions WHERE project = ?1 AND cwd IS NOT NULL ORDER BY ended_at DESC";
            let mut statement = self.transaction.prepare_cached(query)?;
            let folders = statement.query_map([project], |row| row.get(0))?;
            let folders: Vec<String> = folders.collect::<rusqlite::Result<_>>()?;
            if let Some(newest) = folders.first()
                && !folders.iter().any(|folder| is_below(folder, &root))
            {
                let update = "UPDATE OR IGNORE projects SET root = ?2 WHERE id = ?1";
                self.transaction.execute(update, (project, newest))?;
            }
        }
        Ok(())
    }

    fn each(
        &self,
        query: &str,
        mut each: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<()> {
        let mut statement = self.transaction.prepare(query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            each(row)?;
        }
        Ok(())
    }
}

fn list_streams(connection: &Connection) -> Result<Vec<RemainingStream>> {
    let query = "SELECT streams.id, agent, path FROM streams JOIN source_files ON source_files.id = streams.source ORDER BY streams.id";
    let mut statement = connection.prepare(query)?;
    let streams = statement.query_map([], |row| {
        Ok(RemainingStream {
            id: row.get(0)?,
            agent: row.get(1)?,
            path: row.get(2)?,
        })
    })?;
    Ok(streams.collect::<rusqlite::Result<_>>()?)
}
