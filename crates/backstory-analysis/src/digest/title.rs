//! Title of a session: of its plan, of what it delivered, or of the request that the work was done for.

use super::notes::{Notes, Step, What};
use super::plan::{handed_plan, presented_plan};
use super::request::{TASK_TAGS, first_line, is_informative, requested};
use super::results::{results, tells_result};
use super::run_parts::{Purpose, deliveries};
use super::said;
use super::sentence::{cut_at_word, plain_text};
use super::topic::Topic;
use crate::AgentConventions;

/// Maximum length of a title in characters.
const MAX_TITLE_CHARACTERS: usize = 100;

/// Minimum length of a title that is cut where a clause ends.
const MIN_CUT_CHARACTERS: usize = 40;

/// Beginnings of clauses that a title can do without, the plainest first.
#[rustfmt::skip]
const FURTHER_CLAUSES: &[&str] = &[
    ", please", "; ", " - ", ", ", " because ", " so that ", " so ", " which ", " when ", " before ", " after ", " against ", " and ",
];

/// Number of requests that are looked at for a title.
const MAX_REQUESTS: usize = 12;

/// Maximum number of commits of which one says what the session was about.
const MAX_TITLE_COMMITS: usize = 3;

/// Minimum density of a request that says what the session was about.
const MIN_DENSITY: f32 = 0.22;

/// Factor by which something else has to be denser than a vague request to be the title instead.
pub(super) const DENSER: f32 = 1.5;

/// Openings of plans and results that a title can do without.
#[rustfmt::skip]
const FRAMES: &[&str] = &["Implementation Plan:", "Plan:", "Plan for", "I've successfully", "I've", "I have", "Successfully"];

/// Returns a title for a session that has none of its agent's or user's: the plan, what a pull request or commit was called, the request
/// that the work was done for, or its result where no request says what it was about.
pub fn title(notes: &Notes, agents: &AgentConventions) -> Option<String> {
    title_about(notes, &Topic::new(notes, agents), agents)
}

pub(super) fn title_about(
    notes: &Notes,
    topic: &Topic,
    agents: &AgentConventions,
) -> Option<String> {
    let presented = only_plan(notes).filter(|title| is_informative(title));
    let line = (presented.map(str::to_string))
        .or_else(|| handed_plan(notes).map(plain_text))
        .or_else(|| named_delivery(notes, topic))
        .or_else(|| request_or_result(notes, topic, agents))
        .or_else(|| {
            let mut requests = requests(notes, agents).take(MAX_REQUESTS);
            requests.find_map(|(_, text)| first_line(text))
        })
        .or_else(|| {
            let mut prompts = super::prompts(notes);
            prompts.find_map(|(_, text)| {
                TASK_TAGS
                    .iter()
                    .any(|tag| text.starts_with(tag))
                    .then(|| requested(text))
                    .flatten()
            })
        })
        .or_else(|| {
            // What only says to go on is better than no title, which the last one would outlive.
            let mut prompts = super::prompts(notes);
            prompts.find_map(|(_, text)| first_line(text).filter(|_| said::is_go_on(text)))
        })?;
    Some(title_of_line(without_frame(&line)))
}

/// Returns the title of the plan that was presented, unless the work was done before it: then the plan is for what comes next.
fn only_plan(notes: &Notes) -> Option<&str> {
    let is_plan = |step: &Step| matches!(step.what, What::Plan(_));
    let is_edit = |step: &Step| matches!(step.what, What::Edit { failed: false, .. });
    let at = notes.steps.iter().rposition(is_plan)?;
    let is_next = notes.steps[..at].iter().any(is_edit) && !notes.steps[at..].iter().any(is_edit);
    presented_plan(notes).filter(|_| !is_next)
}

/// Returns a line without what it is: a plan, or a result.
fn without_frame(line: &str) -> &str {
    let rest = FRAMES.iter().find_map(|frame| line.strip_prefix(frame));
    rest.map_or(line, str::trim)
}

/// Returns what the command called the pull request, or the densest of few commits. What tools printed is not trusted: titles are told to
/// new sessions.
fn named_delivery(notes: &Notes, topic: &Topic) -> Option<String> {
    let request = deliveries(notes).rev().find_map(|(_, part)| {
        let is_named = part.purpose == Purpose::PullRequest && is_informative(&part.name);
        is_named.then(|| part.name.clone())
    });
    request.or_else(|| {
        let commits = deliveries(notes).filter(|(_, part)| part.purpose == Purpose::Commit);
        let subjects = commit_subjects(notes).filter(|subject| is_informative(subject));
        (commits.count() <= MAX_TITLE_COMMITS)
            .then(|| densest(subjects, topic))
            .flatten()
            .map(|(_, subject)| subject)
    })
}

