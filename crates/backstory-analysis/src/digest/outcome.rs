//! Outcome of a session, and the evidence for it.

use std::borrow::Cow;

use backstory_event::Seq;
use serde::{Deserialize, Serialize};

use super::Statement;
use super::notes::{Last, Notes, Run, Step, What};
use super::plan::{ends_with_plan, plan_only};
use super::run_parts::{Purpose, RunPart, deliveries, parts};
use super::said;
use crate::text;

/// End of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The last request was done.
    Success,
    /// Something was done, but not all of it, or nothing shows that it works.
    Partial,
    /// It did not work.
    Failed,
    /// It stopped in the middle.
    Abandoned,
    /// Only a plan was made, for later or for another session.
    Planned,
    /// Its log ends in the middle of work, and nothing says that it was stopped.
    Running,
    /// There is too little to tell.
    Unknown,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Outcome; 7] = [
        Outcome::Success,
        Outcome::Partial,
        Outcome::Failed,
        Outcome::Abandoned,
        Outcome::Planned,
        Outcome::Running,
        Outcome::Unknown,
    ];

    /// Judges a session by its notes alone, without what a whole account needs.
    pub fn judge(notes: &Notes) -> Outcome {
        judge(notes).0
    }

    /// Returns the name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Success => "success",
            Outcome::Partial => "partial",
            Outcome::Failed => "failed",
            Outcome::Abandoned => "abandoned",
            Outcome::Planned => "planned",
            Outcome::Running => "running",
            Outcome::Unknown => "unknown",
        }
    }
}

/// Bytes at the end of the last reply in which work that is still to come is announced.
const END_OF_REPLY: usize = 400;

/// Bytes at the end of the last reply in which unfinished work is named.
const MAX_CLOSING_BYTES: usize = 1_500;

/// Judges a session by its notes; says why.
pub(super) fn judge(notes: &Notes) -> (Outcome, Vec<Statement>) {
    let Some(last) = notes.last else {
        let why = Statement::new("nothing was said", Vec::new());
        return (Outcome::Unknown, vec![why]);
    };
    let delivered = delivered(notes);
    // What stopped in the middle of something was still good for what was delivered before.
    let stopped = if delivered.is_empty() {
        Outcome::Abandoned
    } else {
        Outcome::Partial
    };
    let (outcome, mut reasons) = match last {
        _ if let Some(reason) = plan_only(notes) => (Outcome::Planned, vec![reason]),
        _ if ends_with_plan(notes) => {
            let why = "the work before was finished, and it ends with a plan for more";
            (Outcome::Success, vec![because(notes, why)])
        }
        Last::Prompt => unanswered(notes, stopped),
        Last::Call => under_way(notes, "the log ends while a tool is running"),
        Last::Result => under_way(notes, "the log ends before the agent answered"),
        Last::Interruption => (
            stopped,
            vec![because(notes, "the user interrupted it at the end")],
        ),
        Last::Reply => answered(notes, &delivered),
    };
    reasons.extend(delivered);
    (outcome, reasons)
}

/// Returns results that last beyond the session, each kind once.
fn delivered(notes: &Notes) -> Vec<Statement> {
    let kinds = [
        (Purpose::Commit, "committed"),
        (Purpose::Push, "pushed"),
        (Purpose::PullRequest, "opened a pull request"),
        (Purpose::Merge, "merged"),
        (Purpose::Tag, "tagged"),
        (Purpose::Release, "released"),
    ];
    let deliveries: Vec<_> = deliveries(notes).collect();
    let last = |(purpose, what): (Purpose, &str)| {
        let mut found = deliveries.iter().rev();
        let (seq, _) = found.find(|(_, part)| part.purpose == purpose)?;
        Some(Statement::new(what, vec![*seq]))
    };
    kinds.into_iter().filter_map(last).collect()
}

/// Judges a session whose log ends in the middle of a turn: what was done last may have been its end.
fn under_way(notes: &Notes, why: &str) -> (Outcome, Vec<Statement>) {
    // The user's words on a rejection stand behind it.
    let mut steps = notes.steps.iter().rev();
    let last = steps.find(|step| !matches!(step.what, What::Answer { question: None, .. }));
    let last_seq = last.map(|step| step.seq);
    match last.map(|step| &step.what) {
        Some(What::Run(_)) if deliveries(notes).any(|(seq, _)| Some(seq) == last_seq) => (
            Outcome::Success,
            vec![because(notes, "what it did last was delivered")],
        ),
        Some(What::Denied(_)) => (
            Outcome::Abandoned,
            vec![because(notes, "the user rejected the last call")],
        ),
        _ => (Outcome::Running, vec![because(notes, why)]),
    }
}

