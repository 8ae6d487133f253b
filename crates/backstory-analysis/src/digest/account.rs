//! The digest: what the notes of a session amount to.

use std::collections::HashMap;

use super::command::{self, CommandKind};
use super::notes::{Notes, Step, What, shortened};
use super::outcome::{self, Outcome, runs};
use super::results::{ResultSentence, results};
use super::run_parts::{PlacedPart, Purpose, RunPart, parts, step_parts};
use super::topic::Topic;
use super::{FileChange, Statement, decisions, said, summary, title, trouble};
use crate::{AgentConventions, text};
use backstory_event::{Seq, TurnNo};

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
    let edited = |turn| {
        (notes.steps.iter())
            .any(|step| step.turn == turn && matches!(step.what, What::Edit { failed: false, .. }))
    };
    let later = requests().skip(openings).filter(|(step, text)| {
        text.len() >= MIN_OPENING_BYTES && !said::is_question(text) && edited(step.turn)
    });
    for (step, text) in main.into_iter().chain(later) {
        let known: Vec<&str> = chosen.iter().map(|(_, text)| *text).collect();
        let is_main = main.is_some_and(|(main, _)| main.seq == step.seq);
        let adds = is_main || topic.share_beside(text, &known) >= MIN_ADDED_SHARE;
        let is_chosen = chosen.iter().any(|(known, _)| known.seq == step.seq);
        if adds && !is_chosen && chosen.len() < MAX_GOALS {
            chosen.push((step, text));
        }
    }
    chosen.sort_by_key(|(step, _)| step.seq);
    chosen
        .into_iter()
        .map(|(step, text)| quote(step, text))
        .collect()
}

/// Maximum number of results among the things done.
const MAX_RESULTS: usize = 4;

/// Minimum score of a result among the things done.
const MIN_RESULT_SCORE: f32 = 0.12;

/// Returns what was done: the results, what was delivered, the changed files, the checks.
fn done(notes: &Notes, results: &[ResultSentence]) -> Vec<Statement> {
    let (deliveries, checks) = checks_and_deliveries(notes);
    let edits = edited_files(notes);
    let mut done = best_results(results, edits.is_some() || !deliveries.is_empty());
    let kept = MOST_STATEMENTS.saturating_sub(done.len() + MAX_CHECKS + 1);
    // What was delivered last tells most of what came of it.
    done.extend(deliveries.into_iter().rev().take(kept));
    done.extend(edits);
    done.extend(checks.into_iter().take(MAX_CHECKS));
    done
}

/// Returns the results that say most, of each turn but the last only one, in their order. Of a session that changed nothing, the answers.
fn best_results(results: &[ResultSentence], has_changes: bool) -> Vec<Statement> {
    let last_turn = results.iter().map(|result| result.turn).max();
    let mut chosen: Vec<&ResultSentence> = Vec::new();
    let tells = |result: &&ResultSentence| {
        result.score >= MIN_RESULT_SCORE && (result.tells || !has_changes)
    };
    for result in results.iter().filter(tells) {
        let is_told = chosen.iter().any(|known| {
            known.text == result.text || known.turn == result.turn && Some(known.turn) != last_turn
        });
        if !is_told && chosen.len() < MAX_RESULTS {
            chosen.push(result);
        }
    }
    chosen.sort_by_key(|result| result.seq);
    let statement = |result: &ResultSentence| Statement {
        text: result.text.clone(),
        turn: Some(result.turn),
        events: vec![result.seq],
    };
    chosen.into_iter().map(statement).collect()
}

/// Beginning of the statement that names the changed files.
const EDITED: &str = "edited ";

fn edited_files(notes: &Notes) -> Option<Statement> {
    let changed = files(notes);
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
    let events = (changed.iter())
        .filter_map(|file| file.events.last().copied())
        .take(5)
        .collect();
    let text = format!("{EDITED}{files}: {}{more}", names.join(", "));
    (!changed.is_empty()).then(|| Statement::new(&text, events))
}

/// Maximum number of checks among the things done.
const MAX_CHECKS: usize = 8;

