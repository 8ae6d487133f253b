//! Reading events back.

use std::borrow::Cow;
use std::sync::Arc;

use backstory_event::{
    Action, Event, EventKey, EventView, Origin, Seq, SessionId, Span, StreamId, TimeMs, Touch,
    TurnNo, UnknownNumber,
};
use rusqlite::{OptionalExtension, Row};

use crate::blocks::BlockReader;
use crate::checksums::{Scope, damage};
use crate::error::{Error, Result};
use crate::ingest::Project;
use crate::lossy::LossyRow;
use crate::open::Store;

/// Which events of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventRange {
    /// All of them.
    All,
    /// Those from this seq on.
    From(Seq),
    /// One alone.
    One(Seq),
    /// Those of one turn.
    Turn(TurnNo),
    /// The last so many.
    Last(u64),
}

/// A file that an event changed, and whose event it is.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeRow {
    /// The row of the session.
    pub session: SessionId,
    /// The agent.
    pub agent: String,
    /// The folder that the session worked in.
    pub cwd: Option<String>,
    /// The root of its project.
    pub root: Option<String>,
    /// The remote of its project.
    pub remote: Option<String>,
    /// When the session began.
    pub started_at: Option<TimeMs>,
    /// The event.
    pub seq: Seq,
}

/// Where a block lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSpan {
    /// Its stream.
    pub stream: StreamId,
    /// Where in it the block begins.
    pub start: u64,
    /// Number of bytes.
    pub length: u64,
}

const SELECT: &str = "SELECT seq, turn, kind, at, stream, offset, length, part, models.name, tools.name, call, parent, error, \
     exit_code, duration_ms FROM events LEFT JOIN names AS models ON models.id = events.model \
     LEFT JOIN names AS tools ON tools.id = events.tool";

