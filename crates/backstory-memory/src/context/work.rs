//! State of the work: what the sessions that matter here did, decided and left open.

use backstory_event::TimeMs;

use super::here::{Surroundings, is_trunk};
use super::item::{Candidate, Reason};
use super::past::Past;
use super::phrase::{MAX_COMMAND, MAX_PROMPT, MAX_RESULT, MAX_TITLE, age, files_of};
use super::quote::quoted;
use crate::conventions::AGENT_CONVENTIONS;
use crate::digest::{self, Closing, LastCheck, Purpose};

/// Relevance of the last session on this branch, the last that changed files with uncommitted changes, and the last of all; and how much
/// each earlier one of them has less.
const SAME_BRANCH: (f64, f64) = (1.0, 0.85);
const UNCOMMITTED: (f64, f64) = (0.8, 0.85);
const LATEST: (f64, f64) = (0.7, 0.85);

/// Maximum number of sessions that are only the latest work: each is about something else more often than not.
const MAX_LATEST: usize = 2;

/// Share of relevance for sessions that changed, decided and left nothing.
const WITHOUT_RESULT: f64 = 0.6;

/// Hours before the last session within which earlier ones are latest work, too. How long ago the last session was does not matter: who
/// returns to a project after months goes on where it was left.
const LATEST_HOURS: i64 = 72;
const HOUR_MS: i64 = 3_600_000;

/// Share of relevance for sessions that were asked the same as others again and again.
const ROUTINE: f64 = 0.5;

/// Number of sessions that make a routine.
const MIN_ROUTINE: usize = 3;

/// Maximum number of decisions of a session.
const MAX_DECISIONS: usize = 2;

/// Maximum length of a decision in characters, for one that is cut may say the opposite; and minimum number of words.
const MAX_DECISION: usize = 180;
const MIN_DECISION_WORDS: usize = 5;

/// Maximum number of files of a session.
const MAX_FILES: usize = 3;

/// Maximum number of checks that failed.
const MAX_FAILING: usize = 2;

/// Words of decisions that hold beyond what was done then.
#[rustfmt::skip]
const LASTING: &[&str] = &[
    "always", "never", "don't", "do not", "must", "from now on", "instead of", "rather than", "prefer", "keep", "only", "should", "shouldn't", "no longer",
];

/// First words of decisions that go on with what was said before.
#[rustfmt::skip]
const DANGLING: &[&str] = &[
    "it", "its", "this", "that", "these", "those", "they", "maybe", "and", "but", "also", "just", "ok", "yes", "no", "then", "so", "instead", "or", "hmm",
];

/// A session that matters here, and the state in which it left its work.
pub(super) struct Work<'p> {
    past: &'p Past,
    closing: Closing,
    title: String,
    relevance: f64,
    reason: Reason,
}

/// Returns the sessions that are relevant, the most relevant first. `pasts` has the newest first.
pub(super) fn relevant_work<'p>(
    pasts: &'p [Past],
    here: &Surroundings,
    most: usize,
) -> Vec<Work<'p>> {
    let is_uncommitted = |past: &Past| past.edits().any(|edit| here.changed().contains(&edit.file));
    let newest = pasts.first().map(|past| past.row.last_at);
    let mut counts = [0_i32; 3];
    let mut ranked: Vec<(f64, Reason, &Past)> = Vec::new();
    for past in pasts {
        let (kind, reason, (first, fading)) = if here.is_own_branch(past.row.branch.as_deref()) {
            (0, Reason::SameBranch, SAME_BRANCH)
        } else if is_uncommitted(past) {
            (1, Reason::UncommittedFile, UNCOMMITTED)
        } else if newest.is_some_and(|newest| is_latest(past, here, newest)) {
            (2, Reason::LatestWork, LATEST)
        } else {
            continue;
        };
        ranked.push((first * fading.powi(counts[kind]), reason, past));
        counts[kind] += 1;
    }
    if counts[0] + counts[1] > 0 {
        ranked.retain(|(_, reason, _)| *reason != Reason::LatestWork);
    }
    ranked.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    let titles: Vec<String> = pasts.iter().filter_map(title).collect();
    let mut work: Vec<Work<'p>> = Vec::new();
    // A few more are looked at, for their state decides as well.
    for (relevance, reason, past) in ranked.into_iter().take(3 * most) {
        let Some(title) = title(past) else {
            continue;
        };
        // The same task again and again is told once, by its last session; so is a plan that a later session carried out.
        if work.iter().any(|known| known.title == title) {
            continue;
        }
        let is_routine = titles.iter().filter(|known| **known == title).count() >= MIN_ROUTINE;
        let closing = past.closing();
        let has_result = past.edits().next().is_some()
            || closing.commit.is_some()
            || !closing.open.is_empty()
            || !closing.decisions.is_empty();
        let relevance = relevance
            * if has_result { 1.0 } else { WITHOUT_RESULT }
            * if is_routine { ROUTINE } else { 1.0 };
        work.push(Work {
            past,
            closing,
            title,
            relevance,
            reason,
        });
    }
    work.sort_by(|a, b| b.relevance.total_cmp(&a.relevance));
    let mut latest = 0;
    work.retain(|work| {
        latest += usize::from(work.reason == Reason::LatestWork);
        work.reason != Reason::LatestWork || latest <= MAX_LATEST
    });
    work
}

/// Returns whether a session is the latest work where the branch says nothing: on a branch of its own only what was done there matters, and where
/// all work comes together what was left unfinished elsewhere does, too.
fn is_latest(past: &Past, here: &Surroundings, newest: TimeMs) -> bool {
    here.is_on_trunk()
        && newest.since(past.row.last_at) <= LATEST_HOURS * HOUR_MS
        && (is_trunk(past.row.branch.as_deref()) || is_unfinished(past))
}