/// Returns deliveries and checks by what they are; the same one again is told once.
fn checks_and_deliveries(notes: &Notes) -> (Vec<Statement>, Vec<Statement>) {
    let mut told: Vec<(String, Vec<Seq>, String)> = Vec::new();
    for (seq, part) in parts(notes) {
        let said = part.said.as_deref();
        let (name, how) = match (part.purpose, part.ok) {
            (purpose, Some(true)) if purpose.is_delivery() => {
                (delivery(purpose, &part.name, said), String::new())
            }
            // What did not reach anybody is no delivery; why it failed is among the errors.
            (purpose, _) if purpose.is_delivery() => continue,
            (_, ok) => (format!("ran `{}`", part.name), verdict(part.tests, ok)),
        };
        match told.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, events, last)) => {
                events.push(seq);
                *last = how;
            }
            None => told.push((name, vec![seq], how)),
        }
    }
    let (mut deliveries, mut checks) = (Vec::new(), Vec::new());
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
        let statement = Statement::new(&format!("{}{times}{how}", name.trim()), last);
        if name.starts_with("ran `") {
            checks.push(statement);
        } else {
            deliveries.push(statement);
        }
    }
    (deliveries, checks)
}

/// Returns a delivery in words.
fn delivery(purpose: Purpose, name: &str, said: Option<&str>) -> String {
    let (verb, what) = match purpose {
        Purpose::Commit => ("committed", said.unwrap_or(name)),
        Purpose::Push => ("pushed", name),
        Purpose::PullRequest => ("opened", said.unwrap_or("a pull request")),
        Purpose::Merge => ("merged", name),
        Purpose::Tag => ("tagged", name),
        _ => ("released", name),
    };
    format!("{verb} {what}")
}

fn verdict(tests: Option<(u64, u64)>, ok: Option<bool>) -> String {
    match (tests, ok) {
        (Some((passed, 0)), Some(true)) => format!("{passed} passed"),
        (Some((_, 0)), Some(false)) => "failed".to_string(),
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

/// Maximum number of different errors that are followed to their end.
const MAX_ERRORS: usize = 100;

/// An error, everywhere it occurred.
struct FoundError<'n> {
    signature: String,
    said: String,
    events: Vec<Seq>,
    /// Name of the check that failed.
    check: Option<String>,
    /// True if only a part of it ran.
    is_narrow: bool,
    /// Command that failed.
    command: &'n str,
    /// Family of the check that failed.
    purpose: Option<Purpose>,
}

impl FoundError<'_> {
    /// Returns whether it came with the session's own edits and went with the next: a step of the work, which says nothing afterwards. What
    /// linters and compilers find is, however often; a test that failed says something of the work.
    fn is_momentary(&self, first_edit: Option<Seq>, again: Option<Seq>) -> bool {
        let is_own = first_edit.is_some_and(|edit| self.events.first() > Some(&edit));
        let is_once = self.events.len() == 1;
        let is_step = match self.purpose {
            Some(Purpose::Test) => trouble::is_of_compiler(&self.said),
            Some(Purpose::Lint | Purpose::Format | Purpose::Types) => true,
            Some(Purpose::Build) => is_once || trouble::is_of_compiler(&self.said),
            _ => is_once,
        };
        is_own && is_step && again.is_some()
    }
}

/// Programs that ask a service something, and fail for reasons of the question.
const ASKING_PROGRAMS: [&str; 4] = ["gh", "jq", "curl", "wget"];

