//! One-sentence summary of a session: what was asked, what came of it and what is left.

use backstory_event::Seq;

use super::Statement;
use super::notes::{Notes, Step, What};
use super::outcome::Outcome;
use super::run_parts::{Purpose, deliveries};
use super::title::{cut_at_word, plain_text, sentences, title};
use crate::{AgentConventions, text};

/// Maximum length of the result in a summary, in characters.
const MAX_RESULT_CHARACTERS: usize = 140;

/// Returns the session in one sentence: what it was about, what came of it, what is open.
pub(super) fn headline(
    notes: &Notes,
    outcome: Outcome,
    open: &[Statement],
    agents: &AgentConventions,
) -> Option<Statement> {
    let about = title(notes, agents)?;
    let (result, events) = result(notes, outcome);
    let open = open
        .first()
        .map(|open| format!("; open: {}", cut_at_word(&open.text, 90)));
    let text = format!("{about}: {result}{}", open.unwrap_or_default());
    Some(Statement {
        text,
        turn: None,
        events,
    })
}

/// Returns what came of a session: what its last answer says, else what was delivered or how it ended.
fn result(notes: &Notes, outcome: Outcome) -> (String, Vec<Seq>) {
    let reply = notes.steps.iter().rev().find_map(|step| match &step.what {
        What::Reply(text) => Some((step, text)),
        _ => None,
    });
    // What is not done yet is not what came of it.
    let is_over = matches!(outcome, Outcome::Success | Outcome::Planned);
    let reply = reply.filter(|_| is_over);
    let has_edits = |step: &&Step| matches!(step.what, What::Edit { failed: false, .. });
    let edits = notes.steps.iter().filter(has_edits).count();
    let sentence = reply.and_then(|(step, text)| {
        // Where nothing was changed, the answer itself is the result.
        let sentence =
            result_sentence(text).or_else(|| (edits == 0).then(|| answer(text)).flatten())?;
        Some((sentence, step.seq))
    });
    let delivered = deliveries(notes).last();
    let ending = match outcome {
        Outcome::Success | Outcome::Unknown => None,
        Outcome::Partial => Some("not all of it done"),
        Outcome::Failed => Some("it did not work"),
        Outcome::Abandoned => Some("stopped in the middle"),
        Outcome::Planned => Some("planned, not built"),
        Outcome::Running => Some("its log ends in the middle of work"),
    };
    let commits = deliveries(notes)
        .filter(|(_, part)| part.purpose == Purpose::Commit)
        .count();
    let mut parts: Vec<String> = Vec::new();
    let mut events = Vec::new();
    if let Some((seq, part)) = delivered {
        events.push(seq);
        parts.push(match (part.purpose, part.said.as_deref()) {
            (Purpose::PullRequest, Some(address)) => format!("opened {address}"),
            (Purpose::Merge, _) => "merged".to_string(),
            (Purpose::Release, _) => format!("released {}", part.name),
            (Purpose::Commit, Some(commit)) if commits == 1 => format!("committed {commit}"),
            _ if commits > 1 => format!("{commits} commits"),
            (Purpose::Push, _) => "pushed".to_string(),
            _ => "committed".to_string(),
        });
    }
    let delivered_nothing = parts.is_empty();
    let sentence_is_missing = sentence.is_none();
    if let Some((sentence, seq)) = sentence {
        let repeats = !delivered_nothing
            && ["opened", "pushed", "committed", "merged", "created pr"]
                .iter()
                .any(|word| sentence.to_lowercase().starts_with(word));
        if !repeats {
            events.push(seq);
            parts.push(sentence);
        }
    }
    if let Some(ending) = ending {
        parts.insert(0, ending.to_string());
    }
    if sentence_is_missing
        && delivered_nothing
        && let Some((text, seq)) = changed(notes)
    {
        events.push(seq);
        parts.push(text);
    }
    if parts.is_empty() {
        parts.push("nothing was changed".to_string());
    }
    if events.is_empty() {
        events.push(notes.events);
    }
    (parts.join("; "), events)
}

/// Openings of replies that say nothing of the result.
#[rustfmt::skip]
const EMPTY_OPENINGS: &[&str] = &[
    "done", "perfect", "great", "excellent", "all done", "good", "now let me", "let me", "i'll", "i will", "here's", "here is", "summary", "all tests pass",
    "you're right", "you're welcome", "now", "sure", "would you like", "want me to", "looking at", "yes", "no,", "this ", "that ", "these ", "it ", "both ",
    "the caller", "with ", "your previous", "linting", "both remaining", "i like", "i'd", "i would", "i'm ", "if you", "note", "memory is",
];

