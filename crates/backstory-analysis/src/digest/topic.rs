//! Topic of a session: the terms that its requests, answers, edits and commits share, each with a weight.
//!
//! A phrase is about the session if it has many of them. That finds the one sentence of many which says what was done, and tells requests
//! that say nothing ("fix the tests") from those that do.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::LazyLock;

use super::notes::{Notes, What};
use super::run_parts::{Purpose, deliveries};
use super::said;
use crate::{AgentConventions, text};

/// Maximum number of bytes that are read of a prompt, and of a reply.
const MAX_TEXT_BYTES: usize = 1_500;

/// Maximum number of steps that are read: the beginning of a session and its end.
const MAX_STEPS_AT_EACH_END: usize = 1_000;

/// Number of terms that a topic has: a phrase with the strongest so many covers all of it.
const TOPIC_TERMS: usize = 12;

/// Weights of the places in which a term occurs.
const FIRST_PROMPT_WEIGHT: f32 = 2.0;
const PROMPT_WEIGHT: f32 = 1.0;
const REPLY_WEIGHT: f32 = 0.7;
const FILE_WEIGHT: f32 = 1.0;
const COMMIT_WEIGHT: f32 = 1.5;

/// Words of phrases beyond which longer ones count less.
const SHORT_PHRASE_WORDS: usize = 8;

/// Words that are in sessions about anything.
#[rustfmt::skip]
static COMMON_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| HashSet::from([
    "the", "and", "but", "then", "else", "when", "while", "for", "with", "from", "into", "was", "were", "are", "been", "being", "its", "this", "thi", "that",
    "these", "those", "there", "here", "you", "they", "she", "our", "their", "your", "them", "did", "does", "doe", "doing", "done", "have", "has", "had",
    "having", "can", "could", "should", "would", "will", "may", "might", "must", "not", "yes", "too", "very", "just", "also", "only", "more", "most", "some",
    "any", "all", "each", "both", "few", "many", "much", "such", "own", "same", "than", "what", "which", "who", "where", "why", "how", "again", "once",
    "further", "now", "new", "like", "want", "need", "let", "please", "make", "made", "sure", "get", "got", "give", "take", "see", "look", "looking",
    "check", "add", "added", "adding", "fix", "fixed", "fixe", "fixing", "change", "changed", "changing", "update", "updated", "use", "used", "using", "run",
    "running", "create", "created", "remove", "removed", "implement", "implemented", "think", "know", "say", "said", "work", "worked", "working", "good",
    "right", "thing", "way", "one", "two", "first", "last", "next", "still", "already", "before", "after", "back", "out", "off", "over", "under", "about",
    "between", "because", "okay", "yeah", "hmm", "really", "seem", "something", "anything", "nothing", "everything", "code", "file", "test", "function",
    "line", "issue", "problem", "error", "pass", "passe", "passing", "commit", "branch", "main", "summary", "complete", "successfully", "correctly",
    "properly", "show", "call", "case", "review", "feedback", "comment", "following", "plan", "instead", "shouldn", "doesn", "isn", "don",
]));

/// Terms of a session, by what they weigh in it.
pub(super) struct Topic {
    weights: BTreeMap<String, f32>,
    /// Weight of the strongest terms together.
    total: f32,
}

impl Topic {
    /// Reads the topic out of the notes of a session.
    pub(super) fn new(notes: &Notes, agents: &AgentConventions) -> Self {
        // In an order of their own: sums of fractions depend on it, and two runs give the same.
        let mut counts: BTreeMap<String, f32> = BTreeMap::new();
        let mut add = |text: &str, weight: f32| {
            for term in terms(text) {
                *counts.entry(term).or_default() += weight;
            }
        };
        let mut is_first = true;
        let mut files: BTreeSet<&str> = BTreeSet::new();
        let last = notes.steps.len().saturating_sub(MAX_STEPS_AT_EACH_END);
        let of_ends = notes.steps.iter().enumerate();
        let of_ends = of_ends.filter(|(at, _)| *at < MAX_STEPS_AT_EACH_END || *at >= last);
        for (_, step) in of_ends {
            match &step.what {
                What::Prompt(prompt)
                    if said::is_of_a_person(prompt, agents) && !said::is_go_on(prompt) =>
                {
                    let weight = if is_first {
                        FIRST_PROMPT_WEIGHT
                    } else {
                        PROMPT_WEIGHT
                    };
                    is_first = false;
                    add(&prose(prompt), weight);
                }
                What::Reply(reply) => add(&prose(reply), REPLY_WEIGHT),
                What::Edit {
                    paths,
                    failed: false,
                    ..
                } => {
                    files.extend(paths.iter().map(|path| stem(path)));
                }
                _ => {}
            }
        }
        for file in files {
            add(file, FILE_WEIGHT);
        }
        for (_, part) in deliveries(notes).filter(|(_, part)| part.purpose == Purpose::Commit) {
            add(&part.name, COMMIT_WEIGHT);
        }
        let weights: BTreeMap<String, f32> = (counts.into_iter())
            .map(|(term, count)| (term, (1.0 + count).log2()))
            .collect();
        let mut strongest: Vec<f32> = weights.values().copied().collect();
        strongest.sort_by(|one, other| other.total_cmp(one));
        let total = strongest.iter().take(TOPIC_TERMS).sum::<f32>().max(1.0);
        Topic { weights, total }
    }