fn unanswered(notes: &Notes, stopped: Outcome) -> (Outcome, Vec<Statement>) {
    let prompt = last_prompt(notes).unwrap_or_default();
    if said::is_thanks(prompt) {
        (
            Outcome::Success,
            vec![because(notes, "the user was content at the end")],
        )
    } else if said::is_complaint(prompt) {
        let outcome = if stopped == Outcome::Partial {
            stopped
        } else {
            Outcome::Failed
        };
        (
            outcome,
            vec![because(notes, "the user's last word was a complaint")],
        )
    } else {
        (
            stopped,
            vec![because(notes, "the last prompt was not answered")],
        )
    }
}

fn answered(notes: &Notes, delivered: &[Statement]) -> (Outcome, Vec<Statement>) {
    let reply = last_reply(notes).unwrap_or_default();
    // What could not be done beside a delivery is a remark.
    if said::gives_up(reply) && !delivers_in_last_turn(notes) {
        let outcome = if delivered.is_empty() {
            Outcome::Failed
        } else {
            Outcome::Partial
        };
        return (
            outcome,
            vec![because(notes, "the agent says that it could not do it")],
        );
    }
    if let Some(broken) = broken_at_the_end(notes) {
        return (Outcome::Partial, vec![broken]);
    }
    let asked = notes
        .steps
        .iter()
        .rev()
        .find(|step| matches!(step.what, What::Prompt(_)));
    let complaint = last_prompt(notes).is_some_and(said::is_complaint);
    let acted = |step: &Step| {
        Some(step.seq) > asked.map(|step| step.seq)
            && match &step.what {
                What::Edit { failed, .. } => !failed,
                What::Run(run) => run.ok == Some(true),
                _ => false,
            }
    };
    if complaint && !notes.steps.iter().any(acted) {
        let events = asked.map(|step| step.seq).into_iter().collect();
        let why = "the user said that something was wrong, and nothing was done about it";
        return (Outcome::Partial, vec![Statement::new(why, events)]);
    }
    if let Some(why) = all_edits_failed(notes, delivered) {
        return (Outcome::Failed, vec![why]);
    }
    if said::is_waiting(text::ending(reply, END_OF_REPLY)) {
        return (
            Outcome::Running,
            vec![because(
                notes,
                "the agent waits for something that still runs",
            )],
        );
    }
    // Of a question about what fails the answer is the work.
    let edited = |step: &Step| matches!(step.what, What::Edit { failed: false, .. });
    let worked = (notes.steps.iter())
        .any(|step| Some(step.seq) > asked.map(|step| step.seq) && edited(step));
    if worked && said::leaves_unfinished(text::ending(reply, MAX_CLOSING_BYTES)) {
        let why = "the agent says that a part is left";
        return (Outcome::Partial, vec![because(notes, why)]);
    }
    let mut reasons = vec![because(notes, "the last prompt was answered")];
    reasons.extend(proofs(notes));
    (Outcome::Success, reasons)
}

/// Returns that nothing could be changed, if every edit of the session failed.
fn all_edits_failed(notes: &Notes, delivered: &[Statement]) -> Option<Statement> {
    let mut edits = notes.steps.iter().filter_map(|step| match step.what {
        What::Edit { failed, .. } => Some((step.seq, failed)),
        _ => None,
    });
    let last = edits.clone().next_back()?;
    let why = "every edit failed";
    (delivered.is_empty() && edits.all(|(_, failed)| failed))
        .then(|| Statement::new(why, vec![last.0]))
}

fn delivers_in_last_turn(notes: &Notes) -> bool {
    let last_turn = notes.steps.last().map(|step| step.turn);
    let first = notes.steps.iter().find(|step| Some(step.turn) == last_turn);
    first.is_some_and(|first| deliveries(notes).any(|(seq, _)| seq >= first.seq))
}

/// Maximum number of checks whose state is known.
const MAX_CHECKS: usize = 200;

/// State of a check when it last ran.
struct CheckState<'n> {
    seq: Seq,
    part: Cow<'n, RunPart>,
}

