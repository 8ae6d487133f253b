//! Events that are found again, because the stream that they lay in is damaged.

use backstory_session::Event;

use super::Batch;
use crate::error::Result;

impl Batch<'_> {
    /// Lets an event that lies in a damaged stream lie where it was found again, and has everything made of it made again.
    pub(super) fn move_from_damaged(
        &mut self,
        session: i64,
        seq: u64,
        event: &Event,
        stream: i64,
    ) -> Result<()> {
        if self.damaged.is_empty() || self.damaged.contains(&stream) {
            return Ok(());
        }
        let moved = self
            .transaction
            .prepare_cached(
                "UPDATE events SET stream = ?3, offset = ?4, length = ?5, part = ?6 WHERE session = ?1 AND seq = ?2 \
                 AND stream IN (SELECT stream FROM damaged WHERE tried = 1)",
            )?
            .execute((
                session,
                seq,
                stream,
                event.span.offset,
                event.span.length,
                event.span.part,
            ))?;
        if moved > 0 {
            self.link_stream(session, stream)?;
            self.mark_text_changed(session, seq)?;
        }
        Ok(())
    }
}
