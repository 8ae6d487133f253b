//! Results: the sentences of replies that say what came of a session.

use backstory_event::{Seq, TurnNo};

use super::notes::{Last, Notes, What};
use super::sentence::{cut_at_word, plain_text, sentences};
use super::topic::Topic;
use crate::text;

/// Maximum length of a result in characters.
const MAX_RESULT_CHARACTERS: usize = 160;

/// Factors of a sentence's density: of one that only mentions a result, that names none, that is an item of a list, that is of an earlier
/// turn.
const MENTION_FACTOR: f32 = 0.6;
const NO_RESULT_FACTOR: f32 = 0.45;
const ITEM_FACTOR: f32 = 0.75;
const EARLIER_FACTOR: f32 = 0.75;

/// Sentence of a reply that says what came of a turn.
pub(super) struct ResultSentence {
    /// Its words.
    pub(super) text: String,
    /// The reply.
    pub(super) seq: Seq,
    /// Its turn.
    pub(super) turn: TurnNo,
    /// True if it tells what was done, and does not only mention it.
    pub(super) tells: bool,
    /// How much it says of the session's topic.
    pub(super) score: f32,
}

/// Returns the sentences that say what came of a session, those that say most first. Where anything was changed, only turns that changed
/// something count, and the last one; what was said while work went on does not.
pub(super) fn results(notes: &Notes, topic: &Topic) -> Vec<ResultSentence> {
    let edited: Vec<TurnNo> = (notes.steps.iter())
        .filter(|step| matches!(step.what, What::Edit { failed: false, .. }))
        .map(|step| step.turn)
        .collect();
    let last_turn = notes.steps.last().map(|step| step.turn);
    let mut results = Vec::new();
    for (at, step) in notes.steps.iter().enumerate() {
        let What::Reply(reply) = &step.what else {
            continue;
        };
        let is_last = Some(step.turn) == last_turn;
        let mut behind = notes.steps[at + 1..].iter();
        let mut behind = behind.by_ref().take_while(|other| other.turn == step.turn);
        // Replies before the turn's last announce what comes next.
        let is_interim = behind.any(|other| matches!(other.what, What::Reply(_)));
        let is_over = !is_last || notes.last == Some(Last::Reply);
        let changed = edited.is_empty() || edited.binary_search(&step.turn).is_ok();
        if is_interim || !is_over || !(is_last || changed) {
            continue;
        }
        let factor = if is_last { 1.0 } else { EARLIER_FACTOR };
        results.extend(result_sentences(reply).map(|(form, text)| ResultSentence {
            score: topic.density(&text) * form * factor,
            tells: form >= ITEM_FACTOR,
            text: cut_at_word(text::beginning(&text, 800), MAX_RESULT_CHARACTERS),
            seq: step.seq,
            turn: step.turn,
        }));
    }
    results.sort_by(|one, other| other.score.total_cmp(&one.score));
    results
}

/// Openings of sentences that say nothing of the result.
#[rustfmt::skip]
const EMPTY_OPENINGS: &[&str] = &[
    "done", "perfect", "great", "excellent", "all done", "good", "now let me", "let me", "i'll", "i will", "here's", "here is", "summary", "all tests pass",
    "you're right", "you're welcome", "now", "sure", "would you like", "want me to", "looking at", "yes", "no,", "this ", "that ", "these ", "it ", "both ",
    "the caller", "with ", "your previous", "linting", "both remaining", "i like", "i'd", "i would", "i'm ", "if you", "note", "memory is", "you ", "next ",
    "do you want", "if you like", "let's ", "by default", "before:", "after:", "key insight", "the changes are ready", "it's ", "everything ", "copying ", "cost ",
];

/// Verbs with which a sentence begins that says what was done.
#[rustfmt::skip]
pub(super) const RESULT_VERBS: &[&str] = &[
    "fixed", "added", "removed", "created", "updated", "implemented", "renamed", "moved", "changed", "replaced", "refactored", "simplified", "built",
    "wrote", "rewrote", "extracted", "merged", "resolved", "set up", "deleted", "split", "converted", "migrated", "documented", "enabled",
    "disabled", "corrected", "cleaned", "bumped", "upgraded", "switched", "reverted", "improved", "introduced", "wired", "restored", "identified",
    "expanded", "clarified", "installed", "released", "published", "rebased", "consolidated", "unified",
];

/// Words with which a sentence says what has changed.
#[rustfmt::skip]
const CHANGES: &[&str] = &[
    " no longer ", " is now ", " are now ", " now ", " is fixed", " are fixed", " was fixed", " has been ", " have been ", " was caused by ", " root cause ",
];

/// Words that say what came of something.
#[rustfmt::skip]
const RESULTS: &[&str] = &[
    "fixed", "added", "removed", "created", "updated", "implemented", "renamed", "moved", "changed", "replaced", "merged", "opened", "pushed",
    "committed", "deleted", "refactored", "simplified", "built", "installed", "released", "published", "verified", "confirmed", "found", "wrote",
    "i've", "no longer", "is now", "are now", "now ", "caused by", "the cause", "root cause", "because", "complete", "successfully", "works",
];

