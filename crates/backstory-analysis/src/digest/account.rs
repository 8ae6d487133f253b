//! The digest: what the notes of a session amount to.

use std::collections::{HashMap, HashSet};

use backstory_event::{Seq, TurnNo};

use super::done::{EDITED, done, files};
use super::errors::errors;
use super::notes::{Notes, Step, What, shortened};
use super::outcome::{self, Outcome};
use super::results::results;
use super::topic::Topic;
use super::{FileChange, Statement, decisions, said, summary, title};
use crate::{AgentConventions, text};

/// Maximum number of statements of each kind.
pub(super) const MOST_STATEMENTS: usize = 20;

/// Characters of a prompt that are quoted, of its beginning and of its end.
const QUOTE: (usize, usize) = (240, 60);

/// The digest of a session, made of its notes.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// The session in one sentence: what was asked, what came of it, what is open.
    pub headline: Option<Statement>,
    /// The first request.
    pub goal: Vec<Statement>,
    /// Its end.
    pub outcome: Outcome,
    /// Reasons for the outcome.
    pub reasons: Vec<Statement>,
    /// Work done.
    pub done: Vec<Statement>,
    /// Changed files.
    pub files: Vec<FileChange>,
    /// Errors, and how each ended.
    pub errors: Vec<Statement>,
    /// Errors of tests, builds and checks that were not seen to pass afterwards.
    pub problems: Vec<Statement>,
    /// Decisions and corrections by the user.
    pub decisions: Vec<Statement>,
    /// Work left to do, as its end says.
    pub next_steps: Vec<Statement>,
}

impl Account {
    /// Makes the account of a session, which may have a title of its agent's or user's.
    pub fn new(notes: &Notes, known_title: Option<&str>, agents: &AgentConventions) -> Self {
        let topic = Topic::new(notes, agents);
        let (outcome, reasons) = outcome::judge(notes);
        let next_steps = next_steps(notes);
        let (errors, problems) = errors(notes, agents);
        let results = results(notes, &topic);
        let title = title::title_about(notes, &topic, agents);
        // Its own title says it well, unless that says clearly less of what the session was about.
        let known = known_title.filter(|known| {
            let own = title.as_deref().map_or(0.0, |title| topic.density(title));
            own < title::DENSER * topic.density(known)
        });
        let title = known.or(title.as_deref());
        let mut account = Account {
            headline: title.map(|title| {
                summary::headline(notes, title, outcome, &results, &next_steps, &topic)
            }),
            goal: goal(notes, &topic, agents),
            outcome,
            reasons,
            done: done(notes, &results),
            files: files(notes),
            errors,
            problems,
            decisions: decisions::of_user(notes, agents),
            next_steps,
        };
        account.cite_turns(notes);
        account
    }

    /// Adds what became of functions, behind the changed files.
    pub fn add_symbols(&mut self, symbols: Statement) {
        let is_files = |statement: &Statement| statement.text.starts_with(EDITED);
        let at = self
            .done
            .iter()
            .position(is_files)
            .map_or(self.done.len(), |at| at + 1);
        self.done.insert(at, symbols);
    }

    /// Adds the turn to statements that name only events: the turn of the last one.
    fn cite_turns(&mut self, notes: &Notes) {
        let turns: HashMap<Seq, TurnNo> = (notes.steps.iter())
            .map(|step| (step.seq, step.turn))
            .collect();
        let last_turn = notes.steps.last().map(|step| step.turn);
        let all = [
            &mut self.reasons,
            &mut self.done,
            &mut self.errors,
            &mut self.problems,
        ];
        for statement in all.into_iter().flatten().chain(&mut self.headline) {
            let known = statement.events.iter().rev().find_map(|seq| turns.get(seq));
            // The last event of a session is mostly no step.
            let turn = known.copied().or(last_turn);
            statement.turn = statement.turn.or(turn);
        }
    }
}

/// Maximum number of prompts that make up a goal.
const MAX_GOALS: usize = 4;

/// Minimum share of the topic that a later request adds to the goal.
const MIN_ADDED_SHARE: f32 = 0.2;

/// Minimum number of bytes of a first prompt that does more than to open the talk.
const MIN_OPENING_BYTES: usize = 25;

