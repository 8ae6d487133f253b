//! Questions that replies close with, and prompts that answer them.

use super::deciding::{FILLERS, STEP_VERBS, is_deliberation};
use super::said::{after_words, has_words, is_go_on, plain};
use crate::text;

/// Words that agree, or say who shall act, and nothing of what.
#[rustfmt::skip]
const AGREEING: &[&str] = &[
    "sounds good", "do it", "do that", "go ahead", "go for it", "yep", "approved", "correct", "exactly", "all of them", "to all", "to both", "both",
    "all", "can you", "could you", "you can", "i agree", "agreed", "it", "that", "this", "do", "let's", "lets", "i want you to",
];

/// Minimum number of words with which an answer says more than that the user agrees.
const MIN_ANSWER_WORDS: usize = 3;

/// Maximum number of bytes behind the question that a reply closes with.
const MAX_AFTER_QUESTION_BYTES: usize = 160;

/// Returns the question that a reply closes with.
pub(crate) fn closing_question(reply: &str) -> Option<String> {
    let prose: Vec<&str> = text::prose_lines(reply).collect();
    let reply = prose.join("\n");
    let reply = reply.trim_end();
    let end = reply.rfind('?')? + 1;
    let before = &reply[..end - 1];
    let stops = before.rmatch_indices(['.', '!', '?', '\n']);
    let start = stops.map(|(at, stop)| at + stop.len()).find(|start| {
        // A full stop in a name, or behind an abbreviation, ends no sentence.
        let ends = before[..*start].ends_with('\n') || before[*start..].starts_with([' ', '*']);
        ends && !["e.g.", "i.e.", "etc.", "vs."]
            .iter()
            .any(|short| before[..*start].ends_with(short))
    });
    let question = reply[start.unwrap_or(0)..end].trim();
    let question = question.trim_start_matches(['*', '-', '_', '#', '>', ' ']);
    let is_last = reply.len() - end <= MAX_AFTER_QUESTION_BYTES;
    (is_last && question.split_whitespace().count() >= 3).then(|| question.to_string())
}

/// Returns whether a prompt answers a question by more than that the user agrees, and neither asks nor orders the next step.
pub(crate) fn is_answer(prompt: &str, question: &str) -> bool {
    let plain = plain(prompt);
    let mut rest = plain.trim();
    let agreement = || FILLERS.iter().chain(AGREEING);
    while let Some(shorter) = agreement().find_map(|word| after_words(rest, word)) {
        rest = shorter.trim_start_matches([',', '.', '!', ':', ';', ' ', '-']);
    }
    let first = rest.split([' ', ',', '.', ':']).next().unwrap_or_default();
    if rest.split_whitespace().count() < MIN_ANSWER_WORDS {
        return names_alternative(&plain, question);
    }
    !rest.starts_with(['/', '<', '[', '@'])
        && !plain.contains('?')
        && !is_deliberation(&plain)
        && !asks_or_reports(rest)
        && !STEP_VERBS.contains(&first)
        && !repeats_offer(rest, question)
        && (rest.len() < plain.len() || is_about(&plain, question))
}

/// Returns whether a short answer is one of the things between which a question lets choose.
fn names_alternative(answer: &str, question: &str) -> bool {
    let question = question.to_lowercase();
    let answer = answer.trim_end_matches(['.', '!']);
    let is_step = STEP_VERBS
        .iter()
        .any(|verb| after_words(answer, verb).is_some());
    has_words(&question, "or")
        && answer.chars().any(char::is_alphabetic)
        && !is_go_on(answer)
        && !is_step
        && has_words(&question, answer)
}

/// Openings of questions that are written without their mark, and of reports of what happened.
#[rustfmt::skip]
const ASKING_OR_REPORTING: &[&str] = &[
    "why", "what", "how", "where", "when", "who", "which", "does", "did", "is there", "is it", "is that", "are there", "are we", "do we", "do you", "have you",
    "i did", "i've", "i have", "i had", "i was", "i am", "i'm", "i see", "i got", "i get", "we had", "we have", "we already", "it was", "it is", "this has",
    "this was", "there is", "there was", "there are",
];

/// Returns whether a text asks without a question mark, or reports something.
pub(super) fn asks_or_reports(plain: &str) -> bool {
    ASKING_OR_REPORTING
        .iter()
        .any(|words| after_words(plain, words).is_some())
}

/// Returns whether an answer only orders what the question offers to do.
fn repeats_offer(answer: &str, question: &str) -> bool {
    let question = question.to_lowercase();
    let offer = ["want me to ", "should i ", "shall i ", "like me to "]
        .iter()
        .find_map(|words| question.split_once(words));
    let verb = |text: &str| text.split([' ', ',', '.']).next().map(str::to_string);
    let limits = [
        "but",
        "instead",
        "only",
        "not",
        "separately",
        "without",
        "saying",
    ];
    offer.is_some_and(|(_, offer)| verb(offer) == verb(answer))
        && !limits.iter().any(|word| has_words(answer, word))
}

/// Returns whether an answer takes up a word of the question, or the question leaves it open.
fn is_about(answer: &str, question: &str) -> bool {
    let question = question.to_lowercase();
    let mut words = question.split(|letter: char| !letter.is_alphanumeric());
    let opens = ["or", "which", "what", "how"];
    let answers: Vec<&str> = (answer.split(|letter: char| !letter.is_alphanumeric()))
        .filter_map(stem)
        .collect();
    words
        .any(|word| opens.contains(&word) || stem(word).is_some_and(|stem| answers.contains(&stem)))
}

/// Returns the beginning of a word that says something.
fn stem(word: &str) -> Option<&str> {
    let end = word.char_indices().nth(4)?.0;
    Some(&word[..end])
}
