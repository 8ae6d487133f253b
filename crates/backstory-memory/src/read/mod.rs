//! Reading sessions back.

mod artifact;
mod completer;
mod content;
mod lines;
mod messages;
mod record;
mod records;
mod session;
mod session_record;
mod telemetry;
mod turn;
mod turn_build;
mod turn_context;
mod usage;

use std::collections::HashMap;
use std::path::Path;

use backstory_event::{EventBody, EventView, Kind, Seq, SessionId, StreamId, Touch, TurnNo};
use backstory_store::{
    BlockReader, Damage, DamagedPiece, EventRange, SessionFilter, SessionHead, SessionRow, Store,
    StreamRow,
};

use crate::Memory;
use crate::capture::untold_events;
use crate::digest::{self, Noted};
use crate::error::{Error, Result};

pub use self::artifact::Artifact;
pub use self::messages::{LogPlace, MessageRecord, Messages};
pub use self::record::{EventRecord, SessionStatus};
pub use self::records::Events;
pub use self::session::{Session, StoredLog};
pub use self::session_record::{SessionList, SessionRecord};
pub use self::turn::{Turn, TurnAction, TurnInputs, TurnReplies, TurnTelemetry};
pub use self::usage::{ServerTools, UsageCounts, UsageRecord};

/// Returns whether an event is among those asked for; which ones are the last, only all of them tell.
pub(crate) fn is_in_range(event: &EventView<'_>, range: EventRange) -> bool {
    match range {
        EventRange::All | EventRange::Last(_) => true,
        EventRange::From(seq) => event.seq >= seq,
        EventRange::One(seq) => event.seq == seq,
        EventRange::Turn(turn) => event.turn == turn,
    }
}

/// Returns an error if a session has no such turn.
fn check_turn(session: &SessionRow, turn: TurnNo) -> Result<()> {
    let turns = session.turns + session.live_turns;
    if turn.count() <= turns {
        return Ok(());
    }
    Err(Error::NoTurn {
        session: session.session.clone(),
        turns,
        turn,
    })
}

/// Sessions of a memory: lists of them, and single ones to read from.
pub struct Sessions<'m> {
    pub(crate) memory: &'m Memory,
}

impl Sessions<'_> {
    /// Returns sessions, those active last first.
    pub fn list(&self, filter: &SessionFilter) -> Result<Vec<SessionRow>> {
        let mut rows = self.memory.store.sessions(filter)?;
        for row in &mut rows {
            self.add_captured(row)?;
        }
        Ok(rows)
    }

    /// Adds to a session what captured events say about it.
    fn add_captured(&self, row: &mut SessionRow) -> Result<()> {
        if row.live_events > 0 {
            let (outcome, title) = digest::outcome_and_title(&self.memory.store, row)?;
            row.outcome = Some(outcome);
            row.title = row.title.take().or(title);
        }
        Ok(())
    }

    /// Returns agent, id and title of the sessions of these rows.
    pub fn heads(
        &self,
        rows: impl IntoIterator<Item = SessionId>,
    ) -> Result<HashMap<SessionId, SessionHead>> {
        Ok(self.memory.store.session_heads(rows)?)
    }

    /// Returns the shortest text by which [`Sessions::row`] finds this session: the beginning of its id, of at least 8 characters.
    pub fn short_id(&self, agent: &str, session: &str) -> Result<String> {
        Ok(self.memory.store.short_id(agent, session)?)
    }

    /// Returns the session whose id begins with this text; an error when there is none or more than one.
    pub fn row(&self, prefix: &str) -> Result<SessionRow> {
        let mut found = self.memory.store.find_sessions(prefix)?;
        match found.len() {
            0 => Err(Error::NoSession(prefix.to_string())),
            1 => {
                let mut row = found.remove(0);
                self.add_captured(&mut row)?;
                Ok(row)
            }
            _ => {
                let short = |row: &SessionRow| self.short_id(&row.agent, &row.session);
                Err(Error::ManySessions {
                    prefix: prefix.to_string(),
                    matches: found.iter().map(short).collect::<Result<_>>()?,
                })
            }
        }
    }
}

impl Session<'_> {
    /// Returns events with their text, in order.
    pub fn event_views(&self, range: EventRange) -> Result<Vec<EventView<'static>>> {
        if let EventRange::Turn(turn) = range {
            check_turn(&self.row, turn)?;
        }
        let mut shown = Vec::new();
        visit(
            &self.memory.store,
            self.row.id,
            &self.row.agent,
            range,
            |event| {
                shown.push(event);
                Ok(())
            },
        )?;
        Ok(shown)
    }

    /// Returns the last events.
    pub fn tail(&self, count: u64) -> Result<Vec<EventView<'static>>> {
        self.event_views(EventRange::Last(count))
    }

    /// Returns what is stored of the log files that the session was read from, for those who compare; [`Session::own_logs`] has them to be
    /// copied.
    pub fn streams(&self) -> Result<Vec<StreamRow>> {
        Ok(self.memory.store.session_streams(self.row.id)?)
    }
}

