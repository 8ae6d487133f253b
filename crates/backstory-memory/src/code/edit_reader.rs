//! Reading what agents did to files from the store.

use backstory_event::{EventBody, EventView, FileEdit, StreamId};
use backstory_store::{BlockReader, Store};

use super::fresh_edits::{FreshEdits, KnownEdits};
use crate::error::Result;
use crate::read::unless_damaged;

/// Reads what tool calls did to files.
pub(crate) struct EditReader<'s> {
    store: &'s Store,
    /// Edits that need not be read.
    fresh: Option<&'s FreshEdits>,
    bytes: BlockReader<'s>,
    /// The last record of a result and the last record of a call, with their places: one record may hold thousands of calls, and
    /// parsing it for each of them would take quadratic time.
    parsed: [Option<ParsedSpan>; 2],
}

struct ParsedSpan {
    place: (StreamId, u64, u64),
    bodies: Vec<(u16, EventBody)>,
}

impl<'s> EditReader<'s> {
    pub(crate) fn new(store: &'s Store) -> Self {
        EditReader {
            store,
            fresh: None,
            bytes: store.bytes(),
            parsed: [None, None],
        }
    }

    /// Reads only what is not among fresh edits; of these, edits of source files.
    pub(crate) fn with_fresh(store: &'s Store, fresh: &'s FreshEdits) -> Self {
        EditReader {
            fresh: Some(fresh),
            ..EditReader::new(store)
        }
    }

    /// Returns what a call that was answered did to files. The answer knows more than the call, if it tells anything.
    pub(crate) fn edits(
        &mut self,
        agent: &str,
        call: &EventView<'_>,
        result: &EventView<'_>,
    ) -> Result<Vec<FileEdit>> {
        let Some(reader) = backstory_agents::reader(agent) else {
            return Ok(Vec::new());
        };
        for (event, parsed) in [result, call].into_iter().zip(&mut self.parsed) {
            let known = self
                .fresh
                .map(|fresh| fresh.of_event(event.session, event.seq));
            match known {
                Some(KnownEdits::Edits(edits)) => return Ok(edits),
                Some(KnownEdits::Nothing) => continue,
                Some(KnownEdits::Unknown) | None => {}
            }
            let span = event.event.span;
            let place = (event.stream, span.offset, span.length);
            if parsed.as_ref().is_none_or(|parsed| parsed.place != place) {
                let bytes = self.bytes.read(place.0, place.1, place.2);
                // What a damaged event did is not known.
                let bodies = reader.reread(&unless_damaged(self.store, bytes)?);
                *parsed = Some(ParsedSpan { place, bodies });
            }
            // Most records have one event with edits, which hold whole files: they are given away, and the record is forgotten.
            if let Some(ParsedSpan { bodies, .. }) = parsed
                && let [(part, body)] = &mut bodies[..]
            {
                if *part == span.part && !body.edits.is_empty() {
                    let edits = std::mem::take(&mut body.edits);
                    *parsed = None;
                    return Ok(edits);
                }
                continue;
            }
            let bodies = parsed.iter().flat_map(|parsed| &parsed.bodies);
            let mut edits = bodies
                .filter(|(part, _)| *part == span.part)
                .map(|(_, body)| &body.edits);
            if let Some(edits) = edits.find(|edits| !edits.is_empty()) {
                return Ok(edits.clone());
            }
        }
        Ok(Vec::new())
    }
}
