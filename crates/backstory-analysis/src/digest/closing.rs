//! State in which a session left its work: what came of it, what is open, how its checks went last.

use backstory_event::{Seq, TurnNo};

use super::notes::{Notes, What};
use super::results::results;
use super::run_parts::{Purpose, deliveries, parts};
use super::topic::Topic;
use super::{Statement, account, decisions};
use crate::AgentConventions;

/// State in which a session left its work.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Closing {
    /// The sentence of the last reply that names a result.
    pub result: Option<Statement>,
    /// Work left to do, as the last reply names it.
    pub open: Vec<Statement>,
    /// What the user decided, the first decision first.
    pub decisions: Vec<Statement>,
    /// Hash of the last commit, and its turn. Nothing else that git printed is taken.
    pub commit: Option<(String, TurnNo)>,
    /// Checks by their names, each as it went last, in the order of their last runs.
    pub checks: Vec<LastCheck>,
}

/// Last run of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastCheck {
    /// Name by which two runs are of the same check.
    pub name: String,
    /// Its family.
    pub purpose: Purpose,
    /// True if it passed.
    pub ok: bool,
    /// True if only some tests or files were selected.
    pub is_narrow: bool,
    /// Turn of the run.
    pub turn: TurnNo,
    /// Number of runs.
    pub runs: usize,
}

impl Closing {
    /// Reads the state out of the notes of a session.
    pub fn new(notes: &Notes, agents: &AgentConventions) -> Self {
        let turn_of = |seq: Seq| {
            let place = notes.steps.partition_point(|step| step.seq < seq);
            let step = notes.steps.get(place).or(notes.steps.last());
            step.map_or(TurnNo::FIRST, |step| step.turn)
        };
        Closing {
            result: result(notes, agents),
            open: account::next_steps(notes),
            decisions: decisions::of_user(notes, agents),
            commit: deliveries(notes).rev().find_map(|(seq, part)| {
                let hash = commit_hash(part.said.as_deref()?)?;
                (part.purpose == Purpose::Commit).then(|| (hash.to_string(), turn_of(seq)))
            }),
            checks: last_checks(notes, turn_of),
        }
    }
}

fn result(notes: &Notes, agents: &AgentConventions) -> Option<Statement> {
    let results = results(notes, &Topic::new(notes, agents));
    let last_reply = notes.steps.iter().rev();
    let mut last_reply = last_reply.filter(|step| matches!(step.what, What::Reply(_)));
    let last_reply = last_reply.next()?.seq;
    let is_answer = !(notes.steps.iter()).any(|step| matches!(step.what, What::Edit { .. }));
    let result = results
        .into_iter()
        .find(|result| result.seq == last_reply && (result.tells || is_answer))?;
    Some(Statement {
        text: result.text,
        turn: Some(result.turn),
        events: vec![result.seq],
    })
}

fn commit_hash(said: &str) -> Option<&str> {
    let hash = said.split(' ').next()?;
    let is_hash =
        (7..=40).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(hash)
}

/// Maximum number of checks that are told apart.
const MAX_CHECKS: usize = 200;

fn last_checks(notes: &Notes, turn_of: impl Fn(Seq) -> TurnNo) -> Vec<LastCheck> {
    let mut checks: Vec<LastCheck> = Vec::new();
    for (seq, part) in parts(notes) {
        let Some(ok) = part.ok else {
            continue;
        };
        if part.purpose.is_delivery() || part.name.is_empty() {
            continue;
        }
        // A run of some tests only says nothing of the others, but that those which failed alone pass.
        let failed = checks
            .iter()
            .find(|check| check.name == part.name && !check.ok);
        if part.narrow && ok && !failed.is_some_and(|check| check.is_narrow) {
            continue;
        }
        if checks.len() == MAX_CHECKS {
            checks.remove(0);
        }
        let known = checks.iter().position(|check| check.name == part.name);
        let runs = known.map_or(0, |place| checks.remove(place).runs);
        checks.push(LastCheck {
            name: part.name.clone(),
            purpose: part.purpose,
            ok,
            is_narrow: part.narrow,
            turn: turn_of(seq),
            runs: runs + 1,
        });
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::super::Story;
    use super::*;
    use crate::conventions::KNOWN_AGENTS;

    #[test]
    fn the_state_is_that_of_the_end() {
        let mut story = Story::default();
        story
            .prompt("fix the flaky cart test")
            .run(
                "cargo test",
                "test result: FAILED. 1 passed; 1 failed; 0 ignored",
                101,
            )
            .run("cargo fmt --check", "", 0)
            .prompt("always use a fake clock")
            .run(
                "cargo test",
                "test result: ok. 2 passed; 0 failed; 0 ignored",
                0,
            )
            .run("git commit -m x", "[main 1234567] Use a fake clock", 0)
            .reply(
                "Done.\n\nFixed the race in the cart test.\n\nNext steps:\n- Update the changelog",
            );
        let closing = Closing::new(&story.notes, &KNOWN_AGENTS);
        let texts = |statements: &[Statement]| -> Vec<String> {
            (statements.iter())
                .map(|statement| statement.text.clone())
                .collect()
        };
        let result = closing.result.map(|result| result.text);
        assert_eq!(result.as_deref(), Some("Fixed the race in the cart test"));
        assert_eq!(texts(&closing.open), ["Update the changelog"]);
        assert_eq!(texts(&closing.decisions), ["always use a fake clock"]);
        assert_eq!(
            closing.commit,
            Some(("1234567".to_string(), TurnNo::new(2)))
        );
        let checks: Vec<(&str, bool, usize)> = (closing.checks.iter())
            .map(|check| (check.name.as_str(), check.ok, check.runs))
            .collect();
        assert_eq!(checks, [("cargo fmt", true, 1), ("cargo test", true, 2)]);
    }
}
