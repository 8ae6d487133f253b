//! Wording of decisions: clauses that decide, insist on something, or set a limit.

use super::said::{after_words, has_words, plain};
use super::sentence::sentences;

/// Words before a clause that say nothing.
#[rustfmt::skip]
pub(super) const FILLERS: &[&str] = &[
    "ok", "okay", "yes", "yeah", "no", "nope", "hmm", "and", "but", "also", "so", "well", "actually", "then", "please", "i think", "maybe",
    "that's fine", "great", "good", "now", "for now", "therefore", "thus", "btw", "perfect", "nice", "right", "sure", "instead",
];

/// Beginnings of clauses that decide or insist.
#[rustfmt::skip]
const DECIDING: &[&str] = &[
    "let's go with", "let's", "lets", "let us", "don't", "do not", "never", "always", "use", "keep", "go with", "prefer", "i prefer", "i'd prefer",
    "i would prefer", "i would", "i'd like", "i'd rather", "i want", "we want", "we should", "we shouldn't", "we must", "we need", "we don't",
    "it should", "it must", "that should", "this should", "they should", "there should", "should be", "make it", "make sure", "leave", "stay on",
    "skip", "drop", "only", "i like", "i never want", "i only want", "from now on", "no need", "remember", "stick with", "option", "i decided", "we decided", "it's fine",
    "delete", "avoid", "ignore", "defer", "revert", "not", "add only", "we can", "rename it", "call it", "ok for",
];

/// Words within a clause that do.
#[rustfmt::skip]
const INSISTING: &[&str] = &[
    "instead of", "rather than", "should not", "shouldn't", "must not", "must be", "no need to", "from now on", "by default", "is settled",
    "out of scope", "i would replace", "after each", "as you go", "each time", "every time", "whenever", "if there are", "should", "is fine", "we don't need",
    "i don't want", "i don't like", "make sure", "needs to be", "has to be", "redundant", "too specific", "too verbose", "not what i asked", "acceptable",
    "source of truth", "come back to it later", "follow-up", "separate feature", "i'll handle", "i will handle", "i'll do", "is not correct", "isn't correct",
    "not great",
];

/// Words that limit an order: without them it is a step of the work, with them it says how.
#[rustfmt::skip]
const LIMITING: &[&str] = &[
    "instead", "rather", "only", "and just", "without", "but not", "but keep", "but don't", "because", "bc", "for now", "no more than", "at most", "at least",
    "one at a time", "separate", "back", "ignore",
];

/// Openings with which an order is asked for politely.
const POLITE: &[&str] = &[
    "can you",
    "can we",
    "could you",
    "could we",
    "can it",
    "please",
    "let's",
    "lets",
];

/// First words of clauses that report or ask.
#[rustfmt::skip]
const REPORTING: &[&str] = &[
    "i", "i'm", "i've", "it", "it's", "the", "this", "that", "that's", "there", "there's", "they", "he", "she", "you", "we", "we're", "we've", "my", "our",
    "why", "what", "what's", "how", "when", "where", "who", "which", "is", "are", "was", "does", "do", "did", "has", "have", "if", "should", "would", "will",
    "in", "to", "on", "at", "for", "with", "as", "given", "by", "from", "each", "once", "like", "where", "also", "consider", "session", "both", "not", "seems", "looks", "still", "any", "no", "same", "sounds", "thanks", "tests", "lint", "mise", "because", "since",
];

/// Words of a first prompt that limit its work.
#[rustfmt::skip]
const LIMITS: &[&str] = &[
    "don't", "do not", "never", "always", "must", "must not", "make sure", "needs to be", "should not", "shouldn't", "i'll handle", "i will handle",
];

/// Words that limit it in an order.
#[rustfmt::skip]
const LIMITS_OF_ORDERS: &[&str] = &[
    "without", "instead of", "rather than", "should be", "only", "keep", "retained", "by default", "nothing", "simplest", "for now",
];

/// Verbs behind "let's" and the like that are a step of the work.
#[rustfmt::skip]
pub(super) const STEP_VERBS: &[&str] = &[
    "commit", "push", "continue", "run", "see", "check", "look", "try", "test", "start", "move", "proceed", "go", "review", "create", "open",
    "merge", "fix", "do", "take", "think", "talk", "know", "understand", "first", "you", "get", "have", "finish", "worry", "resume", "find",
    "figure", "investigate", "debug", "verify", "ask", "work", "brainstorm", "research", "explore", "analyze", "apply", "implement", "repair",
    "write", "show", "explain", "give", "update", "read", "list",
];

/// Returns whether the user thinks aloud.
pub(super) fn is_deliberation(plain: &str) -> bool {
    [
        "i wonder",
        "i'm considering",
        "i am considering",
        "not sure",
        "brainstorm",
        "i meant",
        "what do you think",
    ]
    .iter()
    .any(|words| has_words(plain, words))
}

