//! State of the work: what the sessions that matter here did, decided and left open.

use backstory_event::TimeMs;

use super::here::Surroundings;
use super::item::{Candidate, Reason};
use super::past::Past;
use super::phrase::{MAX_COMMAND, MAX_PROMPT, MAX_RESULT, MAX_TITLE, age, files_of};
use super::quote::quoted;
use crate::conventions::AGENT_CONVENTIONS;
use crate::digest::{self, Closing, Purpose};

/// Relevance of the last session on this branch, the last that changed files with uncommitted changes, and the last of all; and how much
/// each earlier one of them has less.
const SAME_BRANCH: (f64, f64) = (1.0, 0.85);
const UNCOMMITTED: (f64, f64) = (0.8, 0.85);
const LATEST: (f64, f64) = (0.7, 0.85);

/// Share of that for sessions of other branches, if this one has its own.
const OTHER_BRANCH: f64 = 0.5;

/// Share of that for sessions that changed, decided and left nothing.
const WITHOUT_RESULT: f64 = 0.6;

/// Days before the last session within which latest work is as relevant as that session, and days in which it then becomes half as relevant.
/// How long ago the last session was does not matter: who returns to a project after months goes on where it was left.
const FRESH_DAYS: f64 = 3.0;
const HALF_LIFE_DAYS: f64 = 14.0;
const DAY_MS: f64 = 24.0 * 3_600_000.0;

/// Share of that for sessions that were asked the same as others again and again.
const ROUTINE: f64 = 0.5;

/// Number of sessions that make a routine.
const MIN_ROUTINE: usize = 3;

/// Maximum number of decisions of a session.
const MAX_DECISIONS: usize = 2;

/// Maximum number of files of a session.
const MAX_FILES: usize = 3;

/// Maximum number of checks that failed.
const MAX_FAILING: usize = 2;

/// Words of decisions that hold beyond what was done then.
#[rustfmt::skip]
const LASTING: &[&str] = &[
    "always", "never", "don't", "do not", "must", "from now on", "instead of", "rather than", "prefer", "keep", "only", "should", "shouldn't", "no longer",
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
    let is_here = |past: &Past| here.is_own_branch(past.row.branch.as_deref());
    let has_own = pasts.iter().any(is_here);
    let newest = (pasts.iter().map(|past| past.row.last_at))
        .max()
        .unwrap_or(TimeMs::new(i64::MAX));
    let mut counts = [0_i32; 3];
    let mut ranked: Vec<(f64, Reason, &Past)> = Vec::new();
    for past in pasts {
        let is_uncommitted = || past.edits().any(|edit| here.changed().contains(&edit.file));
        let (kind, reason, (first, fading)) = if is_here(past) {
            (0, Reason::SameBranch, SAME_BRANCH)
        } else if is_uncommitted() {
            (1, Reason::UncommittedFile, UNCOMMITTED)
        } else {
            (2, Reason::LatestWork, LATEST)
        };
        let mut relevance = first * fading.powi(counts[kind]);
        if reason == Reason::LatestWork {
            let days = newest.since(past.row.last_at).max(0) as f64 / DAY_MS;
            relevance *= 0.5_f64.powf((days - FRESH_DAYS).max(0.0) / HALF_LIFE_DAYS);
            relevance *= if has_own { OTHER_BRANCH } else { 1.0 };
        }
        counts[kind] += 1;
        ranked.push((relevance, reason, past));
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
    work
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
        let outcome = past.row.outcome.clone();
        parts.extend(outcome.filter(|outcome| outcome != "unknown"));
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
        parts.extend(result.map(|result| format!("\"{result}\"")));
        let open = match written.and_then(|summary| summary.next.as_deref()) {
            Some(next) => quoted(next, MAX_PROMPT),
            None => (closing.open.iter()).find_map(|open| quoted(&open.text, MAX_PROMPT)),
        };
        parts.extend(open.map(|open| format!("open: \"{open}\"")));
        let line = parts.join(" · ");
        Candidate::new(&line, past, past.last_turn(), self.reason, self.relevance)
    }

    /// Returns lines of what the user decided last.
    pub(super) fn decisions(&self) -> Vec<Candidate> {
        let last = self.closing.decisions.iter().rev();
        // Elsewhere only what was meant to last may hold here.
        let holds = |text: &str| self.reason != Reason::LatestWork || is_lasting(text);
        let last = last.filter(|decision| holds(&decision.text));
        let quotes = last.filter_map(|decision| {
            let said = quoted(&decision.text, MAX_PROMPT)?;
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
        // Whoever formats next time puts that right.
        let failing = checks.filter(|check| !check.ok && check.purpose != Purpose::Format);
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

fn is_lasting(decision: &str) -> bool {
    let words = format!(" {} ", decision.to_lowercase().replace('’', "'"));
    LASTING
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
