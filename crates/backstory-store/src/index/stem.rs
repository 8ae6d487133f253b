//! Taking English endings off, and off English words only.

use std::cell::RefCell;

use frostem::{Algorithm, Stemmer};

/// A longer run of letters is no English word.
const MAX_WORD_BYTES: usize = 24;

/// Number of words that are remembered with their stems: logs repeat themselves. Each has its place, and gives way to the next one there.
const REMEMBERED_WORDS: usize = 1 << 13;

/// A word, filled up with zeros.
type Letters = [u8; MAX_WORD_BYTES];

thread_local! {
    static REMEMBERED: RefCell<Vec<(Letters, Letters)>> = const { RefCell::new(Vec::new()) };
}

/// Takes the ending off a word in lower case. What has digits or other letters than English in it is a name: it stays.
pub(super) fn stem(word: &mut String) {
    if word.len() < 3 {
        return;
    }
    let Some(letters) = letters(word) else {
        return;
    };
    REMEMBERED.with_borrow_mut(|remembered| {
        if remembered.is_empty() {
            remembered.resize(REMEMBERED_WORDS, Default::default());
        }
        let Some((known, stem)) = remembered.get_mut(place(&letters)) else {
            return;
        };
        if *known != letters {
            let stemmed = Stemmer::new(Algorithm::English).stem(word).to_string();
            match self::letters(&stemmed) {
                Some(stemmed) => (*known, *stem) = (letters, stemmed),
                None => *word = stemmed,
            }
        }
        if *known == letters {
            let length = stem.iter().position(|byte| *byte == 0);
            let stem = stem.get(..length.unwrap_or(MAX_WORD_BYTES));
            word.clear();
            word.push_str(
                stem.and_then(|stem| std::str::from_utf8(stem).ok())
                    .unwrap_or_default(),
            );
        }
    });
}

/// Returns the letters of a word that may be English.
fn letters(word: &str) -> Option<Letters> {
    let mut letters = Letters::default();
    let room = letters.get_mut(..word.len())?;
    room.copy_from_slice(word.as_bytes());
    room.iter().all(u8::is_ascii_lowercase).then_some(letters)
}

/// Returns the place of a word among those that are remembered.
fn place(letters: &Letters) -> usize {
    let (parts, _) = letters.as_chunks::<8>();
    let mixed = parts.iter().fold(0_u64, |mixed, part| {
        (mixed.rotate_left(5) ^ u64::from_le_bytes(*part)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    (mixed >> (u64::BITS - REMEMBERED_WORDS.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stemmed(word: &str) -> String {
        let mut word = word.to_string();
        stem(&mut word);
        word
    }

    #[test]
    fn forms_of_a_word_are_one() {
        for forms in [
            "test tests testing tested",
            "migration migrations migrate migrating",
            "deploy deploys deployed deployment",
            "query queries",
        ] {
            let stems: Vec<String> = forms.split(' ').map(stemmed).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{stems:?}");
        }
        assert_ne!(stemmed("tests"), stemmed("texts"));
    }

    #[test]
    fn names_stay_as_they_are() {
        let long = "s".repeat(MAX_WORD_BYTES + 1);
        for name in [
            "is",
            "as",
            "s",
            "",
            "utf8s",
            "x64",
            "naïves",
            "тесты",
            "UPPERS",
            "a_ings",
            &long,
        ] {
            assert_eq!(stemmed(name), name);
        }
    }

    #[test]
    fn a_full_memory_forgets_nothing_that_counts() {
        let letter = |number: usize| char::from(b'a' + (number % 26) as u8);
        for number in 0..3 * REMEMBERED_WORDS {
            let word: String = [1, 26, 676, 17_576]
                .iter()
                .map(|step| letter(number / step))
                .collect();
            stemmed(&word);
        }
        assert_eq!(stemmed("running"), "run");
        assert_eq!(stemmed("running"), "run");
    }
}
