//! Walking through a session record by record, with never more than a piece of it in memory.

use std::collections::{HashMap, VecDeque};
use std::vec::IntoIter;

use backstory_agents::Reader;
use backstory_event::{EventBody, EventView, Seq, StreamId, Touch};
use backstory_store::{BlockReader, EventRange, SessionRow};

use super::completer::EventCompleter;
use super::lines::LineCounter;
use super::record::EventRecord;
use super::{captured_events, completed, range_before, whole_span};
use crate::Memory;
use crate::error::{Error, Result};

/// Number of events that are read at once.
const PIECE_EVENTS: usize = 1_000;

/// A piece ends when the records in it have so many bytes.
const PIECE_BYTES: usize = 4 << 20;

/// A record of a log with its events, which all lie in it.
pub(super) struct WalkedRecord {
    /// Its events, at least one.
    pub(super) views: Vec<EventView<'static>>,
    /// Its bytes; none when they are damaged, or a hook told it.
    pub(super) span: Vec<u8>,
    /// Its line in the log.
    line: Option<u64>,
}

/// The records of a session in their order.
struct RecordWalk<'m> {
    memory: &'m Memory,
    session: &'m SessionRow,
    reader: Option<&'static dyn Reader>,
    bytes: BlockReader<'m>,
    lines: LineCounter<'m>,
    /// First and last event that are still to be looked up.
    next: Seq,
    last: Seq,
    rows: VecDeque<EventView<'static>>,
    touches: HashMap<Seq, Vec<Touch>>,
    /// Events that hooks told, behind all others.
    captured: IntoIter<EventView<'static>>,
}

impl<'m> RecordWalk<'m> {
    fn new(memory: &'m Memory, session: &'m SessionRow, range: EventRange) -> Result<Self> {
        let turns = session.turns + session.live_turns;
        if let EventRange::Turn(turn) = range
            && turn.count() > turns
        {
            return Err(Error::NoTurn {
                session: session.session.clone(),
                turns,
                turn,
            });
        }
        let captured = captured_events(&memory.store, session.id, range)?;
        let stored = range_before(range, &captured);
        let bounds = memory.store.event_bounds(session.id, stored)?;
        let (next, last) = bounds.unwrap_or((Seq::FIRST, Seq::ZERO));
        Ok(RecordWalk {
            memory,
            session,
            reader: backstory_agents::reader(&session.agent),
            bytes: memory.store.bytes(),
            lines: LineCounter::new(&memory.store),
            next,
            last,
            rows: VecDeque::new(),
            touches: HashMap::new(),
            captured: captured.into_iter(),
        })
    }

    fn next_record(&mut self) -> Result<Option<WalkedRecord>> {
        let count = loop {
            let Some(first) = self.rows.front() else {
                if self.look_up_rows()? {
                    continue;
                }
                return Ok(self.captured.next().map(|view| WalkedRecord {
                    views: vec![view],
                    span: Vec::new(),
                    line: None,
                }));
            };
            let place = start_of(first);
            let of_record = self.rows.iter().take_while(|row| start_of(row) == place);
            let count = of_record.count();
            // The next piece may begin with more events of the record.
            if count < self.rows.len() || !self.look_up_rows()? {
                break count;
            }
        };
        let views = self.rows.drain(..count).collect();
        self.read_record(views).map(Some)
    }

    /// Looks up the rows of the next events; false when there are none.
    fn look_up_rows(&mut self) -> Result<bool> {
        if self.next > self.last {
            return Ok(false);
        }
        let (store, session) = (&self.memory.store, self.session.id);
        let end = self.next.count() + PIECE_EVENTS as u64 - 1;
        let end = u32::try_from(end).map_or(self.last, Seq::new);
        let (first, last) = (self.next, end.min(self.last));
        self.rows
            .extend(store.events_between(session, first, last)?);
        for (seq, touch) in store.touched(session, first, last)? {
            self.touches.entry(seq).or_default().push(touch);
        }
        self.next = last.next();
        Ok(true)
    }