fn is_unfinished(past: &Past) -> bool {
    let outcome = past.row.outcome.as_deref();
    outcome.is_some_and(|outcome| !matches!(outcome, "success" | "unknown"))
}

impl Work<'_> {
    /// Returns the line of the session: when, what, how it ended, what is open.
    pub(super) fn session(&self, now: TimeMs) -> Candidate {
        let past = self.past;
        let mut parts = vec![age(past.row.last_at, now), past.row.agent.clone()];
        if self.reason == Reason::SameBranch {
            parts.push("this branch".to_string());
        }
        parts.push(format!("\"{}\"", self.title));
        // What ran when its log ended does not run now.
        let outcome = past.row.outcome.clone();
        parts.extend(outcome.filter(|outcome| !matches!(outcome.as_str(), "unknown" | "running")));
        let closing = &self.closing;
        let commit = closing.commit.as_ref();
        parts.extend(commit.map(|(hash, _)| format!("commit {hash}")));
        let files = files_of(&past.most_edited(), MAX_FILES);
        parts.extend((!files.is_empty()).then_some(files));
        let written = past.summary.as_ref();
        let result = match written {
            Some(summary) => quoted(last_sentence(&summary.summary), MAX_RESULT),
            None => (closing.result.as_ref()).and_then(|result| quoted(&result.text, MAX_RESULT)),
        };
        // A title that was made of the result says it already.
        let result = result.filter(|result| *result != self.title);
        parts.extend(result.map(|result| format!("\"{result}\"")));
        let open = match written.and_then(|summary| summary.next.as_deref()) {
            Some(next) => quoted(next, MAX_PROMPT),
            None => (closing.open.iter()).find_map(|open| quoted(&open.text, MAX_PROMPT)),
        };
        parts.extend(open.map(|open| format!("open: \"{open}\"")));
        let line = parts.join(" · ");
        Candidate::new(&line, past, past.last_turn(), self.reason, self.relevance)
    }

    /// Returns lines of what the user decided last, as far as it holds beyond what was done then.
    pub(super) fn decisions(&self) -> Vec<Candidate> {
        // Of a headless session nobody decided anything.
        let last = self.closing.decisions.iter().rev();
        let last = last.filter(|_| !self.past.row.is_headless);
        let last = last.filter(|decision| stands_alone(&decision.text));
        let quotes = last.filter_map(|decision| {
            // What it answers are the agent's words.
            let own = decision.text.split(" (to: ").next().unwrap_or_default();
            let said = quoted(own, MAX_DECISION)?;
            Some((format!("the user decided \"{said}\""), decision.turn?))
        });
        let candidate = |(line, turn): (String, _)| {
            // Less than the session itself, for without that it says little.
            Candidate::new(&line, self.past, turn, self.reason, self.relevance * 0.9)
        };
        quotes.take(MAX_DECISIONS).map(candidate).collect()
    }

    /// Returns the line of the checks that failed when they last ran.
    pub(super) fn failing_checks(&self) -> Option<Candidate> {
        let checks = self.closing.checks.iter().rev();
        let is_unfinished = is_unfinished(self.past);
        // Whoever formats next time puts that right, and what passed later under another name was the same.
        let is_standing = |check: &&LastCheck| {
            let passed = self.closing.checks.iter().any(|other| {
                other.ok && other.purpose == check.purpose && other.turn >= check.turn
            });
            !check.ok && check.purpose != Purpose::Format && is_unfinished && !passed
        };
        let failing = checks.filter(is_standing);
        let turn = failing.clone().map(|check| check.turn).max()?;
        let names: Vec<String> = failing
            .filter_map(|check| Some(format!("'{}'", quoted(&check.name, MAX_COMMAND)?)))
            .take(MAX_FAILING)
            .collect();
        let line = format!("failed last: {}", names.join(", "));
        let relevance = self.relevance * 0.9;
        (!names.is_empty())
            .then(|| Candidate::new(&line, self.past, turn, Reason::FailingCheck, relevance))
    }
}

/// Returns what a model or the user called a session, or else what was asked in it; `None` where only programs asked in a person's name. What
/// the agent called it is no title: it has read what tools said.
fn title(past: &Past) -> Option<String> {
    if !past.row.is_headless && !past.is_of_a_person() {
        return None;
    }
    let written = past.summary.as_ref().map(|summary| summary.title.clone());
    let known = written.or_else(|| past.row.title.clone());
    let title = known.or_else(|| digest::title(&past.notes, &AGENT_CONVENTIONS));
    quoted(&title?, MAX_TITLE)
}

/// Returns whether a decision holds beyond its session, and can be understood without what it answers.
fn stands_alone(decision: &str) -> bool {
    // What it answers are not the user's words.
    let said = decision.split(" (to: ").next().unwrap_or_default();
    let words = format!(" {} ", said.to_lowercase().replace('’', "'"));
    let is_whole = decision.starts_with(char::is_alphabetic) && !decision.contains(['?', '\n']);
    let mut first = words.split_whitespace();
    let first = first
        .next()
        .map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()));
    let has_referent = first.is_some_and(|first| !DANGLING.contains(&first));
    is_whole
        && has_referent
        && decision.chars().count() <= MAX_DECISION
        && words.split_whitespace().count() >= MIN_DECISION_WORDS
        && LASTING
            .iter()
            .any(|word| words.contains(&format!(" {word} ")))
}

/// Returns the last sentence of what a model wrote: the result, for it tells what was asked and done before.
fn last_sentence(summary: &str) -> &str {
    let summary = summary.trim();
    let bare = summary.trim_end_matches(['.', '!']);
    bare.rfind(". ")
        .map_or(summary, |stop| summary[stop + 2..].trim())
}
