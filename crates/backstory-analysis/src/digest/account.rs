//! The digest: what the notes of a session amount to.

use std::collections::HashMap;

use super::command::{self, CommandKind};
use super::notes::{Notes, Step, What, shortened};
use super::outcome::{self, Outcome, runs};
use super::{FileChange, Statement, said, trouble};
use crate::{AgentConventions, text};
use backstory_event::Seq;

/// Maximum number of statements of each kind.
const MOST_STATEMENTS: usize = 20;

/// Characters of a prompt that are quoted, of its beginning and of its end.
const QUOTE: (usize, usize) = (240, 60);

/// A prompt of up to so many bytes may hold a decision.
const MOST_DECIDED: usize = 500;

/// The longest title, in characters.
const TITLE: usize = 80;

/// The digest of a session, made of its notes.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
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
    /// Decisions and corrections by the user.
    pub decisions: Vec<Statement>,
    /// Work left to do, as its end says.
    pub next_steps: Vec<Statement>,
}

impl Account {
    /// Makes the account of a session.
    pub fn new(notes: &Notes, agents: &AgentConventions) -> Self {
        let (outcome, reasons) = outcome::judge(notes);
        Account {
            goal: goal(notes, agents),
            outcome,
            reasons,
            done: done(notes),
            files: files(notes),
            errors: errors(notes),
            decisions: decisions(notes, agents),
            next_steps: next_steps(notes),
        }
    }
}

/// Returns the first prompts that say something.
fn goal(notes: &Notes, agents: &AgentConventions) -> Vec<Statement> {
    let telling: Vec<(&Step, &str)> = prompts(notes)
        .filter(|(_, text)| said::is_of_a_person(text, agents) && !said::is_go_on(text))
        .take(2)
        .collect();
    let chosen = match telling.first() {
        // A short first prompt often only opens the talk.
        Some((_, text)) if text.len() < 25 => telling,
        Some(_) => telling.into_iter().take(1).collect(),
        None => prompts(notes).take(1).collect(),
    };
    chosen
        .into_iter()
        .map(|(step, text)| quote(step, text))
        .collect()
}

/// Returns the first prompt of a person that says more than to go on.
pub fn first_request<'n>(notes: &'n Notes, agents: &AgentConventions) -> Option<&'n str> {
    let mut texts = prompts(notes).map(|(_, text)| text);
    texts.find(|text| said::is_of_a_person(text, agents) && !said::is_go_on(text))
}

/// Returns a title that people recognise, for a session that has none but its first line.
pub fn title(notes: &Notes, agents: &AgentConventions) -> Option<String> {
    let line = first_request(notes, agents)?
        .lines()
        .map(str::trim)
        .find(|line| line.chars().any(char::is_alphabetic))?;
    let line = line.trim_start_matches(['#', '*', '-', ' ']);
    let whole = line.chars().count() <= TITLE;
    let title: String = if whole {
        line.to_string()
    } else {
        let cut: String = line.chars().take(TITLE).collect();
        let end = cut
            .rfind(' ')
            .filter(|end| *end > TITLE / 2)
            .unwrap_or(cut.len());
        format!("{}…", &cut[..end])
    };
    Some(title)
}

fn done(notes: &Notes) -> Vec<Statement> {
    let mut done = Vec::new();
    let changed = files(notes);
    if !changed.is_empty() {
        let mut names: Vec<&str> = Vec::new();
        for file in &changed {
            let name = file.path.rsplit(['/', '\\']).next().unwrap_or(&file.path);
            if names.len() < 5 && !names.contains(&name) {
                names.push(name);
            }
        }
        let more = if changed.len() > names.len() {
            ", …"
        } else {
            ""
        };
        let files = if changed.len() == 1 {
            "1 file".to_string()
        } else {
            format!("{} files", changed.len())
        };
        let events = changed
            .iter()
            .filter_map(|file| file.events.last().copied())
            .take(5)
            .collect();
        done.push(Statement::new(
            &format!("edited {files}: {}{more}", names.join(", ")),
            events,
        ));
    }
    // Commands that prove or deliver, by what they are; the same one again is told once.
    let mut told: Vec<(String, Vec<Seq>, String)> = Vec::new();
    for (step, run) in runs(notes).filter(|(_, run)| !run.kind.is_other()) {
        let program = command::program(&run.command);
        let (name, how) = match (run.kind, run.ok) {
            (CommandKind::Commit, Some(true)) => (
                format!("committed {}", run.said.as_deref().unwrap_or("")),
                String::new(),
            ),
            (CommandKind::PullRequest, Some(true)) => (
                format!("opened {}", run.said.as_deref().unwrap_or("a pull request")),
                String::new(),
            ),
            (CommandKind::Push, Some(true)) => ("pushed".to_string(), String::new()),
            (_, ok) => (format!("ran `{program}`"), verdict(run.tests, ok)),
        };
        match told.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, events, last)) => {
                events.push(step.seq);
                *last = how;
            }
            None => told.push((name, vec![step.seq], how)),
        }
    }
    for (name, events, how) in told {
        let times = if events.len() > 1 {
            format!(" {} times", events.len())
        } else {
            String::new()
        };
        let how = if how.is_empty() {
            how
        } else {
            format!(", {}{how}", if events.len() > 1 { "at last " } else { "" })
        };
        let last = events.last().copied().into_iter().collect();
        done.push(Statement::new(
            &format!("{}{times}{how}", name.trim()),
            last,
        ));
    }
    if done.len() > MOST_STATEMENTS {
        // What came last tells most of what came of it.
        done.drain(1..=done.len() - MOST_STATEMENTS);
    }
    done
}

