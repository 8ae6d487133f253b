//! Taking English endings off, and off English words only.

use std::cell::RefCell;
use std::collections::HashMap;

use frostem::{Algorithm, Stemmer};

/// Words that have been seen are not stemmed again: logs repeat themselves. Past this many the memory begins anew.
const MOST_REMEMBERED: usize = 1 << 14;

/// A longer run of letters is no English word.
const LONGEST: usize = 24;

thread_local! {
    static REMEMBERED: RefCell<HashMap<String, String>> = RefCell::new(HashMap::new());
}

/// Takes the ending off a word in lower case. What has digits or other letters than English in it is a name: it stays.
pub(super) fn stem(word: &mut String) {
    let english = |byte: u8| byte.is_ascii_lowercase();
    if word.len() < 3 || word.len() > LONGEST || !word.bytes().all(english) {
        return;
    }
    REMEMBERED.with_borrow_mut(|remembered| {
        if let Some(stem) = remembered.get(word.as_str()) {
            word.clear();
            word.push_str(stem);
            return;
        }
        let stem = Stemmer::new(Algorithm::English).stem(word).to_string();
        if remembered.len() >= MOST_REMEMBERED {
            remembered.clear();
        }
        remembered.insert(std::mem::replace(word, stem.clone()), stem);
    });
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
        let long = "s".repeat(LONGEST + 1);
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
        for number in 0..MOST_REMEMBERED + 10 {
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