    /// Returns how much of the topic a phrase has for its length: 0 where it has none of it, about 1 where it is a title of it.
    pub(super) fn density(&self, phrase: &str) -> f32 {
        let found: f32 = terms(phrase)
            .iter()
            .filter_map(|term| self.weights.get(term))
            .sum();
        let words = phrase.split_whitespace().count().max(SHORT_PHRASE_WORDS);
        found / self.total / (0.5 + 0.04 * words as f32)
    }

    /// Returns how much of the topic a text has that others do not have, from 0 to 1 and more.
    pub(super) fn share_beside(&self, text: &str, others: &[&str]) -> f32 {
        let known: BTreeSet<String> = others
            .iter()
            .flat_map(|other| terms(&prose(other)))
            .collect();
        let new = terms(&prose(text))
            .into_iter()
            .filter(|term| !known.contains(term));
        new.filter_map(|term| self.weights.get(&term)).sum::<f32>() / self.total
    }
}

/// Returns the beginning of a text without code blocks and quotes.
fn prose(full: &str) -> String {
    let lines: Vec<&str> = text::prose_lines(text::beginning(full, MAX_TEXT_BYTES)).collect();
    lines.join("\n")
}

/// Returns the name of a file without its folder and extension.
fn stem(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name.split_once('.')
        .map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem })
}

/// Returns the different terms of a text: words, and the parts of identifiers, in lower case and without the plural's s. Scripts without
/// spaces give pairs of letters.
fn terms(text: &str) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    for word in text.split_whitespace().filter(|word| !word.contains("://")) {
        for part in word.split(|letter: char| !letter.is_alphanumeric()) {
            let letters: Vec<char> = part.chars().collect();
            let mut start = 0;
            for at in 1..=letters.len() {
                let is_end = at == letters.len()
                    || letters[at].is_uppercase() && !letters[at - 1].is_uppercase()
                    || is_wide(letters[at]) != is_wide(letters[at - 1]);
                if is_end {
                    add_term(&letters[start..at], &mut terms);
                    start = at;
                }
            }
        }
    }
    terms
}

fn add_term(letters: &[char], terms: &mut BTreeSet<String>) {
    if letters.first().copied().is_some_and(is_wide) {
        terms.extend(
            letters
                .windows(2)
                .map(|pair| pair.iter().collect::<String>()),
        );
        return;
    }
    let mut term: String = letters
        .iter()
        .flat_map(|letter| letter.to_lowercase())
        .collect();
    if letters.len() > 3 && term.ends_with('s') && !term.ends_with("ss") {
        term.pop();
    }
    let is_number = term.chars().all(char::is_numeric);
    if letters.len() >= 3 && !is_number && !COMMON_WORDS.contains(&term.as_str()) {
        terms.insert(term);
    }
}

fn is_wide(letter: char) -> bool {
    letter as u32 >= 0x2e80
}

#[cfg(test)]
mod tests {
    use super::super::Story;
    use super::*;
    use crate::conventions::KNOWN_AGENTS;

    #[test]
    fn identifiers_are_split_into_terms() {
        let mut found: Vec<String> = terms("getUserIDs in user_store.rs, https://x.y/z 設定する")
            .into_iter()
            .collect();
        found.sort();
        assert_eq!(found, ["ids", "store", "user", "する", "定す", "設定"]);
    }

    #[test]
    fn what_is_about_the_session_is_denser() {
        let mut story = Story::default();
        story
            .prompt("fix the failing tests please")
            .reply("Fixed the race in the cart checkout: the test clock was shared.")
            .prompt("does the cart need a clock of its own?")
            .reply("Yes, the cart checkout has its own clock now.");
        let topic = Topic::new(&story.notes, &KNOWN_AGENTS);
        let result = topic.density("Fixed the race in the cart checkout");
        assert!(result > 2.0 * topic.density("fix the failing tests please"));
        assert!(topic.density("Rewrote the billing report") < 0.01);
        assert!(topic.share_beside("the cart clock", &["the cart"]) > 0.1);
        assert!(topic.share_beside("the cart", &["the cart clock"]) < 0.01);
    }
}