    fn read_record(&mut self, views: Vec<EventView<'static>>) -> Result<WalkedRecord> {
        let mut record = WalkedRecord {
            views: Vec::with_capacity(views.len()),
            span: Vec::new(),
            line: None,
        };
        let mut views = views.into_iter().peekable();
        // Of a text that is streamed over several records each event may have got further.
        while let Some(first) = views.next() {
            let (stream, offset) = start_of(&first);
            let length = first.event.span.length;
            let span = self.bytes.read(stream, offset, length);
            let mut bodies: HashMap<u16, EventBody> = HashMap::new();
            let mut damage = None;
            match whole_span(&self.memory.store, span, &first)? {
                Ok(span) => {
                    let read = self.reader.map(|reader| reader.reread(&span));
                    bodies.extend(read.unwrap_or_default());
                    if span.len() > record.span.len() {
                        record.span = span;
                    }
                }
                Err(found) => damage = Some(found),
            }
            if record.line.is_none() {
                record.line = self.lines.line_of(&mut self.bytes, stream, offset)?;
            }
            let mut next = Some(first);
            while let Some(view) = next {
                let touches = self.touches.remove(&view.seq).unwrap_or_default();
                let body = bodies.remove(&view.event.span.part).unwrap_or_default();
                record
                    .views
                    .push(completed(view, touches, body, damage.as_deref()));
                next = views.next_if(|view| view.event.span.length == length);
            }
        }
        Ok(record)
    }
}

/// Returns the place where an event's record begins.
fn start_of(view: &EventView<'_>) -> (StreamId, u64) {
    (view.stream, view.event.span.offset)
}

/// The records of a session in pieces, their events with everything that is known of them.
pub(super) struct RecordPieces<'m> {
    walk: RecordWalk<'m>,
    completer: EventCompleter<'m>,
}

impl<'m> RecordPieces<'m> {
    pub(super) fn new(
        memory: &'m Memory,
        session: &'m SessionRow,
        range: EventRange,
    ) -> Result<Self> {
        Ok(RecordPieces {
            walk: RecordWalk::new(memory, session, range)?,
            completer: EventCompleter::new(memory, session)?,
        })
    }

    /// Returns the events of the next records, each record's with what `extract` made of it; nothing behind the last record.
    pub(super) fn next_piece<T>(
        &mut self,
        mut extract: impl FnMut(&WalkedRecord) -> T,
    ) -> Result<Vec<(Vec<EventRecord>, T)>> {
        let mut extracted = Vec::new();
        let mut events = Vec::new();
        let mut bytes = 0;
        while events.len() < PIECE_EVENTS && bytes < PIECE_BYTES {
            let Some(record) = self.walk.next_record()? else {
                break;
            };
            bytes += record.span.len();
            extracted.push((record.views.len(), extract(&record)));
            let line = record.line;
            events.extend(record.views.into_iter().map(|view| (view, line)));
        }
        let mut records = self.completer.complete(events)?.into_iter();
        let with_events =
            |(count, part): (usize, T)| (records.by_ref().take(count).collect(), part);
        Ok(extracted.into_iter().map(with_events).collect())
    }
}

/// Events of a session in their order. Only a piece of them is in memory at a time.
pub struct Events<'m> {
    pieces: RecordPieces<'m>,
    ready: IntoIter<EventRecord>,
    has_ended: bool,
}

impl<'m> Events<'m> {
    pub(super) fn new(
        memory: &'m Memory,
        session: &'m SessionRow,
        range: EventRange,
    ) -> Result<Self> {
        Ok(Events {
            pieces: RecordPieces::new(memory, session, range)?,
            ready: IntoIter::default(),
            has_ended: false,
        })
    }
}

impl Iterator for Events<'_> {
    type Item = Result<EventRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.ready.next() {
                return Some(Ok(event));
            }
            if self.has_ended {
                return None;
            }
            let piece = self.pieces.next_piece(|_| ());
            self.has_ended = !piece.as_ref().is_ok_and(|piece| !piece.is_empty());
            match piece {
                Ok(piece) => {
                    let events: Vec<_> =
                        piece.into_iter().flat_map(|(events, ())| events).collect();
                    self.ready = events.into_iter();
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