/// Returns whether the user decides or insists on something.
pub fn is_decision(prompt: &str) -> bool {
    let plain = with_apostrophes(&plain(prompt));
    // Beside a question of which stand the options.
    if plain.contains('?') && has_words(&plain, "which") {
        return false;
    }
    let sentences = sentences(&plain).into_iter();
    sentences
        .filter(|sentence| !is_deliberation(sentence) && !is_pasted(sentence))
        .any(|sentence| {
            let clauses = sentence.split([',', ':', '(']);
            let clauses = clauses.filter(|clause| clause.chars().any(char::is_alphabetic));
            // Of a question the last clause asks.
            clauses
                .into_iter()
                .any(|clause| !clause.ends_with('?') && decides(clause) || limits_order(clause))
        })
}

/// Returns whether a sentence of a first prompt limits how its work is to be done.
pub(super) fn is_limit(sentence: &str) -> bool {
    let plain = with_apostrophes(&plain(sentence));
    let first = without_fillers(&plain)
        .split(' ')
        .next()
        .unwrap_or_default();
    let has = |words: &[&str]| words.iter().any(|words| has_words(&plain, words));
    !plain.ends_with('?')
        && !is_deliberation(&plain)
        && !asks(first)
        && (has(LIMITS) || !REPORTING.contains(&first) && has(LIMITS_OF_ORDERS))
}

/// Returns whether a sentence is of a review or of code, which people paste: they ask about it, and decide nothing by it.
fn is_pasted(sentence: &str) -> bool {
    let sentence = sentence.trim_start();
    let starts = ["+", "---", "//", "|", "consider ", "fail"];
    let has = ["severity", ", consider ", " consider "];
    starts.iter().any(|words| sentence.starts_with(words))
        || has.iter().any(|words| sentence.contains(words))
}

/// Returns a text with the apostrophes that people leave out.
fn with_apostrophes(plain: &str) -> String {
    let mut text = plain.to_string();
    for (without, with) in [
        ("dont ", "don't "),
        ("doesnt ", "doesn't "),
        ("shouldnt ", "shouldn't "),
        ("isnt ", "isn't "),
    ] {
        text = text.replace(without, with);
    }
    text
}

fn asks(word: &str) -> bool {
    [
        "why", "what", "how", "where", "who", "which", "should", "when", "is", "are", "does",
        "did", "would",
    ]
    .contains(&word)
}

/// Returns a clause without the words before it that say nothing.
fn without_fillers(clause: &str) -> &str {
    let mut rest = clause.trim();
    while let Some(shorter) = FILLERS.iter().find_map(|word| after_words(rest, word)) {
        rest = shorter;
    }
    rest
}

/// Returns whether a clause orders something and says how.
fn limits_order(clause: &str) -> bool {
    let mut rest = without_fillers(clause.trim_end_matches(['.', '!', '?', ';']));
    while let Some(shorter) = POLITE.iter().find_map(|words| after_words(rest, words)) {
        rest = without_fillers(shorter);
    }
    let first = rest.split(' ').next().unwrap_or_default();
    let words = rest.split(' ').count();
    first.starts_with(char::is_alphabetic)
        && words >= MIN_ORDER_WORDS
        && !REPORTING.contains(&first)
        && LIMITING.iter().any(|words| has_words(rest, words))
}

/// Minimum number of words of an order that says how.
const MIN_ORDER_WORDS: usize = 4;

fn decides(clause: &str) -> bool {
    let rest = without_fillers(clause);
    let first = rest.split(' ').next().unwrap_or_default();
    if asks(first) {
        return false;
    }
    let opening = DECIDING
        .iter()
        .filter_map(|words| Some((after_words(rest, words)?, *words)));
    let mut openings = opening.filter(|(object, words)| {
        let verb = object
            .trim_start_matches("to ")
            .trim_start_matches("you to ")
            .split(' ')
            .next()
            .unwrap_or_default();
        let is_order = !matches!(*words, "don't" | "do not" | "never" | "always");
        if *words == "keep" && verb == "going" {
            return false;
        }
        !(object.is_empty() || is_order && STEP_VERBS.contains(&verb))
    });
    // "It is back to 3 instead of 4" reports.
    let reports = ["it", "this", "that", "there", "the"].contains(&first);
    let insists = |words: &&str| {
        has_words(rest, words) && !(reports && ["instead of", "rather than"].contains(words))
    };
    openings.next().is_some() || INSISTING.iter().any(insists)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_told_from_steps_and_questions() {
        for said in [
            "let's go with option 2",
            "make the agent a free form field and just give an example",
            "update to 0.3.0 because somebody else merges 0.2.0",
            "there is new feedback, make sure you check it first",
            "hmm but panics are not great either, any other option?",
            "can you limit that to only the one branch?",
            "we dont support it",
            "the cli should handle that automatically",
            "do not add a second cache",
        ] {
            assert!(is_decision(said), "{said}");
        }
        for said in [
            "why does it fail?",
            "commit and push",
            "the test fails because the clock is shared",
            "should we do that without a flag?",
            "can you check the parser?",
            "I just merged main",
            "Consider wrapping the error instead of dropping it",
            "would it be easier to only use hooks",
            "I've done it - keep going",
        ] {
            assert!(!is_decision(said), "{said}");
        }
        assert!(is_limit("fix it without regressions") && !is_limit("why is it without a test?"));
    }
}