/// Returns the first request, and later ones that add much to it.
fn goal(notes: &Notes, topic: &Topic, agents: &AgentConventions) -> Vec<Statement> {
    let requests = || {
        prompts(notes)
            .filter(|(_, text)| said::is_of_a_person(text, agents) && !said::is_go_on(text))
    };
    let openings = match requests().next() {
        Some((_, text)) if text.len() < MIN_OPENING_BYTES => 2,
        _ => 1,
    };
    let mut chosen: Vec<(&Step, &str)> = requests().take(openings).collect();
    if chosen.is_empty() {
        chosen = prompts(notes).take(1).collect();
    }
    // What the work was done for may have come up later.
    let main = title::main_request(notes, agents);
    let main = prompts(notes).find(|(_, text)| Some(*text) == main);
    let is_edit = |step: &&Step| matches!(step.what, What::Edit { failed: false, .. });
    let edited: HashSet<TurnNo> = (notes.steps.iter().filter(is_edit))
        .map(|step| step.turn)
        .collect();
    let later = requests().skip(openings).filter(|(step, text)| {
        text.len() >= MIN_OPENING_BYTES && !said::is_question(text) && edited.contains(&step.turn)
    });
    for (step, text) in main.into_iter().chain(later) {
        if chosen.len() == MAX_GOALS {
            break;
        }
        let known: Vec<&str> = chosen.iter().map(|(_, text)| *text).collect();
        let is_main = main.is_some_and(|(main, _)| main.seq == step.seq);
        let adds = is_main || topic.share_beside(text, &known) >= MIN_ADDED_SHARE;
        let is_chosen = chosen.iter().any(|(known, _)| known.seq == step.seq);
        if adds && !is_chosen {
            chosen.push((step, text));
        }
    }
    chosen.sort_by_key(|(step, _)| step.seq);
    chosen
        .into_iter()
        .map(|(step, text)| quote(step, text))
        .collect()
}

pub(super) fn next_steps(notes: &Notes) -> Vec<Statement> {
    let last = notes.steps.iter().rev().find_map(|step| match &step.what {
        What::Reply(text) => Some((step, text)),
        _ => None,
    });
    let Some((step, reply)) = last else {
        return Vec::new();
    };
    let steps = said::next_steps(reply).into_iter();
    steps
        .map(|text| Statement {
            text,
            turn: Some(step.turn),
            events: vec![step.seq],
        })
        .collect()
}

/// Returns the prompts of a session, shortened.
pub fn prompts(notes: &Notes) -> impl Iterator<Item = (&Step, &str)> {
    notes.steps.iter().filter_map(|step| match &step.what {
        What::Prompt(text) => Some((step, text.as_str())),
        _ => None,
    })
}

pub(super) fn quote(step: &Step, said: &str) -> Statement {
    let line = shortened(said, QUOTE).replace('\n', " ");
    Statement {
        text: text::beginning(&line, 1_200).to_string(),
        turn: Some(step.turn),
        events: vec![step.seq],
    }
}

#[cfg(test)]
mod tests {
    use backstory_event::Action;

    use super::super::story::Story;
    use super::*;
    use crate::conventions::KNOWN_AGENTS;

    fn texts(statements: &[Statement]) -> Vec<&str> {
        statements
            .iter()
            .map(|statement| statement.text.as_str())
            .collect()
    }

    #[test]
    fn a_session_is_told_with_its_evidence() {
        let mut story = Story::default();
        story
            .prompt("continue")
            .reply("What with?")
            .prompt("the cart test is flaky, fix it")
            .run("cargo test cart", "error: test failed", 101)
            .tool("Edit", "/shop/src/cart.rs", Action::Write, None)
            .tool(
                "Edit",
                "/shop/src/cart.rs",
                Action::Write,
                Some("String to replace not found in file."),
            )
            .tool(
                "Read",
                "/shop/none.rs",
                Action::Read,
                Some("File does not exist."),
            )
            .run("cargo test cart", "test result: ok. 3 passed; 0 failed", 0)
            .prompt("don't touch the clock, use a fake one instead")
            .run(
                "git commit -m 'Fix cart'",
                "[main 1234567] Fix cart\n 1 file changed",
                0,
            )
            .reply("Committed.\n\nNext steps:\n- Update the changelog");
        let account = Account::new(&story.notes, None, &KNOWN_AGENTS);
        assert_eq!(texts(&account.goal), ["the cart test is flaky, fix it"]);
        assert_eq!(account.outcome, Outcome::Success);
        assert_eq!(
            texts(&account.done),
            [
                "committed 1234567 Fix cart",
                "edited 1 file: cart.rs",
                "ran `cargo test` 2 times, at last 3 passed",
            ]
        );
        assert_eq!((account.files.len(), account.files[0].events.len()), (1, 1));
        assert_eq!(
            texts(&account.errors),
            ["error: test failed; `cargo test` passed later, after an edit of cart.rs",]
        );
        assert_eq!(
            texts(&account.decisions),
            ["don't touch the clock, use a fake one instead"]
        );
        assert_eq!(texts(&account.next_steps), ["Update the changelog"]);
        assert_eq!(
            title::title(&story.notes, &KNOWN_AGENTS).as_deref(),
            Some("the cart test is flaky, fix it")
        );
        let all = [
            &account.goal,
            &account.reasons,
            &account.done,
            &account.errors,
            &account.decisions,
            &account.next_steps,
        ];
        assert!(all.iter().all(|statements| {
            statements
                .iter()
                .all(|statement| !statement.events.is_empty())
        }));
    }

    #[test]
    fn titles_are_cut_between_words() {
        let mut story = Story::default();
        story.prompt(&format!("## please {}", "look into it ".repeat(20)));
        let title = title::title(&story.notes, &KNOWN_AGENTS).unwrap();
        assert!(
            title.starts_with("look into it") && title.ends_with(" look…"),
            "{title}"
        );
    }
}
