//! Doing again what agents did to files.

mod lane;
mod lines;
#[cfg(test)]
mod tests;

use backstory_session::FileEdit;
use backstory_store::{BlockReader, EventRow, Store};

pub(crate) use lane::Lane;
pub(crate) use lines::{Interner, Line, filled};

use crate::error::Result;

/// What a call that was answered did to files. The answer knows more than the call, if it tells anything.
pub(crate) fn edits_of(
    store: &Store,
    bytes: &mut BlockReader<'_>,
    agent: &str,
    call: &EventRow,
    result: &EventRow,
) -> Result<Vec<FileEdit>> {
    let Some(reader) = backstory_session::reader(agent) else {
        return Ok(Vec::new());
    };
    for event in [result, call] {
        let span = match bytes.read(event.stream, event.span.offset, event.span.length) {
            Ok(span) => span,
            // What a damaged event did is not known.
            Err(backstory_store::Error::DamagedPiece(damage)) => {
                store.meet_damage([*damage]);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let edits = reader.edits(&span, event.span.part);
        if !edits.is_empty() {
            return Ok(edits);
        }
    }
    Ok(Vec::new())
}
