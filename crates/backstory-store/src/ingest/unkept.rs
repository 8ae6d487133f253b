//! What of a chunk is not kept, though it was read: the bytes of events that were evicted.

use std::collections::HashMap;
use std::ops::Range;

use backstory_session::Span;
use rusqlite::Connection;

use crate::blocks::Packed;
use crate::error::Result;

/// What is not kept of the chunk at hand.
pub(super) struct Unkept {
    /// Whether any session is evicted at all; mostly none is, and nothing need be asked for each event.
    any_evicted: bool,
    /// Up to which event the sessions that were asked for are evicted.
    evicted: HashMap<i64, u64>,
    /// Records of the chunk whose bytes are not kept.
    spans: Vec<Span>,
    /// Those of events whose bytes are.
    kept: Vec<Span>,
}

impl Unkept {
    pub(super) fn new(connection: &Connection) -> Result<Self> {
        let query = "SELECT EXISTS (SELECT 1 FROM sessions WHERE evicted > 0)";
        Ok(Unkept {
            any_evicted: connection
                .prepare_cached(query)?
                .query_row([], |row| row.get(0))?,
            evicted: HashMap::new(),
            spans: Vec::new(),
            kept: Vec::new(),
        })
    }

    /// Takes note of an event whose bytes are kept.
    pub(super) fn keep(&mut self, span: Span) {
        if self.any_evicted {
            self.kept.push(span);
        }
    }

    /// Takes note of an event that is known: an evicted one must not come back with the bytes of its copy.
    pub(super) fn known(
        &mut self,
        connection: &Connection,
        session: i64,
        seq: u64,
        span: Span,
    ) -> Result<()> {
        if self.is_evicted(connection, session, seq)? {
            self.spans.push(span);
        } else {
            self.keep(span);
        }
        Ok(())
    }

    pub(super) fn is_evicted(
        &mut self,
        connection: &Connection,
        session: i64,
        seq: u64,
    ) -> Result<bool> {
        if !self.any_evicted {
            return Ok(false);
        }
        if let Some(evicted) = self.evicted.get(&session) {
            return Ok(seq <= *evicted);
        }
        let evicted: u64 = connection
            .prepare_cached("SELECT evicted FROM sessions WHERE id = ?1")?
            .query_row([session], |row| row.get(0))?;
        self.evicted.insert(session, evicted);
        Ok(seq <= evicted)
    }

    /// Takes what is not kept out of a chunk that begins at `start`; of one that has nothing else, everything.
    pub(super) fn take_out(&mut self, packed: Packed, start: u64) -> Result<Packed> {
        let spans = std::mem::take(&mut self.spans);
        let kept = std::mem::take(&mut self.kept);
        if spans.is_empty() {
            return Ok(packed);
        }
        if kept.is_empty() {
            let all = 0..packed.length as usize;
            return packed.blanked(&[all]);
        }
        // An event that is written over several records can enclose those of others.
        let overlap =
            |a: &Span, b: &Span| a.offset < b.offset + b.length && b.offset < a.offset + a.length;
        let ranges: Vec<Range<usize>> = spans
            .iter()
            .filter(|span| !kept.iter().any(|kept| overlap(span, kept)))
            .map(|span| {
                let from = span.offset.saturating_sub(start) as usize;
                from..from + span.length as usize
            })
            .collect();
        packed.blanked(&ranges)
    }
}
