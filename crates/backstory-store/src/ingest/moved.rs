//! Events that are found again, because the stream that they lay in is damaged.

use backstory_event::{Event, Seq, SessionId, StreamId};

use super::Batch;
use crate::error::Result;

impl Batch<'_> {
    /// Lets an event that lies in a damaged stream lie where it was found again, and has everything made of it made again.
    pub(super) fn move_from_damaged(
        &mut self,
        session: SessionId,
        seq: Seq,
        event: &Event,
        stream: StreamId,
    ) -> Result<()> {
        if self.damaged.is_empty() || self.damaged.contains(&stream) {
            return Ok(());
        }
        let query = "SELECT EXISTS (SELECT 1 FROM events WHERE session = ?1 AND seq = ?2 \
             AND stream IN (SELECT stream FROM damaged WHERE tried = 1))";
        let is_damaged: bool = self
            .transaction
            .prepare_cached(query)?
            .query_row((session, seq), |row| row.get(0))?;
        if is_damaged {
            self.place_event(session, seq, event, stream)?;
            self.mark_text_changed(session, seq)?;
        }
        Ok(())
    }

    /// Lets a stored event lie where it was found in a stream.
    pub(super) fn place_event(
        &mut self,
        session: SessionId,
        seq: Seq,
        event: &Event,
        stream: StreamId,
    ) -> Result<()> {
        let update = "UPDATE events SET stream = ?3, offset = ?4, length = ?5, part = ?6 WHERE session = ?1 AND seq = ?2";
        let span = event.span;
        self.transaction.prepare_cached(update)?.execute((
            session,
            seq,
            stream,
            span.offset,
            span.length,
            span.part,
        ))?;
        self.link_stream(session, stream)
    }
}