/// Words that say what came of something.
#[rustfmt::skip]
const RESULTS: &[&str] = &[
    "fixed", "added", "removed", "created", "updated", "implemented", "renamed", "moved", "changed", "replaced", "merged", "opened", "pushed",
    "committed", "deleted", "refactored", "simplified", "built", "installed", "released", "published", "verified", "confirmed", "found", "wrote",
    "i've", "no longer", "is now", "are now", "now ", "caused by", "the cause", "root cause", "because", "complete", "successfully", "works",
];

/// Returns the first sentence of a reply that names a result and is no item of a list.
pub(super) fn result_sentence(reply: &str) -> Option<String> {
    let (_, told) = ranked_sentences(reply).find(|(rank, _)| *rank == 0)?;
    Some(short_result(&told))
}

/// Returns the first sentence of a reply that is no item of a list.
fn answer(reply: &str) -> Option<String> {
    let (_, told) = ranked_sentences(reply).find(|(rank, _)| rank % 2 == 0)?;
    Some(short_result(&told))
}

/// Returns how many files were changed, with the last edit.
fn changed(notes: &Notes) -> Option<(String, Seq)> {
    let mut files: Vec<&str> = Vec::new();
    let mut last = None;
    for step in &notes.steps {
        if let What::Edit {
            paths,
            failed: false,
            ..
        } = &step.what
        {
            last = Some(step.seq);
            for path in paths {
                let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
                if !files.contains(&name) {
                    files.push(name);
                }
            }
        }
    }
    let names = files.iter().take(2).copied().collect::<Vec<_>>().join(", ");
    let text = match files.len() {
        0 => return None,
        1 | 2 => format!("changed {names}"),
        count => format!("changed {count} files, {names} and others"),
    };
    Some((text, last?))
}

fn short_result(told: &str) -> String {
    cut_at_word(text::beginning(told, 600), MAX_RESULT_CHARACTERS)
}

/// Returns the sentences of a reply that may say what came of it, those that do with rank 0.
fn ranked_sentences(reply: &str) -> impl Iterator<Item = (u8, String)> {
    let lines = text::prose_lines(reply)
        .filter(|line| !line.starts_with(['#', '|', '`', '<', '>']) && !line.is_empty());
    let sentences = lines.flat_map(|line| {
        let is_item = line.starts_with(['-', '*', '•']) && !line.starts_with("**");
        sentences(line)
            .into_iter()
            .map(move |sentence| (sentence, is_item))
    });
    sentences.filter_map(|(sentence, is_item)| {
        let sentence = sentence
            .trim_start_matches(['-', '*', '•', ' ', '✅', '✓'])
            .trim();
        let sentence = plain_text(sentence);
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
        let is_code = sentence.matches(['`', '{', '=', '"']).count() * 3 > words
            || sentence.starts_with(['`', '"', '(', '['])
            || sentence.contains("http");
        let fits = !is_empty && !is_asking && !is_code && ((4..=60).contains(&words) || wide >= 6);
        let names_result = RESULTS.iter().any(|word| lower.contains(word));
        // A sentence of its own says more than an item of a list.
        let rank = u8::from(!names_result) * 2 + u8::from(is_item);
        fits.then_some((rank, sentence))
    })
}
#[cfg(test)]
mod tests {
    use super::super::Story;
    use super::*;
    use crate::conventions::KNOWN_AGENTS;

    #[test]
    fn a_headline_has_result_and_what_is_open() {
        let mut story = Story::default();
        story
            .prompt("fix the flaky cart test")
            .run("git commit -m x", "[main 1234567] Use a fake clock", 0)
            .reply("Done.\n\nThe test raced against the wall clock. It uses a fake clock now.");
        let open = [Statement::new("Update the changelog", Vec::new())];
        let headline = headline(&story.notes, Outcome::Success, &open, &KNOWN_AGENTS).unwrap();
        assert_eq!(
            headline.text,
            "fix the flaky cart test: committed 1234567 Use a fake clock; The test raced against the wall clock; open: Update the changelog"
        );
    }
}