/// Returns the last known state of each check. A check of everything settles those of a part.
fn check_states(notes: &Notes) -> Vec<CheckState<'_>> {
    let mut states: Vec<CheckState<'_>> = Vec::new();
    for (seq, part) in parts(notes) {
        if part.purpose.is_delivery() || part.ok.is_none() {
            continue;
        }
        let is_wider = |known: &RunPart| {
            let rest = known.name.strip_prefix(part.name.as_str());
            let same_tool = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
            known.purpose == part.purpose && same_tool && (!part.narrow || known.narrow)
        };
        // A narrow run that passes does not settle a wide one that failed; one that fails does not unsettle it either.
        states.retain(|state| !is_wider(&state.part));
        if states.len() == MAX_CHECKS {
            states.remove(0);
        }
        states.push(CheckState { seq, part });
    }
    states
}

fn check_name(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Test => "tests",
        Purpose::Build => "the build",
        Purpose::Lint => "the linter",
        Purpose::Format => "the format check",
        Purpose::Types => "the type check",
        Purpose::Commit
        | Purpose::Push
        | Purpose::PullRequest
        | Purpose::Merge
        | Purpose::Tag
        | Purpose::Release => "a delivery",
    }
}

/// Returns the checks that passed when they last ran.
fn proofs(notes: &Notes) -> Vec<Statement> {
    let mut proofs: Vec<Statement> = Vec::new();
    let mut states = check_states(notes);
    states.sort_by_key(|state| state.part.purpose);
    for state in states.iter().filter(|state| state.part.ok == Some(true)) {
        let text = match state.part.tests {
            Some((passed, _)) if passed > 0 => {
                format!("`{}` passed when it last ran: {passed}", state.part.name)
            }
            _ => format!("`{}` passed when it last ran", state.part.name),
        };
        proofs.push(Statement::new(&text, vec![state.seq]));
    }
    proofs.truncate(MAX_PROOFS);
    proofs
}

/// Maximum number of checks that are named as reasons.
const MAX_PROOFS: usize = 4;

/// Returns a check that failed when it last ran, if the session changed something, nothing was delivered after it and it is not about format.
fn broken_at_the_end(notes: &Notes) -> Option<Statement> {
    let edited = notes.steps.iter().filter_map(|step| match step.what {
        What::Edit { failed: false, .. } => Some(step.seq),
        _ => None,
    });
    let first_edit = edited.min()?;
    let last_delivery = deliveries(notes).last().map(|(seq, _)| seq);
    let states = check_states(notes);
    // Another check of the same kind that passed later says more.
    let is_settled = |broken: &CheckState<'_>| {
        states.iter().any(|state| {
            state.part.purpose == broken.part.purpose
                && state.part.ok == Some(true)
                && !state.part.narrow
                && state.seq > broken.seq
        })
    };
    let broken = states.iter().find(|state| {
        state.part.ok == Some(false)
            && state.part.purpose != Purpose::Format
            && state.seq > first_edit
            && last_delivery.is_none_or(|delivered| delivered < state.seq)
            && !is_settled(state)
    })?;
    let what = format!(
        "{} failed when last run: `{}`",
        check_name(broken.part.purpose),
        broken.part.name
    );
    Some(Statement::new(&what, vec![broken.seq]))
}

pub(super) fn runs(notes: &Notes) -> impl DoubleEndedIterator<Item = (&Step, &Run)> {
    notes.steps.iter().filter_map(|step| match &step.what {
        What::Run(run) => Some((step, run)),
        _ => None,
    })
}

fn last_prompt(notes: &Notes) -> Option<&str> {
    notes.steps.iter().rev().find_map(|step| match &step.what {
        What::Prompt(text) => Some(text.as_str()),
        _ => None,
    })
}

fn last_reply(notes: &Notes) -> Option<&str> {
    notes.steps.iter().rev().find_map(|step| match &step.what {
        What::Reply(text) => Some(text.as_str()),
        _ => None,
    })
}

/// A reason that lies in how the session ends.
fn because(notes: &Notes, why: &str) -> Statement {
    Statement::new(why, vec![notes.events])
}

#[cfg(test)]
mod tests {
    use backstory_event::Action;

    use super::super::story::Story;
    use super::*;

    fn check(tell: fn(&mut Story) -> &mut Story, expect: Outcome) {
        let mut story = Story::default();
        tell(&mut story);
        let (outcome, reasons) = judge(&story.notes);
        assert_eq!(outcome, expect, "{reasons:?}");
        assert!(!reasons.is_empty());
        let known = |event: &Seq| *event <= story.notes.events;
        let rests = |reason: &Statement| reason.events.iter().all(known);
        assert!(reasons.iter().all(rests), "{reasons:?}");
    }

