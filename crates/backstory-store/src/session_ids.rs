//! Ids of sessions as people type and read them.
//!
//! The id of a session is its agent's. A subagent's is `PARENT/CHILD`. Whatever [`Store::short_id`] returns, [`Store::find_sessions`]
//! takes for that session as long as no session is added whose id begins alike.

use rusqlite::{OptionalExtension, params};

use crate::error::Result;
use crate::lossy::LossyRow;
use crate::open::Store;
use crate::sessions::{SessionRow, select_sessions, session_from_row};

/// The least of an id that is shown, in characters.
const MIN_ID_CHARACTERS: usize = 8;

/// The least of a subagent's own part of its id that is shown: `agent-` and as much as of other ids.
const MIN_CHILD_CHARACTERS: usize = 14;

/// How many sessions are returned when a text could mean several.
const MAX_MATCHES: usize = 50;

/// Ids that begin with `?1`. The first two conditions are for the index on ids.
const BEGINS: &str = "sessions.session >= ?1 AND sessions.session < ?1 || char(1114111) AND substr(sessions.session, 1, length(?1)) = ?1";

impl Store {
    /// Returns the sessions that a text may mean: a whole id, the beginning of one, or `BEGINNING/BEGINNING` for a subagent. A session
    /// counts before its own subagents. `AGENT:ID` tells sessions of two agents apart that have the same id.
    pub fn find_sessions(&self, text: &str) -> Result<Vec<SessionRow>> {
        let is_whole = |(one, other): &(&str, &str)| !one.is_empty() && !other.is_empty();
        let mut found = self.find_by_beginning(text, None)?;
        // Every id begins with an empty text, which nobody means.
        found.retain(|row| !text.is_empty() || row.session.is_empty());
        if found.is_empty()
            && let Some((parent, child)) = text.split_once('/').filter(is_whole)
        {
            for parent in self.find_parents(parent, child)? {
                found.extend(self.find_by_beginning(&format!("{parent}{child}"), None)?);
            }
            found.truncate(MAX_MATCHES);
        }
        if found.is_empty()
            && let Some((agent, id)) = text.split_once(':').filter(is_whole)
        {
            found = self.find_by_beginning(id, Some(agent))?;
        }
        Ok(found)
    }

