//! Repairs: errors that a session ran into and got rid of, with what did it and what did not.

use backstory_event::{Seq, TimeMs, TurnNo};

use super::command::{only_looks, program};
use super::notes::{Notes, Run, Step, What};
use super::results::{ResultSentence, results};
use super::run_parts::step_parts;
use super::topic::Topic;
use super::trouble;
use crate::{AgentConventions, text};

/// Maximum number of steps between an error and its repair: what works later may have nothing to do with it.
const MAX_STEPS_BETWEEN: usize = 200;

/// Maximum number of errors that wait for their repair.
const MAX_OPEN: usize = 20;

/// Maximum number of files and of commands of an attempt, the last ones.
const MAX_IN_ATTEMPT: usize = 3;

/// Maximum length of a command that may be a repair, in bytes.
const MAX_REPAIR_BYTES: usize = 100;

/// Maximum length of a command that is quoted, in bytes.
const MAX_COMMAND_BYTES: usize = 160;

/// Error that a session ran into, and how it got rid of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Repair {
    /// What it has in common with the same error elsewhere.
    pub signature: String,
    /// The line that says most of it.
    pub error: String,
    /// Check or program that failed.
    pub program: String,
    /// Command that failed, shortened.
    pub failed_command: String,
    /// Command that worked in the end, shortened.
    pub passed_command: String,
    /// What was done before it worked.
    pub fix: Attempt,
    /// What was done before and did not help, the first first.
    pub failed_attempts: Vec<Attempt>,
    /// The sentence of the turn's reply that says most of what was done.
    pub explanation: Option<String>,
    /// The error's first event.
    pub failed: Seq,
    /// The event of the command that worked.
    pub passed: Seq,
    /// Turn of the command that worked.
    pub turn: TurnNo,
    /// Its time.
    pub at: Option<TimeMs>,
}

/// Edits and commands between two runs of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attempt {
    /// Files that were edited, the last ones.
    pub files: Vec<String>,
    /// Commands that changed something, the last ones.
    pub commands: Vec<String>,
}

impl Attempt {
    /// Returns whether nothing was done.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.commands.is_empty()
    }
}

/// Error that is not repaired yet.
struct OpenError {
    signature: String,
    error: String,
    program: String,
    command: String,
    is_narrow: bool,
    failed: Seq,
    step: usize,
    current: Attempt,
    failed_attempts: Vec<Attempt>,
}

/// State of a check or program after a run.
struct RunState<'n> {
    program: String,
    ok: bool,
    said: Option<&'n str>,
    is_narrow: bool,
}

/// Returns the repairs of a session, in their order.
pub fn repairs(notes: &Notes, agents: &AgentConventions) -> Vec<Repair> {
    let mut open: Vec<OpenError> = Vec::new();
    let mut repairs = Vec::new();
    for (place, step) in notes.steps.iter().enumerate() {
        open.retain(|error| place - error.step <= MAX_STEPS_BETWEEN);
        match &step.what {
            What::Edit {
                paths,
                failed: false,
                ..
            } => {
                for error in &mut open {
                    for path in paths {
                        push_last(&mut error.current.files, path);
                    }
                }
            }
            What::Run(run) if !run.denied => {
                note_run(step, place, run, agents, &mut open, &mut repairs);
            }
            _ => {}
        }
    }
    explain(notes, agents, &mut repairs);
    repairs
}

/// Compares a run with the errors that are open.
fn note_run(
    step: &Step,
    place: usize,
    run: &Run,
    agents: &AgentConventions,
    open: &mut Vec<OpenError>,
    repairs: &mut Vec<Repair>,
) {
    let command = text::beginning(run.command.trim(), MAX_COMMAND_BYTES).to_string();
    let parts = step_parts(step);
    let checks = parts.iter().filter(|part| !part.purpose.is_delivery());
    let mut states: Vec<RunState<'_>> = checks
        .filter_map(|part| {
            Some(RunState {
                program: part.name.clone(),
                ok: part.ok?,
                said: part.said.as_deref(),
                is_narrow: part.narrow,
            })
        })
        .collect();
    let name = program(&run.command);
    let is_plain = parts.is_empty() && !name.is_empty() && !only_looks(&name);
    if is_plain && let Some(ok) = run.ok {
        states.push(RunState {
            program: name,
            ok,
            said: run.said.as_deref(),
            is_narrow: false,
        });
    }
    for state in &states {
        let name = &state.program;
        if state.ok {
            let (passed, rest): (Vec<_>, Vec<_>) = open.drain(..).partition(|error| {
                // That some tests pass says nothing of all.
                error.program == *name && (error.is_narrow || !state.is_narrow)
            });
            *open = rest;
            repairs.extend(
                passed
                    .into_iter()
                    .filter_map(|error| repair(error, step, &command)),
            );
        } else if let Some(said) = state
            .said
            .filter(|said| trouble::is_informative(said, agents))
        {
            let signature = trouble::signature(said);
            let is_known =
                |error: &&mut OpenError| error.program == *name && error.signature == signature;
            let is_full = open.len() >= MAX_OPEN;
            match open.iter_mut().find(is_known) {
                Some(error) => {
                    let failed = std::mem::take(&mut error.current);
                    error
                        .failed_attempts
                        .extend((!failed.is_empty()).then_some(failed));
                    error.step = place;
                }
                None if !is_full => open.push(OpenError {
                    signature,
                    error: said.to_string(),
                    program: name.clone(),
                    command: command.clone(),
                    is_narrow: state.is_narrow,
                    failed: step.seq,
                    step: place,
                    current: Attempt::default(),
                    failed_attempts: Vec::new(),
                }),
                None => {}
            }
        }
    }
    if is_plain && run.ok == Some(true) && changes_something(&run.command) {
        for error in open {
            push_last(&mut error.current.commands, &command);
        }
    }
}