/// Returns the sentences of a reply that may say what came of it, each with the factor of its form.
fn result_sentences(reply: &str) -> impl Iterator<Item = (f32, String)> {
    // What stands below the heading of a list of things to do was not done.
    let mut is_plan = false;
    let lines = lines_and_headings(reply).filter(move |line| {
        if is_heading(line) {
            let lower = line.to_lowercase();
            is_plan = PLANS.iter().any(|words| lower.contains(words));
        }
        !is_plan
    });
    let lines = lines.filter(|line| !line.starts_with(['#', '|', '<', '>', '{', '❌']));
    let sentences = lines.flat_map(|line| {
        let is_item = line.starts_with(['-', '*', '•']) && !line.starts_with("**");
        let is_item = is_item || line.starts_with(|letter: char| letter.is_ascii_digit());
        let sentences = sentences(line).into_iter();
        sentences.map(move |sentence| (sentence, is_item))
    });
    sentences.filter_map(|(sentence, is_item)| {
        let sentence = sentence.trim_start_matches(['-', '*', '•', ' ', '✅', '✓']);
        let sentence = plain_text(sentence.trim());
        let sentence = behind_label(&sentence);
        let lower = sentence.to_lowercase();
        let is_empty = EMPTY_OPENINGS
            .iter()
            .any(|opening| lower.starts_with(opening) && (lower.len() < 40 || opening.len() > 4));
        let words = sentence.split(' ').count();
        let wide = sentence
            .chars()
            .filter(|letter| *letter as u32 >= 0x2e80)
            .count();
        let is_asking = sentence.ends_with(['?', ':']);
        let is_code = sentence.matches(['`', '{', '=', '"', '|']).count() * 3 > words
            || sentence.starts_with(['`', '"', '(', '[', '/'])
            || sentence.contains("http");
        // Long replies are kept without their middle.
        let is_torn = sentence.contains(" … ");
        // Part of a sentence, or a guess.
        let is_part = !tells_result(sentence)
            && sentence.starts_with(|first: char| first.is_ascii_lowercase())
            || sentence.matches('"').count() % 2 == 1
            || GUESSES.iter().any(|words| lower.contains(words));
        let has_length = (4..=60).contains(&words) || wide >= 6;
        let fits = !is_empty && !is_asking && !is_code && !is_torn && !is_part && has_length;
        // A sentence of its own says more than an item of a list.
        let form = if is_item { ITEM_FACTOR } else { 1.0 };
        let tells = tells_result(sentence) || CHANGES.iter().any(|words| lower.contains(words));
        let mentions = RESULTS.iter().any(|word| lower.contains(word));
        let form = match (tells, mentions) {
            (true, _) => form,
            (_, true) => form * MENTION_FACTOR,
            _ => form * NO_RESULT_FACTOR,
        };
        fits.then(|| (form, sentence.to_string()))
    })
}

/// Words of headings below which stands what is not done.
#[rustfmt::skip]
const PLANS: &[&str] = &[
    "to be added", "needs to be", "next step", "todo", "to do", "future", "follow-up", "recommend", "suggest", "option", "proposal", "proposed", "remaining", "not done",
    "plan", "missing", "what's left", "open question", "alternatives", "would need",
];

/// Words of guesses.
const GUESSES: &[&str] = &[
    " might have ",
    " might be ",
    " could be ",
    " may have ",
    "probably",
    "i suspect",
    "would be ",
];

/// Returns the lines of a reply that say something.
fn lines_and_headings(reply: &str) -> impl Iterator<Item = &str> {
    text::prose_lines(reply).filter(|line| !line.is_empty())
}

/// Returns whether a line is the heading of those that follow.
fn is_heading(line: &str) -> bool {
    line.starts_with('#')
        || line.starts_with("**")
            && (line.ends_with("**") || line.ends_with("**:") || line.ends_with(":**"))
        || line.ends_with(':') && !line.starts_with(['-', '*', '•'])
}

/// Returns whether a sentence begins with what was done.
pub(super) fn tells_result(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let lower = [
        "i've successfully ",
        "i have successfully ",
        "i've ",
        "i have ",
        "i ",
        "successfully ",
    ]
    .iter()
    .find_map(|opening| lower.strip_prefix(opening))
    .unwrap_or(&lower);
    RESULT_VERBS.iter().any(|verb| {
        let rest = lower.strip_prefix(verb);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

/// Maximum number of bytes of a label.
const MAX_LABEL_BYTES: usize = 90;

/// Returns what was done without the file or the number that it stands behind: `src/cart.rs — Added a clock` is `Added a clock`.
fn behind_label(sentence: &str) -> &str {
    let beginning = text::beginning(sentence, MAX_LABEL_BYTES);
    let rests = [" — ", " – ", " - ", ": "].iter().filter_map(|mark| {
        let end = beginning.find(mark)? + mark.len();
        Some(&sentence[end..])
    });
    let mut rests = rests.filter(|rest| tells_result(rest));
    if tells_result(sentence) {
        return sentence;
    }
    rests.next().unwrap_or(sentence)
}

#[cfg(test)]
mod tests {
    use super::super::Story;
    use super::*;
    use crate::conventions::KNOWN_AGENTS;

    #[test]
    fn the_sentence_that_tells_what_was_done_is_first() {
        let mut story = Story::default();
        story
            .prompt("the cart test is flaky")
            .tool("Edit", "/shop/src/cart.rs", backstory_event::Action::Write, None)
            .reply(
                "You may want to run the cart test.\n\nThe cart test raced because of the clock.\n\n\
                 - `src/cart.rs` — Replaced the wall clock of the cart by a fake one\n\
                 - The cart has a clock",
            );
        let topic = Topic::new(&story.notes, &KNOWN_AGENTS);
        let results = results(&story.notes, &topic);
        assert_eq!(
            results[0].text,
            "Replaced the wall clock of the cart by a fake one"
        );
        assert!(results[0].tells && !results[1].tells);
        assert!(results.iter().all(|result| !result.text.starts_with("You")));
    }
}