/// Returns the request that the work was done for; where it says nothing of what, the commit, other request or result that says most.
fn request_or_result(notes: &Notes, topic: &Topic, agents: &AgentConventions) -> Option<String> {
    let request = main_request(notes, agents).and_then(requested);
    let density = request.as_deref().map_or(0.0, |line| topic.density(line));
    // What somebody saw says less than what was done about it.
    let is_report = request.as_deref().is_some_and(is_report);
    if density >= MIN_DENSITY && !is_report {
        return request;
    }
    let least = if is_report { density } else { DENSER * density };
    let requests = requests(notes, agents).take(MAX_REQUESTS);
    let requests = requests.filter_map(|(_, text)| requested(text));
    let results = results(notes, topic).into_iter();
    let results = results.filter(|result| tells_result(&result.text));
    let others = commit_subjects(notes)
        .chain(requests)
        .chain(results.map(|result| result.text));
    match densest(others, topic) {
        Some((other, line)) if other >= MIN_DENSITY && other > least => Some(line),
        _ => request.or_else(|| commit_subjects(notes).next()),
    }
}

/// Openings of lines that report what somebody saw.
#[rustfmt::skip]
const REPORTS: &[&str] = &[
    "i just ", "i'm currently ", "i am currently ", "i'm getting ", "i am getting ", "i get ", "i got ", "i see ", "this is ", "this was ", "when ", "here is ",
    "here's ", "there is ", "there are ", "i have ", "i had ", "i opened ", "i was ", "we have ", "we got ", "it looks ", "seems ", "any ideas",
];

fn is_report(line: &str) -> bool {
    let lower = line.to_lowercase();
    REPORTS.iter().any(|opening| lower.starts_with(opening))
}

/// Returns the line that is most about the topic, the first of equals, with its density.
fn densest(lines: impl Iterator<Item = String>, topic: &Topic) -> Option<(f32, String)> {
    let lines = lines.map(|line| (topic.density(&line), line));
    lines.reduce(|best, line| if line.0 > best.0 { line } else { best })
}

/// Returns the subjects that commands gave commits, without those of merges.
fn commit_subjects(notes: &Notes) -> impl Iterator<Item = String> {
    let commits = deliveries(notes).map(|(_, part)| part);
    let commits = commits.filter(|part| {
        part.purpose == Purpose::Commit && !part.name.is_empty() && !part.name.starts_with("Merge ")
    });
    commits.map(|part| part.name.clone())
}

/// Openings of requests that only begin a talk, or are about the work and not the work itself.
#[rustfmt::skip]
const OPENERS: &[&str] = &[
    "do you have", "what", "where", "how", "why", "is there", "is it", "is this", "is the", "are we", "are there", "did", "does", "tell me", "explain", "show me",
    "open ", "read ", "commit", "push", "merge", "run ", "continue", "understand", "check", "verify", "update the readme",
];

/// Openings of requests that go on with what was said before.
#[rustfmt::skip]
const CONTINUATIONS: &[&str] = &["hm", "one last", "another", "again", "double check", "instead", "use ", "revert", "undo", "yeah", "fix all", "add a test"];

/// With so many words an opening question says what it is about.
const MIN_INFORMATIVE_WORDS: usize = 8;

/// Returns the request that the work was done for: one with edits in its turn rather than a question, the first one of equals.
pub(super) fn main_request<'n>(notes: &'n Notes, agents: &AgentConventions) -> Option<&'n str> {
    let edited = |turn| {
        notes
            .steps
            .iter()
            .any(|step| step.turn == turn && matches!(step.what, What::Edit { failed: false, .. }))
    };
    let mut best: Option<(i32, &str)> = None;
    for (place, (step, text)) in requests(notes, agents).take(MAX_REQUESTS).enumerate() {
        let Some(line) = requested(text) else {
            continue;
        };
        let lower = line.to_lowercase();
        let starts_with =
            |openings: &[&str]| openings.iter().any(|opening| lower.starts_with(opening));
        let words = line.split(' ').count();
        let is_dangling = (lower.split(' ').take(3))
            .any(|word| ["this", "that", "it", "these", "those"].contains(&word));
        let is_opener = starts_with(OPENERS) && words < MIN_INFORMATIVE_WORDS;
        let opener = if is_opener { 3 } else { 0 };
        let goes_on =
            starts_with(CONTINUATIONS) || text.trim_start().to_lowercase().starts_with("yes");
        // The first request mostly says it; later ones only go on with it.
        let score = i32::from(edited(step.turn))
            - place as i32
            - opener
            - 2 * i32::from(is_dangling)
            - 2 * i32::from(goes_on);
        if best.is_none_or(|(known, _)| score > known) {
            best = Some((score, text));
        }
    }
    best.map(|(_, text)| text)
}