/// Returns the prompt of a turn; of one whose text was evicted, its note.
pub(crate) fn prompt(store: &Store, session: &SessionHead, turn: TurnNo) -> Result<Option<String>> {
    let events = store.events(session.id, EventRange::Turn(turn))?;
    if let Some(asked) = events.iter().find(|asked| asked.event.kind == Kind::Prompt) {
        let shown = read_one(store, &mut store.bytes(), session, asked.seq)?;
        return Ok(shown.map(|shown| shown.text().to_string()));
    }
    let noted = digest::evicted(store, session)?;
    let asked = noted
        .into_iter()
        .find(|noted| noted.kind == Kind::Prompt && noted.turn == turn);
    Ok(asked.map(
        |Noted {
             texts: [said, ..], ..
         }| said,
    ))
}

/// Calls `each` with the events of a session and their text, in order: those of its log, then those that only hooks told of so far.
pub(crate) fn visit(
    store: &Store,
    session: SessionId,
    agent: &str,
    range: EventRange,
    mut each: impl FnMut(EventView<'static>) -> Result<()>,
) -> Result<()> {
    let captured = captured_events(store, session, range)?;
    let stored = range_before(range, &captured);
    visit_stored(store, session, agent, stored, &mut each)?;
    captured.into_iter().try_for_each(each)
}

/// Returns the events of a session that only hooks told of so far.
pub(crate) fn captured_events(
    store: &Store,
    session: SessionId,
    range: EventRange,
) -> Result<Vec<EventView<'static>>> {
    let mut captured = untold_events(store, session)?;
    captured.retain(|event| is_in_range(event, range));
    if let EventRange::Last(count) = range {
        captured.drain(..captured.len().saturating_sub(count as usize));
    }
    Ok(captured)
}

/// Returns which events of the log belong to a range that ends with captured events.
fn range_before(range: EventRange, captured: &[EventView<'_>]) -> EventRange {
    match range {
        EventRange::Last(count) => EventRange::Last(count.saturating_sub(captured.len() as u64)),
        range => range,
    }
}

/// Calls `each` with the events of a session's log and their text, in order.
pub(crate) fn visit_stored(
    store: &Store,
    session: SessionId,
    agent: &str,
    range: EventRange,
    mut each: impl FnMut(EventView<'static>) -> Result<()>,
) -> Result<()> {
    let rows = store.events(session, range)?;
    let mut touches: HashMap<Seq, Vec<Touch>> = HashMap::new();
    if let (Some(first), Some(last)) = (rows.first(), rows.last()) {
        for (seq, touch) in store.touched(session, first.seq, last.seq)? {
            touches.entry(seq).or_default().push(touch);
        }
    }
    let mut bytes = store.bytes();
    for record in records_of(rows) {
        for mut view in with_texts(store, &mut bytes, agent, record)? {
            view.event.to_mut().touches = touches.remove(&view.seq).unwrap_or_default();
            each(view)?;
        }
    }
    Ok(())
}

/// Groups the events of each record: one with thousands of events is read and parsed once, not for each of them.
pub(crate) fn records_of(
    rows: impl IntoIterator<Item = EventView<'static>>,
) -> impl Iterator<Item = Vec<EventView<'static>>> {
    let mut rows = rows.into_iter().peekable();
    std::iter::from_fn(move || {
        let mut record = vec![rows.next()?];
        let place = place_of(&record[0]);
        while let Some(row) = rows.next_if(|next| place_of(next) == place) {
            record.push(row);
        }
        Some(record)
    })
}

/// Reads a single event with its text, be it of the log or captured. `bytes` is worth keeping for the next one.
pub(crate) fn read_one(
    store: &Store,
    bytes: &mut BlockReader<'_>,
    session: &SessionHead,
    seq: Seq,
) -> Result<Option<EventView<'static>>> {
    let Some(view) = store.events(session.id, EventRange::One(seq))?.pop() else {
        return Ok(captured_events(store, session.id, EventRange::One(seq))?.pop());
    };
    let (stream, offset, length) = place_of(&view);
    let span = bytes.read_alone(stream, offset, length);
    let one = std::slice::from_ref(&view);
    let (mut bodies, damage) = bodies_or_damage(store, &session.agent, span, one)?;
    let touched = store.touched(session.id, seq, seq)?;
    let touches = touched.into_iter().map(|(_, touch)| touch).collect();
    let body = bodies.remove(&view.event.span.part).unwrap_or_default();
    Ok(Some(completed(view, touches, body, damage.as_deref())))
}