/// Returns errors by what they are, each with how it ended, and those of checks that were not seen to pass afterwards.
fn errors(notes: &Notes, agents: &AgentConventions) -> (Vec<Statement>, Vec<Statement>) {
    let mut found: Vec<FoundError<'_>> = Vec::new();
    let mut add = |seq: Seq, said: &str, check: Option<&RunPart>, command| {
        // What failed without a word says nothing: most of it is a search that found nothing.
        if !trouble::is_informative(said, agents) {
            return;
        }
        let signature = trouble::signature(said);
        let is_known = |known: &&mut FoundError<'_>| {
            known.signature == signature
                && known.check.as_deref() == check.map(|part| part.name.as_str())
        };
        match found.iter_mut().find(is_known) {
            Some(known) => known.events.push(seq),
            None => found.push(FoundError {
                signature,
                said: said.to_string(),
                events: vec![seq],
                check: check.map(|part| part.name.clone()),
                is_narrow: check.is_some_and(|part| part.narrow),
                command,
                purpose: check.map(|part| part.purpose),
            }),
        }
    };
    for step in &notes.steps {
        // Edits and other tools of the agent fail for reasons of their own, which say nothing of the work.
        let What::Run(run) = &step.what else {
            continue;
        };
        let parts = step_parts(step);
        let checks = || parts.iter().filter(|part| !part.purpose.is_delivery());
        for part in checks().filter(|part| part.ok == Some(false)) {
            if let Some(said) = &part.said {
                add(step.seq, said, Some(part), &run.command);
            }
        }
        let is_plain = run.ok == Some(false) && !run.denied && checks().next().is_none();
        let said = run.said.as_deref().filter(|_| is_plain);
        let program = command::program(&run.command);
        let is_asking = program
            .split(' ')
            .next()
            .is_some_and(|name| ASKING_PROGRAMS.contains(&name));
        if let Some(said) = said.filter(|said| {
            !is_asking && !command::only_looks(&program) && !trouble::is_of_shell(said)
        }) {
            add(step.seq, said, None, &run.command);
        }
    }
    found.truncate(MAX_ERRORS);
    let first_edit = notes.steps.iter().find_map(|step| match step.what {
        What::Edit { failed: false, .. } => Some(step.seq),
        _ => None,
    });
    let all_parts = parts(notes);
    let (mut errors, mut problems) = (Vec::new(), Vec::new());
    for error in found {
        let last = error.events.last().copied().unwrap_or_default();
        let times = match error.events.len() {
            1 => String::new(),
            times => format!(" ({times} times)"),
        };
        let again = match &error.check {
            Some(check) => check_passed_later(&all_parts, check, error.is_narrow, last),
            None => passed_later(notes, error.command, last),
        };
        // What does not compile fails in every check of it.
        let compiled = || {
            let later = all_parts.partition_point(|(at, _)| *at <= last);
            let mut later = all_parts[later..].iter();
            later.any(|(_, part)| {
                part.ok == Some(true)
                    && matches!(part.purpose, Purpose::Test | Purpose::Build | Purpose::Lint)
            })
        };
        let is_mended = trouble::is_of_compiler(&error.said) && compiled();
        if error.is_momentary(first_edit, again) || is_mended && again.is_none() {
            continue;
        }
        let program = command::program(error.command);
        let name = error.check.as_deref().unwrap_or(&program);
        let ended = match (again, &error.check) {
            (Some(again), _) => {
                let how = edits_between(notes, last, again);
                format!("; `{name}` passed later{how}")
            }
            (None, Some(_)) => format!("; `{name}` was not seen to pass after it"),
            (None, None) => String::new(),
        };
        let mut cited = error.events;
        cited.extend(again);
        cited.dedup();
        let text = format!("{}{times}{ended}", error.said);
        if error.check.is_some() && again.is_none() {
            problems.push(Statement::new(&text, cited.clone()));
        }
        errors.push(Statement::new(&text, cited));
    }
    errors.truncate(MOST_STATEMENTS);
    problems.truncate(MOST_STATEMENTS);
    (errors, problems)
}

/// Returns the first event after `seq` where a check of this name passed; a part of it does not count for the whole.
fn check_passed_later(
    parts: &[PlacedPart<'_>],
    check: &str,
    is_narrow: bool,
    seq: Seq,
) -> Option<Seq> {
    let start = parts.partition_point(|(at, _)| *at <= seq);
    let mut later = parts[start..].iter();
    let passed = later.find(|(_, part)| {
        part.name == check && part.ok == Some(true) && (is_narrow || !part.narrow)
    });
    passed.map(|(at, _)| *at)
}

/// Returns the files that were edited between two events, as the way in which an error was mended.
fn edits_between(notes: &Notes, from: Seq, to: Seq) -> String {
    let mut names: Vec<&str> = Vec::new();
    for step in &notes.steps {
        if let What::Edit {
            paths,
            failed: false,
            ..
        } = &step.what
            && step.seq > from
            && step.seq < to
        {
            for path in paths {
                let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
    }
    match names.as_slice() {
        [] => String::new(),
        [one] => format!(", after an edit of {one}"),
        [one, two] => format!(", after edits of {one} and {two}"),
        [one, two, ..] => format!(", after edits of {one}, {two} and others"),
    }
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
