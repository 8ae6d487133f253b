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
