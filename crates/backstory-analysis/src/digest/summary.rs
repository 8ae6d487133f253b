//! One-sentence summary of a session: what was asked, what came of it and what is left.

use std::collections::HashSet;

use backstory_event::Seq;

use super::Statement;
use super::notes::{Notes, What};
use super::outcome::Outcome;
use super::results::ResultSentence;
use super::run_parts::{Purpose, deliveries};
use super::sentence::cut_at_word;
use super::topic::Topic;

/// Minimum score of a result that a summary names.
const MIN_RESULT_SCORE: f32 = 0.08;

/// Maximum length of what is open in a summary, in characters.
const MAX_OPEN_CHARACTERS: usize = 90;

/// Returns the session in one sentence: what it was about, what came of it, what is open.
pub(super) fn headline(
    notes: &Notes,
    title: &str,
    outcome: Outcome,
    results: &[ResultSentence],
    open: &[Statement],
    topic: &Topic,
) -> Statement {
    let mut parts: Vec<String> = Vec::new();
    let mut events = Vec::new();
    let delivery = delivery(notes, title);
    if let Some((text, seq)) = &delivery {
        events.push(*seq);
        parts.push(text.clone());
    }
    let said = results.first().filter(|best| {
        let repeats = repeats_delivery(&best.text) && delivery.is_some();
        // A title that was made of the result says it already.
        let is_title = best.text.contains(title) || title.contains(&best.text);
        best.score >= MIN_RESULT_SCORE && !repeats && !is_title
    });
    // A commit that says as much needs no sentence beside it.
    let commit = delivery
        .as_ref()
        .map_or(0.0, |(text, _)| topic.density(text));
    if let Some(best) = said.filter(|best| topic.density(&best.text) > commit) {
        events.push(best.seq);
        parts.push(best.text.clone());
    }
    if parts.is_empty()
        && let Some((text, seq)) = changed(notes)
    {
        events.push(seq);
        parts.push(text);
    }
    let ending = match outcome {
        Outcome::Success | Outcome::Unknown => None,
        Outcome::Partial => Some("not all of it done"),
        Outcome::Failed => Some("it did not work"),
        Outcome::Abandoned => Some("stopped in the middle"),
        Outcome::Planned => Some("planned, not built"),
        Outcome::Running => Some("its log ends in the middle of work"),
    };
    parts.extend(ending.map(str::to_string));
    if parts.is_empty() {
        parts.push("nothing was changed".to_string());
    }
    if events.is_empty() {
        events.push(notes.events);
    }
    let open = open.first();
    let open = open.map(|open| format!("; open: {}", cut_at_word(&open.text, MAX_OPEN_CHARACTERS)));
    Statement {
        text: format!("{title}: {}{}", parts.join("; "), open.unwrap_or_default()),
        turn: None,
        events,
    }
}

/// Returns what was delivered last, in words that do not repeat the title.
fn delivery(notes: &Notes, title: &str) -> Option<(String, Seq)> {
    let (seq, part) = deliveries(notes).last()?;
    let commits = deliveries(notes)
        .filter(|(_, part)| part.purpose == Purpose::Commit)
        .count();
    let text = match (part.purpose, part.said.as_deref()) {
        (Purpose::PullRequest, Some(address)) => format!("opened {address}"),
        (Purpose::Merge, _) => "merged".to_string(),
        (Purpose::Release, _) => format!("released {}", part.name),
        (Purpose::Commit, Some(commit)) if commits == 1 && !commit.ends_with(title) => {
            format!("committed {commit}")
        }
        _ if commits > 1 => format!("{commits} commits"),
        (Purpose::Push, _) => "pushed".to_string(),
        _ => "committed".to_string(),
    };
    Some((text, seq))
}

fn repeats_delivery(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let openings = ["opened", "pushed", "committed", "merged", "created pr"];
    openings.iter().any(|word| lower.starts_with(word))
}

/// Returns how many files were changed, with the last edit.
fn changed(notes: &Notes) -> Option<(String, Seq)> {
    let mut files: Vec<&str> = Vec::new();
    let mut known: HashSet<&str> = HashSet::new();
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
                if known.insert(name) {
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

#[cfg(test)]
mod tests {
    use super::super::Story;
    use super::super::results::results;
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
        let topic = Topic::new(&story.notes, &KNOWN_AGENTS);
        let results = results(&story.notes, &topic);
        let title = "fix the flaky cart test";
        let success = Outcome::Success;
        let headline = headline(&story.notes, title, success, &results, &open, &topic);
        assert_eq!(
            headline.text,
            "fix the flaky cart test: committed 1234567 Use a fake clock; The test raced against the wall clock; open: Update the changelog"
        );
    }
}