    fn find_by_beginning(&self, beginning: &str, agent: Option<&str>) -> Result<Vec<SessionRow>> {
        let is_agent = "(?2 IS NULL OR agent = ?2)";
        let query = format!(
            "SELECT session FROM sessions WHERE {BEGINS} AND {is_agent} ORDER BY session LIMIT 1"
        );
        let first = self
            .connection
            .prepare_cached(&query)?
            .query_row((beginning, agent), |row| row.text(0))
            .optional()?;
        let Some(first) = first else {
            return Ok(Vec::new());
        };
        // Those that begin with a whole id are not meant, nor are the subagents of the first.
        let select = select_sessions();
        let query = format!(
            "{select} WHERE {BEGINS} AND {is_agent} AND (sessions.session = ?3 OR \
             (?3 != ?1 AND substr(sessions.session, 1, length(?3) + 1) != ?3 || '/')) \
             ORDER BY sessions.session, agent LIMIT {MAX_MATCHES}"
        );
        let mut statement = self.connection.prepare(&query)?;
        let rows = statement.query_map(params![beginning, agent, first], session_from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns `PARENT/` of all subagents of which both parts of the id begin like this.
    fn find_parents(&self, parent: &str, child: &str) -> Result<Vec<String>> {
        let query = format!(
            "SELECT DISTINCT substr(session, 1, instr(session, '/')) FROM sessions WHERE {BEGINS} AND instr(session, '/') > 0 \
             AND substr(session, instr(session, '/') + 1, length(?2)) = ?2 LIMIT {MAX_MATCHES}"
        );
        let mut statement = self.connection.prepare_cached(&query)?;
        let rows = statement.query_map((parent, child), |row| row.text(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the shortest text by which [`Store::find_sessions`] finds this session and no other.
    pub fn short_id(&self, agent: &str, session: &str) -> Result<String> {
        let query = "SELECT EXISTS (SELECT 1 FROM sessions WHERE session = ?1 AND agent IS NOT ?2)";
        let mut statement = self.connection.prepare_cached(query)?;
        if statement.query_row((session, agent), |row| row.get(0))? {
            return Ok(format!("{agent}:{session}"));
        }
        // What stands behind a `#` would be taken for a turn.
        if session.contains('#') {
            return Ok(session.to_string());
        }
        let Some((parent, child)) = session.split_once('/') else {
            return self.unique_beginning(session, "", MIN_ID_CHARACTERS);
        };
        let short_parent = self.unique_beginning(parent, "", MIN_ID_CHARACTERS)?;
        let below = format!("{parent}/");
        let short_child = self.unique_beginning(child, &below, MIN_CHILD_CHARACTERS)?;
        Ok(format!("{short_parent}/{short_child}"))
    }

    /// Returns the shortest beginning of an id that tells it from all other ids below the same parent but those of its own subagents.
    /// In the order of ids its neighbours are most like it.
    fn unique_beginning(&self, id: &str, below: &str, least: usize) -> Result<String> {
        // `0` is the character that follows `/`.
        let query = "SELECT (SELECT session FROM sessions WHERE session < ?1 ORDER BY session DESC LIMIT 1), \
             (SELECT session FROM sessions WHERE session > ?1 AND session < ?1 || '/' ORDER BY session LIMIT 1), \
             (SELECT session FROM sessions WHERE session >= ?1 || '0' ORDER BY session LIMIT 1)";
        let mut statement = self.connection.prepare_cached(query)?;
        let neighbours = statement.query_row([format!("{below}{id}")], |row| {
            Ok([
                row.optional_text(0)?,
                row.optional_text(1)?,
                row.optional_text(2)?,
            ])
        })?;
        let shared = neighbours
            .iter()
            .flatten()
            .filter_map(|other| other.strip_prefix(below))
            .map(|other| {
                let alike = id
                    .chars()
                    .zip(other.chars())
                    .take_while(|(one, other)| one == other);
                alike.count()
            })
            .max();
        let length = shared.map_or(0, |shared| shared + 1).max(least);
        Ok(id.chars().take(length).collect())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    /// Stores these sessions of an agent each.
    fn store_of(ids: &[(&str, &str)]) -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        for (agent, id) in ids {
            let insert = "INSERT INTO sessions (agent, session, events) VALUES (?1, ?2, 1)";
            store.connection.execute(insert, (agent, id)).unwrap();
        }
        (folder, store)
    }

    /// Stores these sessions, and returns the short id of each in turn.
    fn short_ids(ids: &[(&str, &str)]) -> Vec<String> {
        let (_folder, store) = store_of(ids);
        let short = |(agent, id): &(&str, &str)| {
            let short = store.short_id(agent, id).unwrap();
            let found = store.find_sessions(&short).unwrap();
            let found: Vec<(&str, &str)> = found
                .iter()
                .map(|row| (row.agent.as_str(), row.session.as_str()))
                .collect();
            assert_eq!(found, [(*agent, *id)], "{short}");
            short
        };
        ids.iter().map(short).collect()
    }

    fn check(ids: &[(&str, &str)]) {
        let agent_ids: Vec<(&str, &str)> = ids.iter().map(|(id, _)| ("codex", *id)).collect();
        let expected: Vec<&str> = ids.iter().map(|(_, short)| *short).collect();
        assert_eq!(short_ids(&agent_ids), expected);
    }

    #[test]
    fn an_id_is_as_short_as_it_can_be() {
        check(&[("0198c2d4-1b2a-7c3d-8e4f-000000000001", "0198c2d4")]);
        check(&[
            ("0198c2d4-1b2a-7c3d-8e4f-000000000001", "0198c2d4-1b2a-7c"),
            ("0198c2d4-1b2a-7d3d-8e4f-000000000002", "0198c2d4-1b2a-7d"),
            ("0198c2d4-1c00-7000-8e4f-000000000003", "0198c2d4-1c"),
            ("0198c2d5-1c00-7000-8e4f-000000000003", "0198c2d5"),
        ]);
        check(&[
            ("one", "one"),
            ("one-more", "one-more"),
            ("tür-und-angel", "tür-und-"),
        ]);
        check(&[("", ""), ("a#12345678", "a#12345678"), ("a", "a")]);
    }

    #[test]
    fn subagents_are_named_below_their_session() {
        let parent = "0198c2d4-1b2a-7c3d-8e4f-000000000001";
        let child = |name: &str| format!("{parent}/{name}");
        let (first, second, nested) = (
            child("agent-a0bf4fa63b63d32d6"),
            child("agent-a0bf4fa6ffffd32d6"),
            child("agent-a0bf4fa63b63d32d6/agent-b"),
        );
        check(&[
            (parent, "0198c2d4"),
            (&first, "0198c2d4/agent-a0bf4fa63"),
            (&second, "0198c2d4/agent-a0bf4fa6f"),
            (&nested, "0198c2d4/agent-a0bf4fa63b63d32d6/"),
        ]);
        // Between a session and its subagents in the order of ids.
        check(&[
            ("0198c2d4", "0198c2d4"),
            ("0198c2d4-1", "0198c2d4-"),
            ("0198c2d4/agent-a", "0198c2d4/agent-a"),
            ("0198c2d4-1/agent-a", "0198c2d4-/agent-a"),
        ]);
        // Subagents of sessions that are not known.
        check(&[
            ("0198c2d4-1/agent-a", "0198c2d4-1/agent-a"),
            ("0198c2d4-2/agent-a", "0198c2d4-2/agent-a"),
        ]);
    }

    #[test]
    fn nothing_typed_is_no_session() {
        let (_folder, store) = store_of(&[("codex", "0198c2d4/agent-a")]);
        for text in ["", "/", "0198c2d4/x", ":", "codex:"] {
            assert!(store.find_sessions(text).unwrap().is_empty(), "{text:?}");
        }
        assert_eq!(store.find_sessions("0198c2d4/").unwrap().len(), 1);
    }

    #[test]
    fn the_same_id_of_two_agents_is_told_apart() {
        assert_eq!(
            short_ids(&[
                ("codex", "shared-id-1"),
                ("grok", "shared-id-1"),
                ("grok", "shared-id-2")
            ]),
            ["codex:shared-id-1", "grok:shared-id-1", "shared-id-2"]
        );
    }

    #[test]
    fn a_session_with_many_subagents_is_found_by_its_beginning() {
        let mut ids = vec!["0198c2d4-a".to_string(), "0198c2d4-b".to_string()];
        ids.extend((0..99).map(|number| format!("0198c2d4-a/agent-{number:02}")));
        let agent_ids: Vec<(&str, &str)> = ids.iter().map(|id| ("codex", id.as_str())).collect();
        assert_eq!(short_ids(&agent_ids)[..2], ["0198c2d4-a", "0198c2d4-b"]);
    }

    #[test]
    fn every_short_id_is_found_among_many_alike() {
        let mut ids = vec!["0198c2d4".to_string()];
        for start in 0..85 {
            for letter in ["a", "-", "/", "0"] {
                ids.push(format!("{}{letter}", ids[start]));
            }
        }
        let agent_ids: Vec<(&str, &str)> = ids.iter().map(|id| ("codex", id.as_str())).collect();
        short_ids(&agent_ids);
    }
}
