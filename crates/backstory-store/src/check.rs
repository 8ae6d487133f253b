//! Whether a store is sound, computed from what is there.

use serde::Serialize;

use crate::error::Result;
use crate::open::Store;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(into = "HealthRecord")]
pub struct Health {
    /// What SQLite's own check complains of; empty when nothing.
    pub damage: Vec<String>,
    /// Things that point nowhere, by kind; empty when none.
    pub orphans: Vec<(String, u64)>,
    /// How many sessions.
    pub sessions: u64,
    /// How many events.
    pub events: u64,
    /// How many source files.
    pub source_files: u64,
    /// How many records could not be read.
    pub skipped_records: u64,
    /// Bytes of log that are stored.
    pub stored_bytes: u64,
    /// Attachments.
    pub attachments: u64,
}

/// [`Health`] as JSON has it.
#[derive(Serialize)]
struct HealthRecord {
    sound: bool,
    damage: Vec<String>,
    orphans: Vec<Orphans>,
    sessions: u64,
    events: u64,
    source_files: u64,
    skipped_records: u64,
    stored_bytes: u64,
    attachments: u64,
}

/// Things of a kind that point nowhere.
#[derive(Serialize)]
struct Orphans {
    kind: String,
    count: u64,
}

impl From<Health> for HealthRecord {
    fn from(health: Health) -> Self {
        let sound = health.is_sound();
        let orphans = health.orphans.into_iter();
        HealthRecord {
            sound,
            damage: health.damage,
            orphans: orphans
                .map(|(kind, count)| Orphans { kind, count })
                .collect(),
            sessions: health.sessions,
            events: health.events,
            source_files: health.source_files,
            skipped_records: health.skipped_records,
            stored_bytes: health.stored_bytes,
            attachments: health.attachments,
        }
    }
}

impl Health {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty() && self.orphans.is_empty()
    }
}

impl Store {
    /// Checks the structure of the database, and what points nowhere.
    pub fn health(&self) -> Result<Health> {
        self.check_with("PRAGMA quick_check(20)")
    }

    /// Like [`Store::health`], and compares every index of the database with its table.
    pub fn thorough_health(&self) -> Result<Health> {
        self.check_with("PRAGMA integrity_check(20)")
    }

    fn check_with(&self, check: &str) -> Result<Health> {
        let mut health = Health::default();
        let mut statement = self.connection.prepare(check)?;
        let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
        for line in lines {
            let line = line?;
            if line != "ok" {
                health.damage.push(line);
            }
        }
        let count = |query: &str| {
            self.connection
                .query_row(query, [], |row| row.get::<_, u64>(0))
        };
        let orphans = [
            (
                "events without a session",
                "SELECT COUNT(*) FROM events WHERE session NOT IN (SELECT id FROM sessions)",
            ),
            (
                "events without stored bytes",
                "SELECT COUNT(*) FROM events WHERE stream NOT IN (SELECT id FROM streams)",
            ),
            (
                "events past the end of their stream",
                "SELECT COUNT(*) FROM events JOIN streams ON streams.id = stream WHERE offset + events.length > streams.length",
            ),
            (
                "sessions whose count of events is wrong",
                "SELECT COUNT(*) FROM sessions WHERE events - evicted != (SELECT COUNT(*) FROM events WHERE session = sessions.id)",
            ),
            (
                "content ids without an event",
                "SELECT COUNT(*) FROM event_keys LEFT JOIN events ON events.session = event_keys.session AND events.seq = event_keys.seq \
                 LEFT JOIN sessions ON sessions.id = event_keys.session WHERE events.seq IS NULL AND COALESCE(event_keys.seq > evicted, 1)",
            ),
            (
                "streams whose blocks do not add up",
                "SELECT COUNT(*) FROM streams WHERE length != (SELECT COALESCE(SUM(length), 0) FROM blocks WHERE stream = streams.id) \
                 AND NOT EXISTS (SELECT 1 FROM session_streams JOIN sessions ON sessions.id = session_streams.session \
                 WHERE stream = streams.id AND evicted_at IS NOT NULL)",
            ),
            (
                "code snapshots without a session or without symbols",
                "SELECT COUNT(*) FROM snapshots WHERE session NOT IN (SELECT id FROM sessions) \
                 OR NOT EXISTS (SELECT 1 FROM snapshot_states WHERE id = (file << 20) + part)",
            ),
            (
                "symbols of no code snapshot",
                "SELECT COUNT(*) FROM snapshot_states WHERE NOT EXISTS \
                 (SELECT 1 FROM snapshots WHERE file = id >> 20 AND part = id & 1048575)",
            ),
            (
                "roll-ups without a session",
                "SELECT COUNT(*) FROM usage WHERE session NOT IN (SELECT id FROM sessions)",
            ),
        ];
        for (name, query) in orphans {
            let found = count(query)?;
            if found > 0 {
                health.orphans.push((name.to_string(), found));
            }
        }
        health.sessions = count("SELECT COUNT(*) FROM sessions WHERE events > 0")?;
        health.events = count("SELECT COUNT(*) FROM events")?;
        health.source_files = count("SELECT COUNT(*) FROM source_files")?;
        health.skipped_records = count("SELECT COUNT(*) FROM skipped_records")?;
        health.stored_bytes = count("SELECT COALESCE(SUM(length), 0) FROM blocks")?;
        health.attachments = count("SELECT COUNT(*) FROM attachments")?;
        Ok(health)
    }
}