/// Returns the repair of an error, if anything was done between, or the command that worked is another one.
fn repair(error: OpenError, step: &Step, command: &str) -> Option<Repair> {
    let is_other = error.command != command;
    (is_other || !error.current.is_empty()).then(|| Repair {
        signature: error.signature,
        error: error.error,
        program: error.program,
        failed_command: error.command,
        passed_command: command.to_string(),
        fix: error.current,
        failed_attempts: error.failed_attempts,
        explanation: None,
        failed: error.failed,
        passed: step.seq,
        turn: step.turn,
        at: step.at,
    })
}

/// Adds what the replies of their turns say.
fn explain(notes: &Notes, agents: &AgentConventions, repairs: &mut [Repair]) {
    if repairs.is_empty() {
        return;
    }
    let results: Vec<ResultSentence> = results(notes, &Topic::new(notes, agents));
    for repair in repairs {
        let mut of_turn = results
            .iter()
            .filter(|result| result.turn == repair.turn && result.tells);
        repair.explanation = of_turn.next().map(|result| result.text.clone());
    }
}

fn push_last(items: &mut Vec<String>, item: &str) {
    items.retain(|known| known != item);
    if items.len() == MAX_IN_ATTEMPT {
        items.remove(0);
    }
    items.push(item.to_string());
}

/// Returns whether a command may change what another one sees: it installs, generates, formats, starts or sets something.
fn changes_something(command: &str) -> bool {
    // A line of many commands says nothing of which one it was.
    if command.len() > MAX_REPAIR_BYTES || command.starts_with("git add") {
        return false;
    }
    #[rustfmt::skip]
    const WORDS: &[&str] = &[
        "install", "add", "fmt", "format", "fix", "generate", "gen", "codegen", "sync", "tidy", "vendor", "update", "upgrade", "restore", "migrate", "init",
        "start", "up", "restart", "stop", "kill", "pkill", "chmod", "export", "config", "checkout", "switch", "pull", "fetch", "rebase", "clean", "prune",
        "enable", "set", "ln", "apt", "apt-get", "brew", "pip", "use", "login", "build", "create", "remove", "uninstall", "reset", "stash", "compile",
    ];
    command
        .split(|letter: char| !(letter.is_alphanumeric() || letter == '-'))
        .any(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use backstory_event::Action;

    use super::super::Story;
    use super::*;
    use crate::conventions::KNOWN_AGENTS;

    #[test]
    fn what_helped_is_told_from_what_did_not() {
        let mut story = Story::default();
        let failed = "test result: FAILED. 0 passed; 1 failed\nerror: cart is empty";
        story
            .prompt("make the cart test pass")
            .run("cargo test", failed, 101)
            .tool("Edit", "/shop/src/lib.rs", Action::Write, None)
            .run("cargo test", failed, 101)
            .tool("Edit", "/shop/src/cart.rs", Action::Write, None)
            .run("cargo test", "test result: ok. 1 passed; 0 failed", 0)
            .reply("Fixed the cart: an empty one has a total of zero.");
        let found = repairs(&story.notes, &KNOWN_AGENTS);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].fix.files, ["/shop/src/cart.rs"]);
        assert_eq!(found[0].failed_attempts[0].files, ["/shop/src/lib.rs"]);
        assert_eq!(
            found[0].explanation.as_deref(),
            Some("Fixed the cart: an empty one has a total of zero")
        );
    }

    #[test]
    fn another_command_may_be_the_repair() {
        let mut story = Story::default();
        story
            .prompt("start it")
            .run("npm start", "Error: Cannot find module 'express'", 1)
            .run("npm install", "added 50 packages", 0)
            .run("npm start", "listening", 0);
        let found = repairs(&story.notes, &KNOWN_AGENTS);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].fix.commands, ["npm install"]);
        let mut story = Story::default();
        // Nothing was done: it works now and then.
        story
            .prompt("start it")
            .run("npm start", "Error: Cannot find module 'express'", 1)
            .run("npm start", "listening", 0);
        assert_eq!(repairs(&story.notes, &KNOWN_AGENTS), []);
    }
}
