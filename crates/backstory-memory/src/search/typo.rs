//! Words that are almost what was typed, for queries that find nothing.

use backstory_store::{Part, TextIndex, words};

use super::terms::Terms;
use crate::error::Result;

/// A shorter word is like too many others.
const SHORTEST: usize = 4;

/// A typo stands for at most so many words.
const MOST: usize = 3;

/// Gives every term that no event has the words most like it; false when there are none for any of them.
pub(super) fn correct(terms: &mut Terms, index: &TextIndex) -> Result<bool> {
    let mut corrected = false;
    for term in 0..terms.terms.len() {
        if terms.terms[term].known {
            continue;
        }
        let Some(word) = terms.terms[term].words.first().cloned() else {
            continue;
        };
        let mut similar = similar(&word, index)?;
        if similar.is_empty() {
            similar = halves(&word, index)?;
        }
        if !similar.is_empty() {
            terms.correct(term, similar);
            corrected = true;
        }
    }
    Ok(corrected)
}

/// The words of the index nearest to a word, the nearest and most frequent first. The first letter is hardly ever wrong.
fn similar(word: &str, index: &TextIndex) -> Result<Vec<String>> {
    let letters: Vec<char> = word.chars().collect();
    let mut found: Vec<(usize, std::cmp::Reverse<u32>, String)> = Vec::new();
    if letters.len() >= SHORTEST && letters.len() <= 32 {
        let most = if letters.len() < 8 { 1 } else { 2 };
        let first: String = letters[..1].iter().collect();
        for segment in index.segments() {
            for part in [Part::Said, Part::Called] {
                segment.vocabulary(part, &first, |candidate, frequency| {
                    if candidate.len().abs_diff(word.len()) <= most * 4
                        && let Some(distance) = distance(&letters, candidate, most)
                    {
                        match found.iter_mut().find(|(_, _, known)| known == candidate) {
                            Some((_, known, _)) => known.0 += frequency,
                            None => found.push((
                                distance,
                                std::cmp::Reverse(frequency),
                                candidate.to_string(),
                            )),
                        }
                    }
                    true
                })?;
            }
        }
    }
    found.sort();
    let nearest = found.first().map_or(0, |(distance, ..)| *distance);
    found.retain(|(distance, ..)| *distance == nearest);
    found.truncate(MOST);
    Ok(found.into_iter().map(|(_, _, word)| word).collect())
}

/// The two words of the index that a word is made of: `websocket` is `WebSocket` to others.
fn halves(word: &str, index: &TextIndex) -> Result<Vec<String>> {
    let known = |word: &str| -> Result<bool> {
        for segment in index.segments() {
            if segment.knows(word)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let seams = word
        .char_indices()
        .map(|(at, _)| at)
        .filter(|at| *at >= 3 && at + 3 <= word.len());
    for at in seams {
        let halves = vec![folded(&word[..at]), folded(&word[at..])];
        if known(&halves[0])? && known(&halves[1])? {
            return Ok(halves);
        }
    }
    Ok(Vec::new())
}

/// A word as the index has it.
fn folded(word: &str) -> String {
    let mut folded = String::new();
    words(word, |word| folded.push_str(word.text));
    folded
}

/// How many letters must be changed, added, left out or swapped with their neighbour, if not more than `most`.
fn distance(word: &[char], other: &str, most: usize) -> Option<usize> {
    let other: Vec<char> = other.chars().collect();
    if word.len().abs_diff(other.len()) > most {
        return None;
    }
    let mut before = vec![0; other.len() + 1];
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in word.iter().enumerate() {
        let mut next = vec![row + 1; other.len() + 1];
        for (column, theirs) in other.iter().enumerate() {
            let changed = last[column] + usize::from(letter != theirs);
            next[column + 1] = changed.min(last[column + 1] + 1).min(next[column] + 1);
            let swapped =
                row > 0 && column > 0 && word[row - 1] == *theirs && *letter == other[column - 1];
            if swapped {
                next[column + 1] = next[column + 1].min(before[column - 1] + 1);
            }
        }
        if next.iter().min().is_none_or(|least| *least > most) {
            return None;
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_of_typos() {
        let check = |word: &str, other: &str, expect: Option<usize>| {
            let letters: Vec<char> = word.chars().collect();
            assert_eq!(distance(&letters, other, 2), expect, "{word} {other}");
        };
        check("websocket", "websocket", Some(0));
        check("webscoket", "websocket", Some(1));
        check("websockt", "websocket", Some(1));
        check("websockkit", "websocket", Some(2));
        check("docker", "packet", None);
    }
}
