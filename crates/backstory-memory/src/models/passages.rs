//! Passages of an event that are compared by meaning: pieces of text short enough to be about one thing.

use backstory_event::{Event, Kind};
use backstory_store::Part;

use crate::searchable_text::searchable;

/// About how long a piece is, in bytes. An average over much more text is about nothing.
const LENGTH: usize = 700;

/// A shorter text says too little to be found by its meaning.
const SHORTEST: usize = 12;

/// An event has at most so many pieces.
const MOST: usize = 40;

/// The pieces of an event, in their order.
pub(crate) fn passages(event: &Event) -> Vec<String> {
    if event.kind == Kind::Summary {
        return Vec::new();
    }
    let said = &searchable(event)[Part::Said as usize];
    let pieces = pieces_of_text(said).into_iter();
    pieces.map(str::to_string).collect()
}

/// The pieces of a text, in their order; none of one that says too little.
pub(super) fn pieces_of_text(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text.trim();
    while rest.len() >= SHORTEST && pieces.len() < MOST {
        let (piece, after) = rest.split_at(end_of_piece(rest));
        pieces.push(piece.trim());
        rest = after.trim_start();
    }
    pieces
}

/// Returns the end of a piece: that of a paragraph, a line or a word, whichever comes last within its length.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::searchable_text::tests::{called, shown};

    /// No piece is longer: so much may be left over at the end.
    const LONGEST: usize = LENGTH * 5 / 4;

    fn of(text: &str) -> Vec<String> {
        passages(&shown(Kind::Prompt, text).event)
    }

    fn without_spaces(text: &str) -> String {
        text.split_whitespace().collect()
    }

    #[test]
    fn only_what_was_said_has_a_meaning() {
        assert_eq!(of("  fix the build, please\n"), ["fix the build, please"]);
        assert!(of("yes").is_empty() && of("").is_empty() && of(&" ".repeat(5_000)).is_empty());
        assert!(passages(&shown(Kind::Summary, "a summary of all that was said").event).is_empty());
        assert!(
            passages(&shown(Kind::ToolResult, "a result that is long enough").event).is_empty()
        );
        assert!(passages(&shown(Kind::System, "some text that was injected").event).is_empty());
        let task = called(
            "Task",
            r#"{"prompt": "look for leaks everywhere", "path": "src/and/so/on"}"#,
        );
        assert_eq!(passages(&task.event), ["look for leaks everywhere"]);
    }

    #[test]
    fn a_piece_ends_where_a_paragraph_does() {
        let paragraph = "word ".repeat(100);
        let text = format!("{paragraph}\n\nnext {paragraph}\n\nlast {paragraph}");
        let pieces = of(&text);
        assert_eq!(pieces.len(), 3, "{pieces:?}");
        assert!(
            pieces[1].starts_with("next") && pieces[2].starts_with("last"),
            "{pieces:?}"
        );
        let line = "x".repeat(500);
        assert_eq!(
            of(&format!("{line}\n{line}\n{line}")),
            [&*line, &*line, &*line]
        );
    }

    #[test]
    fn pieces_cover_any_text() {
        const PIECES: [&str; 12] = [
            "word",
            "é",
            "界",
            "🎉",
            " ",
            " ",
            "\n",
            "\n\n",
            "longer_word",
            ".",
            "\u{a0}",
            "\t",
        ];
        let mut state: u64 = 11;
        let mut next = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ((state >> 33) % below) as usize
        };
        for _ in 0..300 {
            let length = next(4_000);
            let text: String = (0..length).map(|_| PIECES[next(12)]).collect();
            let pieces = of(&text);
            assert!(
                pieces.iter().all(|piece| piece.len() <= LONGEST),
                "{text:?}"
            );
            assert!(
                pieces
                    .iter()
                    .all(|piece| piece.trim() == piece && !piece.is_empty()),
                "{text:?}"
            );
            let (all, covered) = (without_spaces(&text), without_spaces(&pieces.concat()));
            assert!(all.starts_with(&covered), "{text:?}");
            // A rest may be left that says nothing alone.
            assert!(all.len() - covered.len() < SHORTEST, "{text:?}");
        }
        let endless = of(&"界".repeat(LENGTH * MOST));
        assert!(endless.len() <= MOST && endless.iter().all(|piece| piece.len() <= LONGEST));
        assert!(endless.concat().len() > LENGTH * MOST / 2);
    }
}