fn title_of_line(line: &str) -> String {
    // That the agent shall do something about it goes without saying.
    let asked = [", can you ", ", could you "]
        .iter()
        .find_map(|words| line.find(words));
    let line = asked
        .filter(|end| *end >= 12)
        .map_or(line, |end| &line[..end]);
    if line.chars().count() <= MAX_TITLE_CHARACTERS {
        return cut_at_word(line, MAX_TITLE_CHARACTERS);
    }
    // A clause that is whole says more than a longer one that is cut.
    let room = line
        .char_indices()
        .nth(MAX_TITLE_CHARACTERS)
        .map_or(line.len(), |(at, _)| at);
    let cut = FURTHER_CLAUSES.iter().find_map(|clause| {
        let end = line[..room].rfind(clause)?;
        let is_within = line[..end].matches('(').count() > line[..end].matches(')').count();
        (!is_within && line[..end].chars().count() >= MIN_CUT_CHARACTERS).then_some(end)
    });
    match cut {
        Some(end) => line[..end].to_string(),
        None => cut_at_word(line, MAX_TITLE_CHARACTERS),
    }
}

/// Returns the prompts of people that say more than to go on.
pub(super) fn requests<'n>(
    notes: &'n Notes,
    agents: &AgentConventions,
) -> impl Iterator<Item = (&'n Step, &'n str)> {
    let is_program_text = agents.is_program_text;
    super::prompts(notes).filter(move |(_, text)| !is_program_text(text) && !said::is_go_on(text))
}

#[cfg(test)]
mod tests {
    use super::super::Story;
    use super::*;
    use crate::conventions::KNOWN_AGENTS;

    fn check_title(tell: impl Fn(&mut Story), expected: &str) {
        let mut story = Story::default();
        tell(&mut story);
        assert_eq!(
            title(&story.notes, &KNOWN_AGENTS).as_deref(),
            Some(expected)
        );
    }

    #[test]
    fn a_title_says_what_was_asked() {
        for (prompt, expected) in [
            (
                "Can you please add a retry to the upload? It fails a lot.",
                "add a retry to the upload",
            ),
            (
                "ok, let's completely remove `session trailer`",
                "completely remove `session trailer`",
            ),
            (
                "/plan right now, we detect conflicts too late",
                "we detect conflicts too late",
            ),
            (
                "While looking at the logs I noticed a few fields about tokens that nobody reads at all, can you try to make some sense of them",
                "a few fields about tokens that nobody reads at all",
            ),
            (
                "/review https://github.com/ada/shop/pull/6/files",
                "review ada/shop/pull/6/files",
            ),
            (
                "You are a release manager of a small shop. You write notes.",
                "release manager of a small shop",
            ),
            (
                "Implement the following plan:\n\n# Track tokens per checkpoint\n\n## Context",
                "Track tokens per checkpoint",
            ),
            (
                "PS C:\\Users\\x> cd shop\nwhy does the build fail on Windows",
                "why does the build fail on Windows",
            ),
            (
                "fn main() {}\n{}\nexplain what this program does",
                "explain what this program does",
            ),
        ] {
            check_title(
                |story| {
                    story.prompt(prompt);
                },
                expected,
            );
        }
    }

    #[test]
    fn what_a_program_says_is_no_title() {
        let told = |prompt: &str| {
            let mut story = Story::default();
            story.prompt(prompt);
            title(&story.notes, &KNOWN_AGENTS)
        };
        assert_eq!(told("Stop hook feedback:\nrun it again and again"), None);
        assert_eq!(
            told("<task>Review the parser for loops</task>").as_deref(),
            Some("Review the parser for loops")
        );
    }

    #[test]
    fn a_vague_request_is_named_by_what_came_of_it() {
        check_title(
            |story| {
                story
                    .prompt("yes and yes")
                    .run(
                        "git commit -m 'Retry failed uploads'",
                        "[main 1234567] Else",
                        0,
                    )
                    .reply("Done.");
            },
            "Retry failed uploads",
        );
        check_title(
            |story| {
                story
                    .prompt("/review")
                    .reply("What?")
                    .prompt("check the parser for quadratic loops");
            },
            "check the parser for quadratic loops",
        );
    }
}
