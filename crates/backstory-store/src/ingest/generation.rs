//! Events that a new generation of a file repeats: the newest text counts.
//!
//! A log that was edited keeps the ids of its records, so their events are known. They move to the new generation all the same,
//! or words that were edited in would never be found. What the older generation held stays stored with it, and events that the
//! new one lacks stay where they are.

use backstory_event::{Event, Kind, Seq, SessionId, Span, StreamId, Title, TurnNo};
use rusqlite::OptionalExtension;

use super::{Batch, Chunk};
use crate::blocks::BlockReader;
use crate::error::Result;

/// An event that moved from an older generation of its file to the one that is being read.
pub(super) struct Moved {
    session: SessionId,
    seq: Seq,
    old_stream: StreamId,
    old_span: Span,
    event: Event,
}

impl Batch<'_> {
    /// Moves an event that this session already has to a new generation of its file.
    pub(super) fn move_event(
        &mut self,
        (session, seq): (SessionId, Seq),
        event: &Event,
        stream: StreamId,
    ) -> Result<()> {
        if !self.is_later_generation(stream)? {
            return Ok(());
        }
        let query = "SELECT stream, offset, length, part FROM events WHERE session = ?1 AND seq = ?2 AND kind = ?3 AND stream IN \
             (SELECT older.id FROM streams JOIN streams AS older ON older.source = streams.source AND older.id < streams.id \
              WHERE streams.id = ?4)";
        let row = |row: &rusqlite::Row<'_>| {
            let span = Span {
                offset: row.get(1)?,
                length: row.get(2)?,
                part: row.get(3)?,
            };
            Ok((row.get(0)?, span))
        };
        let found = self
            .transaction
            .prepare_cached(query)?
            .query_row((session, seq, event.kind, stream), row)
            .optional()?;
        let Some((old_stream, old_span)) = found else {
            return Ok(());
        };
        self.place_event(session, seq, event, stream)?;
        self.moved.push(Moved {
            session,
            seq,
            old_stream,
            old_span,
            event: event.clone(),
        });
        Ok(())
    }

    /// Takes note of which events of a chunk have other text than in the older generation.
    pub(super) fn compare_moved(&mut self, chunk: &Chunk<'_>) -> Result<()> {
        if self.moved.is_empty() {
            return Ok(());
        }
        let moved = std::mem::take(&mut self.moved);
        let bytes = match &chunk.packed {
            Some(packed) => packed.bytes()?,
            None => Vec::new(),
        };
        let start = chunk.cursor.stored - bytes.len() as u64;
        let mut changed = Vec::new();
        let mut reader = BlockReader::new(&self.transaction);
        for moved in moved {
            let span = moved.event.span;
            let from = span.offset.saturating_sub(start) as usize;
            let new = bytes.get(from..from.saturating_add(span.length as usize));
            // Of an event that is written over several records only the first was read yet; the others lengthen it.
            let length = span.length.min(moved.old_span.length);
            let old = reader.read(moved.old_stream, moved.old_span.offset, length);
            if old.ok().as_deref() != new {
                changed.push(moved);
            }
        }
        for moved in changed {
            self.update_event(chunk.agent, moved)?;
        }
        Ok(())
    }

    fn update_event(&mut self, agent: &'static str, moved: Moved) -> Result<()> {
        let Moved {
            session,
            seq,
            event,
            ..
        } = moved;
        let turn: TurnNo = self
            .transaction
            .prepare_cached(
                "UPDATE events SET error = ?3, exit_code = ?4, duration_ms = ?5, command = ?6 WHERE session = ?1 AND seq = ?2 \
                 RETURNING turn",
            )?
            .query_row(
                (
                    session,
                    seq,
                    event.error.then_some(1),
                    event.exit_code,
                    event.duration_ms,
                    super::moving_command(&event),
                ),
                |row| row.get(0),
            )?;
        self.transaction
            .prepare_cached("DELETE FROM touches WHERE session = ?1 AND seq = ?2")?
            .execute((session, seq))?;
        for touch in &event.touches {
            self.touch(session, seq, &touch.path, touch.action)?;
        }
        if event.kind == Kind::Prompt && turn == TurnNo::FIRST {
            let session = self.session(agent, &event.session)?;
            session.entitle(&Title::Prompt(event.body.text.clone()));
        }
        self.mark_text_changed(session, seq)
    }

    fn is_later_generation(&mut self, stream: StreamId) -> Result<bool> {
        if let Some((known, is_later)) = self.generation
            && known == stream
        {
            return Ok(is_later);
        }
        let query = "SELECT generation > 0 FROM streams WHERE id = ?1";
        let is_later = self
            .transaction
            .prepare_cached(query)?
            .query_row([stream], |row| row.get(0))?;
        self.generation = Some((stream, is_later));
        Ok(is_later)
    }
}
