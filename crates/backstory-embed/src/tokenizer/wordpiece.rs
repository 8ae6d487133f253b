//! WordPiece: from the start of a word the longest token there is, then on from its end.

use super::vocabulary::{Hash, Vocabulary};

/// The tokens of a word, or `unknown` alone where a part of it has no token.
pub(crate) fn encode(
    vocabulary: Vocabulary<'_>,
    word: &str,
    (unknown, prefix, most_characters, longest): (u32, &str, usize, usize),
    tokens: &mut Vec<u32>,
) {
    let first = tokens.len();
    // Counting stops early: a word may be a megabyte of base64.
    if word.chars().take(most_characters.saturating_add(1)).count() > most_characters {
        tokens.push(unknown);
        return;
    }
    let mut ends: Vec<(usize, Hash)> = Vec::new();
    let mut start = 0;
    while start < word.len() {
        let prefix = if start == 0 { "" } else { prefix };
        let rest = &word[start..];
        let mut hash = Hash::new().with(prefix.as_bytes());
        ends.clear();
        for (at, character) in rest.char_indices() {
            let end = at + character.len_utf8();
            if prefix.len() + end > longest {
                break;
            }
            hash = hash.with(&rest.as_bytes()[at..end]);
            ends.push((end, hash));
            if !vocabulary.may_go_on(hash) {
                break;
            }
        }
        let found = ends.iter().rev().find_map(|(end, hash)| {
            let id = vocabulary.find_parts(prefix.as_bytes(), &rest.as_bytes()[..*end], *hash)?;
            Some((*end, id))
        });
        let Some((end, id)) = found else {
            tokens.truncate(first);
            tokens.push(unknown);
            return;
        };
        tokens.push(id);
        start += end;
    }
}