fn verdict(tests: Option<(u64, u64)>, ok: Option<bool>) -> String {
    match (tests, ok) {
        (Some((passed, 0)), Some(true)) => format!("{passed} passed"),
        (Some((passed, failed)), _) => format!("{passed} passed, {failed} failed"),
        (None, Some(true)) => "passed".to_string(),
        (None, Some(false)) => "failed".to_string(),
        (None, None) => String::new(),
    }
}

fn files(notes: &Notes) -> Vec<FileChange> {
    let mut changes: Vec<FileChange> = Vec::new();
    let mut place: HashMap<&str, usize> = HashMap::new();
    for step in &notes.steps {
        if let What::Edit {
            paths,
            failed: false,
            ..
        } = &step.what
        {
            for path in paths {
                let at = *place.entry(path).or_insert_with(|| {
                    changes.push(FileChange {
                        path: path.clone(),
                        events: Vec::new(),
                    });
                    changes.len() - 1
                });
                changes[at].events.push(step.seq);
            }
        }
    }
    changes
}

/// Errors by what they are, and how each ended.
fn errors(notes: &Notes) -> Vec<Statement> {
    let mut found: Vec<(String, String, Vec<Seq>, Option<&str>)> = Vec::new();
    for step in &notes.steps {
        let (told, command) = match &step.what {
            What::Run(run) if run.ok == Some(false) => {
                (run.said.as_deref(), Some(run.command.as_str()))
            }
            What::Edit {
                failed: true, said, ..
            } => (said.as_deref(), None),
            What::Failed { said, .. } => (Some(said.as_str()), None),
            _ => continue,
        };
        let told = told
            .filter(|told| !told.is_empty())
            .unwrap_or("failed without a word");
        let signature = trouble::signature(told);
        match found.iter_mut().find(|(known, ..)| *known == signature) {
            Some((_, _, events, last)) => {
                events.push(step.seq);
                *last = command;
            }
            None => found.push((signature, told.to_string(), vec![step.seq], command)),
        }
    }
    let state = |(_, told, events, command): (String, String, Vec<Seq>, Option<&str>)| {
        let last = events.last().copied().unwrap_or_default();
        let times = if events.len() > 1 {
            format!(" ({} times)", events.len())
        } else {
            String::new()
        };
        let again = command.and_then(|command| passed_later(notes, command, last));
        let mut cited = events;
        let ended = match (command, again) {
            (Some(_), Some(seq)) => {
                cited.push(seq);
                "; the command passed later"
            }
            (Some(_), None) => "; the command was not seen to pass after it",
            (None, _) => "",
        };
        cited.dedup();
        Statement::new(&format!("{told}{times}{ended}"), cited)
    };
    let mut errors: Vec<Statement> = found.into_iter().map(state).collect();
    errors.truncate(MOST_STATEMENTS);
    errors
}

/// The first event after `seq` where the same command worked.
pub(crate) fn passed_later(notes: &Notes, command: &str, seq: Seq) -> Option<Seq> {
    let kind = command::kind(command);
    let program = command::program(command);
    let same = |other: &str, other_kind: CommandKind| {
        other == command
            || (kind.is_proof() && other_kind == kind && command::program(other) == program)
    };
    runs(notes)
        .find(|(step, run)| step.seq > seq && run.ok == Some(true) && same(&run.command, run.kind))
        .map(|(step, _)| step.seq)
}

/// Returns decisions and corrections of the user.
fn decisions(notes: &Notes, agents: &AgentConventions) -> Vec<Statement> {
    let mut decisions: Vec<Statement> = prompts(notes)
        .skip(1)
        .filter(|(_, text)| said::is_of_a_person(text, agents) && !said::is_go_on(text))
        // Longer ones are mostly pasted.
        .filter(|(_, text)| text.len() <= MOST_DECIDED)
        .filter(|(_, text)| said::is_correction(text) || said::is_decision(text))
        .map(|(step, text)| quote(step, text))
        .collect();
    if decisions.len() > MOST_STATEMENTS {
        // What was said last holds.
        decisions.drain(..decisions.len() - MOST_STATEMENTS);
    }
    decisions
}

fn next_steps(notes: &Notes) -> Vec<Statement> {
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

fn quote(step: &Step, said: &str) -> Statement {
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
        let account = Account::new(&story.notes, &KNOWN_AGENTS);
        assert_eq!(texts(&account.goal), ["the cart test is flaky, fix it"]);
        assert_eq!(account.outcome, Outcome::Success);
        assert_eq!(
            texts(&account.done),
            [
                "edited 1 file: cart.rs",
                "ran `cargo test` 2 times, at last 3 passed",
                "committed 1234567 Fix cart"
            ]
        );
        assert_eq!((account.files.len(), account.files[0].events.len()), (1, 1));
        assert_eq!(
            texts(&account.errors),
            [
                "error: test failed; the command passed later",
                "String to replace not found in file.",
                "File does not exist.",
            ]
        );
        assert_eq!(
            texts(&account.decisions),
            ["don't touch the clock, use a fake one instead"]
        );
        assert_eq!(texts(&account.next_steps), ["Update the changelog"]);
        assert_eq!(
            title(&story.notes, &KNOWN_AGENTS).as_deref(),
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
        let title = title(&story.notes, &KNOWN_AGENTS).unwrap();
        assert!(
            title.starts_with("please look into") && title.ends_with(" look…"),
            "{title}"
        );
    }
}
