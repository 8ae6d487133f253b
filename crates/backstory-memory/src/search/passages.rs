//! What of an event is compared by meaning: pieces of what was said, short enough to be about one thing.

use backstory_session::Kind;
use backstory_store::Part;

use super::document::searchable;
use crate::read::ShownEvent;

/// About how long a piece is, in bytes. An average over much more text is about nothing.
const LENGTH: usize = 700;

/// A shorter text says too little to be found by its meaning.
const SHORTEST: usize = 12;

/// An event has at most so many pieces.
const MOST: usize = 40;

/// The pieces of an event, in their order.
pub(super) fn passages(event: &ShownEvent) -> Vec<String> {
    if event.row.kind == Kind::Summary {
        return Vec::new();
    }
    let said = &searchable(&event.into())[Part::Said as usize];
    let mut pieces = Vec::new();
    let mut rest = said.trim();
    while rest.len() >= SHORTEST && pieces.len() < MOST {
        let (piece, after) = rest.split_at(end_of_piece(rest));
        pieces.push(piece.trim().to_string());
        rest = after.trim_start();
    }
    pieces
}

/// Where a piece ends: at the end of a paragraph, a line or a word, whichever comes last within its length.
fn end_of_piece(text: &str) -> usize {
    if text.len() <= LENGTH * 5 / 4 {
        return text.len();
    }
    let mut end = LENGTH;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let from = text[..end]
        .char_indices()
        .rev()
        .find(|(at, _)| *at <= LENGTH / 2)
        .map_or(0, |(at, _)| at);
    let window = &text[from..end];
    ["\n\n", "\n", " "]
        .into_iter()
        .find_map(|seam| window.rfind(seam))
        .map_or(end, |at| from + at.max(1))
}
