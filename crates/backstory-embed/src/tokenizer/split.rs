//! Cuts text into the pieces within which tokens are looked for.

use super::category::is_punctuation;
use super::pattern::first_word;
use super::settings::{Prepend, Splitter};

/// Gives every piece of a text to `emit`, in order. `is_start` says whether the text is the start of all.
pub(crate) fn split(
    splitters: &[Splitter],
    text: &str,
    is_start: bool,
    emit: &mut dyn FnMut(&str),
) {
    let Some((splitter, rest)) = splitters.split_first() else {
        if !text.is_empty() {
            emit(text);
        }
        return;
    };
    // Pieces are slices of the text, so that their place says whether one is the first.
    let mut next = |at: usize, piece: &str| {
        if !piece.is_empty() {
            split(rest, piece, is_start && at == 0, emit);
        }
    };
    match splitter {
        Splitter::Bert => {
            let mut start = 0;
            for (at, character) in text.char_indices() {
                let end = at + character.len_utf8();
                if character.is_whitespace() {
                    next(start, &text[start..at]);
                    start = end;
                } else if is_punctuation(character) {
                    next(start, &text[start..at]);
                    next(at, &text[at..end]);
                    start = end;
                }
            }
            next(start, &text[start..]);
        }
        Splitter::Whitespace => {
            let mut start = 0;
            for (at, character) in text.char_indices() {
                if character.is_whitespace() {
                    next(start, &text[start..at]);
                    start = at + character.len_utf8();
                }
            }
            next(start, &text[start..]);
        }
        Splitter::Metaspace {
            mark,
            prepend,
            split,
        } => {
            let mut marked = String::with_capacity(text.len() + mark.len_utf8());
            let wanted = match prepend {
                Prepend::Always => true,
                Prepend::First => is_start,
                Prepend::Never => false,
            };
            if wanted && !text.starts_with([' ', *mark]) && !text.is_empty() {
                marked.push(*mark);
            }
            marked.extend(text.chars().map(|c| if c == ' ' { *mark } else { c }));
            if *split {
                before_each(*mark, &marked, &mut next);
            } else {
                next(0, &marked);
            }
        }
        Splitter::Before(mark) => {
            let mut start = 0;
            for (at, _) in text.match_indices(*mark) {
                if at > start && !text[..at].ends_with(*mark) {
                    next(start, &text[start..at]);
                    start = at;
                }
            }
            next(start, &text[start..]);
        }
        Splitter::PrefixSpace => {
            if text.starts_with(' ') || text.is_empty() {
                next(0, text);
            } else {
                next(0, &format!(" {text}"));
            }
        }
        Splitter::Words(pattern) => {
            let mut at = 0;
            while at < text.len() {
                let length = first_word(*pattern, &text[at..]);
                next(at, &text[at..at + length]);
                at += length;
            }
        }
    }
}

/// Cuts before each mark; a mark is the start of what follows it.
fn before_each(mark: char, text: &str, next: &mut dyn FnMut(usize, &str)) {
    let mut start = 0;
    for (at, _) in text.match_indices(mark) {
        next(start, &text[start..at]);
        start = at;
    }
    next(start, &text[start..]);
}
