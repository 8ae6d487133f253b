//! Seed phrases of wallets: twelve to twenty-four small words, and only where something says that this is one.

use std::ops::Range;

use super::assignment::assignment;
use super::examined::examined;
use super::rule::Found;
use super::search::Search;

/// The phrase assigned to the name at `hit`.
pub(super) fn phrase(search: &mut Search<'_>, hit: &Range<usize>) -> Option<Found> {
    let found = assignment(search, hit)?;
    (found.quoted && search.judge_value(&found.value, |_, value| is_seed_phrase(value)))
        .then(|| Found::plain(found.value))
}

fn is_seed_phrase(value: &[u8]) -> bool {
    examined(value.len() * 3);
    let words: Vec<&[u8]> = value
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty())
        .collect();
    let plain = words
        .iter()
        .all(|word| (3..=8).contains(&word.len()) && word.iter().all(u8::is_ascii_lowercase));
    // Prose is told apart by its small words: no word of a seed phrase is one of these.
    let prose = words.iter().any(|word| {
        ["the", "and", "for", "you", "your", "are", "not", "from"]
            .iter()
            .any(|small| small.as_bytes() == *word)
    });
    plain && !prose && matches!(words.len(), 12 | 15 | 18 | 21 | 24)
}