    #[test]
    fn what_was_answered_worked_unless_something_tells_otherwise() {
        check(|story| story, Outcome::Unknown);
        check(
            |story| story.prompt("why?").reply("Because."),
            Outcome::Success,
        );
        let check = |command: &'static str, output: &'static str, code: i64, expect: Outcome| {
            let mut story = Story::default();
            story
                .prompt("fix it")
                .tool("Edit", "/a.rs", Action::Write, None)
                .run(command, output, code)
                .reply("Fixed.");
            assert_eq!(judge(&story.notes).0, expect, "{command}: {output}");
        };
        check("cargo test", "4 passed; 0 failed", 0, Outcome::Success);
        check("cargo test", "4 passed; 1 failed", 101, Outcome::Partial);
        // A pipe hides the exit code.
        check(
            "pytest | tail",
            "===== 1 failed, 2 passed in 0.12s =====",
            0,
            Outcome::Partial,
        );
        check(
            "npm run build",
            "npm ERR! missing script",
            1,
            Outcome::Partial,
        );
        check("ls none", "No such file", 1, Outcome::Success);
    }

    #[test]
    fn what_came_later_counts() {
        check(
            |story| {
                story
                    .prompt("fix it")
                    .run("pytest", "1 failed", 1)
                    .run("pytest", "1 passed", 0)
                    .reply("Fixed.")
            },
            Outcome::Success,
        );
        check(
            |story| story.prompt("it does not work").reply("Try now."),
            Outcome::Partial,
        );
        check(
            |story| {
                story
                    .prompt("it does not work")
                    .tool("Edit", "/a.rs", Action::Write, None)
                    .reply("Try now.")
            },
            Outcome::Success,
        );
        check(
            |story| {
                story
                    .prompt("fix it")
                    .tool("Edit", "/a.rs", Action::Write, Some("not found"))
                    .reply("Fixed.")
            },
            Outcome::Failed,
        );
        check(
            |story| {
                story
                    .prompt("merge it")
                    .reply("CI is still running; waiting for it.")
            },
            Outcome::Running,
        );
        check(
            |story| {
                story
                    .prompt("fix it")
                    .reply("I was unable to reach the server.")
            },
            Outcome::Failed,
        );
    }

    #[test]
    fn what_the_agent_says_is_left_is_left() {
        let ending = |reply: &str| {
            let mut story = Story::default();
            story
                .prompt("do task 1 and 2")
                .tool("Edit", "/shop/src/cart.rs", Action::Write, None)
                .reply(reply);
            judge(&story.notes).0
        };
        assert_eq!(
            ending("Task 1 is done. Ready to continue with task 2?"),
            Outcome::Partial
        );
        assert_eq!(
            ending("Fixed both, but three integration tests still fail."),
            Outcome::Partial
        );
        assert_eq!(
            ending("Both are done. Want me to commit?"),
            Outcome::Success
        );
    }

    #[test]
    fn a_plan_is_no_success_yet() {
        check(
            |story| {
                story
                    .prompt("plan it")
                    .tool("Write", "/shop/plans/cart.md", Action::Write, None)
                    .reply("The plan is written.")
            },
            Outcome::Planned,
        );
        check(
            |story| {
                story
                    .prompt("plan it")
                    .tool("Write", "/shop/plans/cart.md", Action::Write, None)
                    .tool("Edit", "/shop/src/cart.rs", Action::Write, None)
                    .reply("Done.")
            },
            Outcome::Success,
        );
    }

    #[test]
    fn what_stopped_in_the_middle_is_abandoned() {
        check(
            |story| story.prompt("fix it").start("cargo test"),
            Outcome::Running,
        );
        check(
            |story| {
                story
                    .prompt("fix it")
                    .run("git commit -m x", "[main 1234567] x", 0)
                    .start("cargo test")
            },
            Outcome::Running,
        );
        check(
            |story| story.prompt("fix it").reply("Hm.").interrupt(),
            Outcome::Abandoned,
        );
        check(
            |story| {
                story
                    .prompt("fix it")
                    .reply("Done.")
                    .prompt("thanks, perfect!")
            },
            Outcome::Success,
        );
        check(
            |story| {
                story
                    .prompt("fix it")
                    .reply("Done.")
                    .prompt("it still fails")
            },
            Outcome::Failed,
        );
    }
}