/// Reads the texts of events of one record of a log. `bytes` is worth keeping for the next one.
pub(crate) fn with_texts(
    store: &Store,
    bytes: &mut BlockReader<'_>,
    agent: &str,
    record: Vec<EventView<'static>>,
) -> Result<Vec<EventView<'static>>> {
    let Some(first) = record.first() else {
        return Ok(record);
    };
    let (stream, offset, length) = place_of(first);
    let span = bytes.read(stream, offset, length);
    let (mut bodies, damage) = bodies_or_damage(store, agent, span, &record)?;
    let with_text = |view: EventView<'static>| {
        let body = bodies.remove(&view.event.span.part).unwrap_or_default();
        completed(view, Vec::new(), body, damage.as_deref())
    };
    Ok(record.into_iter().map(with_text).collect())
}

/// Stream, first byte and number of bytes of an event's record.
fn place_of(view: &EventView<'_>) -> (StreamId, u64, u64) {
    (view.stream, view.event.span.offset, view.event.span.length)
}

/// Adds to an event what its row does not have.
fn completed(
    mut view: EventView<'static>,
    touches: Vec<Touch>,
    body: EventBody,
    damage: Option<&Damage>,
) -> EventView<'static> {
    let event = view.event.to_mut();
    (event.touches, event.body) = (touches, body);
    view.damage = damage.map(|damage| damage.to_string().into());
    view
}

/// Bodies of the events of a span by part, and the damage if they cannot be read.
type SpanBodies = (HashMap<u16, EventBody>, Option<Box<Damage>>);

/// Bodies of the events of one span, by part, or the damage that they cannot be read for; that costs these events and no others.
fn bodies_or_damage(
    store: &Store,
    agent: &str,
    span: backstory_store::Result<Vec<u8>>,
    rows: &[EventView<'_>],
) -> Result<SpanBodies> {
    let Some(row) = rows.first() else {
        return Ok((HashMap::new(), None));
    };
    match whole_span(store, span, row)? {
        Ok(span) => {
            let reader = backstory_agents::reader(agent);
            let bodies = reader.map(|reader| reader.reread(&span));
            Ok((bodies.unwrap_or_default().into_iter().collect(), None))
        }
        Err(damage) => Ok((HashMap::new(), Some(damage))),
    }
}

/// The bytes of an event's record, or the damage that they cannot be read for.
fn whole_span(
    store: &Store,
    span: backstory_store::Result<Vec<u8>>,
    row: &EventView<'_>,
) -> Result<std::result::Result<Vec<u8>, Box<Damage>>> {
    let damage = match span {
        Ok(span) if span.len() as u64 == row.event.span.length => return Ok(Ok(span)),
        Ok(_) => Box::new(missing_bytes(row)),
        Err(backstory_store::Error::DamagedPiece(damage)) => damage,
        Err(error) => return Err(error.into()),
    };
    store.meet_damage([(*damage).clone()]);
    Ok(Err(damage))
}

/// Returns the bytes that were read, or nothing when they are damaged: that costs this piece and no other. [`Store::take_damage`] names it.
pub(crate) fn unless_damaged<T: Default>(
    store: &Store,
    read: backstory_store::Result<T>,
) -> Result<T> {
    match read {
        Err(backstory_store::Error::DamagedPiece(damage)) => {
            store.meet_damage([*damage]);
            Ok(T::default())
        }
        read => Ok(read?),
    }
}

/// Damage of an event whose bytes are not stored.
fn missing_bytes(row: &EventView<'_>) -> Damage {
    Damage {
        piece: DamagedPiece::Bytes {
            stream: row.stream,
            start: row.event.span.offset,
            length: row.event.span.length,
        },
        path: None,
    }
}

/// Does `work` on all cores at once, on each with a view of the store of its own.
pub(crate) fn on_all_cores(home: &Path, store: &Store, work: impl Fn(&Store) + Sync) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let met = std::sync::Mutex::new(Vec::new());
    let open_store = store.reader_opener();
    std::thread::scope(|thread| {
        for _ in 1..threads {
            thread.spawn(|| {
                // A thread that cannot open the store leaves its share to the others.
                if let Ok(Some(store)) = open_store(home) {
                    work(&store);
                    if let Ok(mut met) = met.lock() {
                        met.extend(store.take_damage());
                    }
                }
            });
        }
        work(store);
    });
    store.meet_damage(met.into_inner().unwrap_or_default());
}

#[cfg(test)]
mod tests;
