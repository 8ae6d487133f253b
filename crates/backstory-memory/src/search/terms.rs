//! What a query looks for, in terms of the index.

use std::collections::HashMap;

use backstory_store::{Part, TextIndex, words};

use super::query::{Atom, Need, Query};
use crate::error::Result;

/// A query may have so many terms; of a longer one the rarest count.
const MOST_TERMS: usize = 48;

/// A prefix stands for at most so many words, the most frequent ones.
const MOST_COMPLETIONS: usize = 40;

/// English words that say little. They still count a little: `what` matters in `what's new`.
const STOP_WORDS: &str = "a an and are as at be but by for from has have he i if in into is it its me my no not of on or our so such \
     that the their then there these they this to was we were what when which will with you your can do does did would could should \
     just also too how let s t ll re ve don";

/// One thing that is counted in every event.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    /// The words of the index that it stands for: one, or all that complete a prefix.
    pub(super) words: Vec<String>,
    /// Whether it says little.
    pub(super) stop: bool,
    /// Whether it is not what was typed but something like it.
    pub(super) corrected: bool,
    /// How many events say it.
    pub(super) frequency: u64,
    /// Whether the index has it at all, said or not.
    pub(super) known: bool,
}

/// All terms of a query.
#[derive(Debug, Clone, Default)]
pub(super) struct Terms {
    pub(super) terms: Vec<Term>,
    /// Terms that follow each other in the query: better if they do in the text.
    pub(super) pairs: Vec<(usize, usize)>,
    /// Which term a word is.
    by_word: HashMap<String, usize>,
    /// Beginnings of words, for words that the index does not know yet.
    prefixes: Vec<(String, usize)>,
}

impl Terms {
    /// The terms of a query. Prefixes are completed from the index.
    pub(super) fn new(query: &Query, index: Option<&TextIndex>) -> Result<Self> {
        let mut terms = Terms::default();
        let mut before = None;
        for clause in query
            .clauses
            .iter()
            .filter(|clause| clause.need != Need::Excluded)
        {
            for atom in &clause.any {
                match atom {
                    Atom::Word(word) => before = terms.follow(before, word),
                    Atom::Phrase(words) => {
                        before = None;
                        for word in words {
                            before = terms.follow(before, word);
                        }
                        before = None;
                    }
                    Atom::Prefix(prefix) => {
                        if let Some(term) = terms.add(complete(prefix, index)?, false) {
                            terms.prefixes.push((prefix.clone(), term));
                        }
                        before = None;
                    }
                }
            }
        }
        Ok(terms)
    }

    /// Whether no event has any of the words that tell something.
    pub(super) fn nothing_found(&self) -> bool {
        self.terms
            .iter()
            .all(|term| term.frequency == 0 || term.stop)
    }

    /// Which term a word of a text is.
    pub(super) fn of_word(&self, word: &str) -> Option<usize> {
        let completes =
            |(prefix, term): &(String, usize)| word.starts_with(prefix.as_str()).then_some(*term);
        let known = self.by_word.get(word).copied();
        known.or_else(|| self.prefixes.iter().find_map(completes))
    }

    /// Keeps the rarest terms of a query that has too many.
    pub(super) fn limit(&mut self) {
        if self.terms.len() <= MOST_TERMS {
            return;
        }
        let mut order: Vec<usize> = (0..self.terms.len()).collect();
        order.sort_by_key(|&at| (self.terms[at].frequency == 0, self.terms[at].frequency));
        order.truncate(MOST_TERMS);
        order.sort_unstable();
        let place = |old: usize| order.binary_search(&old).ok();
        self.pairs = std::mem::take(&mut self.pairs)
            .into_iter()
            .filter_map(|(a, b)| Some((place(a)?, place(b)?)))
            .collect();
        self.by_word
            .retain(|_, term| place(*term).map(|new| *term = new).is_some());
        self.prefixes
            .retain_mut(|(_, term)| place(*term).map(|new| *term = new).is_some());
        self.terms = order.iter().map(|&at| self.terms[at].clone()).collect();
    }

    /// Replaces a term that no event has by words like it.
    pub(super) fn correct(&mut self, term: usize, words: Vec<String>) {
        for word in &words {
            self.by_word.entry(word.clone()).or_insert(term);
        }
        self.terms[term].corrected = true;
        self.terms[term].words = words;
    }

    fn follow(&mut self, before: Option<usize>, word: &str) -> Option<usize> {
        let term = self.add(vec![word.to_string()], is_stop_word(word));
        if let (Some(before), Some(term)) = (before, term)
            && before != term
            && self.pairs.len() < 64
            && !self.pairs.contains(&(before, term))
        {
            self.pairs.push((before, term));
        }
        term
    }

    fn add(&mut self, words: Vec<String>, stop: bool) -> Option<usize> {
        let first = words.first()?;
        if let Some(known) = self.by_word.get(first) {
            return Some(*known);
        }
        let term = self.terms.len();
        for word in &words {
            self.by_word.entry(word.clone()).or_insert(term);
        }
        self.terms.push(Term {
            words,
            stop,
            corrected: false,
            frequency: 0,
            known: false,
        });
        Some(term)
    }
}

fn is_stop_word(word: &str) -> bool {
    thread_local! {
        static STEMS: std::collections::HashSet<String> = {
            let mut stems = std::collections::HashSet::new();
            words(STOP_WORDS, |word| { stems.insert(word.text.to_string()); });
            stems
        };
    }
    STEMS.with(|stems| stems.contains(word))
}

/// The words that begin with a prefix, and the prefix as a word itself: its ending may have been taken off.
fn complete(prefix: &str, index: Option<&TextIndex>) -> Result<Vec<String>> {
    let mut found: HashMap<String, u32> = HashMap::new();
    for segment in index.map(TextIndex::segments).unwrap_or_default() {
        for part in Part::ALL {
            segment.vocabulary(part, prefix, |word, frequency| {
                *found.entry(word.to_string()).or_default() += frequency;
                found.len() < 10_000
            })?;
        }
    }
    let mut found: Vec<(String, u32)> = found.into_iter().collect();
    found.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found.truncate(MOST_COMPLETIONS);
    let mut completions: Vec<String> = found.into_iter().map(|(word, _)| word).collect();
    words(prefix, |word| {
        if !completions.iter().any(|known| known == word.text) {
            completions.push(word.text.to_string());
        }
    });
    Ok(completions)
}