impl Store {
    /// Events of a session in their order, without bodies and touched files. Rows of unknown kinds are left out and named by
    /// [`Store::take_damage`].
    pub fn events(&self, session: SessionId, range: EventRange) -> Result<Vec<EventView<'static>>> {
        let (condition, bound) = condition_of(range);
        let query = format!("{SELECT} WHERE session = ?1 AND {condition} ORDER BY seq");
        let mut statement = self.connection.prepare_cached(&query)?;
        let rows = statement.query_map((session, bound), |row| event_from_row(session, row))?;
        self.sound_rows(rows, Scope::Events, session.into())
    }

    /// Like [`Store::events`], of those between two numbers, both included.
    pub fn events_between(
        &self,
        session: SessionId,
        first: Seq,
        last: Seq,
    ) -> Result<Vec<EventView<'static>>> {
        let query = format!("{SELECT} WHERE session = ?1 AND seq BETWEEN ?2 AND ?3 ORDER BY seq");
        let mut statement = self.connection.prepare_cached(&query)?;
        let rows =
            statement.query_map((session, first, last), |row| event_from_row(session, row))?;
        self.sound_rows(rows, Scope::Events, session.into())
    }

    /// Returns the numbers of the first and the last event of a range; `None` when it has none.
    pub fn event_bounds(
        &self,
        session: SessionId,
        range: EventRange,
    ) -> Result<Option<(Seq, Seq)>> {
        let (condition, bound) = condition_of(range);
        let query =
            format!("SELECT MIN(seq), MAX(seq) FROM events WHERE session = ?1 AND {condition}");
        let mut statement = self.connection.prepare_cached(&query)?;
        let bounds = |row: &Row<'_>| Ok(row.get::<_, Option<Seq>>(0)?.zip(row.get(1)?));
        Ok(statement.query_row((session, bound), bounds)?)
    }

    /// The files that events touched. Rows of unknown actions are left out and named by [`Store::take_damage`].
    pub fn touched(
        &self,
        session: SessionId,
        from_seq: Seq,
        to_seq: Seq,
    ) -> Result<Vec<(Seq, Touch)>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT seq, paths.path, action FROM touches JOIN paths ON paths.id = touches.path \
             WHERE session = ?1 AND seq BETWEEN ?2 AND ?3 ORDER BY seq, paths.path",
        )?;
        let rows = statement.query_map((session, from_seq, to_seq), |row| {
            let (path, action) = (row.text(1)?, row.get(2)?);
            Ok((row.get(0)?, Touch { path, action }))
        })?;
        self.sound_rows(rows, Scope::Events, session.into())
    }

    /// The result of a tool call, without its body.
    pub fn result_of(&self, session: SessionId, call: Seq) -> Result<Option<EventView<'static>>> {
        let query =
            format!("{SELECT} WHERE session = ?1 AND seq > ?2 AND call = ?2 ORDER BY seq LIMIT 1");
        let mut statement = self.connection.prepare_cached(&query)?;
        let rows = statement.query_map((session, call), |row| event_from_row(session, row))?;
        Ok(self.sound_rows(rows, Scope::Events, session.into())?.pop())
    }

    /// Tool calls that write or remove a file of this name, in whatever folder, and commands of the project that may move one.
    pub fn changes_of(&self, name: &str, project: &Project) -> Result<Vec<ChangeRow>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT DISTINCT sessions.id, agent, cwd, root, remote, started_at, seq FROM paths \
             JOIN touches ON touches.path = paths.id JOIN sessions ON sessions.id = touches.session \
             LEFT JOIN projects ON projects.id = sessions.project \
             WHERE action <> ?4 AND (paths.path = ?1 OR substr(paths.path, -length(?1) - 1) = '/' || ?1) \
             UNION SELECT sessions.id, agent, cwd, root, remote, started_at, seq FROM projects \
             JOIN sessions ON sessions.project = projects.id JOIN events ON events.session = sessions.id \
             WHERE (root = ?2 OR remote = ?3) AND instr(command, 'mv ') > 0 AND instr(command, ?1) > 0 \
             ORDER BY 1, 7",
        )?;
        let parameters = (name, &project.root, &project.remote, Action::Read);
        let rows = statement.query_map(parameters, |row| {
            Ok(ChangeRow {
                session: row.get(0)?,
                agent: row.text(1)?,
                cwd: row.optional_text(2)?,
                root: row.get(3)?,
                remote: row.get(4)?,
                started_at: row.get(5)?,
                seq: row.get(6)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The turn of an event.
    pub fn turn_of(&self, session: SessionId, seq: Seq) -> Result<Option<TurnNo>> {
        let query = "SELECT turn FROM events WHERE session = ?1 AND seq = ?2";
        let mut statement = self.connection.prepare_cached(query)?;
        Ok(statement
            .query_row((session, seq), |row| row.get(0))
            .optional()?)
    }

    /// The turn that an event belongs to, and the turn's first event.
    pub fn turn_beginning(&self, session: SessionId, seq: Seq) -> Result<Option<(TurnNo, Seq)>> {
        let query = "SELECT turn, MIN(seq) FROM events WHERE session = ?1 AND turn = \
             (SELECT turn FROM events WHERE session = ?1 AND seq = ?2) GROUP BY turn";
        let mut statement = self.connection.prepare_cached(query)?;
        let found = statement.query_row((session, seq), |row| Ok((row.get(0)?, row.get(1)?)));
        Ok(found.optional()?)
    }

    /// Turns in which a file was touched whose path ends with this, or has it between two slashes: session and turn.
    pub fn turns_touching(&self, file: &str) -> Result<Vec<(SessionId, TurnNo)>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT DISTINCT events.session, turn FROM paths JOIN touches ON touches.path = paths.id \
             JOIN events ON events.session = touches.session AND events.seq = touches.seq \
             WHERE paths.path = ?1 OR instr('/' || paths.path || '/', '/' || trim(?1, '/') || '/') > 0",
        )?;
        let rows = statement.query_map([file], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Whether a byte of a stream belongs to an event.
    pub fn is_in_event(&self, stream: StreamId, offset: u64) -> Result<bool> {
        let mut statement = self.connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM session_streams AS link JOIN events ON events.session = link.session \
             WHERE link.stream = ?1 AND events.stream = ?1 AND offset <= ?2 AND offset + length > ?2)",
        )?;
        Ok(statement.query_row((stream, offset), |row| row.get(0))?)
    }

    /// Calls `each` with every block: its stream, where in it the block begins, and its bytes. Damaged ones are left out and named by
    /// [`Store::take_damage`].
    pub fn stored_bytes(
        &self,
        mut each: impl FnMut(StreamId, u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut reader = self.bytes();
        for span in self.block_spans()? {
            match reader.read(span.stream, span.start, span.length) {
                Err(Error::DamagedPiece(damage)) => self.meet_damage([*damage]),
                bytes => each(span.stream, span.start, &bytes?)?,
            }
        }
        Ok(())
    }

    /// Returns where all blocks lie, in their order by stream.
    pub fn block_spans(&self) -> Result<Vec<BlockSpan>> {
        let query = "SELECT stream, start, length FROM blocks ORDER BY stream, start";
        let mut statement = self.connection.prepare_cached(query)?;
        let spans = statement.query_map([], |row| {
            Ok(BlockSpan {
                stream: row.get(0)?,
                start: row.get(1)?,
                length: row.get(2)?,
            })
        })?;
        Ok(spans.collect::<rusqlite::Result<_>>()?)
    }

    /// Collects rows. Those with a number that stands for nothing are damage of this unit, and cost no other row.
    pub(crate) fn sound_rows<T>(
        &self,
        rows: impl Iterator<Item = rusqlite::Result<T>>,
        scope: Scope,
        unit: i64,
    ) -> Result<Vec<T>> {
        let mut sound = Vec::new();
        for row in rows {
            match row {
                Err(error) if UnknownNumber::is_cause_of(&error) => {
                    self.meet_damage([damage::rows(&self.connection, scope, unit)?]);
                }
                row => sound.push(row?),
            }
        }
        Ok(sound)
    }

    /// Reads stored bytes.
    pub fn bytes(&self) -> BlockReader<'_> {
        BlockReader::new(&self.connection)
    }
}

/// Returns the condition of a range, in which `?2` is the number beside it.
fn condition_of(range: EventRange) -> (&'static str, u64) {
    let (condition, bound) = match range {
        EventRange::All => ("?2 = 0", 0),
        EventRange::From(seq) => ("seq >= ?2", seq.count()),
        EventRange::One(seq) => ("seq = ?2", seq.count()),
        EventRange::Turn(turn) => ("turn = ?2", turn.count()),
        EventRange::Last(count) => (
            "seq > (SELECT MAX(seq) FROM events WHERE session = ?1) - ?2",
            count,
        ),
    };
    // SQLite's integers are signed; no session has more events.
    (condition, bound.min(i64::MAX as u64))
}

/// The event of a row, without what lies in the stored bytes and in other tables.
fn event_from_row(session: SessionId, row: &Row<'_>) -> rusqlite::Result<EventView<'static>> {
    let span = Span {
        offset: row.get(5)?,
        length: row.get(6)?,
        part: row.get(7)?,
    };
    let event = Event {
        model: row.optional_text(8)?.map(Into::into),
        tool: row.optional_text(9)?,
        error: row.get::<_, Option<i64>>(12)?.is_some(),
        exit_code: row.get(13)?,
        duration_ms: row.get(14)?,
        ..Event::new(&Arc::default(), EventKey(0), row.get(2)?, row.get(3)?, span)
    };
    Ok(EventView {
        session,
        seq: row.get(0)?,
        turn: row.get(1)?,
        call: row.get(10)?,
        parent: row.get(11)?,
        origin: Origin::Log,
        stream: row.get(4)?,
        event: Cow::Owned(event),
        damage: None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use backstory_event::{Kind, SymbolChangeKind, SymbolKind};

    use super::*;
    use crate::code::SymbolFilter;
    use crate::compress::Tier;
    use crate::queue::{ItemFilter, ItemState};

    #[test]
    fn a_row_with_an_unknown_number_is_named_and_costs_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        store
            .connection
            .execute_batch(
                "INSERT INTO sessions (id, agent, session) VALUES (1, 'claude-code', 'one');
                 INSERT INTO events (session, seq, turn, kind, stream, offset, length, part)
                   VALUES (1, 1, 1, 0, 1, 0, 1, 0), (1, 2, 1, 7, 1, 1, 1, 0), (1, 3, 1, 6, 1, 2, 1, 0);
                 INSERT INTO paths (id, path) VALUES (1, 'a.rs');
                 INSERT INTO touches (path, session, seq, action) VALUES (1, 1, 1, 2), (1, 1, 3, 3);
                 INSERT INTO queue (id, key, kind, session, at, state) VALUES (1, 1, 0, 1, 0, 0), (2, 2, 4, 1, 0, 9);
                 INSERT INTO compressions (at, day, tier, model, state, input_tokens, output_tokens, micro_usd)
                   VALUES (0, 0, 1, 'm', 0, 0, 0, 0), (0, 0, 2, 'm', 0, 0, 0, 0);
                 INSERT INTO projects (id, root) VALUES (1, '/shop'); INSERT INTO code_files (id, project, name) VALUES (1, 1, 'a.py');
                 INSERT INTO symbol_changes (session, turn, file, name, kind, change)
                   VALUES (1, -1, 1, 'a', 2, 3), (1, 1, 1, 'b', 9, 0), (1, 1, 1, 'c', 0, 4), (1, 4294967296, 1, 'd', 0, 0);",
            )
            .unwrap();
        let damage = || -> Vec<String> {
            let damage = store.take_damage().into_iter();
            damage.map(|damage| damage.to_string()).collect()
        };
        let events = store.events(1.into(), EventRange::All).unwrap();
        let kinds: Vec<Kind> = events.iter().map(|view| view.event.kind).collect();
        assert_eq!(kinds, [Kind::Prompt, Kind::System]);
        assert_eq!(damage(), ["the events of session one are damaged"]);
        let touched = store.touched(1.into(), Seq::FIRST, Seq::new(3)).unwrap();
        assert_eq!(touched.len(), 1);
        assert_eq!(touched[0].1.action, Action::Delete);
        assert_eq!(damage().len(), 1);
        let items = store.queue().items(&ItemFilter::default()).unwrap();
        let damaged = items.iter().map(|item| item.damage.is_some());
        assert_eq!(damaged.collect::<Vec<_>>(), [true, false]);
        assert_eq!(damage(), ["captured event 2 of session one is damaged"]);
        let counts = store.queue().item_counts().unwrap();
        assert_eq!(counts[ItemState::Pending as usize], 1);
        assert_eq!(damage().len(), 1);
        let mut tiers = Vec::new();
        store.compressions(|found| tiers.push(found.tier)).unwrap();
        assert_eq!(tiers, [Tier::Summary]);
        assert_eq!(damage().len(), 1);
        let changes = store.symbol_changes(&SymbolFilter::default()).unwrap();
        let known: Vec<_> = changes
            .iter()
            .map(|row| (row.turn, row.kind, row.change))
            .collect();
        let expected = (None, Some(SymbolKind::Method), SymbolChangeKind::Renamed);
        assert_eq!(known, [expected]);
        assert_eq!(damage(), ["the rows of session one are damaged"]);
        let names = store.changed_names(1.into()).unwrap();
        let names: Vec<&str> = names.iter().map(|changed| changed.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(damage().len(), 1);
    }
}
